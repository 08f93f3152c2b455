#include <device_lower/lower.h>

#include <algorithm>
#include <array>
#include <chrono>

#include <device_lower/add_by_blocks.h>
#include <device_lower/async_copy.h>
#include <device_lower/branch_choices.h>
#include <device_lower/cluster_meetings.h>
#include <device_lower/collect_parameters.h>
#include <device_lower/fetch_ahead.h>
#include <device_lower/hoist_indices.h>
#include <device_lower/insert_syncs.h>
#include <device_lower/plan_shared_memory.h>
#include <device_lower/share_conditions.h>
#include <device_lower/share_draws.h>
#include <device_lower/split_loops.h>
#include <device_lower/validate_domains.h>
#include <device_lower/wait_for_grid.h>
#include <device_lower/wrap_remainders.h>
#include <ir/axis_map.h>
#include <iteration_space/refused_loops.h>
#include <kernel_ir/verifier.h>

namespace nvfuser {

using kir::Scalar;

namespace {

void verifyFusion(Lowering& l) {
  l.fusion->verify();
  l.fusion->verifySettled();
}

void checkDomains(Lowering& l) { validateDomains(*l.fusion); }

void mapAxisClasses(Lowering& l) {
  l.exact = std::make_unique<IdGraph>(*l.fusion, IdGraph::Mode::Exact);
}

void nameExtents(Lowering& l) {
  l.symbols = std::make_unique<Symbols>(*l.fusion, *l.exact, *l.kernel.pool);
}

void modelLoops(Lowering& l) {
  l.loops = std::make_unique<LoopModel>(*l.fusion, *l.exact, *l.symbols, l.options);
  if (const auto& refusal = l.loops->refusal()) {
    userError(*refusal);
  }
}

void checkSchedule(Lowering& l) {
  for (const TensorView* tv : computedTensors(*l.fusion)) {
    validateBulk(tv, *l.loops);
  }
  if (const auto refusal =
          refusedSchedule(*l.fusion, *l.exact, *l.loops, *l.symbols, l.options.target)) {
    refuseSchedule(*refusal);
  }
}

void allocate(Lowering& l) {
  l.allocations =
      std::make_unique<Allocations>(*l.fusion, *l.loops, *l.symbols, l.options, l.kernel);
}

void orderStatements(Lowering& l) { l.tree = buildLoopTree(*l.fusion, *l.loops); }

void synchronise(Lowering& l) {
  if (l.options.target == LowerTarget::Cpu) {
    return;
  }
  l.kernel.cooperative |= insertSyncs(l.tree, *l.exact, *l.loops, *l.allocations, l.options);
}

/// They come behind those that compute, along the outermost dimension of the block that is used.
void addLoadingThreads(kir::Kernel& kernel) {
  const kir::Kernel::WarpRoles& roles = *kernel.roles;
  const int on = roles.on;
  int64_t inner = 1;
  for (int d = 0; d < on; ++d) {
    inner *= roles.computing[d];
  }
  kernel.block[on] = kernel.pool->constant(roles.computing[on] + roles.loading / inner);
}

void buildStatements(Lowering& l) {
  KernelBuilder builder(*l.fusion, *l.exact, *l.loops, *l.symbols, *l.allocations, l.options,
                        l.kernel);
  builder.build(l.tree);
  l.scalar_operands = builder.scalarOperands();
  const ParallelType grid[] = {ParallelType::BIDx, ParallelType::BIDy, ParallelType::BIDz};
  const ParallelType block[] = {ParallelType::TIDx, ParallelType::TIDy, ParallelType::TIDz};
  for (int d = 0; d < 3; ++d) {
    l.kernel.grid[d] = l.loops->dimension(grid[d]);
    l.kernel.block[d] = l.loops->dimension(block[d]);
    l.kernel.cluster[d] = l.loops->cluster(grid[d]);
  }
  if (l.kernel.roles) {
    addLoadingThreads(l.kernel);
  }
  l.kernel.index_type = l.options.index_type;
  l.kernel.most_threads = l.fusion->kernelHints().most_threads;
  l.kernel.least_blocks = l.fusion->kernelHints().least_blocks;
}

void placeMeetings(Lowering& l) { placeClusterMeetings(l.kernel); }

void planMemory(Lowering& l) {
  planSharedMemory(l.kernel);
  // A grid barrier counts its arrivals in a workspace.
  kir::forEach(l.kernel.body, [&](kir::Stmt& stmt) {
    auto* sync = std::get_if<kir::Sync>(&stmt.node);
    if (sync == nullptr || sync->kind != kir::SyncKind::GridBarrier) {
      return;
    }
    kir::Buffer buffer;
    buffer.name = text("barrier", l.kernel.buffers.size());
    buffer.dtype = DataType::UInt32;
    buffer.memory = MemoryType::Global;
    buffer.elements = l.kernel.pool->constant(2);
    buffer.zeroed = buffer.barrier = buffer.read = buffer.written = true;
    sync->tickets = l.kernel.addBuffer(std::move(buffer));
  });
}

void nameBlocksOfDraws(Lowering& l) {
  if (l.options.target != LowerTarget::Cpu) {
    shareDraws(l.kernel);
  }
}

void shareConditions(Lowering& l) {
  nvfuser::shareConditions(l.kernel, l.options.target != LowerTarget::Cpu);
}

void wrapRemainders(Lowering& l) {
  if (l.options.target != LowerTarget::Cpu) {
    nvfuser::wrapRemainders(l.kernel);
  }
}

void fetchLines(Lowering& l) {
  if (l.options.target == LowerTarget::Cpu && !l.options.bounds &&
      l.fusion->kernelHints().fetch_ahead) {
    fetchAhead(l.kernel, l.symbols->sources());
  }
}

void splitAtTurns(Lowering& l) {
  if (l.options.target == LowerTarget::Cpu) {
    splitLoops(l.kernel);
  }
}

void branchAtTurns(Lowering& l) {
  if (l.options.target == LowerTarget::Cuda) {
    branchChoices(l.kernel);
  }
}

void hoist(Lowering& l) {
  if (l.options.index_hoist) {
    hoistIndices(l.kernel);
  }
}

/// Where random numbers are drawn, each unrolled copy of a loop carries a generator's ten rounds.
void limitUnrolling(Lowering& l) {
  bool draws = false;
  kir::forEach(l.kernel.body, [&](const kir::Stmt& stmt) {
    draws |= std::holds_alternative<kir::Random>(stmt.node);
  });
  if (!draws || l.options.unroll_with_rng) {
    return;
  }
  kir::forEach(l.kernel.body, [](kir::Stmt& stmt) {
    auto* loop = std::get_if<kir::For>(&stmt.node);
    if (loop != nullptr && loop->kind == kir::LoopKind::Unrolled) {
      loop->kind = kir::LoopKind::Serial;
    }
  });
}

void startEarly(Lowering& l) {
  const bool possible = l.options.target != LowerTarget::Cpu && l.options.compute_capability >= 90;
  if (l.options.dependent_launch && possible && !l.kernel.cooperative) {
    waitForGrid(l.kernel);
  }
}

void collect(Lowering& l) {
  const bool checked = l.options.bounds && l.options.target == LowerTarget::Cpu;
  collectParameters(*l.fusion, *l.allocations, *l.symbols, l.scalar_operands, checked, l.kernel);
}

/// What the kernel's text says at its top.
void writeHeader(Lowering& l) {
  kir::Kernel& kernel = l.kernel;
  auto dims = [](const Scalar(&extents)[3]) {
    std::string out;
    for (int d = 0; d < 3; ++d) {
      out += text(d > 0 ? " x " : "", extents[d] ? extents[d]->toString() : std::string("1"));
    }
    return out;
  };
  for (Expr* expr : l.fusion->exprs()) {
    const std::vector<TensorView*> outputs = tensorOutputs(expr);
    if (outputs.empty()) {
      continue;
    }
    kernel.header.push_back(
        text(join(outputs, ", ", [](TensorView* tv) { return tv->toInlineString(); }), " = ",
             expr->toInlineString()));
  }
  kernel.header.push_back(text("grid ", dims(kernel.grid), ", block ", dims(kernel.block)));
}

constexpr std::array kPasses = {
    LoweringPass{"verify-fusion", "the scheduled Fusion",
                 "the promise that its graph obeys the rules of the IR",
                 "a broken graph is reported by its own rules", verifyFusion},
    LoweringPass{"validate-domains", "the scheduled Fusion",
                 "the promise that each loop domain covers its tensor",
                 "wrong domains are reported before anything relies on them", checkDomains},
    LoweringPass{"map-axes", "valid domains", "exact, the classes of axes that mean the same index",
                 "which axes of different tensors mean the same index", mapAxisClasses},
    LoweringPass{"name-extents", "exact",
                 "symbols, one index symbol for each extent, and where the host reads it from",
                 "equal extents become one symbol, a parameter of the kernel", nameExtents},
    LoweringPass{"model-loops", "symbols",
                 "loops, the classes of loop axes that share one loop, with their extents",
                 "inlined axes share a loop; broadcasts run over what they meet", modelLoops},
    LoweringPass{"validate-schedule", "loops",
                 "the promise that no value is kept where its reader cannot see it",
                 "no value is kept where its reader cannot see it", checkSchedule},
    LoweringPass{"allocate", "loops",
                 "allocations, the buffer of every tensor: where it lives and how large it is",
                 "registers, shared memory and workspaces with their sizes", allocate},
    LoweringPass{"build-loop-tree", "loops",
                 "tree, every statement in its loops, in an order that respects the data",
                 "an order that computes everything before it is read", orderStatements},
    LoweringPass{"insert-syncs", "tree and allocations",
                 "barriers in tree, and whether the launch is cooperative",
                 "statements are ordered: it is known who reads what another thread wrote",
                 synchronise},
    LoweringPass{"build-statements", "all of the above",
                 "kernel.body (loops, predicates, indexed operations) and the launch extents",
                 "indices, predicates, vectors, reductions", buildStatements},
    LoweringPass{"cluster-meetings", "kernel.body",
                 "one arrival, and how each reduction of a cluster knows that the others are ready",
                 "the blocks of a cluster meet once, not for each reduction", placeMeetings, true},
    LoweringPass{"add-by-blocks", "kernel.body",
                 "entries of a scatter in shared memory, and sums of blocks behind them",
                 "on request, blocks add to memory once, not for each entry", addByBlocks},
    LoweringPass{"plan-shared-memory", "kernel.body",
                 "an offset to each shared buffer, and the workspace of grid barriers",
                 "offsets of all shared buffers, reductions' workspaces included", planMemory},
    LoweringPass{"share-draws", "final indices",
                 "block and word of random numbers whose neighbours share a block",
                 "four elements share the rounds of one generator block", nameBlocksOfDraws, true},
    LoweringPass{"share-conditions", "kernel.body",
                 "one `if` around neighbours, and around loops, that depend on a condition",
                 "a condition is tested once for all that depends on it", shareConditions, true},
    LoweringPass{"wrap-remainders", "final indices",
                 "comparisons where unrolled neighbours divided by an extent",
                 "neighbours rarely pass the end of an axis: one division serves all",
                 wrapRemainders, true},
    LoweringPass{"fetch-ahead", "final indices, loops of the CPU",
                 "requests for lines of memory, ahead of the loops that touch them",
                 "a row's next pass need not wait for memory", fetchLines, true},
    LoweringPass{"split-loops", "final indices, loops of the CPU",
                 "a loop for each side of a choice that its variable makes",
                 "vectors compute one side of a choice, not both", splitAtTurns, true},
    LoweringPass{"branch-choices", "final indices, loops of a GPU's threads",
                 "a branch for each side of a choice that a vector's elements make alike",
                 "threads compute one side of a choice, not both", branchAtTurns, true},
    LoweringPass{"hoist-indices", "final indices",
                 "names to index expressions that occur more than once",
                 "shared index expressions get a name", hoist, true},
    LoweringPass{"limit-unrolling", "kernel.body",
                 "serial loops where unrolled ones would repeat a random generator",
                 "on request, loops with random numbers stay loops", limitUnrolling, true},
    LoweringPass{"wait-for-grid", "all statements",
                 "a wait for the kernel in front, before global memory is touched",
                 "on request, kernels start before the one in front of them has ended", startEarly},
    LoweringPass{"collect-parameters", "all statements",
                 "kernel.params: tensors, workspaces, sizes, strides, scalars",
                 "what the statements mention has to be passed", collect},
    LoweringPass{"write-header", "the whole kernel", "the comment at its top",
                 "a kernel says which fusion it is", writeHeader},
};

}  // namespace

std::span<const LoweringPass> loweringPasses() { return kPasses; }

std::string printLowering(const Lowering& lowering) {
  if (!lowering.kernel.body.empty()) {
    return lowering.kernel.toString();
  }
  if (!lowering.tree.children.empty()) {
    return toString(lowering.tree);
  }
  if (lowering.exact) {
    return lowering.exact->toString();
  }
  return lowering.fusion->toString();
}

namespace {

bool isSkipped(const LoweringPass& pass, const LowerOptions& options) {
  const auto& names = options.skip_passes;
  return std::find(names.begin(), names.end(), pass.name) != names.end();
}

void checkSkipped(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool known = std::any_of(kPasses.begin(), kPasses.end(), [&](const LoweringPass& pass) {
      return pass.optional && pass.name == name;
    });
    if (known) {
      continue;
    }
    std::string optional;
    for (const LoweringPass& pass : kPasses) {
      if (pass.optional) {
        optional += text(optional.empty() ? "" : ", ", pass.name);
      }
    }
    userError("lower: '", name, "' is no pass that can be skipped; those are ", optional);
  }
}

/// The fusion is read only, and a kernel keeps the rules of its IR from its first statement on.
void verifyAfter(const LoweringPass& pass, const Lowering& lowering) {
  try {
    lowering.fusion->verify();
    if (lowering.symbols != nullptr && !lowering.kernel.body.empty()) {
      kir::verify(lowering.kernel, lowering.symbols->sources());
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw InternalError(text("after the pass ", pass.name, ": ", e.what()));
  }
}

}  // namespace

Lowering lower(Fusion* fusion, const LowerOptions& options, const LoweringObserver& observer) {
  Lowering lowering;
  lowering.fusion = fusion;
  lowering.options = options;
  if (!options.predicate_elimination) {
    lowering.kernel.pool->keepComparisons();
  }
  checkSkipped(options.skip_passes);
  for (const LoweringPass& pass : kPasses) {
    if (pass.optional && isSkipped(pass, options)) {
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    pass.run(lowering);
    if (options.verify) {
      verifyAfter(pass, lowering);
    }
    if (observer) {
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      observer(pass, lowering, took.count());
    }
  }
  return lowering;
}

}  // namespace nvfuser
