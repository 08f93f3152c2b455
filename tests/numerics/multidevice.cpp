// Fusions over a mesh: devices are threads of this process, and together have what one device
// computes alone.
#include "multidevice_world.h"
#include <ir/builder.h>

using namespace nvfuser;
using namespace multidevice_test;

namespace {

Val* number(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
Val* size(int64_t value) { return IrBuilder::create<Val>(value, DataType::Index); }

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"parts of sums",
       {{12, 5}, {12, 5}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         w.output(add(x, w.input(2, 0)), 0);
       },
       {}},
      {"made whole",
       {{12, 5}},
       [](const World& w) { w.output(neg(w.input(2, 0))); },
       {"allgather"}},
      {"made whole along an inner axis",
       {{5, 12, 3}},
       [](const World& w) { w.output(neg(w.input(3, 1))); },
       {"allgather"}},
      {"cut without an exchange",
       {{12, 24}},
       [](const World& w) { w.output(neg(w.input(2)), 1); },
       {}},
      {"cut along another axis",
       {{12, 24}},
       [](const World& w) { w.output(neg(w.input(2, 0)), 1); },
       {"alltoall"}},
      {"cut along an outer axis",
       {{12, 24, 5}},
       [](const World& w) { w.output(neg(w.input(3, 1)), 0); },
       {"alltoall"}},
      {"a sum over the cut axis",
       {{24, 5}},
       [](const World& w) { w.output(sum(neg(w.input(2, 0)), {0})); },
       {"allreduce"}},
      {"a maximum over the cut axis, of a symbolic size",
       {{5, 24}},
       [](const World& w) {
         TensorView* x = w.input(2, 1);
         w.output(sub(x, broadcast(max(x, {1}), {false, true})), 1);
       },
       {"allreduce"}},
      {"a sum whose result is cut",
       {{12, 24}},
       [](const World& w) { w.output(sum(w.input(2, 0), {0}), 0); },
       {"reduce_scatter"}},
      {"a mean knows the whole size",
       {{24, 5}},
       [](const World& w) { w.output(mean(w.input(2, 0), std::vector<int64_t>{0}, false)); },
       {"allreduce"},
       false},
      {"softmax along the cut axis",
       {{3, 24}},
       [](const World& w) { w.output(softmax(w.input(2, 1), 1), 1); },
       {"allreduce", "allreduce"},
       false},
      {"variance over the cut axis",
       {{24, 3}},
       [](const World& w) {
         w.output(variance(w.input(2, 0), std::vector<int64_t>{0}, true, false));
       },
       {"allreduce", "allreduce"},
       false},
      {"layer norm of cut tokens",
       {{24, 7}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         const auto norm = layer_norm(x, 1, nullptr, nullptr, number(1e-5));
         w.output(norm.output, 0);
       },
       {},
       false},
      {"two operands that are cut unlike",
       {{12, 24}, {12, 24}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         w.output(mul(x, w.input(2, 1)), 0);
       },
       {"alltoall"}},
      {"a broadcast operand",
       {{12, 24}, {24}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         w.output(mul(x, broadcast(w.input(1), {true, false})), 0);
       },
       {}},
      {"columns of a product",
       {{4, 6}, {6, 24}},
       [](const World& w) {
         TensorView* a = w.input(2);
         w.output(matmul(a, w.input(2, 1)), 1);
       },
       {}},
      {"a product summed over the cut axis",
       {{4, 24}, {24, 6}},
       [](const World& w) {
         TensorView* a = w.input(2, 1);
         w.output(matmul(a, w.input(2, 0)));
       },
       {"allreduce"}},
      {"the same with one operand whole",
       {{4, 24}, {24, 6}},
       [](const World& w) {
         TensorView* a = w.input(2, 1);
         w.output(matmul(a, w.input(2)));
       },
       {"allreduce"}},
      {"weights in parts, as data-parallel training keeps them",
       {{24, 6}, {12, 6}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         w.output(linear(x, w.input(2, 0)), 0);
       },
       {"allgather"}},
      {"an MLP whose middle is cut",
       {{5, 6}, {24, 6}, {24}, {6, 24}, {6}},
       [](const World& w) {
         TensorView* x = w.input(2);
         TensorView* w1 = w.input(2, 0);
         TensorView* middle = relu(linear(x, w1, w.input(1, 0)));
         TensorView* w2 = w.input(2, 1);
         w.output(linear(middle, w2, w.input(1)));
       },
       {"allreduce"}},
      {"the same between cut tokens",
       {{12, 6}, {24, 6}, {6, 24}, {6}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         TensorView* middle = linear(x, w.input(2, 0));
         w.share(middle, 1, ParallelType::DIDx);
         TensorView* w2 = w.input(2, 1);
         TensorView* out = linear(relu(middle), w2, w.input(1));
         w.output(add(x, out), 0);
       },
       {"allgather", "alltoall"}},
      {"heads out of a cut axis",
       {{2, 3, 24}},
       [](const World& w) {
         TensorView* x = w.input(3, 2);
         Val* batch = shape(x)[0];
         Val* tokens = shape(x)[1];
         w.output(permute(reshape(x, {batch, tokens, size(12), size(2)}), {0, 2, 1, 3}), 1);
       },
       {}},
      {"heads put together",
       {{2, 12, 3, 2}},
       [](const World& w) {
         TensorView* x = permute(w.input(4, 1), {0, 2, 1, 3});
         w.output(reshape(x, {shape(x)[0], shape(x)[1], size(24)}), 2);
       },
       {}},
      {"parts and joins along whole axes",
       {{12, 8}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         TensorView* left = slice(x, {{}, {size(0), size(4)}});
         TensorView* right = slice(x, {{}, {size(4), size(8)}});
         w.output(cat({neg(right), left}, 1), 0);
       },
       {}},
      {"a part of a cut axis takes all of it",
       {{24, 3}},
       [](const World& w) { w.output(slice(w.input(2, 0), {1, 0}, {7, 3})); },
       {"allgather"}},
      {"a running sum along the cut axis",
       {{24, 3}},
       [](const World& w) { w.output(cumsum(w.input(2, 0), 0), 0); },
       {"allgather"}},
      {"numbers made of sizes",
       {{24, 3}},
       [](const World& w) {
         TensorView* x = w.input(2, 0);
         TensorView* rows =
             castOp(DataType::Float, iota(shape(x)[0], size(0), size(1), DataType::Int));
         w.output(add(x, broadcast(rows, {false, true})), 0);
       },
       {}},
      {"filled and stretched",
       {{24, 1}, {24, 3}},
       [](const World& w) {
         TensorView* thin = w.input(2, 0);
         TensorView* x = w.input(2, 0);
         w.output(add(expand(squeeze(broadcast(thin, {false, false, true}), {2}), shape(x)), x), 0);
         w.output(full(shape(x), number(2), DataType::Float), 0);
       },
       {}},
      {"attention of cut heads",
       {{2, 12, 5, 4}, {2, 12, 6, 4}, {2, 12, 6, 4}},
       [](const World& w) {
         TensorView* q = w.input(4, 1);
         TensorView* k = w.input(4, 1);
         TensorView* v = w.input(4, 1);
         w.output(sdpfa_fwd(q, k, v, nullptr, nullptr, nullptr, nullptr, nullptr).output, 1);
       },
       {},
       false},
  };
  return all;
}

}  // namespace

