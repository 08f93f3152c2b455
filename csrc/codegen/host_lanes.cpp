/// Loops of vectors: the iterations of a loop that may run in any order, N at a time.
///
///   for k in 0..8192 simd                     const Index end_k = indexMin(8192, i0 - bid_x *
///   8192);
///     if (bid_x * 8192 + k < i0)       →      for (Index k = 0; k < end_k; k += 16) {
///       T2 = mul(T0[…], T1[…])                  const Index n_k = end_k - k;
///       …                                       T2 = lanesRead<16>(&T0[…], n_k) * …
///
/// A condition that holds up to some iteration becomes the loop's end, so that no element is
/// tested; the lanes beyond it in the last vector are neither read nor written. What has no text on
/// vectors is computed lane by lane between two vectors, and does not keep the rest from being one.
#include <algorithm>
#include <bit>

#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kVectorBytes = 64;  ///< of the widest type; the compiler halves what is too wide
constexpr int64_t kLeastLanes = 4;
constexpr int64_t kSumParts = 4;
constexpr int64_t kMostSimpleStatements = 6;

bool hasLanes(DataType dtype) {
  return dtype == DataType::Float || dtype == DataType::Double || dtype == DataType::Half ||
         dtype == DataType::BFloat16 || isBooleanType(dtype) || isIntegralType(dtype);
}

/// What an operand or a condition may not be evaluated for beyond the loop's end.
bool hasEffect(const kir::PointwiseType& op) {
  auto* unary = std::get_if<UnaryOpType>(&op);
  return unary != nullptr && *unary == UnaryOpType::Print;
}

bool combinesLanes(BinaryOpType op) {
  return op == BinaryOpType::Add || op == BinaryOpType::Mul || op == BinaryOpType::Max ||
         op == BinaryOpType::Min;
}

int64_t bytesOf(DataType dtype) { return isBooleanType(dtype) ? 4 : dataTypeSizeByte(dtype); }

}  // namespace

// ---- whether

std::optional<int64_t> HostEmitter::strideOf(const kir::Ref& ref, const LaneLoop& lanes) {
  const Scalar index = kernel_.pool->substitute(ref.index, lanes.lets);
  int64_t coefficient = 0;
  Scalar rest = nullptr;
  if (!kernel_.pool->splitLinear(index, lanes.var, &coefficient, &rest)) {
    return std::nullopt;
  }
  return coefficient;
}

Scalar HostEmitter::prefixOf(Scalar condition, const LaneLoop& lanes, Scalar* uniform) {
  kir::ScalarPool& pool = *kernel_.pool;
  const Scalar whole = pool.substitute(condition, lanes.lets);
  *uniform = pool.one();
  Scalar prefix = pool.constant(INT64_MAX);
  std::vector<Scalar> open{whole};
  while (!open.empty()) {
    const Scalar part = open.back();
    open.pop_back();
    if (part->op == kir::ScalarOp::And) {
      open.insert(open.end(), part->args.rbegin(), part->args.rend());
      continue;
    }
    if (!kir::ScalarPool::contains(part, lanes.var)) {
      *uniform = pool.logicalAnd(*uniform, part);
      continue;
    }
    int64_t coefficient = 0;
    Scalar rest = nullptr;
    if (part->op != kir::ScalarOp::Less ||
        !pool.splitLinear(pool.sub(part->args[1], part->args[0]), lanes.var, &coefficient, &rest) ||
        coefficient != -1) {
      return nullptr;
    }
    prefix = prefix->isConstant(INT64_MAX) ? rest : pool.min(prefix, rest);
  }
  return prefix;
}

