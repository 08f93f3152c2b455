/// Warp specialisation: some threads of a block load, all others compute.
///
///   for k { load T1;  use T1 }    →    if (computes) { for k { wait until T1's stage is loaded
///                                                             use T1;  arrive: it has been read }
///                                                             }
///                                      else          { for k { wait until the stage has been read
///                                                             load T1 } }
///
/// The whole kernel is in both branches: of those that load only the loops around loads. Each stage
/// has two mbarriers, whose phases are waited for as often as it is loaded, so loops around the
/// buffer's need no barrier. Barriers of the block become barriers of the threads that compute.
#include <algorithm>

#include <device_lower/kernel_builder.h>
#include <iteration_space/schedule_refusal.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kWarpgroup = 128;
constexpr int64_t kRegisters = 65536;  ///< of a multiprocessor
constexpr int64_t kMostOfThread = 255;
constexpr int64_t kUnitOfRegisters = 8;

int dimensionOf(ParallelType type) {
  return type == ParallelType::TIDx ? 0 : type == ParallelType::TIDy ? 1 : 2;
}

constexpr ParallelType kDimensions[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};

}  // namespace

void KernelBuilder::findRoles(const Fusion& fusion) {
  for (const TensorView* tv : computedTensors(fusion)) {
    const WarpSpecialized* special = specialisation(tv, options_);
    if (special == nullptr) {
      continue;
    }
    if (asyncKindOf(tv->definition(), options_.target) != kir::AsyncKind::BulkLoad) {
      refuseSchedule({tv,
                      text("T", tv->name(), " is a circular buffer that threads of ",
                           parallelTypeName(special->on),
                           " fill which do nothing else, but it is no bulk copy"),
                      "bind its innermost axes to Bulk, or use Pipelined"});
    }
    if (!special_loads_.empty() && *special != *specialisation(special_loads_.front(), options_)) {
      refuseSchedule({tv,
                      text("T", tv->name(), " and T", special_loads_.front()->name(),
                           " are filled by threads of their own, but not by the same ones"),
                      "give both the same dimension and registers"});
    }
    special_loads_.push_back(tv);
  }
  if (!special_loads_.empty()) {
    countThreads(*specialisation(special_loads_.front(), options_));
  }
}

/// How many threads compute, and how many more load.
void KernelBuilder::countThreads(const WarpSpecialized& special) {
  const TensorView* tv = special_loads_.front();
  kir::Kernel::WarpRoles roles;
  const int on = roles.on = dimensionOf(special.on);
  int64_t inner = 1;  // threads of one index along the dimension
  for (int d = 0; d < 3; ++d) {
    const Scalar extent = loops_.dimension(kDimensions[d]);
    if (extent == nullptr) {
      continue;
    }
    if (!extent->isConstant()) {
      refuseSchedule(
          {tv,
           text("threads of a block have roles, but how many there are along ",
                parallelTypeName(kDimensions[d]), " is no constant: ", extent->toString()),
           "split the axis that is bound to it by a constant"});
    }
    if (d > on && extent->value > 1) {
      refuseSchedule({tv,
                      text("T", tv->name(), " is filled by threads of ",
                           parallelTypeName(special.on), ", but ", parallelTypeName(kDimensions[d]),
                           " is outside of it and has ", extent->value),
                      text("use WarpSpecialized(ParallelType::", "TID", "xyz"[d], ")")});
    }
    roles.computing[d] = extent->value;
    inner *= d < on ? extent->value : 1;
  }
  const int64_t unit = special.num_registers ? kWarpgroup : kWarpSize;
  roles.loading = std::max(kWarpgroup / inner, int64_t{1}) * inner;
  const int64_t computing = roles.firstLoading();
  if (computing % unit != 0 || roles.loading % unit != 0) {
    refuseSchedule(
        {tv,
         text(computing, " threads compute and ", roles.loading, " load, but a role has ",
              special.num_registers ? "warpgroups of 128 threads, which share registers"
                                    : "whole warps"),
         text("bind axes of a multiple of ", unit, " elements to threads")});
  }
  if (special.num_registers) {
    const auto [loading_registers, computing_registers] = *special.num_registers;
    const int64_t threads = computing + roles.loading;
    const int64_t entry = std::min(kRegisters / threads / kUnitOfRegisters * kUnitOfRegisters,
                                   kMostOfThread / kUnitOfRegisters * kUnitOfRegisters);
    const int64_t wanted = loading_registers * roles.loading + computing_registers * computing;
    if (wanted > entry * threads || loading_registers > entry || computing_registers < entry) {
      refuseSchedule({tv,
                      text(roles.loading, " threads that load with ", loading_registers,
                           " registers and ", computing, " that compute with ", computing_registers,
                           " need ", wanted, ", but a block of ", threads, " threads starts with ",
                           entry, " each, ", entry * threads, " in all"),
                      text("give at most ", entry, " to those that load, and at least ", entry,
                           " and at most ",
                           (entry * threads - loading_registers * roles.loading) / computing /
                               kUnitOfRegisters * kUnitOfRegisters,
                           " to those that compute")});
    }
  }
  kernel_.roles = roles;
}

