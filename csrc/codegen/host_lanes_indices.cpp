/// Indices that are values, in a loop of vectors (host_lanes.cpp), for lanes k, k + 1, …:
///
///   T5 = index(2 * k + r)   →  T5 = lanesFrom<8>(2 * k + r, 2)
///   T5 = index(k % 3 + r)   →  T5 = lanesInPeriod<8, 3>(k % 3) + r
///   T5 = index(k / 100)     →  T5 = lanesInSteps<8, 100>(k % 100) + k / 100
#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kLongestPeriod = int64_t{1} << 30;  ///< of lanes of 32 bits
constexpr int64_t kFarthest = int64_t{1} << 20;       ///< elements

}  // namespace

Scalar HostEmitter::placeAmid(Scalar index, const LaneLoop& lanes) {
  const std::vector<std::pair<Scalar, int64_t>> terms =
      index->op == kir::ScalarOp::Sum ? index->terms : decltype(index->terms){{index, 1}};
  Scalar place = nullptr;
  for (const auto& [term, times] : terms) {
    if (!kir::ScalarPool::contains(term, lanes.var)) {
      continue;
    }
    const bool is_place = term->op == kir::ScalarOp::Div || term->op == kir::ScalarOp::Mod;
    if (times != 1 || place != nullptr || !is_place) {
      return nullptr;
    }
    const Scalar number = term->args[1];
    int64_t coefficient = 0;
    Scalar rest = nullptr;
    if (!number->isConstant() || number->value < 2 || number->value > kLongestPeriod ||
        !kernel_.pool->splitLinear(term->args[0], lanes.var, &coefficient, &rest) ||
        coefficient != 1) {
      return nullptr;
    }
    place = term;
  }
  return place;
}

std::string HostEmitter::laneOffsets(Scalar index, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  const Scalar vectors = pool.symbol("v");
  const auto at = [&](int64_t lane) {
    std::unordered_map<Scalar, Scalar> places{
        {lanes.var, pool.add(pool.mul(vectors, pool.constant(lanes.width)), pool.constant(lane))}};
    if (lanes.from != nullptr) {
      places[lanes.from] = pool.mul(pool.symbol("p"), pool.constant(lanes.grain));
    }
    return pool.substitute(index, places);
  };
  const Scalar first = at(0);
  std::string offsets;
  for (int64_t lane = 0; lane < lanes.width; ++lane) {
    const Scalar offset = pool.sub(at(lane), first);
    if (!offset->isConstant() || std::abs(offset->value) > kFarthest) {
      return "";
    }
    append(offsets, text(lane == 0 ? "" : ", ", offset->value));
  }
  return offsets;
}

std::string HostEmitter::laneIndex(Scalar index, DataType dtype, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  const DataType whole = dtype == DataType::Int32 ? dtype : DataType(DataType::Int);
  const std::string type = text(typeName(whole));
  if (const auto step = strideOf({.buffer = nullptr, .index = index}, lanes)) {
    return laneCast(
        text("lanesFrom<", lanes.width, ", ", type, ">(", scalar_(index), ", ", *step, ")"), whole,
        dtype, lanes);
  }
  index = pool.substitute(index, lanes.lets);
  const Scalar place = lanes.readsVarying(index) ? nullptr : placeAmid(index, lanes);
  if (place == nullptr) {
    return "";
  }
  snippets_.add("cpu/lanes_apart.h");
  const bool is_rest = place->op == kir::ScalarOp::Mod;
  const Scalar from = is_rest ? place : pool.mod(place->args[0], place->args[1]);
  const Scalar first = is_rest ? pool.sub(index, place) : index;
  const std::string numbers = text(is_rest ? "lanesInPeriod<" : "lanesInSteps<", lanes.width, ", ",
                                   place->args[1]->value, ">(", scalar_(from), ")");
  return laneCast(text(laneCast(numbers, DataType::Int32, whole, lanes), " + ",
                       text("(", type, ")(", scalar_(first), ")")),
                  whole, dtype, lanes);
}

}  // namespace nvfuser::codegen
