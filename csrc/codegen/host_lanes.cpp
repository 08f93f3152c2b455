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
#include <utility>

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

void HostEmitter::addLaneSnippets(const kir::For& loop) {
  snippets_.addBasics();
  snippets_.add(kernel_.bounds != nullptr ? "cpu/checked_lanes.h" : "cpu/lanes.h");
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool) {
      if (isFp8(storedAs(*ref.buffer))) {
        snippets_.add("cpu/simd_fp8.h");
      }
    });
  });
}

LaneRange HostEmitter::lanesThatCount(const kir::For& loop, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  LaneRange all{nullptr, loop.extent, pool.one()};
  if (lanes.branch != nullptr) {
    const LaneRange prefix = *prefixOf(lanes.branch->condition, lanes);
    all.end = prefix.end == nullptr ? all.end : pool.min(all.end, prefix.end);
    all.uniform = prefix.uniform;
  }
  return all;
}

std::string HostEmitter::laneEnd(const std::string& var, Scalar end) {
  if (end->isConstant() || end->op == kir::ScalarOp::Symbol) {
    return scalar_.operand(end);
  }
  out_.line(text("const Index end_", var, " = ", scalar_(end), ";"));
  return "end_" + var;
}

void HostEmitter::startLaneSums(const LaneLoop& lanes, int64_t parts) {
  for (const auto& [combine, name] : lanes.sums) {
    const DataType dtype = storedAs(*combine->state[0].buffer);
    for (int64_t part = 0; part < parts; ++part) {
      out_.line(text(laneType(dtype, lanes), " ", name, part, " = ",
                     laneFill(operandText(combine->monoid.identity[0], dtype), dtype, lanes), ";"));
    }
  }
}

void HostEmitter::finishLaneSums(const LaneLoop& lanes, int64_t parts) {
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
}

void HostEmitter::laneIteration(const kir::For& loop, LaneLoop& lanes) {
  if (lanes.copied != nullptr) {
    laneCopies(lanes);
    return;
  }
  if (lanes.branch == nullptr) {
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
  laneBlock(*lanes.branch->then_body, lanes);
}

void HostEmitter::openLaneTurns(const kir::For& loop, const std::string& begin,
                                const std::string& end, const LaneLoop& lanes) {
  const std::string var = scalar_.name(loop.var);
  out_.open(text("for (Index ", var, " = ", begin, "; ", var, " < ", end, "; ", var,
                 " += ", lanes.width, ") {"),
            loop.comment);
}

std::string HostEmitter::laneTurnsOfParts(const kir::For& loop, const std::string& end,
                                          int64_t parts, LaneLoop& lanes) {
  if (parts == 1) {
    return "0";
  }
  const std::string var = scalar_.name(loop.var);
  const std::string begin = "at_" + var;
  const int64_t step = parts * lanes.width;
  const std::string count = std::exchange(lanes.count, text(lanes.width));
  out_.line(text("Index ", begin, " = 0;"));
  out_.open(text("for (; ", begin, " + ", step, " <= ", end, "; ", begin, " += ", step, ") {"),
            loop.comment);
  for (lanes.part = 0; lanes.part < parts; ++lanes.part) {
    out_.open("{");
    out_.line(text("const Index ", var, " = ", begin, " + ", lanes.part * lanes.width, ";"));
    laneIteration(loop, lanes);
    out_.close();
  }
  out_.close();
  lanes.part = 0;
  lanes.count = count;
  return begin;
}

void HostEmitter::wholeLaneTurns(const kir::For& loop, std::string begin, const std::string& end,
                                 LaneLoop& lanes) {
  lanes.count = text(lanes.width);
  if (!lanes.written_out) {
    for (int64_t part_end : partsByPlace(loop, lanes)) {
      openLaneTurns(loop, begin, text(part_end), lanes);
      laneIteration(loop, lanes);
      out_.close();
      begin = text(part_end);
    }
  }
  openLaneTurns(loop, begin, end, lanes);
  laneIteration(loop, lanes);
  out_.close();
}

void HostEmitter::cutLaneTurns(const kir::For& loop, const std::string& begin,
                               const std::string& end, LaneLoop& lanes) {
  // A loop that is written out goes on to where the compiler knows that it ends.
  openLaneTurns(loop, begin, lanes.written_out ? scalar_.operand(loop.extent) : end, lanes);
  out_.line(text("const Index ", lanes.count, " = ", end, " - ", scalar_.name(loop.var), ";"));
  if (lanes.written_out) {
    out_.line(text("if (", lanes.count, " <= 0) break;"));
  }
  laneIteration(loop, lanes);
  out_.close();
}

void HostEmitter::laneLoop(const kir::For& loop, LaneLoop& lanes) {
  addLaneSnippets(loop);
  const LaneRange counted = lanesThatCount(loop, lanes);
  const Scalar end = counted.end;
  const Scalar uniform = counted.uniform;
  const bool scope = !lanes.sums.empty() || !end->isConstant() || !uniform->isConstant(1);
  if (scope) {
    out_.open(uniform->isConstant(1) ? std::string("{") : text("if (", scalar_(uniform), ") {"));
  }
  const std::string end_text = laneEnd(scalar_.name(loop.var), end);
  const int64_t parts = partsOf(loop, lanes);
  startLaneSums(lanes, parts);
  const std::string begin = laneTurnsOfParts(loop, end_text, parts, lanes);
  const bool whole = end->isConstant() && end->value % lanes.width == 0;
  if (lanes.written_out) {
    const int64_t vectors = (whole ? end : loop.extent)->value / lanes.width;
    if (vectors > 1) {
      out_.directive(text("#pragma GCC unroll ", vectors));
    }
  }
  if (whole) {
    wholeLaneTurns(loop, begin, end_text, lanes);
  } else {
    cutLaneTurns(loop, begin, end_text, lanes);
  }
  finishLaneSums(lanes, parts);
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
