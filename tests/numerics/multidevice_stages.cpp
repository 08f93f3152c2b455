// Fusions on two meshes: a stage on each, and what is handed over between them.
#include "multidevice_world.h"

using namespace nvfuser;
using namespace multidevice_test;

namespace {

/// An MLP whose halves are on meshes of their own.
void layers(const World& w, std::optional<int64_t> columns) {
  TensorView* x = w.input(2);
  TensorView* first = relu(linear(x, w.input(2, columns)));
  w.share(first, columns ? std::optional<int64_t>(1) : std::nullopt, ParallelType::DIDx);
  const World second = w.onSecond();
  TensorView* weight = second.input(2, columns ? std::optional<int64_t>(1) : std::nullopt);
  second.output(linear(first, weight));
}

const std::vector<std::vector<int64_t>> kLayers = {{5, 6}, {24, 6}, {6, 24}};

}  // namespace

TEST_CASE("multidevice: stages on two meshes") {
  const DeviceMesh pair({0, 1}), others({2, 3}), one({0}), three({1, 2, 3}), overlapping({1, 2});
  const Case whole{"layers, each whole",
                   kLayers,
                   [](const World& w) { layers(w, std::nullopt); },
                   {"handing over"}};
  const Case cut{"layers by columns",
                 kLayers,
                 [](const World& w) { layers(w, 0); },
                 {"handing over", "allreduce"}};
  for (Device* device : testDevices()) {
    check(whole, one, *device, DeviceMesh({1}));
    check(whole, pair, *device, others);
    check(whole, one, *device, three);
    check(whole, three, *device, one);
    check(whole, pair, *device, overlapping);
  }
  const Case parts{"part by part",
                   {{12, 5}},
                   [](const World& w) {
                     TensorView* y = exp(neg(w.input(2, 0)));
                     w.share(y, 0, ParallelType::DIDx);
                     w.onSecond().output(neg(y), 0);
                   },
                   {"handing over"},
                   false};
  const Case to_and_fro{"to and fro",
                        {{12, 5}, {12, 5}},
                        [](const World& w) {
                          TensorView* x = w.input(2, 0);
                          TensorView* y = neg(x);
                          w.share(y, 0, ParallelType::DIDx);
                          const World second = w.onSecond();
                          TensorView* z = add(y, second.input(2, 0));
                          second.share(z, 0, ParallelType::DIDx);
                          second.output(sum(z, {0}));
                          w.output(mul(add(x, y), add(z, x)));
                        },
                        {},
                        true,
                        1,
                        1e-5F,
                        false};
  const Case gathered{"cut, then by fewer devices",
                      {{12, 5}},
                      [](const World& w) {
                        TensorView* y = neg(w.input(2, 0));
                        w.share(y, 0, ParallelType::DIDx);
                        w.onSecond().output(sum(y, {1}), 0);
                      },
                      {"handing over"}};
  const Case scattered{"whole, then by rows of more devices",
                       {{12, 6}},
                       [](const World& w) {
                         TensorView* y = neg(w.input(2));
                         w.share(y, std::nullopt, ParallelType::DIDx);
                         w.onSecond().output(mul(y, y), 0);
                       },
                       {"handing over"}};
  const Case across{"rows, then columns",
                    {{12, 6}},
                    [](const World& w) {
                      TensorView* y = neg(w.input(2, 0));
                      w.share(y, 0, ParallelType::DIDx);
                      w.onSecond().output(mul(y, y), 1);
                    },
                    {"handing over"}};
  const Case input_alone{"an input of devices that compute nothing",
                         {{12, 6}},
                         [](const World& w) { w.onSecond().output(neg(w.input(2, 0)), 0); },
                         {"handing over"}};
  const Case read_there{"an input that another mesh reads",
                        {{12, 5}},
                        [](const World& w) {
                          TensorView* x = w.input(2, 0);
                          w.output(neg(x), 0);
                          w.onSecond().output(mul(x, x), 0);
                        },
                        {"handing over"}};
  for (Device* device : testDevices()) {
    check(parts, pair, *device, others);
    check(to_and_fro, pair, *device, others);
    check(to_and_fro, pair, *device, overlapping);
    check(gathered, three, *device, one);
    check(gathered, DeviceMesh({0, 1}), *device, DeviceMesh({2, 3, 4}));
    check(read_there, pair, *device, others);
    check(cut, pair, *device, others);
    check(scattered, one, *device, three);
    check(scattered, one, *device, pair);
    check(scattered, pair, *device, overlapping);
    check(across, pair, *device, others);
    check(across, pair, *device, DeviceMesh({2, 3, 4}));
    check(across, pair, *device, overlapping);
    check(input_alone, pair, *device, DeviceMesh({2, 3, 4}));
  }
}
