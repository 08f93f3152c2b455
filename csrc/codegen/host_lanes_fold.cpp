/// The last step of a reduction on the CPU: the lanes of a register, which are combined in a tree
/// rather than one after the other.
///
///   for k in 0..16                      →     T4 = T4 + simdReduce(lanesRead<16>(&T16[0], 16), …);
///     T4 = T4 + T16[k]
///
/// A row of some hundred elements has two such steps, of which each would wait for 16 operations.
#include <bit>

#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

namespace {

constexpr int64_t kMostParts = 4;  ///< registers that are combined first

const kir::Stmt* onlyStatement(const kir::Block& block) {
  return block.size() == 1 ? &block.front() : nullptr;
}

}  // namespace

bool HostEmitter::foldsLanes(const kir::For& loop) {
  const kir::Stmt* stmt = onlyStatement(*loop.body);
  const auto* branch = stmt != nullptr ? std::get_if<kir::If>(&stmt->node) : nullptr;
  if (branch != nullptr) {
    if ((branch->else_body != nullptr && !branch->else_body->empty()) ||
        kir::ScalarPool::contains(branch->condition, loop.var)) {
      return false;
    }
    stmt = onlyStatement(*branch->then_body);
  }
  const auto* combine = stmt != nullptr ? std::get_if<kir::Combine>(&stmt->node) : nullptr;
  if (combine == nullptr || combine->monoid.kind != kir::Monoid::Kind::Op ||
      combine->state.size() != 1 || !combinesLanes(combine->monoid.op) ||
      !loop.extent->isConstant()) {
    return false;
  }
  const kir::Ref& state = combine->state[0];
  const auto* value = std::get_if<kir::Ref>(&combine->value[0]);
  if (value == nullptr || value->width != 1 || !isSmallArray(*value->buffer) ||
      kir::ScalarPool::contains(state.index, loop.var)) {
    return false;
  }
  const DataType dtype = storedAs(*state.buffer);
  LaneLoop lanes;
  lanes.var = loop.var;
  lanes.width = vector_bytes_ / dataTypeSizeByte(dtype);
  const int64_t parts = loop.extent->value / lanes.width;
  const bool number = dtype == DataType::Float || dtype == DataType::Double ||
                      (isIntegralType(dtype) && dataTypeSizeByte(dtype) >= 4);
  if (!number || storedAs(*value->buffer) != dtype || strideOf(*value, lanes) != 1 || parts < 1 ||
      parts > kMostParts || parts * lanes.width != loop.extent->value) {
    return false;
  }
  snippets_.addBasics();
  snippets_.add("cpu/lanes.h");
  auto combined = [&](const std::string& a, const std::string& b) {
    return lanesText(combine->monoid.op, dtype, std::vector<std::string>{a, b});
  };
  std::string all;
  for (int64_t part = 0; part < parts; ++part) {
    kir::Ref at = *value;
    at.index = kernel_.pool->substitute(value->index,
                                        {{loop.var, kernel_.pool->constant(part * lanes.width)}});
    const std::string read =
        text("lanesRead<", lanes.width, ">(", addressText(at), ", ", lanes.width, ")");
    all = part == 0 ? read : combined(all, read);
  }
  const std::string folded =
      text("simdReduce(", all, ", [](auto a, auto b) __attribute__((always_inline)) { return ",
           combined("a", "b"), "; })");
  if (branch != nullptr) {
    out_.open(text("if (", scalar_(branch->condition), ") {"));
  }
  out_.line(text(refText(state), " = ",
                 pointwise(combine->monoid.op, dtype, dtype, {refText(state), folded}), ";"),
            loop.comment);
  if (branch != nullptr) {
    out_.close();
  }
  return true;
}

}  // namespace nvfuser::codegen
