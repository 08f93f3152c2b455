// What each pass of lowering leaves behind, for small scheduled fusions:
// tests/golden/lowering/<pass>/<fact>.txt (pass_file.h). One kernel's whole way is in
// docs/architecture.md.
#include <doctest/doctest.h>

#include <device_lower/lower.h>
#include <pass_file.h>

using namespace nvfuser;

namespace {

/// What the pass leaves, or that it left everything as it was.
std::string afterPass(const PassFile& file, Fusion& fusion) {
  LowerOptions options;
  options.target = file.target == "cpu" ? LowerTarget::Cpu : LowerTarget::Cuda;
  options.index_type = DataType::Int32;
  if (file.target == "sm_90") {
    options.compute_capability = 90;
    options.dependent_launch = true;
  }
  std::string before;
  std::string after;
  bool was_run = false;
  lower(&fusion, options, [&](const LoweringPass& pass, const Lowering& lowering, double) {
    if (was_run) {
      return;
    }
    before = std::move(after);
    after = printLowering(lowering);
    was_run = pass.name == file.pass;
  });
  CHECK_MESSAGE(was_run, file.pass, " did not run");
  return after == before ? "unchanged\n" : after;
}

}  // namespace

TEST_CASE("lowering: what passes leave behind") {
  const auto counts = checkPassFiles("lowering", [](const PassFile& file, Fusion& fusion) {
    const std::string got = afterPass(file, fusion);
    CHECK(got == afterPass(file, fusion));  // the same bytes each time
    return got;
  });
  for (const char* pass :
       {"map-axes", "build-loop-tree", "insert-syncs", "build-statements", "cluster-meetings",
        "add-by-blocks", "share-conditions", "wrap-remainders", "fetch-ahead", "split-loops",
        "hoist-indices", "wait-for-grid", "collect-parameters"}) {
    CHECK_MESSAGE(counts.count(pass) == 1, "no file shows the pass ", pass);
  }
}
