/// CUDA text made into code of this process: prelude + text → host compiler → loaded object, with a
/// way back from an address of the code to a line of the text.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <runtime/device.h>
#include <runtime/emulated/hook_table.h>
#include <runtime/host_compiler/host_compiler.h>

namespace nvfuser::emulated {

/// Where an address of a kernel's code comes from.
struct CodeLine {
  int line = 0;      ///< innermost line of the text, from 1; 0 unknown
  std::string text;  ///< that line, trimmed
  int outer_line =
      0;  ///< line in the kernel itself, when the innermost belongs to a function inlined there
  std::string outer_text;
};

/// One text of a module. Several may travel together; each is then in a namespace of its own.
struct ModuleText {
  std::string text;
  std::vector<std::string> entries;  ///< names of its kernels
};

/// Immutable once made.
class Module {
 public:
  /// `CompileError` when the host compiler refuses the text.
  /// `cached`: whether the object may come from the disk, and go there. `like`: one of the texts'
  /// sources, for what the compiler may take (its deadline; whether it is wanted).
  Module(std::span<const std::string> texts, bool cached, const KernelSource& like);

  /// The kernel `entry` of text number `text`; `UserError` listing the kernels there are, when
  /// there is none.
  const NvfKernelEntry& entry(size_t text, const std::string& entry) const;

  /// Tells the code whom to call and where its shared variables live, on this thread. To be called
  /// before a launch.
  struct Attached {
    NvfThread const** current;  ///< the code reads its thread from here
    char* shared;               ///< the fixed-size shared variables of this host thread
    size_t shared_bytes;
  };
  Attached attach(const NvfHooks& hooks) const;

  /// Whether the address is in the code or constants of the module.
  bool holds(const void* address) const;
  /// Lines for addresses after calls. Empty lines when there is no `addr2line`.
  std::vector<CodeLine> locate(std::span<const void* const> addresses) const;
  /// Line `line` of text number `text`, trimmed.
  std::string lineOf(size_t text, int line) const;

  /// 0 from the disk cache.
  double compileMilliseconds() const { return compile_ms_; }
  bool fromCache() const { return from_cache_; }
  size_t sharedBytes() const { return shared_bytes_; }

 private:
  void findImage(const void* inside);

  std::vector<ModuleText> texts_;
  std::string bytes_;
  SharedObject object_;
  NvfAttach* attach_ = nullptr;
  const char* image_ = nullptr;
  size_t image_bytes_ = 0;
  size_t shared_bytes_ = 0;
  double compile_ms_ = 0;
  bool from_cache_ = false;
};

/// Names of the `__global__` functions of a text, in order.
std::vector<std::string> kernelNames(const std::string& text);

/// `extern __shared__ T name[];` becomes a pointer to the launch's dynamic shared memory. Lines
/// stay where they are.
std::string rewriteDynamicShared(const std::string& text);

}  // namespace nvfuser::emulated
