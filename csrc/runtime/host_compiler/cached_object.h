/// Host code through the disk cache: the one place where the text of a CPU or emulated kernel
/// becomes a loaded object.
///
///   a text of its own         text ─→ object                       (cachedObject: emulated CUDA)
///   kernels of joined texts   a kernel's text ─→ object, symbol    (findHostKernel: the CPU)
///                             object ─→ its bytes
///
/// Which kernels are compiled together hangs on which of them were asked for at the same time, and
/// differs from run to run. So an object that holds several is known by its contents, and each
/// kernel in it is found by its own text.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <runtime/host_compiler/host_compiler.h>
#include <runtime/kernel_cache/disk_cache.h>

namespace nvfuser {

struct CachedObject {
  SharedObject object;
  std::string bytes;  ///< of the shared object
  std::string log;    ///< what the compiler said when it made it
  bool from_cache = false;
  double compile_ms = 0;  ///< 0 from the cache
};

/// Everything that the object of `request` depends on: text, flags, compiler (what it says, its
/// file, the variables it obeys), this CPU, this build of ours.
std::string hostObjectKey(const HostCompiler& compiler, const HostCompileRequest& request);

/// From `cache` if it has it, else compiled and stored there; null: always compiled. An entry that
/// the dynamic loader refuses is compiled anew.
CachedObject cachedObject(const HostCompiler& compiler, const HostCompileRequest& request,
                          DiskCache* cache);

/// A kernel within an object, which may hold others.
struct HostKernel {
  std::shared_ptr<const SharedObject> object;
  std::string symbol;
  std::string object_id;  ///< the hash of the object's bytes
  std::string log;
  bool from_cache = false;
  double compile_ms = 0;  ///< of the whole object; 0 from the cache
};

/// The kernel `entry` of the text of `request`, if it was ever compiled, under any name and beside
/// any others. An object is loaded once.
std::optional<HostKernel> findHostKernel(const HostCompiler& compiler,
                                         const HostCompileRequest& request,
                                         const std::string& entry, DiskCache* cache);
/// All kernels `entries` of a text; the object is stored in `cache` (null: nowhere).
std::vector<HostKernel> compileHostKernels(const HostCompiler& compiler,
                                           const HostCompileRequest& request,
                                           std::span<const std::string> entries, DiskCache* cache);
/// So that `findHostKernel` finds it: `request` has the kernel's own text.
void keepHostKernel(const HostCompiler& compiler, const HostCompileRequest& request,
                    const std::string& entry, const HostKernel& kernel, DiskCache& cache);

}  // namespace nvfuser
