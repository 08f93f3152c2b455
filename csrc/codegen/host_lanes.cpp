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

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kSumParts = 4;
constexpr int64_t kMostSimpleStatements = 6;

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

void HostEmitter::laneStatement(const kir::Random& random, LaneLoop& lanes) {
  const DataType dtype = storedAs(*random.dst.buffer);
  const bool fixed = !std::holds_alternative<kir::Ref>(random.seed) &&
                     !std::holds_alternative<kir::Ref>(random.offset);
  int64_t step = 0;
  Scalar rest = nullptr;
  const bool of_one_sequence = random.type != RNGOpType::UniformOfThreads;
  const bool run = fixed && of_one_sequence && dtype != DataType::Double &&
                   kernel_.pool->splitLinear(kernel_.pool->substitute(random.element, lanes.lets),
                                             lanes.var, &step, &rest) &&
                   step == 1;
  if (!run) {
    kir::Random at = random;
    at.element = atLane(random.element, lanes);
    laneStore(random.dst, laneEach(randomText(at), dtype, lanes), lanes);
    return;
  }
  // Neighbours take the words of blocks that were drawn together.
  const std::string& name = random.dst.buffer->name;
  const std::string element = text("u64(", scalar_(random.element), ")");
  const std::string words = text(name, "_run.words(", generatorText(random), ", ", element, ")");
  snippets_.add("cpu/simd_philox.h");
  runs_.insert(name);
  const std::string drawn =
      drawsNormal(random)
          ? text("simdNormal<", lanes.width, ">(", words, ", ", element, ")")
          : text("simdUniform<", significandBits(dtype), ", ", lanes.width, ">(", words, ")");
  std::string value = drawn;
  if (!random.parameters.empty()) {
    const bool is_normal = drawsNormal(random);
    const std::string start = laneOperand(random.parameters[0], DataType::Float, lanes);
    const std::string other = laneOperand(random.parameters[1], DataType::Float, lanes);
    value = text("simdSpread(", drawn, ", ",
                 is_normal ? other : text("(", other, ") - (", start, ")"), ", ", start, ")");
  }
  laneStore(random.dst, laneCast(value, DataType::Float, dtype, lanes), lanes);
}

void HostEmitter::laneStatement(const kir::LoadIndex& load, LaneLoop& lanes) {
  if (!lanes.varies(load.var)) {
    Emitter::emit(load);
    return;
  }
  snippets_.add("cpu/lanes_at.h");
  std::string index = laneOperand(load.src, DataType::Int, lanes);
  if (load.range >= 0) {
    index = text("lanesHeld(range", load.range, ", ", index, ", ", lanes.count, ")");
  }
  out_.line(text(laneType(DataType::Int, lanes), " ", scalar_.name(load.var), " = ", index, ";"));
}

void HostEmitter::laneBlock(const kir::Block& block, LaneLoop& lanes) {
  const std::vector<std::string> conditions = readUnder(block, lanes);
  std::string under;
  for (size_t i = 0; i <= block.size(); ++i) {
    const std::string condition = i < block.size() ? conditions[i] : std::string();
    if (condition != under) {
      if (!under.empty()) {
        out_.close();
      }
      if (!condition.empty()) {
        out_.open(text("if (", condition, ") {"));
      }
      under = condition;
    }
    if (i < block.size()) {
      laneStatement(block[i], lanes);
    }
  }
}

