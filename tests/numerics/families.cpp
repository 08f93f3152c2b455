// Every family of fusions, defined once for all sizes: right on each device, in as many kernels as
// its table says.
//
// A test runs some of the sizes. NVFUSER_TEST_FAMILIES=all runs every family at all of them, in all
// dtypes (an hour); NVFUSER_TEST_FAMILIES=rotary those with that in their name:
//   build/bin/nvfuser_test_numerics -tc='families*'
#include "families.h"

#include <cstdlib>

using namespace nvfuser;
using namespace nvfuser::families;

namespace {

constexpr int64_t kBatches[] = {1, 16, 2048};
constexpr int64_t kHidden[] = {1, 31, 768, 4096, 4098, 5121, 36864, 131072};
constexpr PrimDataType kDtypes[] = {DataType::Float, DataType::BFloat16, DataType::Half};
constexpr uint64_t kSeed = 41;

/// Elements of the largest input that a device is given.
int64_t mostElements(const Device& device, bool everything) {
  if (device.kind() == DeviceKind::Emulated) {
    return 1 << 14;
  }
  return everything ? 1 << 22 : 1 << 17;
}

/// Indices are below the number of columns; all else is drawn.
KernelArgumentHolder draw(const std::vector<Input>& inputs, int64_t hidden, Device& device) {
  KernelArgumentHolder arguments;
  uint64_t seed = kSeed;
  for (const Input& input : inputs) {
    if (input.dtype != DataType::Int) {
      arguments.push(Tensor::randn(input.sizes, input.dtype, seed++, device));
      continue;
    }
    HostTensor host(DataType::Int, input.sizes);
    for (int64_t i = 0; i < host.numel(); ++i) {
      host.setInt(i, (i * 31 + 5) % hidden);
    }
    arguments.push(Tensor::fromHostTensor(host, device));
  }
  return arguments;
}

/// A family in one dtype on one device.
class Runs {
 public:
  Runs(const Family& family, DataType dtype, Device& device,
       const Options& options = Options::current())
      : family_(family), dtype_(dtype), device_(device), options_(options.disable("fallback")) {
    auto fusion = std::make_unique<Fusion>();
    FusionGuard guard(fusion.get());
    family.define(*fusion, dtype);
    cache_ = std::make_unique<FusionExecutorCache>(std::move(fusion));
  }

  bool fits(int64_t batch, int64_t hidden, int64_t most) const {
    for (const Input& input : family_.inputs(batch, hidden, dtype_)) {
      int64_t elements = 1;
      for (int64_t size : input.sizes) {
        elements *= size;
      }
      if (elements > most) {
        return false;
      }
    }
    return true;
  }

  void run(int64_t batch, int64_t hidden) {
    const KernelArgumentHolder arguments =
        draw(family_.inputs(batch, hidden, dtype_), hidden, device_);
    const InterpreterOptions random{.philox_seed = kSeed, .philox_offset = 4};
    const std::string where = text(family_.name, " of ", batch, " x ", hidden, " in ",
                                   DataType(dtype_), " on ", device_.properties().name);
    CAPTURE(where);
    try {
      cache_->setRandomState(random.philox_seed, random.philox_offset);
      const KernelArgumentHolder results = cache_->runFusionWithInputs(arguments);
      testValidate(cache_->fusion(), results, arguments, __LINE__, __FILE__, where, random);
    } catch (const std::exception& error) {
      FAIL_CHECK(text(where, ": ", error.what(), "\n", cache_->report()));
      return;
    }
    const std::string report = cache_->report();
    CAPTURE(report);
    const bool on_cpu = device_.kind() == DeviceKind::Cpu;
    CHECK(cache_->executors().size() == cache_->numKernels());  // none is interpreted
    CHECK(cache_->numKernels() == (on_cpu ? family_.on_cpu : family_.on_gpu));
  }

 private:
  const Family& family_;
  const DataType dtype_;
  Device& device_;
  OptionsGuard options_;
  std::unique_ptr<FusionExecutorCache> cache_;
};

/// Half is no other program than BFloat16, and is tried with some families alone.
void runAll(const std::vector<Family>& families) {
  const char* given = std::getenv("NVFUSER_TEST_FAMILIES");
  const std::string_view wanted = given == nullptr ? "" : given;
  const bool everything = !wanted.empty();
  size_t turn = 0;  // of what a family is tried with, where it is not all
  for (const Family& family : families) {
    CAPTURE(family.name);
    ++turn;
    if (everything && wanted != "all" && family.name.find(wanted) == std::string::npos) {
      continue;
    }
    for (Device* device : testDevices()) {
      for (const PrimDataType dtype : kDtypes) {
        if (!everything && dtype == DataType::Half && turn % 5 != 0) {
          continue;
        }
        Runs runs(family, dtype, *device);
        const int64_t most = mostElements(*device, everything);
        std::vector<std::pair<int64_t, int64_t>> sizes;
        for (int64_t batch : kBatches) {
          for (int64_t hidden : kHidden) {
            if (runs.fits(batch, hidden, most)) {
              sizes.emplace_back(batch, hidden);
            }
          }
        }
        if (everything) {
          for (auto [batch, hidden] : sizes) {
            runs.run(batch, hidden);
          }
          continue;
        }
        const bool on_cpu = device->kind() == DeviceKind::Cpu;
        if (dtype == DataType::Float) {
          runs.run(16, 768);
        }
        if (dtype != DataType::Float && (on_cpu || turn % 4 == 0)) {
          const auto [batch, hidden] = sizes[(turn * 5) % sizes.size()];
          runs.run(batch, hidden);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("families: element by element") { runAll(pointwise()); }

TEST_CASE("families: sums, normalisations, softmax and losses") { runAll(rows()); }

TEST_CASE("families: transposes, rotary embeddings, joins, tables and products") {
  runAll(moves());
}

TEST_CASE("families: no kernel of the CPU leaves the memory of its tensors") {
  const Options bounds = Options::current().enable("bounds");
  size_t turn = 0;
  for (const std::vector<Family>& families : {pointwise(), rows(), moves()}) {
    for (const Family& family : families) {
      CAPTURE(family.name);
      Runs runs(family, turn++ % 2 == 0 ? DataType::Float : DataType::BFloat16, cpuDevice(),
                bounds);
      runs.run(3, 70);
      runs.run(16, 768);
    }
  }
}
