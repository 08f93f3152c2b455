#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/normalization.h>
#include <ops/reduced_axes.h>

namespace nvfuser {

using ops::axesOf;
using ops::ReducedAxes;

namespace {

/// What a channel normalisation works on. Batch norm has one statistic for each channel, instance
/// norm one for each sample and channel.
struct ChannelNorm {
  std::string_view op;
  bool per_sample;
  int64_t rank;
  int64_t channel;

  ChannelNorm(const TensorView* x, bool channels_last, bool for_each_sample, std::string_view name)
      : op(name), per_sample(for_each_sample) {
    ops::requireReal(x, op);
    rank = static_cast<int64_t>(axesOf(x).size());
    const int64_t least = per_sample ? 3 : 2;
    if (rank < least) {
      userError(op, ": ", x, " has ", rank, " axes; at least ", least, " are needed (N, C",
                per_sample ? ", …)" : ")");
    }
    channel = channels_last ? rank - 1 : 1;
  }

  /// The axes that a statistic is taken over.
  ReducedAxes reduced(const TensorView* x) const {
    if (per_sample) {
      return ReducedAxes::allBut(x, {0, channel}, op);
    }
    return ReducedAxes::allBut(x, {channel}, op);
  }
  /// Whether running statistics take in those of `x`. As in PyTorch, those of no elements leave
  /// them alone, but the mean over no samples makes them NaN.
  Val* teaches(const TensorView* x) const {
    Val* none = ops::indexConstant(0);
    Val* any = SimplifyingIrBuilder::gtExpr(reduced(x).count(DataType::Index), none);
    Val* no_samples = SimplifyingIrBuilder::eqExpr(ops::sizesOf(x)[0], none);
    return per_sample ? SimplifyingIrBuilder::logicalOrExpr(any, no_samples) : any;
  }
  /// All axes but the channels': those a channel's parameter is constant over.
  ReducedAxes allButChannels(const TensorView* x) const {
    return ReducedAxes::allBut(x, {channel}, op);
  }

