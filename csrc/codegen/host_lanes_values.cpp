/// Operands and results of a loop of vectors (host_lanes.cpp): neighbours in memory are read and
/// written as one vector, a value that all iterations share fills one, and everything else is
/// gathered lane by lane.
#include <algorithm>
#include <bit>

#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

using kir::Scalar;

std::string HostEmitter::laneType(DataType dtype, const LaneLoop& lanes) {
  return text("Lanes<", typeName(dtype), ", ", lanes.width, ">");
}

std::string HostEmitter::laneFill(const std::string& element, DataType dtype,
                                  const LaneLoop& lanes) {
  return text("lanesFill<", typeName(dtype), ", ", lanes.width, ">(", element, ")");
}

Scalar HostEmitter::atLane(Scalar index, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  const Scalar lane = pool.symbol("e", pool.constant(lanes.width), 0, lanes.width - 1);
  std::unordered_map<Scalar, Scalar> values{{lanes.var, pool.add(lanes.var, lane)}};
  for (Scalar loaded : lanes.varying) {
    values[loaded] = pool.symbol(scalar_.name(loaded) + "_e");
  }
  return pool.substitute(pool.substitute(index, lanes.lets), values);
}

std::string HostEmitter::laneIndices(const std::string& element, const LaneLoop& lanes) {
  std::string names;
  for (Scalar loaded : lanes.varying) {
    const std::string name = scalar_.name(loaded);
    if (element.find(name + "_e") != std::string::npos) {
      names += text("const Index ", name, "_e = ", name, "[e]; ");
    }
  }
  return names;
}

std::string HostEmitter::laneOf(const std::string& name, DataType dtype) {
  const std::string lane = text(name, "[e]");
  return isBooleanType(dtype)             ? lane + " != 0"
         : isReducedPrecisionFloat(dtype) ? text(typeName(dtype), "::fromBits(", lane, ")")
                                          : lane;
}

std::string HostEmitter::laneElement(const kir::Operand& operand, DataType dtype,
                                     const LaneLoop& lanes) {
  if (auto* ref = std::get_if<kir::Ref>(&operand)) {
    const DataType from = storedAs(*ref->buffer);
    if (lanes.registers.count(ref->buffer) == 0) {
      kir::Ref at = *ref;
      at.index = atLane(ref->index, lanes);
      return converted(refText(at), from, dtype);
    }
    return converted(laneOf(ref->buffer->name, from), from, dtype);
  }
  if (auto* index = std::get_if<kir::IndexValue>(&operand)) {
    return operandText(kir::IndexValue{atLane(index->index, lanes), index->dtype}, dtype);
  }
  return operandText(operand, dtype);
}

std::string HostEmitter::laneEach(const std::string& element, DataType dtype,
                                  const LaneLoop& lanes) {
  return text("lanesEach<", lanes.width, ", ", typeName(dtype), ">(", lanes.count,
              ", [&](int e) __attribute__((always_inline)) -> ", typeName(dtype), " { ",
              laneIndices(element, lanes), "return ", element, "; })");
}

std::string HostEmitter::laneCast(const std::string& value, DataType from, DataType to,
                                  const LaneLoop& lanes) {
  from = resolved(from);
  to = resolved(to);
  if (from == to) {
    return value;
  }
  if (isFp8(from)) {
    return laneCast(text("simdFromFp8Bits<", typeName(from), ">(", value, ")"), DataType::Float, to,
                    lanes);
  }
  if (isFp8(to)) {
    return text("simdToFp8Bits<", typeName(to), ">(", laneCast(value, from, DataType::Float, lanes),
                ")");
  }
  if (from == DataType::Half || from == DataType::BFloat16) {
    return laneCast(text(from == DataType::Half ? "simdFromHalfBits<" : "simdFromBf16Bits<",
                         lanes.width, ">(", value, ")"),
                    DataType::Float, to, lanes);
  }
  if (to == DataType::Half || to == DataType::BFloat16) {
    return text(to == DataType::Half ? "simdToHalfBits<" : "simdToBf16Bits<", lanes.width, ">(",
                laneCast(value, from, DataType::Float, lanes), ")");
  }
  const std::string operand = isPrimaryText(value) ? value : "(" + value + ")";
  if (isBooleanType(to)) {
    return text("lanesTruth(", operand, " != 0)");
  }
  if (isBooleanType(from)) {
    return text("lanesConvert<", typeName(to), ">(", operand, " & 1)");
  }
  return text("lanesConvert<", typeName(to), ">(", value, ")");
}

