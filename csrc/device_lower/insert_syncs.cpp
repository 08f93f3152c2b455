#include <device_lower/insert_syncs.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include <device_lower/async_copy.h>
#include <device_lower/axes_read_elsewhere.h>
#include <ir/axis_map.h>

namespace nvfuser {

namespace {

struct Place {
  Leaf* leaf;
  std::vector<LoopNode*> ancestors;  ///< from the root down
};

class SyncInserter {
 public:
  SyncInserter(LoopNode& root, const IdGraph& exact, const LoopModel& loops,
               const Allocations& allocations, const LowerOptions& options)
      : root_(root),
        exact_(exact),
        loops_(loops),
        allocations_(allocations),
        options_(options),
        target_(options.target) {}

  bool run() {
    // Positions move when barriers go in, so each barrier is followed by a fresh look.
    while (insertOne()) {
    }
    waitForLastStores();
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
      if (!completes(place.leaf->role)) {
        continue;
      }
      for (TensorView* out : tensorOutputs(place.leaf->expr)) {
        writer[out] = &place;
      }
    }
    for (const Place& reader : places) {
      if (!takesElements(reader.leaf->role)) {
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
        const Place& write = *found->second;
        const auto copied = asyncKindOf(write.leaf->expr, target_);
        if (copied == kir::AsyncKind::Pieces && allocation.stages == 1 &&
            insertWait(write, reader, in)) {
          return true;
        }
        if (copied == kir::AsyncKind::BulkLoad && allocation.stages == 1 &&
            insertBulkWait(write, places, in)) {
          return true;
        }
        if (auto kind = needed(*write.leaf, *reader.leaf, in, allocation.buffer->memory)) {
          if (insertBetween(write, reader, *kind, in)) {
            return true;
          }
        }
        if (asyncKindOf(reader.leaf->expr, target_) == kir::AsyncKind::BulkStore &&
            (insertFence(write, reader, in) || insertStoreWait(write, reader, in))) {
          return true;
        }
      }
    }
    return false;
  }

  /// Whether each axis of `tv` becomes one of its own class. (Where x meets its transpose they do
  /// not: what a thread reads has another index than its class says.)
  bool keepsClasses(const Leaf& reader, const TensorView* tv) const {
    const auto axes = mapAxes(reader.expr, tv, reader.out);
    return std::all_of(axes.begin(), axes.end(), [&](const auto& pair) {
      return pair.first->isBroadcast() || exact_.mapped(pair.first, pair.second);
    });
  }

  /// Of a scatter (ir/internal_nodes.h): any thread writes any element of the target, which is
  /// filled before, and read afterwards where it has a reader.
  std::optional<kir::SyncKind> atAnyPlace(const Leaf& writer, const Leaf& reader,
                                          const TensorView* tv, MemoryType memory) const {
    const bool is_target = reader.expr->isA<WriteAtOp>() && reader.expr->input(0) == tv;
    const bool is_written = writer.expr->isA<WriteAtOp>() && !reader.out->uses().empty();
    std::optional<kir::SyncKind> kind;
    for (ParallelType type : kParallelTypeThreads) {
      if ((!is_target && !is_written) || !loops_.isUsed(type)) {
        continue;
      }
      if (isParallelTypeBlockDim(type)) {
        check(memory == MemoryType::Global, "blocks share the target of a scatter");
        return kir::SyncKind::GridBarrier;
      }
      kind = kir::SyncKind::BlockBarrier;
    }
    return kind;
  }

