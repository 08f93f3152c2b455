/// A short loop around loops of vectors, written out: the compiler knows its number in each copy,
/// and copies go into the one loop of vectors that it consists of.
///
///   for k in 0..2 unrolled                  for i in 0..2048 by 8
///     for i in 0..2048 simd                   T2 = T0[i] * T1[i]
///       T2 = T0[i] * T1[i]                    T3 = T2 + T1[i]
///       T3 = T2 + T1[i]               →       { T6[i * 2] = T2 }
///       T4 = k < 1                            { T6[i * 2 + 1] = T3 }
///       T5 = where(T4, T2, T3)
///       T6[i * 2 + k] = T5
///
/// What several places along a joined axis are made of is read and computed once then, and they are
/// stored together.
#include <codegen/host_emitter.h>
#include <codegen/lane_copies.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kMostCopies = 32;    ///< of a loop around loops of vectors
constexpr int64_t kMostCopied = 2400;  ///< statements in all of them

/// The statements of an iteration, under its condition, too.
kir::Block bodyOf(const kir::For& loop, const LaneLoop& lanes) {
  kir::Block body;
  for (const kir::Stmt& stmt : *loop.body) {
    if (lanes.branch == nullptr || !std::holds_alternative<kir::If>(stmt.node)) {
      body.push_back(stmt);
    }
  }
  if (lanes.branch != nullptr) {
    body.insert(body.end(), lanes.branch->then_body->begin(), lanes.branch->then_body->end());
  }
  return body;
}

}  // namespace

/// Whether it has a few iterations, to be unrolled, each with loops of vectors, and chooses by
/// their number: which of two values is joined at this place is known in each copy then. (A loop
/// around loops the host's compiler leaves alone.)
bool HostEmitter::choosesAroundLanes(const kir::For& loop) {
  if (loop.kind != kir::LoopKind::Unrolled || !loop.extent->isConstant() ||
      loop.extent->value > kMostCopies) {
    return false;
  }
  bool has_lanes = false;
  bool chooses = false;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    const auto* inner = std::get_if<kir::For>(&stmt.node);
    has_lanes |= inner != nullptr && lanesOf(*inner).has_value();
    const auto* assign = std::get_if<kir::Assign>(&stmt.node);
    const auto* number = assign == nullptr ? nullptr : std::get_if<kir::IndexValue>(&assign->src);
    chooses |= number != nullptr && kir::ScalarPool::contains(number->index, loop.var);
  });
  return has_lanes && chooses;
}

void HostEmitter::forEachCopy(const kir::For& loop, const std::function<void(int64_t)>& body) {
  for (int64_t k = 0; k < loop.extent->value; ++k) {
    out_.open("{", loop.comment);
    out_.line(text("constexpr Index ", scalar_.name(loop.var), " = ", k, ";"));
    body(k);
    out_.close();
  }
}

void HostEmitter::laneCopies(LaneLoop& lanes) {
  laneBlock(lanes.copies->shared(), lanes);
  forEachCopy(*lanes.copied, [&](int64_t place) { laneBlock(lanes.copies->at(place), lanes); });
}

bool HostEmitter::placesInLanes(const kir::For& loop) {
  const auto* inner =
      loop.body->size() == 1 ? std::get_if<kir::For>(&loop.body->front().node) : nullptr;
  std::optional<LaneLoop> lanes = inner == nullptr ? std::nullopt : lanesOf(*inner);
  if (!lanes.has_value() || !lanes->sums.empty() ||
      kir::ScalarPool::contains(inner->extent, loop.var) ||
      (lanes->branch != nullptr && kir::ScalarPool::contains(lanes->branch->condition, loop.var))) {
    return false;
  }
  lanes->copies =
      std::make_shared<const LaneCopies>(bodyOf(*inner, *lanes), loop.var, *kernel_.pool);
  auto statements = static_cast<int64_t>(lanes->copies->shared().size());
  for (int64_t k = 0; k < loop.extent->value; ++k) {
    statements += static_cast<int64_t>(lanes->copies->at(k).size());
  }
  if (statements > kMostCopied) {
    return false;
  }
  lanes->copied = &loop;
  laneLoop(*inner, *lanes);
  return true;
}

bool HostEmitter::copiesAroundLanes(const kir::For& loop) {
  if (!choosesAroundLanes(loop)) {
    return false;
  }
  if (placesInLanes(loop)) {
    return true;
  }
  int64_t statements = 0;
  kir::forEach(*loop.body, [&](const kir::Stmt&) { ++statements; });
  if (statements * loop.extent->value > kMostCopied) {
    return false;
  }
  forEachCopy(loop, [&](int64_t) { block(*loop.body); });
  return true;
}

}  // namespace nvfuser::codegen
