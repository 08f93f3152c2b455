#include <runtime/in_place.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include <evaluator/expression_evaluator.h>
#include <ir/axis_map.h>
#include <ir/internal_nodes.h>
#include <iteration_space/places.h>
#include <runtime/memory_overlap.h>

namespace nvfuser {

std::vector<std::optional<size_t>> updatedInputs(const Fusion& fusion) {
  std::vector<std::optional<size_t>> updated(fusion.outputs().size());
  const auto& inputs = fusion.inputs();
  for (size_t i = 0; i < updated.size(); ++i) {
    const AliasInfo& alias = fusion.getOutputAlias(fusion.outputs()[i]);
    const auto place = std::find(inputs.begin(), inputs.end(), alias.aliased_io);
    if (alias.type == AllocationType::ReuseBuffer && place != inputs.end()) {
      updated[i] = static_cast<size_t>(place - inputs.begin());
    }
  }
  return updated;
}

void requireUpdatable(const Fusion& fusion, const Fusion& written, const KernelArgumentHolder& args,
                      ExpressionEvaluator& evaluator) {
  const std::vector<std::optional<size_t>> updated = updatedInputs(fusion);
  for (size_t i = 0; i < updated.size(); ++i) {
    if (!updated[i]) {
      continue;
    }
    const auto* output = fusion.outputs()[i]->as<TensorView>();
    const std::string input = text("input ", *updated[i], ", ", *written.inputs()[*updated[i]]);
    const Tensor& tensor = args[*updated[i]].tensor();
    std::vector<int64_t> sizes;
    for (const IterDomain* id : TensorDomain::noReductions(output->getLogicalDomain())) {
      sizes.push_back(evaluator.evaluateInt(id->getMaybeExpandedExtent(), "an output's size"));
    }
    if (tensor.sizes() != sizes) {
      userError("run: output ", i, ", ", *written.outputs()[i], ", of sizes [", join(sizes, ", "),
                "] is written to the storage of ", input, ", which has sizes [",
                join(tensor.sizes(), ", "), "]; pass a tensor of the output's sizes");
    }
    if (overlapsItself(tensor.sizes(), tensor.strides())) {
      userError(
          "run: unsupported operation: more than one element of the written-to tensor refers to a "
          "single memory location: output ",
          i, ", ", *written.outputs()[i], ", is written to the storage of ", input,
          ", which has sizes [", join(tensor.sizes(), ", "), "] and strides [",
          join(tensor.strides(), ", "), "]; clone() it before the call");
    }
  }
}

namespace {

/// Same number of axes, of the same kinds: what is computed element by element from one of them
/// and has this form has the same element at the same place.
bool samePlaces(const TensorView* a, const TensorView* b) {
  const std::vector<IterDomain*> first = TensorDomain::noReductions(a->getLogicalDomain());
  const std::vector<IterDomain*> second = TensorDomain::noReductions(b->getLogicalDomain());
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const IterDomain* x, const IterDomain* y) {
                      return x->isBroadcast() == y->isBroadcast() && !x->hasExpandedExtent() &&
                             !y->hasExpandedExtent();
                    });
}

/// Axes of more than one element.
std::ptrdiff_t wideAxes(const TensorView* tv) {
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
  return std::count_if(axes.begin(), axes.end(), [](const IterDomain* id) {
    return !id->isBroadcast() || id->hasExpandedExtent();
  });
}

bool isElementwise(const Expr* expr) {
  if (expr->isA<LoadStoreOp>()) {
    return !expr->output(0)->as<TensorView>()->hasRoot();
  }
  return expr->isOneOf<UnaryOp, BinaryOp, TernaryOp>();
}

/// Thread and block dimensions that its loops are bound to, outermost first.
std::vector<ParallelType> threadsOf(const TensorView* tv) {
  std::vector<ParallelType> types;
  for (const IterDomain* id : tv->getLoopDomain()) {
    if (id->isThread()) {
      types.push_back(id->getParallelType());
    }
  }
  return types;
}

/// The loops of a scheduled Fusion, as its kernel will have them.
class KernelLoops {
 public:
  KernelLoops(const Fusion& fusion, LowerTarget target)
      : exact_(fusion, IdGraph::Mode::Exact),
        symbols_(fusion, exact_, pool_),
        model_(fusion, exact_, symbols_, optionsFor(target)) {}

  /// Whether the loops around `tv` are over its own axes, so that they come to no element again.
  bool areOwn(const TensorView* tv) const { return nvfuser::areOwn(tv, model_.path(tv), exact_); }

