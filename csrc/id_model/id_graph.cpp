#include <id_model/id_graph.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include <ir/axis_map.h>
#include <support/error.h>

namespace nvfuser {

namespace {

/// Lists in which one tensor's axes must stay distinct.
enum List : int { kRoot, kLogical, kAllocation, kLoop };

/// Kind and attributes of a transform and the classes of its inputs: transforms with equal ones
/// have equal outputs. Unused places are 0.
using Signature = std::array<uint64_t, 7>;

struct SignatureHash {
  size_t operator()(const Signature& signature) const {
    uint64_t hash = 0;
    for (const uint64_t part : signature) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

/// `classOf` gives the class of an input.
template <typename ClassOf>
Signature signatureOf(const Expr* expr, ClassOf classOf) {
  Signature signature{static_cast<uint64_t>(expr->kind())};
  size_t end = 1;
  auto push = [&](uint64_t part) {
    check(end < signature.size(), "a transform has at most six numbers that tell it from others");
    signature[end++] = part;
  };
  auto add = [&](const Val* scalar) {
    const Fingerprint fingerprint = scalar->fingerprint();
    push(fingerprint.high);
    push(fingerprint.low);
  };
  switch (expr->kind()) {
    case ExprKind::Split:
      push(expr->as<Split>()->innerSplit() ? 1 : 0);
      add(expr->as<Split>()->factor());
      break;
    case ExprKind::Merge:
      // Equal classes have equal extents, so the inner extent needs no mention.
      break;
    case ExprKind::Resize:
      add(expr->as<Resize>()->leftExpand());
      add(expr->as<Resize>()->rightExpand());
      push(static_cast<uint64_t>(expr->as<Resize>()->step()));
      break;
    case ExprKind::Swizzle:
      push(static_cast<uint64_t>(expr->as<Swizzle>()->swizzleType()));
      break;
    default:
      push(static_cast<uint64_t>(expr->name()));
  }
  for (const Val* in : expr->inputs()) {
    push(static_cast<uint64_t>(classOf(in->as<IterDomain>())));
  }
  return signature;
}

bool sameExtent(const IterDomain* a, const IterDomain* b) {
  return a->extent()->sameAs(b->extent());
}

/// Whether an axis and the one it becomes have the same index: a broadcast axis and what it meets
/// do where both are known to have one element (repeated once, it is no broadcast axis any more).
bool sameIndex(const IterDomain* p, const IterDomain* c) {
  return p->isBroadcast() == c->isBroadcast() ||
         (p->extent()->isOneInt() && c->extent()->isOneInt() && !p->hasExpandedExtent() &&
          !c->hasExpandedExtent());
}

/// Whether a split is the operation's and has no elements beyond its axis: a reshape's, or one of
/// constants.
bool isExact(const Split* split, const TensorView* tv) {
  if (!split->outer()->isRFactorProduct()) {
    return false;
  }
  const Val* extent = split->in()->extent();
  const Val* factor = split->factor();
  if (extent->isConst() && factor->isConst()) {
    const int64_t elements = factor->value().as<int64_t>();
    return elements > 0 && extent->value().as<int64_t>() % elements == 0;
  }
  return tv->definition() != nullptr && tv->definition()->isA<ReshapeOp>();
}

/// Axes that operations make one: those of what is read and what is computed of it, and of results
/// that are computed together; then those that a reshape took and the schedule gives back, and
/// those that the user named.
std::vector<std::pair<IterDomain*, IterDomain*>> axesInCommon(const Fusion& fusion,
                                                              IdGraph::Mode mode) {
  const bool permissive = mode == IdGraph::Mode::Permissive;
  std::vector<std::pair<IterDomain*, IterDomain*>> pairs;
  for (Expr* expr : fusion.exprs()) {
    const std::vector<TensorView*> outputs = tensorOutputs(expr);
    for (TensorView* consumer : outputs) {
      for (TensorView* producer : tensorInputs(expr)) {
        for (auto [p, c] : mapAxes(expr, producer, consumer)) {
          if (permissive || sameIndex(p, c)) {
            pairs.emplace_back(p, c);
          }
        }
      }
    }
    for (size_t i = 1; i < outputs.size() && !resultsDifferInAxes(expr); ++i) {
      const auto& first = outputs[0]->getMaybeRootDomain();
      const auto& other = outputs[i]->getMaybeRootDomain();
      for (size_t axis = 0; axis < std::min(first.size(), other.size()); ++axis) {
        pairs.emplace_back(first[axis], other[axis]);
      }
    }
  }
  for (const TensorView* tv : fusion.allTvs()) {
    const RestoredAxes restored = restoredAxes(tv);
    for (IterDomain* id : restored.empty() ? std::vector<IterDomain*>() : tv->domain()->allIDs()) {
      if (const auto found = restored.find(id); found != restored.end()) {
        pairs.emplace_back(found->second, id);
      }
    }
  }
  for (auto [a, b] : fusion.registeredExactMappings()) {
    // A broadcast axis of one element and one that is gone through several times are no one index.
    const bool alike =
        a->isBroadcast() == b->isBroadcast() && (!a->isBroadcast() || sameExtent(a, b));
    if (permissive || alike) {
      pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

}  // namespace

RestoredAxes restoredAxes(const TensorView* tv) {
  RestoredAxes restored;
  if (!tv->hasRoot()) {
    return restored;
  }
  const auto originOf = [&](IterDomain* id) {
    const auto found = restored.find(id);
    return found == restored.end() ? id : found->second;
  };
  for (const Expr* expr : tv->domain()->allExprs()) {
    if (expr->isA<Merge>()) {
      const IterDomain* outer = originOf(expr->as<Merge>()->outer());
      const Expr* made = outer->definition();
      const auto* split = made != nullptr && made->isA<Split>() ? made->as<Split>() : nullptr;
      if (split != nullptr && split->outer() == outer && !split->in()->isBroadcast() &&
          split->inner() == originOf(expr->as<Merge>()->inner()) && isExact(split, tv)) {
        restored[expr->output(0)->as<IterDomain>()] = originOf(split->in());
      }
    } else if (expr->isA<Split>() && expr->as<Split>()->innerSplit()) {
      const auto* split = expr->as<Split>();
      const Expr* made = originOf(split->in())->definition();
      const auto* merge = made != nullptr && made->isA<Merge>() ? made->as<Merge>() : nullptr;
      if (merge != nullptr && merge->out()->isRFactorProduct() &&
          split->factor()->sameAs(merge->inner()->extent()) && !merge->outer()->isBroadcast() &&
          !merge->inner()->isBroadcast()) {
        restored[split->outer()] = originOf(merge->outer());
        restored[split->inner()] = originOf(merge->inner());
      }
    }
  }
  return restored;
}

IdGraph::IdGraph(const Fusion& fusion, Mode mode) {
  const std::vector<TensorView*> tvs = fusion.allTvs();
  for (size_t t = 0; t < tvs.size(); ++t) {
    const TensorDomain* td = tvs[t]->domain();
    for (IterDomain* id : td->allIDs()) {
      if (nodeOf(id) >= 0) {
        continue;
      }
      const auto name = static_cast<size_t>(id->name());
      if (name >= node_of_name_.size()) {
        node_of_name_.resize(std::max(name + 1, 2 * node_of_name_.size()), -1);
      }
      node_of_name_[name] = static_cast<int>(nodes_.size());
      nodes_.push_back(id);
      tensor_of_.push_back(tvs[t]);
      parent_.push_back(static_cast<int>(parent_.size()));
      occupied_.emplace_back().reserve(kLoop + 1);
    }
    const std::vector<IterDomain*>* lists[] = {&td->root(), &td->logical(), &td->allocation(),
                                               &td->loop()};
    for (int list = kRoot; list <= kLoop; ++list) {
      for (IterDomain* id : *lists[list]) {
        occupied_[static_cast<size_t>(nodeOf(id))].emplace_back(static_cast<int>(t), list);
      }
    }
    for (Expr* expr : td->allExprs()) {
      transforms_.push_back(expr);
    }
  }

  for (auto [a, b] : axesInCommon(fusion, mode)) {
    if (nodeOf(a) >= 0 && nodeOf(b) >= 0) {
      unite(a, b);
    }
  }
  closeUnderCongruence();

  // Number the classes in order of their first axis, so that the numbers are the same in every run.
  std::vector<int> number(nodes_.size(), -1);
  for (size_t n = 0; n < nodes_.size(); ++n) {
    int& of_class = number[static_cast<size_t>(find(static_cast<int>(n)))];
    if (of_class < 0) {
      of_class = static_cast<int>(members_.size());
      members_.emplace_back();
    }
    class_of_node_.push_back(of_class);
    members_[static_cast<size_t>(of_class)].push_back(nodes_[n]);
  }
  definitions_.resize(members_.size());
  uses_.resize(members_.size());
  for (Expr* expr : transforms_) {
    for (Val* out : expr->outputs()) {
      definitions_[static_cast<size_t>(classOf(out->as<IterDomain>()))].push_back(expr);
    }
    for (Val* in : expr->inputs()) {
      uses_[static_cast<size_t>(classOf(in->as<IterDomain>()))].push_back(expr);
    }
  }
}

int IdGraph::find(int node) const {
  while (parent_[static_cast<size_t>(node)] != node) {
    int& up = parent_[static_cast<size_t>(node)];
    up = parent_[static_cast<size_t>(up)];
    node = up;
  }
  return node;
}

bool IdGraph::unite(IterDomain* a, IterDomain* b) {
  int x = find(nodeOf(a));
  int y = find(nodeOf(b));
  if (x == y) {
    return false;
  }
  if (x > y) {
    std::swap(x, y);
  }
  // Sorted; most often the smaller one goes to the end of the larger one.
  auto* large = &occupied_[static_cast<size_t>(x)];
  auto* small = &occupied_[static_cast<size_t>(y)];
  if (large->size() < small->size()) {
    std::swap(large, small);
  }
  for (const auto& place : *small) {
    if (std::binary_search(large->begin(), large->end(), place)) {
      return false;
    }
  }
  const auto middle = static_cast<std::ptrdiff_t>(large->size());
  large->insert(large->end(), small->begin(), small->end());
  if (middle > 0 && !small->empty() && small->front() < (*large)[static_cast<size_t>(middle) - 1]) {
    std::inplace_merge(large->begin(), large->begin() + middle, large->end());
  }
  std::vector<std::pair<int, int>> all = std::move(*large);
  small->clear();
  occupied_[static_cast<size_t>(x)] = std::move(all);
  parent_[static_cast<size_t>(y)] = x;
  return true;
}

void IdGraph::closeUnderCongruence() {
  for (bool changed = true; changed;) {
    changed = false;
    std::unordered_map<Signature, Expr*, SignatureHash> seen(transforms_.size());
    std::map<int, std::vector<Expr*>> merges;
    for (Expr* expr : transforms_) {
      auto [entry, fresh] = seen.emplace(
          signatureOf(expr, [&](const IterDomain* in) { return find(nodeOf(in)); }), expr);
      if (!fresh) {
        for (size_t i = 0; i < expr->outputs().size(); ++i) {
          changed |=
              unite(entry->second->output(i)->as<IterDomain>(), expr->output(i)->as<IterDomain>());
        }
      }
      if (expr->isA<Merge>()) {
        merges[find(nodeOf(expr->as<Merge>()->out()))].push_back(expr);
      }
    }
    // A merge can be undone where the inner extents are known to be equal.
    for (auto& [out, same] : merges) {
      auto* first = same[0]->as<Merge>();
      for (size_t i = 1; i < same.size(); ++i) {
        auto* other = same[i]->as<Merge>();
        if (!sameExtent(first->inner(), other->inner()) ||
            !sameExtent(first->outer(), other->outer()) ||
            first->inner()->isBroadcast() != other->inner()->isBroadcast() ||
            first->outer()->isBroadcast() != other->outer()->isBroadcast()) {
          continue;
        }
        changed |= unite(first->inner(), other->inner());
        changed |= unite(first->outer(), other->outer());
      }
    }
  }
}

int IdGraph::classOf(const IterDomain* id) const {
  const int node = nodeOf(id);
  return node < 0 ? -1 : class_of_node_[static_cast<size_t>(node)];
}

bool IdGraph::mapped(const IterDomain* a, const IterDomain* b) const {
  if (a == b) {
    return true;
  }
  const int x = classOf(a);
  return x >= 0 && x == classOf(b);
}

TensorView* IdGraph::tensorOf(const IterDomain* id) const {
  const int node = nodeOf(id);
  return node < 0 ? nullptr : tensor_of_[static_cast<size_t>(node)];
}

std::string IdGraph::toString() const {
  std::string out;
  for (size_t c = 0; c < members_.size(); ++c) {
    out += text(c, ": {", join(members_[c], ", "), "}\n");
  }
  return out;
}

}  // namespace nvfuser
