/// Reductions and scans among threads, among the blocks of a cluster and among those of the grid.
#include <codegen/cuda_emitter.h>

namespace nvfuser::codegen {

namespace {

/// "true, false, false"
std::string flags(const bool (&dims)[3]) {
  return join(dims, ", ", [](bool along) { return std::string(along ? "true" : "false"); });
}

/// "threadIdx.x, threadIdx.z"
std::string dimensionNames(std::string_view index, const bool (&dims)[3]) {
  std::string out;
  for (size_t d = 0; d < 3; ++d) {
    if (dims[d]) {
      append(out, text(out.empty() ? "" : ", ", index, ".", "xyz"[d]));
    }
  }
  return out;
}

}  // namespace

void CudaEmitter::emit(const kir::BlockReduce& reduce) {
  snippets_.add("block_reduce.cuh");
  const StateType& type = stateType(reduce.monoid);
  out_.open("{",
            text(monoidName(reduce.monoid), " over ", dimensionNames("threadIdx", reduce.dims)));
  loadState(type, reduce.state);
  out_.line(text("state = blockAllReduce<", flags(reduce.dims), partArgument(reduce.role),
                 ">(state, ", reduce.workspace != nullptr ? reduce.workspace->name : "nullptr",
                 ");"));
  storeState(type, reduce.state);
  out_.close();
}

void CudaEmitter::emit(const kir::BlockScan& scan) {
  snippets_.add("block_scan.cuh");
  const StateType& type = stateType(scan.monoid);
  out_.open("{", text("scan by ", monoidName(scan.monoid), " along ",
                      dimensionNames("threadIdx", scan.dims), scan.backward ? ", backward" : ""));
  loadState(type, scan.state);
  loadState(type, scan.total, "total");
  out_.line(text("blockScan<", flags(scan.dims), ", ", scan.backward ? "true" : "false",
                 partArgument(scan.role), ">(state, total, ", scan.workspace->name, ");"));
  storeState(type, scan.state);
  storeState(type, scan.total, "total");
  out_.close();
}

void CudaEmitter::emit(const kir::ClusterReduce& reduce) {
  snippets_.add("cluster_reduce.cuh");
  const StateType& type = stateType(reduce.monoid);
  out_.open("{", text(monoidName(reduce.monoid), " over the blocks of the cluster"));
  loadState(type, reduce.state);
  static constexpr std::string_view kBefore[] = {"Cluster::Meets", "Cluster::Arrived",
                                                 "Cluster::Met"};
  out_.line(text("state = clusterAllReduce<", flags(reduce.threads), ", ",
                 kBefore[static_cast<size_t>(reduce.before)], ">(state, ", reduce.workspace->name,
                 ");"));
  storeState(type, reduce.state);
  out_.close();
}

const kir::BlockReduce* CudaEmitter::blockReduceBefore(const kir::GridReduce& reduce) const {
  const kir::BlockReduce* before = nullptr;
  bool reached = false;
  kir::forEach(kernel_.body, [&](const kir::Stmt& stmt) {
    if (auto* grid = std::get_if<kir::GridReduce>(&stmt.node)) {
      reached = reached || grid == &reduce;
    }
    auto* in_block = std::get_if<kir::BlockReduce>(&stmt.node);
    if (!reached && in_block != nullptr && in_block->state[0].buffer == reduce.state[0].buffer) {
      before = in_block;
    }
  });
  return before;
}

void CudaEmitter::emit(const kir::GridReduce& reduce) {
  snippets_.add("grid_reduce.cuh");
  check(reduce.workspace != nullptr && reduce.tickets != nullptr,
        "a grid reduction has a workspace and tickets");
  const StateType& type = stateType(reduce.monoid);
  constexpr bool kNone[3] = {false, false, false};
  const kir::BlockReduce* in_block = blockReduceBefore(reduce);
  const std::string arguments = text(
      "<", flags(reduce.dims), ", ", flags(in_block != nullptr ? in_block->dims : kNone),
      partArgument(kir::Role::All), ">(state, reinterpret_cast<", type.name, "*>(",
      reduce.workspace->name, "), ", reduce.tickets->name, ", ",
      in_block != nullptr && in_block->workspace != nullptr ? in_block->workspace->name : "nullptr",
      ");");
  std::string last;
  if (!reduce.all) {
    check(reduce.last != nullptr, "a grid reduction says which block has the result");
    last = scalar_.name(reduce.last);
    out_.line(text("bool ", last, ";"), "in the block that comes last, which has the result");
  }
  out_.open("{",
            text(monoidName(reduce.monoid), " over ", dimensionNames("blockIdx", reduce.dims)));
  loadState(type, reduce.state);
  out_.line(reduce.all ? "state = gridAllReduce" + arguments
                       : text(last, " = gridReduce", arguments));
  storeState(type, reduce.state);
  out_.close();
}

}  // namespace nvfuser::codegen
