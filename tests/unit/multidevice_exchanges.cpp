// Which exchanges a device carries out: some of them as one, and the bytes of resharding beside the
// least that any way of doing it takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <evaluator/expression_evaluator.h>
#include <external/communicator.h>
#include <ir/composite_nodes.h>
#include <multidevice/local_fusion.h>
#include <multidevice/way_of_resharding.h>
#include <ops/all_ops.h>

namespace nvfuser {
namespace {

using multidevice::makeLocal;

struct Rows {
  Fusion fusion;
  FusionGuard guard{&fusion};
  DeviceMesh mesh{std::vector<int64_t>{0, 1}};

  TensorView* input() {
    TensorView* tv = makeContigTensor(2);
    fusion.addInput(tv);
    tv->setDeviceMesh(mesh);
    tv->outer_split(0, 2);
    tv->axis(0)->parallelize(ParallelType::DIDx);
    return tv;
  }
  TensorView* whole() {
    TensorView* tv = makeContigTensor(2);
    fusion.addInput(tv);
    tv->setDeviceMesh(mesh);
    return tv;
  }
  void output(TensorView* tv) {
    fusion.addOutput(tv);
    tv->setDeviceMesh(mesh);
  }
  /// Cut along its first axis.
  void outputInParts(TensorView* tv) {
    output(tv);
    int64_t place = 0;
    while (tv->axis(place)->isReduction()) {
      ++place;
    }
    tv->outer_split(place, 2);
    tv->axis(place)->parallelize(ParallelType::DIDx);
  }
  /// The lines of all exchanges, by their beginnings.
  std::vector<std::string> exchanges() {
    const multidevice::LocalFusion local = makeLocal(fusion);
    size_t operations = 0;
    for (const Expr* expr : local.fusion->exprs()) {
      operations += expr->isA<CommunicationOp>() ? 1 : 0;
    }
    CHECK(operations == local.exchanges.size());
    std::vector<std::string> lines;
    for (const std::string& line : local.exchanges) {
      std::string kinds = line.substr(0, line.find(' '));
      for (size_t at = line.find(" and T"); at != std::string::npos;
           at = line.find(" and T", at + 1)) {
        kinds += "+";
      }
      lines.push_back(kinds);
    }
    return lines;
  }
};

TEST_CASE_FIXTURE(Rows, "join exchanges: those that do not wait for each other are one") {
  TensorView* x = input();
  output(sum(x, {0}));
  output(sum(mul(x, x), {0, 1}));
  output(sum(neg(x), {0}));
  CHECK(exchanges() == std::vector<std::string>{"allreduce++"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: one that needs another comes behind it") {
  TensorView* x = input();
  TensorView* total = sum(x, {0});
  TensorView* centered = sub(x, broadcast(total, {true, false}));
  output(sum(mul(centered, centered), {0}));
  output(sum(exp(x), {0}));  // goes with the first
  CHECK(exchanges() == std::vector<std::string>{"allreduce", "allreduce+"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: sums and maxima stay apart, others go before them") {
  TensorView* x = input();
  output(sum(x, {0}));
  output(max(x, {0}));
  output(neg(x));
  output(sum(exp(x), {0}));
  CHECK(exchanges() == std::vector<std::string>{"allgather", "allreduce+", "allreduce"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: reduce-scatters that do not wait for each other are one") {
  TensorView* x = input();
  outputInParts(sum(x, {0}));
  outputInParts(sum(exp(x), {0}));
  CHECK(exchanges() == std::vector<std::string>{"reduce_scatter+"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: data that are known and needed together move together") {
  TensorView* x = input();
  output(neg(x));
  output(exp(x));
  CHECK(exchanges() == std::vector<std::string>{"allgather+"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: what a later product needs comes by itself") {
  TensorView* x = whole();
  output(linear(relu(linear(x, input())), input()));
  CHECK(exchanges() == std::vector<std::string>{"allgather", "allgather"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: rows of a product come by themselves") {
  TensorView* x = input();
  output(matmul(x, whole()));
  output(exp(input()));
  CHECK(exchanges().size() == 2);
}

// ---- which exchanges ----

TEST_CASE_FIXTURE(Rows, "exchanges: a tensor that is needed whole is not exchanged for its parts") {
  TensorView* x = input();
  TensorView* columns = exp(x);
  output(columns);  // gathered
  fusion.addOutput(set(columns));
  TensorView* other = fusion.outputs()[1]->as<TensorView>();
  other->setDeviceMesh(mesh);
  other->outer_split(1, 2);
  other->axis(1)->parallelize(ParallelType::DIDx);
  CHECK(exchanges() == std::vector<std::string>{"allgather"});
}

TEST_CASE_FIXTURE(Rows, "exchanges: sums of parts that somebody needs whole are an allreduce") {
  TensorView* x = input();
  TensorView* total = sum(x, {0});
  outputInParts(total);
  output(cumsum(total, 0));
  CHECK(exchanges() == std::vector<std::string>{"allreduce"});
}

TEST_CASE_FIXTURE(Rows, "join exchanges: an exchange that leads to no output goes") {
  TensorView* x = input();
  sum(x, {0});
  output(sum(exp(x), {0}));
  CHECK(exchanges() == std::vector<std::string>{"allreduce"});
}

// ---- what resharding costs ----

using multidevice::Sharding;

/// A tensor of 48 × 48 Floats on a mesh, resharded.
struct Resharding {
  DeviceMesh mesh;
  Sharding from, to;
  bool is_sum = false;  ///< of what devices along x have; cut along axis 0 of three before
};

constexpr int64_t kSize = 48;

Sharding cut(std::optional<size_t> by_x, std::optional<size_t> by_y = std::nullopt) {
  Sharding sharding;
  sharding[ParallelType::DIDx] = by_x;
  sharding[ParallelType::DIDy] = by_y;
  return sharding;
}

void share(TensorView* tv, const DeviceMesh& mesh, const Sharding& sharding, int64_t before) {
  tv->setDeviceMesh(mesh);
  for (const int64_t axis : {1, 0}) {  // the last one first: a split moves those behind it
    if (const auto mesh_axis = sharding.of(static_cast<size_t>(axis))) {
      tv->outer_split(axis + before, mesh.size(*mesh_axis));
      tv->axis(axis + before)->parallelize(*mesh_axis);
    }
  }
}

/// What a device has of an axis.
std::pair<int64_t, int64_t> rangeOf(const Resharding& what, const Sharding& sharding, size_t axis,
                                    int64_t device) {
  const auto mesh_axis = sharding.of(axis);
  if (!mesh_axis) {
    return {0, kSize};
  }
  const int64_t length = kSize / what.mesh.size(*mesh_axis);
  const int64_t start = *what.mesh.coordinate(device, *mesh_axis) * length;
  return {start, start + length};
}

/// Elements that the device which lacks most has to receive.
int64_t leastElements(const Resharding& what) {
  int64_t most = 0;
  for (const int64_t device : what.mesh.devices()) {
    int64_t wanted = 1, present = 1;
    for (const size_t axis : {0, 1}) {
      const auto [from, from_end] = rangeOf(what, what.from, axis, device);
      const auto [to, to_end] = rangeOf(what, what.to, axis, device);
      wanted *= to_end - to;
      present *= std::max<int64_t>(0, std::min(from_end, to_end) - std::max(from, to));
    }
    most = std::max(most, wanted - present);
  }
  if (what.is_sum) {  // each sum takes D − 1 numbers of others, and then has to get about
    const int64_t devices = what.mesh.size(ParallelType::DIDx);
    const int64_t sums = (devices - 1) * kSize * kSize / devices;
    return what.to[ParallelType::DIDx] ? sums : 2 * sums;
  }
  return most;
}

std::string rowOf(const Resharding& what) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  TensorView* x = what.is_sum
                      ? makeContigConcreteTensor({what.mesh.size(ParallelType::DIDx), kSize, kSize})
                      : makeContigConcreteTensor({kSize, kSize});
  fusion.addInput(x);
  if (what.is_sum) {
    x->setDeviceMesh(what.mesh);
    x->axis(0)->parallelize(ParallelType::DIDx);
  } else {
    share(x, what.mesh, what.from, 0);
  }
  TensorView* y = what.is_sum ? sum(x, {0}) : set(x);
  fusion.addOutput(y);
  share(y, what.mesh, what.to, what.is_sum ? 1 : 0);
  const multidevice::LocalFusion local = makeLocal(fusion);
  std::vector<std::string> kinds;
  int64_t bytes = 0;
  ExpressionEvaluator evaluator;
  for (const Expr* expr : local.fusion->exprs()) {
    if (!expr->isA<CommunicationOp>()) {
      continue;
    }
    const auto* op = expr->as<CommunicationOp>();
    const int64_t devices = op->mesh().size(op->along());
    int64_t elements = 1;
    for (const IterDomain* id : op->input(0)->as<TensorView>()->getLogicalDomain()) {
      elements *= evaluator.evaluate(id->extent()).as<int64_t>();
    }
    const bool takes_parts =
        op->type() == CommunicationType::ReduceScatter || op->type() == CommunicationType::Alltoall;
    kinds.emplace_back(communicationName(op->type()));
    bytes += external::receivedBytes(op->type(), devices,
                                     4 * (takes_parts ? elements / devices : elements));
  }
  return text("| ", join(what.mesh.shape(), " × "), " | ",
              what.is_sum ? "sums of parts along DIDx" : what.from.toString(), " | ",
              what.to.toString(), " | ", kinds.empty() ? "none" : join(kinds, ", "), " | ", bytes,
              " | ", 4 * leastElements(what), " |");
}

TEST_CASE("cheapest way: what is moved is small, and comes before it grows") {
  using multidevice::cheapestWay;
  const DeviceMesh square({0, 1, 2, 3}, {2, 2});
  const int64_t whole = multidevice::ExchangeCost::partsOf(square);
  // An axis that is free: the alltoall comes first.
  const auto free = cheapestWay(square, cut(0, 1), cut(2));
  REQUIRE(free.steps.size() == 2);
  CHECK(free.steps[0].mesh_axis == ParallelType::DIDx);
  CHECK(free.cost.received == whole / 8 + whole / 4);
  // One that is not.
  const auto blocked = cheapestWay(square, cut(0, 1), cut(1));
  CHECK(blocked.steps[0].mesh_axis == ParallelType::DIDy);
  CHECK(blocked.cost.received == whole / 4 + whole / 4);
  // What is cut as well needs no data, and makes the rest smaller.
  const auto cut_first = cheapestWay(square, cut(0), cut(1, 2));
  CHECK(cut_first.steps[0].mesh_axis == ParallelType::DIDy);
  CHECK(cut_first.cost.received == whole / 8);
  const auto swapped = cheapestWay(square, cut(0, 1), cut(1, 0));
  CHECK(swapped.cost.exchanges == 2);
  CHECK(cheapestWay(square, cut(0, 1), cut(0, 1)).steps.empty());
}

TEST_CASE("exchanges: the bytes of 20 reshardings, beside the least, are those of the page") {
  const DeviceMesh four({0, 1, 2, 3}), square({0, 1, 2, 3}, {2, 2});
  const auto none = std::nullopt;
  const std::vector<Resharding> all = {
      {four, cut(none), cut(0)},       {four, cut(0), cut(none)},
      {four, cut(1), cut(none)},       {four, cut(0), cut(1)},
      {four, cut(1), cut(0)},          {four, cut(none), cut(none), true},
      {four, cut(none), cut(0), true}, {four, cut(none), cut(1), true},
      {square, cut(none), cut(0, 1)},  {square, cut(0, 1), cut(none)},
      {square, cut(0, 1), cut(0)},     {square, cut(0, 1), cut(none, 1)},
      {square, cut(0), cut(0, 1)},     {square, cut(0), cut(1)},
      {square, cut(0), cut(none, 0)},  {square, cut(0), cut(none, 1)},
      {square, cut(0), cut(1, 0)},     {square, cut(0, 1), cut(1)},
      {square, cut(0, 1), cut(1, 0)},  {square, cut(none), cut(0), true},
  };
  CHECK(all.size() == 20);
  std::ifstream file(std::string(NVFUSER_TESTS_DIR) + "/../docs/multidevice.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::string table;
  for (const Resharding& one : all) {
    table += rowOf(one) + "\n";
  }
  CAPTURE(table);
  CHECK(page.find(table) != std::string::npos);
}

}  // namespace
}  // namespace nvfuser
