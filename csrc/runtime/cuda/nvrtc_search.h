/// Finding NVRTC among files. Apart from `nvrtc.cpp` so that tests can look at made-up folders.
#pragma once

#include <string>
#include <vector>

namespace nvfuser::cuda {

/// A file that looks like NVRTC.
struct NvrtcCandidate {
  std::string path;      ///< or a bare name for the loader's path
  std::string builtins;  ///< full path of its builtins library; empty: leave it to the loader
  int major = 0;
  int minor = -1;  ///< −1 unknown until it is opened
};

/// The libraries in one folder, newest first.
std::vector<NvrtcCandidate> nvrtcInFolder(const std::string& folder);

/// The folders worth a look, in order of preference, existing or not. `own_path` is the path of our
/// own library.
std::vector<std::string> nvrtcFolders(const std::string& own_path);

/// The same for another library of NVIDIA's, beside our own, and its wheel nvidia/`wheel`.
std::vector<std::string> libraryFolders(const std::string& wheel);

/// All candidates of those folders and of the loader's path, newest first; the order of the folders
/// decides between equal versions.
std::vector<NvrtcCandidate> nvrtcCandidates(const std::vector<std::string>& folders);

}  // namespace nvfuser::cuda
