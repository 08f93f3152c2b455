#include <multidevice/propagate.h>

#include <ir/axis_map.h>

namespace nvfuser::multidevice {

namespace {

/// What readers would like, for tensors that are not declared.
Shardings wishes(const std::vector<Expr*>& exprs, const Flows& flows, const Shardings& declared) {
  Shardings wished = declared;
  for (size_t i = exprs.size(); i-- > 0;) {
    const AxisFlow& flow = flows.at(exprs[i]);
    for (const TensorView* out : tensorOutputs(exprs[i])) {
      const Sharding of_out = wished[out];
      for (const TensorView* in : tensorInputs(exprs[i])) {
        if (declared.count(in) != 0) {
          continue;
        }
        Sharding& of_in = wished[in];
        for (const ParallelType mesh_axis : kMeshAxes) {
          const auto axis = of_out[mesh_axis] && flow.canCut(out, *of_out[mesh_axis], mesh_axis)
                                ? flow.operandAxis(in, out, *of_out[mesh_axis])
                                : std::nullopt;
          if (axis && !of_in[mesh_axis] && !of_in.of(*axis)) {
            of_in[mesh_axis] = axis;
          }
        }
      }
    }
  }
  return wished;
}

}  // namespace

Shardings propagate(const std::vector<Expr*>& exprs, const Flows& flows,
                    const Shardings& declared) {
  const Shardings wished = wishes(exprs, flows, declared);
  Shardings all = declared;
  for (const Expr* expr : exprs) {
    const AxisFlow& flow = flows.at(expr);
    for (const TensorView* out : tensorOutputs(expr)) {
      if (all.count(out) != 0) {
        continue;
      }
      Sharding result;
      for (const ParallelType mesh_axis : kMeshAxes) {
        std::optional<size_t> axis;
        for (const TensorView* in : tensorInputs(expr)) {
          const Sharding& of_in = all[in];
          if (!axis && of_in[mesh_axis]) {
            axis = flow.resultAxis(in, *of_in[mesh_axis], out);
          }
        }
        if (!axis) {
          const auto found = wished.find(out);
          axis = found != wished.end() ? found->second[mesh_axis] : std::nullopt;
        }
        if (axis && flow.canCut(out, *axis, mesh_axis) && !result.of(*axis)) {
          result[mesh_axis] = axis;
        }
      }
      all[out] = result;
    }
  }
  return all;
}

}  // namespace nvfuser::multidevice
