// What docs/architecture.md and docs/passes.md print is what the code prints: the text between
// `<!-- printed: NAME -->` and `<!-- end -->` is made here.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <codegen/generate.h>
#include <device_lower/lower.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <preseg_passes/pipeline.h>
#include <runtime/executor.h>
#include <runtime/validation.h>
#include <scheduler/utils.h>

using namespace nvfuser;

namespace {

using Blocks = std::map<std::string, std::string>;

std::string repositoryFile(const std::string& path) {
  return std::string(NVFUSER_TESTS_DIR) + "/../" + path;
}

std::string readFile(const std::string& path) {
  std::ifstream file(repositoryFile(path));
  REQUIRE_MESSAGE(file, path, " can be read");
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

/// No blanks at the ends of lines, one line break at the end.
std::string tidy(const std::string& printed) {
  std::string out;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  const size_t end = out.find_last_not_of('\n');
  return end == std::string::npos ? std::string() : out.substr(0, end + 1) + "\n";
}

std::string fenced(const std::string& language, const std::string& printed) {
  return "```" + language + "\n" + tidy(printed) + "```\n";
}

/// Compares the page's printed blocks with `blocks`; each must be on the page.
void checkPage(const std::string& path, const Blocks& blocks) {
  const std::string page = readFile(path);
  const std::string begin_mark = "<!-- printed: ";
  const std::string end_mark = "<!-- end -->";
  std::string wanted;
  size_t at = 0;
  size_t found = 0;
  for (size_t begin = page.find(begin_mark); begin != std::string::npos;
       begin = page.find(begin_mark, at)) {
    const size_t name_at = begin + begin_mark.size();
    const size_t name_end = page.find(" -->\n", name_at);
    const size_t end = page.find(end_mark, begin);
    const std::string name = page.substr(name_at, name_end - name_at);
    REQUIRE_MESSAGE(end != std::string::npos, path, ": block \"", name, "\" has an end");
    REQUIRE_MESSAGE(blocks.count(name) == 1, path, ": block \"", name, "\" is printed by no test");
    wanted += page.substr(at, name_end + 5 - at) + "\n" + blocks.at(name) + "\n";
    at = end;
    ++found;
  }
  wanted += page.substr(at);
  CHECK_MESSAGE(found == blocks.size(), path, " shows ", found, " of ", blocks.size(), " blocks");
  if (std::getenv("NVFUSER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(repositoryFile(path)) << wanted;
    return;
  }
  CHECK_MESSAGE(page == wanted, path,
                " does not show what the code prints; if the code is right, rewrite it: "
                "NVFUSER_UPDATE_GOLDEN=1 build/bin/nvfuser_test_golden -tc='docs*'. It should "
                "read:\n",
                wanted);
}

/// The page's kernel: each row divided by its sum.
void defineRowShares(Fusion& fusion) {
  FusionGuard guard(&fusion);
  // docs: define
  TensorView* x = makeContigTensor(2);
  fusion.addInput(x);
  TensorView* total = sum(x, {1});
  TensorView* share = div(x, broadcast(total, {false, true}));
  fusion.addOutput(share);
  // docs: end
}

void scheduleRowShares(Fusion& fusion) {
  FusionGuard guard(&fusion);
  auto* share = fusion.outputs()[0]->as<TensorView>();
  TensorView* total = nullptr;
  for (TensorView* tv : fusion.allTvs()) {
    total = tv->hasReduction() ? tv : total;
  }
  // docs: schedule
  share->split(1, 128);
  TransformPropagator propagator(share);
  MaxLogicalDomainInfoSpanningTree(share).traverse(&propagator);
  total->rFactor({1});
  share->axis(0)->parallelize(ParallelType::BIDx);
  share->axis(2)->parallelize(ParallelType::TIDx);
  scheduler_utils::parallelizeAllLike(share);
  inlineMost();
  // docs: end
}

/// The lines of this file between `// docs: NAME` and `// docs: end`.
std::string programLines(const std::string& name) {
  const std::string source = readFile("tests/golden/architecture.cpp");
  const std::string mark = "  // docs: " + name + "\n";
  const size_t begin = source.find(mark) + mark.size();
  std::istringstream lines(source.substr(begin, source.find("  // docs: end", begin) - begin));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    out += line.substr(2) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("docs: architecture.md follows a kernel as it is") {
  Fusion fusion;
  defineRowShares(fusion);
  Blocks blocks;
  blocks["program"] = fenced("cpp", programLines("define"));
  blocks["fusion"] = fenced("text", fusion.mathString());
  scheduleRowShares(fusion);
  blocks["schedule"] = fenced("cpp", programLines("schedule"));
  blocks["scheduled fusion"] = fenced("text", fusion.transformsString());

  LowerOptions options;
  options.index_type = DataType::Int32;
  options.compute_capability = 90;
  Lowering cuda =
      lower(&fusion, options, [&](const LoweringPass& pass, const Lowering& state, double) {
        for (std::string_view shown :
             {"map-axes", "build-loop-tree", "build-statements", "collect-parameters"}) {
          if (pass.name == shown) {
            blocks[text("after ", shown)] = fenced("text", printLowering(state));
          }
        }
      });
  const GeneratedKernel generated = generateCuda(cuda.kernel, "row_shares");
  blocks["cuda text"] = fenced("cuda", generated.ownText());
  blocks["snippets"] = fenced("text", join(generated.snippets, "\n"));

  options.target = LowerTarget::Cpu;
  options.index_type = DataType::Int;
  options.compute_capability = 0;
  Lowering cpu = lower(&fusion, options);
  cpu.kernel.name = "row_shares";
  blocks["host text"] = fenced("cpp", generateHost(cpu.kernel).ownText());

  // The same kernel for every size, on both devices that need no GPU.
  std::string launches;
  for (Device* device : {&emulatedDevice(), &cpuDevice()}) {
    KernelExecutor executor;
    executor.compile(&fusion, {Tensor::ones({3, 300}, DataType::Float, *device)});
    for (std::vector<int64_t> sizes : {std::vector<int64_t>{3, 300}, {70, 5}, {2, 0}}) {
      KernelArgumentHolder inputs(Tensor::randn(sizes, DataType::Float, 1, *device));
      testValidate(&fusion, executor.run(inputs), inputs, __LINE__, __FILE__);
      if (sizes[1] > 0) {
        const LaunchParams& launch = executor.lastLaunchParams();
        launches += text(device->kind() == DeviceKind::Cpu ? "cpu     " : "emulated", "  x[",
                         sizes[0], ", ", sizes[1], "]: grid ", launch.gdimx(), ", block ",
                         launch.bdimx(), ", shared memory ", launch.smem(), " bytes\n");
      }
    }
  }
  blocks["launches"] = fenced("text", launches);
  checkPage("docs/architecture.md", blocks);
}

TEST_CASE("docs: passes.md lists the passes") {
  std::string preseg = "| | pass | does | keeps |\n|---|---|---|---|\n";
  int place = 0;
  for (const preseg_passes::Pass& pass : preseg_passes::passes()) {
    preseg += text("| ", ++place, " | `", pass.name, "` | ", pass.does, " | ", pass.keeps, " |\n");
  }
  std::string table =
      "| | pass | needs | gives | why it is there | may be skipped |\n|---|---|---|---|---|---|\n";
  int number = 0;
  for (const LoweringPass& pass : loweringPasses()) {
    table += text("| ", ++number, " | `", pass.name, "` | ", pass.needs, " | ", pass.gives, " | ",
                  pass.why, " | ", pass.optional ? "yes" : "", " |\n");
  }
  checkPage("docs/passes.md", {{"preseg", preseg}, {"passes", table}});
}