 private:
  static LowerOptions optionsFor(LowerTarget target) {
    LowerOptions options;
    options.target = target;
    return options;
  }

  kir::ScalarPool pool_;
  IdGraph exact_;
  Symbols symbols_;
  LoopModel model_;
};

class DirectWrites {
 public:
  DirectWrites(const Fusion& fusion, LowerTarget target) : fusion_(fusion), target_(target) {
    for (const Expr* expr : fusion.exprs()) {
      for (const TensorView* tv : tensorOutputs(expr)) {
        most_axes_ = std::max(most_axes_, iteratedAxes(tv));
      }
      may_fail_ |= expr->isOneOf<IndexSelectOp, GatherOp>();  // at an index that there is not
      for (const TensorView* tv : tensorOutputs(expr)) {
        for (ParallelType type : threadsOf(tv)) {
          bound_.insert(type);
        }
      }
    }
  }

  bool may(const TensorView* in, const TensorView* out) {
    return !may_fail_ && !in->isFusionOutput() && !in->isCpuScalar() && !out->isFusionInput() &&
           out->definition() != nullptr && samePlaces(in, out) && isWrittenOnce(out) &&
           isReadBefore(in, out);
  }

 private:
  /// Each element at one turn of the loops. Where several threads come to it, one of them writes
  /// (predicates.h: `writesOnce`). The others may read what it wrote; but what they compute from
  /// it is not used, since `isReadBefore` asks the same of all that is computed from `in`.
  bool isWrittenOnce(const TensorView* out) {
    if (hasMostAxes(out)) {
      return true;
    }
    if (!loops_) {
      loops_ = std::make_unique<KernelLoops>(fusion_, target_);
    }
    return loops_->areOwn(out);
  }

  /// Whether no tensor of the kernel has more axes, so that no loop can be another's.
  bool hasMostAxes(const TensorView* out) const {
    const std::vector<ParallelType> own = threadsOf(out);
    if (std::set<ParallelType>(own.begin(), own.end()) != bound_ ||
        iteratedAxes(out) < most_axes_) {
      return false;
    }
    // Loops of a broadcast axis may be those of an axis that a wider tensor has there.
    const std::vector<IterDomain*> axes = TensorDomain::noReductions(out->getLogicalDomain());
    const bool may_repeat = std::any_of(axes.begin(), axes.end(),
                                        [](const IterDomain* id) { return id->isBroadcast(); });
    return !may_repeat ||
           std::all_of(fusion_.outputs().begin(), fusion_.outputs().end(),
                       [&](const Val* other) { return samePlaces(other->as<TensorView>(), out); });
  }

  /// Whoever reads `in` computes, in registers of the writing thread, what `out` needs at the same
  /// place. Other results may be made of it in this thread, at the same element.
  bool isReadBefore(const TensorView* in, const TensorView* out) const {
    const std::vector<ParallelType> threads = threadsOf(out);
    std::vector<const TensorView*> derived{in};
    std::unordered_set<const TensorView*> seen{in};
    for (size_t i = 0; i < derived.size(); ++i) {
      for (const Expr* expr : fusion_.usesOf(derived[i])) {
        const std::vector<TensorView*> results = tensorOutputs(expr);
        const bool stays = isElementwise(expr) || expr->isA<BroadcastOp>();
        if (results.size() != 1 || !stays || wideAxes(results[0]) != wideAxes(in) ||
            threadsOf(results[0]) != threads) {
          return false;
        }
        if (seen.insert(results[0]).second) {
          derived.push_back(results[0]);
        }
      }
    }
    std::vector<const TensorView*> needed{out};  // by out, and computed from in
    std::unordered_set<const TensorView*> before{out};
    for (size_t i = 0; i < needed.size(); ++i) {
      for (const TensorView* operand : tensorInputs(needed[i]->definition())) {
        if (operand == in || seen.count(operand) == 0 || !before.insert(operand).second) {
          continue;
        }
        if (operand->getMemoryType() != MemoryType::Local) {
          return false;
        }
        needed.push_back(operand);
      }
    }
    const std::vector<Expr*> readers = fusion_.usesOf(in);
    return std::all_of(readers.begin(), readers.end(), [&](const Expr* reader) {
      return before.count(reader->output(0)->as<TensorView>()) != 0;
    });
  }

  /// Reduced ones among them.
  static std::ptrdiff_t iteratedAxes(const TensorView* tv) {
    const std::vector<IterDomain*>& axes = tv->getMaybeRootDomain();
    return std::count_if(axes.begin(), axes.end(),
                         [](const IterDomain* id) { return !id->isBroadcast(); });
  }

