// On a real GPU. Without one every case says so and checks nothing: this program is run by hand,
// not by ctest.
#include <runtime/cuda/cuda_device.h>

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <runtime/cuda/driver.h>
#include <runtime/device.h>
#include <runtime/host_compiler/process.h>
#include <support/error.h>

using namespace nvfuser;

namespace {

/// The device, or null after saying why there is none.
Device* gpu() {
  std::string why;
  Device* device = cudaDevice(0, &why);
  if (!device) {
    MESSAGE("no GPU: ", why);
  }
  return device;
}

KernelSource source(const char* entry, const std::string& text) {
  KernelSource result;
  result.entry = entry;
  result.text = text;
  return result;
}

LaunchShape shape(int64_t grid, int64_t block) {
  LaunchShape result;
  result.grid[0] = grid;
  result.block[0] = block;
  return result;
}

const char* const kAxpy = R"(
extern "C" __global__ void axpy(float* y, const float* x, float a, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
)";

/// Memory of the device for one scope.
template <typename T>
struct Buffer {
  Device& device;
  size_t bytes;
  T* data;
  Buffer(Device& d, size_t count)
      : device(d), bytes(count * sizeof(T)), data(static_cast<T*>(d.allocate(bytes, nullptr))) {}
  ~Buffer() { device.release(data, nullptr); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void write(const std::vector<T>& host) { device.copyFromHost(data, host.data(), bytes, nullptr); }
  std::vector<T> read() {
    std::vector<T> host(bytes / sizeof(T));
    device.copyToHost(host.data(), data, bytes, nullptr);
    return host;
  }
};

std::string messageOf(auto run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cuda: properties") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  const DeviceProperties& p = device->properties();
  MESSAGE(p.name, " sm_", p.major, p.minor, ", ", p.multiprocessors, " multiprocessors, ",
          p.memory_bytes >> 20, " MiB, L2 ", p.l2_bytes >> 20, " MiB, shared ",
          p.shared_bytes_per_block_optin, ", NVRTC ", cuda::nvrtcVersion(), ", driver ",
          cuda::driver()->version);
  CHECK(p.major >= 5);
  CHECK(p.multiprocessors > 0);
  CHECK(p.warp_size == 32);
  CHECK(p.max_threads_per_block == 1024);
  CHECK(p.max_grid[0] == 2147483647);
  CHECK(p.max_grid[1] == 65535);
  CHECK(p.shared_bytes_per_block == 48 * 1024);
  CHECK(p.shared_bytes_per_block_optin >= p.shared_bytes_per_block);
  CHECK(p.l2_bytes > 0);
  CHECK(p.memory_bytes > 0);
  CHECK(device->kind() == DeviceKind::Cuda);
  CHECK(cudaDevice(0) == device);
}

TEST_CASE("cuda: memory, copies and fills") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  CHECK(device->allocate(0, nullptr) == nullptr);
  device->release(nullptr, nullptr);
  std::vector<int> host(100003);
  for (size_t i = 0; i < host.size(); i++) {
    host[i] = static_cast<int>(i * 7);
  }
  Buffer<int> a(*device, host.size()), b(*device, host.size());
  CHECK(reinterpret_cast<uintptr_t>(a.data) % 256 == 0);
  a.write(host);
  device->copyWithin(b.data, a.data, b.bytes, nullptr);
  CHECK(b.read() == host);
  device->fillBytes(b.data, 0xFF, b.bytes, nullptr);
  CHECK(b.read() == std::vector<int>(host.size(), -1));
  device->copyWithin(nullptr, nullptr, 0, nullptr);
}

TEST_CASE("cuda: too much memory is a clear error, and the device works afterwards") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  std::string message = messageOf([&] {
    device->allocate(static_cast<size_t>(device->properties().memory_bytes) * 2, nullptr);
  });
  CHECK(contains(message, "no memory left on "));
  Buffer<int> after(*device, 1000);
  CHECK(after.data != nullptr);
}