bool HostEmitter::lanesFit(const kir::Combine& combine, bool partial, LaneLoop& lanes) {
  if (combine.monoid.kind != kir::Monoid::Kind::Op || combine.state.size() != 1 ||
      !combinesLanes(combine.monoid.op)) {
    return false;
  }
  const kir::Ref& state = combine.state[0];
  const DataType dtype = storedAs(*state.buffer);
  const bool number = dtype == DataType::Float || dtype == DataType::Double ||
                      (isIntegralType(dtype) && dataTypeSizeByte(dtype) >= 4);
  const auto stride = strideOf(state, lanes);
  if (!number || !stride.has_value() || (*stride != 0 && *stride != 1) ||
      lanes.registers.count(state.buffer) != 0) {
    return false;
  }
  if (*stride == 0) {
    if (partial) {
      return false;
    }
    for (const auto& [other, name] : lanes.sums) {
      if (other->state[0].buffer == state.buffer) {
        return false;
      }
    }
    lanes.sums.emplace_back(
        &combine, text(state.buffer->name, "_lanes",
                       lanes.sums.empty() ? std::string() : text(lanes.sums.size()), "_"));
  }
  return hasLanes(dtypeOf(combine.value[0]));
}

bool HostEmitter::lanesFit(const kir::Block& block, bool partial, LaneLoop& lanes) {
  auto note = [&](DataType dtype) {
    dtype = resolved(dtype);
    if (!hasLanes(dtype)) {
      return false;
    }
    lanes.width = std::min(lanes.width, kVectorBytes / std::max<int64_t>(bytesOf(dtype), 4));
    return true;
  };
  auto fits = [&](const kir::Ref& dst, const std::vector<kir::Operand>& operands) {
    if (dst.width != 1 || !note(storedAs(*dst.buffer))) {
      return false;
    }
    // A value that all iterations share is no vector.
    const bool shared = lanes.registers.count(dst.buffer) == 0 && strideOf(dst, lanes) == 0;
    return !shared && std::all_of(operands.begin(), operands.end(), [&](const auto& operand) {
      auto* ref = std::get_if<kir::Ref>(&operand);
      // Others are converted before they become a vector.
      return ref == nullptr || (ref->width == 1 && note(dtypeOf(operand)));
    });
  };
  for (const kir::Stmt& stmt : block) {
    if (auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
      if (declare->buffer->elements == nullptr || !declare->buffer->elements->isConstant(1) ||
          !note(storedAs(*declare->buffer))) {
        return false;
      }
      lanes.registers.insert(declare->buffer);
    } else if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
      lanes.lets[let->var] = kernel_.pool->substitute(let->value, lanes.lets);
    } else if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
      if (hasEffect(compute->op) || !note(compute->compute) ||
          !fits(compute->dst, compute->operands) ||
          (partial && lanes.registers.count(compute->dst.buffer) != 0)) {
        return false;
      }
    } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
      if (!fits(assign->dst, {assign->src}) ||
          (partial && lanes.registers.count(assign->dst.buffer) != 0)) {
        return false;
      }
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      if (partial || !fits(guarded->dst, {guarded->src, guarded->otherwise})) {
        return false;
      }
    } else if (auto* random = std::get_if<kir::Random>(&stmt.node)) {
      if (partial || !fits(random->dst, random->parameters)) {
        return false;
      }
    } else if (auto* combine = std::get_if<kir::Combine>(&stmt.node)) {
      if (!note(storedAs(*combine->state[0].buffer)) || !note(dtypeOf(combine->value[0])) ||
          !lanesFit(*combine, partial, lanes)) {
        return false;
      }
    } else if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      Scalar uniform = nullptr;
      if ((branch->else_body != nullptr && !branch->else_body->empty()) ||
          prefixOf(branch->condition, lanes, &uniform) == nullptr ||
          !lanesFit(*branch->then_body, true, lanes)) {
        return false;
      }
    } else {
      return false;
    }
  }
  return true;
}

namespace {

/// The only condition of a body, under which everything in it stands; null: there is none.
const kir::If* onlyBranch(const kir::Block& body) {
  const kir::If* only = nullptr;
  for (const kir::Stmt& stmt : body) {
    if (std::holds_alternative<kir::Declare>(stmt.node) ||
        std::holds_alternative<kir::Let>(stmt.node)) {
      continue;
    }
    auto* branch = std::get_if<kir::If>(&stmt.node);
    if (branch == nullptr || only != nullptr) {
      return nullptr;
    }
    only = branch;
  }
  return only;
}

/// How many vectors a sum is kept in, so that an addition need not wait for the one before.
int64_t partsOf(const kir::For& loop, const LaneLoop& lanes) {
  int64_t statements = 0;
  bool simple = true;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    const auto* compute = std::get_if<kir::Compute>(&stmt.node);
    statements += compute != nullptr ? 1 : 0;
    simple =
        simple && (compute == nullptr ||
                   std::visit([](auto op) { return pointwiseRow(op).cost; }, compute->op) <= 2);
  });
  const bool long_enough =
      !loop.extent->isConstant() || loop.extent->value >= kSumParts * lanes.width;
  return !lanes.sums.empty() && simple && statements <= kMostSimpleStatements && long_enough
             ? kSumParts
             : 1;
}

}  // namespace

