// Random numbers of neighbouring elements (runtime/cpu/simd_philox.h) against those of philox.cuh,
// element by element: the same bits, wherever a vector begins and in whatever order they are asked.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <codegen/snippets.h>
#include <host_variants.h>
#include <runtime/host_compiler/host_compiler.h>

using namespace nvfuser;

namespace {

constexpr const char* kProgram = R"(
extern "C" void run(float* many, float* single, u64 seed, u64 offset, const u64* begins, long n) {
  PhiloxRun uniforms, halves, normals;
  for (long i = 0; i < n; ++i, many += 64, single += 64) {
    const u64 e = begins[i];
    simdStore(many, simdUniform<24, 16>(uniforms.words(seed, offset, e)));
    simdStore(many + 16, simdUniform<11, 8>(halves.words(seed, offset, e)));
    simdStore(many + 24, simdUniform<8, 8>(halves.words(seed, offset, e + 8)));
    simdStore(many + 32, simdNormal<16>(normals.words(seed, offset, e), e));
    simdStore(many + 48, simdSpread(simdLoad<16>(many), simdFill<16>(0.7f), simdFill<16>(0.3f)));
    for (int k = 0; k < 16; ++k) {
      single[k + 48] = fmaf(uniformF32(seed, offset, e + k), 0.7f, 0.3f);
      single[k] = uniformF32(seed, offset, e + k);
      single[k + 16] = k < 8 ? uniformF32<11>(seed, offset, e + k) : uniformF32<8>(seed, offset, e + k);
      single[k + 32] = normalF32(seed, offset, e + k);
    }
  }
})";

}  // namespace

TEST_CASE("cpu philox: neighbours drawn together are those drawn one by one") {
  // In a row, misaligned, backwards, far away, across the carry of the block's words.
  const std::vector<uint64_t> begins{
      0, 16, 32, 48, 64, 5, 21, 37, 53, 69, 7, 3, 1, 1ull << 34, (1ull << 34) - 9, 1002, 1};
  for (const auto& flags : hostVariants()) {
    HostCompileRequest request;
    for (const char* path : {"cpu/prelude.h", "cpu/half.h", "cpu/bf16.h", "philox.cuh",
                             "cpu/simd.h", "cpu/simd_philox.h"}) {
      request.text += runtimeFile(path);
    }
    request.text += kProgram;
    request.flags = hostFlags(hostCompiler());
    request.flags.insert(request.flags.end(), flags.begin(), flags.end());
    SharedObject object = compileSharedObject(request);
    auto run =
        reinterpret_cast<void (*)(float*, float*, uint64_t, uint64_t, const uint64_t*, long)>(
            object.symbol("run"));
    for (const auto& [seed, offset] :
         {std::pair<uint64_t, uint64_t>{11, 0}, {0x299f31d0a4093822, 0x85a308d3243f6a88}}) {
      std::vector<float> many(64 * begins.size(), -1), single(64 * begins.size(), -2);
      run(many.data(), single.data(), seed, offset, begins.data(),
          static_cast<long>(begins.size()));
      for (size_t i = 0; i < many.size(); ++i) {
        CAPTURE(begins[i / 64]);
        CAPTURE(i % 64);
        CHECK(std::bit_cast<uint32_t>(many[i]) == std::bit_cast<uint32_t>(single[i]));
      }
    }
  }
}
