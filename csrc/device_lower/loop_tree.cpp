#include <device_lower/loop_tree.h>

#include <algorithm>
#include <map>
#include <set>

#include <ir/axis_map.h>
#include <ir/scan_loops.h>
#include <iteration_space/refused_scans.h>

namespace nvfuser {

namespace {

class TreeBuilder {
 public:
  TreeBuilder(const Fusion& fusion, LoopModel& loops) : loops_(loops) {
    for (Expr* expr : fusion.exprs()) {
      const std::vector<TensorView*> outputs = tensorOutputs(expr);
      if (outputs.empty()) {
        continue;
      }
      if (isReduction(expr)) {
        addReduction(expr, outputs[0]);
      } else if (expr->isA<ScanOp>()) {
        addScan(expr, outputs[0]);
      } else {
        add(expr, outputs[0], LeafRole::Whole, loops_.path(outputs[0]));
      }
    }
    connect();
  }

  LoopNode run() {
    LoopNode root;
    std::vector<size_t> all(leaves_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    build(root, all, 0);
    return root;
  }

 private:
  size_t add(Expr* expr, TensorView* out, LeafRole role, std::vector<const LoopClass*> path) {
    auto leaf = std::make_unique<Leaf>();
    *leaf = {expr, role, out, std::move(path), static_cast<int>(leaves_.size())};
    leaves_.push_back(std::move(leaf));
    before_.emplace_back();
    return leaves_.size() - 1;
  }

  /// The loops in front of position `first`, and behind it loops of their own: all, or those that
  /// are not `folded`.
  std::vector<const LoopClass*> around(const TensorView* out, size_t first,
                                       const std::vector<bool>& folded, bool all) {
    std::vector<const LoopClass*> path;
    for (size_t i = 0; i < folded.size(); ++i) {
      if (i < first) {
        path.push_back(&loops_.of(out, static_cast<int>(i)));
      } else if (all || !folded[i]) {
        path.push_back(loops_.makePrivate(out, static_cast<int>(i)));
      }
    }
    return path;
  }

  void addReduction(Expr* expr, TensorView* out) {
    const std::vector<bool> folded = foldedLoops(out);
    const auto first =
        static_cast<size_t>(std::find(folded.begin(), folded.end(), true) - folded.begin());
    const size_t init = add(expr, out, LeafRole::Init, around(out, first, folded, false));
    const size_t update = add(expr, out, LeafRole::Update, loops_.path(out));
    const size_t finish = add(expr, out, LeafRole::Finish, around(out, first, folded, false));
    before_[update].insert(init);
    before_[finish].insert(update);
  }

  void addScan(Expr* expr, TensorView* out) {
    const std::vector<bool> folded = foldedLoops(out);
    const auto first =
        static_cast<size_t>(std::find(folded.begin(), folded.end(), true) - folded.begin());
    size_t before = add(expr, out, LeafRole::Init, around(out, first, folded, false));
    const std::vector<int> threads = threadsOfScan(out, loops_);
    if (!threads.empty()) {
      const auto behind = std::find(folded.begin() + threads.back() + 1, folded.end(), true);
      const auto own = static_cast<size_t>(behind - folded.begin());
      for (LeafRole role : {LeafRole::Clear, LeafRole::Update, LeafRole::Exchange}) {
        const size_t next =
            add(expr, out, role, around(out, own, folded, role == LeafRole::Update));
        before_[next].insert(before);
        before = next;
      }
    }
    const size_t step = add(expr, out, LeafRole::Step, loops_.path(out));
    before_[step].insert(before);
  }

  /// before_[b] holds the statements that must be over when b starts.
  void connect() {
    std::map<const Expr*, std::pair<size_t, size_t>>
        range;  // first and last statement of an expression
    for (size_t i = 0; i < leaves_.size(); ++i) {
      auto [entry, fresh] = range.emplace(leaves_[i]->expr, std::make_pair(i, i));
      if (!fresh) {
        entry->second.second = i;
      }
    }
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (!takesElements(leaves_[i]->role)) {
        continue;
      }
      for (TensorView* in : tensorInputs(leaves_[i]->expr)) {
        if (in->definition() == nullptr) {
          continue;
        }
        before_[i].insert(range.at(in->definition()).second);
      }
    }
  }

