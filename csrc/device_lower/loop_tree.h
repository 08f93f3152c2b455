/// The statements of a kernel in their loops, in an order that computes everything before it is
/// read.
///
/// At depth d, statements that share the loop class at depth d form a group; groups are sorted
/// topologically, ties by definition order, those last that threads wait in; inside a group the
/// same happens at depth d + 1. A cycle between groups is an illegal inlining.
///
/// A reduction is three statements around its reduction loops:
///
///   T1[i0, r1]:   k0 { init T1;  k1 { update T1 };  finish T1 }
///
/// `init` and `finish` run over the axes behind the first reduction axis in loops of their own.
///
/// A scan (ir/scan_loops.h) is two, and what reads it may share all of its loops: an element needs
/// only those before it.
///
///   T1[i0, s1]:   k0 { init T1;  k1 { step T1;  … } }
///
/// Where threads share the scanned axis, each combines its own elements first, in loops of its own:
///
///   T1[i0, s1, threadIdx.x, s3]:
///     k0 { init T1;  k1 { threadIdx.x { clear T1;  k3' { update T1 };  exchange T1;  k3 { step T1;
///     … } } } }
#pragma once

#include <iteration_space/loop_model.h>

namespace nvfuser {

enum class LeafRole : uint8_t { Whole, Init, Update, Finish, Clear, Exchange, Step };

/// Whether the statement reads what its expression reads, and whether it completes an element.
constexpr bool takesElements(LeafRole role) {
  return role == LeafRole::Whole || role == LeafRole::Update || role == LeafRole::Step;
}
constexpr bool completes(LeafRole role) {
  return role == LeafRole::Whole || role == LeafRole::Finish || role == LeafRole::Step;
}

struct Leaf {
  Expr* expr = nullptr;
  LeafRole role = LeafRole::Whole;
  TensorView* out = nullptr;           ///< the expression's first output
  std::vector<const LoopClass*> path;  ///< loops around it, outermost first
  int order = 0;                       ///< of definition
};

/// Whether the loop is one of these, of the leaf's tensor.
bool isFoldedIn(const Leaf& leaf, const LoopClass& loop);
/// A loop with what is in it, or (without a loop) one statement, barrier or wait.
struct LoopNode {
  const LoopClass* loop = nullptr;
  std::unique_ptr<Leaf> leaf;
  std::optional<kir::SyncKind> sync;
  std::optional<kir::AsyncKind> async_wait;  ///< closes and waits for copies of this kind
  const TensorView* waits_for = nullptr;     ///< what bulk loads fill
  bool async_fence = false;                  ///< bulk stores behind it see what threads wrote
  bool circular_barrier = false;  ///< of a loop: threads share its circular buffers' stages
  std::string comment;            ///< of a barrier: why
  std::vector<LoopNode> children;
};

/// The root has no loop and holds the whole kernel.
LoopNode buildLoopTree(const Fusion& fusion, LoopModel& loops);

std::string toString(const LoopNode& root);

/// Calls `visit` for every leaf in execution order, with the nodes from the root down to it.
void forEachLeaf(LoopNode& root,
                 const std::function<void(Leaf&, const std::vector<LoopNode*>& ancestors)>& visit);

}  // namespace nvfuser
