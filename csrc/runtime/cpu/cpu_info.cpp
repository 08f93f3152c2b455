#include <runtime/cpu/cpu_info.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <support/text.h>

namespace nvfuser {
namespace {

/// First line of a small file, without its end; empty when it cannot be read.
std::string firstLine(const std::string& path) {
  std::string result;
  if (FILE* file = std::fopen(path.c_str(), "re")) {
    char line[256];
    if (std::fgets(line, sizeof line, file)) {
      result.assign(line, std::strcspn(line, "\n"));
    }
    std::fclose(file);
  }
  return result;
}

/// "32768K" → 33554432.
int64_t sizeWithUnit(const std::string& shown) {
  char* unit = nullptr;
  int64_t number = std::strtoll(shown.c_str(), &unit, 10);
  if (*unit == 'K') {
    return number << 10;
  }
  if (*unit == 'M') {
    return number << 20;
  }
  return number;
}

std::string modelName() {
  std::string result = "CPU";
  if (FILE* file = std::fopen("/proc/cpuinfo", "re")) {
    char line[512];
    while (std::fgets(line, sizeof line, file)) {
      const char* colon = std::strchr(line, ':');
      if (std::strncmp(line, "model name", 10) == 0 && colon) {
        colon += std::strspn(colon, ": \t");
        result.assign(colon, std::strcspn(colon, "\n"));
        break;
      }
    }
    std::fclose(file);
  }
  return result;
}

int64_t vectorBytes() {
#if defined(__x86_64__)
  // The compiler's own test: it also asks whether the system saves the registers.
  if (__builtin_cpu_supports("avx512f")) {
    return 64;
  }
  if (__builtin_cpu_supports("avx2")) {
    return 32;
  }
#endif
  return 16;
}

CpuInfo readInfo() {
  CpuInfo info;
  info.name = modelName();
  for (int index = 0; index < 8; index++) {
    std::string folder = text("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    std::string level = firstLine(folder + "level");
    if (level.empty()) {
      break;
    }
    int64_t bytes = sizeWithUnit(firstLine(folder + "size"));
    if (level == "1" && firstLine(folder + "type") != "Instruction") {
      info.l1_bytes = bytes;
    }
    if (level == "2") {
      info.l2_bytes = bytes;
    }
    if (level == "3") {
      info.l3_bytes = bytes;
    }
    int64_t line = sizeWithUnit(firstLine(folder + "coherency_line_size"));
    if (line > 0) {
      info.line_bytes = line;
    }
  }
  if (info.l1_bytes == 0) {
    info.l1_bytes = 32 << 10;  // containers may hide the caches: small, common sizes
  }
  if (info.l2_bytes == 0) {
    info.l2_bytes = 512 << 10;
  }
  if (info.l3_bytes == 0) {
    info.l3_bytes = 8 << 20;
  }
  info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  info.vector_bytes = vectorBytes();
  return info;
}

}  // namespace

const CpuInfo& cpuInfo() {
  static const CpuInfo info = readInfo();
  return info;
}

}  // namespace nvfuser
