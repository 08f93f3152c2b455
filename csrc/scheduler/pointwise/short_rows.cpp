#include <scheduler/pointwise/short_rows.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <scheduler/analysis/column_values.h>
#include <scheduler/analysis/reference_axes.h>

namespace nvfuser::pointwise {

namespace {

constexpr int64_t kMostElements = 32;  ///< of a row
constexpr int64_t kMostRowBytes = 128;
constexpr int64_t kLeastRows = 128;  ///< of a multiprocessor: a block of threads
constexpr int64_t kLeastSaved = 16;  ///< additions, for each element
/// What a sector costs that a store fills in part, in additions for each element and sector more
/// than whole ones would be.
constexpr int64_t kPartSector = 20;
constexpr int64_t kSectorBytes = 32;

/// Additions that a thread saves for each element of a nest if it computes the whole row, instead
/// of what the row shares once for each part of it, less what its stores cost, which lie a row from
/// its neighbours'. Nothing: rows are long, or few.
std::optional<int64_t> savedOf(const ReferenceAxes& reference,
                               const std::unordered_set<TensorView*>& tensors,
                               const std::vector<int64_t>& order, int64_t vectorization,
                               SchedulerRuntimeInfo& info) {
  const auto last = static_cast<size_t>(order.back());
  const Val* extent = reference.axes()[last]->extent();
  const int64_t elements = extent->isConst() ? extent->value().as<int64_t>() : 0;
  int64_t rows = 1;
  for (size_t i = 0; i < reference.axes().size(); ++i) {
    rows *= i == last ? 1 : info.extent(reference.axes()[i]);
  }
  if (elements < 2 || elements > kMostElements ||
      rows < kLeastRows * info.device().multiprocessors) {
    return std::nullopt;
  }
  int64_t shared = 0;
  int64_t scattered = 0;
  for (const TensorView* tv : tensors) {
    const int64_t size = dataTypeSizeByte(tv->dtype());
    if (tv->definition() != nullptr && reference.find(tv, last) == nullptr) {
      shared += costOfElement(tv->definition());
    } else if (elements * size > kMostRowBytes && (tv->isFusionInput() || tv->isFusionOutput())) {
      return std::nullopt;
    }
    if (tv->isFusionOutput()) {
      const int64_t width = std::gcd(elements, kMaxVectorBytes / size);
      const int64_t touched = std::min(kSectorBytes / (width * size), elements / width);
      scattered += kPartSector * (touched - 1);
    }
  }
  // Vectors that do not divide a row have elements of two.
  const int64_t parts = elements % vectorization == 0 ? elements / vectorization : elements;
  return shared * (parts - 1) / elements - scattered;
}

}  // namespace

bool takesShortRows(const Fusion& fusion, const std::vector<LoopNest>& nests,
                    const std::vector<int64_t>& order, int64_t vectorization,
                    SchedulerRuntimeInfo& info) {
  int64_t all = 0;
  for (const LoopNest& nest : nests) {
    const ReferenceAxes reference(fusion, fusion.outputs()[nest.reference]->as<TensorView>());
    const auto saved = order.size() > 1
                           ? savedOf(reference, tensorsOf(fusion, nest), order, vectorization, info)
                           : std::nullopt;
    if (!saved) {
      return false;
    }
    all += *saved;
  }
  return all >= kLeastSaved;
}

}  // namespace nvfuser::pointwise
