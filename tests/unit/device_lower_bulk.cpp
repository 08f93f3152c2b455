// Kernels with bulk copies: each wait, fence and barrier that lowering put in is needed. It is
// taken out, and the emulated device must object.
#include <doctest/doctest.h>

#include <functional>

#include <codegen/generate.h>
#include <device_lower/lower.h>
#include <ops/all_ops.h>
#include <runtime/emulated/errors.h>
#include <runtime/executor.h>
#include <runtime/tensor_map.h>
#include <scheduler/utils.h>

using namespace nvfuser;
using enum ParallelType;

namespace {

constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 640;

/// A scheduled fusion of one matrix to one matrix, lowered for the emulated device.
struct Kernel {
  Fusion fusion;
  Lowering lowering;
  GeneratedKernel generated;

  explicit Kernel(const std::function<void(Fusion&)>& define, bool dependent = false) {
    FusionGuard guard(&fusion);
    define(fusion);
    LowerOptions options;
    options.dependent_launch = dependent;
    options.compute_capability = 90;
    options.verify = true;
    lowering = lower(&fusion, options);
    lowering.kernel.name = std::string("k");
    generated = generateCuda(lowering.kernel);
  }

  int64_t valueOf(kir::Scalar symbol) const {
    return lowering.kernel.sources.at(symbol).axis == 0 ? kRows : kColumns;
  }
  int64_t evaluate(kir::Scalar a) const {
    return a == nullptr ? 1 : kir::evaluate(a, [&](kir::Scalar s) { return valueOf(s); });
  }

  TensorMapArgument mapOf(const kir::TensorMap& map, void* const (&pointers)[2]) const {
    TensorMapArgument made;
    made.address =
        reinterpret_cast<uintptr_t>(pointers[map.buffer->role == kir::BufferRole::Output ? 1 : 0]);
    made.element_bytes = 4;
    made.swizzle = static_cast<int32_t>(map.swizzle);
    for (const kir::TensorMap::Axis& axis : map.axes) {
      made.sizes[made.rank] = evaluate(axis.extent);
      made.strides[made.rank] = 4 * evaluate(axis.stride);
      made.box[made.rank++] = static_cast<int32_t>(axis.box);
    }
    made.fits = fitsEngine(made) ? 1 : 0;
    CHECK(made.fits == 1);
    return made;
  }

  void run(const std::string& text) const {
    Device& device = emulatedDevice();
    const Tensor in = Tensor::randn({kRows, kColumns}, DataType::Float, 1, device);
    const Tensor out = Tensor::empty({kRows, kColumns}, DataType::Float, device);
    void* pointers[] = {in.ref().data, out.ref().data};
    std::vector<int64_t> sizes;
    sizes.reserve(lowering.kernel.params.size());
    std::vector<TensorMapArgument> maps;
    maps.reserve(lowering.kernel.params.size());
    std::vector<void*> args;
    for (const kir::Param& param : lowering.kernel.params) {
      if (param.kind == kir::ParamKind::TensorArg) {
        args.push_back(&pointers[param.buffer->role == kir::BufferRole::Output ? 1 : 0]);
      } else if (param.kind == kir::ParamKind::MapArg) {
        maps.push_back(mapOf(*param.map, pointers));
        args.push_back(&maps.back());
      } else {
        sizes.push_back(valueOf(param.symbol));
        args.push_back(&sizes.back());
      }
    }
    LaunchShape shape;
    for (size_t d = 0; d < 3; ++d) {
      shape.grid[d] = evaluate(lowering.kernel.grid[d]);
      shape.block[d] = evaluate(lowering.kernel.block[d]);
    }
    shape.dependent = lowering.kernel.dependent;
    shape.shared_bytes = evaluate(lowering.kernel.shared_bytes);
    auto kernel = device.compile({.entry = "k", .text = text, .options = {}});
    device.launch(*kernel, shape, args, nullptr, nullptr);
  }

