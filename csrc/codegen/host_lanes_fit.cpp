/// Which loops are written in vectors (host_lanes.cpp): those whose iterations may run in any
/// order, of statements that all have a form on vectors (host_lanes_fit_statements.cpp), with
/// neighbours in memory among what they touch.
#include <algorithm>
#include <bit>

#include <codegen/host_emitter.h>
#include <kernel_ir/accesses.h>

namespace nvfuser::codegen {

using kir::Scalar;

namespace {

constexpr int64_t kLeastLanes = 4;  ///< where a loop is shorter, vectors do not pay
/// Elements of a loop from which on a whole register of bytes pays, most of which its last vector
/// may lack.
constexpr int64_t kLongLoop = 1024;
/// Of elements that lie a few apart, as colours of pixels: gathering and spreading them is worth
/// it.
constexpr int64_t kLeastOperations = 2;
constexpr int64_t kNearStride = 16;  ///< elements, that most floats on a line of memory are apart

/// Whether integers of less than four bytes are shifted, for which AVX2 has no instruction.
bool shiftsBytes(const kir::Block& block) {
  bool found = false;
  kir::forEach(block, [&](const kir::Stmt& stmt) {
    const auto* compute = std::get_if<kir::Compute>(&stmt.node);
    const auto* type = compute == nullptr ? nullptr : std::get_if<BinaryOpType>(&compute->op);
    found |= type != nullptr && dataTypeSizeByte(compute->compute) < 4 &&
             (*type == BinaryOpType::Lshift || *type == BinaryOpType::Rshift ||
              *type == BinaryOpType::LogicalRshift);
  });
  return found;
}

}  // namespace

std::optional<int64_t> HostEmitter::strideOf(const kir::Ref& ref, const LaneLoop& lanes) {
  const Scalar index = kernel_.pool->substitute(ref.index, lanes.lets);
  int64_t coefficient = 0;
  Scalar rest = nullptr;
  if (lanes.readsVarying(index)) {
    return std::nullopt;
  }
  if (!kernel_.pool->splitLinear(index, lanes.var, &coefficient, &rest)) {
    return std::nullopt;
  }
  return coefficient;
}

std::optional<LaneRange> HostEmitter::prefixOf(Scalar condition, const LaneLoop& lanes) {
  std::optional<LaneRange> range = rangeOf(condition, lanes);
  return range.has_value() && range->begin == nullptr ? range : std::nullopt;
}

/// Which integers all iterations share, and which indices from memory they do not. Nothing is a
/// vector for the former: a row that an index names is read in vectors.
void HostEmitter::findShared(const kir::For& loop, LaneLoop& lanes) {
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (auto* declare = std::get_if<kir::Declare>(&stmt.node)) {
      const DataType dtype = storedAs(*declare->buffer);
      if (declare->buffer->elements != nullptr && declare->buffer->elements->isConstant(1) &&
          (isIntegralType(dtype) || isBooleanType(dtype))) {
        lanes.scalars.insert(declare->buffer);
      }
    } else if (auto* let = std::get_if<kir::Let>(&stmt.node)) {
      lanes.lets[let->var] = kernel_.pool->substitute(let->value, lanes.lets);
    }
  });
  auto depends = [&](Scalar index) {
    return kir::ScalarPool::contains(kernel_.pool->substitute(index, lanes.lets), lanes.var);
  };
  std::set<const kir::Buffer*> written;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
      if (is_write) {
        written.insert(ref.buffer);
      }
    });
  });
  auto differs = [&](const kir::Operand& operand) {
    if (auto* index = std::get_if<kir::IndexValue>(&operand)) {
      return depends(index->index);
    }
    auto* ref = std::get_if<kir::Ref>(&operand);
    return ref != nullptr && lanes.scalars.count(ref->buffer) == 0 &&
           (written.count(ref->buffer) != 0 || strideOf(*ref, lanes) != 0);
  };
  const auto anyDiffers = [&](const std::vector<kir::Operand>& operands) {
    return std::any_of(operands.begin(), operands.end(), differs);
  };
  // What is made of something else is something else.
  for (bool changed = true; changed;) {
    changed = false;
    kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
      if (auto* load = std::get_if<kir::LoadIndex>(&stmt.node)) {
        if (!lanes.varies(load->var) && differs(load->src)) {
          lanes.varying.push_back(load->var);
          changed = true;
        }
        return;
      }
      bool own = true;
      if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
        own = anyDiffers(compute->operands);
      } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
        own = differs(assign->src);
      } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
        own = depends(guarded->condition) || differs(guarded->src) || differs(guarded->otherwise);
      }
      if (own && resultOf(stmt) != nullptr) {
        changed |= lanes.scalars.erase(resultOf(stmt)->buffer) > 0;
      } else if (own) {
        kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
          changed |= is_write && lanes.scalars.erase(ref.buffer) > 0;
        });
      }
    });
  }
  lanes.lets.clear();
}

