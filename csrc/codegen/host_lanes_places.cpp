/// What depends on the place of an iteration, in a loop of vectors (host_lanes.cpp): memory read
/// through a window, a choice of two values, and comparisons of the place itself. None is taken
/// lane by lane:
///
///   T5 = 63 < k && k < 128 ? T0[k + …] : 0  →  T5 = lanesWindow<8>(T0, k + …, 64 - k, 128 - k, 0)
///   T5 = k < s ? T3 : T4                    →  T5 = lanesSelect(lanesBelow<8>(k, s), T3, T4)
///   if (k == s) T1[0] = T5                  →  the lane of T5 that is at s, where one is
///   T6 = index(k); T7 = lt(T6, s)           →  T7 = lanesBelow<8>(k, s), and T6 is no vector
///   T6 = index(k % 3); T7 = lt(T6, 1)       →  T7 = lanesTruth(lanesInPeriod<8, 3>(k % 3) < 1)
///
/// Where such comparisons are with numbers, at whole vectors, as parts of 32 columns are joined, a
/// loop becomes one for each part: the host's compiler sees that a window is whole, or nothing.
#include <algorithm>

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kMostPieces = 16;    ///< of a loop
constexpr int64_t kMostWritten = 640;  ///< statements in all of them

}  // namespace

std::optional<LaneRange> HostEmitter::rangeOf(Scalar condition, const LaneLoop& lanes) {
  kir::ScalarPool& pool = *kernel_.pool;
  LaneRange range{.begin = nullptr, .end = nullptr, .uniform = pool.one()};
  std::vector<Scalar> open{pool.substitute(condition, lanes.lets)};
  while (!open.empty()) {
    const Scalar part = open.back();
    open.pop_back();
    if (part->op == kir::ScalarOp::And) {
      open.insert(open.end(), part->args.rbegin(), part->args.rend());
      continue;
    }
    if (!kir::ScalarPool::contains(part, lanes.var)) {
      range.uniform = pool.logicalAnd(range.uniform, part);
      continue;
    }
    int64_t coefficient = 0;
    Scalar rest = nullptr;
    if (part->op == kir::ScalarOp::Equal &&
        pool.splitLinear(pool.sub(part->args[1], part->args[0]), lanes.var, &coefficient, &rest) &&
        std::abs(coefficient) == 1) {  // 0 == rest ± var
      const Scalar only = coefficient == -1 ? rest : pool.sub(pool.zero(), rest);
      const Scalar next = pool.add(only, pool.one());
      range.begin = range.begin == nullptr ? only : pool.max(range.begin, only);
      range.end = range.end == nullptr ? next : pool.min(range.end, next);
      continue;
    }
    if (part->op != kir::ScalarOp::Less ||
        !pool.splitLinear(pool.sub(part->args[1], part->args[0]), lanes.var, &coefficient, &rest)) {
      return std::nullopt;
    }
    if (coefficient == -1) {  // 0 < rest - var
      range.end = range.end == nullptr ? rest : pool.min(range.end, rest);
    } else if (coefficient == 1) {  // 0 < rest + var
      const Scalar first = pool.sub(pool.one(), rest);
      range.begin = range.begin == nullptr ? first : pool.max(range.begin, first);
    } else {
      return std::nullopt;
    }
  }
  return range;
}

std::optional<LaneRange> HostEmitter::storesOnce(const kir::If& branch, const LaneLoop& lanes) {
  const std::optional<LaneRange> range = rangeOf(branch.condition, lanes);
  const bool once = range.has_value() && range->begin != nullptr && range->end != nullptr &&
                    kernel_.pool->sub(range->end, range->begin)->isConstant(1);
  if (!once || (branch.else_body != nullptr && !branch.else_body->empty())) {
    return std::nullopt;
  }
  for (const kir::Stmt& stmt : *branch.then_body) {
    const auto* assign = std::get_if<kir::Assign>(&stmt.node);
    const auto* src = assign == nullptr ? nullptr : std::get_if<kir::Ref>(&assign->src);
    const auto read = assign == nullptr ? lanes.reads.end() : lanes.reads.find(assign->dst.buffer);
    if (src == nullptr || lanes.registers.count(src->buffer) == 0 || assign->dst.width != 1 ||
        assign->dst.buffer->memory != MemoryType::Global || strideOf(assign->dst, lanes) != 0 ||
        (read != lanes.reads.end() && read->second != 0)) {
      return std::nullopt;
    }
  }
  return range;
}

