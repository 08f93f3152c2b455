// What is computed of pairs (points, boxes), of planes (colours), and of rows that were read at an
// index and are joined: one kernel each on a GPU.
#include <algorithm>

#include "automatic.h"

using namespace nvfuser;
using namespace nvfuser::automatic;

namespace {

Val* number(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

Device& deviceOfReports() {
  const std::vector<Device*> devices = testDevices();
  const auto found = std::find_if(devices.begin(), devices.end(), [](const Device* device) {
    return device->kind() != DeviceKind::Cpu;
  });
  REQUIRE(found != devices.end());
  return **found;
}

std::string reportOf(const Define& define, const std::vector<Input>& inputs) {
  Program program(define, deviceOfReports());
  program.run(inputs);
  return program.cache().report();
}

/// What boxes share, over what they cover together.
void boxesAgainstBoxes(Fusion& fusion) {
  TensorView* a = input(fusion, 2, DataType::Float);
  TensorView* b = input(fusion, 2, DataType::Float);
  const auto of_a = [&](int64_t k) { return broadcast(select(a, 1, number(k)), {false, true}); };
  const auto of_b = [&](int64_t k) { return broadcast(select(b, 1, number(k)), {true, false}); };
  const auto along = [&](int64_t k) {
    return relu(sub(minimum(of_a(k + 2), of_b(k + 2)), maximum(of_a(k), of_b(k))));
  };
  const auto area = [&](const auto& of) { return mul(sub(of(2), of(0)), sub(of(3), of(1))); };
  TensorView* shared = mul(along(0), along(1));
  fusion.addOutput(sub(add(area(of_a), area(of_b)), shared));
}

/// Scores of pairs, and those of their distances: of the row, and of the column, turned.
void scoresOfDistances(Fusion& fusion) {
  TensorView* scores = input(fusion, 3, DataType::BFloat16);
  TensorView* of_rows = input(fusion, 3, DataType::BFloat16);
  TensorView* drawn = input(fusion, 2, DataType::Float);
  TensorView* places = castOp(DataType::Int, mul(abs(drawn), IrBuilder::create<Val>(3.0)));
  TensorView* within = minimum(places, number(7));
  Val* heads = scores->getLogicalDomain()[0]->extent();
  const auto at = [&](TensorView* index) {
    TensorView* of_all =
        expand(broadcast(index, {true, false, false}), {heads, number(-1), number(-1)});
    return castOp(DataType::Float, takeAlongAxis(of_rows, of_all, 2));
  };
  TensorView* turned = transpose(at(within), 1, 2);
  fusion.addOutput(add(add(castOp(DataType::Float, scores), at(transpose(within, 0, 1))), turned));
}

/// Rows of a table at two places each, beside a row that is computed.
void joinedRows(Fusion& fusion) {
  TensorView* table = input(fusion, 2, DataType::Float);
  TensorView* drawn = input(fusion, 1, DataType::Float);
  TensorView* rows = input(fusion, 2, DataType::Float);
  const auto at = [&](TensorView* truth) {
    TensorView* index = castOp(DataType::Int, truth);
    return takeAlongAxis(table, broadcast(index, {false, true}), 0);
  };
  TensorView* zero = full({}, IrBuilder::create<Val>(0.0), DataType::Float);
  TensorView* flat = broadcast(zero, {true});
  fusion.addOutput(cat({at(gt(drawn, flat)), at(lt(drawn, flat)), exp(rows)}, 1));
}

/// The largest and the smallest of three planes, and what lies between them, as planes.
void planes(Fusion& fusion) {
  TensorView* image = makeContigConcreteTensor({-1, 3, -1, -1}, DataType::Float);
  fusion.addInput(image);
  TensorView* most = max(image, {1});
  TensorView* least = min(image, {1});
  std::vector<TensorView*> parts;
  for (TensorView* plane : {sub(most, least), most, select(image, 1, number(1))}) {
    parts.push_back(broadcast(plane, {false, true, false, false}));
  }
  fusion.addOutput(cat(parts, 1));
}

/// Coordinates that are stacked, turned.
void turnedCoordinates(Fusion& fusion) {
  TensorView* x = input(fusion, 1, DataType::Float);
  TensorView* turn = makeContigConcreteTensor({-1, 2, 3}, DataType::Float);
  fusion.addInput(turn);
  const auto column = [](TensorView* tv) { return broadcast(tv, {false, true}); };
  TensorView* at = cat({column(x), column(neg(x)), column(mul(x, x))}, 1);
  TensorView* products =
      mul(broadcast(at, {true, false, true, false}), broadcast(turn, {false, true, false, false}));
  fusion.addOutput(sum(products, {3}));
}

}  // namespace

TEST_CASE("pairs: a thread computes several rows, and of columns once") {
  const auto boxes = [](int64_t n, int64_t m) { return std::vector<Input>{{{n, 4}}, {{m, 4}}}; };
  check(boxesAgainstBoxes,
        {boxes(1, 1), boxes(3, 32), boxes(257, 512), boxes(256, 509), boxes(255, 128)},
        "pointwise");
  const int64_t many = deviceOfReports().properties().multiprocessors * 128 + 1;  // threads enough
  CHECK(reportOf(boxesAgainstBoxes, boxes(many, 512)).find("rows 8") != std::string::npos);
  CHECK(reportOf(boxesAgainstBoxes, boxes(16, 32)).find("rows") == std::string::npos);
}

TEST_CASE("rows at an index are joined with others in one kernel of a GPU") {
  const auto sizes = [](int64_t rows, int64_t width, int64_t other) {
    return std::vector<Input>{{{2, width}}, {{rows}}, {{rows, other}}};
  };
  check(joinedRows, {sizes(1, 1, 1), sizes(33, 64, 16), sizes(200, 17, 5), sizes(7, 130, 64)}, "",
        0);
  CHECK(reportOf(joinedRows, sizes(300, 64, 16)).find("kernel 2") == std::string::npos);
}

TEST_CASE("pairs: a block of several rows reads across them") {
  const auto sizes = [](int64_t heads, int64_t n) {
    const DataType half = DataType::BFloat16;
    return std::vector<Input>{{{heads, n, n}, half}, {{heads, n, 8}, half}, {{n, n}}};
  };
  check(scoresOfDistances, {sizes(1, 1), sizes(3, 31), sizes(2, 64), sizes(12, 80)}, "", 0);
  CHECK(reportOf(scoresOfDistances, sizes(12, 128)).find(" x 16") != std::string::npos);
}

TEST_CASE("planes: their extremes are computed where they are read") {
  const auto image = [](int64_t n, int64_t h, int64_t w) {
    return std::vector<Input>{{{n, 3, h, w}}};
  };
  check(planes, {image(1, 1, 1), image(2, 5, 7), image(3, 16, 64)}, "", 0);
  CHECK(reportOf(planes, image(2, 16, 64)).find("kernel 2") == std::string::npos);
}

TEST_CASE("coordinates that are stacked are read where they are summed") {
  const auto sizes = [](int64_t n, int64_t points) {
    return std::vector<Input>{{{points}}, {{n, 2, 3}}};
  };
  check(turnedCoordinates, {sizes(1, 1), sizes(3, 17), sizes(8, 128)}, "", 1);
  const std::string report = reportOf(turnedCoordinates, sizes(8, 128));
  CHECK(report.find("scheduler reduction") == std::string::npos);
}