  void build(LoopNode& parent, const std::vector<size_t>& members, size_t depth) {
    // Group by the loop at this depth; a statement whose path ends here is a group of its own.
    std::vector<std::vector<size_t>> groups;
    std::map<const LoopClass*, size_t> group_of_loop;
    std::map<size_t, size_t> group_of_leaf;
    for (size_t m : members) {
      const auto& path = leaves_[m]->path;
      size_t g = groups.size();
      if (depth < path.size()) {
        auto [entry, fresh] = group_of_loop.emplace(path[depth], g);
        g = entry->second;
        if (fresh) {
          groups.emplace_back();
        }
      } else {
        groups.emplace_back();
      }
      groups[g].push_back(m);
      group_of_leaf[m] = g;
    }
    std::vector<std::set<size_t>> needs(groups.size());
    for (size_t m : members) {
      for (size_t b : before_[m]) {
        auto found = group_of_leaf.find(b);
        if (found != group_of_leaf.end() && found->second != group_of_leaf[m]) {
          needs[group_of_leaf[m]].insert(found->second);
        }
      }
    }
    std::vector<bool> done(groups.size(), false);
    // Threads wait for each other when all else is done: loads are in flight together, and what
    // several scans exchange goes together.
    const auto waits = [&](size_t g) {
      const Leaf& leaf = *leaves_[groups[g][0]];
      return depth == leaf.path.size() && leaf.role == LeafRole::Exchange;
    };
    for (size_t placed = 0; placed < groups.size(); ++placed) {
      size_t next = groups.size();
      for (size_t g = 0; g < groups.size(); ++g) {
        const bool ready = !done[g] && std::all_of(needs[g].begin(), needs[g].end(),
                                                   [&](size_t n) { return done[n]; });
        if (ready && (next == groups.size() || (waits(next) && !waits(g)))) {
          next = g;
        }
      }
      if (next == groups.size()) {
        reportCycle(groups, done, depth);
      }
      done[next] = true;
      const auto& group = groups[next];
      LoopNode node;
      if (depth < leaves_[group[0]]->path.size()) {
        node.loop = leaves_[group[0]]->path[depth];
        build(node, group, depth + 1);
      } else {
        node.leaf = std::move(leaves_[group[0]]);
      }
      parent.children.push_back(std::move(node));
    }
  }

  [[noreturn]] void reportCycle(const std::vector<std::vector<size_t>>& groups,
                                const std::vector<bool>& done, size_t depth) {
    std::string names;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (done[g]) {
        continue;
      }
      for (size_t m : groups[g]) {
        if (leaves_[m]) {
          names += text("\n  note: ", leaves_[m]->out);
        }
      }
    }
    userError("lower: the tensors below cannot share their loops at depth ", depth,
              ": each needs another one to be finished first; inline them at a smaller position",
              names);
  }

  LoopModel& loops_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
  std::vector<std::set<size_t>> before_;
};

void print(const LoopNode& node, int depth, std::string* out) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  static constexpr std::string_view kRoles[] = {"",       "init ",     "update ", "finish ",
                                                "clear ", "exchange ", "step "};
  if (node.sync) {
    static constexpr std::string_view kSyncs[] = {"warp", "block", "grid"};
    *out +=
        text(indent, "sync ", kSyncs[static_cast<size_t>(*node.sync)], "  // ", node.comment, "\n");
  } else if (node.async_wait) {
    static constexpr std::string_view kKinds[] = {"asynchronous copies", "bulk loads",
                                                  "bulk stores"};
    *out += text(indent, "wait for ", kKinds[static_cast<size_t>(*node.async_wait)], "  // ",
                 node.comment, "\n");
  } else if (node.async_fence) {
    *out += text(indent, "fence for bulk stores  // ", node.comment, "\n");
  } else if (node.leaf) {
    *out += text(indent, kRoles[static_cast<size_t>(node.leaf->role)], node.leaf->expr->toString(),
                 "\n");
  } else if (node.loop != nullptr) {
    *out += text(indent, "loop ", node.loop->index, " in 0..", node.loop->extent, "  // ",
                 node.loop->promoted, "\n");
  }
  for (const LoopNode& child : node.children) {
    print(child, node.loop ? depth + 1 : depth, out);
  }
}

}  // namespace

bool isFoldedIn(const Leaf& leaf, const LoopClass& loop) {
  const std::vector<bool> folded = foldedLoops(leaf.out);
  return std::any_of(loop.members.begin(), loop.members.end(), [&](const auto& member) {
    return member.first == leaf.out && folded[static_cast<size_t>(member.second)];
  });
}

LoopNode buildLoopTree(const Fusion& fusion, LoopModel& loops) {
  return TreeBuilder(fusion, loops).run();
}

std::string toString(const LoopNode& root) {
  std::string out;
  print(root, 0, &out);
  return out;
}

namespace {

void walk(LoopNode& node, std::vector<LoopNode*>& ancestors,
          const std::function<void(Leaf&, const std::vector<LoopNode*>&)>& visit) {
  if (node.leaf) {
    visit(*node.leaf, ancestors);
  }
  ancestors.push_back(&node);
  for (LoopNode& child : node.children) {
    walk(child, ancestors, visit);
  }
  ancestors.pop_back();
}

}  // namespace

void forEachLeaf(LoopNode& root,
                 const std::function<void(Leaf&, const std::vector<LoopNode*>&)>& visit) {
  std::vector<LoopNode*> ancestors;
  walk(root, ancestors, visit);
}

}  // namespace nvfuser
