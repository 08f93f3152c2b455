#include <runtime/emulated/module.h>

#include <link.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include <codegen/snippets.h>
#include <runtime/host_compiler/cached_object.h>
#include <runtime/host_compiler/process.h>
#include <runtime/kernel_cache/process_cache.h>
#include <support/error.h>

namespace nvfuser::emulated {
namespace {

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The text with comments, string literals and preprocessor lines blanked, so that it can be
/// searched for words. Same length.
std::string blankComments(const std::string& text) {
  std::string out = text;
  auto blank = [&](size_t from, size_t to) {
    for (size_t i = from; i < to && i < out.size(); ++i) {
      if (out[i] != '\n') {
        out[i] = ' ';
      }
    }
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text.compare(at, 2, "//") == 0) {
      end = std::min(text.find('\n', at), text.size());
      blank(at, end);
    } else if (text.compare(at, 2, "/*") == 0) {
      end = text.find("*/", at + 2);
      end = end == std::string::npos ? text.size() : end + 2;
      blank(at, end);
    } else if (text[at] == '#') {
      do {
        end = std::min(text.find('\n', end), text.size() - 1) + 1;
      } while (end < text.size() && text[end - 2] == '\\');
      blank(at, end);
    } else if (text[at] == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      end = std::min(end + 1, text.size());
      blank(at, end);
    }
    at = end;
  }
  return out;
}

/// Next occurrence of a whole word.
size_t findWord(const std::string& text, std::string_view word, size_t from) {
  for (size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1)) {
    bool starts = at == 0 || !isWordChar(text[at - 1]);
    size_t end = at + word.size();
    if (starts && (end == text.size() || !isWordChar(text[end]))) {
      return at;
    }
  }
  return std::string::npos;
}

size_t skipSpace(const std::string& text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) {
    ++at;
  }
  return at;
}

/// Past the closing parenthesis of the one at `at`.
size_t skipParentheses(const std::string& text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') {
      ++depth;
    }
    if (text[at] == ')' && --depth == 0) {
      return at + 1;
    }
  }
  return at;
}

std::string trimmed(std::string_view line) {
  size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) {
    return {};
  }
  size_t last = line.find_last_not_of(" \t\r");
  return std::string(line.substr(first, last - first + 1));
}

std::string fileName(size_t text) { return nvfuser::text("kernel", text, ".cu"); }

/// `name` made unique within the module.
std::string symbolOf(size_t text, const std::string& name) {
  return nvfuser::text(name, "__", text);
}

std::vector<std::string> compileFlags(const HostCompiler& compiler) {
  if (compiler.is_zig) {
    userError("emulated CUDA: the compiler ", compiler.identity,
              " cannot build emulated kernels; install g++ or clang++, or set CXX");
  }
  // Level 1 keeps the accesses of the text; only the thread sanitizer's calls are wanted, not its
  // library.
  return {"-std=c++20",
          "-O1",
          "-g1",
          "-fsanitize=thread",
          "-ffp-contract=off",
          "-fno-math-errno",
          "-fno-builtin-atan",  // arctan in runtime/cpu/math.h says why
          "-fno-builtin-atanf",
          "-fno-exceptions",
          "-fno-rtti",
          "-fno-strict-aliasing",
          "-fno-stack-protector",
          "-fvisibility=hidden",
          "-w"};
}

}  // namespace

std::vector<std::string> kernelNames(const std::string& text) {
  static constexpr std::string_view kAttributes[] = {"__launch_bounds__", "__cluster_dims__",
                                                     "__maxnreg__",       "__block_size__",
                                                     "__align__",         "__attribute__"};
  std::vector<std::string> names;
  std::string plain = blankComments(text);
  for (size_t at = findWord(plain, "__global__", 0); at != std::string::npos;
       at = findWord(plain, "__global__", at + 1)) {
    for (size_t next = at + 10; next < plain.size();) {
      next = skipSpace(plain, next);
      size_t end = next;
      while (end < plain.size() && isWordChar(plain[end])) {
        ++end;
      }
      if (end == next) {
        break;  // not a function
      }
      std::string word = plain.substr(next, end - next);
      next = skipSpace(plain, end);
      if (next >= plain.size() || plain[next] != '(') {
        continue;
      }
      if (std::find(std::begin(kAttributes), std::end(kAttributes), word) !=
          std::end(kAttributes)) {
        next = skipParentheses(plain, next);
        continue;
      }
      if (std::find(names.begin(), names.end(), word) == names.end()) {
        names.push_back(word);
      }
      break;
    }
  }
  return names;
}

