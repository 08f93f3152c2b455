// What a call does: the steps of shape inference, with numbers.
#include <algorithm>

#include <evaluator/shape_inference.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

constexpr int64_t kUnknown = INT64_MIN;  ///< depends on what the call does not tell

}  // namespace

void requirePositive(int64_t factor, const Split* split, const TensorView* tv) {
  if (factor <= 0) {
    userError("run: axis ", *split->in(), " of ", *tv, " is split by a factor of ", factor,
              ", which must be positive; pass other values for what ",
              split->factor()->toInlineString(), " is computed from");
  }
}

/// The steps with the numbers of one call.
class ShapeInference::Call {
 public:
  Call(ExpressionEvaluator& values, size_t num_sizes, bool must_iterate)
      : values_(values), sizes_(num_sizes, kUnknown), must_iterate_(must_iterate) {}

  void operator()(const Evaluate& step) {
    sizes_[step.found] = valueOf(step.extent);
    requireSize(step.found, step.tensor, step.id);
  }

  void operator()(const Multiply& step) {
    const int64_t outer = sizes_[step.outer];
    const int64_t inner = sizes_[step.inner];
    const bool known = outer != kUnknown && inner != kUnknown;
    if (known && __builtin_mul_overflow(outer, inner, &sizes_[step.found])) {
      sizes_[step.found] = kUnknown;
    }
  }

  void operator()(const Divide& step) {
    const int64_t in = sizes_[step.in];
    const int64_t factor = valueOf(step.split->factor());
    if (factor == kUnknown || in == kUnknown) {
      return;
    }
    // A size that was asked for may stand beside one of 0; what is left for -1 may not.
    sizes_[step.found] = factor == 0 ? askedSize(step.id) : kUnknown;
    if (sizes_[step.found] == kUnknown) {
      requirePositive(factor, step.split, step.tensor);
      sizes_[step.found] = in / factor + (in % factor != 0 ? 1 : 0);
    }
  }

  void operator()(const Meet& step) {
    const Axis* longest = nullptr;  // the first one that is known and, if there is one, not 1
    for (const Axis& axis : step.axes) {
      const int64_t size = sizes_[axis.size];
      if (size == kUnknown) {
        return;
      }
      const bool is_unit = step.can_stretch && size == 1;
      if (longest == nullptr || (step.can_stretch && sizes_[longest->size] == 1 && !is_unit)) {
        longest = &axis;
      }
    }
    for (const Axis& axis : step.axes) {
      const int64_t size = sizes_[axis.size];
      if (size == sizes_[longest->size]) {
        continue;
      }
      can_iterate_ = false;
      if (must_iterate_ || !step.can_stretch || size != 1) {
        const bool is_first = &axis < longest;
        refuseToMeet(step, is_first ? axis : *longest, is_first ? *longest : axis);
      }
    }
    sizes_[step.found] = sizes_[longest->size];
  }

  void operator()(const Stretch& step) {
    const int64_t size = sizes_[step.from.size];
    const int64_t wanted = valueOf(step.wanted);
    sizes_[step.found] = wanted;
    if (wanted < 0 && wanted != kUnknown) {
      userError("expand: size ", wanted, " of axis ", step.from.place, " of ",
                step.from.tensor->toInlineString(),
                " is negative; -1 keeps an axis as a constant, not as a scalar of the call");
    }
    if (size == kUnknown || wanted == kUnknown || size == wanted) {
      return;
    }
    can_iterate_ = false;
    if (must_iterate_ || size != 1) {
      refuse(step.expr, step.from, wanted);
    }
  }

  void operator()(const Drop& step) {
    can_iterate_ = false;
    const int64_t size = sizes_[step.axis.size];
    if (must_iterate_ || (size != kUnknown && size != 1)) {
      refuse(step.expr, step.axis, 1);
    }
  }

  void operator()(const Cut& step) {
    const int64_t size = sizes_[step.axis.size];
    const int64_t start = valueOf(step.start);
    const int64_t stop = valueOf(step.stop);
    if (size == kUnknown || start == kUnknown || stop == kUnknown) {
      return;
    }
    if (step.step == 1 && (start < 0 || stop > size)) {
      userError(step.expr->getOpString(), ": the range from ", start, " to ", stop, " of axis ",
                step.axis.place, " of ", step.axis.tensor->toInlineString(), " leaves its ", size,
                " elements; pass bounds between 0 and the size, or let slice() normalize them");
    }
    const int64_t last = stop - step.step;
    if (step.step != 1 && start != stop &&
        (std::min(start, last) < 0 || std::max(start, last) >= size)) {
      userError("strided_slice: the elements from ", start, " to ", last, " of axis ",
                step.axis.place, " of ", step.axis.tensor->toInlineString(), " leave its ", size,
                " elements; ask for fewer, or start elsewhere");
    }
  }

  void operator()(const Fit& step) {
    const int64_t index = sizes_[step.index.size];
    const int64_t other = sizes_[step.other.size];
    if (index != kUnknown && other != kUnknown && index > other) {
      userError(step.expr->getOpString(), ": along axis ", step.index.place, " the index ",
                step.index.tensor->toInlineString(), " has extent ", index, ", but ",
                step.other.tensor->toInlineString(), " only ", other,
                "; an index is not longer than what it is applied to");
    }
  }

  void operator()(const Match& step) {
    const int64_t first = sizes_[step.first.size];
    const int64_t second = sizes_[step.second.size];
    const bool fits = second == first || (step.can_stretch && second == 1);
    if (first != kUnknown && second != kUnknown && !fits) {
      userError(step.expr->getOpString(), ": axis ", step.second.place, " of ",
                step.second.tensor->toInlineString(), " has ", second, " elements, but axis ",
                step.first.place, " of ", step.first.tensor->toInlineString(), " has ", first,
                "; both have to be equal", step.can_stretch ? ", or the first of them 1" : "");
    }
  }

