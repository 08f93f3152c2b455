// A block of GPT-2, forward and backward, as one Fusion: what lies between its products of matrices
// and its attention is fused.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>

namespace example {

using namespace nvfuser;

struct BlockSizes {
  int64_t batch = 2;
  int64_t sequence = 8;
  int64_t heads = 12;
  int64_t width = 768;  ///< of all heads together
};

/// The names and sizes of its inputs, in their order: what is computed with, then the parameters.
inline std::vector<std::pair<std::string, std::vector<int64_t>>> blockInputs(const BlockSizes& at) {
  const int64_t e = at.width;
  return {{"x", {at.batch, at.sequence, e}},
          {"grad", {at.batch, at.sequence, e}},
          {"norm1.weight", {e}},
          {"norm1.bias", {e}},
          {"qkv.weight", {3 * e, e}},
          {"qkv.bias", {3 * e}},
          {"proj.weight", {e, e}},
          {"proj.bias", {e}},
          {"norm2.weight", {e}},
          {"norm2.bias", {e}},
          {"up.weight", {4 * e, e}},
          {"up.bias", {4 * e}},
          {"down.weight", {e, 4 * e}},
          {"down.bias", {e}}};
}

/// Its outputs: the result, the gradient of x, then those of the parameters in their order.
class Block {
 public:
  Block(Fusion& fusion, const BlockSizes& sizes) : fusion_(fusion), at_(sizes) {}

  void define() {
    std::vector<TensorView*> in;
    for (const auto& [name, sizes] : blockInputs(at_)) {
      in.push_back(makeContigConcreteTensor(sizes));
      fusion_.addInput(in.back());
    }
    TensorView* x = in[0];
    TensorView* grad = in[1];
    const Layer norm1{in[2], in[3]};
    const Layer qkv{in[4], in[5]};
    const Layer proj{in[6], in[7]};
    const Layer norm2{in[8], in[9]};
    const Layer up{in[10], in[11]};
    const Layer down{in[12], in[13]};

    const ForwardNormResult first = normed(x, norm1);
    const auto heads = split(linear(first.output, qkv.weight, qkv.bias));
    Val* causal = IrBuilder::create<Val>(PolymorphicValue(true));
    Val* no_dropout = IrBuilder::create<Val>(0.0);
    const SdpaFwdResult seen =
        sdpfa_fwd(heads[0], heads[1], heads[2], nullptr, nullptr, no_dropout, causal, nullptr);
    TensorView* mixed = joined(seen.output);
    TensorView* middle = add(x, linear(mixed, proj.weight, proj.bias));
    const ForwardNormResult second = normed(middle, norm2);
    TensorView* wide = linear(second.output, up.weight, up.bias);
    TensorView* active = tanh_gelu(wide);
    fusion_.addOutput(add(middle, linear(active, down.weight, down.bias)));

    // Backward, from the last operation to the first.
    Gradients of_down = throughLinear(grad, active, down);
    Gradients of_up = throughLinear(tanh_gelu_backward(of_down.input, wide), second.output, up);
    const BackwardNormResult of_norm2 = throughNorm(of_up.input, middle, second, norm2);
    TensorView* of_middle = add(grad, of_norm2.grad_input);
    Gradients of_proj = throughLinear(of_middle, mixed, proj);
    const SdpaBwdResult of_heads =
        sdpfa_bwd(headsOf(of_proj.input), heads[0], heads[1], heads[2], seen.output, seen.logsumexp,
                  no_dropout, causal, seen.philox_seed, seen.philox_offset, nullptr);
    TensorView* of_split = cat(
        {joined(of_heads.grad_query), joined(of_heads.grad_key), joined(of_heads.grad_value)}, -1);
    Gradients of_qkv = throughLinear(of_split, first.output, qkv);
    const BackwardNormResult of_norm1 = throughNorm(of_qkv.input, x, first, norm1);
    fusion_.addOutput(add(of_middle, of_norm1.grad_input));
    for (TensorView* tv : {of_norm1.grad_weight, of_norm1.grad_bias, of_qkv.weight, of_qkv.bias,
                           of_proj.weight, of_proj.bias, of_norm2.grad_weight, of_norm2.grad_bias,
                           of_up.weight, of_up.bias, of_down.weight, of_down.bias}) {
      fusion_.addOutput(tv);
    }
  }

 private:
  struct Layer {
    TensorView* weight;
    TensorView* bias;
  };
  struct Gradients {
    TensorView* input;
    TensorView* weight;
    TensorView* bias;
  };

  static ForwardNormResult normed(TensorView* x, const Layer& norm) {
    return layer_norm(x, 1, norm.weight, norm.bias, IrBuilder::create<Val>(1e-5));
  }

  static BackwardNormResult throughNorm(TensorView* dy, TensorView* x, const ForwardNormResult& of,
                                        const Layer& norm) {
    return layer_norm_backward(dy, x, std::vector<int64_t>{-1}, of.mean, of.invstd, norm.weight,
                               norm.bias, {true, true, true});
  }

  /// Rows of all sequences.
  TensorView* rows(TensorView* x, int64_t width) const {
    return reshape(x, {at_.batch, at_.sequence, width}, {at_.batch * at_.sequence, width});
  }

  static int64_t sizeOf(const TensorView* tv, size_t axis) {
    return tv->getLogicalDomain()[axis]->extent()->value().as<int64_t>();
  }

  Gradients throughLinear(TensorView* dy, TensorView* x, const Layer& layer) const {
    const int64_t out = sizeOf(layer.weight, 0);
    const int64_t in = sizeOf(layer.weight, 1);
    return {matmul(dy, layer.weight), matmul(transpose(rows(dy, out), 0, 1), rows(x, in)),
            sum(dy, {0, 1})};
  }

  /// [batch, sequence, width] → [batch, heads, sequence, numbers]
  TensorView* headsOf(TensorView* x) const {
    const int64_t numbers = at_.width / at_.heads;
    return permute(reshape(x, {at_.batch, at_.sequence, at_.width},
                           {at_.batch, at_.sequence, at_.heads, numbers}),
                   {0, 2, 1, 3});
  }

  TensorView* joined(TensorView* heads) const {
    const int64_t numbers = at_.width / at_.heads;
    return reshape(permute(heads, {0, 2, 1, 3}), {at_.batch, at_.sequence, at_.heads, numbers},
                   {at_.batch, at_.sequence, at_.width});
  }

  /// Queries, keys and values.
  std::vector<TensorView*> split(TensorView* qkv) const {
    std::vector<TensorView*> parts;
    for (int64_t k = 0; k < 3; ++k) {
      parts.push_back(headsOf(
          slice(qkv, {0, 0, k * at_.width}, {at_.batch, at_.sequence, (k + 1) * at_.width})));
    }
    return parts;
  }

  Fusion& fusion_;
  const BlockSizes at_;
};

}  // namespace example
