#include <algorithm>
#include <array>
#include <unordered_set>

#include <ir/builder.h>
#include <ir/field_values.h>
#include <ir/internal_base_nodes.h>

namespace nvfuser {

int64_t wrapDim(int64_t axis, int64_t n, std::string_view what) {
  return wrapDim(axis, n, what, "");
}

int64_t wrapDim(int64_t axis, int64_t n, std::string_view what, std::string_view tensor) {
  const int64_t wrapped = axis < 0 ? axis + n : axis;
  if (wrapped < 0 || wrapped >= n) {
    userError(what, ": Tried to access out of boundary index ", axis, ". total index: ", n,
              n == 1 ? " axis" : " axes", tensor.empty() ? "" : " in ", tensor, " (valid: ", -n,
              " to ", n - 1, ")");
  }
  return wrapped;
}

TensorDomain::TensorDomain(IrBuilderPasskey passkey, std::vector<IterDomain*> logical,
                           Contiguity contiguity)
    : TensorDomain(passkey, {}, logical, {}, logical, std::move(contiguity)) {}

TensorDomain::TensorDomain(IrBuilderPasskey passkey, std::vector<IterDomain*> root,
                           std::vector<IterDomain*> logical, std::vector<IterDomain*> loop,
                           Contiguity contiguity)
    : TensorDomain(passkey, std::move(root), std::move(logical), {}, std::move(loop),
                   std::move(contiguity)) {}

TensorDomain::TensorDomain(IrBuilderPasskey passkey, std::vector<IterDomain*> root,
                           std::vector<IterDomain*> logical, std::vector<IterDomain*> allocation,
                           std::vector<IterDomain*> loop, Contiguity contiguity,
                           std::vector<IterDomain*> additional_ids)
    : Val(passkey, ValType::TensorDomain, DataType::Null),
      fields_{.root = std::move(root),
              .logical = std::move(logical),
              .allocation = std::move(allocation),
              .loop = std::move(loop),
              .initial_loop = {},
              .additional_ids = std::move(additional_ids),
              .contiguity = {}} {
  fields_.initial_loop = fields_.loop;
  if (contiguity.empty() && !maybeAllocation().empty()) {
    contiguity = getContiguityFilledWith(maybeAllocation(), false);
  }
  setContiguity(std::move(contiguity));
}

TensorDomain::TensorDomain(IrBuilderPasskey passkey, DomainFields fields)
    : Val(passkey, ValType::TensorDomain, DataType::Null), fields_(std::move(fields)) {}

void TensorDomain::setContiguity(Contiguity contiguity) {
  const auto& ids = maybeAllocation();
  if (contiguity.size() != ids.size()) {
    userError("Length of contiguity argument (", contiguity.size(),
              ") must match that of shape argument (", ids.size(), ")");
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    // A broadcast axis has no place in memory, a reduction has none in the output either.
    if (ids[i]->isBroadcast()) {
      contiguity[i] = std::nullopt;
    }
    if (!ids[i]->isBroadcast() && !contiguity[i].has_value()) {
      contiguity[i] = false;
    }
  }
  fields_.contiguity = std::move(contiguity);
}

void TensorDomain::setLoopDomain(std::vector<IterDomain*> loop) { fields_.loop = std::move(loop); }

void TensorDomain::setAllocationDomain(std::vector<IterDomain*> allocation, Contiguity contiguity) {
  fields_.allocation = std::move(allocation);
  setContiguity(std::move(contiguity));
}

IterDomain* TensorDomain::axis(int64_t i) const {
  return fields_.loop[static_cast<size_t>(wrapDim(i, nDims(), "axis"))];
}

bool TensorDomain::hasReduction() const {
  return std::any_of(fields_.loop.begin(), fields_.loop.end(),
                     [](auto* id) { return id->isReduction(); }) ||
         std::any_of(fields_.logical.begin(), fields_.logical.end(),
                     [](auto* id) { return id->isReduction(); });
}

bool TensorDomain::hasBroadcast() const {
  return std::any_of(fields_.loop.begin(), fields_.loop.end(),
                     [](auto* id) { return id->isBroadcast(); });
}

namespace {

/// A set that is a list for as long as it is short: most domains have few axes, and are asked for
/// them all the time.
template <typename Node>
class FewNodes {
 public:
  /// Whether it is new.
  bool insert(const Node* node) {
    if (many_.empty()) {
      if (std::find(few_.begin(), few_.begin() + count_, node) != few_.begin() + count_) {
        return false;
      }
      if (count_ < std::ssize(few_)) {
        few_[static_cast<size_t>(count_++)] = node;
        return true;
      }
      many_.insert(few_.begin(), few_.end());
    }
    return many_.insert(node).second;
  }