void HostEmitter::laneStoresOnce(const kir::If& branch, const LaneRange& once,
                                 const LaneLoop& lanes) {
  out_.open("{");
  out_.line(text("const Index e = ", scalar_(kernel_.pool->sub(once.begin, lanes.var)), ";"));
  out_.open(
      text("if (e >= 0 && e < ", lanes.count,
           once.uniform->isConstant(1) ? std::string() : text(" && (", scalar_(once.uniform), ")"),
           ") {"));
  for (const kir::Stmt& stmt : *branch.then_body) {
    const auto& assign = std::get<kir::Assign>(stmt.node);
    const DataType dtype = storedAs(*assign.dst.buffer);
    out_.line(text(refText(assign.dst), " = ", laneElement(assign.src, dtype, lanes), ";"));
  }
  out_.close();
  out_.close();
}

std::string HostEmitter::laneWindow(const kir::Guarded& guarded, const LaneLoop& lanes) {
  const DataType dtype = storedAs(*guarded.dst.buffer);
  auto* ref = std::get_if<kir::Ref>(&guarded.src);
  // (A single variable has no neighbours, whatever its index.)
  const auto isVariable = [](const kir::Buffer& buffer) {
    return buffer.elements != nullptr && buffer.elements->isConstant(1);
  };
  if (ref == nullptr || isVariable(*ref->buffer) || lanes.registers.count(ref->buffer) != 0 ||
      storedAs(*ref->buffer) != dtype || strideOf(*ref, lanes) != 1) {
    return "";
  }
  const std::optional<LaneRange> range = rangeOf(guarded.condition, lanes);
  if (!range.has_value()) {
    return "";
  }
  kir::ScalarPool& pool = *kernel_.pool;
  const Scalar first =
      range->begin == nullptr ? pool.constant(0) : pool.sub(range->begin, lanes.var);
  Scalar end =
      lanes.count == text(lanes.width) ? pool.constant(lanes.width) : pool.symbol(lanes.count);
  if (range->end != nullptr) {
    end = pool.min(end, pool.sub(range->end, lanes.var));
  }
  end = pool.select(range->uniform, end, pool.constant(0));
  // (The index apart: before the window, and behind it, it may lead out of the buffer, where no
  // address may be made. A compiler that sees one concludes that the index is never there.)
  return text("lanesWindow<", lanes.width, ">(", ref->buffer->name, ", ", scalar_(ref->index), ", ",
              scalar_(first), ", ", scalar_(end), ", ",
              laneOperand(guarded.otherwise, dtype, lanes), ")");
}

std::string HostEmitter::laneChoice(const kir::Guarded& guarded, const LaneLoop& lanes) {
  // What is read where the condition does not hold has to be there.
  auto isThere = [&](const kir::Operand& operand) {
    auto* ref = std::get_if<kir::Ref>(&operand);
    return ref != nullptr && lanes.registers.count(ref->buffer) != 0;
  };
  const std::optional<LaneRange> range = rangeOf(guarded.condition, lanes);
  if (!range.has_value()) {
    return "";
  }
  const bool is_uniform = range->begin == nullptr && range->end == nullptr;
  if (!is_uniform && (!isThere(guarded.src) || !isThere(guarded.otherwise))) {
    return "";
  }
  const DataType dtype = storedAs(*guarded.dst.buffer);
  const std::string then = laneOperand(guarded.src, dtype, lanes);
  const std::string otherwise = laneOperand(guarded.otherwise, dtype, lanes);
  if (is_uniform) {  // the other side is not evaluated
    return text("(", scalar_(range->uniform), ") ? ", then, " : ", otherwise);
  }
  kir::ScalarPool& pool = *kernel_.pool;
  auto below = [&](Scalar bound) {
    return text("lanesBelow<", lanes.width, ">(", scalar_(lanes.var), ", ", scalar_(bound), ")");
  };
  Scalar end = range->end == nullptr ? pool.add(lanes.var, pool.constant(lanes.width)) : range->end;
  end = pool.select(range->uniform, end, pool.zero());
  const std::string mask =
      range->begin == nullptr ? below(end) : text(below(end), " & ~", below(range->begin));
  return text("lanesSelect(", mask, ", ", then, ", ", otherwise, ")");
}

