// Needs NVRTC (the wheel nvidia-cuda-nvrtc, or NVFUSER_NVRTC_PATH); no GPU, no driver.
#include <runtime/cuda/nvrtc.h>

#include <doctest/doctest.h>

#include <algorithm>

#include <runtime/cuda/nvrtc_search.h>
#include <runtime/device.h>
#include <runtime/host_compiler/process.h>
#include <support/error.h>

using namespace nvfuser;
using namespace nvfuser::cuda;

namespace {

constexpr const char* kSumRows = R"(
extern "C" __global__ void __launch_bounds__(256) sum_rows(float* out, const float* in,
    int columns) {
  __shared__ float partial[8];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) sum += in[(long long)blockIdx.x * columns + i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < 8; warp++) sum += partial[warp];
    out[blockIdx.x] = sum;
  }
}
)";

bool isElf(const std::string& bytes) {
  return bytes.substr(0, 4) ==
         "\x7f"
         "ELF";
}

}  // namespace

TEST_CASE("nvrtc: a hand-written kernel compiles for every generation without a GPU") {
  std::string version = nvrtcVersion();
  MESSAGE("NVRTC ", version);
  REQUIRE(!version.empty());
  for (const char* arch : {"sm_80", "sm_90", "sm_90a", "sm_100"}) {
    CAPTURE(arch);
    CompiledCubin compiled = compileToCubin(kSumRows, "sum_rows.cu", arch);
    CHECK(isElf(compiled.cubin));
    CHECK(compiled.ptx.find(std::string(".target ") + arch) != std::string::npos);
    CHECK(compiled.ptx.find(".entry sum_rows") != std::string::npos);
    CHECK(compiled.log == "");
    CHECK(compiled.registers > 0);
    CHECK(compiled.static_shared_bytes >= 32);
    CHECK(compiled.spill_bytes == 0);
    CHECK(compiled.ms > 0);
  }
}

TEST_CASE("nvrtc: the same text gives the same bytes") {
  CHECK(compileToCubin(kSumRows, "k.cu", "sm_90").cubin ==
        compileToCubin(kSumRows, "k.cu", "sm_90").cubin);
}

TEST_CASE("nvrtc: options reach the compiler") {
  const char* product = "extern \"C\" __global__ void k(float* x) { x[3] = x[0] * x[1] + x[2]; }";
  CHECK(compileToCubin(product, "k.cu", "sm_90").ptx.find("fma.rn") == std::string::npos);
  CubinOptions one_rounding;
  one_rounding.more = {"--fmad=true"};
  CHECK(compileToCubin(product, "k.cu", "sm_90", one_rounding).ptx.find("fma.rn") !=
        std::string::npos);

  std::string many = "extern \"C\" __global__ void k(float* x) {\n  float v[128];\n";
  many += "  for (int i = 0; i < 128; i++) v[i] = x[i * threadIdx.x];\n  __syncthreads();\n";
  many += "  for (int i = 0; i < 128; i++) x[(127 - i) * threadIdx.x] = v[i] * v[127 - i];\n}";
  CubinOptions few_registers;
  few_registers.max_registers = 32;
  CompiledCubin spilled = compileToCubin(many, "k.cu", "sm_90", few_registers);
  CHECK(spilled.registers <= 32);
  CHECK(spilled.spill_bytes > 0);

  CubinOptions defined;
  defined.more = {"-DVALUE=7"};
  CHECK(isElf(compileToCubin("extern \"C\" __global__ void k(int* x) { *x = VALUE; }", "k.cu",
                             "sm_80", defined)
                  .cubin));
}

TEST_CASE("nvrtc: bad text is refused with the compiler's words") {
  try {
    compileToCubin("extern \"C\" __global__ void k() { undeclared_name = 1; }", "fusion.cu",
                   "sm_90");
    FAIL("compiled");
  } catch (const CompileError& error) {
    CHECK(error.log().find("undeclared_name") != std::string::npos);
    CHECK(error.log().find("fusion.cu(1)") != std::string::npos);
    CHECK(std::string(error.what()).find("refused fusion.cu") != std::string::npos);
  }
}