  const Fusion& fusion_;
  const LowerTarget target_;
  std::unique_ptr<KernelLoops> loops_;  ///< made for the first update that needs them
  bool may_fail_ = false;
  std::ptrdiff_t most_axes_ = 0;  ///< of a tensor
  std::set<ParallelType> bound_;  ///< by any tensor: a thread of these runs all that is not
};

}  // namespace

bool isSameView(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && sameLayout(a, b.sizes(), b.strides());
}

std::vector<InPlace> directWrites(const Fusion& fusion, const std::vector<InPlace>& wanted,
                                  LowerTarget target) {
  std::vector<InPlace> direct;
  if (wanted.empty()) {
    return direct;
  }
  DirectWrites writes(fusion, target);
  for (const InPlace& pair : wanted) {
    if (writes.may(fusion.inputs()[pair.input]->as<TensorView>(),
                   fusion.outputs()[pair.output]->as<TensorView>())) {
      direct.push_back(pair);
    }
  }
  return direct;
}

namespace {

/// Axes in order in memory, by their places among the logical ones.
std::vector<std::ptrdiff_t> memoryOrder(const TensorView* tv) {
  const std::vector<IterDomain*> logical = TensorDomain::noReductions(tv->getLogicalDomain());
  std::vector<std::ptrdiff_t> order;
  for (const IterDomain* id : TensorDomain::noReductions(tv->getMaybeAllocationDomain())) {
    order.push_back(std::find(logical.begin(), logical.end(), id) - logical.begin());
  }
  return order;
}

}  // namespace

bool hasGaps(const TensorView* tv) {
  const Contiguity& contiguity = tv->getContiguity();
  return std::any_of(contiguity.begin(), contiguity.end(),
                     [](const std::optional<bool>& flag) { return flag == false; });
}

bool mayTakeGaps(const TensorView* out, const TensorView* in) {
  return hasGaps(in) && samePlaces(out, in) && memoryOrder(out) == memoryOrder(in);
}

void takeGaps(TensorView* out, const TensorView* in) {
  Contiguity contiguity = out->getContiguity();
  const std::vector<IterDomain*>& axes = out->getMaybeAllocationDomain();
  for (size_t axis = 0, place = 0; axis < axes.size(); ++axis) {
    if (!axes[axis]->isReduction()) {
      contiguity[axis] = in->getContiguity()[place++];
    }
  }
  out->setContiguity(std::move(contiguity));
}

bool sameLayout(const Tensor& tensor, const std::vector<int64_t>& sizes,
                const std::vector<int64_t>& strides) {
  if (tensor.sizes() != sizes) {
    return false;
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && tensor.strides()[axis] != strides[axis]) {
      return tensor.numel() == 0;
    }
  }
  return true;
}

Tensor copyInPlaceOf(const Tensor& tensor, const RunContext& context) {
  Tensor copy = Tensor::emptyStrided(tensor.sizes(), tensor.strides(), tensor.dtype(),
                                     tensor.device(), context);
  copy.copyFrom(tensor, context.stream);
  return copy;
}

Tensor copyOf(const Tensor& tensor, const RunContext& context) {
  const MemoryRange range = memoryRange(tensor);
  bool dense = range.end - range.begin == tensor.numel() * dataTypeSizeByte(tensor.dtype());
  std::vector<int64_t> strides = tensor.strides();
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (tensor.sizes()[axis] <= 1) {
      strides[axis] = 1;
    }
    dense &= strides[axis] > 0;
  }
  Tensor copy =
      Tensor::emptyStrided(tensor.sizes(), dense ? strides : rowMajorStrides(tensor.sizes()),
                           tensor.dtype(), tensor.device(), context);
  copy.copyFrom(tensor, context.stream);
  return copy;
}

void writeBack(std::vector<Tensor>& values, const std::vector<const Tensor*>& targets,
               const RunContext& context) {
  const OccupiedMemory memory(targets);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_there = targets[i] != nullptr && isSameView(values[i], *targets[i]);
    if (memory.tensorsAt(values[i]) > (is_there ? 1U : 0U)) {
      values[i] = copyOf(values[i], context);
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (targets[i] == nullptr) {
      continue;
    }
    Tensor target = *targets[i];
    if (!isSameView(values[i], target)) {
      target.copyFrom(values[i], context.stream);
    }
    values[i] = std::move(target);
  }
}

}  // namespace nvfuser
