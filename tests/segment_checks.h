/// Fusions under definition for tests of the segmenter, and what holds of every cut.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/internal_nodes.h>
#include <ops/all_ops.h>
#include <segmenter/segment_fusion.h>

namespace nvfuser {

/// Sizes that are no constants are 1024.
inline SegmentCall anyCall(DeviceKind device = DeviceKind::Cuda) {
  SegmentCall call;
  call.extent = [](const IterDomain* id) {
    const Val* extent = id->getMaybeExpandedExtent();
    return extent->isConst() ? extent->value().as<int64_t>() : int64_t{1024};
  };
  call.device = device;
  return call;
}

struct Draft {
  Fusion fusion;
  FusionGuard guard{&fusion};
  SegmentCounts counts;

  TensorView* input(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
    TensorView* tv = makeContigConcreteTensor(shape, dtype);
    fusion.addInput(tv);
    return tv;
  }
  TensorView* output(TensorView* tv) {
    fusion.addOutput(tv);
    return tv;
  }
  /// `x`, rows sorted, which no kernel computes.
  TensorView* opaque(TensorView* x) {
    return topk(x, IrBuilder::create<Val>(int64_t{1024}, DataType::Index), -1, true, true).values;
  }

  std::vector<Group> cut(const TakesGroup& takes, DeviceKind device = DeviceKind::Cuda);
};

/// Every tensor that a group reads is an input of the fusion or was stored by an earlier group or
/// computed by an earlier operation of its own; each tensor is stored once; all outputs are stored;
/// random numbers are drawn once.
inline void checkCut(const Fusion& fusion, const std::vector<Group>& groups) {
  std::set<const Val*> stored(fusion.inputs().begin(), fusion.inputs().end());
  std::set<const Expr*> covered;
  std::string wrong;
  for (const Group& group : groups) {
    std::set<const Val*> known;
    for (const TensorView* in : group.inputs) {
      if (stored.count(in) == 0) {
        wrong += text(in, " is read before it is stored. ");
      }
      known.insert(in);
    }
    for (const Expr* expr : group.exprs) {
      if (!covered.insert(expr).second && expr->isOneOf<RNGOp, ReductionOp, WelfordOp>()) {
        wrong += text(expr->output(0), " is computed twice. ");
      }
      for (const TensorView* in : tensorInputs(expr)) {
        if (known.count(in) == 0) {
          wrong += text(in, " is not known where it is used. ");
        }
      }
      known.insert(expr->outputs().begin(), expr->outputs().end());
    }
    if (group.outputs.empty()) {
      wrong += "A group stores nothing. ";
    }
    for (const TensorView* out : group.outputs) {
      if (known.count(out) == 0 || !stored.insert(out).second) {
        wrong += text(out, " is stored twice, or not computed. ");
      }
    }
  }
  for (const Val* out : fusion.outputs()) {
    if (stored.count(out) == 0) {
      wrong += text(out, " is never stored. ");
    }
  }
  CHECK(wrong == "");
}

inline std::vector<Group> Draft::cut(const TakesGroup& takes, DeviceKind device) {
  std::vector<Group> groups = segmentFusion(fusion, anyCall(device), takes, &counts);
  checkCut(fusion, groups);
  return groups;
}

inline bool takesAll(const Group&) { return true; }

inline bool hasReduction(const Group& group) {
  return std::any_of(group.exprs.begin(), group.exprs.end(),
                     [](const Expr* expr) { return expr->isOneOf<ReductionOp, WelfordOp>(); });
}

/// Element-wise operations, or such that end in one reduction.
inline bool takesTrees(const Group& group) {
  const auto reductions = std::count_if(group.exprs.begin(), group.exprs.end(), [](const Expr* e) {
    return e->isOneOf<ReductionOp, WelfordOp>();
  });
  return reductions == 0 || (reductions == 1 && group.outputs.size() == 1 &&
                             group.outputs[0]->definition()->isA<ReductionOp>());
}

/// `layers` times: normalise the rows, multiply, add, tanh; with a residual.
inline void defineLayers(Draft& draft, int layers) {
  TensorView* x = draft.input({-1, 512});
  for (int i = 0; i < layers; ++i) {
    TensorView* weight = draft.input({512});
    TensorView* bias = draft.input({512});
    TensorView* y = layer_norm(x, 1, weight, bias, IrBuilder::create<Val>(1e-5)).output;
    x = add(x, gelu(y));
  }
  draft.output(x);
}

}  // namespace nvfuser
