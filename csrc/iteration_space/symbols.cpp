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
  readInputs(fusion);
  spellOutProducts(exact);
  // What is computed from other extents comes second: it gets the name of a known one. Where all
  // are computed, what is known of other classes has names by then.
  for (const bool with_computed : {false, true}) {
    for (int c = 0; c < exact.numClasses(); ++c) {
      unite(exact.members(c), with_computed);
    }
  }
}

void Symbols::readInputs(const Fusion& fusion) {
  for (const Val* input : fusion.inputs()) {
    if (!input->isA<TensorView>()) {
      continue;
    }
    auto* tv = input->as<TensorView>();
    const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
    for (size_t i = 0; i < axes.size(); ++i) {
      const Val* extent = axes[i]->getMaybeExpandedExtent();
      input_extents_.emplace(
          extent->fingerprint(),
          kir::SymbolSource{kir::SymbolSource::Kind::Extent, tv, static_cast<int64_t>(i), extent});
    }
  }
}

void Symbols::spellOutProducts(const IdGraph& exact) {
  std::unordered_set<const Val*> of_inputs;
  for (const auto& [extent, source] : input_extents_) {
    of_inputs.insert(source.val);
  }
  std::unordered_set<Fingerprint, FingerprintHash> spelled;
  for (int c = 0; c < exact.numClasses(); ++c) {
    for (const IterDomain* id : exact.members(c)) {
      const Val* extent = id->extent();
      extents_.insert(extent->fingerprint());
      const Expr* product = productOf(extent);
      if (product != nullptr && of_inputs.count(extent) == 0 && isKnown(product->input(0)) &&
          isKnown(product->input(1))) {
        spelled.insert(extent->fingerprint());
      }
    }
  }
  for (const Fingerprint& extent : spelled) {
    input_extents_.erase(extent);
  }
}

bool Symbols::isKnown(const Val* extent) const {
  const Expr* product = productOf(extent);
  return isLeaf(extent) || extent->isConst() || isOfInput(extent) ||
         (product != nullptr && isKnown(product->input(0)) && isKnown(product->input(1)));
}

void Symbols::unite(const std::vector<IterDomain*>& axes, bool with_computed) {
  const Val* first = nullptr;
  for (const bool known : {true, false}) {
    for (const IterDomain* id : axes) {
      const Val* extent = id->extent();
      if (id->isBroadcast() || isKnown(extent) != known ||
          (!known && !with_computed && first == nullptr)) {
        continue;
      }
      const Val* root = canonical(extent);
      if (first == nullptr) {
        first = root;
      } else if (root->fingerprint() != first->fingerprint()) {
        const Val* winner = isKnown(root) && better(root, first) ? root : first;
        const Val* loser = winner == root ? first : root;
        if (isMadeOf(winner, loser)) {
          std::swap(winner, loser);
        }
        if (!loser->isConst() && !isMadeOf(winner, loser)) {
          parent_[loser->fingerprint()] = winner;
        }
        first = winner;
      }
    }
  }
}

const Val* Symbols::canonical(const Val* val) const {
  while (true) {
    auto up = parent_.find(val->fingerprint());
    if (up == parent_.end()) {
      return val;
    }
    val = up->second;
  }
}

bool Symbols::isMadeOf(const Val* val, const Val* part) const {
  std::unordered_set<const Val*> seen;
  std::vector<const Val*> due{val};
  while (!due.empty()) {
    const Val* at = canonical(due.back());
    due.pop_back();
    if (at->fingerprint() == part->fingerprint()) {
      return true;
    }
    if (seen.insert(at).second && at->definition() != nullptr && !isOfInput(at)) {
      due.insert(due.end(), at->definition()->inputs().begin(), at->definition()->inputs().end());
    }
  }
  return false;
}

Scalar Symbols::leaf(const Val* val) {
  // An extent is never negative; any other scalar may be.
  auto source = input_extents_.find(val->fingerprint());
  const bool is_extent = source != input_extents_.end() ||
                         (val->dtype() == DataType::Index && val->definition() == nullptr) ||
                         extents_.count(val->fingerprint()) != 0;
  int64_t lo = is_extent ? 0 : INT64_MIN;
  int64_t hi = INT64_MAX;
  if (isBooleanType(val->dtype())) {
    lo = 0;
    hi = 1;
  }
  std::string name = (source != input_extents_.end() ? source->second.val : val)->toString();
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
  const auto found = cache_.find(val->fingerprint());
  if (found != cache_.end()) {
    return found->second;
  }
  Scalar result = nullptr;
  if (val->isConst() && !val->value().is<double>()) {
    result = pool_.constant(val->value().as<int64_t>());
  } else if (val->definition() != nullptr && !val->isConst() && !isOfInput(val) &&
             isSpelledOut(val)) {
    result = computed(val->definition());
  }
  if (result == nullptr) {
    result = leaf(val);
  }
  cache_[val->fingerprint()] = result;
  return result;
}

Scalar Symbols::computed(const Expr* def) {
  const bool integral = std::all_of(def->inputs().begin(), def->inputs().end(), [](Val* in) {
    return in->isScalar() && (isIntegralType(in->dtype()) || isBooleanType(in->dtype()));
  });
  if (!integral) {
    return nullptr;
  }
  const auto operand = [&](size_t i) { return of(def->input(i)); };
  switch (def->kind()) {
    case ExprKind::BinaryOp:
      return binary(def->as<BinaryOp>()->getBinaryOpType(), def);
    case ExprKind::UnaryOp:
      switch (def->as<UnaryOp>()->getUnaryOpType()) {
        case UnaryOpType::Neg:
          return pool_.mul(operand(0), -1);
        case UnaryOpType::LogicalNot:
          return pool_.logicalNot(operand(0));
        case UnaryOpType::Abs:
          return pool_.max(operand(0), pool_.mul(operand(0), -1));
        case UnaryOpType::Cast:
          return dataTypeSizeBit(def->output(0)->dtype()) == 64 ? operand(0) : nullptr;
        default:
          return nullptr;
      }
    case ExprKind::TernaryOp:
      return def->as<TernaryOp>()->getTernaryOpType() == TernaryOpType::Where
                 ? pool_.select(operand(0), operand(1), operand(2))
                 : nullptr;
    case ExprKind::LoadStoreOp:
      return operand(0);
    default:
      return nullptr;
  }
}

Scalar Symbols::binary(BinaryOpType type, const Expr* def) {
  // (Operands of what has no index form would be parameters that nothing reads.)
  const auto a = [&] { return of(def->input(0)); };
  const auto b = [&] { return of(def->input(1)); };
  using enum BinaryOpType;
  switch (type) {
    case Add:
      return pool_.add(a(), b());
    case Sub:
      return pool_.sub(a(), b());
    case Mul:
      return pool_.mul(a(), b());
    case Div:
      return pool_.div(a(), b());
    case Mod:
      return pool_.mod(a(), b());
    case CeilDiv:
      return pool_.ceilDiv(a(), b());
    case Max:
      return pool_.max(a(), b());
    case Min:
      return pool_.min(a(), b());
    case Eq:
      return pool_.equal(a(), b());
    case NE:
      return pool_.logicalNot(pool_.equal(a(), b()));
    case LT:
      return pool_.less(a(), b());
    case LE:
      return pool_.lessEqual(a(), b());
    case GT:
      return pool_.less(b(), a());
    case GE:
      return pool_.lessEqual(b(), a());
    case LogicalAnd:
      return pool_.logicalAnd(a(), b());
    case LogicalOr:
      return pool_.logicalOr(a(), b());
    default:
      return nullptr;
  }
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
