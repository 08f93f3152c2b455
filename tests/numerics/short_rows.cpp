// What a GPU computes along short rows (scheduler/pointwise/short_rows.h, reduction/problem.h):
// steps that are stacked along the last axis, by a thread a row; sums of what windows and small
// tables have along a short axis, by a thread each; points that are read at an index.
#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

Val* number(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
Val* weight(double value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

TensorView* rows(Fusion& fusion, int64_t length, DataType dtype) {
  TensorView* tv = makeContigConcreteTensor({-1, length}, dtype);
  fusion.addInput(tv);
  return tv;
}

/// h' = 0.9·h + sin(tanh(exp(sin(h·x[:, t])))): all steps, one after the other.
std::vector<TensorView*> stepsAlong(TensorView* x, int64_t count) {
  std::vector<TensorView*> all;
  TensorView* h = nullptr;
  for (int64_t t = 0; t < count; ++t) {
    TensorView* now = select(x, 1, number(t));
    h = h == nullptr ? now : add(mul(h, weight(0.9)), sin(tanh(exp(sin(mul(h, now))))));
    all.push_back(h);
  }
  return all;
}

TensorView* stacked(const std::vector<TensorView*>& parts) {
  std::vector<TensorView*> joined;
  for (TensorView* part : parts) {
    joined.push_back(unsqueeze(part, 1));
  }
  return cat(joined, 1);
}

Define stackedSteps(int64_t length, DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = rows(fusion, length, dtype);
    output(fusion, sub(wide(x), stacked(stepsAlong(wide(x), length))), dtype);
  };
}

bool takesWholeRows(Program& program) {
  return program.cache().report().find("whole short rows") != std::string::npos;
}

}  // namespace

TEST_CASE("short rows: steps stacked along the last axis, of each length and dtype") {
  for (Device* device : testDevices()) {
    const int64_t enough = 128 * device->properties().multiprocessors;
    for (int64_t length : {6, 9, 12, 15, 16}) {
      CAPTURE(length);
      Program program(stackedSteps(length, DataType::Float), *device);
      for (int64_t count : {enough, enough + 77}) {
        program.run({{{count, length}}});
        CHECK(takesWholeRows(program) == (device->kind() != DeviceKind::Cpu));
      }
      program.run({{{7, length}}});  // too few rows
      program.run({{{0, length}}});
    }
    for (DataType dtype : {DataType::Double, DataType::Half, DataType::BFloat16}) {
      Program program(stackedSteps(7, dtype), *device);
      program.run({{{enough + 1, 7}, dtype}});
    }
  }
}

TEST_CASE("short rows: outputs with rows of other lengths beside each other") {
  const Define define = [](Fusion& fusion) {
    TensorView* x = rows(fusion, 3, DataType::Float);
    TensorView* y = rows(fusion, 4, DataType::Float);
    const std::vector<TensorView*> of_x = stepsAlong(x, 3);
    const std::vector<TensorView*> of_y = stepsAlong(y, 4);
    fusion.addOutput(stacked({mul(of_x[2], of_y[3]), cos(of_x[1]), sin(of_y[2])}));
    fusion.addOutput(stacked({of_x[2], mul(of_x[1], of_y[1]), of_y[3], exp(of_y[0])}));
  };
  for (Device* device : testDevices()) {
    Program program(define, *device);
    for (int64_t count : {int64_t{128} * device->properties().multiprocessors + 5, int64_t{33}}) {
      program.run({{{count, 3}}, {{count, 4}}});
    }
  }
}

TEST_CASE("short rows: sums of windows that are an input, and of what small tables have") {
  const Define windows = [](Fusion& fusion) {
    TensorView* x = TensorViewBuilder()
                        .ndims(3)
                        .dtype(DataType::Float)
                        .contiguity({false, false, true})
                        .build();
    fusion.addInput(x);
    const VarMeanResult of = variance_mean(x, {2}, 1, false);
    fusion.addOutput(div(of.mean, add(sqrt(of.var), weight(1e-3))));
    fusion.addOutput(max(x, {2}));
  };
  const Define tables = [](Fusion& fusion) {
    TensorView* x = input(fusion, 2, DataType::Float);
    TensorView* table = makeContigConcreteTensor({9, 6});
    fusion.addInput(table);
    TensorView* pairs =
        mul(broadcast(x, {false, false, true}), broadcast(table, {true, false, false}));
    fusion.addOutput(sum(sin(pairs), {2}));
  };
  for (Device* device : testDevices()) {
    Program moving(windows, *device);
    for (int64_t width : {5, 20, 33}) {
      const int64_t length = 100;
      moving.run({{{23, length - width + 1, width}, DataType::Float, {length, 1, 1}}});
      CHECK((device->kind() == DeviceKind::Cpu || moving.scheduledBy("reduction: outer")));
    }
    Program program(tables, *device);
    for (int64_t count : {1, 40, 1003}) {
      program.run({{{count, 9}}, {{9, 6}}});
    }
    CHECK((device->kind() == DeviceKind::Cpu || program.scheduledBy("reduction: outer")));
  }
}
