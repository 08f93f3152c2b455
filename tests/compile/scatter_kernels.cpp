// Kernels of scatters, for blocks and threads, as NVRTC sees them: what each dtype is combined by.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/cuda/nvrtc.h>
#include <runtime/fusion_executor_cache.h>

using namespace nvfuser;

namespace {

struct Case {
  DataType dtype;
  std::optional<BinaryOpType> type;
  int64_t columns;        ///< 0: points
  const char* sm_90_ptx;  ///< what its text has there
};

/// 512 entries to 64 places; the text of its kernel.
std::string kernelOf(const Case& c) {
  const auto sizes = [&](int64_t rows) {
    return c.columns == 0 ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, c.columns};
  };
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  const auto input = [&](std::vector<int64_t> shape, DataType dtype) {
    TensorView* tv = makeContigConcreteTensor(std::move(shape), dtype);
    fusion->addInput(tv);
    return tv;
  };
  TensorView* target = input(sizes(64), c.dtype);
  TensorView* source = input(sizes(512), c.dtype);
  TensorView* index = input({512}, DataType::Int);
  TensorView* at = c.columns == 0 ? index : expand_as(broadcast(index, {false, true}), source);
  fusion->addOutput(scatter(target, 0, at, source, c.type));
  FusionExecutorCache cache(std::move(fusion));
  KernelArgumentHolder arguments;
  for (const auto& [shape, dtype] :
       {std::pair{sizes(64), c.dtype}, std::pair{sizes(512), c.dtype},
        std::pair{std::vector<int64_t>{512}, DataType(DataType::Int)}}) {
    std::vector<int64_t> strides(shape.size(), 1);
    if (shape.size() == 2) {
      strides[0] = shape[1];
    }
    arguments.push(Tensor::meta(shape, strides, dtype));
  }
  cache.prepare(arguments, PrimDataType::Int32, &emulatedDevice());
  REQUIRE_MESSAGE(cache.executors().size() == 1, cache.report());
  return cache.executors()[0]->compiledKernel()->generated().text;
}

}  // namespace

TEST_CASE("scatters: kernels compile with NVRTC, and combine by what the hardware has") {
  REQUIRE_MESSAGE(!cuda::nvrtcVersion().empty(), "NVRTC is missing");
  for (const Case& c : {Case{DataType::Float, BinaryOpType::Add, 64, "red.global.add.v4.f32"},
                        Case{DataType::Float, BinaryOpType::Add, 6, "red.global.add.v2.f32"},
                        Case{DataType::Float, BinaryOpType::Add, 5, "atom.global.add.f32"},
                        Case{DataType::Float, BinaryOpType::Add, 0, "atom.global.add.f32"},
                        Case{DataType::Double, BinaryOpType::Add, 64, "atom.global.add.f64"},
                        Case{DataType::Int, BinaryOpType::Add, 0, "atom.global.add.u64"},
                        Case{DataType::Int32, BinaryOpType::Add, 0, "atom.global.add.u32"},
                        Case{DataType::Float, BinaryOpType::Max, 0, "cas.b32"},
                        Case{DataType::Double, BinaryOpType::Min, 8, "cas.b64"},
                        Case{DataType::Float, BinaryOpType::Mul, 0, "cas.b32"},
                        Case{DataType::BFloat16, std::nullopt, 8, "st.global"}}) {
    const std::string text = kernelOf(c);
    CAPTURE(text);
    for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
      CAPTURE(arch);
      const cuda::CompiledCubin compiled = cuda::compileToCubin(text, "scatter.cu", arch);
      CHECK(compiled.log == "");
      if (std::string_view(arch) == "sm_90") {
        CHECK(compiled.ptx.find(c.sm_90_ptx) != std::string::npos);
      }
    }
  }
}
