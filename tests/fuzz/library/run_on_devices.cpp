#include <fuzz/library/run_on_devices.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

#include <evaluator/strided_loop.h>
#include <external/sockets.h>
#include <external/thread_communicator.h>
#include <fuzz/kernel_interpreter/kernel_interpreter.h>
#include <fuzz/library/references.h>
#include <fuzz/library/stages.h>
#include <multidevice/multi_device_executor.h>
#include <multidevice/sharding.h>
#include <runtime/cuda/nccl_communicator.h>

namespace nvfuser::fuzz {

namespace {

constexpr double kSeconds = 60;  ///< that a device waits for the others

/// Where a device's part begins in the whole, and its sizes.
struct Window {
  std::vector<int64_t> starts, sizes;
};

using Communicators = std::vector<std::shared_ptr<external::Communicator>>;

/// Those of GPUs, which are connected once for all programs of the process.
const Communicators& gpuCommunicators(int64_t count) {
  static auto* made = new std::map<int64_t, Communicators>;
  Communicators& all = (*made)[count];
  if (!all.empty()) {
    return all;
  }
  all.resize(static_cast<size_t>(count));
  const int port = external::portOf(external::listenAt(0));  // free again when it is asked for
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(all.size());
  for (int64_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        all[static_cast<size_t>(rank)] =
            ncclCommunicatorOfLaunch({rank, count, rank, "127.0.0.1", port}, kSeconds);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) {
      all.clear();
      std::rethrow_exception(error);
    }
  }
  return all;
}

class OnDevices {
 public:
  OnDevices(const Program& program, const RunOptions& options,
            const std::function<void(std::string_view)>& progress)
      : program_(program), options_(options), stages_(options, progress) {}

  Outcome run() {
    stages_.run("define", [&] { define(); });
    bool has_result = false;
    if (stages_.isClean()) {
      stages_.run("reference", [&] {
        const std::string undefined = interpretInAllWays(program_, *fusion_, expected_);
        has_result = undefined.empty();
        if (!has_result) {
          stages_.outcome.undefined = 1;
          stages_.outcome.reasons.push_back(text("undefined: ", undefined));
        }
      });
    }
    if (has_result && stages_.isClean() && options_.nccl) {
      stages_.run("devices nccl", [&] { runByNccl(); });
    } else if (has_result && stages_.isClean()) {
      stages_.onDevices("devices", [&](Device& device, const std::string& name) {
        runOn(std::vector<Device*>(static_cast<size_t>(mesh_.size()), &device),
              external::threadCommunicators(mesh_.size(), kSeconds), name);
      });
    }
    return std::move(stages_.outcome);
  }

 private:
  void define() {
    check(parseProgram(program_.toString()) == program_, "a program's file reads back");
    Builder whole = build(program_);
    expected_ = expectedOf(program_, whole);
    fusion_ = whole.release();
    Builder shared = build(program_);
    const int64_t count = std::accumulate(program_.devices.begin(), program_.devices.end(),
                                          int64_t{1}, std::multiplies<>());
    std::vector<int64_t> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    mesh_ = DeviceMesh(all, {program_.devices.rbegin(), program_.devices.rend()});
    for (const Share& share : program_.shares) {
      put(shared.at(share.id).val->as<TensorView>(), share);
    }
    shared_ = shared.release();
    putOutputs();
    if (options_.verbose) {
      std::printf("%s", shared_->toString().c_str());
    }
  }

  /// On the mesh, the cut axes split by the number of devices.
  void put(TensorView* tv, const Share& share) const {
    if (tv->hasDeviceMesh()) {
      return;  // another value is the same tensor: a broadcast without new axes is its operand
    }
    tv->setDeviceMesh(mesh_);
    const std::vector<IterDomain*> axes = TensorDomain::noReductions(tv->getLogicalDomain());
    for (size_t i = 0; i < share.cut.size(); ++i) {
      if (share.cut[i] < 0) {
        continue;
      }
      const std::vector<IterDomain*>& loops = tv->getLoopDomain();
      const auto place =
          std::find(loops.begin(), loops.end(), axes.at(static_cast<size_t>(share.cut[i]))) -
          loops.begin();
      tv->outer_split(place, program_.devices[i]);
      tv->axis(place)->parallelize(kMeshAxes[i]);
    }
  }