TEST_CASE("nvrtc: warnings stay in the log, the assembler's report does not") {
  CompiledCubin compiled = compileToCubin(
      "extern \"C\" __global__ void k(int* x) { unsigned u = 1; if (u < 0) *x = 1; int y; *x = y; "
      "}",
      "k.cu", "sm_90");
  CHECK(compiled.log.find("warning") != std::string::npos);
  CHECK(compiled.log.find("ptxas") == std::string::npos);
}

TEST_CASE("nvrtc: architectures") {
  std::vector<std::string> known = supportedArchitectures();
  CHECK(std::find(known.begin(), known.end(), "sm_90") != known.end());
  CHECK_THROWS_AS(compileToCubin(kSumRows, "k.cu", "90"), UserError);
  try {
    compileToCubin(kSumRows, "k.cu", "sm_20");
    FAIL("compiled");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("no library compiles for sm_20") != std::string::npos);
    CHECK(std::string(error.what()).find("sm_90") != std::string::npos);
  }
}

TEST_CASE("nvrtc search: names and versions") {
  TemporaryDirectory folder;
  for (const char* name :
       {"libnvrtc.so.12", "libnvrtc-builtins.so.12.8", "libnvrtc-1ea278b5.so.11.2",
        "libnvrtc-builtins.so.11.2", "libnvrtc.alt.so.13", "libnvrtc.so", "libnvrtc_static.a"}) {
    folder.write(name, "");
  }
  std::vector<NvrtcCandidate> found = nvrtcInFolder(folder.path());
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == folder.path() + "/libnvrtc.so.12");
  CHECK(found[0].builtins == folder.path() + "/libnvrtc-builtins.so.12.8");
  CHECK(found[0].major == 12);
  CHECK(found[0].minor == 8);
  CHECK(found[1].path == folder.path() + "/libnvrtc-1ea278b5.so.11.2");
  CHECK(found[1].builtins == folder.path() + "/libnvrtc-builtins.so.11.2");
  CHECK(nvrtcInFolder(folder.path() + "/none").empty());
}

TEST_CASE("nvrtc search: newest first, then the order of the folders") {
  TemporaryDirectory first, second;
  first.write("libnvrtc.so.12", "");
  first.write("libnvrtc-builtins.so.12.1", "");
  second.write("libnvrtc.so.12", "");
  second.write("libnvrtc-builtins.so.12.1", "");
  second.write("libnvrtc.so.13", "");
  second.write("libnvrtc-builtins.so.13.0", "");
  std::vector<NvrtcCandidate> found;
  for (NvrtcCandidate& candidate : nvrtcCandidates({first.path(), second.path()})) {
    if (candidate.path[0] == '/') {
      found.push_back(candidate);
    }
  }
  REQUIRE(found.size() == 3);
  CHECK(found[0].path == second.path() + "/libnvrtc.so.13");
  CHECK(found[1].path == first.path() + "/libnvrtc.so.12");
  CHECK(found[2].path == second.path() + "/libnvrtc.so.12");
}

TEST_CASE("nvrtc search: wheels beside our own library, and the project's environment") {
  std::vector<std::string> folders = nvrtcFolders("/x/site-packages/nvfuser/lib/libnvfuser.so");
  auto has = [&](const char* folder) {
    return std::find(folders.begin(), folders.end(), folder) != folders.end();
  };
  CHECK(has("/x/site-packages/nvidia/cu13/lib"));
  CHECK(has("/x/site-packages/nvidia/cuda_nvrtc/lib"));
  CHECK(has("/x/site-packages/torch/lib"));
}

TEST_CASE("cuda device: without a driver the reason is said") {
  std::string why;
  if (cudaDeviceCount() > 0) {
    CHECK(cudaDevice(0, &why) != nullptr);
  } else {
    CHECK(cudaDevice(0, &why) == nullptr);
    CHECK(why.find("driver") != std::string::npos);
  }
  CHECK(cudaDevice(-1, &why) == nullptr);
  CHECK(cudaDevice(1000, &why) == nullptr);
  CHECK(!why.empty());
}