bool KernelBuilder::isSpecialLoad(const TensorView* tv) const {
  return std::find(special_loads_.begin(), special_loads_.end(), tv) != special_loads_.end();
}

bool KernelBuilder::hasSpecialLoads(const LoopNode& node) const {
  return (node.leaf != nullptr && isSpecialLoad(node.leaf->out)) ||
         std::any_of(node.children.begin(), node.children.end(),
                     [&](const LoopNode& child) { return hasSpecialLoads(child); });
}

bool KernelBuilder::isForRole(const LoopNode& node) const {
  if (role_ == kir::Role::Loading) {
    return hasSpecialLoads(node);
  }
  return role_ != kir::Role::Computing || node.leaf == nullptr || !isSpecialLoad(node.leaf->out);
}

namespace {

/// What all threads of a block do together, those of the role do.
void setRole(kir::Block& body, kir::Role role, const TensorView* tv) {
  kir::forEach(body, [&](kir::Stmt& stmt) {
    if (auto* sync = std::get_if<kir::Sync>(&stmt.node)) {
      if (sync->kind == kir::SyncKind::GridBarrier) {
        refuseSchedule({tv, "blocks wait for each other in a kernel with threads that only load",
                        "use Pipelined"});
      }
      sync->role = role;
    } else if (auto* bulk = std::get_if<kir::BulkCopy>(&stmt.node)) {
      bulk->role = role;
    } else if (auto* box = std::get_if<kir::BoxCopy>(&stmt.node)) {
      box->role = role;
    } else if (auto* commit = std::get_if<kir::AsyncCommit>(&stmt.node)) {
      commit->role = role;
    } else if (auto* reduce = std::get_if<kir::BlockReduce>(&stmt.node)) {
      reduce->role = role;
    } else if (auto* scan = std::get_if<kir::BlockScan>(&stmt.node)) {
      scan->role = role;
    } else if (std::holds_alternative<kir::GridReduce>(stmt.node) ||
               std::holds_alternative<kir::ClusterReduce>(stmt.node)) {
      refuseSchedule({tv, "a kernel with threads that only load reduces across blocks",
                      "use Pipelined, or reduce in a block"});
    }
  });
}

}  // namespace

void KernelBuilder::buildRoles(LoopNode& root) {
  const TensorView* tv = special_loads_.front();
  const auto& registers = specialisation(tv, options_)->num_registers;
  kir::If branch;
  branch.condition = pool_.symbol(std::string(kir::kComputes), nullptr, 0, 1);
  branch.then_body = std::make_shared<kir::Block>();
  branch.else_body = std::make_shared<kir::Block>();
  for (auto [role, body] : {std::pair{kir::Role::Computing, branch.then_body.get()},
                            {kir::Role::Loading, branch.else_body.get()}}) {
    role_ = role;
    const bool computes = role == kir::Role::Computing;
    if (registers) {
      body->push_back(
          {kir::SetRegisters{computes ? registers->second : registers->first, computes}});
    }
    declare(root, *body);
    children(root, *body);
    setRole(*body, role, tv);
  }
  role_ = kir::Role::All;
  kernel_.body.push_back({std::move(branch)});
}

void KernelBuilder::specialisedLoop(LoopNode& node, const std::vector<const TensorView*>& loads,
                                    kir::Block& out) {
  const LoopClass& loop = *node.loop;
  const bool computes = role_ == kir::Role::Computing;
  kir::For statement;
  statement.var =
      loop.index->isConstant() ? pool_.symbol(text("k", loop.id), loop.extent) : loop.index;
  statement.extent = loop.extent;
  statement.comment =
      text("T", loads[0]->name(), " ", loop.promoted, ", ", computes ? "read from " : "loaded to ",
           loads[0]->circularBufferOptions().stage, " stages");
  statement.body = std::make_shared<kir::Block>();
  kir::Block& body = *statement.body;
  for (const TensorView* tv : loads) {
    if (computes) {
      wait(kir::AsyncKind::BulkLoad, 0, tv, body);
      continue;
    }
    const Allocation& allocation = allocations_.of(tv);
    body.push_back({kir::AsyncWait{0,
                                   kir::AsyncKind::BulkLoad,
                                   {allocation.free, indexer_.stage(tv)},
                                   {allocation.free_phases, pool_.zero()}}});
  }
  declare(node, body);
  children(node, body);
  if (!computes) {
    for (const TensorView* tv : loads) {
      commit(kir::AsyncKind::BulkLoad, tv, body);
    }
  } else {
    if (std::any_of(loads.begin(), loads.end(),
                    [&](const TensorView* tv) { return isBulkStored(tv, options_.target); })) {
      commit(kir::AsyncKind::BulkStore, nullptr, body);
      wait(kir::AsyncKind::BulkStore, 0, nullptr, body);
    }
    for (const TensorView* tv : loads) {
      body.push_back({kir::MBarrierArrive{{allocations_.of(tv).free, indexer_.stage(tv)}}});
    }
  }
  out.push_back({std::move(statement)});
}

}  // namespace nvfuser