  void operator()(const Regroup& step) {
    const int64_t from = countOf(step.from);
    const int64_t to = countOf(step.to);
    if (from != kUnknown && to != kUnknown && from != to) {
      auto show = [&](Size size) { return shown(size); };
      userError("reshape: Total element counts across view operation must match: [",
                join(step.from, ", ", show), "] of ", step.expr->input(0)->toInlineString(),
                " to [", join(step.to, ", ", show), "] gives ", to, " elements, but there are ",
                from, "; pass sizes whose product is the same");
    }
    reshapes_ = true;
  }

  /// A split by a factor of 0 has no meaning, and what has no elements may come in front of a
  /// reshape when operations are moved.
  bool canIterate() const {
    return can_iterate_ &&
           !(reshapes_ && std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end());
  }

  void check(const SizeRequirement& sizes) {
    const int64_t found = valueOf(sizes.found);
    if (sizes.kind == SizeRequirement::Kind::NotZero) {
      if (found == 0) {
        userError(sizes.message);
      }
      return;
    }
    const int64_t needed = valueOf(sizes.needed);
    if (found != kUnknown && needed != kUnknown && found != needed) {
      userError(sizes.message, " gives ", found, " elements, but there are ", needed,
                "; pass sizes whose product is the same");
    }
  }

  void operator()(const Count& step) {
    int64_t count = 1;
    bool overflow = false;
    bool empty = false;
    for (const Size size : step.sizes) {
      const int64_t extent = sizes_[size];  // unknown ones count as one element
      empty |= extent == 0;
      overflow |= __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count);
    }
    overflow |= count > INT64_MAX / std::max<int64_t>(dataTypeSizeByte(step.tensor->dtype()), 1);
    if (overflow && !empty) {
      userError("run: ", *step.tensor, " of sizes [",
                join(step.sizes, ", ", [&](Size size) { return shown(size); }),
                "] has more bytes than 2^63 - 1, which no index can count");
    }
  }

 private:
  int64_t valueOf(const Val* val) {
    const PolymorphicValue value = values_.evaluate(val);
    return value.hasValue() ? value.as<int64_t>() : kUnknown;
  }

  /// Unknown where it is, or where no index can count it.
  int64_t countOf(const std::vector<Size>& sizes) const {
    int64_t count = 1;
    for (const Size size : sizes) {
      if (sizes_[size] == kUnknown || __builtin_mul_overflow(count, sizes_[size], &count)) {
        return kUnknown;
      }
    }
    return count;
  }

  /// What a reshape was asked for; unknown where it is what the others leave.
  int64_t askedSize(const IterDomain* id) {
    const Val* extent = id->extent();
    const Expr* def = extent->definition();
    const bool is_quotient = def != nullptr && def->isA<BinaryOp>() &&
                             def->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::CeilDiv;
    return is_quotient ? kUnknown : valueOf(extent);
  }

  std::string shown(Size size) const {
    return sizes_[size] == kUnknown ? "?" : std::to_string(sizes_[size]);
  }

  void requireSize(Size size, const TensorView* tv, const IterDomain* id) const {
    if (sizes_[size] < 0 && sizes_[size] != kUnknown) {
      userError("run: axis ", *id, " of ", *tv, " would have ", sizes_[size],
                " elements; a size must not be negative, so check the scalars and sizes that ",
                id->getMaybeExpandedExtent()->toInlineString(), " is computed from");
    }
  }

  [[noreturn]] void refuse(const Expr* expr, const Axis& axis, int64_t needed) const {
    userError(expr->getOpString(), ": axis ", axis.place, " of ", axis.tensor->toInlineString(),
              " has size ", shown(axis.size), ", but ", needed,
              " is needed; only an axis of size 1 is stretched or dropped",
              must_iterate_ ? ", and a schedule needs it declared so" : "");
  }

  [[noreturn]] void refuseToMeet(const Meet& step, const Axis& a, const Axis& b) const {
    const IterDomain* axis = TensorDomain::noReductions(b.tensor->getLogicalDomain())[b.place];
    userError("Tried to bind to a value: ", axis->getMaybeExpandedExtent()->toInlineString(),
              " (which evaluated to ", shown(b.size), ") as ", shown(a.size),
              ": the inputs' sizes do not agree: axis ", a.place, " of ",
              a.tensor->toInlineString(), " has size ", shown(a.size), " and axis ", b.place,
              " of ", b.tensor->toInlineString(), " has size ", shown(b.size),
              ", and they meet in ", step.expr->getOpString(), "; they must be equal",
              !step.can_stretch ? ""
              : must_iterate_   ? ": a schedule stretches only what is declared with size 1"
                                : ", or one of them 1");
  }

  ExpressionEvaluator& values_;
  std::vector<int64_t> sizes_;
  bool must_iterate_;
  bool can_iterate_ = true;
  bool reshapes_ = false;
};

bool ShapeInference::run(ExpressionEvaluator& values, bool must_iterate) const {
  Call call(values, num_sizes_, must_iterate);
  for (const Step& step : steps_) {
    std::visit(call, step);
  }
  for (const SizeRequirement& sizes : fusion_->sizeRequirements()) {
    call.check(sizes);
  }
  return call.canIterate();
}

void ShapeInference::check(ExpressionEvaluator& call) const { run(call, false); }

bool ShapeInference::canIterate(ExpressionEvaluator& call) const { return run(call, false); }

void ShapeInference::requireIterated(ExpressionEvaluator& call) const { run(call, true); }

}  // namespace nvfuser