  /// A tensor with axis C, put in its place among axes of extent 1.
  TensorView* alongChannels(TensorView* tv, std::string_view name) const {
    ops::requireTensor(tv, op);
    if (axesOf(tv).size() != 1) {
      userError(op, ": ", name, " ", tv, " has ", axesOf(tv).size(),
                " axes; it must have one, the channels");
    }
    std::vector<bool> is_new(static_cast<size_t>(rank), true);
    is_new[static_cast<size_t>(channel)] = false;
    return broadcast(tv, is_new);
  }
  /// A saved statistic ([C], or [N, C] for instance norm) in place among the axes of `x`.
  TensorView* inPlace(TensorView* statistic, const TensorView* x, std::string_view name) const {
    ops::requireTensor(statistic, op);
    const size_t wanted = per_sample ? 2 : 1;
    if (axesOf(statistic).size() != wanted) {
      userError(op, ": ", name, " ", statistic, " has ", axesOf(statistic).size(),
                " axes; it must have ", wanted);
    }
    return reduced(x).keep(statistic);
  }
};

void checkRunningStats(const TensorView* running_mean, const TensorView* running_var,
                       bool are_needed, std::string_view op) {
  if ((running_mean == nullptr) != (running_var == nullptr)) {
    userError(op, ": running_mean and running_var are given together or not at all");
  }
  if (are_needed && running_mean == nullptr) {
    userError(op, ": outside training running_mean and running_var are needed");
  }
}

/// running·(1 − momentum) + fresh·momentum, written to the storage of `running`, which stays as it
/// is where the call teaches nothing.
void updateRunningStat(TensorView* running, TensorView* fresh, Val* momentum, Val* teaches,
                       std::string_view op) {
  TensorView* target = running;
  Expr* def = running->definition();
  if (def && def->isA<UnaryOp>() && def->as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast &&
      def->input(0)->isA<TensorView>()) {
    target = def->input(0)->as<TensorView>();
  }
  if (!target->isFusionInput()) {
    userError(op, ": the running statistic ", running,
              " is updated in place and must be an input of the fusion, or a cast of one");
  }
  Val* one = IrBuilder::create<Val>(PolymorphicValue(1.0));
  Val* rest = sub(one, momentum);
  TensorView* updated = add(mul(running, rest), mul(fresh, momentum));
  if (!teaches->isTrue()) {
    updated = where(teaches, updated, running);
  }
  updated = maybeCastOp(target->dtype(), updated);
  running->fusion()->aliasOutputToInput(updated, target, AllocationType::ReuseBuffer);
}

ForwardNormResult channelNorm(const ChannelNorm& norm, TensorView* x, TensorView* weight,
                              TensorView* bias, TensorView* running_mean, TensorView* running_var,
                              bool use_input_stats, Val* momentum, Val* eps) {
  ops::requireScalar(eps, "eps", norm.op);
  checkRunningStats(running_mean, running_var, !use_input_stats, norm.op);
  x = ops::inComputeType(x);
  const ReducedAxes reduced = norm.reduced(x);
  TensorView* mean = nullptr;
  TensorView* invstd = nullptr;
  TensorView* deviation = nullptr;
  TensorView* scale = nullptr;
  if (use_input_stats) {
    // One pass over x for both: an image is seldom kept on the chip.
    const WelfordResult stats = Welford(x, reduced.positions());
    mean = stats.avg;
    deviation = sub(x, reduced.keep(mean));
    TensorView* var_sum = stats.var_sum;
    TensorView* var = div(var_sum, reduced.count(x->dtype()));
    invstd = rsqrt(add(var, eps));
    scale = reduced.keep(invstd);
    if (running_mean) {
      ops::requireScalar(momentum, "momentum", norm.op);
      TensorView* new_mean = mean;
      TensorView* new_var = div(var_sum, reduced.count(x->dtype(), 1));
      if (norm.per_sample) {  // [N, C]: the running ones take in the mean over N
        new_mean = nvfuser::mean(new_mean, {0}, false);
        new_var = nvfuser::mean(new_var, {0}, false);
      }
      Val* teaches = norm.teaches(x);
      updateRunningStat(running_mean, new_mean, momentum, teaches, norm.op);
      updateRunningStat(running_var, new_var, momentum, teaches, norm.op);
    }
  } else {
    deviation = sub(x, norm.alongChannels(running_mean, "running_mean"));
    scale = norm.alongChannels(rsqrt(add(running_var, eps)), "running_var");
    // Nothing was computed that a backward pass could use.
    Val* none = ops::indexConstant(0);
    mean = full({none}, x->fusion()->zeroVal(x->dtype()), x->dtype());
    invstd = full({none}, x->fusion()->zeroVal(x->dtype()), x->dtype());
  }
  TensorView* y = mul(deviation, scale);
  if (weight) {
    y = mul(y, norm.alongChannels(weight, "weight"));
  }
  if (bias) {
    y = add(y, norm.alongChannels(bias, "bias"));
  }
  return {y, mean, invstd};
}

BackwardNormResult channelNormBackward(const ChannelNorm& norm, TensorView* x, TensorView* dy,
                                       TensorView* weight, TensorView* running_mean,
                                       TensorView* running_var, TensorView* save_mean,
                                       TensorView* save_invstd, bool training, Val* eps,
                                       const std::vector<bool>& output_mask) {
  ops::requireReal(dy, norm.op);
  if (output_mask.size() != 3) {
    userError(norm.op, ": output_mask has ", output_mask.size(), " entries; it needs 3");
  }
  x = ops::inComputeType(x);
  dy = ops::inComputeType(dy);
  const ReducedAxes reduced = norm.reduced(x);
  TensorView* mean = nullptr;
  TensorView* rstd = nullptr;
  if (training) {
    mean = norm.inPlace(save_mean, x, "save_mean");
    rstd = norm.inPlace(save_invstd, x, "save_invstd");
  } else {
    checkRunningStats(running_mean, running_var, true, norm.op);
    ops::requireScalar(eps, "eps", norm.op);
    mean = norm.alongChannels(running_mean, "running_mean");
    rstd = norm.alongChannels(rsqrt(add(running_var, eps)), "running_var");
  }
  TensorView* x_hat = mul(sub(x, mean), rstd);

  BackwardNormResult result;
  if (output_mask[0]) {
    TensorView* scale = weight ? mul(rstd, norm.alongChannels(weight, "weight")) : rstd;
    TensorView* grad = dy;
    if (training) {
      TensorView* along = mul(x_hat, reduced.keptMeanOf(mul(dy, x_hat)));
      grad = sub(sub(dy, reduced.keptMeanOf(dy)), along);
    }
    result.grad_input = mul(grad, scale);
  }
  const ReducedAxes over_all = norm.allButChannels(x);
  if (output_mask[1]) {
    result.grad_weight = over_all.sumOf(mul(dy, x_hat));
  }
  if (output_mask[2]) {
    result.grad_bias = over_all.sumOf(dy);
  }
  return result;
}

}  // namespace

ForwardNormResult batch_norm(TensorView* x, TensorView* weight, TensorView* bias,
                             TensorView* running_mean, TensorView* running_var, bool kTraining,
                             Val* momentum, Val* eps, bool channels_last) {
  return channelNorm({x, channels_last, false, "batch_norm"}, x, weight, bias, running_mean,
                     running_var, kTraining, momentum, eps);
}

BackwardNormResult batch_norm_backward(TensorView* x, TensorView* dy, TensorView* weight,
                                       TensorView* running_mean, TensorView* running_var,
                                       TensorView* save_mean, TensorView* save_invstd,
                                       bool kTraining, Val* eps,
                                       const std::vector<bool>& output_mask, bool channels_last) {
  return channelNormBackward({x, channels_last, false, "batch_norm_backward"}, x, dy, weight,
                             running_mean, running_var, save_mean, save_invstd, kTraining, eps,
                             output_mask);
}

ForwardNormResult instance_norm(TensorView* x, TensorView* weight, TensorView* bias,
                                TensorView* running_mean, TensorView* running_var,
                                bool kUseInputStats, Val* momentum, Val* eps, bool channels_last) {
  return channelNorm({x, channels_last, true, "instance_norm"}, x, weight, bias, running_mean,
                     running_var, kUseInputStats, momentum, eps);
}

BackwardNormResult instance_norm_backward(TensorView* x, TensorView* dy, TensorView* weight,
                                          TensorView* running_mean, TensorView* running_var,
                                          TensorView* save_mean, TensorView* save_invstd,
                                          bool kTraining, Val* eps,
                                          const std::vector<bool>& output_mask,
                                          bool channels_last) {
  return channelNormBackward({x, channels_last, true, "instance_norm_backward"}, x, dy, weight,
                             running_mean, running_var, save_mean, save_invstd, kTraining, eps,
                             output_mask);
}

}  // namespace nvfuser
