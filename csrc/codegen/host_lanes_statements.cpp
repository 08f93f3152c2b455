/// Statements of a loop of vectors (host_lanes.cpp), each for N iterations at once.
///
///   T2 = mul(T0[…], T1[…])        →     T2 = lanesRead<16>(&T0[…], n_k) * …
///   if (bid_x * 8192 + k < i1)          { const Index m_k = indexMin(n_k, i1 - bid_x * 8192 - k);
///     T3[…] = T2                          if (m_k > 0) { lanesWrite(&T3[…], T2, m_k); } }
///
/// What all lanes share is computed as anywhere else, once.
#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

/// Statements of one element, whose result all lanes may share (resultOf).
template <typename Node>
constexpr bool kComputesElement =
    std::is_same_v<Node, kir::Compute> || std::is_same_v<Node, kir::Assign> ||
    std::is_same_v<Node, kir::Guarded>;

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
  const bool is_narrow = storedAs(*load.src.buffer) == DataType::Int32;
  const DataType dtype = is_narrow ? DataType::Int32 : DataType::Int;
  std::string index = laneOperand(load.src, dtype, lanes);
  if (load.range >= 0) {
    index = text("lanesHeld(range", load.range, ", ", index, ", ", lanes.count, ")");
    lanes.ranges[load.var] = load.range;
  }
  index = laneCast(index, dtype, DataType::Int, lanes);
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

void HostEmitter::laneStatement(const kir::Declare& declare, LaneLoop& lanes) {
  const kir::Buffer& buffer = *declare.buffer;
  if (lanes.places.count(&buffer) != 0) {
    return;
  }
  if (lanes.scalars.count(&buffer) != 0) {
    Emitter::emit(declare);
    return;
  }
  out_.line(text(laneType(storedAs(buffer), lanes), " ", buffer.name, ";"), comment(buffer));
}

void HostEmitter::laneStatement(const kir::Let& let, LaneLoop&) { Emitter::emit(let); }

void HostEmitter::laneStatement(const kir::Assign& assign, LaneLoop& lanes) {
  if (lanes.places.count(assign.dst.buffer) != 0) {
    return;
  }
  const auto* src = std::get_if<kir::Ref>(&assign.src);
  if (src != nullptr && lanes.registers.count(src->buffer) == 0 && strideOf(*src, lanes) == 0) {
    lanes.filled.insert(assign.dst.buffer);
  }
  laneStore(
      assign.dst, laneOperand(assign.src, storedAs(*assign.dst.buffer), lanes), lanes,
      assign.cache_op == CacheOp::Streaming && assign.dst.buffer->memory == MemoryType::Global);
}

void HostEmitter::laneStatement(const kir::Guarded& guarded, LaneLoop& lanes) {
  const DataType dtype = storedAs(*guarded.dst.buffer);
  std::string value = laneWindow(guarded, lanes);
  value = value.empty() ? laneChoice(guarded, lanes) : value;
  if (!value.empty()) {
    laneStore(guarded.dst, value, lanes);
    return;
  }
  laneStore(guarded.dst,
            laneEach(text(scalar_.operand(atLane(guarded.condition, lanes)), " ? ",
                          laneElement(guarded.src, dtype, lanes), " : ",
                          laneElement(guarded.otherwise, dtype, lanes)),
                     dtype, lanes),
            lanes);
}

void HostEmitter::laneStatement(const kir::Fetch& fetch, LaneLoop&) {
  out_.line(text("lanesFetch<", fetch.to_write ? "true" : "false", ">(", fetch.at.buffer->name,
                 " + (", scalar_(fetch.at.index), "));"));
}

void HostEmitter::laneStatement(const kir::If& branch, LaneLoop& lanes) {
  if (const auto once = storesOnce(branch, lanes)) {
    laneStoresOnce(branch, *once, lanes);
    return;
  }
  const LaneRange prefix = *prefixOf(branch.condition, lanes);
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
  laneBlock(*branch.then_body, lanes);
  out_.close();
  out_.close();
  lanes.count = around;
}

void HostEmitter::laneStatement(const kir::Stmt& stmt, LaneLoop& lanes) {
  std::visit(
      [&](const auto& node) {
        if constexpr (kComputesElement<std::decay_t<decltype(node)>>) {
          if (lanes.scalars.count(node.dst.buffer) != 0) {  // one for all lanes
            Emitter::emit(node);
            return;
          }
        }
        if constexpr (requires { this->laneStatement(node, lanes); }) {
          this->laneStatement(node, lanes);
        }  // (of other kinds there are none: host_lanes_fit_statements.cpp)
      },
      stmt.node);
}

}  // namespace nvfuser::codegen