  /// The lines that synchronise, each taken out alone.
  void checkEachNeeded(size_t expected) const {
    CHECK_NOTHROW(run(generated.text));
    size_t removed = 0;
    size_t line = generated.text.find("__global__");
    while (line != std::string::npos) {
      const size_t end = generated.text.find('\n', line);
      const std::string content = generated.text.substr(line, end - line);
      for (const char* call : {"__syncthreads();", "fenceAsyncProxy();", "bulkLoadWait(",
                               "bulkStoreWait<", "mbarrierInit(", "bulkLoadCommit",
                               "Computing::sync();", "mbarrierArrive(", "gridDependencyWait();"}) {
        if (content.find(call) == std::string::npos) {
          continue;
        }
        CAPTURE(content);
        std::string mutant = generated.text;
        mutant.erase(line, end - line);
        CHECK_THROWS_AS(run(mutant), EmulationError);
        ++removed;
      }
      line = end == std::string::npos ? end : end + 1;
    }
    CHECK_MESSAGE(removed == expected, generated.text.substr(generated.text.find("extern \"C\"")));
  }
};

/// x → load (shared) → body (where `kept`, shared) → out, cut into rows of blocks and tiles of 64.
struct Chain {
  TensorView *load, *body, *out;

  Chain(Fusion& fusion, LoadStoreOpType type, MemoryType kept) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    body = neg(x);
    out = set(body);
    fusion.addOutput(out);
    load = x->cacheAfter(type);
    load->setMemoryType(MemoryType::Shared);
    body->setMemoryType(kept);
    for (TensorView* tv : {load, body, out}) {
      tv->split(1, 64);
      tv->axis(0)->parallelize(BIDx);
      tv->axis(2)->parallelize(TIDx);
    }
  }
};

}  // namespace

TEST_CASE("bulk lowering: a load in a loop") {
  Kernel kernel([](Fusion& fusion) {
    Chain c(fusion, LoadStoreOpType::CpAsyncBulk, MemoryType::Local);
    c.load->axis(2)->parallelize(Bulk);
    inlineMost();
  });
  kernel.checkEachNeeded(5);  // initialise, barrier, close, wait, barrier
}

TEST_CASE("bulk lowering: a load in a circular buffer, also one that is entered again") {
  for (bool nested : {false, true}) {
    CAPTURE(nested);
    Kernel kernel([&](Fusion& fusion) {
      Chain c(fusion, LoadStoreOpType::CpAsyncBulk, MemoryType::Local);
      c.load->axis(2)->parallelize(Bulk);
      if (nested) {
        for (TensorView* tv : {c.load, c.body, c.out}) {
          tv->axis(0)->parallelize(Serial);
          tv->split(0, 2);
          tv->axis(0)->parallelize(BIDx);
        }
      }
      inlineMost();
      c.load->circularBuffer(3);
    });
    // Initialise, barrier, two places that close; wait, barrier; the loop around: barrier.
    kernel.checkEachNeeded(nested ? 7 : 6);
  }
}

TEST_CASE("bulk lowering: a store in a loop, and one at the end") {
  for (bool loop : {true, false}) {
    CAPTURE(loop);
    Kernel kernel([&](Fusion& fusion) {
      Chain c(fusion, LoadStoreOpType::Set, MemoryType::Shared);
      c.out->axis(2)->parallelize(Bulk);
      if (!loop) {
        c.out->axis(1)->parallelize(BIDy);
        c.body->axis(1)->parallelize(BIDy);
        c.load->axis(1)->parallelize(BIDy);
      }
      inlineMost();
    });
    kernel.checkEachNeeded(loop ? 4 : 3);  // fence, barrier, wait, and in the loop a barrier
  }
}

TEST_CASE("bulk lowering: loaded and stored in bulk, stages in between") {
  for (int64_t prefetch : {1, 2, 3}) {
    CAPTURE(prefetch);
    Kernel kernel([&](Fusion& fusion) {
      TensorView* x = makeContigTensor(2);
      fusion.addInput(x);
      TensorView* out = set(x);
      fusion.addOutput(out);
      TensorView* staged = x->cacheAfter(LoadStoreOpType::CpAsyncBulk);
      staged->setMemoryType(MemoryType::Shared);
      for (TensorView* tv : {staged, out}) {
        tv->split(1, 64);
        tv->axis(0)->parallelize(BIDx);
        tv->axis(2)->parallelize(Bulk);
      }
      staged->inlineAt(2);
      staged->circularBuffer(4, prefetch);
    });
    kernel.checkEachNeeded(6);  // initialise, two that close; wait, wait for stores; at the end
  }
}

