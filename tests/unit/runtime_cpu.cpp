#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

#include <runtime/cpu/cpu_device.h>
#include <runtime/cpu/cpu_info.h>
#include <runtime/cpu/memory.h>
#include <support/error.h>

using namespace nvfuser;

namespace {

constexpr const char* kAxpy = R"(
extern "C" void axpy(void* const* args, const long* grid, long first, long last) {
  float* y = *(float**)args[0];
  const float* x = *(const float**)args[1];
  float a = *(const float*)args[2];
  long n = *(const long*)args[3];
  for (long b = first; b < last; b++) {
    long bx = b % grid[0], by = b / grid[0];
    long from = (by * grid[0] + bx) * 64;
    for (long i = from; i < from + 64 && i < n; i++) y[i] += a * x[i];
  }
}
)";

KernelSource source(const char* entry, const char* text) {
  KernelSource result;
  result.entry = entry;
  result.text = text;
  return result;
}

}  // namespace

TEST_CASE("cpu device: compiles and runs a kernel over its grid") {
  Device& device = cpuDevice();
  std::unique_ptr<LoadedKernel> kernel = device.compile(source("axpy", kAxpy));
  CHECK(kernel->resources().compile_ms > 0);
  CHECK(kernel->resources().registers == -1);

  int64_t n = 100001;
  size_t bytes = static_cast<size_t>(n) * sizeof(float);
  std::vector<float> host(static_cast<size_t>(n), 1.5f);
  auto* x = static_cast<float*>(device.allocate(bytes, nullptr));
  auto* y = static_cast<float*>(device.allocate(bytes, nullptr));
  device.copyFromHost(x, host.data(), bytes, nullptr);
  device.fillBytes(y, 0, bytes, nullptr);

  float a = 2;
  void* args[] = {&y, &x, &a, &n};
  LaunchShape shape;
  shape.grid[0] = 7;
  shape.grid[1] = (n + 7 * 64 - 1) / (7 * 64);
  device.launch(*kernel, shape, args, nullptr, nullptr);
  device.synchronize(nullptr);
  device.copyToHost(host.data(), y, bytes, nullptr);
  CHECK(host == std::vector<float>(static_cast<size_t>(n), 3.f));

  std::vector<double> times =
      device.timeEach([&] { device.launch(*kernel, shape, args, nullptr, nullptr); }, 3, nullptr);
  CHECK(times.size() == 3);
  CHECK(times[0] > 0);
  CHECK(y[5] == 12.f);
  device.release(x, nullptr);
  device.release(y, nullptr);
}

TEST_CASE("cpu device: tasks run the last one first where a test wants it") {
  Device& device = cpuDevice();
  auto kernel = device.compile(source("remember", R"(
extern "C" void remember(void* const* args, const long* grid, long first, long last) {
  long* order = *(long**)args[0];
  for (long b = first; b < last; b++) order[++order[0]] = b;
})"));
  std::vector<long> order(1 + 40);
  void* memory = order.data();
  void* args[] = {&memory};
  LaunchShape shape;
  shape.grid[0] = 5;
  shape.grid[1] = 8;
  setCpuTaskOrder(CpuTaskOrder::Reverse);
  device.launch(*kernel, shape, args, nullptr, nullptr);
  setCpuTaskOrder(CpuTaskOrder::Parallel);
  for (long i = 0; i < 40; ++i) {
    CHECK(order[static_cast<size_t>(i) + 1] == 39 - i);
  }
}

TEST_CASE("cpu device: an empty grid runs nothing") {
  Device& device = cpuDevice();
  auto kernel = device.compile(source("boom", R"(
extern "C" void boom(void* const*, const long*, long, long) { __builtin_trap(); })"));
  LaunchShape shape;
  shape.grid[1] = 0;
  device.launch(*kernel, shape, {}, nullptr, nullptr);
}

TEST_CASE("cpu device: wrong shapes are refused by name and value") {
  Device& device = cpuDevice();
  auto kernel = device.compile(source("axpy", kAxpy));
  LaunchShape threads;
  threads.block[0] = 128;
  try {
    device.launch(*kernel, threads, {}, nullptr, nullptr);
    FAIL("launched");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("launch of axpy") != std::string::npos);
    CHECK(std::string(error.what()).find("block x = 128") != std::string::npos);
  }
  LaunchShape huge;
  for (int64_t& extent : huge.grid) {
    extent = int64_t{1} << 40;
  }
  CHECK_THROWS_AS(device.launch(*kernel, huge, {}, nullptr, nullptr), UserError);
}

TEST_CASE("cpu device: compile errors hold the compiler's words, a missing entry is our bug") {
  Device& device = cpuDevice();
  CHECK_THROWS_AS(device.compile(source("f", "this is not C++")), CompileError);
  CHECK_THROWS_AS(device.compile(source("f", "extern \"C\" void g() {}")), InternalError);
}

TEST_CASE("cpu device: options come after our own") {
  KernelSource product = source("f", R"(
extern "C" void f(void* const* args, const long*, long, long) {
  double* x = *(double**)args[0];
  x[3] = x[0] * x[1] + x[2];
})");
  // (1+e)(1-e) - 1 is -e² in one rounding and 0 in two.
  double e = 0x1p-30, contracted[4] = {1 + e, 1 - e, -1, 0}, rounded[4] = {1 + e, 1 - e, -1, 0};
  double* data = rounded;
  void* args[] = {&data};
  cpuDevice().launch(*cpuDevice().compile(product), {}, args, nullptr, nullptr);
  CHECK(rounded[3] == 0);
  product.options = {"-ffp-contract=fast"};
  data = contracted;
  cpuDevice().launch(*cpuDevice().compile(product), {}, args, nullptr, nullptr);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) {
    CHECK(contracted[3] == -e * e);
  }
#endif
  CHECK(cpuBinaryKey(product).find("-ffp-contract=fast") != std::string::npos);
}

