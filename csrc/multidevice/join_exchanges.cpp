#include <multidevice/join_exchanges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/composite_nodes.h>
#include <ir/external_ops.h>
#include <ir/view_ops.h>
#include <ops/communication.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::multidevice {

namespace {

using Group = std::vector<CommunicationOp*>;

bool isProduct(const Expr* expr) { return expr->isOneOf<MatmulOp, LinearOp>(); }

/// Which exchanges a value is computed from, by their places, and when it is known and needed: how
/// many operations of libraries and exchanges come before it, and before the first one that reads
/// what is made of it.
class Needs {
 public:
  explicit Needs(Fusion& fusion) {
    for (Expr* expr : fusion.exprs()) {
      std::vector<bool> needs;
      auto* exchange = expr->isA<CommunicationOp>() ? expr->as<CommunicationOp>() : nullptr;
      // What an exchange waits for is no part of its result.
      const size_t operands = exchange != nullptr ? exchange->count() : expr->inputs().size();
      size_t depth = 0;
      for (size_t i = 0; i < operands; ++i) {
        add(needs, of(expr->input(i)));
        depth = std::max(depth, depthOf(expr->input(i)));
      }
      if (exchange != nullptr) {
        before_.push_back(needs);
        needs.resize(std::max(needs.size(), exchanges_.size() + 1));
        needs[exchanges_.size()] = true;
        exchanges_.push_back(exchange);
      }
      for (const Val* output : expr->outputs()) {
        needs_[output] = needs;
        depths_[output] = depth + (exchange != nullptr || isExternalOp(expr) ? 1 : 0);
      }
    }
    for (const Val* output : fusion.outputs()) {
      add(alive_, of(output));
    }
    findWhenNeeded(fusion);
  }

  const Group& exchanges() const { return exchanges_; }
  bool isAlive(size_t exchange) const { return has(alive_, exchange); }
  /// Whether the operands of one are computed from the result of another.
  bool needs(size_t exchange, size_t other) const { return has(before_[exchange], other); }
  size_t depthOf(const Val* val) const {
    const auto found = depths_.find(val);
    return found != depths_.end() ? found->second : 0;
  }
  /// `kAtTheEnd` for what only leads to outputs.
  size_t neededAt(const Val* val) const {
    const auto found = needed_.find(val);
    return found != needed_.end() ? found->second : kAtTheEnd;
  }
  /// Whether it, or a view of it, is a product's first operand: its rows.
  bool isRows(const Val* val) const { return rows_.count(val) != 0; }

 private:
  static constexpr size_t kAtTheEnd = SIZE_MAX;

  void findWhenNeeded(Fusion& fusion) {
    std::vector<Expr*> exprs = fusion.exprs();
    for (size_t i = exprs.size(); i-- > 0;) {
      const Expr* expr = exprs[i];
      const bool is_exchange = expr->isA<CommunicationOp>();
      size_t at = kAtTheEnd;
      for (const Val* output : expr->outputs()) {
        at = is_exchange || isExternalOp(expr) ? depthOf(output) - 1
                                               : std::min(at, neededAt(output));
      }
      const size_t operands =
          is_exchange ? expr->as<CommunicationOp>()->count() : expr->inputs().size();
      for (size_t k = 0; k < operands; ++k) {
        const Val* input = expr->input(k);
        needed_[input] = std::min(neededAt(input), at);
        if (k == 0 && (isProduct(expr) || (isViewOp(expr) && isRows(expr->output(0))))) {
          rows_.insert(input);
        }
      }
    }
  }

  static bool has(const std::vector<bool>& set, size_t one) { return one < set.size() && set[one]; }
  static void add(std::vector<bool>& set, const std::vector<bool>& more) {
    set.resize(std::max(set.size(), more.size()));
    for (size_t i = 0; i < more.size(); ++i) {
      set[i] = set[i] || more[i];
    }
  }
  std::vector<bool> of(const Val* val) const {
    const auto found = needs_.find(val);
    return found != needs_.end() ? found->second : std::vector<bool>();
  }

