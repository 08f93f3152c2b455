/// Tiles that are turned over their diagonal, both in arrays of the task:
///
///   for m in 0..16                             lanesTurn<16, 16>(&T2[0], 16, &T1[0], 16);
///     if (…)                             →
///       for n in 0..16 simd
///         if (…) T2[m * 16 + n] = T1[n * 16 + m]
///
/// The conditions fall away: what lies beyond a tensor's end in such arrays is nobody's value. It
/// needs room in both arrays: an axis of 3 may be copied by a loop of 32 into memory of 32.
#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kLargestTile = 256;  ///< along a side

bool isTaskArray(const kir::Ref& ref) {
  return ref.width == 1 && ref.buffer->memory == MemoryType::Local &&
         ref.buffer->role == kir::BufferRole::Intermediate;
}

/// The only statement of a block besides names for indices, and besides conditions around it.
const kir::Stmt* onlyStatement(const kir::Block& block, std::unordered_map<Scalar, Scalar>* lets,
                               bool* conditional, kir::ScalarPool& pool) {
  const kir::Stmt* only = nullptr;
  for (const kir::Stmt& stmt : block) {
    if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
      (*lets)[let->var] = pool.substitute(let->value, *lets);
    } else if (only != nullptr) {
      return nullptr;
    } else {
      only = &stmt;
    }
  }
  if (only == nullptr) {
    return nullptr;
  }
  if (auto* branch = std::get_if<kir::If>(&only->node)) {
    const bool has_else = branch->else_body != nullptr && !branch->else_body->empty();
    *conditional = true;
    return has_else ? nullptr : onlyStatement(*branch->then_body, lets, conditional, pool);
  }
  return only;
}

}  // namespace

bool HostEmitter::turns(const kir::For& outer) {
  kir::ScalarPool& pool = *kernel_.pool;
  std::unordered_map<Scalar, Scalar> lets;
  bool conditional = false;
  const kir::Stmt* stmt = onlyStatement(*outer.body, &lets, &conditional, pool);
  const auto* inner = stmt == nullptr ? nullptr : std::get_if<kir::For>(&stmt->node);
  stmt = inner == nullptr ? nullptr : onlyStatement(*inner->body, &lets, &conditional, pool);
  const auto* copy = stmt == nullptr ? nullptr : std::get_if<kir::Assign>(&stmt->node);
  const auto* src = copy == nullptr ? nullptr : std::get_if<kir::Ref>(&copy->src);
  if (src == nullptr || !isTaskArray(copy->dst) || !isTaskArray(*src) ||
      copy->dst.buffer == src->buffer || storedAs(*copy->dst.buffer) != storedAs(*src->buffer)) {
    return false;
  }
  for (const kir::For* loop : {&outer, inner}) {
    if (!loop->extent->isConstant() || loop->extent->value < 2 ||
        loop->extent->value > kLargestTile) {
      return false;
    }
  }
  // index = rest + row·m + column·n
  struct Place {
    int64_t outer = 0;
    int64_t inner = 0;
    Scalar rest = nullptr;
  };
  auto placeOf = [&](const kir::Ref& ref) -> std::optional<Place> {
    Place place;
    Scalar rest = nullptr;
    const Scalar index = pool.substitute(ref.index, lets);
    if (!pool.splitLinear(index, outer.var, &place.outer, &rest) ||
        !pool.splitLinear(rest, inner->var, &place.inner, &place.rest)) {
      return std::nullopt;
    }
    return place;
  };
  const auto to = placeOf(copy->dst);
  const auto from = placeOf(*src);
  if (!to.has_value() || !from.has_value() || to->inner != 1 || from->outer != 1 ||
      to->outer < inner->extent->value || from->inner < outer.extent->value) {
    return false;
  }
  const auto hasRoom = [&](const kir::Ref& ref, const Place& place) {
    const int64_t last =
        place.outer * (outer.extent->value - 1) + place.inner * (inner->extent->value - 1);
    return pool.provesLess(pool.add(place.rest, pool.constant(last)), ref.buffer->elements);
  };
  if (conditional && !(hasRoom(copy->dst, *to) && hasRoom(*src, *from))) {
    return false;
  }
  snippets_.addBasics();
  snippets_.add("cpu/turn.h");
  auto address = [&](const kir::Ref& ref, Scalar rest) {
    kir::Ref first = ref;
    first.index = rest;
    return addressText(first);
  };
  out_.line(text("lanesTurn<", outer.extent->value, ", ", inner->extent->value, ">(",
                 address(copy->dst, to->rest), ", ", to->outer, ", ", address(*src, from->rest),
                 ", ", from->inner, ");"),
            outer.comment);
  return true;
}

}  // namespace nvfuser::codegen