TEST_CASE("cpu device: compiled bytes load again, as a disk cache does it") {
  KernelSource axpy = source("axpy", kAxpy);
  std::string bytes = compileCpuBinary(axpy);
  for (int round = 0; round < 2; round++) {
    std::unique_ptr<LoadedKernel> kernel = loadCpuBinary(axpy, bytes);
    float data[1] = {1}, *y = data, *x = data, a = 1;
    long n = 1;
    void* args[] = {&y, &x, &a, &n};
    cpuDevice().launch(*kernel, {}, args, nullptr, nullptr);
    CHECK(data[0] == 2);
  }
}

TEST_CASE("cpu device: properties") {
  const DeviceProperties& properties = cpuDevice().properties();
  CHECK(!properties.name.empty());
  CHECK(properties.major == 0);
  CHECK(properties.multiprocessors >= 1);
  CHECK(properties.max_threads_per_block == 1);
  CHECK(properties.l2_bytes > 0);
  CHECK(cpuInfo().vector_bytes >= 16);
  CHECK(cpuInfo().memory_bytes > (int64_t{64} << 20));
  CHECK(cpuDevice().kind() == DeviceKind::Cpu);
}

TEST_CASE("cpu device: big copies and fills reach every byte") {
  Device& device = cpuDevice();
  size_t bytes = (size_t{5} << 20) + 13;
  auto* a = static_cast<unsigned char*>(device.allocate(bytes, nullptr));
  auto* b = static_cast<unsigned char*>(device.allocate(bytes, nullptr));
  device.fillBytes(a, 0xA5, bytes, nullptr);
  device.copyWithin(b, a, bytes, nullptr);
  CHECK(std::vector<unsigned char>(b, b + bytes) == std::vector<unsigned char>(bytes, 0xA5));
  device.release(a, nullptr);
  device.release(b, nullptr);
}

TEST_CASE("cpu memory: alignment, zero bytes, use again, no limit passed") {
  CpuMemory memory;
  CHECK(memory.allocate(0) == nullptr);
  memory.release(nullptr);
  for (size_t bytes : {size_t{1}, size_t{255}, size_t{1} << 20, (size_t{3} << 20) + 1}) {
    void* data = memory.allocate(bytes);
    CHECK(reinterpret_cast<uintptr_t>(data) % 256 == 0);
    std::memset(data, 1, bytes);
    memory.release(data);
  }
  void* first = memory.allocate(size_t{64} << 20);
  memory.release(first);
  CHECK(memory.cachedBytes() >= size_t{64} << 20);
  CHECK(memory.allocate(size_t{60} << 20) == first);
  memory.release(first);
  memory.releaseCached();
  CHECK(memory.cachedBytes() == 0);
  CHECK_THROWS_AS(memory.allocate(SIZE_MAX), UserError);
  CHECK_THROWS_AS(memory.allocate(size_t{1} << 60), UserError);
  int policy = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> policy;
  if (policy != 1) {  // 1: the system grants anything that there are addresses for
    CHECK_THROWS_AS(memory.allocate(size_t{1} << 46), UserError);
  }
}
