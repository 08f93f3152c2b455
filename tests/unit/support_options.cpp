// Reading options, making copies that differ, and where dumps go.
#include <doctest/doctest.h>

#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <options.h>
#include <stdlib.h>
#include <support/dump.h>

namespace nvfuser {
namespace {

using Variables = std::map<std::string, std::string>;

Options readFrom(const Variables& variables, std::string* warnings = nullptr) {
  return Options::read(
      [&](const char* name) -> const char* {
        auto found = variables.find(name);
        return found != variables.end() ? found->second.c_str() : nullptr;
      },
      warnings);
}

TEST_CASE("options: the table names each option once, with a meaning") {
  std::set<std::pair<OptionKind, std::string_view>> seen;
  for (const OptionInfo& row : optionsTable()) {
    CAPTURE(row.name);
    CHECK(seen.insert({row.kind, row.name}).second);
    CHECK(row.meaning.size() > 10);
  }
  CHECK(seen.size() == optionsTable().size());
  CHECK(seen.size() > 50);
}

TEST_CASE("options: nothing is set by default") {
  const Options options;
  CHECK_FALSE(options.dumps(DebugDumpOption::CudaKernel));
  CHECK_FALSE(options.isDisabled(DisableOption::Fma));
  CHECK_FALSE(options.isEnabled(EnableOption::Complex));
  CHECK(options.text(Setting::DumpDir).empty());
  CHECK(options.text(Setting::EmulationOrder) == "forward");
  CHECK(options.number(Setting::MaxRegCount) == 0);
  CHECK(options.codeKey().empty());
}

TEST_CASE("options: both spellings are read") {
  for (const std::string prefix : {"NVFUSER_", "PYTORCH_NVFUSER_"}) {
    CAPTURE(prefix);
    std::string warnings;
    const Options options =
        readFrom({{prefix + "DUMP", "cuda_kernel, lower_verbose(allocate, hoist-indices) ,"},
                  {prefix + "DISABLE", "fma,fallback"},
                  {prefix + "ENABLE", "warn_register_spill(64)"},
                  {prefix + "MAX_REG_COUNT", "96"}},
                 &warnings);
    CHECK(warnings.empty());
    CHECK(options.dumps(DebugDumpOption::CudaKernel));
    CHECK(options.dumps(DebugDumpOption::LowerVerbose));
    CHECK(options.arguments(DebugDumpOption::LowerVerbose) ==
          std::vector<std::string>{"allocate", "hoist-indices"});
    CHECK(options.arguments(DebugDumpOption::CudaKernel).empty());
    CHECK_FALSE(options.dumps(DebugDumpOption::KernelIr));
    CHECK(options.isDisabled(DisableOption::Fma));
    CHECK(options.isDisabled(DisableOption::Fallback));
    CHECK_FALSE(options.isDisabled(DisableOption::IndexHoist));
    CHECK(options.arguments(EnableOption::WarnRegisterSpill) == std::vector<std::string>{"64"});
    CHECK(options.number(Setting::MaxRegCount) == 96);
  }
  const Options both =
      readFrom({{"NVFUSER_DISABLE", "fma"}, {"PYTORCH_NVFUSER_DISABLE", "index_hoist"}});
  CHECK(both.isDisabled(DisableOption::Fma));
  CHECK(both.isDisabled(DisableOption::IndexHoist));
  CHECK(readFrom({{"PYTORCH_NVFUSER_DISABLE_FALLBACK", "1"}}).isDisabled(DisableOption::Fallback));
}

TEST_CASE("options: what is wrong in variables is said at once, and the rest counts") {
  std::string warnings;
  const Options options = readFrom({{"NVFUSER_DUMP", "cuda_kernels,kernel_ir,ptxx"},
                                    {"NVFUSER_DISABLE", "fmad"},
                                    {"NVFUSER_MAX_REG_COUNT", "many"},
                                    {"NVFUSER_VERIFY", "2"},
                                    {"NVFUSER_EMULATION_ORDER", "random:x"}},
                                   &warnings);
  CHECK(options.dumps(DebugDumpOption::KernelIr));
  CHECK(options.number(Setting::MaxRegCount) == 0);
  CHECK_FALSE(options.flag(Setting::Verify));
  CHECK(options.text(Setting::EmulationOrder) == "forward");
  auto says = [&](const char* words) {
    CHECK_MESSAGE(warnings.find(words) != std::string::npos, words, "\n", warnings);
  };
  says("NVFUSER_DUMP: there is no 'cuda_kernels', 'ptxx'; known are python_definition, ");
  says("bank_conflict, cuda_kernel, cuda_full");
  says("NVFUSER_DISABLE: there is no 'fmad'; known are fma, index_hoist, predicate_elimination");
  says("NVFUSER_MAX_REG_COUNT: 'many' does not fit, needed is an integer, 0…255");
  says("NVFUSER_VERIFY: '2' does not fit, needed is 0 or 1");
  says("NVFUSER_EMULATION_ORDER: 'random:x' does not fit");
}

TEST_CASE("options: a changed copy leaves the original alone") {
  const Options plain;
  const Options changed =
      plain.dump("kernel_ir").disable("index_hoist,fma").enable("kernel_debug").set("VERIFY", "1");
  CHECK(plain.codeKey().empty());
  CHECK_FALSE(plain.dumps(DebugDumpOption::KernelIr));
  CHECK(changed.dumps(DebugDumpOption::KernelIr));
  CHECK(changed.flag(Setting::Verify));
  CHECK(changed.features() == "enable=kernel_debug disable=fma,index_hoist");
  // Order of naming does not matter, and what shows no difference in the code is no part of it.
  CHECK(plain.disable("fma").disable("index_hoist").enable("kernel_debug").codeKey() ==
        changed.codeKey());
  CHECK(plain.set("SKIP_PASS", "hoist-indices").codeKey() == "SKIP_PASS=hoist-indices");
  CHECK(plain.disable("fallback").codeKey().empty());
}

TEST_CASE("options: guards nest") {
  const Options before = Options::current();
  {
    OptionsGuard outer(before.disable("fma"));
    CHECK(Options::current().isDisabled(DisableOption::Fma));
    {
      OptionsGuard inner(Options().disable("index_hoist"));
      CHECK_FALSE(Options::current().isDisabled(DisableOption::Fma));
      CHECK(Options::current().isDisabled(DisableOption::IndexHoist));
    }
    CHECK(Options::current().isDisabled(DisableOption::Fma));
  }
  CHECK(Options::current().codeKey() == before.codeKey());
}

TEST_CASE("options: dumps go to a sink, or to numbered files") {
  std::string shown;
  auto sink = std::make_shared<DumpSink>([&](std::string_view part) { shown += part; });
  const Options options = Options().to(sink);
  dump(options, "nvfuser_0", "kernel_ir", "a kernel");
  CHECK(shown == "---- nvfuser_0: kernel_ir ----\na kernel\n");

  char pattern[] = "/tmp/nvfuser-options-XXXXXX";
  REQUIRE(mkdtemp(pattern) != nullptr);
  const std::string folder = std::string(pattern) + "/dumps";
  const Options to_files = options.set("DUMP_DIR", folder);
  dump(to_files, "nvfuser_0", "lower_verbose allocate", "first", "ir");
  dump(to_files, "nvfuser_0", "cuda_kernel", "second\n", "cu");
  CHECK(shown.find("first") == std::string::npos);
  for (auto [name, text] : {std::pair{"/001-nvfuser_0-lower_verbose-allocate.ir", "first\n"},
                            std::pair{"/002-nvfuser_0-cuda_kernel.cu", "second\n"}}) {
    std::ifstream file(folder + name);
    std::ostringstream contents;
    contents << file.rdbuf();
    CHECK_MESSAGE(contents.str() == text, name);
    unlink((folder + name).c_str());
  }
  rmdir(folder.c_str());
  rmdir(pattern);
  // A folder alone asks for one file for each stage.
  CHECK(to_files.dumps(DebugDumpOption::LowerVerbose));
  CHECK(to_files.dumps(DebugDumpOption::CudaToFile));
  CHECK_FALSE(to_files.dumps(DebugDumpOption::LaunchParam));
  CHECK_FALSE(to_files.dump("launch_param").dumps(DebugDumpOption::CudaToFile));
}

}  // namespace
}  // namespace nvfuser
