#include <runtime/cuda/cuda_kernel.h>

#include <runtime/host_compiler/process.h>
#include <runtime/launch_help.h>
#include <support/error.h>

namespace nvfuser {

using cuda::FunctionAttribute;
using cuda::throwIfFailed;

namespace {

constexpr int64_t kSharedBytesWithoutOptIn = 48 * 1024;
constexpr int64_t kPortableClusterBlocks = 8;
constexpr int64_t kMaxClusterBlocks = 16;
constexpr double kDisassemblyDeadlineSeconds = 60;

std::string disassemble(const std::string& cubin) {
  TemporaryDirectory folder;
  folder.write("kernel.cubin", cubin);
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"nvdisasm", "-c", "kernel.cubin"},
        {"cuobjdump", "-sass", "kernel.cubin"}}) {
    ProcessRequest request;
    request.argv = argv;
    request.working_directory = folder.path();
    request.deadline_s = kDisassemblyDeadlineSeconds;
    request.output_limit = size_t{64} << 20;
    ProcessResult result = runProcess(request);
    if (result.started && !result.timed_out && result.exit_code == 0) {
      return result.output;
    }
  }
  return "";
}

}  // namespace

CudaKernel::CudaKernel(const cuda::Driver& driver, cuda::Context context, std::string name,
                       std::string cubin, std::string ptx)
    : driver_(driver),
      context_(context),
      name_(std::move(name)),
      cubin_(std::move(cubin)),
      ptx_(std::move(ptx)) {
  throwIfFailed(driver_, driver_.ModuleLoadData(&module_, cubin_.data()), "cuModuleLoadData",
                name_);
  cuda::Result found = driver_.ModuleGetFunction(&function_, module_, name_.c_str());
  if (found != cuda::kSuccess) {
    driver_.ModuleUnload(module_);
    throwIfFailed(driver_, found, "cuModuleGetFunction", name_);
  }
  auto attribute = [&](FunctionAttribute which) {
    int value = -1;
    driver_.FuncGetAttribute(&value, which, function_);
    return value;
  };
  resources_.registers = attribute(FunctionAttribute::NumRegs);
  resources_.static_shared_bytes = attribute(FunctionAttribute::SharedSizeBytes);
  resources_.spill_bytes = attribute(FunctionAttribute::LocalSizeBytes);
  max_threads_ = attribute(FunctionAttribute::MaxThreadsPerBlock);
  allowed_shared_bytes_ =
      kSharedBytesWithoutOptIn - std::max<int64_t>(0, resources_.static_shared_bytes);
}

CudaKernel::~CudaKernel() {
  // Fails, harmlessly, when the process is ending and the driver has gone first.
  if (driver_.CtxPushCurrent(context_) == cuda::kSuccess) {
    driver_.ModuleUnload(module_);
    cuda::Context popped = nullptr;
    driver_.CtxPopCurrent(&popped);
  }
}

std::string CudaKernel::assembly(const std::string& kind) const {
  if (kind == "ptx") {
    return ptx_;
  }
  if (kind == "cubin") {
    return cubin_;
  }
  if (kind == "sass") {
    return disassemble(cubin_);
  }
  return "";
}

void CudaKernel::allowSharedBytes(int64_t bytes) const {
  if (bytes <= allowed_shared_bytes_.load(std::memory_order_acquire)) {
    return;
  }
  std::lock_guard<std::mutex> lock(opt_in_);
  if (bytes <= allowed_shared_bytes_.load()) {
    return;
  }
  throwIfFailed(driver_,
                driver_.FuncSetAttribute(function_, FunctionAttribute::MaxDynamicSharedSizeBytes,
                                         static_cast<int>(bytes)),
                "cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES)", name_);
  allowed_shared_bytes_.store(bytes, std::memory_order_release);
}

void CudaKernel::allowLargeClusters() const {
  if (large_clusters_.load(std::memory_order_acquire)) {
    return;
  }
  std::lock_guard<std::mutex> lock(opt_in_);
  throwIfFailed(
      driver_,
      driver_.FuncSetAttribute(function_, FunctionAttribute::NonPortableClusterSizeAllowed, 1),
      "cuFuncSetAttribute(NON_PORTABLE_CLUSTER_SIZE_ALLOWED)", name_);
  large_clusters_.store(true, std::memory_order_release);
}

bool checkLaunch(const CudaKernel& kernel, const DeviceProperties& properties,
                 const LaunchShape& shape) {
  auto refuse = [&](const std::string& what, int64_t value, const char* limit_name, int64_t limit,
                    std::string_view help) {
    launchError("launch of ", kernel.name(), ": ", what, " is ", value, ", but ", limit_name,
                " of ", properties.name, " is ", limit, help);
  };
  bool empty = false;
  int64_t threads = 1, cluster_blocks = 1;
  for (int axis = 0; axis < 3; axis++) {
    char name = "xyz"[axis];
    int64_t grid = shape.grid[axis], block = shape.block[axis], cluster = shape.cluster[axis];
    if (grid < 0 || grid > properties.max_grid[axis]) {
      refuse(text("grid ", name), grid, "the largest grid extent", properties.max_grid[axis],
             launch_help::ofExtent(grid, launch_help::kGridExtent));
    }
    if (block < 1 || block > properties.max_block[axis]) {
      refuse(text("block ", name), block, "the largest block extent", properties.max_block[axis],
             launch_help::ofExtent(block, launch_help::kBlockExtent));
    }
    if (cluster < 1 || cluster > kMaxClusterBlocks) {
      refuse(text("cluster ", name), cluster, "the largest cluster", kMaxClusterBlocks,
             launch_help::kCluster);
    }
    if (grid % cluster != 0) {
      userError("launch of ", kernel.name(), ": grid ", name, " = ", grid,
                " is not a multiple of cluster ", name, " = ", cluster, launch_help::kCluster);
    }
    empty = empty || grid == 0;
    threads *= block;
    cluster_blocks *= cluster;
  }
  if (threads > properties.max_threads_per_block) {
    refuse("the number of threads of a block", threads, "the limit",
           properties.max_threads_per_block, launch_help::kThreads);
  }
  if (kernel.maxThreadsPerBlock() > 0 && threads > kernel.maxThreadsPerBlock()) {
    userError("launch of ", kernel.name(), ": a block has ", threads,
              " threads, but the kernel with its ", kernel.resources().registers,
              " registers a thread takes at most ", kernel.maxThreadsPerBlock(),
              "; compile it with a register limit or for larger blocks");
  }
  if (cluster_blocks > kMaxClusterBlocks) {
    refuse("the number of blocks of a cluster", cluster_blocks, "the largest cluster",
           kMaxClusterBlocks, launch_help::kCluster);
  }
  if (cluster_blocks > 1 && properties.major < 9) {
    userError("launch of ", kernel.name(), ": clusters need compute capability 9.0, ",
              properties.name, " has ", properties.major, ".", properties.minor,
              "; leave the cluster out");
  }
  int64_t fixed = std::max<int64_t>(0, kernel.resources().static_shared_bytes);
  if (shape.shared_bytes < 0 ||
      fixed + shape.shared_bytes > properties.shared_bytes_per_block_optin) {
    refuse(text("shared memory of a block (", fixed, " static and ", shape.shared_bytes,
                " dynamic bytes)"),
           fixed + shape.shared_bytes, "the limit", properties.shared_bytes_per_block_optin,
           launch_help::kSharedBytes);
  }
  return !empty;
}

}  // namespace nvfuser