void HostEmitter::laneStatement(const kir::Stmt& stmt, LaneLoop& lanes) {
  if (auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
    const kir::Buffer& buffer = *declare->buffer;
    if (lanes.places.count(&buffer) != 0) {
      return;
    }
    if (lanes.scalars.count(&buffer) != 0) {
      Emitter::emit(*declare);
      return;
    }
    out_.line(text(laneType(storedAs(buffer), lanes), " ", buffer.name, ";"), comment(buffer));
  } else if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
    Emitter::emit(*let);
  } else if (auto* load = std::get_if<kir::LoadIndex>(&stmt.node)) {
    laneStatement(*load, lanes);
  } else if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
    if (lanes.scalars.count(compute->dst.buffer) != 0) {
      Emitter::emit(*compute);
      return;
    }
    laneStatement(*compute, lanes);
  } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
    if (lanes.scalars.count(assign->dst.buffer) != 0) {
      Emitter::emit(*assign);
      return;
    }
    if (lanes.places.count(assign->dst.buffer) != 0) {
      return;
    }
    const auto* src = std::get_if<kir::Ref>(&assign->src);
    if (src != nullptr && lanes.registers.count(src->buffer) == 0 && strideOf(*src, lanes) == 0) {
      lanes.filled.insert(assign->dst.buffer);
    }
    laneStore(
        assign->dst, laneOperand(assign->src, storedAs(*assign->dst.buffer), lanes), lanes,
        assign->cache_op == CacheOp::Streaming && assign->dst.buffer->memory == MemoryType::Global);
  } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
    if (lanes.scalars.count(guarded->dst.buffer) != 0) {
      Emitter::emit(*guarded);
      return;
    }
    const DataType dtype = storedAs(*guarded->dst.buffer);
    std::string value = laneWindow(*guarded, lanes);
    value = value.empty() ? laneChoice(*guarded, lanes) : value;
    if (!value.empty()) {
      laneStore(guarded->dst, value, lanes);
      return;
    }
    laneStore(guarded->dst,
              laneEach(text(scalar_.operand(atLane(guarded->condition, lanes)), " ? ",
                            laneElement(guarded->src, dtype, lanes), " : ",
                            laneElement(guarded->otherwise, dtype, lanes)),
                       dtype, lanes),
              lanes);
  } else if (auto* random = std::get_if<kir::Random>(&stmt.node)) {
    laneStatement(*random, lanes);
  } else if (auto* fetch = std::get_if<kir::Fetch>(&stmt.node)) {
    out_.line(text("lanesFetch<", fetch->to_write ? "true" : "false", ">(", fetch->at.buffer->name,
                   " + (", scalar_(fetch->at.index), "));"));
  } else if (auto* combine = std::get_if<kir::Combine>(&stmt.node)) {
    laneStatement(*combine, lanes);
  } else if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
    if (const auto once = storesOnce(*branch, lanes)) {
      laneStoresOnce(*branch, *once, lanes);
      return;
    }
    const LaneRange prefix = *prefixOf(branch->condition, lanes);
    const std::string around = lanes.count;
    kir::ScalarPool& pool = *kernel_.pool;
    const int64_t limit = lanes.width;
    Scalar count = around == text(limit) ? pool.constant(limit) : pool.symbol(around);
    if (prefix.end != nullptr) {
      count = pool.min(count, pool.sub(prefix.end, lanes.var));
    }
    // A condition in a condition counts fewer of the lanes: m_, mm_, …
    lanes.count = around.starts_with('m') ? "m" + around : text("m_", scalar_.name(lanes.var));
    out_.open("{");
    out_.line(text("const Index ", lanes.count, " = ", scalar_(count), ";"));
    out_.open(text(
        "if (", lanes.count, " > 0",
        prefix.uniform->isConstant(1) ? std::string() : text(" && (", scalar_(prefix.uniform), ")"),
        ") {"));
    laneBlock(*branch->then_body, lanes);
    out_.close();
    out_.close();
    lanes.count = around;
  }
}

void HostEmitter::laneLoop(const kir::For& loop, LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  snippets_.addBasics();
  snippets_.add(kernel_.bounds != nullptr ? "cpu/checked_lanes.h" : "cpu/lanes.h");
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool) {
      if (isFp8(storedAs(*ref.buffer))) {
        snippets_.add("cpu/simd_fp8.h");
      }
    });
  });
  const std::string var = scalar_.name(loop.var);
  const kir::If* branch = lanes.branch;
  Scalar end = loop.extent;
  Scalar uniform = pool.one();
  if (branch != nullptr) {
    const LaneRange prefix = *prefixOf(branch->condition, lanes);
    end = prefix.end == nullptr ? end : pool.min(end, prefix.end);
    uniform = prefix.uniform;
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
  const std::string counted = end_text;  // up to which lanes count
  const int64_t parts = partsOf(loop, lanes);
  for (const auto& [combine, name] : lanes.sums) {
    const DataType dtype = storedAs(*combine->state[0].buffer);
    for (int64_t part = 0; part < parts; ++part) {
      out_.line(text(laneType(dtype, lanes), " ", name, part, " = ",
                     laneFill(operandText(combine->monoid.identity[0], dtype), dtype, lanes), ";"));
    }
  }
  auto body = [&] {
    if (lanes.copied != nullptr) {
      laneCopies(lanes);
      return;
    }
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
  if (lanes.written_out) {
    end_text = whole ? end_text : scalar_.operand(loop.extent);
    const int64_t vectors = (whole ? end : loop.extent)->value / lanes.width;
    if (vectors > 1) {
      out_.directive(text("#pragma GCC unroll ", vectors));
    }
  }
  lanes.count = whole ? text(lanes.width) : count;
  if (whole && !lanes.written_out) {
    for (int64_t part_end : partsByPlace(loop, lanes)) {
      out_.open(text("for (Index ", var, " = ", begin, "; ", var, " < ", part_end, "; ", var,
                     " += ", lanes.width, ") {"),
                loop.comment);
      body();
      out_.close();
      begin = text(part_end);
    }
  }
  out_.open(text("for (Index ", var, " = ", begin, "; ", var, " < ", end_text, "; ", var,
                 " += ", lanes.width, ") {"),
            loop.comment);
  if (!whole) {
    out_.line(text("const Index ", lanes.count, " = ", counted, " - ", var, ";"));
    if (lanes.written_out) {
      out_.line(text("if (", lanes.count, " <= 0) break;"));
    }
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
  if (turns(loop) || foldsLanes(loop) || laneLoopInPieces(loop)) {
    return;
  }
  if (std::optional<LaneLoop> lanes = lanesOf(loop)) {
    laneLoop(loop, *lanes);
    return;
  }
  if (!copiesAroundLanes(loop)) {
    Emitter::emit(loop);
  }
}

}  // namespace nvfuser::codegen
