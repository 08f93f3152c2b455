// Text of whole kernels, compared with tests/golden/expected/. Snippets are left out: they are
// files of their own.
#include <codegen_kernels.h>

#include <doctest/doctest.h>

#include <sstream>

#include <codegen/launch_table.h>
#include <codegen/snippets.h>
#include <golden_file.h>
#include <support/error.h>

using namespace nvfuser;

namespace {

/// The text with the snippets that it contains replaced by their names.
std::string withoutSnippets(const GeneratedKernel& generated) {
  std::string out = generated.text;
  for (const std::string& path : generated.snippets) {
    const std::string_view file = runtimeFile(path);
    const size_t at = out.find(file);
    REQUIRE_MESSAGE(at != std::string::npos, path, " is in the text");
    out.replace(at, file.size(), "…\n");
    CHECK_MESSAGE(out.find(file) == std::string::npos, path, " is in the text once");
  }
  return out;
}

void checkGolden(const std::string& name, const GeneratedKernel& generated) {
  checkGoldenFile("golden/expected/" + name, withoutSnippets(generated));
}

void checkLines(const GeneratedKernel& generated) {
  std::istringstream lines(withoutSnippets(generated));
  std::string line;
  while (std::getline(lines, line)) {
    CHECK_MESSAGE(line.size() <= 120, line);
    CHECK_MESSAGE((line.empty() || line.back() != ' '), line);
  }
}

}  // namespace

TEST_CASE("codegen: a kernel with a table for its parameters prints as it did") {
  const GeneratedKernel generated = generateForTable(codegen_kernels::vectors().kernel, "of_many");
  checkGolden("vectors.table.txt", generated);
  checkLines(generated);
}

TEST_CASE("codegen: kernels print as they did") {
  for (const codegen_kernels::Case& test : codegen_kernels::all()) {
    CAPTURE(test.name);
    if (test.cuda) {
      GeneratedKernel generated = generateCuda(test.kernel);
      CHECK(generated.entry == test.kernel.name);
      checkGolden(test.name + ".cuda.txt", generated);
      checkLines(generated);
      CHECK(generated.text == generateCuda(test.kernel).text);
    }
    if (test.host) {
      GeneratedKernel generated = generateHost(test.kernel);
      CHECK(generated.entry == test.kernel.name);
      checkGolden(test.name + ".host.txt", generated);
      checkLines(generated);
      CHECK(generated.text == generateHost(test.kernel).text);
    }
  }
}

TEST_CASE("codegen: a kernel has no snippet that it does not need") {
  auto snippets = [](const codegen_kernels::Case& test) {
    return generateCuda(test.kernel).snippets;
  };
  using Paths = std::vector<std::string>;
  CHECK(snippets(codegen_kernels::pointwise("k", DataType::Int32, 128)) == Paths{});
  CHECK(snippets(codegen_kernels::asyncCopy()) == Paths{"basics.cuh", "async_copy.cuh"});
  CHECK(snippets(codegen_kernels::bulkCopy()) ==
        Paths{"basics.cuh", "block_part.cuh", "mbarrier.cuh", "bulk_copy.cuh"});
  CHECK(snippets(codegen_kernels::blockReduce()) ==
        Paths{"basics.cuh", "half.cuh", "block_part.cuh", "warp_reduce.cuh", "block_reduce.cuh"});
}

TEST_CASE("codegen: what needs threads is refused on the host") {
  CHECK_THROWS_WITH_AS(generateHost(codegen_kernels::blockReduce().kernel),
                       doctest::Contains("reduction among threads of T1"), InternalError);
  CHECK_THROWS_WITH_AS(generateHost(codegen_kernels::asyncCopy().kernel),
                       doctest::Contains("a barrier"), InternalError);
}