std::string rewriteDynamicShared(const std::string& text) {
  std::string out;
  std::string plain = blankComments(text);
  size_t copied = 0;
  for (size_t at = findWord(plain, "extern", 0); at != std::string::npos;
       at = findWord(plain, "extern", at + 1)) {
    size_t semicolon = plain.find(';', at);
    if (semicolon == std::string::npos) {
      break;
    }
    std::string declaration = plain.substr(at + 6, semicolon - at - 6);
    size_t shared = findWord(declaration, "__shared__", 0);
    size_t bracket = declaration.find('[');
    if (shared == std::string::npos || declaration.find_first_of("{(") < shared ||
        bracket == std::string::npos) {
      continue;
    }
    declaration.erase(shared, 10);
    for (std::string_view word : {"__align__", "alignas"}) {
      size_t align = findWord(declaration, word, 0);
      if (align != std::string::npos) {
        declaration.erase(align, skipParentheses(declaration, align) - align);
      }
    }
    bracket = declaration.find('[');
    size_t name_end = declaration.find_last_not_of(" \t\n", bracket - 1) + 1;
    size_t name_begin = name_end;
    while (name_begin > 0 && isWordChar(declaration[name_begin - 1])) {
      --name_begin;
    }
    std::string name = declaration.substr(name_begin, name_end - name_begin);
    std::string type = trimmed(declaration.substr(0, name_begin));
    out += text.substr(copied, at - copied);
    out += nvfuser::text(type, "* const ", name, " = static_cast<", type,
                         "*>(__nvf_dynamic_shared())");
    out.append(static_cast<size_t>(std::count(declaration.begin(), declaration.end(), '\n')), '\n');
    copied = semicolon;
  }
  out += text.substr(copied);
  return out;
}

Module::Module(std::span<const std::string> texts, bool cached, const KernelSource& like) {
  HostCompileRequest request;
  request.deadline_s = like.deadline_s;
  request.unwanted = like.unwanted;
  request.text += "#line 1 \"hook_table.h\"\n";
  request.text += runtimeFile("emulated/hook_table.h");
  request.text += "\n#line 1 \"prelude.h\"\n";
  request.text += runtimeFile("emulated/prelude.h");
  for (size_t i = 0; i < texts.size(); ++i) {
    ModuleText text{texts[i], kernelNames(texts[i])};
    request.text += nvfuser::text("\nnamespace nvf_text_", i, " {\nNVF_USE_GLOBAL_FUNCTIONS\n");
    for (const std::string& name : text.entries) {
      request.text += nvfuser::text("#define ", name, " ", symbolOf(i, name), "\n");
    }
    request.text +=
        nvfuser::text("#line 1 \"", fileName(i), "\"\n", rewriteDynamicShared(text.text), "\n");
    for (const std::string& name : text.entries) {
      request.text += nvfuser::text("#undef ", name, "\n");
    }
    for (const std::string& name : text.entries) {
      request.text += nvfuser::text("NVF_ENTRY(", symbolOf(i, name), ")\n");
    }
    request.text += "}\n";
    texts_.push_back(std::move(text));
  }
  const HostCompiler& compiler = hostCompiler();
  request.flags = compileFlags(compiler);
  request.flags.insert(request.flags.end(), like.options.begin(), like.options.end());
  CachedObject made = cachedObject(compiler, request, cached ? processDiskCache() : nullptr);
  bytes_ = std::move(made.bytes);
  object_ = std::move(made.object);
  compile_ms_ = made.compile_ms;
  from_cache_ = made.from_cache;
  attach_ = reinterpret_cast<NvfAttach*>(object_.symbol("__nvf_attach"));
  findImage(reinterpret_cast<const void*>(attach_));
}

const NvfKernelEntry& Module::entry(size_t text, const std::string& name) const {
  const std::vector<std::string>& entries = texts_[text].entries;
  if (std::find(entries.begin(), entries.end(), name) == entries.end()) {
    userError("emulated CUDA: the text has no kernel '", name, "'; it has ",
              entries.empty() ? "none" : join(entries, ", "));
  }
  return *static_cast<const NvfKernelEntry*>(object_.symbol("__nvf_entry_" + symbolOf(text, name)));
}