  /// Where all that is on the mesh leads to no output, the outputs are there, whole.
  void putOutputs() const {
    const std::vector<TensorView*> all = shared_->allTvs();
    if (std::none_of(all.begin(), all.end(),
                     [](const TensorView* tv) { return tv->hasDeviceMesh(); })) {
      for (Val* output : shared_->outputs()) {
        output->as<TensorView>()->setDeviceMesh(mesh_);
      }
    }
  }

  static std::vector<multidevice::Sharding> shardingsOf(
      const std::vector<multidevice::Stages::Place>& places) {
    std::vector<multidevice::Sharding> all;
    for (const multidevice::Stages::Place& place : places) {
      all.push_back(place.sharding);
    }
    return all;
  }

  Window windowOf(const multidevice::Sharding& sharding, const std::vector<int64_t>& sizes,
                  int64_t device) const {
    Window window{std::vector<int64_t>(sizes.size(), 0), sizes};
    for (const ParallelType axis : kMeshAxes) {
      if (const auto cut = sharding[axis]) {
        window.sizes[*cut] /= mesh_.size(axis);
        window.starts[*cut] = *mesh_.coordinate(device, axis) * window.sizes[*cut];
      }
    }
    return window;
  }

  /// The device's parts, dense in the order in memory that the program declares.
  KernelArgumentHolder partsOf(const KernelArgumentHolder& whole,
                               const std::vector<multidevice::Sharding>& shardings, int64_t device,
                               Device& memory) const {
    KernelArgumentHolder parts;
    for (size_t i = 0; i < whole.size(); ++i) {
      if (!whole[i].isTensor()) {
        parts.push(whole[i]);
        continue;
      }
      const Input& input = program_.inputs[i];
      Tensor part = whole[i].tensor();
      const Window window = windowOf(shardings[i], part.sizes(), device);
      if (window.sizes == part.sizes()) {
        parts.push(part);
        continue;
      }
      for (size_t axis = 0; axis < window.sizes.size(); ++axis) {
        part = part.slice(static_cast<int64_t>(axis), window.starts[axis],
                          window.starts[axis] + window.sizes[axis]);
      }
      Tensor dense = Tensor::emptyStrided(window.sizes, stridesOf(input, window.sizes),
                                          part.dtype(), memory, true);
      dense.copyFrom(part);
      parts.push(dense);
    }
    return parts;
  }

  static std::vector<int64_t> stridesOf(const Input& input, const std::vector<int64_t>& sizes) {
    std::vector<int64_t> strides(sizes.size());
    int64_t step = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      const size_t axis = input.order.empty() ? i : static_cast<size_t>(input.order[i]);
      strides[axis] = input.axes[axis] == 'e' ? 0 : step;
      step *= input.axes[axis] == 'e' ? 1 : sizes[axis];
    }
    return strides;
  }

  /// A GPU each.
  void runByNccl() {
    if (mesh_.size() > cudaDeviceCount()) {
      stages_.outcome.reasons.push_back(text("refused: it is for ", mesh_.size(), " GPUs"));
      ++stages_.outcome.refused;
      return;
    }
    std::vector<Device*> gpus;
    for (int gpu = 0; gpu < mesh_.size(); ++gpu) {
      std::string why;
      gpus.push_back(cudaDevice(gpu, &why));
      check(gpus.back() != nullptr, why);
    }
    runOn(gpus, gpuCommunicators(mesh_.size()), "devices nccl");
  }

  /// Whether some device's kernels were too long to be interpreted; others then have waited for it.
  bool wasTooLong(const std::vector<std::exception_ptr>& errors) {
    return std::any_of(errors.begin(), errors.end(), [&](const std::exception_ptr& error) {
      try {
        if (error != nullptr) {
          std::rethrow_exception(error);
        }
      } catch (const TooLong& e) {
        stages_.outcome.reasons.push_back(text("refused: ", e.what()));
        ++stages_.outcome.refused;
        return true;
      } catch (...) {  // told by the caller
      }
      return false;
    });
  }

