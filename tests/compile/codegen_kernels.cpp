// Generated kernels as the compilers see them: NVRTC for three generations of GPUs (no GPU needed),
// the host's compiler, and the emulated device, which runs the CUDA text.
#include <codegen_kernels.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <codegen/launch_table.h>
#include <runtime/cuda/nvrtc.h>
#include <runtime/device.h>
#include <runtime/host_compiler/host_compiler.h>

using namespace nvfuser;
using codegen_kernels::Case;

namespace {

KernelSource sourceOf(const GeneratedKernel& generated) {
  KernelSource source;
  source.entry = generated.entry;
  source.text = generated.text;
  return source;
}

/// Memory of a device with a copy on the host.
template <typename T>
class Buffer {
 public:
  Buffer(Device& device, std::vector<T> values) : device_(device), values_(std::move(values)) {
    data_ = device.allocate(bytes(), nullptr);
    device.copyFromHost(data_, values_.data(), bytes(), nullptr);
  }
  ~Buffer() { device_.release(data_, nullptr); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* argument() { return &data_; }
  const std::vector<T>& read() {
    device_.copyToHost(values_.data(), data_, bytes(), nullptr);
    return values_;
  }

 private:
  size_t bytes() const { return values_.size() * sizeof(T); }

  Device& device_;
  std::vector<T> values_;
  void* data_ = nullptr;
};

void run(Device& device, const GeneratedKernel& generated, const LaunchShape& shape,
         std::vector<void*> args) {
  auto kernel = device.compile(sourceOf(generated));
  device.launch(*kernel, shape, args, nullptr, nullptr);
  device.synchronize(nullptr);
}

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i % 17) * 0.25f - 1.0f;
  }
  return values;
}

LaunchShape shapeOf(int64_t blocks, int64_t threads, int64_t shared_bytes = 0) {
  LaunchShape shape;
  shape.grid[0] = blocks;
  shape.block[0] = threads;
  shape.shared_bytes = shared_bytes;
  return shape;
}

}  // namespace

TEST_CASE("codegen: kernels compile with NVRTC") {
  REQUIRE_MESSAGE(!cuda::nvrtcVersion().empty(), "NVRTC is missing");
  for (const Case& test : codegen_kernels::all()) {
    if (!test.cuda) {
      continue;
    }
    CAPTURE(test.name);
    GeneratedKernel generated = generateCuda(test.kernel);
    for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
      CAPTURE(arch);
      cuda::CompiledCubin compiled = cuda::compileToCubin(generated.text, test.name + ".cu", arch);
      CHECK(compiled.log == "");
    }
  }
}

TEST_CASE("codegen: kernels with a table for their parameters compile, and read it where it is") {
  for (const Case& test : codegen_kernels::all()) {
    if (!test.cuda || !launchTableForm(test.kernel)) {
      continue;
    }
    CAPTURE(test.name);
    const GeneratedKernel generated = generateForTable(test.kernel, "of_many");
    const cuda::CompiledCubin compiled =
        cuda::compileToCubin(generated.text, test.name + ".cu", "sm_90");
    CHECK(compiled.log == "");
    const GeneratedKernel single = generateCuda(test.kernel);
    const bool has_stack =
        cuda::compileToCubin(single.text, test.name + ".cu", "sm_90").ptx.find(".local") !=
        std::string::npos;
    CHECK((compiled.ptx.find(".local") != std::string::npos) == has_stack);
  }
}

TEST_CASE("codegen: register arrays stay in registers") {
  GeneratedKernel generated = generateCuda(codegen_kernels::vectors().kernel);
  cuda::CompiledCubin compiled = cuda::compileToCubin(generated.text, "vectors.cu", "sm_90");
  CHECK(compiled.spill_bytes == 0);
  CHECK(compiled.ptx.find(".local") == std::string::npos);
  CHECK(compiled.ptx.find("st.global.v4") != std::string::npos);
}

TEST_CASE("codegen: kernels compile with the host's compiler, without warnings") {
  for (const Case& test : codegen_kernels::all()) {
    if (!test.host) {
      continue;
    }
    CAPTURE(test.name);
    GeneratedKernel generated = generateHost(test.kernel);
    HostCompileRequest request;
    request.text = generated.text;
    request.flags = hostFlags(hostCompiler());
    request.flags.insert(request.flags.end(),
                         {"-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unknown-pragmas"});
    std::string warnings;
    CHECK(loadSharedObject(compileHostText(hostCompiler(), request, &warnings))
              .symbol(generated.entry) != nullptr);
    CHECK(warnings == "");
  }
}