bool HostEmitter::isCutInVectors(DataType from, DataType to) {
  to = resolved(to);
  const bool is_signed = to == DataType::Int || to == DataType::Int32;
  return isFloatingPointType(from) && (is_signed || dataTypeSizeByte(to) < 4);
}

std::string HostEmitter::laneCut(const std::string& value, DataType from, DataType to,
                                 const LaneLoop& lanes) {
  snippets_.add("cpu/lanes_whole.h");
  const DataType wide = from == DataType::Double ? from : DataType(DataType::Float);
  return text("lanesWholeOf<", typeName(resolved(to)), ">(", laneCast(value, from, wide, lanes),
              ")");
}

std::string HostEmitter::laneOperand(const kir::Operand& operand, DataType dtype,
                                     const LaneLoop& lanes) {
  dtype = resolved(dtype);
  const DataType from = dtypeOf(operand);
  auto* ref = std::get_if<kir::Ref>(&operand);
  if (auto* index = std::get_if<kir::IndexValue>(&operand)) {
    const std::string places = laneIndex(index->index, resolved(index->dtype), lanes);
    return places.empty() ? laneEach(laneElement(operand, dtype, lanes), dtype, lanes)
                          : laneCast(places, resolved(index->dtype), dtype, lanes);
  }
  if (ref == nullptr) {
    return laneFill(operandText(operand, dtype), dtype, lanes);
  }
  if (isIntegralType(dtype) && isFloatingPointType(from)) {
    return isCutInVectors(from, dtype)
               ? laneCut(laneOperand(operand, from, lanes), from, dtype, lanes)
               : laneEach(laneElement(operand, dtype, lanes), dtype, lanes);
  }
  std::string value;
  const auto stride = strideOf(*ref, lanes);
  if (lanes.registers.count(ref->buffer) != 0) {
    value = ref->buffer->name;
  } else if (stride == 1) {
    value =
        text("lanesRead<", lanes.width, ">(", addressText(*ref), ", ", laneCount(*ref, lanes), ")");
  } else if (stride == 0) {
    return laneFill(converted(refText(*ref), from, dtype), dtype, lanes);
  } else {
    value = laneApart(*ref, stride, lanes);
    value = value.empty() ? laneIndexed(*ref, lanes) : value;
    value = value.empty() ? laneEach(laneElement(operand, from, lanes), from, lanes) : value;
  }
  return laneCast(value, from, dtype, lanes);
}

namespace {

/// From one iteration to the next, where that is the same everywhere, if only the call knows it;
/// null: it is not.
Scalar distanceOf(Scalar index, Scalar var, kir::ScalarPool& pool) {
  const std::vector<std::pair<Scalar, int64_t>> terms =
      index->op == kir::ScalarOp::Sum ? index->terms : decltype(index->terms){{index, 1}};
  Scalar distance = pool.zero();
  for (const auto& [term, times] : terms) {
    if (!kir::ScalarPool::contains(term, var)) {
      continue;
    }
    std::vector<Scalar> factors =
        term->op == kir::ScalarOp::Product ? term->args : std::vector<Scalar>{term};
    const auto place = std::find_if(factors.begin(), factors.end(), [&](Scalar factor) {
      return kir::ScalarPool::contains(factor, var);
    });
    const Scalar factor = *place;
    Scalar part = pool.constant(times);
    if (factor != var) {  // stride * (task * 2048 + var)
      const Scalar inner =
          factor->op == kir::ScalarOp::Sum ? distanceOf(factor, var, pool) : nullptr;
      if (inner == nullptr) {
        return nullptr;
      }
      part = pool.mul(part, inner);
    }
    factors.erase(place);
    for (Scalar other : factors) {
      part = pool.mul(part, other);
    }
    distance = pool.add(distance, part);
  }
  return kir::ScalarPool::contains(distance, var) ? nullptr : distance;
}

}  // namespace