std::optional<LaneLoop> HostEmitter::lanesOf(const kir::For& loop) {
  if (loop.kind != kir::LoopKind::Simd ||
      (loop.extent->isConstant() && loop.extent->value < kLeastLanes)) {
    return std::nullopt;
  }
  LaneLoop lanes;
  lanes.var = loop.var;
  lanes.width = kVectorBytes / 4;
  lanes.count = "n_" + scalar_.name(loop.var);
  bool fits = false;
  if (const kir::If* branch = onlyBranch(*loop.body)) {
    // Its condition becomes the end of the loop.
    kir::Block before;
    for (const kir::Stmt& stmt : *loop.body) {
      if (!std::holds_alternative<kir::If>(stmt.node)) {
        before.push_back(stmt);
      }
    }
    Scalar uniform = nullptr;
    fits = lanesFit(before, false, lanes) &&
           (branch->else_body == nullptr || branch->else_body->empty()) &&
           prefixOf(branch->condition, lanes, &uniform) != nullptr &&
           lanesFit(*branch->then_body, false, lanes);
  } else {
    fits = lanesFit(*loop.body, false, lanes);
  }
  if (!fits) {
    return std::nullopt;
  }
  // Neighbours in memory are what a vector is for.
  bool neighbours = false;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    auto look = [&](const kir::Ref& ref) {
      neighbours |= lanes.registers.count(ref.buffer) == 0 && strideOf(ref, lanes) == 1;
    };
    auto lookAt = [&](const kir::Operand& operand) {
      if (auto* ref = std::get_if<kir::Ref>(&operand)) {
        look(*ref);
      }
    };
    if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
      look(compute->dst);
      std::for_each(compute->operands.begin(), compute->operands.end(), lookAt);
    } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
      look(assign->dst);
      lookAt(assign->src);
    } else if (auto* combine = std::get_if<kir::Combine>(&stmt.node)) {
      look(combine->state[0]);
      lookAt(combine->value[0]);
    }
  });
  if (!neighbours) {
    return std::nullopt;
  }
  if (loop.extent->isConstant()) {
    lanes.width = std::min<int64_t>(
        lanes.width,
        static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(loop.extent->value))));
  }
  return lanes;
}

// ---- values

std::string HostEmitter::laneType(DataType dtype, const LaneLoop& lanes) {
  return text("Lanes<", typeName(dtype), ", ", lanes.width, ">");
}

std::string HostEmitter::laneFill(const std::string& element, DataType dtype,
                                  const LaneLoop& lanes) {
  return text("simdFill<", lanes.width, ">(lanesOne<", typeName(dtype), ">(", element, "))");
}

Scalar HostEmitter::atLane(Scalar index, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  const Scalar lane = pool.symbol("e", pool.constant(lanes.width), 0, lanes.width - 1);
  return pool.substitute(pool.substitute(index, lanes.lets),
                         {{lanes.var, pool.add(lanes.var, lane)}});
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
    std::string lane = text(ref->buffer->name, "[e]");
    if (isBooleanType(from)) {
      lane += " != 0";
    } else if (isReducedPrecisionFloat(from)) {
      lane = text(typeName(from), "::fromBits(", lane, ")");
    }
    return converted(lane, from, dtype);
  }
  if (auto* index = std::get_if<kir::IndexValue>(&operand)) {
    return operandText(kir::IndexValue{atLane(index->index, lanes), index->dtype}, dtype);
  }
  return operandText(operand, dtype);
}

std::string HostEmitter::laneEach(const std::string& element, DataType dtype,
                                  const LaneLoop& lanes) {
  return text("lanesEach<", lanes.width, ", ", typeName(dtype), ">(", lanes.count,
              ", [&](int e) __attribute__((always_inline)) -> ", typeName(dtype), " { return ",
              element, "; })");
}

