#include <iteration_space/symbols.h>

#include <algorithm>
#include <functional>

#include <ir/fusion.h>
#include <ir/spelling.h>

namespace nvfuser {

using kir::Scalar;

namespace {

bool isLeaf(const Val* val) { return !val->isConst() && val->definition() == nullptr; }

const Expr* productOf(const Val* val) {
  const Expr* def = val->definition();
  const bool is_product = def != nullptr && def->isA<BinaryOp>() &&
                          def->as<BinaryOp>()->getBinaryOpType() == BinaryOpType::Mul;
  return is_product ? def : nullptr;
}

/// Whether `a` is the better name for an extent: constants first, then products, of which more is
/// known (what divides them), then what was made first.
bool better(const Val* a, const Val* b) {
  if (a->isConst() != b->isConst()) {
    return a->isConst();
  }
  if ((productOf(a) != nullptr) != (productOf(b) != nullptr)) {
    return productOf(a) != nullptr;
  }
  return a->name() < b->name();
}

}  // namespace

Symbols::Symbols(const Fusion& fusion, const IdGraph& exact, kir::ScalarPool& pool) : pool_(pool) {
  for (const Val* input : fusion.inputs()) {
    if (!input->isA<TensorView>()) {
      continue;
    }
    auto* tv = input->as<TensorView>();
    const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
    for (size_t i = 0; i < axes.size(); ++i) {
      input_extents_.emplace(
          axes[i]->getMaybeExpandedExtent(),
          kir::SymbolSource{kir::SymbolSource::Kind::Extent, tv, static_cast<int64_t>(i),
                            axes[i]->getMaybeExpandedExtent()});
    }
  }
  auto find = [&](const Val* val) {
    while (true) {
      auto up = parent_.find(val);
      if (up == parent_.end()) {
        return val;
      }
      val = up->second;
    }
  };
  const auto isNamed = [&](const Val* extent) {
    return isLeaf(extent) || extent->isConst() || input_extents_.count(extent) != 0;
  };
  const std::function<bool(const Val*)> isKnown = [&](const Val* extent) {
    const Expr* product = productOf(extent);
    return isNamed(extent) ||
           (product != nullptr && isKnown(product->input(0)) && isKnown(product->input(1)));
  };
  const std::function<bool(const Val*, const Val*)> isMadeOf = [&](const Val* val,
                                                                   const Val* factor) {
    val = find(val);
    const Expr* product = productOf(val);
    return val == factor || (product != nullptr && (isMadeOf(product->input(0), factor) ||
                                                    isMadeOf(product->input(1), factor)));
  };
  for (int c = 0; c < exact.numClasses(); ++c) {
    for (const IterDomain* id : exact.members(c)) {
      extents_.insert(id->extent()->fingerprint());
    }
    const Val* first = nullptr;
    // What is computed from other extents comes second: it gets the name of a known one.
    for (const bool known : {true, false}) {
      for (const IterDomain* id : exact.members(c)) {
        const Val* extent = id->extent();
        if (id->isBroadcast() || isKnown(extent) != known || (!known && first == nullptr)) {
          continue;
        }
        const Val* root = find(extent);
        if (first == nullptr) {
          first = root;
        } else if (root != first) {
          const Val* winner = isKnown(root) && better(root, first) ? root : first;
          const Val* loser = winner == root ? first : root;
          if (isMadeOf(winner, loser)) {
            std::swap(winner, loser);
          }
          if (!loser->isConst() && !isMadeOf(winner, loser)) {
            parent_[loser] = winner;
          }
          first = winner;
        }
      }
    }
  }
}

const Val* Symbols::canonical(const Val* val) const {
  while (true) {
    auto up = parent_.find(val);
    if (up == parent_.end()) {
      return val;
    }
    val = up->second;
  }
}

Scalar Symbols::leaf(const Val* val) {
  // An extent is never negative; any other scalar may be.
  auto source = input_extents_.find(val);
  const bool is_extent = source != input_extents_.end() ||
                         (val->dtype() == DataType::Index && val->definition() == nullptr) ||
                         extents_.count(val->fingerprint()) != 0;
  int64_t lo = is_extent ? 0 : INT64_MIN;
  int64_t hi = INT64_MAX;
  if (isBooleanType(val->dtype())) {
    lo = 0;
    hi = 1;
  }
  std::string name = val->toString();
  if (name == "i8" || name == "i16" || name == "i32" || name == "i64") {
    name += '_';  // types of generated text have these names
  }
  Scalar symbol = pool_.symbol(name, nullptr, lo, hi);
  sources_[symbol] = source != input_extents_.end()
                         ? source->second
                         : kir::SymbolSource{kir::SymbolSource::Kind::Value, nullptr, -1, val};
  return symbol;
}

Scalar Symbols::of(const Val* val) {
  val = canonical(val);
  auto found = cache_.find(val);
  if (found != cache_.end()) {
    return found->second;
  }
  Scalar result = nullptr;
  if (!isSpelledOut(val) && input_extents_.count(val) == 0) {
    Scalar& named = named_[val->fingerprint()];
    named = named == nullptr ? leaf(val) : named;
    result = named;
  } else if (val->isConst() && !val->value().is<double>()) {
    result = pool_.constant(val->value().as<int64_t>());
  } else if (const Expr* def = val->definition();
             def != nullptr && !val->isConst() && input_extents_.count(val) == 0) {
    auto operand = [&](size_t i) { return of(def->input(i)); };
    const bool integral = std::all_of(def->inputs().begin(), def->inputs().end(), [](Val* in) {
      return in->isScalar() && (isIntegralType(in->dtype()) || isBooleanType(in->dtype()));
    });
    if (integral && def->isA<BinaryOp>()) {
      using enum BinaryOpType;
      switch (def->as<BinaryOp>()->getBinaryOpType()) {
        case Add:
          result = pool_.add(operand(0), operand(1));
          break;
        case Sub:
          result = pool_.sub(operand(0), operand(1));
          break;
        case Mul:
          result = pool_.mul(operand(0), operand(1));
          break;
        case Div:
          result = pool_.div(operand(0), operand(1));
          break;
        case Mod:
          result = pool_.mod(operand(0), operand(1));
          break;
        case CeilDiv:
          result = pool_.ceilDiv(operand(0), operand(1));
          break;
        case Max:
          result = pool_.max(operand(0), operand(1));
          break;
        case Min:
          result = pool_.min(operand(0), operand(1));
          break;
        case Eq:
          result = pool_.equal(operand(0), operand(1));
          break;
        case NE:
          result = pool_.logicalNot(pool_.equal(operand(0), operand(1)));
          break;
        case LT:
          result = pool_.less(operand(0), operand(1));
          break;
        case LE:
          result = pool_.lessEqual(operand(0), operand(1));
          break;
        case GT:
          result = pool_.less(operand(1), operand(0));
          break;
        case GE:
          result = pool_.lessEqual(operand(1), operand(0));
          break;
        case LogicalAnd:
          result = pool_.logicalAnd(operand(0), operand(1));
          break;
        case LogicalOr:
          result = pool_.logicalOr(operand(0), operand(1));
          break;
        default:
          break;
      }
    } else if (integral && def->isA<UnaryOp>()) {
      using enum UnaryOpType;
      switch (def->as<UnaryOp>()->getUnaryOpType()) {
        case Neg:
          result = pool_.mul(operand(0), -1);
          break;
        case LogicalNot:
          result = pool_.logicalNot(operand(0));
          break;
        case Abs:
          result = pool_.max(operand(0), pool_.mul(operand(0), -1));
          break;
        case Cast:
          if (dataTypeSizeBit(val->dtype()) == 64) {
            result = operand(0);
          }
          break;
        default:
          break;
      }
    } else if (integral && def->isA<TernaryOp>() &&
               def->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Where) {
      result = pool_.select(operand(0), operand(1), operand(2));
    } else if (integral && def->isA<LoadStoreOp>()) {
      result = operand(0);
    }
  }
  if (result == nullptr) {
    result = leaf(val);
  }
  cache_[val] = result;
  return result;
}

namespace {

/// The input whose memory a tensor is in: itself, or the one whose storage it reuses.
const TensorView* argumentOf(const TensorView* tv) {
  const Val* argument = tv->isFusionInput() ? tv : tv->fusion()->getOutputAlias(tv).aliased_io;
  return argument == nullptr ? nullptr : argument->as<TensorView>();
}

}  // namespace

Scalar Symbols::stride(const TensorView* tv, size_t allocation_axis) {
  const auto& axes = tv->getMaybeAllocationDomain();
  const Contiguity& contiguity = tv->getContiguity();
  check(!axes[allocation_axis]->isBroadcast() && !axes[allocation_axis]->isReduction(),
        "an axis without a place in memory has no stride");
  const TensorView* argument = argumentOf(tv);
  if (contiguity[allocation_axis] == true || argument == nullptr) {
    // Outputs and workspaces are allocated without gaps unless an allocation domain says otherwise;
    // their strides are those of their own extents either way.
    for (size_t next = allocation_axis + 1; next < axes.size(); ++next) {
      if (axes[next]->isBroadcast() || axes[next]->isReduction()) {
        continue;
      }
      return pool_.mul(stride(tv, next), extent(axes[next]));
    }
    return pool_.one();
  }
  // What is written to an argument lies as that does, axis by axis.
  const auto place =
      std::count_if(axes.begin(), axes.begin() + static_cast<int64_t>(allocation_axis),
                    [](const IterDomain* id) { return !id->isReduction(); });
  Scalar symbol = pool_.symbol(text("T", argument->name(), "_s", place), nullptr, 0);
  sources_[symbol] = {kir::SymbolSource::Kind::Stride, argument, place, nullptr};
  return symbol;
}

}  // namespace nvfuser