TEST_CASE("codegen: a predicate keeps what is behind the end") {
  for (bool host : {false, true}) {
    CAPTURE(host);
    Device& device = host ? cpuDevice() : emulatedDevice();
    constexpr size_t kCount = 1000;
    constexpr size_t kBehind = 24;
    Buffer<float> t0(device, ramp(kCount));
    Buffer<float> t1(device, ramp(kCount));
    Buffer<float> t2(device, std::vector<float>(kCount + kBehind, -7.0f));
    int32_t n32 = kCount;
    int64_t n64 = kCount;
    Case test = codegen_kernels::pointwise("k", DataType::Int32, host ? 1 : 128);
    run(device, host ? generateHost(test.kernel) : generateCuda(test.kernel),
        host ? shapeOf(kCount, 1) : shapeOf(8, 128),
        {t0.argument(), t1.argument(), t2.argument(), host ? static_cast<void*>(&n64) : &n32});
    const std::vector<float> in = ramp(kCount);
    const std::vector<float>& out = t2.read();
    size_t wrong = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      wrong += out[i] != (i < kCount ? in[i] * 3.0f : -7.0f);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("codegen: vectors arrive in their places") {
  Device& device = emulatedDevice();
  constexpr size_t kCount = 2052;
  Buffer<float> t0(device, ramp(kCount));
  Buffer<float> t3(device, std::vector<float>(kCount, -7.0f));
  int32_t n = kCount;
  run(device, generateCuda(codegen_kernels::vectors().kernel), shapeOf(3, 128),
      {t0.argument(), t3.argument(), &n});
  const std::vector<float> in = ramp(kCount);
  size_t wrong = 0;
  for (size_t i = 0; i < kCount; ++i) {
    wrong += t3.read()[i] != std::max(in[i], 0.0f);
  }
  CHECK(wrong == 0);
}

TEST_CASE("codegen: a block adds up a row") {
  Device& device = emulatedDevice();
  constexpr int32_t kRows = 3;
  constexpr int32_t kColumns = 301;
  Buffer<uint16_t> t0(device, std::vector<uint16_t>(kRows * kColumns, 0x3e00));  // 1.5
  Buffer<float> t2(device, std::vector<float>(kRows));
  int32_t rows = kRows;
  int32_t columns = kColumns;
  run(device, generateCuda(codegen_kernels::blockReduce().kernel), shapeOf(kRows, 128, 512),
      {t0.argument(), t2.argument(), &rows, &columns});
  for (float sum : t2.read()) {
    CHECK(sum == 1.5f * kColumns);
  }
}

TEST_CASE("codegen: mean and variance over the grid") {
  for (bool all : {false, true}) {
    CAPTURE(all);
    Device& device = emulatedDevice();
    constexpr size_t kCount = 700;
    Buffer<float> t0(device, ramp(kCount));
    Buffer<float> t4(device, std::vector<float>(2));
    Buffer<char> work(device, std::vector<char>(6 * 128 * 12));
    Buffer<uint32_t> tickets(device, {0});
    int64_t n = kCount;
    LaunchShape shape = shapeOf(6, 128, 128 * 12);
    shape.cooperative = all;
    run(device, generateCuda(codegen_kernels::gridReduce(all).kernel), shape,
        {t0.argument(), t4.argument(), work.argument(), tickets.argument(), &n});
    double mean = 0;
    double variance = 0;
    for (float x : ramp(kCount)) {
      mean += static_cast<double>(x) / kCount;
    }
    for (float x : ramp(kCount)) {
      variance += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean) / kCount;
    }
    CHECK(static_cast<double>(t4.read()[0]) == doctest::Approx(mean).epsilon(1e-5));
    CHECK(static_cast<double>(t4.read()[1]) == doctest::Approx(variance).epsilon(1e-5));
    if (!all) {
      CHECK(tickets.read()[0] == 0);
    }
  }
}

TEST_CASE("codegen: bulk copies are the engine's on GPUs that have it") {
  GeneratedKernel generated = generateCuda(codegen_kernels::bulkCopy().kernel);
  for (const char* arch : {"sm_75", "sm_80", "sm_90", "sm_100"}) {
    CAPTURE(arch);
    const std::string ptx = cuda::compileToCubin(generated.text, "bulk_copy.cu", arch).ptx;
    const bool has_engine = std::string_view(arch) != "sm_75" && std::string_view(arch) != "sm_80";
    for (const char* instruction :
         {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
          "cp.async.bulk.global.shared::cta.bulk_group", "mbarrier.try_wait.parity",
          "fence.proxy.async.shared::cta", "cp.async.bulk.wait_group.read 0"}) {
      CAPTURE(instruction);
      CHECK((ptx.find(instruction) != std::string::npos) == has_engine);
    }
  }
}

TEST_CASE("codegen: bulk copies arrive, whole and cut off") {
  for (int n : {512, 300, 301, 1}) {
    CAPTURE(n);
    Device& device = emulatedDevice();
    Buffer<float> t0(device, ramp(512));
    Buffer<float> t2(device, std::vector<float>(512, -9.0f));
    const int64_t blocks = (n + 255) / 256;
    run(device, generateCuda(codegen_kernels::bulkCopy().kernel), shapeOf(blocks, 32, 16 + 1024),
        {t0.argument(), t2.argument(), &n});
    std::vector<float> expected = ramp(512);
    std::fill(expected.begin() + n, expected.end(), -9.0f);
    CHECK(t2.read() == expected);
  }
}

TEST_CASE("codegen: asynchronous copies arrive, and the rest is zero") {
  Device& device = emulatedDevice();
  constexpr size_t kCount = 384;
  Buffer<float> t0(device, ramp(kCount));
  Buffer<float> t2(device, std::vector<float>(kCount));
  int32_t n = kCount;
  run(device, generateCuda(codegen_kernels::asyncCopy().kernel), shapeOf(2, 32, 1024),
      {t0.argument(), t2.argument(), &n});
  const std::vector<float> in = ramp(kCount);
  size_t wrong = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const size_t from = i / 256 * 256 + 255 - i % 256;
    wrong += t2.read()[i] != (from < kCount ? in[from] : 0.0f);
  }
  CHECK(wrong == 0);
}