  std::optional<kir::SyncKind> needed(const Leaf& writer, const Leaf& reader, const TensorView* tv,
                                      MemoryType memory) const {
    if (writer.expr->isA<WriteAtOp>() || reader.expr->isA<WriteAtOp>()) {
      return atAnyPlace(writer, reader, tv, memory);
    }
    std::optional<kir::SyncKind> kind;
    const bool keeps_classes = keepsClasses(reader, tv);
    const std::unordered_set<const Val*> elsewhere = axesReadElsewhere(reader, tv);
    for (ParallelType type : kParallelTypeThreads) {
      if (!loops_.isUsed(type)) {
        continue;
      }
      if (memory == MemoryType::Shared && isParallelTypeBlockDim(type)) {
        continue;
      }
      // What the dimension does not spread is written by its index 0 alone; so may be what shares
      // the loop of more axes. (And what such a loop reads, each iteration reads.) What threads
      // repeat, all of them read where the first one wrote it.
      const IterDomain* written = loops_.boundAxis(writer.out, type);
      const bool own =
          keeps_classes && loops_.isSpread(writer.out, type) && loops_.isSpread(reader.out, type) &&
          exact_.mapped(written, loops_.boundAxis(reader.out, type)) &&
          exact_.mapped(written, loops_.promotedAxis(writer.out, type)) &&
          exact_.mapped(written, loops_.promotedAxis(reader.out, type)) &&
          !isMadeOf(loops_.boundAxis(tv, type), elsewhere) && !loops_.isRepeated(writer.out, type);
      if (own) {
        continue;
      }
      if (isParallelTypeBlockDim(type)) {
        return kir::SyncKind::GridBarrier;
      }
      kind = kir::SyncKind::BlockBarrier;
    }
    return kind;
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
    node.async_wait = kir::AsyncKind::Pieces;
    node.comment = text("T", tv->name(), " has arrived");
    insert(*scope, from + 1, std::move(node));
    return true;
  }

  /// In front of the first of all readers, in the innermost loop around them and the copy: as often
  /// as the copy is made.
  static bool insertBulkWait(const Place& writer, const std::vector<Place>& places,
                             const TensorView* tv) {
    std::vector<const Place*> readers;
    size_t depth = writer.ancestors.size() - 1;
    for (const Place& place : places) {
      const std::vector<TensorView*> inputs = tensorInputs(place.leaf->expr);
      if (std::find(inputs.begin(), inputs.end(), tv) != inputs.end() &&
          takesElements(place.leaf->role)) {
        readers.push_back(&place);
        depth = std::min(depth, commonDepth(writer, place));
      }
    }
    LoopNode* scope = writer.ancestors[depth];
    for (const LoopNode& child : scope->children) {
      if (child.async_wait && child.waits_for == tv) {
        return false;
      }
    }
    size_t first = scope->children.size();
    for (const Place* reader : readers) {
      first = std::min(first, childOf(*scope, *reader, depth));
    }
    LoopNode node;
    node.async_wait = kir::AsyncKind::BulkLoad;
    node.waits_for = tv;
    node.comment = text("T", tv->name(), " has arrived");
    insert(*scope, first, std::move(node));
    return true;
  }

  /// Behind what threads wrote and a bulk store reads, in front of the barrier between them.
  bool insertFence(const Place& writer, const Place& reader, const TensorView* tv) {
    const bool by_threads = asyncKindOf(writer.leaf->expr, target_) != kir::AsyncKind::BulkLoad;
    if (!by_threads || allocations_.of(tv).stages > 1) {
      return false;  // a circular buffer's loop has a fence of its own
    }
    const size_t depth = commonDepth(writer, reader);
    LoopNode* scope = writer.ancestors[depth];
    size_t at = childOf(*scope, writer, depth) + 1;
    const size_t to = childOf(*scope, reader, depth);
    while (at < to && !scope->children[at].async_fence &&
           !satisfies(scope->children[at], kir::SyncKind::BlockBarrier)) {
      ++at;
    }
    if (scope->children[at].async_fence) {
      return false;
    }
    LoopNode node;
    node.async_fence = true;
    node.comment = text("T", tv->name(), " is stored in bulk");
    insert(*scope, at, std::move(node));
    return true;
  }

  static bool waitsForStores(const LoopNode& node) {
    return node.async_wait == kir::AsyncKind::BulkStore;
  }

