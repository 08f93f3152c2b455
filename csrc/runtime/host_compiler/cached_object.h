/// Host code through the disk cache: the one place where the text of a CPU or emulated kernel
/// becomes a loaded object.
#pragma once

#include <string>

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

}  // namespace nvfuser
