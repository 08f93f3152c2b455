#include <device_lower/allocation.h>

#include <algorithm>

#include <device_lower/async_copy.h>
#include <ir/axis_map.h>

namespace nvfuser {

using kir::Scalar;

namespace {

Scalar product(kir::ScalarPool& pool, const std::vector<std::pair<IterDomain*, Scalar>>& axes) {
  Scalar result = pool.one();
  for (const auto& [id, extent] : axes) {
    result = pool.mul(result, extent);
  }
  return result;
}

/// The loop axes that memory on chip spans.
std::vector<std::pair<IterDomain*, Scalar>> axesOnChip(const TensorView* tv, const LoopModel& loops,
                                                       Symbols& symbols) {
  std::vector<std::pair<IterDomain*, Scalar>> axes;
  const auto& loop = tv->getLoopDomain();
  const int64_t inlined = tv->getComputeAtPosition();
  auto spans = [&](IterDomain* id, ParallelType type, int64_t position) {
    if (id->isBroadcast() || id->isReduction()) {
      return false;
    }
    // Inside a loop there is one iteration's memory at a time, but all threads run theirs at once,
    // and shared memory is one for all of them.
    if (position < inlined &&
        !(tv->getMemoryType() == MemoryType::Shared && isParallelTypeThreadDim(type))) {
      return false;
    }
    if (isParallelTypeBlockDim(type)) {
      return false;
    }
    return !(tv->getMemoryType() == MemoryType::Local && isParallelTypeThreadDim(type));
  };
  if (tv->hasAllocation()) {
    for (IterDomain* id : tv->getAllocationDomain()) {
      auto place = std::find(loop.begin(), loop.end(), id);
      ParallelType type = id->getParallelType();
      int64_t position = inlined;
      if (place != loop.end()) {
        position = place - loop.begin();
        type = loops.of(tv, static_cast<int>(position)).parallel;
      }
      if (spans(id, type, position)) {
        axes.emplace_back(id, symbols.extent(id));
      }
    }
    return axes;
  }
  for (size_t i = 0; i < loop.size(); ++i) {
    // The loop's binding: a tensor that shares it may have none of its own.
    if (spans(loop[i], loops.of(tv, static_cast<int>(i)).parallel, static_cast<int64_t>(i))) {
      axes.emplace_back(loop[i], symbols.extent(loop[i]));
    }
  }
  return axes;
}

/// What one task of the CPU may have on its stack for a tensor, and one thread of a GPU for all of
/// them.
constexpr int64_t kTaskBytes = 256 * 1024;
constexpr int64_t kThreadBytes = 48 * 1024;

/// Whether whole vectors of the tensor's elements are copied, to it or from it.
bool isCopiedInVectors(const TensorView* tv) {
  const auto has_vectors = [](const TensorView* out) {
    const auto& axes = out->getLoopDomain();
    return std::any_of(axes.begin(), axes.end(), [](const IterDomain* id) {
      return id->getParallelType() == ParallelType::Vectorize;
    });
  };
  bool found = has_vectors(tv);
  for (const Expr* use : tv->uses()) {
    for (const TensorView* out : tensorOutputs(use)) {
      found = found || (use->isA<LoadStoreOp>() && has_vectors(out));
    }
  }
  return found;
}

/// The target of a scatter, and what stands for its writes, are where its result is.
std::unordered_map<const TensorView*, const TensorView*> heldByOthers(const Fusion& fusion) {
  std::unordered_map<const TensorView*, const TensorView*> holders;
  for (const Expr* expr : fusion.exprs()) {
    if (expr->isA<WrittenOp>()) {
      for (const TensorView* in : tensorInputs(expr)) {
        holders[in] = expr->output(0)->as<TensorView>();
      }
    }
  }
  return holders;
}

/// Tensors that threads or tasks keep.
class OnChip {
 public:
  OnChip(const LoopModel& loops, Symbols& symbols, const LowerOptions& options)
      : loops_(loops), symbols_(symbols), is_cpu_(options.target == LowerTarget::Cpu) {
    for (ParallelType type : kParallelTypeThreads) {
      any_thread_ |= loops.isUsed(type);
    }
  }

  /// Where a tensor is, and its axes there: what has no room goes to global memory.
  void place(const TensorView* tv, Allocation& allocation, kir::Buffer& buffer) {
    allocation.axes = axesOnChip(tv, loops_, symbols_);
    buffer.elements = product(symbols_.pool(), allocation.axes);
    const bool constant = buffer.elements->isConstant();
    // On the CPU shared memory is memory of the task, and so are registers.
    const bool task_memory = is_cpu_;
    if (task_memory) {
      buffer.memory = MemoryType::Local;
    }
    if (buffer.memory != MemoryType::Local) {
      return;
    }
    const int64_t stages =
        tv->isCircularBuffered() && !task_memory ? tv->circularBufferOptions().stage : 1;
    const int64_t bytes =
        constant ? buffer.elements->value * stages * dataTypeSizeByte(buffer.dtype) : 0;
    const bool too_big = task_memory ? bytes > kTaskBytes : bytes > kThreadBytes - thread_bytes_;
    if (constant && !too_big) {
      thread_bytes_ += bytes;
      return;
    }
    if (!task_memory && (any_thread_ || tv->isCircularBuffered())) {
      userError("lower: ", tv, " cannot be kept in registers: its size there is ",
                buffer.elements->toString(), stages > 1 ? text(" in ", stages, " stages") : "",
                constant ? text(" elements, and a thread has room for ",
                                kThreadBytes - thread_bytes_, " bytes more")
                         : std::string(", which is no constant"),
                "; inline it into its consumer, or set its memory type to Shared or Global");
    }
    buffer.memory = MemoryType::Global;
    allocation.per_task = true;
  }