TEST_CASE("cuda: compile, launch, time, resources") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  auto kernel = device->compile(source("axpy", kAxpy));
  CHECK(kernel->resources().registers > 0);
  CHECK(kernel->resources().static_shared_bytes == 0);
  CHECK(kernel->resources().spill_bytes == 0);
  CHECK(kernel->resources().compile_ms > 0);
  MESSAGE("compiled in ", kernel->resources().compile_ms, " ms, ", kernel->resources().registers,
          " registers");
  CHECK(contains(kernel->assembly("ptx"), ".entry axpy"));
  std::string sass = kernel->assembly("sass");
  if (findExecutable("nvdisasm").empty() && findExecutable("cuobjdump").empty()) {
    CHECK(sass.empty());
  } else {
    CHECK(contains(sass, "EXIT"));
  }

  int64_t n = 1000003;
  Buffer<float> x(*device, static_cast<size_t>(n)), y(*device, static_cast<size_t>(n));
  x.write(std::vector<float>(static_cast<size_t>(n), 1.5f));
  device->fillBytes(y.data, 0, y.bytes, nullptr);
  float a = 2;
  void* args[] = {&y.data, &x.data, &a, &n};
  device->launch(*kernel, shape((n + 255) / 256, 256), args, nullptr, nullptr);
  CHECK(y.read() == std::vector<float>(static_cast<size_t>(n), 3.f));

  std::vector<double> times = device->timeEach(
      [&] { device->launch(*kernel, shape((n + 255) / 256, 256), args, nullptr, nullptr); }, 10,
      nullptr);
  REQUIRE(times.size() == 10);
  MESSAGE("12 MB axpy: ", times[9] * 1000, " us");
  CHECK(times[9] > 0);
  CHECK(times[9] < 10);
  CHECK(y.read()[5] == 33.f);

  device->launch(*kernel, shape(0, 256), args, nullptr, nullptr);  // an empty grid runs nothing
  CHECK(y.read()[5] == 33.f);
}

TEST_CASE("cuda: what NVRTC says, and a kernel that is not there") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  CHECK_THROWS_AS(
      device->compile(source("k", "extern \"C\" __global__ void k() { no_such_name(); }")),
      CompileError);
  std::string message =
      messageOf([&] { device->compile(source("absent", "extern \"C\" __global__ void k() {}")); });
  CHECK(contains(message, "cuModuleGetFunction of absent: CUDA_ERROR_NOT_FOUND"));
  message = messageOf([&] {
    loadCudaBinary(*device, source("k", ""), "not a cubin, but long enough to be read", "");
  });
  CHECK(contains(message, "cuModuleLoadData of k: CUDA_ERROR"));
}

TEST_CASE("cuda: launches beyond a limit name limit and value") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  auto kernel = device->compile(source("axpy", kAxpy));
  auto refused = [&](LaunchShape wanted) {
    return messageOf([&] { device->launch(*kernel, wanted, {}, nullptr, nullptr); });
  };
  LaunchShape wanted = shape(1, 1025);
  CHECK(contains(refused(wanted), "block x is 1025, but the largest block extent"));
  CHECK(contains(refused(wanted), "; split the axis that is bound to it"));
  wanted = shape(1, 64);
  wanted.block[1] = 32;
  CHECK(contains(refused(wanted), "the number of threads of a block is 2048"));
  wanted = shape(1, 32);
  wanted.grid[1] = 65536;
  CHECK(contains(refused(wanted), "grid y is 65536"));
  wanted = shape(1, 32);
  wanted.block[2] = 65;
  CHECK(contains(refused(wanted), "block z is 65"));
  wanted = shape(1, 32);
  wanted.shared_bytes = device->properties().shared_bytes_per_block_optin + 1;
  CHECK(contains(refused(wanted), "shared memory of a block"));
  wanted = shape(3, 32);
  wanted.cluster[0] = 2;
  CHECK(contains(refused(wanted), "not a multiple of cluster x"));
  wanted = shape(int64_t{1} << 20, 32);
  wanted.cooperative = true;
  CHECK(contains(refused(wanted), "cooperative launch of axpy: the grid has 1048576 blocks"));

  auto bounded = device->compile(source(
      "k", "extern \"C\" __global__ void __launch_bounds__(64) k(int* x) { x[threadIdx.x] = 1; }"));
  std::string message =
      messageOf([&] { device->launch(*bounded, shape(1, 128), {}, nullptr, nullptr); });
  CHECK(contains(message, "takes at most 64"));
}

