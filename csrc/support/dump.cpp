#include <support/dump.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <support/error.h>

namespace nvfuser {

DumpSink::DumpSink()
    : DumpSink([](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
      }) {}

DumpSink::DumpSink(Write write) : write_(std::move(write)) {}

void DumpSink::show(std::string_view text) {
  std::scoped_lock lock(mutex_);
  write_(text);
}

std::string DumpSink::file(const std::string& folder, std::string_view name,
                           std::string_view body) {
  std::scoped_lock lock(mutex_);
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    userError("dump: the folder ", folder, " cannot be made: ", std::strerror(errno));
  }
  const std::string digits = text(next_++);
  std::string path = text(folder, "/", std::string(3 - std::min<size_t>(digits.size(), 3), '0'),
                          digits, "-", name);
  std::FILE* out = std::fopen(path.c_str(), "we");
  if (out == nullptr) {
    userError("dump: ", path, " cannot be written: ", std::strerror(errno));
  }
  const bool written = std::fwrite(body.data(), 1, body.size(), out) == body.size();
  if (std::fclose(out) != 0 || !written) {
    userError("dump: ", path, " could not be written whole");
  }
  return path;
}

void dump(const Options& options, std::string_view subject, std::string_view what,
          std::string_view body, std::string_view extension) {
  std::string ended(body);
  if (ended.empty() || ended.back() != '\n') {
    ended += '\n';
  }
  if (const std::string& folder = options.text(Setting::DumpDir); !folder.empty()) {
    std::string name = text(subject, "-", what, ".", extension);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '/' || c == ' ' || c == ':'; }, '-');
    options.sink().file(folder, name, ended);
    return;
  }
  options.sink().show(text("---- ", subject, ": ", what, " ----\n", ended));
}

void warn(std::string_view message) {
  const std::string line = text("nvfuser: ", message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace nvfuser
