// Normalisations of a few rows that fit no cluster's memory: blocks share each of them and wait for
// each other, instead of one block for a row while the others have nothing to do.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

void checkShared(const Define& define, const std::vector<std::vector<Input>>& runs) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(define, *device);
    for (const std::vector<Input>& inputs : runs) {
      CAPTURE(join(inputs[0].sizes, ", "));
      program.run(inputs);
      if (device->kind() != DeviceKind::Cpu) {
        CHECK(program.kernels() == 1);
        CHECK(program.cache().report().find(", grid ") != std::string::npos);
      }
    }
  }
}

Define channelNorm(bool last) {
  return [=](Fusion& fusion) {
    TensorView* x = input(fusion, 3, DataType::Float);
    TensorView* w = input(fusion, 1, DataType::Float);
    TensorView* b = input(fusion, 1, DataType::Float);
    const auto result = batch_norm(x, w, b, nullptr, nullptr, true, IrBuilder::create<Val>(0.1),
                                   IrBuilder::create<Val>(1e-5), last);
    fusion.addOutput(result.output);
    fusion.addOutput(result.invstd);
  };
}

}  // namespace

TEST_CASE("few long rows: batch norm of few channels, first and last") {
  checkShared(channelNorm(true), {{{{40, 1500, 3}}, {{3}}, {{3}}}, {{{7, 9001, 2}}, {{2}}, {{2}}}});
  checkShared(channelNorm(false),
              {{{{40, 2, 3000}}, {{2}}, {{2}}}, {{{50, 1, 3001}}, {{1}}, {{1}}}});
}

TEST_CASE("few long rows: layer norm and softmax of one") {
  checkShared(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        fusion.addOutput(layer_norm(x, 1, nullptr, nullptr, IrBuilder::create<Val>(1e-5)).output);
      },
      {{{{1, 500000}}}, {{{2, 280001}}}});
  checkShared(
      [](Fusion& fusion) { fusion.addOutput(softmax(input(fusion, 2, DataType::Float), 1)); },
      {{{{1, 500000}}}, {{{1, 280001}}}});
}

TEST_CASE("few long rows: softmax of few columns") {
  checkShared(
      [](Fusion& fusion) { fusion.addOutput(softmax(input(fusion, 2, DataType::Float), 0)); },
      {{{{60000, 3}}}, {{{30001, 8}}}});
}
