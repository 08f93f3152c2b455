/// A golden test of one pass, one fact a file, all of it text:
///
///   # a constant wins                      what the file shows
///   pass substitute-extents
///   for cpu                                where the target matters (lowering)
///
///   Inputs: …                              the Fusion, as `Fusion::toString` prints it
///   ---- becomes
///   …                                      what the pass leaves, or "the same"
///
/// NVFUSER_UPDATE_GOLDEN=1 writes both texts anew. A new test is a file with the lines above the
/// dashes, whose numbers of nodes may be any.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <golden_file.h>
#include <ir/fusion.h>

namespace nvfuser {

struct PassFile {
  std::string title;
  std::string pass;
  std::string target;
  std::string fusion;  ///< text of what the pass is given

  /// Of the text before the dashes.
  static PassFile of(const std::string& text, const std::string& path) {
    std::istringstream lines(text.substr(0, text.find("---- becomes\n")));
    PassFile file;
    std::string line;
    while (std::getline(lines, line)) {
      if (line.starts_with("# ") && file.fusion.empty()) {
        file.title = line.substr(2);
      } else if (line.starts_with("pass ") && file.fusion.empty()) {
        file.pass = line.substr(5);
      } else if (line.starts_with("for ") && file.fusion.empty()) {
        file.target = line.substr(4);
      } else if (!(line.empty() && file.fusion.empty())) {
        file.fusion += line + "\n";
      }
    }
    while (file.fusion.ends_with("\n\n")) {
      file.fusion.pop_back();
    }
    CHECK_MESSAGE((!file.title.empty() && !file.pass.empty() && !file.fusion.empty()), path,
                  " lacks a title, a pass or a fusion");
    return file;
  }

  std::string toString(const std::string& before, const std::string& after) const {
    return "# " + title + "\npass " + pass + "\n" +
           (target.empty() ? std::string() : "for " + target + "\n") + "\n" + before +
           "\n---- becomes\n" + (after == before ? std::string("the same\n") : after);
  }
};

/// What a pass makes of a Fusion, as text.
using RunPass = std::function<std::string(const PassFile& file, Fusion& fusion)>;

/// Runs the files below a folder of tests/golden, in the order of their names; how many there are
/// for each pass.
inline std::map<std::string, int> checkPassFiles(const std::string& folder, const RunPass& run) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  const std::string root = std::string(NVFUSER_TESTS_DIR) + "/golden/" + folder;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".txt") {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::map<std::string, int> counts;
  for (const std::string& path : paths) {
    CAPTURE(path);
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    const PassFile file = PassFile::of(text.str(), path);
    ++counts[file.pass];
    try {
      const auto fusion = Fusion::fromText(file.fusion);
      const std::string before = fusion->toString();
      const std::string after = run(file, *fusion);
      checkGoldenFile(path.substr(std::string(NVFUSER_TESTS_DIR).size() + 1),
                      file.toString(before, after));
    } catch (const std::exception& error) {
      FAIL_CHECK(path, ": ", std::string(error.what()));
    }
  }
  return counts;
}

}  // namespace nvfuser