TEST_CASE("codegen: random numbers agree on the host and on the emulated device") {
  constexpr size_t kCount = 37;
  std::vector<std::vector<char>> results;
  for (bool host : {false, true}) {
    Device& device = host ? cpuDevice() : emulatedDevice();
    Buffer<float> f32(device, std::vector<float>(kCount));
    Buffer<uint16_t> half(device, std::vector<uint16_t>(kCount));
    Buffer<double> f64(device, std::vector<double>(kCount));
    Buffer<float> range(device, std::vector<float>(kCount));
    Buffer<uint16_t> normal(device, std::vector<uint16_t>(kCount));
    Buffer<double> general(device, std::vector<double>(kCount));
    int64_t seed = 42;
    int64_t offset = 5;
    double low = 1.5;
    int64_t n = kCount;
    Case test = codegen_kernels::random();
    run(device, host ? generateHost(test.kernel) : generateCuda(test.kernel), shapeOf(kCount, 1),
        {f32.argument(), half.argument(), f64.argument(), range.argument(), normal.argument(),
         general.argument(), &seed, &offset, &low, &n});
    for (float u : f32.read()) {
      CHECK((u >= 0.0f && u < 1.0f));
    }
    for (float u : range.read()) {
      CHECK((u >= 1.5f && u < 2.0f));
    }
    std::vector<char> bits;
    auto keep = [&](const auto& values) {
      const auto* first = reinterpret_cast<const char*>(values.data());
      bits.insert(bits.end(), first, first + values.size() * sizeof(values[0]));
    };
    keep(f32.read());
    keep(half.read());
    keep(f64.read());
    keep(range.read());
    results.push_back(std::move(bits));
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("codegen: constants arrive exactly") {
  for (bool host : {false, true}) {
    CAPTURE(host);
    Device& device = host ? cpuDevice() : emulatedDevice();
    Buffer<float> f32(device, std::vector<float>(7));
    Buffer<double> f64(device, std::vector<double>(3));
    Buffer<uint16_t> half(device, {0});
    Buffer<int64_t> i64(device, std::vector<int64_t>(3));
    Buffer<int32_t> i32(device, {0});
    Buffer<uint64_t> u64(device, {0});
    Buffer<int8_t> i8(device, {0});
    Buffer<uint8_t> truth(device, {0});
    Buffer<double> c128(device, {0, 0});
    Buffer<double> widened(device, {0});
    Case test = codegen_kernels::literals();
    run(device, host ? generateHost(test.kernel) : generateCuda(test.kernel), shapeOf(1, 1),
        {f32.argument(), f64.argument(), half.argument(), i64.argument(), i32.argument(),
         u64.argument(), i8.argument(), truth.argument(), c128.argument(), widened.argument()});
    const std::vector<float>& f = f32.read();
    CHECK(f[0] == 0.1f);
    CHECK((f[1] == 0.0f && std::signbit(f[1])));
    CHECK(f[2] == 1e30f);
    CHECK((std::isinf(f[3]) && f[3] > 0));
    CHECK((std::isinf(f[4]) && f[4] < 0));
    CHECK(std::isnan(f[5]));
    CHECK(f[6] == 7.0f);
    CHECK(f64.read()[0] == 0.1);
    CHECK(f64.read()[1] == 5e-324);
    CHECK(std::isnan(f64.read()[2]));
    CHECK(half.read()[0] == 0x3e00);
    CHECK(i64.read() == std::vector<int64_t>{-1, INT64_MIN, INT64_MAX});
    CHECK(i32.read()[0] == INT32_MIN);
    CHECK(u64.read()[0] == UINT64_MAX);
    CHECK(i8.read()[0] == -128);
    CHECK(truth.read()[0] == 1);
    CHECK(c128.read() == std::vector<double>{0.5, -2.0});
    CHECK(widened.read()[0] == 1.0 + static_cast<double>(0.1f));
  }
}

TEST_CASE("codegen: a row in the memory of a task") {
  Device& device = cpuDevice();
  constexpr size_t kRows = 5;
  Buffer<float> t0(device, ramp(kRows * 64));
  Buffer<float> t3(device, std::vector<float>(kRows * 64));
  int64_t n = kRows;
  run(device, generateHost(codegen_kernels::rows().kernel), shapeOf(kRows, 1),
      {t0.argument(), t3.argument(), &n});
  const std::vector<float> in = ramp(kRows * 64);
  size_t wrong = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    wrong += t3.read()[i] != std::fabs(in[i]) / 3.0f;
  }
  CHECK(wrong == 0);
}
