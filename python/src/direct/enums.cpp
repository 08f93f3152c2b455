#include "direct/enums.h"

#include "direct/bindings.h"
#include "not_implemented.h"

namespace nvfuser::python {

LoadStoreOpType toLoadStore(LoadStoreName name) {
  switch (name) {
    case LoadStoreName::Set:
      return LoadStoreOpType::Set;
    case LoadStoreName::CpAsync:
      return LoadStoreOpType::CpAsync;
    case LoadStoreName::Tma:
      return LoadStoreOpType::CpAsyncBulkTensorTile;
    case LoadStoreName::LoadMatrix:
      break;
  }
  notImplemented(
      "LoadStoreOpType.load_matrix: fragments of matrices are not scheduled by hand here");
}

MemoryType toMemory(MemoryName name) {
  switch (name) {
    case MemoryName::Local:
      return MemoryType::Local;
    case MemoryName::Shared:
      return MemoryType::Shared;
    case MemoryName::Global:
      return MemoryType::Global;
    case MemoryName::Tensor:
      notImplemented("MemoryType.tensor: tensor memory needs a Blackwell GPU and is not supported");
    case MemoryName::Symmetric:
      break;
  }
  notImplemented("MemoryType.symmetric: memory shared by several GPUs is not supported");
}

ParallelType requireParallel(ParallelType type) {
  switch (type) {
    case ParallelType::Stream:
      notImplemented("ParallelType.stream: loops over streams are not supported");
    default:
      return type;
  }
}

void bindEnums(nb::module_& direct) {
  nb::enum_<ParallelType>(direct, "ParallelType", "What an axis of a loop domain is bound to.")
      .value("mesh_x", ParallelType::DIDx)
      .value("mesh_y", ParallelType::DIDy)
      .value("mesh_z", ParallelType::DIDz)
      .value("grid_x", ParallelType::BIDx)
      .value("grid_y", ParallelType::BIDy)
      .value("grid_z", ParallelType::BIDz)
      .value("block_x", ParallelType::TIDx)
      .value("block_y", ParallelType::TIDy)
      .value("block_z", ParallelType::TIDz)
      .value("mma", ParallelType::Mma)
      .value("serial", ParallelType::Serial)
      .value("tma", ParallelType::Bulk)
      .value("unroll", ParallelType::Unroll)
      .value("unswitch", ParallelType::Unswitch)
      .value("vectorize", ParallelType::Vectorize)
      .value("stream", ParallelType::Stream);
  nb::enum_<MemoryName>(direct, "MemoryType", "Where a tensor lives.")
      .value("local", MemoryName::Local)
      .value("shared", MemoryName::Shared)
      .value("global", MemoryName::Global)
      .value("tensor", MemoryName::Tensor)
      .value("symmetric", MemoryName::Symmetric);
  nb::enum_<LoadStoreName>(direct, "LoadStoreOpType", "How a copy is made.")
      .value("set", LoadStoreName::Set)
      .value("load_matrix", LoadStoreName::LoadMatrix)
      .value("cp_async", LoadStoreName::CpAsync)
      .value("tma", LoadStoreName::Tma);
  nb::enum_<CacheOp>(direct, "CacheOp", "Which caches a copy goes through.")
      .value("unspecified", CacheOp::Unspecified)
      .value("all_levels", CacheOp::AllLevels)
      .value("streaming", CacheOp::Streaming)
      .value("global", CacheOp::Global);
  nb::enum_<SchedulerType>(direct, "SchedulerType", "The automatic schedulers.")
      .value("none", SchedulerType::None)
      .value("no_op", SchedulerType::NoOp)
      .value("pointwise", SchedulerType::PointWise)
      .value("matmul", SchedulerType::Matmul)
      .value("reduction", SchedulerType::Reduction)
      .value("inner_persistent", SchedulerType::InnerPersistent)
      .value("inner_outer_persistent", SchedulerType::InnerOuterPersistent)
      .value("outer_persistent", SchedulerType::OuterPersistent)
      .value("transpose", SchedulerType::Transpose)
      .value("expr_eval", SchedulerType::ExprEval)
      .value("resize", SchedulerType::Resize)
      .value("greedy", SchedulerType::Greedy)
      .value("scan", SchedulerType::Scan)
      .value("scatter", SchedulerType::Scatter);
}

}  // namespace nvfuser::python