TEST_CASE("cuda: dynamic shared memory beyond 48 KB") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  auto kernel = device->compile(source("reverse", R"(
extern "C" __global__ void reverse(int* out, int n) {
  extern __shared__ int values[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = values[n - 1 - i];
}
)"));
  LaunchShape wanted = shape(1, 256);
  wanted.shared_bytes = device->properties().shared_bytes_per_block_optin;
  int n = static_cast<int>(wanted.shared_bytes / 4);
  Buffer<int> out(*device, static_cast<size_t>(n));
  void* args[] = {&out.data, &n};
  device->launch(*kernel, wanted, args, nullptr, nullptr);
  CHECK(out.read().front() == n - 1);
  CHECK(out.read().back() == 0);
  wanted.shared_bytes = 4096;  // a smaller one afterwards
  n = 1024;
  device->launch(*kernel, wanted, args, nullptr, nullptr);
  CHECK(out.read().front() == 1023);
  CHECK(cudaBlocksPerMultiprocessor(*device, *kernel, 256, 0) >= 4);
  CHECK(cudaBlocksPerMultiprocessor(*device, *kernel, 256,
                                    device->properties().shared_bytes_per_block_optin) == 1);
}

TEST_CASE("cuda: a cooperative launch has all blocks at once") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  auto kernel = device->compile(source("meet", R"(
extern "C" __global__ void meet(unsigned* arrived, unsigned* seen) {
  atomicAdd(arrived, 1u);
  while (*(volatile unsigned*)arrived < gridDim.x) {}
  seen[blockIdx.x] = *(volatile unsigned*)arrived;
}
)"));
  int64_t blocks = device->properties().multiprocessors * 2;
  Buffer<unsigned> arrived(*device, 1), seen(*device, static_cast<size_t>(blocks));
  device->fillBytes(arrived.data, 0, arrived.bytes, nullptr);
  LaunchShape wanted = shape(blocks, 1);
  wanted.cooperative = true;
  void* args[] = {&arrived.data, &seen.data};
  device->launch(*kernel, wanted, args, nullptr, nullptr);
  CHECK(seen.read() ==
        std::vector<unsigned>(static_cast<size_t>(blocks), static_cast<unsigned>(blocks)));
}

TEST_CASE("cuda: clusters, up to 16 blocks") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  const char* text = R"(
extern "C" __global__ void ranks(unsigned* out) {
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  out[blockIdx.x] = size * 100 + rank;
}
)";
  LaunchShape wanted = shape(32, 32);
  wanted.cluster[0] = 4;
  if (device->properties().major < 9) {
    auto plain = device->compile(source("axpy", kAxpy));
    CHECK(contains(messageOf([&] { device->launch(*plain, wanted, {}, nullptr, nullptr); }),
                   "compute capability 9.0"));
    return;
  }
  auto kernel = device->compile(source("ranks", text));
  for (unsigned size : {2u, 4u, 8u, 16u}) {
    CAPTURE(size);
    wanted.cluster[0] = size;
    Buffer<unsigned> out(*device, 32);
    void* args[] = {&out.data};
    device->launch(*kernel, wanted, args, nullptr, nullptr);
    std::vector<unsigned> expected;
    for (unsigned block = 0; block < 32; block++) {
      expected.push_back(size * 100 + block % size);
    }
    CHECK(out.read() == expected);
  }
}

TEST_CASE("cuda: cubins load again, as a disk cache does it") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  KernelSource axpy = source("axpy", kAxpy);
  std::string arch = cudaArchitecture(device->properties());
  cuda::CompiledCubin compiled = compileCudaSource(axpy, arch);
  CHECK(contains(cudaBinaryKey(axpy, arch), arch));
  auto kernel = loadCudaBinary(*device, axpy, compiled.cubin, compiled.ptx);
  Buffer<float> x(*device, 10);
  device->fillBytes(x.data, 0, x.bytes, nullptr);
  float a = 1;
  int64_t n = 10;
  void* args[] = {&x.data, &x.data, &a, &n};
  device->launch(*kernel, shape(1, 32), args, nullptr, nullptr);
  CHECK(x.read() == std::vector<float>(10, 0.f));
}

TEST_CASE("cuda: the caller's current context stays as it is") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  const cuda::Driver& driver = *cuda::driver();
  std::thread([&] {  // a new thread has none
    cuda::Context current = reinterpret_cast<cuda::Context>(1);
    Buffer<int> buffer(*device, 100);
    device->fillBytes(buffer.data, 1, buffer.bytes, nullptr);
    auto kernel = device->compile(source("axpy", kAxpy));
    device->synchronize(nullptr);
    CHECK_THROWS(device->launch(*kernel, shape(1, 5000), {}, nullptr, nullptr));
    CHECK(driver.CtxGetCurrent(&current) == cuda::kSuccess);
    CHECK(current == nullptr);
  })
      .join();
}

