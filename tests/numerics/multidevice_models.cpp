// What people train over devices, forward and backward: MLPs cut by columns and by tokens,
// attention by heads, gradients of a batch that is shared, experts on devices of their own.
#include "multidevice_world.h"
#include <ir/builder.h>

using namespace nvfuser;
using namespace multidevice_test;

namespace {

constexpr int64_t kTokens = 12, kWidth = 24, kHidden = 48, kHeads = 12, kNumbers = 2;

Val* size(int64_t value) { return IrBuilder::create<Val>(value, DataType::Index); }

TensorView* transposed(TensorView* x) { return transpose(x, 0, 1); }

/// y = w2 · relu(w1 · x), and gradients of x, w1, w2. `tokens`: x and what has its shape are cut
/// there; `columns`: the weights are.
void mlp(const World& w, std::optional<int64_t> tokens, bool columns) {
  const auto cut = [&](int64_t axis) { return columns ? std::optional(axis) : std::nullopt; };
  TensorView* x = w.input(2, tokens);
  TensorView* grad = w.input(2, tokens);
  TensorView* w1 = w.input(2, cut(0));
  TensorView* w2 = w.input(2, cut(1));
  TensorView* wide = linear(x, w1);
  if (columns && tokens) {
    w.share(wide, 1, ParallelType::DIDx);
  }
  TensorView* active = relu(wide);
  w.output(linear(active, w2), tokens);
  TensorView* zero = full_like(wide, IrBuilder::create<Val>(0.0), DataType::Float);
  TensorView* of_active = matmul(grad, w2);
  if (columns && tokens) {
    w.share(of_active, 1, ParallelType::DIDx);
  }
  TensorView* of_wide = where(gt(wide, zero), of_active, zero);
  w.output(matmul(of_wide, w1), tokens);
  w.output(matmul(transposed(of_wide), x), cut(0));
  w.output(matmul(transposed(grad), active), cut(1));
}

const std::vector<std::vector<int64_t>> kMlpSizes = {
    {kTokens, kWidth}, {kTokens, kWidth}, {kHidden, kWidth}, {kWidth, kHidden}};

/// [tokens, width] → [1, heads, tokens, numbers]
TensorView* headsOf(TensorView* x) {
  TensorView* heads = reshape(x, {shape(x)[0], size(kHeads), size(kNumbers)});
  return broadcast(permute(heads, {1, 0, 2}), {true, false, false, false});
}

TensorView* joined(TensorView* heads) {
  TensorView* tokens =
      permute(squeeze(heads, std::vector<bool>{true, false, false, false}), {1, 0, 2});
  return reshape(tokens, {shape(tokens)[0], size(kWidth)});
}

/// Attention between products with weights of queries, keys, values and of the result, and all
/// gradients.
void attention(const World& w, std::optional<int64_t> tokens, bool by_heads) {
  const auto cut = [&](int64_t axis) { return by_heads ? std::optional(axis) : std::nullopt; };
  TensorView* x = w.input(2, tokens);
  TensorView* grad = w.input(2, tokens);
  std::vector<TensorView*> weights, heads;
  for (int i = 0; i < 3; ++i) {
    weights.push_back(w.input(2, cut(0)));
  }
  TensorView* last = w.input(2, cut(1));
  for (TensorView* weight : weights) {
    heads.push_back(headsOf(linear(x, weight)));
  }
  Val* none = IrBuilder::create<Val>(0.0);
  Val* causal = IrBuilder::create<Val>(PolymorphicValue(true));
  const SdpaFwdResult seen =
      sdpfa_fwd(heads[0], heads[1], heads[2], nullptr, nullptr, none, causal, nullptr);
  TensorView* mixed = joined(seen.output);
  w.output(linear(mixed, last), tokens);
  TensorView* of_mixed = matmul(grad, last);
  const SdpaBwdResult of_heads =
      sdpfa_bwd(headsOf(of_mixed), heads[0], heads[1], heads[2], seen.output, seen.logsumexp, none,
                causal, seen.philox_seed, seen.philox_offset, nullptr);
  TensorView* of_x = nullptr;
  const std::vector<TensorView*> grads = {of_heads.grad_query, of_heads.grad_key,
                                          of_heads.grad_value};
  std::vector<TensorView*> of_weights;
  for (size_t i = 0; i < 3; ++i) {
    TensorView* flat = joined(grads[i]);
    TensorView* part = matmul(flat, weights[i]);
    of_x = of_x == nullptr ? part : add(of_x, part);
    of_weights.push_back(matmul(transposed(flat), x));
  }
  w.output(of_x, tokens);
  for (TensorView* of_weight : of_weights) {
    w.output(of_weight, cut(0));
  }
  w.output(matmul(transposed(grad), mixed), cut(1));
}

const std::vector<std::vector<int64_t>> kAttentionSizes = {{kTokens, kWidth}, {kTokens, kWidth},
                                                           {kWidth, kWidth},  {kWidth, kWidth},
                                                           {kWidth, kWidth},  {kWidth, kWidth}};

/// Tokens [groups, experts, places, width], which groups have sorted by the expert that each goes
/// to: an expert has those of all groups, and gives them back.
void experts(const World& w) {
  constexpr int64_t kExperts = 12, kPlaces = 2, kGroups = 12;
  TensorView* x = w.input(4, 0);
  TensorView* weights = w.input(3, 0);
  TensorView* sent = permute(x, {1, 0, 2, 3});
  w.share(sent, 0, ParallelType::DIDx);
  TensorView* rows = reshape(sent, {size(kExperts), size(kGroups * kPlaces), shape(x)[3]});
  TensorView* done = relu(matmul(rows, weights));
  TensorView* apart = reshape(done, {size(kExperts), size(kGroups), size(kPlaces), shape(done)[2]});
  w.output(permute(apart, {1, 0, 2, 3}), 0);
}

Case caseOf(std::string title, std::vector<std::vector<int64_t>> sizes, Define define,
            std::vector<std::string> exchanges) {
  const bool counts = !exchanges.empty();
  return {std::move(title),
          std::move(sizes),
          std::move(define),
          std::move(exchanges),
          false,
          0.25F,
          2e-4F,
          counts};
}

}  // namespace

TEST_CASE("multidevice: models in training") {
  const std::vector<Case> cases = {
      caseOf("an MLP by its columns", kMlpSizes, [](const World& w) { mlp(w, std::nullopt, true); },
             {"allreduce"}),
      caseOf("an MLP by its columns between cut tokens", kMlpSizes,
             [](const World& w) { mlp(w, 0, true); },
             {"allgather", "allgather", "alltoall", "alltoall"}),
      caseOf("an MLP whose batch is shared", kMlpSizes, [](const World& w) { mlp(w, 0, false); },
             {"allreduce of"}),
      caseOf("attention by heads", kAttentionSizes,
             [](const World& w) { attention(w, std::nullopt, true); }, {"allreduce"}),
      caseOf("attention by heads between cut tokens", kAttentionSizes,
             [](const World& w) { attention(w, 0, true); }, {}),
      caseOf("experts", {{12, 12, 2, 6}, {12, 6, 4}}, experts, {"alltoall", "alltoall"}),
  };
  for (Device* device : testDevices()) {
    for (const Case& c : cases) {
      for (const int64_t devices : {1, 2, 3, 4}) {
        check(c, line(devices), *device);
      }
    }
  }
}