TEST_CASE("bulk lowering: cp.async into a circular buffer, stored in bulk") {
  Kernel kernel([](Fusion& fusion) {
    TensorView* x = makeContigTensor(2);
    fusion.addInput(x);
    TensorView* out = set(x);
    fusion.addOutput(out);
    TensorView* staged = x->cacheAfter(LoadStoreOpType::CpAsync);
    staged->setMemoryType(MemoryType::Shared);
    for (TensorView* tv : {staged, out}) {
      tv->split(1, 64);
      tv->axis(0)->parallelize(BIDx);
      tv->axis(2)->parallelize(tv == out ? Bulk : TIDx);
    }
    staged->inlineAt(2);
    staged->circularBuffer(3, 1);
  });
  kernel.checkEachNeeded(4);  // wait for stores, fence, barrier; at the end
}

TEST_CASE("bulk lowering: a barrier of the loop's body stays there when loads run ahead") {
  Kernel kernel([](Fusion& fusion) {
    Chain c(fusion, LoadStoreOpType::CpAsyncBulk, MemoryType::Shared);
    c.load->axis(2)->parallelize(Bulk);
    c.out->axis(2)->parallelize(Serial);
    c.out->split(2, 16);
    c.out->axis(3)->parallelize(TIDx);
    inlineAllAt(c.out, 2);
    c.load->circularBuffer(2);
  });
  CHECK_NOTHROW(kernel.run(kernel.generated.text));
}

TEST_CASE("bulk lowering: boxes loaded ahead, and boxes stored") {
  for (bool stores : {false, true}) {
    CAPTURE(stores);
    Kernel kernel([&](Fusion& fusion) {
      TensorView* x = makeContigTensor(2);
      fusion.addInput(x);
      TensorView* body = neg(x);
      TensorView* out = stores ? set(body) : body;
      fusion.addOutput(out);
      TensorView* load = x->cacheAfter(LoadStoreOpType::CpAsyncBulkTensorTile);
      load->setMemoryType(MemoryType::Shared);
      std::vector<TensorView*> all{load, body};
      if (stores) {
        body->setMemoryType(MemoryType::Shared);
        all.push_back(out);
      }
      for (TensorView* tv : all) {
        tv->split(1, 32)->split(0, 8);
        tv->reorder({{1, 2}, {2, 1}});
        tv->axis(0)->parallelize(BIDx);
      }
      body->axis(3)->parallelize(TIDx);
      for (TensorView* tv : all) {
        if (tv != body) {
          tv->axis(2)->parallelize(Bulk);
          tv->axis(3)->parallelize(Bulk);
        }
      }
      load->inlineAt(2);
      if (stores) {
        body->inlineAt(2);
      }
      load->circularBuffer(3);
    });
    CHECK(kernel.generated.text.find("boxLoad<Box<0, 32, 8>>") != std::string::npos);
    // Initialise, barrier, two that close; wait, barrier; of stores: fence, barrier, wait.
    kernel.checkEachNeeded(stores ? 9 : 6);
  }
}

TEST_CASE("bulk lowering: threads that load, and threads that compute") {
  for (bool stored : {false, true}) {
    CAPTURE(stored);
    Kernel kernel([&](Fusion& fusion) {
      Chain c(fusion, LoadStoreOpType::CpAsyncBulk, MemoryType::Local);
      c.load->axis(2)->parallelize(Bulk);
      c.load->inlineAt(2);
      if (stored) {
        c.body->setMemoryType(MemoryType::Shared);
        c.out->axis(2)->parallelize(Bulk);
        c.body->inlineAt(2);
      } else {
        c.body->inlineAt(3);
      }
      c.load->circularBuffer(3, 2, WarpSpecialized(TIDy));
    });
    // Two that initialise, barrier; wait, arrive; wait, close. Of stores: fence, barrier, wait and
    // a barrier before the source is written again.
    kernel.checkEachNeeded(stored ? 11 : 7);
  }
}

TEST_CASE("bulk lowering: a kernel that starts early waits for the one in front") {
  Kernel kernel(
      [](Fusion& fusion) {
        Chain c(fusion, LoadStoreOpType::CpAsyncBulk, MemoryType::Local);
        c.load->axis(2)->parallelize(Bulk);
        inlineMost();
      },
      true);
  kernel.checkEachNeeded(6);  // initialise, barrier, the wait; close, wait, barrier
}