  /// `memories`: of each device. A device that ends with an error leaves the others.
  void runOn(const std::vector<Device*>& memories, Communicators communicators,
             const std::string& name) {
    const auto count = static_cast<size_t>(mesh_.size());
    std::vector<std::vector<KernelArgumentHolder>> results(count);
    std::vector<std::vector<multidevice::Sharding>> shardings(count);
    std::vector<std::exception_ptr> errors(count);
    std::vector<std::thread> threads;
    for (size_t d = 0; d < count; ++d) {
      threads.emplace_back([&, d] {
        try {
          MultiDeviceExecutor executor(*shared_, std::move(communicators[d]));
          shardings[d] = shardingsOf(executor.outputPlaces());
          if (options_.verbose && d == 0) {
            std::printf("---- %s\n%s\n", name.c_str(), executor.localFusion().toString().c_str());
          }
          for (int turn = 0; turn < 2; ++turn) {
            executor.cache().setRandomState(program_.value_seed, kRandomOffset);
            const KernelArgumentHolder parts =
                partsOf(makeArguments(program_, *memories[d]), shardingsOf(executor.inputPlaces()),
                        static_cast<int64_t>(d), *memories[d]);
            results[d].push_back(executor.run(parts, memories[d]));
          }
        } catch (...) {
          errors[d] = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (wasTooLong(errors)) {
      return;
    }
    for (const std::exception_ptr& error : errors) {
      if (error != nullptr) {
        std::rethrow_exception(error);
      }
    }
    for (size_t d = 0; d < count; ++d) {
      for (const KernelArgumentHolder& outputs : results[d]) {
        const std::string mismatch = compare(outputs, shardings[d], static_cast<int64_t>(d));
        if (!mismatch.empty()) {
          stages_.outcome.failures.push_back({true, name, text("device ", d, ": ", mismatch)});
          return;
        }
      }
    }
  }

  std::string compare(const KernelArgumentHolder& outputs,
                      const std::vector<multidevice::Sharding>& shardings, int64_t device) {
    if (outputs.size() != expected_.size()) {
      return text("gave ", outputs.size(), " outputs instead of ", expected_.size());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const HostTensor& reference = expected_[i].references.at(0);
      const Window window = windowOf(shardings[i], reference.sizes(), device);
      const HostTensor part = outputs[i].tensor().toHostTensor();
      if (part.sizes() != window.sizes) {
        return text("output ", i, " (v", program_.outputs[i], ") has sizes [",
                    join(part.sizes(), ", "), "] instead of [", join(window.sizes, ", "), "]");
      }
      const Comparison comparison = compareOutput(inWhole(part, window, reference), expected_[i]);
      stages_.outcome.elements += part.numel();
      stages_.outcome.skipped += comparison.skipped;
      if (!comparison.mismatch.empty()) {
        return text("output ", i, " (v", program_.outputs[i], ") ", comparison.mismatch);
      }
    }
    return {};
  }

  /// The reference with the part at its place.
  static HostTensor inWhole(const HostTensor& part, const Window& window,
                            const HostTensor& reference) {
    HostTensor whole = reference;
    if (part.dtype() != whole.dtype()) {
      return part;  // (compared, and refused)
    }
    const std::vector<int64_t> strides = rowMajorStrides(whole.sizes());
    int64_t offset = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      offset += window.starts[axis] * strides[axis];
    }
    const int64_t bytes = dataTypeSizeByte(part.dtype());
    forEachRun<2>(part.sizes(), {rowMajorStrides(part.sizes()), strides}, {0, offset},
                  [&](int64_t length, const auto& starts, const auto& steps) {
                    for (int64_t i = 0; i < length; ++i) {
                      std::memcpy(whole.data() + (starts[1] + i * steps[1]) * bytes,
                                  part.data() + (starts[0] + i * steps[0]) * bytes,
                                  static_cast<size_t>(bytes));
                    }
                  });
    return whole;
  }

  const Program& program_;
  const RunOptions& options_;
  std::unique_ptr<Fusion> fusion_;  ///< for one device
  std::unique_ptr<Fusion> shared_;
  DeviceMesh mesh_;
  std::vector<Expected> expected_;
  Stages stages_;
};

}  // namespace

Outcome runOnDevices(const Program& program, const RunOptions& options,
                     const std::function<void(std::string_view)>& progress) {
  return OnDevices(program, options, progress).run();
}

}  // namespace nvfuser::fuzz