  /// At the end of the loop whose next iteration writes the source of a bulk store again.
  bool insertStoreWait(const Place& writer, const Place& reader, const TensorView* tv) {
    if (specialisation(tv, options_) != nullptr) {
      return false;  // its loop waits in each iteration
    }
    size_t depth = commonDepth(writer, reader);
    if (allocations_.of(tv).stages > 1) {
      const LoopClass* circular = &loops_.of(tv, static_cast<int>(tv->getComputeAtPosition()) - 1);
      while (writer.ancestors[depth]->loop != circular) {
        --depth;
      }
      if (depth-- == 0) {
        return false;
      }
    }
    LoopNode* loop = repeating(writer, depth);
    if (loop == nullptr ||
        std::any_of(loop->children.begin(), loop->children.end(), waitsForStores)) {
      return false;
    }
    LoopNode node;
    node.async_wait = kir::AsyncKind::BulkStore;
    node.comment = text("T", tv->name(), " has been read");
    insert(*loop, loop->children.size() - (loop->children.back().sync ? 1 : 0), std::move(node));
    return true;
  }

  /// No block ends while its shared memory is read.
  void waitForLastStores() {
    bool open = false;
    forEachLeaf(root_, [&](Leaf& leaf, const std::vector<LoopNode*>& ancestors) {
      const bool waited = std::any_of(ancestors.begin(), ancestors.end(), [](LoopNode* node) {
        return std::any_of(node->children.begin(), node->children.end(), waitsForStores);
      });
      open |= asyncKindOf(leaf.expr, target_) == kir::AsyncKind::BulkStore && !waited;
    });
    if (open) {
      LoopNode node;
      node.async_wait = kir::AsyncKind::BulkStore;
      node.comment = "shared memory has been read";
      root_.children.push_back(std::move(node));
    }
  }

  /// The innermost loop at this depth or around it that has a next iteration; null for none.
  static LoopNode* repeating(const Place& place, size_t depth) {
    for (size_t d = depth + 1; d-- > 0;) {
      LoopNode* loop = place.ancestors[d];
      if (loop->loop != nullptr && !loop->loop->isThread() && !loop->loop->extent->isConstant(1)) {
        return loop;
      }
    }
    return nullptr;
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
    if (specialisation(tv, options_) != nullptr) {
      return false;  // an mbarrier of each stage serves both directions
    }
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
      // The wait for a bulk load is one by all threads.
      bool present = asyncKindOf(writer.leaf->expr, target_) == kir::AsyncKind::BulkLoad;
      for (size_t i = from + 1; i < to; ++i) {
        present |= satisfies(scope->children[i], kind);
      }
      if (!present) {
        insert(*scope, to, barrier(kind, text("T", tv->name(), " is complete")));
        changed = true;
      }
    }
    // The next iteration of a loop around both writes the buffer again. (That of a circular buffer
    // begins with a barrier.)
    LoopNode* loop = repeating(writer, depth);
    const bool begins_with_one =
        loop != nullptr && loop->circular_barrier && kind == kir::SyncKind::BlockBarrier;
    if (loop != nullptr && !begins_with_one && !satisfies(loop->children.back(), kind) &&
        !satisfies(loop->children.front(), kind)) {
      insert(*loop, loop->children.size(),
             barrier(kind, text("T", tv->name(), " may be written again")));
      changed = true;
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

  static LoopNode barrier(kir::SyncKind kind, std::string comment) {
    LoopNode node;
    node.sync = kind;
    node.comment = std::move(comment);
    return node;
  }

  static void insert(LoopNode& scope, size_t at, LoopNode node) {
    scope.children.insert(scope.children.begin() + static_cast<std::ptrdiff_t>(at),
                          std::move(node));
  }

  LoopNode& root_;
  const IdGraph& exact_;
  const LoopModel& loops_;
  const Allocations& allocations_;
  const LowerOptions& options_;
  const LowerTarget target_;
  bool grid_ = false;
};

}  // namespace

bool insertSyncs(LoopNode& root, const IdGraph& exact, const LoopModel& loops,
                 const Allocations& allocations, const LowerOptions& options) {
  return SyncInserter(root, exact, loops, allocations, options).run();
}

}  // namespace nvfuser
