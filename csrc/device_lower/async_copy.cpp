#include <device_lower/async_copy.h>

#include <algorithm>

#include <ir/axis_map.h>

namespace nvfuser {

namespace {

bool isBulkAxis(const IterDomain* id) { return id->getParallelType() == ParallelType::Bulk; }

bool hasBulkAxis(const TensorView* tv) {
  const auto& axes = tv->getLoopDomain();
  return std::any_of(axes.begin(), axes.end(), isBulkAxis);
}

bool isBulkType(LoadStoreOpType type) {
  return type == LoadStoreOpType::CpAsyncBulk || type == LoadStoreOpType::CpAsyncBulkTensorTile;
}

MemoryType memoryOf(const TensorView* tv) {
  return tv->isFusionInput() || tv->isFusionOutput() ? MemoryType::Global : tv->getMemoryType();
}

std::string_view memoryName(MemoryType memory) {
  return memory == MemoryType::Global   ? "global memory"
         : memory == MemoryType::Shared ? "shared memory"
                                        : "registers";
}

[[noreturn]] void refuse(const TensorView* tv, std::string_view what, std::string_view help) {
  userError("lower: ", what, "\n  note: ", tv, "\n  help: ", help);
}

/// What is copied, and how, apart from the loops.
void validateCopy(const TensorView* tv) {
  const std::string name = text("T", tv->name());
  const Expr* def = tv->definition();
  if (!def->isA<LoadStoreOp>() || !def->input(0)->isA<TensorView>()) {
    refuse(tv,
           text("an axis of ", name, " is bound to Bulk, but ", name, " is computed by ",
                def->getOpString(), "; only a copy can be made in bulk"),
           "bind the copy that cacheAfter() of an input or cacheBefore() of an output makes");
  }
  if (def->as<LoadStoreOp>()->opType() == LoadStoreOpType::CpAsync) {
    refuse(tv,
           text("an axis of ", name, " is bound to Bulk, but ", name,
                " is copied by cp.async, which moves 16 bytes at most"),
           "make the copy with LoadStoreOpType::CpAsyncBulk, or bind the axis to Vectorize");
  }
  const auto* in = def->input(0)->as<TensorView>();
  const MemoryType from = memoryOf(in);
  const MemoryType to = memoryOf(tv);
  const bool load = from == MemoryType::Global && to == MemoryType::Shared;
  const bool store = from == MemoryType::Shared && to == MemoryType::Global;
  if (!load && !store) {
    refuse(tv,
           text(name, " is copied in bulk from ", memoryName(from), " (T", in->name(), ") to ",
                memoryName(to), "; a bulk copy moves between global and shared memory"),
           text("setMemoryType(MemoryType::Shared) of T",
                from == MemoryType::Global ? tv->name() : in->name(),
                ", or bind the axis to Vectorize"));
  }
  if (load && !in->isFusionInput()) {
    refuse(tv,
           text(name, " is copied in bulk from T", in->name(),
                ", which the same kernel writes to global memory; a bulk copy would not see it"),
           "bind the axis to Vectorize, or make two kernels (segment_set)");
  }
  if (store && !consumersOf(tv).empty()) {
    refuse(tv,
           text(name, " is stored in bulk, but T", consumersOf(tv)[0]->name(),
                " reads it in the same kernel, which would not see it"),
           text("let T", consumersOf(tv)[0]->name(), " read T", in->name(), " instead"));
  }
  if (tv->isCircularBuffered() && tv->circularBufferOptions().stage > kMaxBulkStages) {
    refuse(tv,
           text(name, " is a circular buffer of ", tv->circularBufferOptions().stage,
                " stages that bulk copies fill; ", kMaxBulkStages, " are possible"),
           "use fewer stages with more in each");
  }
}

}  // namespace

std::optional<kir::AsyncKind> asyncKindOf(const Expr* expr, LowerTarget target) {
  if (target == LowerTarget::Cpu || !expr->isA<LoadStoreOp>() ||
      !expr->output(0)->isA<TensorView>()) {
    return std::nullopt;
  }
  if (expr->as<LoadStoreOp>()->opType() == LoadStoreOpType::CpAsync) {
    return kir::AsyncKind::Pieces;
  }
  const auto* out = expr->output(0)->as<TensorView>();
  if (!hasBulkAxis(out)) {
    return std::nullopt;
  }
  return memoryOf(out) == MemoryType::Shared ? kir::AsyncKind::BulkLoad : kir::AsyncKind::BulkStore;
}

bool isBulkStored(const TensorView* tv, LowerTarget target) {
  const std::vector<TensorView*> consumers = consumersOf(tv);
  return std::any_of(consumers.begin(), consumers.end(), [&](const TensorView* consumer) {
    return asyncKindOf(consumer->definition(), target) == kir::AsyncKind::BulkStore;
  });
}

const WarpSpecialized* specialisation(const TensorView* tv, const LowerOptions& options) {
  const bool possible = options.target != LowerTarget::Cpu && options.compute_capability >= 90;
  return possible && tv->isCircularBuffered()
             ? std::get_if<WarpSpecialized>(&tv->circularBufferOptions().type)
             : nullptr;
}

void validateBulk(const TensorView* tv, const LoopModel& loops) {
  const std::string name = text("T", tv->name());
  const auto& axes = tv->getLoopDomain();
  if (!hasBulkAxis(tv)) {
    const bool asked = tv->isDefinitionType<LoadStoreOp>() &&
                       isBulkType(tv->definition()->as<LoadStoreOp>()->opType());
    if (asked) {
      refuse(tv,
             text(name, " is copied by ",
                  loadStoreOpTypeName(tv->definition()->as<LoadStoreOp>()->opType()),
                  ", but none of its axes is bound to Bulk"),
             "bind its innermost axis: axis(-1)->parallelize(ParallelType::Bulk)");
    }
    return;
  }
  validateCopy(tv);
  // Those bound to Bulk are the innermost ones.
  const auto first = std::find_if(axes.begin(), axes.end(), isBulkAxis);
  const auto behind = std::find_if_not(first, axes.end(), isBulkAxis);
  if (behind != axes.end()) {
    refuse(tv,
           text("an axis of ", name, " is bound to Bulk but is not the innermost one: ", *behind,
                " is inside it"),
           "reorder() it to the end");
  }
  for (int i = 0; i < tv->nDims(); ++i) {
    const LoopClass& loop = loops.of(tv, i);
    if (isBulkAxis(axes[static_cast<size_t>(i)])) {
      if (loop.members.size() > 1) {
        const TensorView* other =
            loop.members[0].first == tv ? loop.members[1].first : loop.members[0].first;
        refuse(tv,
               text("the axis of ", name, " that is bound to Bulk shares its loop with T",
                    other->name(), "; a bulk copy is one statement without a loop"),
               text("inline ", name, " at position ", i, " at most"));
      }
    } else if (isParallelTypeThreadDim(loop.parallel)) {
      refuse(tv,
             text("axis ", i, " (", axes[static_cast<size_t>(i)], ") of ", name, " is bound to ",
                  parallelTypeName(loop.parallel),
                  ", but a bulk copy is made by the block as a whole"),
             "leave the axis serial, and inline the tensor outside loops of threads");
    }
  }
}

}  // namespace nvfuser