TEST_CASE("multidevice: parts of all devices are what one device computes") {
  for (Device* device : testDevices()) {
    for (const Case& c : cases()) {
      for (const int64_t devices : {1, 2, 3, 4}) {
        check(c, line(devices), *device);
      }
    }
  }
}

TEST_CASE("multidevice: a mesh of two axes") {
  const DeviceMesh mesh({0, 1, 2, 3, 4, 5}, {2, 3});
  const std::vector<Case> two = {
      {"tokens by rows, weights by columns",
       {{4, 6}, {6, 12}},
       [](const World& w) {
         TensorView* a = w.input(2, 0, ParallelType::DIDy);
         w.output(matmul(a, w.input(2, 1)));
       },
       {"allgather", "allgather"}},
      {"summed along one, gathered along the other",
       {{4, 12}, {12, 6}},
       [](const World& w) {
         TensorView* x = w.input(2, 1);
         w.share(x, 0, ParallelType::DIDy);
         TensorView* y = matmul(x, w.input(2, 0));
         w.output(y, 0, ParallelType::DIDy);
       },
       {"allreduce"}},
  };
  for (const Case& c : two) {
    check(c, mesh, cpuDevice());
  }
}

TEST_CASE("multidevice: devices that disagree or do not come end with one error each") {
  auto together = [](int64_t devices, const std::function<void(int64_t, MultiDeviceExecutor&)>& run,
                     const std::function<void(int64_t, const World&)>& define, double limit_s) {
    const auto communicators = external::threadCommunicators(devices, limit_s);
    std::vector<std::string> errors(static_cast<size_t>(devices));
    std::vector<std::thread> threads;
    for (int64_t d = 0; d < devices; ++d) {
      threads.emplace_back([&, d] {
        try {
          Fusion fusion;
          FusionGuard guard(&fusion);
          define(d, {fusion, line(devices)});
          MultiDeviceExecutor executor(fusion, communicators[static_cast<size_t>(d)]);
          run(d, executor);
        } catch (const std::exception& error) {
          errors[static_cast<size_t>(d)] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return errors;
  };
  auto gathers = [](int64_t, const World& w) { w.output(neg(w.input(2, 0))); };
  auto holds = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };

  const auto unlike_sizes = together(
      2,
      [](int64_t d, MultiDeviceExecutor& executor) {
        executor.run({numbers({4 + d, 3}, 0, cpuDevice())});
      },
      gathers, 20);
  for (const std::string& error : unlike_sizes) {
    holds(error, "device 0 brings allgather of 12 elements of dtype float, but device 1 brings");
  }

  const auto unlike_fusions = together(
      2,
      [](int64_t, MultiDeviceExecutor& executor) {
        executor.run({numbers({4, 3}, 0, cpuDevice())});
      },
      [](int64_t d, const World& w) {
        TensorView* x = w.input(2, 0);
        w.output(d == 0 ? neg(x) : abs(x));
      },
      20);
  for (const std::string& error : unlike_fusions) {
    holds(error, "devices 0 and 1 have unlike fusions");
  }

  const auto one_is_gone = together(
      3,
      [](int64_t d, MultiDeviceExecutor& executor) {
        if (d != 2) {
          executor.run({numbers({4, 3}, 0, cpuDevice())});
        }
      },
      gathers, 0.5);
  holds(one_is_gone[0], "but these have not come: 2");
  holds(one_is_gone[1], "but these have not come: 2");
  CHECK(one_is_gone[2] == "");
}
