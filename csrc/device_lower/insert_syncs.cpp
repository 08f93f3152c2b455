#include <device_lower/insert_syncs.h>

#include <map>

#include <ir/axis_map.h>

namespace nvfuser {

namespace {

struct Place {
  Leaf* leaf;
  std::vector<LoopNode*> ancestors;  ///< from the root down
};

/// The axis of `leaf`'s tensor bound to a dimension; null if none is.
const IterDomain* boundAxis(const Leaf& leaf, ParallelType type) {
  for (const LoopClass* loop : leaf.path) {
    if (loop->parallel != type) {
      continue;
    }
    for (auto [member, position] : loop->members) {
      if (member == leaf.out) {
        return member->getLoopDomain()[static_cast<size_t>(position)];
      }
    }
  }
  return nullptr;
}

class SyncInserter {
 public:
  SyncInserter(LoopNode& root, const IdGraph& exact, const LoopModel& loops,
               const Allocations& allocations)
      : root_(root), exact_(exact), loops_(loops), allocations_(allocations) {}

  bool run() {
    // Positions move when barriers go in, so each barrier is followed by a fresh look.
    while (insertOne()) {
    }
    return grid_;
  }

 private:
  bool insertOne() {
    std::vector<Place> places;
    forEachLeaf(root_, [&](Leaf& leaf, const std::vector<LoopNode*>& ancestors) {
      places.push_back({&leaf, ancestors});
    });
    std::map<const TensorView*, const Place*> writer;
    for (const Place& place : places) {
      if (place.leaf->role == LeafRole::Init || place.leaf->role == LeafRole::Update) {
        continue;
      }
      for (TensorView* out : tensorOutputs(place.leaf->expr)) {
        writer[out] = &place;
      }
    }
    for (const Place& reader : places) {
      if (reader.leaf->role == LeafRole::Init || reader.leaf->role == LeafRole::Finish) {
        continue;
      }
      for (TensorView* in : tensorInputs(reader.leaf->expr)) {
        auto found = writer.find(in);
        if (found == writer.end()) {
          continue;
        }
        const Allocation& allocation = allocations_.of(in);
        if (allocation.buffer->memory == MemoryType::Local) {
          continue;
        }
        if (isAsync(found->second->leaf->expr) && allocation.stages == 1 &&
            insertWait(*found->second, reader, in)) {
          return true;
        }
        if (auto kind = needed(*found->second->leaf, *reader.leaf, allocation.buffer->memory)) {
          if (insertBetween(*found->second, reader, *kind, in)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  std::optional<kir::SyncKind> needed(const Leaf& writer, const Leaf& reader,
                                      MemoryType memory) const {
    std::optional<kir::SyncKind> kind;
    for (ParallelType type : kParallelTypeThreads) {
      if (!loops_.isUsed(type)) {
        continue;
      }
      if (memory == MemoryType::Shared && isParallelTypeBlockDim(type)) {
        continue;
      }
      const IterDomain* written = boundAxis(writer, type);
      const IterDomain* read = boundAxis(reader, type);
      if (written != nullptr && read != nullptr && exact_.mapped(written, read)) {
        continue;
      }
      if (isParallelTypeBlockDim(type)) {
        return kir::SyncKind::GridBarrier;
      }
      kind = kir::SyncKind::BlockBarrier;
    }
    return kind;
  }

  static bool isAsync(const Expr* expr) {
    return expr->isA<LoadStoreOp>() &&
           expr->as<LoadStoreOp>()->opType() == LoadStoreOpType::CpAsync;
  }

  /// Depth of the innermost node around both.
  static size_t commonDepth(const Place& writer, const Place& reader) {
    size_t depth = 0;
    while (depth + 1 < writer.ancestors.size() && depth + 1 < reader.ancestors.size() &&
           writer.ancestors[depth + 1] == reader.ancestors[depth + 1]) {
      ++depth;
    }
    return depth;
  }

  /// Right behind the copy, in front of any barrier that publishes it.
  static bool insertWait(const Place& writer, const Place& reader, const TensorView* tv) {
    const size_t depth = commonDepth(writer, reader);
    LoopNode* scope = writer.ancestors[depth];
    const size_t from = childOf(*scope, writer, depth);
    if (scope->children[from + 1].async_wait) {
      return false;
    }
    LoopNode node;
    node.async_wait = true;
    node.comment = text("T", tv->name(), " has arrived");
    scope->children.insert(scope->children.begin() + static_cast<std::ptrdiff_t>(from + 1),
                           std::move(node));
    return true;
  }

  static bool satisfies(const LoopNode& node, kir::SyncKind kind) {
    return node.sync && *node.sync >= kind;
  }

  bool insertBetween(const Place& writer, const Place& reader, kir::SyncKind kind,
                     const TensorView* tv) {
    size_t depth = commonDepth(writer, reader);
    LoopNode* scope = writer.ancestors[depth];
    const size_t from = childOf(*scope, writer, depth);
    const size_t to = childOf(*scope, reader, depth);
    bool changed = false;
    if (allocations_.of(tv).stages > 1) {
      // A circular buffer's loop has a barrier of its own; only loops around it are left.
      const LoopClass* circular = &loops_.of(tv, static_cast<int>(tv->getComputeAtPosition()) - 1);
      while (writer.ancestors[depth]->loop != circular) {
        --depth;
      }
      writer.ancestors[depth]->circular_barrier = true;
      if (depth-- == 0) {
        return false;
      }
    } else {
      bool present = false;
      for (size_t i = from + 1; i < to; ++i) {
        present |= satisfies(scope->children[i], kind);
      }
      if (!present) {
        insert(*scope, to, kind, text("T", tv->name(), " is complete"));
        changed = true;
      }
    }
    // The next iteration of a loop around both writes the buffer again.
    for (size_t d = depth + 1; d-- > 0;) {
      LoopNode* loop = writer.ancestors[d];
      if (loop->loop == nullptr || loop->loop->isThread() || loop->loop->extent->isConstant(1)) {
        continue;
      }
      if (!satisfies(loop->children.back(), kind) && !satisfies(loop->children.front(), kind)) {
        insert(*loop, loop->children.size(), kind, text("T", tv->name(), " may be written again"));
        changed = true;
      }
      break;
    }
    if (kind == kir::SyncKind::GridBarrier) {
      grid_ = true;
    }
    return changed;
  }

  static size_t childOf(const LoopNode& scope, const Place& place, size_t depth) {
    for (size_t i = 0; i < scope.children.size(); ++i) {
      const LoopNode& child = scope.children[i];
      const bool below = depth + 1 < place.ancestors.size() && &child == place.ancestors[depth + 1];
      if (below || child.leaf.get() == place.leaf) {
        return i;
      }
    }
    throw InternalError("a statement is not below its loop");
  }

  static void insert(LoopNode& scope, size_t at, kir::SyncKind kind, std::string comment) {
    LoopNode node;
    node.sync = kind;
    node.comment = std::move(comment);
    scope.children.insert(scope.children.begin() + static_cast<std::ptrdiff_t>(at),
                          std::move(node));
  }

  LoopNode& root_;
  const IdGraph& exact_;
  const LoopModel& loops_;
  const Allocations& allocations_;
  bool grid_ = false;
};

}  // namespace

bool insertSyncs(LoopNode& root, const IdGraph& exact, const LoopModel& loops,
                 const Allocations& allocations) {
  return SyncInserter(root, exact, loops, allocations).run();
}

}  // namespace nvfuser