namespace {
struct ImageSearch {
  uintptr_t inside;
  uintptr_t first = 0;
  size_t bytes = 0;
  size_t tls_bytes = 0;
  void* tls = nullptr;
};

int visitImage(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<ImageSearch*>(data);
  uintptr_t first = UINTPTR_MAX, last = 0;
  size_t tls_bytes = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_TLS) {
      tls_bytes = header.p_memsz;
    }
    if (header.p_type != PT_LOAD) {
      continue;
    }
    first = std::min<uintptr_t>(first, info->dlpi_addr + header.p_vaddr);
    last = std::max<uintptr_t>(last, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  if (search->inside < first || search->inside >= last) {
    return 0;
  }
  search->first = first;
  search->bytes = last - first;
  search->tls_bytes = tls_bytes;
  search->tls = info->dlpi_tls_data;
  return 1;
}
}  // namespace

void Module::findImage(const void* inside) {
  ImageSearch search{.inside = reinterpret_cast<uintptr_t>(inside)};
  dl_iterate_phdr(visitImage, &search);
  check(search.bytes > 0, "a loaded module is in the list of loaded objects");
  image_ = reinterpret_cast<const char*>(search.first);
  image_bytes_ = search.bytes;
  shared_bytes_ = search.tls_bytes > 0 ? search.tls_bytes - 1 : 0;  // one byte is the prelude's
}

Module::Attached Module::attach(const NvfHooks& hooks) const {
  Attached attached{};
  void* anchor =
      nullptr;  // asking for its address makes this thread's copy of the shared variables
  attach_(&hooks, &attached.current, &anchor);
  ImageSearch search{.inside = reinterpret_cast<uintptr_t>(attach_)};
  dl_iterate_phdr(visitImage, &search);
  attached.shared = static_cast<char*>(search.tls);
  attached.shared_bytes = search.tls ? search.tls_bytes : 0;
  return attached;
}

bool Module::holds(const void* address) const {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(image_) < image_bytes_;
}

std::string Module::lineOf(size_t text, int line) const {
  if (text >= texts_.size() || line <= 0) {
    return {};
  }
  std::string_view left = texts_[text].text;
  for (int at = 1; at < line; ++at) {
    size_t end = left.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    left.remove_prefix(end + 1);
  }
  return trimmed(left.substr(0, left.find('\n')));
}

std::vector<CodeLine> Module::locate(std::span<const void* const> addresses) const {
  std::vector<CodeLine> lines(addresses.size());
  std::string tool = findExecutable("addr2line");
  if (tool.empty() || addresses.empty()) {
    return lines;
  }
  TemporaryDirectory folder;
  folder.write("kernel.so", bytes_);
  ProcessRequest request;
  request.working_directory = folder.path();
  request.argv = {tool, "-a", "-i", "-e", "kernel.so"};
  for (const void* address : addresses) {
    // One byte back: the call, not what follows it.
    auto offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(image_) - 1;
    char hex[32];
    std::snprintf(hex, sizeof hex, "0x%zx", static_cast<size_t>(offset));
    request.argv.emplace_back(hex);
  }
  ProcessResult result = runProcess(request);
  // Per address: one line "0x…", then one line "file:line" for each inlined call, innermost first.
  size_t index = 0;
  bool any = false;
  std::string_view left = result.output;
  while (!left.empty()) {
    size_t end = std::min(left.find('\n'), left.size());
    std::string_view row = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (row.substr(0, 2) == "0x") {
      index = any ? index + 1 : 0;
      any = true;
      continue;
    }
    size_t file = row.find("kernel");
    size_t extension = row.find(".cu:");
    if (!any || index >= lines.size() || file == std::string_view::npos ||
        extension == std::string_view::npos) {
      continue;
    }
    auto text_index = static_cast<size_t>(std::atoi(std::string(row.substr(file + 6)).c_str()));
    int number = std::atoi(std::string(row.substr(extension + 4)).c_str());
    CodeLine& line = lines[index];
    if (line.line == 0) {
      line.line = number;
      line.text = lineOf(text_index, number);
    } else {
      line.outer_line = number;
      line.outer_text = lineOf(text_index, number);
    }
  }
  return lines;
}

}  // namespace nvfuser::emulated
