/// The pass of the profiling executor that makes groups of nodes, each in a
/// `prim::CudaFusionGroup` under a `prim::CudaFusionGuard`, with the unfused nodes beside it:
///
///   %a = aten::add(%x, %1, %2)            %g : bool = prim::CudaFusionGuard[types=[…]](%x)
///   %b = aten::relu(%a)              =>   %b = prim::If(%g)
///   return (%b)                             block0(): %c = prim::CudaFusionGroup_0[cache_id=0](%x)
///                                           block1(): %d = prim::FallbackGraph_1(%x)
///
/// It runs where profiled types are still in the graph: before PyTorch's own fusers, which then see
/// what is left.
#pragma once

#include <memory>

#include <torch/csrc/jit/ir/ir.h>

namespace nvfuser::torchscript {

void fuseGraph(std::shared_ptr<torch::jit::Graph>& graph);

}  // namespace nvfuser::torchscript
