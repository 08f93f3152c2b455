#include <kernel_ir/accesses.h>

#include <algorithm>

namespace nvfuser::kir {

namespace {

using Visit = std::function<void(const Ref&, bool)>;

/// Statements that touch no elements of their own go to the last overload.
struct Accesses {
  const Visit& visit;

  void operand(const Operand& o) const {
    if (auto* ref = std::get_if<Ref>(&o)) {
      visit(*ref, false);
    }
  }
  void operands(const std::vector<Operand>& all) const {
    for (const Operand& o : all) {
      operand(o);
    }
  }
  void optional(const Ref& ref) const {
    if (ref.buffer != nullptr) {
      visit(ref, true);
    }
  }
  void state(const std::vector<Ref>& parts) const {
    for (const Ref& part : parts) {
      visit(part, true);
    }
  }

  void operator()(const LoadIndex& s) const { visit(s.src, false); }
  void operator()(const Compute& s) const {
    operands(s.operands);
    visit(s.dst, true);
  }
  void operator()(const Assign& s) const {
    operand(s.src);
    visit(s.dst, true);
  }
  void operator()(const CopyVector& s) const {
    visit(s.src, false);
    visit(s.dst, true);
  }
  void operator()(const CopyAsync& s) const {
    visit(s.src, false);
    visit(s.dst, true);
  }
  void operator()(const BulkCopy& s) const {
    visit(s.src, false);
    visit(s.dst, true);
    optional(s.barrier);
  }
  void operator()(const BoxCopy& s) const {
    visit(s.shared, s.isLoad());
    optional(s.barrier);
  }
  void operator()(const MBarrierArrive& s) const { optional(s.barrier); }
  void operator()(const AsyncCommit& s) const { optional(s.barrier); }
  void operator()(const AsyncWait& s) const {
    optional(s.barrier);
    optional(s.phases);
  }
  void operator()(const Guarded& s) const {
    operand(s.src);
    operand(s.otherwise);
    visit(s.dst, true);
  }
  void operator()(const Combine& s) const {
    operands(s.value);
    state(s.state);
  }
  void operator()(const CombineAt& s) const {
    operand(s.value);
    visit(s.dst, true);
  }
  void operator()(const BlockReduce& s) const { state(s.state); }
  void operator()(const BlockScan& s) const {
    state(s.state);
    state(s.total);
  }
  void operator()(const ClusterReduce& s) const { state(s.state); }
  void operator()(const GridReduce& s) const { state(s.state); }
  void operator()(const Random& s) const {
    operands(s.parameters);
    visit(s.dst, true);
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

void addWorkspaces(const Stmt& stmt, const std::function<void(const Buffer*)>& add) {
  if (auto* block = std::get_if<BlockReduce>(&stmt.node)) {
    add(block->workspace);
  } else if (auto* scan = std::get_if<BlockScan>(&stmt.node)) {
    add(scan->workspace);
  } else if (auto* cluster = std::get_if<ClusterReduce>(&stmt.node)) {
    add(cluster->workspace);
  } else if (auto* grid = std::get_if<GridReduce>(&stmt.node)) {
    add(grid->workspace);
    add(grid->tickets);
  } else if (auto* sync = std::get_if<Sync>(&stmt.node)) {
    add(sync->tickets);
  } else if (auto* init = std::get_if<MBarrierInit>(&stmt.node)) {
    add(init->barriers);
  }
}

}  // namespace

void forEachAccess(const Stmt& stmt, const Visit& visit) { std::visit(Accesses{visit}, stmt.node); }

std::vector<const Buffer*> buffersOf(const Stmt& stmt) {
  std::vector<const Buffer*> buffers;
  const std::function<void(const Buffer*)> add = [&](const Buffer* buffer) {
    if (buffer != nullptr && std::find(buffers.begin(), buffers.end(), buffer) == buffers.end()) {
      buffers.push_back(buffer);
    }
  };
  auto look = [&](const Stmt& one) {
    forEachAccess(one, [&](const Ref& ref, bool) { add(ref.buffer); });
    addWorkspaces(one, add);
  };
  look(stmt);
  if (auto* loop = std::get_if<For>(&stmt.node)) {
    forEach(*loop->body, look);
  }
  if (auto* branch = std::get_if<If>(&stmt.node)) {
    forEach(*branch->then_body, look);
    if (branch->else_body) {
      forEach(*branch->else_body, look);
    }
  }
  return buffers;
}

}  // namespace nvfuser::kir