namespace {

bool isOrder(const kir::PointwiseType& op) {
  auto* binary = std::get_if<BinaryOpType>(&op);
  return binary != nullptr && (*binary == BinaryOpType::LT || *binary == BinaryOpType::LE ||
                               *binary == BinaryOpType::GT || *binary == BinaryOpType::GE);
}

bool countsPlaces(DataType dtype) { return dtype == DataType::Int || dtype == DataType::Int32; }

const kir::Buffer* accessedBy(const kir::Operand& operand) {
  auto* ref = std::get_if<kir::Ref>(&operand);
  return ref == nullptr ? nullptr : ref->buffer;
}

}  // namespace

bool HostEmitter::isPlace(const kir::Assign& assign, const LaneLoop& lanes) {
  const kir::Ref index{.buffer = assign.dst.buffer,
                       .index = std::get<kir::IndexValue>(assign.src).index};
  if (const auto stride = strideOf(index, lanes)) {
    return stride == 1;
  }
  const Scalar place = kernel_.pool->substitute(index.index, lanes.lets);
  const Scalar amid = lanes.readsVarying(place) ? nullptr : placeAmid(place, lanes);
  return amid != nullptr && amid->op == kir::ScalarOp::Mod;
}

bool HostEmitter::isPlaceCompared(const kir::Compute& compute, const LaneLoop& lanes) {
  return isOrder(compute.op) && (lanes.places.count(accessedBy(compute.operands[0])) != 0 ||
                                 lanes.places.count(accessedBy(compute.operands[1])) != 0);
}

const kir::Buffer* HostEmitter::comparedPlace(const kir::Compute& compute,
                                              const std::set<const kir::Buffer*>& places) {
  if (!isOrder(compute.op) || !countsPlaces(resolved(compute.compute))) {
    return nullptr;
  }
  for (size_t i = 0; i < 2; ++i) {
    const kir::Buffer* place = accessedBy(compute.operands[i]);
    const kir::Operand& bound = compute.operands[1 - i];
    const bool shared =
        std::holds_alternative<kir::ParamRef>(bound) || std::holds_alternative<kir::Literal>(bound);
    if (place != nullptr && places.count(place) != 0 && shared && isIntegralType(dtypeOf(bound))) {
      return place;
    }
  }
  return nullptr;
}

std::set<const kir::Buffer*> HostEmitter::placesOnlyCompared(const kir::For& loop) {
  std::set<const kir::Buffer*> declared;  // others are read behind the loop, too
  std::set<const kir::Buffer*> places;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
      declared.insert(declare->buffer);
    }
    auto* assign = std::get_if<kir::Assign>(&stmt.node);
    if (assign != nullptr && std::holds_alternative<kir::IndexValue>(assign->src) &&
        countsPlaces(storedAs(*assign->dst.buffer)) && declared.count(assign->dst.buffer) != 0) {
      places.insert(assign->dst.buffer);
    }
  });
  if (places.empty()) {
    return places;
  }
  std::set<const kir::Buffer*> others;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    auto* compute = std::get_if<kir::Compute>(&stmt.node);
    const kir::Buffer* compared = compute == nullptr ? nullptr : comparedPlace(*compute, places);
    auto* assign = std::get_if<kir::Assign>(&stmt.node);
    const bool defines = assign != nullptr && std::holds_alternative<kir::IndexValue>(assign->src);
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
      if (is_write ? !defines : ref.buffer != compared) {
        others.insert(ref.buffer);
      }
    });
  });
  std::erase_if(places, [&](const kir::Buffer* place) { return others.count(place) != 0; });
  return places;
}

