/// Loops of vectors that are written out, so that the arrays of a task which they go through stay
/// in registers: partial results of a sum, its lanes.
///
///   for (k = 0; k < end_k; k += 16) {            #pragma GCC unroll 4
///     n = end_k - k;                             for (k = 0; k < 64; k += 16) {
///     T4[k …] = T4[k …] + …, n of them     →       n = end_k - k;
///   }                                              if (n <= 0) break;
///                                                  T4[k …] = n of T4[k …] + …, and the others of
///                                                  T4
///                                                }
///
/// The compiler holds an array in registers if it knows each place that is touched: so loops around
/// have constant ends, and vectors are read and written whole. What an iteration adds would wait
/// for the store of the one before otherwise (sums of rows took twice as long,
/// docs/performance.md).
#include <algorithm>

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kMostRegisters = 8;     ///< that an array may take
constexpr int64_t kMostIterations = 16;   ///< of a loop that is written out
constexpr int64_t kMostStatements = 128;  ///< in all of them
constexpr int64_t kOfState = 16;          ///< what a step of Welford and the like counts for

}  // namespace

int64_t HostEmitter::iterationsOf(const kir::For& loop) {
  const std::optional<LaneLoop> lanes = lanesOf(loop);
  const int64_t step = lanes.has_value() ? lanes->width : 1;
  return (loop.extent->value + step - 1) / step;
}

int64_t HostEmitter::statementsOf(const kir::Block& block) {
  int64_t statements = 0;
  for (const kir::Stmt& stmt : block) {
    if (const auto* loop = std::get_if<kir::For>(&stmt.node)) {
      if (!loop->extent->isConstant()) {
        return kMostStatements + 1;
      }
      statements += iterationsOf(*loop) * statementsOf(*loop->body);
    } else if (const auto* branch = std::get_if<kir::If>(&stmt.node)) {
      statements += statementsOf(*branch->then_body);
      statements += branch->else_body != nullptr ? statementsOf(*branch->else_body) : 0;
    } else if (const auto* combine = std::get_if<kir::Combine>(&stmt.node)) {
      statements += combine->monoid.kind == kir::Monoid::Kind::Op ? 1 : kOfState;
    } else if (!std::holds_alternative<kir::Declare>(stmt.node)) {
      ++statements;
    }
    if (statements > kMostStatements) {
      break;
    }
  }
  return statements;
}

bool HostEmitter::isSmallArray(const kir::Buffer& buffer) const {
  if (buffer.memory != MemoryType::Local || buffer.elements == nullptr ||
      !buffer.elements->isConstant() || buffer.elements->value == 1) {
    return false;
  }
  return buffer.elements->value * dataTypeSizeByte(resolved(buffer.dtype)) <=
         kMostRegisters * vector_bytes_;
}

bool HostEmitter::isWrittenOut(const kir::For& loop, int64_t lanes) {
  if (!loop.extent->isConstant()) {
    return false;
  }
  const int64_t iterations = (loop.extent->value + lanes - 1) / lanes;
  if (loop.extent->value < 2 || iterations > kMostIterations ||
      iterations * statementsOf(*loop.body) > kMostStatements) {
    return false;
  }
  bool indexed = false;
  std::unordered_map<Scalar, Scalar> lets;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (const auto* let = std::get_if<kir::Let>(&stmt.node)) {
      lets[let->var] = kernel_.pool->substitute(let->value, lets);
    }
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool) {
      indexed |= isSmallArray(*ref.buffer) &&
                 kir::ScalarPool::contains(kernel_.pool->substitute(ref.index, lets), loop.var);
    });
  });
  return indexed;
}

std::string HostEmitter::laneCount(const kir::Ref& ref, const LaneLoop& lanes) const {
  if (!lanes.written_out || !isSmallArray(*ref.buffer)) {
    return lanes.count;
  }
  // The lanes beyond the end lie in the array, too.
  const Scalar index = kernel_.pool->substitute(ref.index, lanes.lets);
  return index->hi < ref.buffer->elements->value ? text(lanes.width) : lanes.count;
}

}  // namespace nvfuser::codegen