std::string HostEmitter::laneCast(const std::string& value, DataType from, DataType to,
                                  const LaneLoop& lanes) {
  from = resolved(from);
  to = resolved(to);
  if (from == to) {
    return value;
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

std::string HostEmitter::laneOperand(const kir::Operand& operand, DataType dtype,
                                     const LaneLoop& lanes) {
  dtype = resolved(dtype);
  const DataType from = dtypeOf(operand);
  auto* ref = std::get_if<kir::Ref>(&operand);
  if (ref == nullptr) {
    return std::holds_alternative<kir::IndexValue>(operand)
               ? laneEach(laneElement(operand, dtype, lanes), dtype, lanes)
               : laneFill(operandText(operand, dtype), dtype, lanes);
  }
  // A float cut to an integer has no text on vectors.
  if (isIntegralType(dtype) && isFloatingPointType(from)) {
    return laneEach(laneElement(operand, dtype, lanes), dtype, lanes);
  }
  std::string value;
  const auto stride = strideOf(*ref, lanes);
  if (lanes.registers.count(ref->buffer) != 0) {
    value = ref->buffer->name;
  } else if (stride == 1) {
    value = text("lanesRead<", lanes.width, ">(", addressText(*ref), ", ", lanes.count, ")");
  } else if (stride == 0) {
    return laneFill(converted(refText(*ref), from, dtype), dtype, lanes);
  } else {
    value = laneEach(laneElement(operand, from, lanes), from, lanes);
  }
  return laneCast(value, from, dtype, lanes);
}

// ---- statements

void HostEmitter::laneStore(const kir::Ref& dst, const std::string& value, const LaneLoop& lanes,
                            bool streaming) {
  if (lanes.registers.count(dst.buffer) != 0) {
    out_.line(text(dst.buffer->name, " = ", value, ";"));
    return;
  }
  const DataType dtype = storedAs(*dst.buffer);
  if (strideOf(dst, lanes) == 1) {
    streams_ |= streaming;
    out_.line(text(streaming ? "lanesStream(" : "lanesWrite(", addressText(dst), ", ", value, ", ",
                   lanes.count, ");"));
    return;
  }
  kir::Ref at = dst;
  at.index = atLane(dst.index, lanes);
  const std::string element = isBooleanType(dtype) ? std::string("x != 0")
                              : isReducedPrecisionFloat(dtype)
                                  ? text(typeName(dtype), "::fromBits(x)")
                                  : std::string("x");
  out_.line(text("lanesSpread(", value, ", ", lanes.count, ", [&](int e, auto x) { ", refText(at),
                 " = ", element, "; });"));
}

void HostEmitter::laneStatement(const kir::Compute& compute, LaneLoop& lanes) {
  const DataType dtype = storedAs(*compute.dst.buffer);
  const DataType type = resolved(compute.compute);
  const bool selects = std::holds_alternative<TernaryOpType>(compute.op) &&
                       std::get<TernaryOpType>(compute.op) == TernaryOpType::Where;
  auto dtypeAt = [&](size_t i) { return selects && i == 0 ? DataType(DataType::Bool) : type; };
  const auto* unary = std::get_if<UnaryOpType>(&compute.op);
  if (unary != nullptr && *unary == UnaryOpType::Cast) {
    laneStore(compute.dst, laneOperand(compute.operands[0], dtype, lanes), lanes);
    return;
  }
  std::vector<std::string> operands;
  for (size_t i = 0; i < compute.operands.size(); ++i) {
    operands.push_back(laneOperand(compute.operands[i], dtypeAt(i), lanes));
  }
  const bool bit_cast = unary != nullptr && *unary == UnaryOpType::BitCast;
  std::string value =
      bit_cast ? std::string()
               : std::visit([&](auto op) { return lanesText(op, type, operands); }, compute.op);
  const DataType natural =
      std::visit([&](auto op) { return pointwiseRow(op).resultType(type); }, compute.op);
  // A float cut to an integer has no text on vectors.
  if (value.empty() || (isIntegralType(dtype) && isFloatingPointType(natural))) {
    std::vector<std::string> elements;
    for (size_t i = 0; i < compute.operands.size(); ++i) {
      elements.push_back(laneElement(compute.operands[i], dtypeAt(i), lanes));
    }
    laneStore(compute.dst, laneEach(pointwise(compute.op, type, dtype, elements), dtype, lanes),
              lanes);
    return;
  }
  const std::string_view pattern =
      std::visit([&](auto op) { return lanesPattern(pointwiseRow(op).name, type); }, compute.op);
  if (pattern.find("simd") != std::string_view::npos) {
    snippets_.add("cpu/simd_math.h");
  }
  if (isBooleanType(natural) && !isBooleanType(type)) {
    value = text("lanesTruth(", value, ")");
  }
  laneStore(compute.dst, laneCast(value, natural, dtype, lanes), lanes);
}

void HostEmitter::laneStatement(const kir::Combine& combine, LaneLoop& lanes) {
  const kir::Ref& state = combine.state[0];
  const DataType dtype = storedAs(*state.buffer);
  std::string value = laneOperand(combine.value[0], dtype, lanes);
  auto combined = [&](const std::string& a, const std::string& b) {
    return lanesText(combine.monoid.op, dtype, std::vector<std::string>{a, b});
  };
  for (const auto& [sum, name] : lanes.sums) {
    if (sum == &combine) {
      const std::string identity =
          laneFill(operandText(combine.monoid.identity[0], dtype), dtype, lanes);
      value = text("lanesKeep(", value, ", ", identity, ", ", lanes.count, ")");
      const std::string lanes_of_part = text(name, lanes.part);
      out_.line(text(lanes_of_part, " = ", combined(lanes_of_part, value), ";"));
      return;
    }
  }
  laneStore(state, combined(laneOperand(state, dtype, lanes), value), lanes);
}

void HostEmitter::laneBlock(const kir::Block& block, LaneLoop& lanes) {
  for (const kir::Stmt& stmt : block) {
    if (auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
      const kir::Buffer& buffer = *declare->buffer;
      out_.line(text(laneType(storedAs(buffer), lanes), " ", buffer.name, ";"), comment(buffer));
    } else if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
      Emitter::emit(*let);
    } else if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
      laneStatement(*compute, lanes);
    } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
      laneStore(assign->dst, laneOperand(assign->src, storedAs(*assign->dst.buffer), lanes), lanes,
                assign->cache_op == CacheOp::Streaming &&
                    assign->dst.buffer->memory == MemoryType::Global);
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      const DataType dtype = storedAs(*guarded->dst.buffer);
      laneStore(guarded->dst,
                laneEach(text(scalar_.operand(atLane(guarded->condition, lanes)), " ? ",
                              laneElement(guarded->src, dtype, lanes), " : ",
                              laneElement(guarded->otherwise, dtype, lanes)),
                         dtype, lanes),
                lanes);
    } else if (auto* random = std::get_if<kir::Random>(&stmt.node)) {
      kir::Random at = *random;
      at.element = atLane(random->element, lanes);
      laneStore(random->dst, laneEach(randomText(at), storedAs(*random->dst.buffer), lanes), lanes);
    } else if (auto* combine = std::get_if<kir::Combine>(&stmt.node)) {
      laneStatement(*combine, lanes);
    } else if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      Scalar uniform = nullptr;
      Scalar prefix = prefixOf(branch->condition, lanes, &uniform);
      const std::string around = lanes.count;
      kir::ScalarPool& pool = *kernel_.pool;
      const int64_t limit = lanes.width;
      Scalar count = around == text(limit) ? pool.constant(limit) : pool.symbol(around);
      if (!prefix->isConstant(INT64_MAX)) {
        count = pool.min(count, pool.sub(prefix, lanes.var));
      }
      lanes.count = text("m_", scalar_.name(lanes.var));
      out_.open("{");
      out_.line(text("const Index ", lanes.count, " = ", scalar_(count), ";"));
      out_.open(text("if (", lanes.count, " > 0",
                     uniform->isConstant(1) ? std::string() : text(" && (", scalar_(uniform), ")"),
                     ") {"));
      laneBlock(*branch->then_body, lanes);
      out_.close();
      out_.close();
      lanes.count = around;
    }
  }
}

