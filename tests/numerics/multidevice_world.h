// Fusions over a mesh whose devices are threads of this process, compared with what one device
// computes alone.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "devices.h"
#include <external/thread_communicator.h>
#include <multidevice/multi_device_executor.h>
#include <multidevice/sharding.h>
#include <ops/all_ops.h>
#include <support/options.h>

namespace multidevice_test {

using namespace nvfuser;

inline DeviceMesh line(int64_t devices) {
  std::vector<int64_t> all;
  for (int64_t device = 0; device < devices; ++device) {
    all.push_back(device);
  }
  return DeviceMesh(all);
}

/// A Fusion under definition, over a mesh.
struct World {
  Fusion& fusion;
  DeviceMesh mesh;
  DeviceMesh second = {};  ///< where there are two

  World onSecond() const { return {fusion, second}; }

  TensorView* input(int64_t rank, std::optional<int64_t> axis = std::nullopt,
                    ParallelType along = ParallelType::DIDx) const {
    TensorView* tv = makeContigTensor(rank);
    fusion.addInput(tv);
    share(tv, axis, along);
    return tv;
  }
  void output(TensorView* tv, std::optional<int64_t> axis = std::nullopt,
              ParallelType along = ParallelType::DIDx) const {
    fusion.addOutput(tv);
    share(tv, axis, along);
  }
  /// Whole, or the outer part of an axis for each device.
  void share(TensorView* tv, std::optional<int64_t> axis, ParallelType along) const {
    tv->setDeviceMesh(mesh);
    if (axis) {
      int64_t place = *axis;  // among the loops, of which reduced axes are some
      for (int64_t i = 0; i <= place; ++i) {
        place += tv->axis(i)->isReduction() ? 1 : 0;
      }
      tv->outer_split(place, mesh.size(along));
      tv->axis(place)->parallelize(along);
    }
  }
};

using Define = std::function<void(const World&)>;

/// Small whole numbers and halves: sums of a few are exact.
inline Tensor numbers(const std::vector<int64_t>& sizes, int64_t seed, Device& device,
                      float scale = 1) {
  std::vector<float> values;
  const int64_t count = Tensor::meta(sizes, rowMajorStrides(sizes), DataType::Float).numel();
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(scale * static_cast<float>((i * 7 + seed * 5 + 3) % 11 - 5) / 2);
  }
  return Tensor::fromHost(values, sizes, device);
}

/// The part of a device.
inline Tensor partOf(const Tensor& whole, const multidevice::Sharding& sharding,
                     const DeviceMesh& mesh, int64_t device) {
  Tensor part = whole;
  for (const ParallelType axis : kMeshAxes) {
    if (const auto cut = sharding[axis]) {
      const auto place = static_cast<int64_t>(*cut);
      const int64_t length = whole.size(place) / mesh.size(axis);
      const int64_t start = *mesh.coordinate(device, axis) * length;
      part = part.slice(place, start, start + length);
    }
  }
  return Tensor::fromHostTensor(part.toHostTensor(), whole.device());
}

struct Case {
  std::string title;
  std::vector<std::vector<int64_t>> sizes;  ///< of the inputs, whole
  Define define;
  std::vector<std::string> exchanges;  ///< how the lines begin, in order
  bool exact = true;
  float scale = 1;          ///< of the inputs' numbers
  float tolerance = 1e-5F;  ///< where it is not exact
  bool counts = true;       ///< the exchanges are those, and no others
};

