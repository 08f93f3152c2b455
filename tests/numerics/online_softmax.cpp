// Maxima and sums of exponentials in one pass: on GPUs, where nothing else of a row is needed. The
// CPU holds the row and makes two passes of vectors.
#include <limits>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The greatest element and the sum of exponentials, of rows.
Define bothOf(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* top = max(x, {1});
    fusion.addOutput(top);
    fusion.addOutput(sum(exp(sub(x, broadcast(top, {false, true}))), {1}));
  };
}

/// log Σ exp of rows, times two.
Define logSumExp(DataType dtype) {
  return [=](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, dtype));
    TensorView* top = max(x, {1});
    TensorView* total = sum(exp(sub(x, broadcast(top, {false, true}))), {1});
    TensorView* both = add(log(total), top);
    output(fusion, add(both, both), dtype);
  };
}

/// A class for each row.
Tensor labels(int64_t rows, int64_t classes, Device& device) {
  HostTensor host(DataType::Int, {rows});
  for (int64_t i = 0; i < rows; ++i) {
    host.setInt(i, (i * 7 + 1) % classes);
  }
  return Tensor::fromHostTensor(host, device);
}

bool isOnline(Program& program) {
  return program.cache().report().find("online softmax") != std::string::npos;
}

void checkRows(const Define& define, const std::vector<std::vector<int64_t>>& sizes,
               DataType dtype) {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(define, *device);
    for (const std::vector<int64_t>& of : sizes) {
      CAPTURE(of[0]);
      CAPTURE(of[1]);
      program.run({{of, dtype}});
      CHECK(program.kernels() == 1);
      CHECK(isOnline(program) == (device->kind() != DeviceKind::Cpu));
    }
  }
}

}  // namespace

TEST_CASE("online softmax: rows of all lengths, one kernel, one pass") {
  for (DataType dtype : {DataType::Float, DataType::BFloat16, DataType::Double}) {
    CAPTURE(dtype);
    checkRows(bothOf(dtype), {{1, 1}, {5, 7}, {3, 1000}, {2, 5121}, {1, 16384}}, dtype);
    checkRows(logSumExp(dtype), {{300, 33}, {2, 4096}}, dtype);
  }
}

TEST_CASE("online softmax: infinities, NaN and the ends of the range as in two passes") {
  const double top = std::numeric_limits<float>::max();
  const std::vector<std::vector<double>> rows{
      {-kInfinity, -kInfinity, -kInfinity, -kInfinity, -kInfinity},
      {-kInfinity, 1, -kInfinity, 2, -kInfinity},
      {1, kInfinity, 2, 3, 4},
      {1, kInfinity, 2, kInfinity, 4},
      {kInfinity, kInfinity, kInfinity, kInfinity, kInfinity},
      {1, 2, kNan, 3, 4},
      {kNan, kInfinity, 1, 2, 3},
      {kNan, -kInfinity, 1, 2, 3},
      {-top, -top, -top, -top, -top},
      {-top, top, 0, -top, top},
      {-kInfinity, -top, -kInfinity, -top, -top},
      {0, 0, 0, 0, 0},
      {-1000, 1000, -1000, 1000, 999},
  };
  HostTensor host(DataType::Float, {static_cast<int64_t>(rows.size()), 5});
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < 5; ++j) {
      host.setDouble(static_cast<int64_t>(5 * i + j), rows[i][j]);
    }
  }
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(bothOf(DataType::Float), *device);
    KernelArgumentHolder arguments;
    arguments.push(Tensor::fromHostTensor(host, *device));
    program.run(arguments);
  }
}

TEST_CASE("online softmax: the class of each row beside it") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(
        [](Fusion& fusion) {
          TensorView* x = wide(input(fusion, 2, DataType::BFloat16));
          TensorView* label = input(fusion, 1, DataType::Int);
          TensorView* picked = takeAlongAxis(log_softmax(x, 1), broadcast(label, {false, true}), 1);
          fusion.addOutput(neg(squeeze(picked, {1})));
        },
        *device);
    for (int64_t classes : {3, 700, 4096}) {
      CAPTURE(classes);
      KernelArgumentHolder arguments;
      arguments.push(Tensor::randn({6, classes}, DataType::BFloat16, 1, *device));
      arguments.push(labels(6, classes, *device));
      program.run(arguments);
      CHECK(program.kernels() == 1);
      CHECK(isOnline(program) == (device->kind() != DeviceKind::Cpu));
    }
  }
}

TEST_CASE("online softmax: the mean of a loss moves the row once, not its logarithms") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(
        [](Fusion& fusion) {
          TensorView* x = wide(input(fusion, 2, DataType::BFloat16));
          TensorView* label = input(fusion, 1, DataType::Int);
          TensorView* logarithms = castOp(DataType::BFloat16, log_softmax(x, 1));
          TensorView* picked = takeAlongAxis(logarithms, broadcast(label, {false, true}), 1);
          fusion.addOutput(sum(neg(castOp(DataType::Float, squeeze(picked, {1}))), {0}));
        },
        *device);
    KernelArgumentHolder arguments;
    arguments.push(Tensor::randn({64, 500}, DataType::BFloat16, 1, *device));
    arguments.push(labels(64, 500, *device));
    program.run(arguments);
    CHECK(program.kernels() == 2);
    const FusionProfile profile = program.cache().profile(arguments, 1);
    CHECK(profile.kernels.front().bytes < 64 * 500 * 2 + 8192);  // T0, and a few numbers of a row
  }
}

TEST_CASE("online softmax: of columns, of both axes, of a whole tensor as two passes have it") {
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 3, DataType::Float);
        TensorView* top = max(x, {0, 2});
        fusion.addOutput(sum(exp(sub(x, broadcast(top, {true, false, true}))), {0, 2}));
      },
      {{{{4, 5, 30}, DataType::Float}}, {{{1, 1, 1}, DataType::Float}}});
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* top = max(x, {0});
        fusion.addOutput(sum(exp(sub(x, broadcast(top, {true, false}))), {0}));
      },
      {{{{40, 6}, DataType::Float}}});
  check(
      [](Fusion& fusion) {
        TensorView* x = input(fusion, 2, DataType::Float);
        TensorView* top = max(x, {0, 1});
        fusion.addOutput(sum(exp(sub(x, broadcast(top, {true, true}))), {0, 1}));
      },
      {{{{40, 60}, DataType::Float}}});
}

TEST_CASE("online softmax: no elements") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Program program(bothOf(DataType::Float), *device);
    program.run({{{0, 5}}});
    program.run({{{5, 0}}});
  }
}

TEST_CASE("online softmax: columns that do not fit the chip are read twice") {
  const Define columns = [](Fusion& fusion) {
    TensorView* x = wide(input(fusion, 2, DataType::BFloat16));
    output(fusion, softmax(x, 0), DataType::BFloat16);
  };
  checkRows(columns, {{5000, 24}, {20000, 3}}, DataType::BFloat16);
}

TEST_CASE("online softmax: rows that fit no cluster are read twice instead of three times") {
  for (Device* device : testDevices()) {
    if (device->kind() == DeviceKind::Cpu) {
      continue;
    }
    CAPTURE(device->properties().name);
    Program program(
        [](Fusion& fusion) { fusion.addOutput(softmax(input(fusion, 2, DataType::Double), 1)); },
        *device);
    program.run({{{1, 300000}, DataType::Double}});
    CHECK(program.kernels() == 1);
    CHECK(isOnline(program));
  }
}
