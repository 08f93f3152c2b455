// Each pass over whole fusions on small ones: tests/golden/preseg/<pass>/<fact>.txt (pass_file.h).
#include <doctest/doctest.h>

#include <pass_file.h>
#include <preseg_passes/mark_joins.h>
#include <preseg_passes/mark_views.h>
#include <preseg_passes/pipeline.h>

using namespace nvfuser;

TEST_CASE("preseg: what passes make of fusions") {
  const auto counts = checkPassFiles("preseg", [](const PassFile& file, Fusion& fusion) {
    preseg_passes::runOne(fusion, file.pass);
    fusion.verify();
    // Marks are no part of the graph.
    std::string marks;
    for (const preseg_passes::ViewOutput& view : preseg_passes::viewOutputs(fusion)) {
      marks += text("output ", view.output, " is a view of T", view.source, "\n");
    }
    for (const preseg_passes::JoinedOutput& joined : preseg_passes::joinedOutputs(fusion)) {
      marks += text(
          "T", joined.output, " is stored part by part along axis ", joined.axis,
          joined.gain == preseg_passes::JoinGain::OwnLoops   ? ", on the CPU: "
          : joined.gain == preseg_passes::JoinGain::OwnTiles ? ", on a GPU: "
                                                             : ": ",
          join(joined.parts, ", ", [](const auto& part) { return text("T", part.tensor); }), "\n");
    }
    return fusion.toString() + marks;
  });
  for (const preseg_passes::Pass& pass : preseg_passes::passes()) {
    CHECK_MESSAGE(counts.count(std::string(pass.name)) == 1, "no file shows the pass ", pass.name);
  }
}