  Group exchanges_;
  std::vector<std::vector<bool>> before_;
  std::unordered_map<const Val*, std::vector<bool>> needs_;
  std::unordered_map<const Val*, size_t> depths_, needed_;
  std::unordered_set<const Val*> rows_;
  std::vector<bool> alive_;
};

bool isSum(const CommunicationOp* op) {
  return op->type() == CommunicationType::Allreduce ||
         op->type() == CommunicationType::ReduceScatter;
}

/// Whether a product's result, or a view of it, is exchanged.
bool isOfProduct(const CommunicationOp* op) {
  const Expr* def = op->input(0)->definition();
  while (def != nullptr && isViewOp(def)) {
    def = def->input(0)->definition();
  }
  return def != nullptr && isProduct(def);
}

bool joins(const CommunicationOp* a, const CommunicationOp* b, const Needs& needs) {
  const auto isPipelined = [&](const CommunicationOp* op) {
    return op->type() == CommunicationType::Allgather ? needs.isRows(op->output(0))
                                                      : isOfProduct(op);
  };
  const auto areKnownTogether = [&] {
    return needs.depthOf(a->input(0)) == needs.depthOf(b->input(0)) &&
           needs.neededAt(a->output(0)) == needs.neededAt(b->output(0)) && !isPipelined(a) &&
           !isPipelined(b);
  };
  return a->type() == b->type() && a->reduction() == b->reduction() && a->along() == b->along() &&
         a->mesh() == b->mesh() && (isSum(a) || areKnownTogether());
}

/// In the order in which they are to be carried out.
std::vector<Group> groupsOf(const Needs& needs) {
  const Group& all = needs.exchanges();
  std::vector<Group> groups;
  std::vector<std::vector<size_t>> open;  // those that wait for more
  const auto close = [&](const std::vector<size_t>& places) {
    Group& group = groups.emplace_back();
    for (const size_t place : places) {
      group.push_back(all[place]);
    }
  };
  for (size_t i = 0; i < all.size(); ++i) {
    if (!needs.isAlive(i)) {
      continue;
    }
    std::vector<std::vector<size_t>> still_open;
    for (std::vector<size_t>& places : open) {
      if (std::any_of(places.begin(), places.end(),
                      [&](size_t one) { return needs.needs(i, one); })) {
        close(places);
      } else {
        still_open.push_back(std::move(places));
      }
    }
    open = std::move(still_open);
    const auto fits = std::find_if(open.begin(), open.end(), [&](const auto& places) {
      return joins(all[places.front()], all[i], needs);
    });
    if (fits != open.end()) {
      fits->push_back(i);
    } else {
      open.push_back({i});
    }
  }
  for (const std::vector<size_t>& places : open) {
    close(places);
  }
  return groups;
}

/// What is known early goes early: within a group, and of groups, each behind those that it needs.
/// Sums, which are read late as a rule, come behind what is moved.
std::vector<Group> earliestFirst(std::vector<Group> groups, const Needs& needs) {
  const Group& all = needs.exchanges();
  const auto placeOf = [&](const CommunicationOp* one) {
    return static_cast<size_t>(std::find(all.begin(), all.end(), one) - all.begin());
  };
  const auto needsAny = [&](const Group& group, const Group& other) {
    return std::any_of(group.begin(), group.end(), [&](const CommunicationOp* one) {
      return std::any_of(other.begin(), other.end(), [&](const CommunicationOp* needed) {
        return needs.needs(placeOf(one), placeOf(needed));
      });
    });
  };
  std::vector<std::pair<size_t, Group>> ordered;
  for (Group& group : groups) {
    std::stable_sort(group.begin(), group.end(), [&](const auto* a, const auto* b) {
      return needs.depthOf(a->input(0)) < needs.depthOf(b->input(0));
    });
    size_t depth = needs.depthOf(group.back()->input(0));
    for (const auto& [other_depth, other] : ordered) {
      depth = needsAny(group, other) ? std::max(depth, other_depth + 1) : depth;
    }
    ordered.emplace_back(depth, std::move(group));
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, isSum(a.second[0])) < std::pair(b.first, isSum(b.second[0]));
  });
  std::vector<Group> result;
  for (auto& [depth, group] : ordered) {
    result.push_back(std::move(group));
  }
  return result;
}

std::string lineOf(const Group& group, const std::unordered_map<const Val*, const Asked*>& asked) {
  std::vector<std::string> tensors, reasons;
  for (const CommunicationOp* one : group) {
    const Asked& why = *asked.at(one->output(0));
    tensors.push_back(why.tensor);
    if (std::find(reasons.begin(), reasons.end(), why.why) == reasons.end()) {
      reasons.push_back(why.why);
    }
  }
  return text(group[0]->getOpString(), " of ", join(tensors, " and "), " along ",
              parallelTypeName(group[0]->along()), ": ", join(reasons, "; "));
}

}  // namespace

std::vector<std::string> joinExchanges(Fusion& fusion, const std::vector<Asked>& asked) {
  std::unordered_map<const Val*, const Asked*> by_result;
  for (const Asked& one : asked) {
    by_result[one.result] = &one;
  }
  std::vector<std::string> lines;
  TensorView* last = nullptr;
  const Needs needs(fusion);
  for (const Group& group : earliestFirst(groupsOf(needs), needs)) {
    lines.push_back(lineOf(group, by_result));
    const CommunicationOp* first = group[0];
    std::vector<TensorView*> operands;
    for (const CommunicationOp* one : group) {
      operands.push_back(one->input(0)->as<TensorView>());
    }
    const std::vector<TensorView*> results = communicate(first->type(), operands, first->mesh(),
                                                         first->along(), first->reduction(), last);
    for (size_t i = 0; i < group.size(); ++i) {
      preseg_passes::replaceTensor(group[i]->output(0)->as<TensorView>(), results[i]);
    }
    last = results.back();
  }
  return lines;
}

}  // namespace nvfuser::multidevice