std::vector<int64_t> HostEmitter::partsByPlace(const kir::For& loop, const LaneLoop& lanes) {
  std::set<int64_t> ends;
  if (!loop.extent->isConstant() || lanes.copied != nullptr || !lanes.sums.empty()) {
    return {};
  }
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    const auto* compute = std::get_if<kir::Compute>(&stmt.node);
    if (compute == nullptr || !isPlaceCompared(*compute, lanes)) {
      return;
    }
    const bool left = lanes.places.count(accessedBy(compute->operands[0])) != 0;
    const Scalar place = lanes.places.at(accessedBy(compute->operands[left ? 0 : 1]));
    const Scalar rest = kernel_.pool->sub(place, lanes.var);
    const auto* bound = std::get_if<kir::Literal>(&compute->operands[left ? 1 : 0]);
    if (bound == nullptr || !rest->isConstant()) {
      return;
    }
    const auto op = std::get<BinaryOpType>(compute->op);
    const bool beyond = left ? op == BinaryOpType::LE || op == BinaryOpType::GT
                             : op == BinaryOpType::LT || op == BinaryOpType::GE;
    const int64_t end = bound->value.as<int64_t>() - rest->value + (beyond ? 1 : 0);
    if (end > 0 && end < loop.extent->value && end % lanes.width == 0) {
      ends.insert(end);
    }
  });
  const auto parts = static_cast<int64_t>(ends.size()) + 1;
  return parts <= kMostPieces && parts * statementsOf(*loop.body) <= kMostWritten
             ? std::vector<int64_t>(ends.begin(), ends.end())
             : std::vector<int64_t>();
}

std::string HostEmitter::lanePlace(const kir::Compute& compute, const LaneLoop& lanes) {
  const bool left = lanes.places.count(accessedBy(compute.operands[0])) != 0;
  const Scalar place = lanes.places.at(accessedBy(compute.operands[left ? 0 : 1]));
  const std::string bound = operandText(compute.operands[left ? 1 : 0], DataType::Int);
  auto op = std::get<BinaryOpType>(compute.op);
  if (!left) {  // bound < place is place > bound
    op = op == BinaryOpType::LT   ? BinaryOpType::GT
         : op == BinaryOpType::LE ? BinaryOpType::GE
         : op == BinaryOpType::GT ? BinaryOpType::LT
                                  : BinaryOpType::LE;
  }
  if (const Scalar amid = strideOf({.buffer = nullptr, .index = place}, lanes).has_value()
                              ? nullptr
                              : placeAmid(place, lanes)) {
    snippets_.add("cpu/lanes_apart.h");
    const std::string sign = op == BinaryOpType::LT   ? " < "
                             : op == BinaryOpType::LE ? " <= "
                             : op == BinaryOpType::GT ? " > "
                                                      : " >= ";
    const int64_t period = amid->args[1]->value;
    const Scalar rest = kernel_.pool->sub(place, amid);
    return text("lanesTruth(lanesInPeriod<", lanes.width, ", ", period, ">(", scalar_(amid), ")",
                sign, "lanesPeriodBound<", period, ">(", bound, " - (", scalar_(rest), ")))");
  }
  const bool below = op == BinaryOpType::LT || op == BinaryOpType::GE;
  const bool negated = op == BinaryOpType::GT || op == BinaryOpType::GE;
  return text(negated ? "~" : "", below ? "lanesBelow<" : "lanesUpTo<", lanes.width, ">(",
              scalar_(place), ", ", bound, ")");
}

}  // namespace nvfuser::codegen