TEST_CASE("cuda: streams, and several threads at once") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  const cuda::Driver& driver = *cuda::driver();
  auto kernel = device->compile(source("axpy", kAxpy));
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (size_t t = 0; t < right.size(); t++) {
    threads.emplace_back([&, t] {
      cuda::Context context = nullptr;
      driver.DevicePrimaryCtxRetain(&context, 0);
      driver.CtxSetCurrent(context);
      cuda::StreamHandle stream = nullptr;
      driver.StreamCreate(&stream, cuda::kStreamNonBlocking);
      int64_t n = 50000;
      size_t bytes = static_cast<size_t>(n) * 4;
      void* x = device->allocate(bytes, stream);
      void* y = device->allocate(bytes, stream);
      std::vector<float> host(static_cast<size_t>(n), 1.f);
      device->copyFromHost(x, host.data(), bytes, stream);
      device->fillBytes(y, 0, bytes, stream);
      float a = static_cast<float>(t + 1);
      void* args[] = {&y, &x, &a, &n};
      for (int i = 0; i < 50; i++) {
        device->launch(*kernel, shape((n + 255) / 256, 256), args, stream, nullptr);
      }
      device->copyToHost(host.data(), y, bytes, stream);
      right[t] = host == std::vector<float>(static_cast<size_t>(n), 50.f * a);
      device->release(x, stream);
      device->release(y, stream);
      device->synchronize(stream);
      driver.StreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == std::vector<int>(4, 1));
}

TEST_CASE("cuda: launches and allocations may be captured into a graph") {
  Device* device = gpu();
  if (!device) {
    return;
  }
  const cuda::Driver& driver = *cuda::driver();
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  auto function = [&](const char* name) {
    void* address = dlsym(library, name);
    REQUIRE(address != nullptr);
    return address;
  };
  using Graph = void*;
  auto begin =
      reinterpret_cast<int (*)(cuda::StreamHandle, int)>(function("cuStreamBeginCapture_v2"));
  auto end = reinterpret_cast<int (*)(cuda::StreamHandle, Graph*)>(function("cuStreamEndCapture"));
  auto instantiate = reinterpret_cast<int (*)(Graph*, Graph, unsigned long long)>(
      function("cuGraphInstantiateWithFlags"));
  auto run = reinterpret_cast<int (*)(Graph, cuda::StreamHandle)>(function("cuGraphLaunch"));

  auto kernel = device->compile(source("axpy", kAxpy));
  cuda::Context context = nullptr;
  driver.DevicePrimaryCtxRetain(&context, 0);
  driver.CtxPushCurrent(context);
  cuda::StreamHandle stream = nullptr;
  REQUIRE(driver.StreamCreate(&stream, cuda::kStreamNonBlocking) == cuda::kSuccess);
  Buffer<float> x(*device, 1000), y(*device, 1000);
  x.write(std::vector<float>(1000, 1.f));
  device->fillBytes(y.data, 0, y.bytes, nullptr);
  device->synchronize(nullptr);

  int64_t n = 1000;
  float a = 3;
  REQUIRE(begin(stream, 0) == 0);
  void* scratch = device->allocate(4000, stream);
  device->copyWithin(scratch, x.data, 4000, stream);
  void* args[] = {&y.data, &scratch, &a, &n};
  device->launch(*kernel, shape(4, 256), args, stream, nullptr);
  device->release(scratch, stream);
  Graph graph = nullptr, executable = nullptr;
  REQUIRE(end(stream, &graph) == 0);
  REQUIRE(instantiate(&executable, graph, 0) == 0);
  CHECK(y.read()[0] == 0.f);
  for (int i = 0; i < 3; i++) {
    REQUIRE(run(executable, stream) == 0);
  }
  device->synchronize(stream);
  CHECK(y.read() == std::vector<float>(1000, 9.f));
  driver.StreamDestroy(stream);
  cuda::Context popped = nullptr;
  driver.CtxPopCurrent(&popped);
}

// Run by the case below in a process of its own, since the error stays.
TEST_CASE("cuda child: illegal address" * doctest::skip()) {
  Device* device = gpu();
  if (!device) {
    return;
  }
  auto kernel =
      device->compile(source("wild", "extern \"C\" __global__ void wild(int* p) { *p = 1; }"));
  void* nowhere = reinterpret_cast<void*>(uintptr_t{0x10});
  void* args[] = {&nowhere};
  std::string message = messageOf([&] {
    device->launch(*kernel, shape(1, 1), args, nullptr, nullptr);
    device->synchronize(nullptr);
  });
  CHECK(contains(message, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(contains(message, "this error stays"));
  CHECK(contains(messageOf([&] { device->allocate(100, nullptr); }), "CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_CASE("cuda: an illegal address is described as an error that stays") {
  if (!gpu()) {
    return;
  }
  std::vector<std::string> argv = {"env"};
  if (const char* path = std::getenv("NVFUSER_NVRTC_PATH")) {
    argv.push_back(std::string("NVFUSER_NVRTC_PATH=") + path);
  }
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  REQUIRE(length > 0);
  argv.emplace_back(self, static_cast<size_t>(length));
  argv.insert(argv.end(), {"--test-case=cuda child: illegal address", "--no-skip"});
  ProcessRequest request;
  request.argv = argv;
  ProcessResult result = runProcess(request);
  CAPTURE(result.output);
  CHECK(result.exit_code == 0);
  CHECK(contains(result.output, "1 passed"));
}
