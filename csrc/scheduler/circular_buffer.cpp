/// circularBuffer: `stages` copies of a buffer, so that loads run `prefetch` iterations ahead of
/// their use.
#include <ir/internal_nodes.h>
#include <scheduler/schedule_error.h>

namespace nvfuser {

namespace {

constexpr int64_t kLeastRegisters = 24;
constexpr int64_t kMostRegisters = 240;
constexpr int64_t kUnitOfRegisters = 8;

void requireRoles(const TensorView* tv, const WarpSpecialized& special) {
  if (!isParallelTypeThreadDim(special.on)) {
    scheduleError("circularBuffer", tv,
                  text("threads that only load are threads of a block, not of ",
                       parallelTypeName(special.on)),
                  "use WarpSpecialized(ParallelType::TIDx), TIDy or TIDz");
  }
  if (!special.num_registers) {
    return;
  }
  for (int64_t count : {special.num_registers->first, special.num_registers->second}) {
    if (count < kLeastRegisters || count > kMostRegisters || count % kUnitOfRegisters != 0) {
      scheduleError("circularBuffer", tv, text("a thread cannot be given ", count, " registers"),
                    text("use multiples of ", kUnitOfRegisters, " from ", kLeastRegisters, " to ",
                         kMostRegisters));
    }
  }
}

}  // namespace

void TensorView::circularBuffer(int64_t number_of_stages, int64_t prefetch_distance,
                                CircularBufferType type) {
  if (number_of_stages < 2) {
    scheduleError("circularBuffer", this,
                  text("T", name(), " needs at least 2 stages, got ", number_of_stages),
                  "use 2 stages to load one iteration ahead");
  }
  // Negative distances count from the number of stages: −1 runs as far ahead as the stages allow.
  const int64_t prefetch =
      prefetch_distance < 0 ? prefetch_distance + number_of_stages : prefetch_distance;
  if (prefetch < 1 || prefetch >= number_of_stages) {
    scheduleError("circularBuffer", this,
                  text("prefetch distance ", prefetch_distance, " of T", name(),
                       " does not fit its ", number_of_stages, " stages"),
                  text("use a distance from 1 to ", number_of_stages - 1));
  }
  if (isFusionInput() || isFusionOutput()) {
    scheduleError("circularBuffer", this,
                  text("T", name(), " is an ", isFusionInput() ? "input" : "output",
                       " of the Fusion, which has no buffer on the chip"),
                  "make a copy with cacheAfter() and buffer that");
  }
  if (!isDefinitionType<LoadStoreOp>()) {
    scheduleError("circularBuffer", this,
                  text("T", name(), " is computed by ",
                       definition() ? definition()->getOpString() : "nothing",
                       "; only a copy can run ahead of its use"),
                  "buffer the copy that cacheAfter() makes of an operand");
  }
  if (const auto* special = std::get_if<WarpSpecialized>(&type)) {
    requireRoles(this, *special);
  }
  fields_.circular_buffer = {type, number_of_stages, prefetch};
}

}  // namespace nvfuser
