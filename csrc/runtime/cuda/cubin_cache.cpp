#include <runtime/cuda/cubin_cache.h>

#include <charconv>

#include <runtime/cuda/cuda_device.h>
#include <runtime/kernel_cache/entry.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/text.h>

namespace nvfuser {
namespace {

using cuda::CompiledCubin;

constexpr size_t kParts = 6;

std::string packed(const CompiledCubin& compiled) {
  const std::string registers = text(compiled.registers);
  const std::string shared = text(compiled.static_shared_bytes);
  const std::string spilled = text(compiled.spill_bytes);
  return packParts({compiled.cubin, compiled.ptx, compiled.log, registers, shared, spilled});
}

template <typename Number>
bool readNumber(const std::string& digits, Number* number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return error == std::errc() && end == digits.data() + digits.size();
}

std::optional<CompiledCubin> unpacked(const std::string& payload) {
  auto parts = unpackParts(payload, kParts);
  CompiledCubin compiled;
  if (!parts || !readNumber((*parts)[3], &compiled.registers) ||
      !readNumber((*parts)[4], &compiled.static_shared_bytes) ||
      !readNumber((*parts)[5], &compiled.spill_bytes)) {
    return {};
  }
  compiled.cubin = std::move((*parts)[0]);
  compiled.ptx = std::move((*parts)[1]);
  compiled.log = std::move((*parts)[2]);
  compiled.from_cache = true;
  return compiled;
}

}  // namespace

std::string cubinKey(const KernelSource& source, const std::string& arch) {
  const std::vector<std::string> words = cudaCompilerOptions(source, arch);
  return cacheKey({{"kind", "cubin"},
                   {"build", ownBuildId()},
                   {"compiler", cuda::nvrtcIdentity()},
                   {"architecture", arch},
                   {"options", packParts({words.begin(), words.end()})},
                   {"file", source.entry},
                   {"text", source.text}});
}

CompiledCubin cachedCubin(const KernelSource& source, const std::string& arch, DiskCache* cache,
                          bool lookup) {
  // Without NVRTC there is no saying what it would compile: the compiler's error is the answer.
  if (cache == nullptr || cuda::nvrtcIdentity().empty()) {
    return compileCudaSource(source, arch);
  }
  const std::string key = cubinKey(source, arch);
  if (lookup) {
    if (auto payload = cache->load(key)) {
      if (auto compiled = unpacked(*payload)) {
        return std::move(*compiled);
      }
    }
  }
  CompiledCubin compiled = compileCudaSource(source, arch);
  cache->store(key, packed(compiled));
  return compiled;
}

}  // namespace nvfuser