std::string HostEmitter::laneApart(const kir::Ref& ref, std::optional<int64_t> stride,
                                   const LaneLoop& lanes) {
  if (isChecked(*ref.buffer)) {
    return "";
  }
  if (stride == -1) {
    snippets_.add("cpu/lanes_apart.h");
    return text("lanesBackwards<", lanes.width, ">(", addressText(ref), ", ", lanes.count, ")");
  }
  if (stride.has_value()) {
    const int64_t distance = std::abs(*stride);
    if (distance < 2 || distance > kMostStride) {
      return "";
    }
    snippets_.add("cpu/lanes_apart.h");
    return text(*stride > 0 ? "lanesStrided<" : "lanesStridedBack<", lanes.width, ", ", distance,
                ">(", addressText(ref), ", ", lanes.count, ")");
  }
  kir::ScalarPool& pool = *kernel_.pool;
  const Scalar index = pool.substitute(ref.index, lanes.lets);
  if (lanes.readsVarying(index)) {
    return "";
  }
  if (const Scalar distance = distanceOf(index, lanes.var, pool)) {
    snippets_.add("cpu/lanes_apart.h");
    return text("lanesSpaced<", lanes.width, ">(", addressText(ref), ", ", scalar_(distance), ", ",
                lanes.count, ")");
  }
  if (const std::string offsets = laneOffsets(index, lanes); !offsets.empty()) {
    snippets_.add("cpu/lanes_apart.h");
    return text("lanesPicked<", offsets, ">(", addressText(ref), ", ", lanes.count, ")");
  }
  // index = rest + (linear / times), or rest + (linear % period)
  const Scalar place = placeAmid(index, lanes);
  const Scalar number = place == nullptr ? nullptr : place->args[1];
  if (place == nullptr || number->value > lanes.width ||
      (place->op == kir::ScalarOp::Div &&
       !std::has_single_bit(static_cast<uint64_t>(number->value)))) {
    return "";
  }
  snippets_.add("cpu/lanes_apart.h");
  if (place->op == kir::ScalarOp::Div) {
    return text("lanesRepeated<", lanes.width, ", ", number->value, ">(", addressText(ref), ", ",
                scalar_(pool.mod(place->args[0], number)), ", ", lanes.count, ")");
  }
  kir::Ref base = ref;
  base.index = pool.sub(index, place);
  return text("lanesPeriodic<", lanes.width, ", ", number->value, ">(", addressText(base), ", ",
              scalar_(place), ")");
}

std::string HostEmitter::laneIndexed(const kir::Ref& ref, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  Scalar index = pool.substitute(ref.index, lanes.lets);
  std::string places;
  std::string last;  // that the index may be, where all before it is memory
  for (Scalar loaded : lanes.varying) {
    int64_t times = 0;
    if (!pool.splitLinear(index, loaded, &times, &index)) {
      return "";
    }
    if (times != 0) {
      const std::string name = scalar_.name(loaded);
      const auto range = lanes.ranges.find(loaded);
      last = places.empty() && times == 1 && range != lanes.ranges.end()
                 ? text(", range", range->second, ".last")
                 : std::string();
      append(places,
             text(places.empty() ? "" : " + ", times == 1 ? name : text(name, " * ", times)));
    }
  }
  int64_t step = 0;
  Scalar rest = nullptr;
  if (places.empty() || isChecked(*ref.buffer) ||
      !pool.splitLinear(index, lanes.var, &step, &rest)) {
    return "";
  }
  if (step != 0) {
    append(places, text(" + lanesFrom<", lanes.width, ">(0, ", step, ")"));
    last.clear();
  }
  kir::Ref base = ref;
  base.index = index;
  return text("lanesAt<", lanes.width, ">(", addressText(base), ", ", places, ", ", lanes.count,
              last, ")");
}

void HostEmitter::laneStore(const kir::Ref& dst, const std::string& value, const LaneLoop& lanes,
                            bool streaming) {
  if (lanes.registers.count(dst.buffer) != 0) {
    out_.line(text(dst.buffer->name, " = ", value, ";"));
    return;
  }
  const DataType dtype = storedAs(*dst.buffer);
  if (strideOf(dst, lanes) == 1) {
    streams_ |= streaming;
    const std::string count = laneCount(dst, lanes);
    if (count != lanes.count) {  // the array's other lanes stay as they are
      const std::string address = addressText(dst);
      out_.line(text("lanesWrite(", address, ", lanesKeep(", value, ", lanesRead<", lanes.width,
                     ">(", address, ", ", count, "), ", lanes.count, "), ", count, ");"));
      return;
    }
    out_.line(text(streaming ? "lanesStream(" : "lanesWrite(", addressText(dst), ", ", value, ", ",
                   lanes.count, ");"));
    return;
  }
  kir::Ref at = dst;
  at.index = atLane(dst.index, lanes);
  // All iterations store the same value in a place that they share.
  const std::string count = strideOf(dst, lanes) == 0 ? std::string("1") : lanes.count;
  const std::string element = isBooleanType(dtype) ? std::string("x != 0")
                              : isReducedPrecisionFloat(dtype)
                                  ? text(typeName(dtype), "::fromBits(x)")
                                  : std::string("x");
  const std::string target = refText(at);
  out_.line(text("lanesSpread(", value, ", ", count, ", [&](int e, auto x) { ",
                 laneIndices(target, lanes), target, " = ", element, "; });"));
}

}  // namespace nvfuser::codegen