 private:
  const LoopModel& loops_;
  Symbols& symbols_;
  bool is_cpu_ = false;
  bool any_thread_ = false;
  int64_t thread_bytes_ = 0;  ///< of tensors that a thread keeps
};

Scalar elementsInGlobal(const TensorView* tv, Symbols& symbols) {
  kir::ScalarPool& pool = symbols.pool();
  Scalar elements = pool.one();
  for (const IterDomain* id : tv->getMaybeAllocationDomain()) {
    if (!id->isBroadcast() && !id->isReduction()) {
      elements = pool.mul(elements, symbols.extent(id));
    }
  }
  return elements;
}

Scalar tasksOf(const LoopModel& loops, kir::ScalarPool& pool) {
  Scalar tasks = pool.one();
  for (ParallelType type : kParallelTypeBIDs) {
    if (loops.dimension(type) != nullptr) {
      tasks = pool.mul(tasks, loops.dimension(type));
    }
  }
  return tasks;
}

}  // namespace

void Allocations::addBarriers(const TensorView* tv, bool is_special, Allocation& allocation,
                              kir::Kernel& kernel) {
  const auto add = [&](std::string_view what, kir::Buffer** barriers_of, kir::Buffer** phases_of,
                       std::string_view phases_name) {
    kir::Buffer barriers;
    barriers.name = text("T", tv->name(), what);
    barriers.dtype = DataType::UInt64;
    barriers.memory = MemoryType::Shared;
    barriers.elements = kernel.pool->constant(allocation.stages);
    barriers.keeps_place = barriers.read = barriers.written = true;
    *barriers_of = kernel.addBuffer(std::move(barriers));
    kir::Buffer phases;
    phases.name = text("T", tv->name(), phases_name);
    phases.dtype = DataType::UInt32;
    phases.elements = kernel.pool->one();
    phases.read = phases.written = true;
    *phases_of = kernel.addBuffer(std::move(phases));
  };
  add("_ready", &allocation.barriers, &allocation.phases, "_phases");
  if (is_special) {
    add("_free", &allocation.free, &allocation.free_phases, "_free_phases");
  }
}

Allocations::Allocations(const Fusion& fusion, LoopModel& loops, Symbols& symbols,
                         const LowerOptions& options, kir::Kernel& kernel) {
  kir::ScalarPool& pool = symbols.pool();
  OnChip on_chip(loops, symbols, options);
  const std::unordered_map<const TensorView*, const TensorView*> held_by = heldByOthers(fusion);
  for (TensorView* tv : fusion.allTvs()) {
    if (held_by.count(tv) != 0) {
      continue;
    }
    Allocation allocation;
    kir::Buffer buffer;
    buffer.name = text("T", tv->name());
    buffer.dtype = tv->dtype() == DataType::Index ? options.index_type : tv->dtype();
    buffer.memory = tv->getMemoryType();
    buffer.tv = tv;
    if (tv->isFusionInput()) {
      buffer.role = kir::BufferRole::Input;
      buffer.memory = MemoryType::Global;
      buffer.by_value = tv->isCpuScalar();
    } else if (tv->isFusionOutput()) {
      buffer.role = kir::BufferRole::Output;
      buffer.memory = MemoryType::Global;
    } else if (buffer.memory != MemoryType::Global) {
      on_chip.place(tv, allocation, buffer);
    }
    const bool in_vectors = buffer.role == kir::BufferRole::Intermediate && isCopiedInVectors(tv);
    if ((buffer.role != kir::BufferRole::Intermediate || in_vectors) &&
        tv->dtype() == DataType::Index) {
      // A tensor's elements are wide whatever the kernel counts in, and vector copies do not
      // convert.
      buffer.dtype = DataType::Int;
    }
    if (buffer.memory == MemoryType::Global && buffer.role == kir::BufferRole::Intermediate &&
        !allocation.per_task) {
      buffer.elements = elementsInGlobal(tv, symbols);
    }
    // On the CPU the hardware loads ahead.
    if (tv->isCircularBuffered() && options.target != LowerTarget::Cpu) {
      check(buffer.memory != MemoryType::Global, "circularBuffer() took a tensor on the chip");
      allocation.stages = tv->circularBufferOptions().stage;
      allocation.stage_elements = buffer.elements;
      buffer.elements = pool.mul(buffer.elements, allocation.stages);
    }
    if (allocation.per_task) {
      allocation.stage_elements = buffer.elements;
      const Scalar tasks = tasksOf(loops, pool);
      buffer.elements = pool.mul(tasks, buffer.elements);
    }
    const bool bulk_load =
        tv->definition() != nullptr &&
        asyncKindOf(tv->definition(), options.target) == kir::AsyncKind::BulkLoad;
    buffer.keeps_place = bulk_load || isBulkStored(tv, options.target);
    allocation.buffer = kernel.addBuffer(std::move(buffer));
    if (bulk_load) {
      addBarriers(tv, specialisation(tv, options) != nullptr, allocation, kernel);
    }
    map_[tv] = std::move(allocation);
  }
  for (const auto& [tv, holder] : held_by) {
    map_[tv] = map_.at(holder);
  }
}

}  // namespace nvfuser
