#include <runtime/cuda/nvrtc_search.h>

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include <support/options.h>
#include <support/text.h>

namespace nvfuser::cuda {
namespace {

/// Names in a folder, sorted; empty when there is no such folder.
std::vector<std::string> namesIn(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* opened = opendir(folder.c_str())) {
    while (dirent* entry = readdir(opened)) {
      names.emplace_back(entry->d_name);
    }
    closedir(opened);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The version after ".so." in "libnvrtc.so.12", "libnvrtc-1ea278b5.so.11.2",
/// "libnvrtc-builtins.so.13.0"; false for other names and for the wheel's second build
/// ("libnvrtc.alt.so.13").
bool versionOf(std::string_view name, std::string_view stem, int* major, int* minor) {
  if (name.substr(0, stem.size()) != stem) {
    return false;
  }
  size_t dot = name.find(".so.");
  if (dot == std::string_view::npos) {
    return false;
  }
  std::string_view between = name.substr(stem.size(), dot - stem.size());
  if (!between.empty() && (between[0] != '-' || between.find('.') != std::string_view::npos)) {
    return false;
  }
  if (stem == "libnvrtc" && between.substr(0, 9) == "-builtins") {
    return false;
  }
  std::string version(name.substr(dot + 4));
  char* end = nullptr;
  *major = static_cast<int>(std::strtol(version.c_str(), &end, 10));
  *minor = *end == '.' ? static_cast<int>(std::strtol(end + 1, nullptr, 10)) : -1;
  return *major > 0;
}

void addPythonFolders(const std::string& site_packages, std::vector<std::string>& folders) {
  for (const char* below :
       {"nvidia/cu14/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "torch/lib"}) {
    folders.push_back(site_packages + "/" + below);
  }
}

/// lib/python3.*/site-packages of an environment.
void addEnvironment(const std::string& prefix, std::vector<std::string>& folders) {
  for (const std::string& name : namesIn(prefix + "/lib")) {
    if (name.substr(0, 6) == "python") {
      addPythonFolders(prefix + "/lib/" + name + "/site-packages", folders);
    }
  }
}

void splitPath(const char* variable, std::vector<std::string>& parts) {
  std::string_view left = variable ? variable : "";
  while (!left.empty()) {
    std::string_view part = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), part.size() + 1));
    if (!part.empty()) {
      parts.emplace_back(part);
    }
  }
}

}  // namespace

std::vector<NvrtcCandidate> nvrtcInFolder(const std::string& folder) {
  std::vector<NvrtcCandidate> found;
  std::vector<std::string> names = namesIn(folder);
  for (const std::string& name : names) {
    NvrtcCandidate candidate;
    if (!versionOf(name, "libnvrtc", &candidate.major, &candidate.minor)) {
      continue;
    }
    candidate.path = folder + "/" + name;
    for (const std::string& other : names) {
      int major = 0, minor = -1;
      if (!versionOf(other, "libnvrtc-builtins", &major, &minor) || major != candidate.major) {
        continue;
      }
      if (candidate.minor >= 0 && minor != candidate.minor && minor >= 0) {
        continue;
      }
      candidate.builtins = folder + "/" + other;
      if (candidate.minor < 0) {
        candidate.minor = minor;
      }
    }
    found.push_back(candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.major, a.minor) > std::tuple(b.major, b.minor);
  });
  return found;
}

std::vector<std::string> nvrtcFolders(const std::string& own_path) {
  std::vector<std::string> folders;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* prefix = systemVariable(variable)) {
      addEnvironment(prefix, folders);
      folders.push_back(std::string(prefix) + "/lib");
    }
  }
  std::vector<std::string> python_path;
  splitPath(systemVariable("PYTHONPATH"), python_path);
  for (const std::string& folder : python_path) {
    addPythonFolders(folder, folders);
  }
  // Installed as a wheel our library lies below site-packages; built from source, beside the
  // project's .venv.
  for (std::string folder = own_path; folder.rfind('/') != std::string::npos;) {
    folder.resize(folder.rfind('/'));
    if (folder.empty()) {
      break;
    }
    addPythonFolders(folder, folders);
    addEnvironment(folder + "/.venv", folders);
    addEnvironment(folder, folders);
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* toolkit = systemVariable(variable)) {
      folders.push_back(std::string(toolkit) + "/lib64");
    }
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  for (const std::string& name : namesIn("/usr/local")) {
    if (name.substr(0, 5) == "cuda-") {
      folders.push_back("/usr/local/" + name + "/lib64");
    }
  }
  return folders;
}

std::vector<std::string> libraryFolders(const std::string& wheel) {
  std::string own_path;
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&libraryFolders), &self) != 0 && self.dli_fname != nullptr) {
    own_path = self.dli_fname;
  }
  std::vector<std::string> folders;
  for (const std::string& folder : nvrtcFolders(own_path)) {
    folders.push_back(folder);
    const size_t wheels = folder.find("/nvidia/cuda_nvrtc/lib");
    if (wheels != std::string::npos) {
      folders.push_back(text(folder.substr(0, wheels), "/nvidia/", wheel, "/lib"));
    }
  }
  return folders;
}

std::vector<NvrtcCandidate> nvrtcCandidates(const std::vector<std::string>& folders) {
  std::vector<NvrtcCandidate> all;
  for (const std::string& folder : folders) {
    for (NvrtcCandidate& candidate : nvrtcInFolder(folder)) {
      all.push_back(std::move(candidate));
    }
  }
  for (int major : {14, 13, 12}) {
    all.push_back({text("libnvrtc.so.", major), "", major, -1});
  }
  all.push_back({"libnvrtc.so.11.2", "", 11, 2});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.major, a.minor) > std::tuple(b.major, b.minor);
  });
  return all;
}

}  // namespace nvfuser::cuda