const kir::If* onlyBranch(const kir::Block& body) {
  const kir::If* only = nullptr;
  for (const kir::Stmt& stmt : body) {
    if (std::holds_alternative<kir::Declare>(stmt.node) ||
        std::holds_alternative<kir::Let>(stmt.node) ||
        std::holds_alternative<kir::Fetch>(stmt.node)) {
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

bool HostEmitter::touchesNeighbours(const kir::For& loop, const LaneLoop& lanes) {
  bool neighbours = false;
  bool near = false;
  int64_t operations = 0;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    auto look = [&](const kir::Ref& ref) {
      const std::optional<int64_t> stride = strideOf(ref, lanes);
      const bool in_memory = lanes.registers.count(ref.buffer) == 0 && stride.has_value();
      neighbours |= in_memory && (*stride == 1 || *stride == -1);
      near |= in_memory && std::abs(*stride) > 1 && std::abs(*stride) <= kNearStride;
    };
    operations += std::holds_alternative<kir::Compute>(stmt.node) ? 1 : 0;
    auto lookAt = [&](const kir::Operand& operand) {
      if (auto* ref = std::get_if<kir::Ref>(&operand)) {
        look(*ref);
      }
    };
    if (auto* compute = std::get_if<kir::Compute>(&stmt.node)) {
      look(compute->dst);
      std::for_each(compute->operands.begin(), compute->operands.end(), lookAt);
    } else if (auto* assign = std::get_if<kir::Assign>(&stmt.node)) {
      operations += dtypeOf(assign->src) != assign->dst.buffer->dtype ? 1 : 0;
      look(assign->dst);
      lookAt(assign->src);
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      look(guarded->dst);
      lookAt(guarded->src);
    } else if (auto* combine = std::get_if<kir::Combine>(&stmt.node)) {
      look(combine->state[0]);
      lookAt(combine->value[0]);
    }
  });
  return neighbours || (near && operations >= kLeastOperations);
}

std::optional<LaneLoop> HostEmitter::lanesOf(const kir::For& loop) {
  if (loop.kind != kir::LoopKind::Simd ||
      (loop.extent->isConstant() && loop.extent->value < kLeastLanes)) {
    return std::nullopt;
  }
  LaneLoop lanes;
  lanes.var = loop.var;
  const bool is_long = loop.extent->isConstant() && loop.extent->value >= kLongLoop;
  lanes.width = vector_bytes_ / (is_long && !shiftsBytes(*loop.body) ? 1 : 4);
  lanes.count = "n_" + scalar_.name(loop.var);
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
      lanes.reads[ref.buffer] += is_write ? 0 : 1;
    });
  });
  findShared(loop, lanes);
  const std::set<const kir::Buffer*> compared = placesOnlyCompared(loop);
  bool fits = false;
  lanes.branch = onlyBranch(*loop.body);
  if (const kir::If* branch = lanes.branch) {
    kir::Block before;
    for (const kir::Stmt& stmt : *loop.body) {
      if (!std::holds_alternative<kir::If>(stmt.node)) {
        before.push_back(stmt);
      }
    }
    fits = lanesFit(before, false, compared, lanes) &&
           (branch->else_body == nullptr || branch->else_body->empty()) &&
           prefixOf(branch->condition, lanes).has_value() &&
           lanesFit(*branch->then_body, false, compared, lanes);
  } else {
    fits = lanesFit(*loop.body, false, compared, lanes);
  }
  if (!fits) {
    return std::nullopt;
  }
  if (!touchesNeighbours(loop, lanes)) {
    return std::nullopt;
  }
  if (loop.extent->isConstant()) {
    lanes.width = std::min<int64_t>(
        lanes.width,
        static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(loop.extent->value))));
    lanes.written_out = lanes.sums.empty() && loop.extent->value % lanes.width == 0 &&
                        isWrittenOut(loop, lanes.width);
  }
  return lanes;
}

}  // namespace nvfuser::codegen