inline void check(const Case& c, const DeviceMesh& mesh, Device& device,
                  const DeviceMesh& second = {}) {
  CAPTURE(c.title);
  CAPTURE(mesh.toString());
  CAPTURE(second.toString());
  CAPTURE(device.properties().name);
  Fusion fusion;
  FusionGuard guard(&fusion);
  c.define({fusion, mesh, second});
  int64_t last = 0;
  for (const DeviceMesh& one : {mesh, second}) {
    for (const int64_t rank : one.devices()) {
      last = std::max(last, rank);
    }
  }
  const auto devices = static_cast<size_t>(last + 1);
  std::vector<std::vector<multidevice::Stages::Place>> of_outputs(devices);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < c.sizes.size(); ++i) {
    inputs.push_back(numbers(c.sizes[i], static_cast<int64_t>(i), device, c.scale));
  }
  // Alone: the same without devices.
  auto alone = std::make_unique<Fusion>();
  {
    FusionGuard alone_guard(alone.get());
    c.define({*alone, DeviceMesh({0}), DeviceMesh({0})});
    for (TensorView* tv : alone->allTvs()) {
      tv->setLoopDomain(tv->getLogicalDomain());
    }
  }
  FusionExecutorCache cache(std::move(alone));
  KernelArgumentHolder whole_args;
  for (const Tensor& input : inputs) {
    whole_args.push(input);
  }
  const KernelArgumentHolder wanted = cache.runFusionWithInputs(whole_args);

  const auto communicators = external::threadCommunicators(last + 1, 60);
  std::vector<std::vector<KernelArgumentHolder>> results(devices);  // of each way
  std::vector<std::string> errors(devices), texts(devices);
  std::vector<std::vector<std::string>> exchanges(devices);
  std::vector<std::thread> threads;
  for (size_t d = 0; d < devices; ++d) {
    threads.emplace_back([&, d] {
      try {
        MultiDeviceExecutor executor(fusion, communicators[d]);
        exchanges[d] = executor.exchanges();
        of_outputs[d] = executor.outputPlaces();
        texts[d] = second.empty() ? executor.localFusion().toString() : "";
        const Options in_order = Options::current().disable("overlap,fallback");
        const Options beside = Options::current().disable("fallback").enable("overlap");
        for (const Options& options : {in_order, in_order, beside}) {  // planned, then known
          const OptionsGuard way(options);
          KernelArgumentHolder args;
          for (size_t i = 0; i < inputs.size(); ++i) {
            const auto& [on, sharding] = executor.inputPlaces()[i];
            if (on.empty() || on.has(static_cast<int64_t>(d))) {
              args.push(partOf(inputs[i], sharding, on, static_cast<int64_t>(d)));
            } else {
              args.push(PolymorphicValue(int64_t{0}));  // anything
            }
          }
          results[d].push_back(executor.run(args, &device));
        }
      } catch (const std::exception& error) {
        errors[d] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (size_t d = 0; d < devices; ++d) {
    CAPTURE(d);
    REQUIRE(errors[d] == "");
    CHECK((texts[d] == texts[0] || !second.empty()));
    for (size_t n = 0; n < results[d].size() * wanted.size(); ++n) {
      const size_t k = n % wanted.size();
      const KernelArgumentHolder& found = results[d][n / wanted.size()];
      REQUIRE(found.size() == wanted.size());
      const auto& [on, sharding] = of_outputs[d][k];
      if (!on.empty() && !on.has(static_cast<int64_t>(d))) {
        CHECK((!found[k].isTensor() && !found[k].isScalar()));
        continue;
      }
      const Tensor part = partOf(wanted[k].tensor(), sharding, on, static_cast<int64_t>(d));
      CAPTURE(n);
      REQUIRE(found[k].tensor().sizes() == part.sizes());
      const std::vector<float> got = found[k].tensor().toHost<float>();
      const std::vector<float> expected = part.toHost<float>();
      float worst = 0;
      for (size_t i = 0; i < got.size(); ++i) {
        worst = std::max(worst, std::abs(got[i] - expected[i]));
      }
      CHECK(worst <= (c.exact ? 0.0F : c.tolerance));
    }
  }
  if (devices > 1 && c.counts) {
    std::string all;
    for (const std::string& line : exchanges[0]) {
      all += line + "\n";
    }
    CAPTURE(all);
    CHECK(exchanges[0].size() == c.exchanges.size());
    for (size_t i = 0; i < std::min(c.exchanges.size(), exchanges[0].size()); ++i) {
      CHECK(exchanges[0][i].rfind(c.exchanges[i], 0) == 0);
    }
  }
}

}  // namespace multidevice_test
