// A transformer block, forward and backward, over devices: by batches, by sequences, by the columns
// of an MLP, by heads, and by two of these on a mesh of two axes.
#include "multidevice_world.h"
#include <cpp/transformer_block.h>

using namespace nvfuser;
using namespace multidevice_test;

namespace {

const example::BlockSizes kSizes{4, 8, 4, 32};

struct Shared {
  std::string input;
  int64_t axis;
  ParallelType along = ParallelType::DIDx;
};

/// `shares`: of the inputs; all others are whole. What comes out follows. No `exchanges`: any.
Case blockOf(std::string title, const std::vector<Shared>& shares,
             std::vector<std::string> exchanges) {
  Case result{std::move(title), {}, {}, std::move(exchanges), false, 0.05F, 2e-5F};
  result.counts = !result.exchanges.empty();
  for (const auto& [name, sizes] : example::blockInputs(kSizes)) {
    result.sizes.push_back(sizes);
  }
  result.define = [shares](const World& w) {
    example::Block(w.fusion, kSizes).define();
    const auto inputs = example::blockInputs(kSizes);
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto* tv = w.fusion.inputs()[i]->as<TensorView>();
      w.share(tv, std::nullopt, ParallelType::DIDx);
      for (const Shared& one : shares) {
        if (one.input == inputs[i].first) {
          w.share(tv, one.axis, one.along);
        }
      }
    }
  };
  return result;
}

}  // namespace

TEST_CASE("multidevice: a transformer block, forward and backward") {
  const std::vector<std::string> sums = {"allreduce"};  // of 12 gradients together
  const std::vector<Case> cases = {
      blockOf("by batches", {{"x", 0}, {"grad", 0}}, sums),
      blockOf("the MLP by its columns", {{"up.weight", 0}, {"up.bias", 0}, {"down.weight", 1}},
              {"allreduce"}),
      blockOf("by heads", {{"proj.weight", 1}}, {}),
      blockOf("by sequences", {{"x", 1}, {"grad", 1}}, {}),
  };
  for (Device* device : testDevices()) {
    for (const Case& c : cases) {
      for (const int64_t devices : {1, 2, 4}) {
        check(c, line(devices), *device);
      }
    }
  }
  check(blockOf("by batches and columns",
                {{"x", 0, ParallelType::DIDy},
                 {"grad", 0, ParallelType::DIDy},
                 {"up.weight", 0},
                 {"up.bias", 0},
                 {"down.weight", 1}},
                {"allreduce", "allreduce"}),
        DeviceMesh({0, 1, 2, 3}, {2, 2}), cpuDevice());
}
