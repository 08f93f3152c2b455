#include <runtime/host_compiler/host_compiler.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <runtime/cannot_compile.h>
#include <runtime/host_compiler/process.h>
#include <runtime/kernel_cache/private_folder.h>
#include <support/cancellation.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser {
namespace {

constexpr double kProbeDeadlineSeconds = 20;  // a first `python3 -m ziglang` unpacks itself

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t", at)) != std::string_view::npos) {
    size_t end = std::min(text.find_first_of(" \t", at), text.size());
    result.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return result;
}

/// Asks a candidate what it is. False, with a line in `why`, when it does not answer like a
/// compiler.
bool probe(std::vector<std::string> command, HostCompiler& found, std::string& why) {
  std::string shown = join(command, " ");
  std::string path = findExecutable(command[0]);
  if (path.empty()) {
    why += text("\n  note: ", shown, ": not found");
    return false;
  }
  command[0] = path;
  ProcessRequest request;
  request.argv = command;
  request.argv.emplace_back("--version");
  request.deadline_s = kProbeDeadlineSeconds;
  ProcessResult result = runProcess(request);
  std::string first = result.output.substr(0, result.output.find('\n'));
  if (!result.started || result.timed_out || result.exit_code > 0 || first.empty()) {
    why += text("\n  note: ", shown, ": ", result.timed_out ? "did not answer --version" : first);
    return false;
  }
  found.family = result.output.find("clang") != std::string::npos ? HostCompiler::Family::Clang
                                                                  : HostCompiler::Family::Gnu;
  found.identity = join(command, " ") + " | " + first;
  for (const std::string& word : command) {
    found.is_zig = found.is_zig || word.substr(word.rfind('/') + 1).starts_with("zig");
  }
  found.command = std::move(command);
  return true;
}

struct ProcessCompiler {
  HostCompiler compiler;
  std::string why;
};

const ProcessCompiler& processCompiler() {
  static const ProcessCompiler* found = [] {
    auto* result = new ProcessCompiler;
    const char* cxx = systemVariable("CXX");
    result->compiler = findHostCompiler(cxx ? cxx : "", &result->why);
    return result;
  }();
  return *found;
}

/// The path of descriptor `fd` under a spelling never used before: glibc recognises loaded objects
/// by the spelling of their path, so that a descriptor number used again would give the old object.
/// The bits of a counter become "/." or "/", which the kernel reads as nothing.
std::string uniqueDescriptorPath(int fd) {
  static std::atomic<unsigned> counter{0};
  std::string path = "/proc/self/fd";
  for (unsigned bits = ++counter; bits != 0; bits >>= 1) {
    path += (bits & 1) ? "/." : "/";
  }
  return text(path, "/", fd);
}

std::string commandLine(const std::vector<std::string>& argv) { return join(argv, " "); }

}  // namespace

HostCompiler findHostCompiler(const std::string& cxx, std::string* why) {
  HostCompiler found;
  std::string tried;
  if (!cxx.empty()) {
    // A path with spaces is one word if it can be executed as it stands.
    std::vector<std::string> command =
        findExecutable(cxx).empty() ? words(cxx) : std::vector<std::string>{cxx};
    if (!command.empty() && probe(command, found, tried)) {
      return found;
    }
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (probe({name}, found, tried)) {
      return found;
    }
  }
  if (probe({"python3", "-m", "ziglang", "c++"}, found, tried)) {
    return found;
  }
  if (why) {
    *why = tried;
  }
  return {};
}

const HostCompiler& hostCompiler() {
  const ProcessCompiler& found = processCompiler();
  if (found.compiler.command.empty()) {
    throw CannotCompile(
        "host compiler: no C++ compiler was found; install g++ or clang++, or the Python package "
        "'ziglang', or set CXX to a compiler",
        found.why);
  }
  return found.compiler;
}

bool hasHostCompiler() { return !processCompiler().compiler.command.empty(); }

std::vector<std::string> hostFlags(const HostCompiler& compiler) {
  std::vector<std::string> flags = {
      "-std=c++20",
      "-O2",      // -O3 compiles longer, for kernels about as fast (docs/performance.md)
      "-fwrapv",  // text of integers counts on it (ops/table/pointwise.h)
#if defined(__aarch64__)
      "-mcpu=native",
#else
      "-march=native",
#endif
      "-ffp-contract=off",     // a product is one number for all its readers (docs/numerics.md)
      "-fno-strict-aliasing",  // tiles are turned as integers, vectors read what scalars wrote
      "-fno-math-errno",
      "-fno-trapping-math",
      "-fno-exceptions",
      "-fno-rtti",
      "-fno-asynchronous-unwind-tables",
      "-w",
  };
  if (compiler.family == HostCompiler::Family::Gnu) {
    flags.emplace_back("-fno-semantic-interposition");
    flags.emplace_back("-mprefer-vector-width=512");
    flags.emplace_back("-Wno-psabi");  // how vectors are passed matters to nobody else
  }
  return flags;
}