 private:
  std::array<const Node*, 24> few_;
  std::ptrdiff_t count_ = 0;
  std::unordered_set<const Node*> many_;
};

}  // namespace

std::vector<Expr*> TensorDomain::allExprs() const {
  std::vector<Expr*> sorted;
  FewNodes<Expr> taken;
  FewNodes<IterDomain> visited;
  std::vector<std::pair<IterDomain*, bool>> open;
  // Depth-first from the lists' ends to their definitions; a worklist with two visits an axis.
  auto walk = [&](IterDomain* end) {
    if (end->definition() == nullptr) {
      return;
    }
    open.emplace_back(end, false);
    while (!open.empty()) {
      auto [id, done] = open.back();
      open.pop_back();
      Expr* def = id->definition();
      if (def == nullptr) {
        continue;
      }
      if (done) {
        if (taken.insert(def)) {
          sorted.push_back(def);
        }
        continue;
      }
      if (!visited.insert(id)) {
        continue;
      }
      open.emplace_back(id, true);
      for (auto it = def->inputs().rbegin(); it != def->inputs().rend(); ++it) {
        if ((*it)->isA<IterDomain>()) {
          open.emplace_back((*it)->as<IterDomain>(), false);
        }
      }
    }
  };
  for (const auto* list : {&fields_.root, &fields_.logical, &fields_.allocation, &fields_.loop}) {
    for (IterDomain* id : *list) {
      walk(id);
    }
  }
  return sorted;
}

std::vector<IterDomain*> TensorDomain::allIDs() const {
  std::vector<IterDomain*> all;
  FewNodes<IterDomain> seen;
  auto add = [&](IterDomain* id) {
    if (seen.insert(id)) {
      all.push_back(id);
    }
  };
  for (const auto* list : {&fields_.root, &fields_.logical, &fields_.allocation, &fields_.loop,
                           &fields_.additional_ids}) {
    for (IterDomain* id : *list) {
      add(id);
    }
  }
  for (Expr* expr : allExprs()) {
    for (Val* val : expr->inputs()) {
      if (val->isA<IterDomain>()) {
        add(val->as<IterDomain>());
      }
    }
    for (Val* val : expr->outputs()) {
      add(val->as<IterDomain>());
    }
  }
  return all;
}

std::vector<IterDomain*> TensorDomain::noReductions(const std::vector<IterDomain*>& ids) {
  std::vector<IterDomain*> result;
  for (IterDomain* id : ids) {
    if (!id->isReduction() && !id->isStride()) {
      result.push_back(id);
    }
  }
  return result;
}

std::vector<IterDomain*> TensorDomain::noBroadcasts(const std::vector<IterDomain*>& ids) {
  std::vector<IterDomain*> result;
  for (IterDomain* id : ids) {
    if (!id->isBroadcast()) {
      result.push_back(id);
    }
  }
  return result;
}

Contiguity TensorDomain::getContiguityFilledWith(const std::vector<IterDomain*>& allocation,
                                                 bool fill) {
  Contiguity result;
  result.reserve(allocation.size());
  for (IterDomain* id : allocation) {
    result.push_back(id->isBroadcast() ? std::nullopt : std::optional<bool>(fill));
  }
  return result;
}

bool TensorDomain::sameAs(const Statement* other) const {
  return this == other || (other != nullptr && other->isA<TensorDomain>() &&
                           sameFields(fields_, other->as<TensorDomain>()->fields_));
}

}  // namespace nvfuser
