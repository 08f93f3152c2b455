/// The disk cache that devices use, and what every key of it begins with.
#pragma once

#include <string>

#include <runtime/kernel_cache/disk_cache.h>
#include <runtime/kernel_cache/entry.h>
#include <support/options.h>

namespace nvfuser {

/// The cache of this process, from NVFUSER_CACHE_DIR and NVFUSER_CACHE_MB of the environment; null
/// where it is switched off (NVFUSER_DISABLE=nvrtc_caching, NVFUSER_CACHE_MB=0), where no folder
/// can be named, and in a program that runs with raised rights.
DiskCache* processDiskCache();

/// NVFUSER_CACHE_DIR if `named` is not empty; else `nvfuser` in XDG_CACHE_HOME (if absolute), in
/// ~/.cache, or in .cache of the home that the system knows. Absolute; empty where there is none.
std::string cacheFolder(const std::string& named, const char* xdg_cache_home, const char* home);

/// Which build of this library it is: two builds that differ in a byte have different ones.
const std::string& ownBuildId();

/// Which file stands at `path` now, through links: its size, time of change and a hash of its first
/// 4096 bytes, where a program has its headers and build id; "missing" if there is none. A compiler
/// that is replaced has another one, whatever it says its version is.
std::string fileIdentity(const std::string& path);

}  // namespace nvfuser