void HostEmitter::laneLoop(const kir::For& loop, LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  snippets_.addBasics();
  snippets_.add("cpu/lanes.h");
  const std::string var = scalar_.name(loop.var);
  const kir::If* branch = onlyBranch(*loop.body);
  Scalar end = loop.extent;
  Scalar uniform = pool.one();
  if (branch != nullptr) {
    const Scalar prefix = prefixOf(branch->condition, lanes, &uniform);
    end = prefix->isConstant(INT64_MAX) ? end : pool.min(end, prefix);
  }
  const bool scope = !lanes.sums.empty() || !end->isConstant() || !uniform->isConstant(1);
  if (scope) {
    out_.open(uniform->isConstant(1) ? std::string("{") : text("if (", scalar_(uniform), ") {"));
  }
  std::string end_text = scalar_.operand(end);
  if (!end->isConstant() && end->op != kir::ScalarOp::Symbol) {
    out_.line(text("const Index end_", var, " = ", scalar_(end), ";"));
    end_text = "end_" + var;
  }
  const bool whole = end->isConstant() && end->value % lanes.width == 0;
  const int64_t parts = partsOf(loop, lanes);
  for (const auto& [combine, name] : lanes.sums) {
    const DataType dtype = storedAs(*combine->state[0].buffer);
    for (int64_t part = 0; part < parts; ++part) {
      out_.line(text(laneType(dtype, lanes), " ", name, part, " = ",
                     laneFill(operandText(combine->monoid.identity[0], dtype), dtype, lanes), ";"));
    }
  }
  auto body = [&] {
    if (branch == nullptr) {
      laneBlock(*loop.body, lanes);
      return;
    }
    kir::Block before;
    for (const kir::Stmt& stmt : *loop.body) {
      if (!std::holds_alternative<kir::If>(stmt.node)) {
        before.push_back(stmt);
      }
    }
    laneBlock(before, lanes);
    laneBlock(*branch->then_body, lanes);
  };
  const std::string count = lanes.count;
  std::string begin = "0";
  if (parts > 1) {
    begin = "at_" + var;
    const int64_t step = parts * lanes.width;
    lanes.count = text(lanes.width);
    out_.line(text("Index ", begin, " = 0;"));
    out_.open(
        text("for (; ", begin, " + ", step, " <= ", end_text, "; ", begin, " += ", step, ") {"),
        loop.comment);
    for (lanes.part = 0; lanes.part < parts; ++lanes.part) {
      out_.open("{");
      out_.line(text("const Index ", var, " = ", begin, " + ", lanes.part * lanes.width, ";"));
      body();
      out_.close();
    }
    out_.close();
    lanes.part = 0;
  }
  out_.open(text("for (Index ", var, " = ", begin, "; ", var, " < ", end_text, "; ", var,
                 " += ", lanes.width, ") {"),
            loop.comment);
  lanes.count = whole ? text(lanes.width) : count;
  if (!whole) {
    out_.line(text("const Index ", lanes.count, " = ", end_text, " - ", var, ";"));
  }
  body();
  out_.close();
  for (const auto& [combine, name] : lanes.sums) {
    const DataType dtype = storedAs(*combine->state[0].buffer);
    for (int64_t part = 1; part < parts; ++part) {
      out_.line(text(name, "0 = ",
                     lanesText(combine->monoid.op, dtype,
                               std::vector<std::string>{name + "0", text(name, part)}),
                     ";"));
    }
  }
  for (const auto& [combine, name] : lanes.sums) {
    const kir::Ref& state = combine->state[0];
    const DataType dtype = storedAs(*state.buffer);
    out_.line(text(
        "for (int e = 0; e < ", lanes.width, "; ++e) ", refText(state), " = ",
        pointwise(combine->monoid.op, dtype, dtype, {refText(state), text(name, "0[e]")}), ";"));
  }
  if (scope) {
    out_.close();
  }
}

void HostEmitter::emit(const kir::For& loop) {
  if (turns(loop)) {
    return;
  }
  if (std::optional<LaneLoop> lanes = lanesOf(loop)) {
    laneLoop(loop, *lanes);
    return;
  }
  Emitter::emit(loop);
}

}  // namespace nvfuser::codegen
