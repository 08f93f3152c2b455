// Variances that the CPU computes in two passes over what its caches hold: with what the first pass
// missed of the mean put right.
#include <cmath>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

bool inPasses(Program& program) {
  return program.cache().report().find("moments in passes") != std::string::npos;
}

}  // namespace

TEST_CASE("moments in passes: of numbers that lie far from 0") {
  if (testsOnlyGpu()) {
    return;
  }
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{1}, {0}, {0, 1}}) {
    Program program(
        [&](Fusion& fusion) {
          TensorView* x = input(fusion, 2, DataType::Float);
          TensorView* away = add(x, IrBuilder::create<Val>(1e4));
          const VarMeanResult of = variance_mean(away, axes, 1, true);
          fusion.addOutput(of.var);
          fusion.addOutput(mul(sub(away, of.mean), rsqrt(of.var)));
        },
        cpuDevice());
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{5, 1000}, {64, 61}, {7, 3}, {130, 33}, {2, 4099}}) {
      CAPTURE(join(sizes, ", "));
      const KernelArgumentHolder arguments = makeInputs({{sizes}}, cpuDevice());
      program.run(arguments);
      CHECK(inPasses(program));
    }
  }
}

TEST_CASE("moments in passes: of one number, infinities and NaN") {
  if (testsOnlyGpu()) {
    return;
  }
  Program program(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        const VarMeanResult of = variance_mean(x, {1}, 0, false);
        fusion.addOutput(of.var);
        fusion.addOutput(of.mean);
      },
      cpuDevice());
  const float infinity = INFINITY;
  for (const float number : {0.1F, 1e6F + 0.125F, infinity, std::nanf("")}) {
    const Tensor x =
        Tensor::full({3, 200}, PolymorphicValue(double{number}), DataType::Float, cpuDevice());
    const auto results = program.cache().runFusionWithInputs(KernelArgumentHolder{x});
    CHECK(inPasses(program));
    for (float variance : results[0].tensor().toHost<float>()) {
      CHECK((std::isfinite(number) ? variance == 0 : std::isnan(variance)));
    }
    for (float mean : results[1].tensor().toHost<float>()) {
      CHECK((std::isfinite(number) ? mean == number : std::isnan(mean)));
    }
  }
}
