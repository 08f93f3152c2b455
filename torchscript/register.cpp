// Makes the pass and the operators known to PyTorch, as soon as the extension is loaded.

#include "graph_fuser.h"
#include "guard.h"
#include "kernel_cache.h"
#include <torch/csrc/jit/passes/pass_manager.h>
#include <torch/csrc/jit/passes/utils/subgraph_utils.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

namespace nvfuser::torchscript {

namespace {

torch::jit::Operation makeGroup(const torch::jit::Node* node) {
  // A group that was copied out of its graph before it got an id gets one here.
  const int64_t id = node->hasAttribute(torch::jit::attr::cache_id)
                         ? node->i(torch::jit::attr::cache_id)
                         : cacheIdOf(node->g(torch::jit::attr::Subgraph));
  return [cache = cacheWith(id)](torch::jit::Stack& stack) { cache->run(stack); };
}

const torch::jit::RegisterOperators kOperators({
    torch::jit::Operator(torch::jit::prim::CudaFusionGroup, makeGroup,
                         c10::AliasAnalysisKind::INTERNAL_SPECIAL_CASE),
    torch::jit::Operator("prim::CudaFusionGuard(...) -> bool", makeGuard,
                         c10::AliasAnalysisKind::FROM_SCHEMA),
});

const torch::jit::GraphPassNameType kPass = torch::jit::registerPrePass(fuseGraph);

}  // namespace

}  // namespace nvfuser::torchscript

/// Which version of the sources this was built from is told by the file's name; that it can be
/// called tells that it was loaded.
extern "C" unsigned nvf_ts_pass() { return nvfuser::torchscript::kPass; }
