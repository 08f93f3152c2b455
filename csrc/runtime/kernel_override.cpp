#include <runtime/kernel_override.h>

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include <support/error.h>

namespace nvfuser {

namespace {

/// FNV-1a, 64 bits, as 16 digits.
std::string fingerprint(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    *digit = "0123456789abcdef"[hash & 15];
    hash >>= 4;
  }
  return digits;
}

std::string firstLine(const std::string& kernel_name, const std::string& generated) {
  return text("// nvfuser kernel ", kernel_name, " ", fingerprint(generated));
}

std::string contents(const std::string& path, std::string_view variable) {
  std::ifstream file(path);
  if (!file) {
    userError(variable, ": ", path, " cannot be read: ", std::strerror(errno));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::vector<std::string> filesIn(const std::string& folder, std::string_view extension) {
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) {
    userError("NVFUSER_KERNEL_OVERRIDE: the folder ", folder,
              " cannot be read: ", std::strerror(errno));
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open)) {
    if (std::string_view(entry->d_name).ends_with(extension)) {
      names.emplace_back(entry->d_name);
    }
  }
  closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string_view kernelExtension(const Device& device) {
  return device.kind() == DeviceKind::Cpu ? ".cpp" : ".cu";
}

std::string overridable(const std::string& kernel_name, const std::string& generated) {
  return text(firstLine(kernel_name, generated), "\n", generated);
}

std::optional<KernelFile> kernelOverride(const Options& options, const Device& device,
                                         const std::string& kernel_name,
                                         const std::string& generated) {
  std::optional<KernelFile> found;
  if (const std::string& folder = options.text(Setting::KernelOverride); !folder.empty()) {
    const std::string wanted = firstLine(kernel_name, generated);
    for (const std::string& name : filesIn(folder, kernelExtension(device))) {
      KernelFile file{text(folder, "/", name), ""};
      file.text = contents(file.path, "NVFUSER_KERNEL_OVERRIDE");
      if (file.text.substr(0, file.text.find('\n')) == wanted) {
        found = std::move(file);  // of several the last, which is the newest dump
      }
    }
  }
  if (found) {
    return found;
  }
  // The number behind "nvfuser_".
  constexpr std::string_view kPrefix = "nvfuser_";
  const std::vector<std::string> files = options.list(Setting::ExternalSrc);
  if (!files.empty() && kernel_name.starts_with(kPrefix)) {
    size_t number = 0;
    const char* end = kernel_name.data() + kernel_name.size();
    auto [at, error] = std::from_chars(kernel_name.data() + kPrefix.size(), end, number);
    if (error == std::errc() && number < files.size()) {
      found = KernelFile{files[number], contents(files[number], "NVFUSER_EXTERNAL_SRC")};
    }
  }
  return found;
}

}  // namespace nvfuser