std::string cpuIdentity() {
  static const std::string* identity = [] {
    auto* result = new std::string;
    // The first processor's paragraph: model and features. Later lines differ by clock and core
    // number only.
    if (FILE* file = std::fopen("/proc/cpuinfo", "re")) {
      char line[8192];
      while (std::fgets(line, sizeof line, file) && line[0] != '\n') {
        for (const char* name : {"vendor_id", "cpu family", "model", "stepping", "flags",
                                 "Features", "CPU implementer", "CPU part"}) {
          if (std::strncmp(line, name, std::strlen(name)) == 0) {
            *result += line;
            break;
          }
        }
      }
      std::fclose(file);
    }
    return result;
  }();
  return *identity;
}

namespace {

[[noreturn]] void hasNoRoom(const std::string& log) {
  throw CannotCompile(
      "host compiler: there is no room for its files; make some in the temporary folder, or set "
      "TMPDIR to another one",
      log);
}

/// A temporary folder with the text as kernel.cpp.
std::unique_ptr<TemporaryDirectory> folderWith(std::string_view text) {
  try {
    auto folder = std::make_unique<TemporaryDirectory>();
    folder->write("kernel.cpp", text);
    return folder;
  } catch (const UserError& error) {
    hasNoRoom(error.what());
  }
}

/// Whether a compiler failed since it could not write: it, its assembler and its linker say so in
/// the words of the C library, or that of them one was stopped by the system at a file's limit.
bool foundNoRoom(const ProcessResult& result) {
  if (result.exit_code == 128 + SIGXFSZ) {
    return true;
  }
  const std::string_view words[] = {"No space left on device", "Disk quota exceeded",
                                    "File too large", "File size limit exceeded",
                                    "Read-only file system"};
  return std::any_of(std::begin(words), std::end(words), [&](std::string_view said) {
    return result.output.find(said) != std::string::npos;
  });
}

}  // namespace

std::string compileHostText(const HostCompiler& compiler, const HostCompileRequest& request,
                            std::string* warnings) {
  const std::unique_ptr<TemporaryDirectory> folder = folderWith(request.text);
  ProcessRequest process;
  process.argv = compiler.command;
  process.argv.insert(process.argv.end(), request.flags.begin(), request.flags.end());
  process.argv.insert(process.argv.end(), {"-shared", "-fPIC", "-o", "kernel.so", "kernel.cpp"});
  // No start files and no standard library: linking takes a quarter of the time, and zig need not
  // build its own first. The compiler's own helpers (libgcc) stay.
  process.argv.insert(process.argv.end(), {"-pipe", "-nostdlib"});
  process.argv.emplace_back(compiler.is_zig ? "-fno-sanitize=undefined" : "-lgcc");
  process.working_directory = folder->path();
  process.deadline_s = request.deadline_s;
  process.unwanted = request.unwanted;
  ProcessResult result = runProcess(process);
  if (!result.started) {
    throw CannotCompile(text("host compiler: ", compiler.identity, " could not be started"),
                        result.output);
  }
  if (result.stopped) {
    throw Cancelled();
  }
  if (result.timed_out) {
    throw CompileError(text("host compiler: ", commandLine(process.argv), " was stopped after ",
                            request.deadline_s, " s without a result (NVFUSER_COMPILE_SECONDS)"),
                       result.output);
  }
  std::string bytes;
  if (result.exit_code > 0 || !folder->read("kernel.so", &bytes) || bytes.empty()) {
    if (foundNoRoom(result)) {
      hasNoRoom(result.output);
    }
    throw CompileError(text("host compiler: ", commandLine(process.argv), " failed with exit code ",
                            result.exit_code),
                       result.output);
  }
  if (warnings) {
    *warnings = result.output;
  }
  return bytes;
}

void* SharedObject::symbol(const std::string& name) const {
  void* address = handle_ ? dlsym(handle_.get(), name.c_str()) : nullptr;
  check(address != nullptr, text("the compiled object defines '", name, "'"));
  return address;
}

SharedObject loadSharedObject(std::string_view bytes) {
  // Kernels are linked against nothing; what they call (expf, …) comes from the libraries of the
  // process.
  static void* libm = dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  static_cast<void>(libm);
  // Closed at the end: the mapping holds the memory.
  const OwnedDescriptor file(memfd_create("nvfuser-kernel", MFD_CLOEXEC));
  const int fd = file.get();
  if (!file) {
    throw CannotCompile(text("load of a compiled kernel: memfd_create: ", std::strerror(errno)),
                        "");
  }
  std::string_view left = bytes;
  while (!left.empty()) {
    ssize_t count = write(fd, left.data(), left.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      const int error = errno;
      throw CannotCompile(text("load of a compiled kernel: cannot write ", bytes.size(),
                               " bytes to memory: ", std::strerror(error)),
                          "");
    }
    left.remove_prefix(static_cast<size_t>(count));
  }
  void* handle = dlopen(uniqueDescriptorPath(fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string error;
  if (!handle) {
    error = dlerror();
  }
  if (!handle) {
    throw CompileError("load of a compiled kernel: the dynamic loader refused it", error);
  }
  SharedObject object;
  object.handle_ = std::shared_ptr<void>(handle, [](void* loaded) { dlclose(loaded); });
  return object;
}

SharedObject compileSharedObject(const HostCompileRequest& request) {
  return loadSharedObject(compileHostText(hostCompiler(), request));
}

}  // namespace nvfuser
