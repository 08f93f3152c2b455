/// A segment that is one operation of a library: allocates its results and hands it to external/,
/// by way of the host's memory where nobody takes it on the device.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <runtime/fusion_segment.h>
#include <scheduler/analysis/view_layout.h>

namespace nvfuser {

struct RandomState {
  uint64_t seed = 0, offset = 0;
};

/// Who ran an operation last, for reports.
class RanBy {
 public:
  struct Last {
    std::string name;
    int64_t devices = 1;         ///< that exchanged data
    int64_t received_bytes = 0;  ///< by each of them, at least
    double host_ms = 0;          ///< of an exchange: until it was done, or on the stream
  };
  Last get() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return last_;
  }
  void set(Last last) {
    std::lock_guard<std::mutex> lock(mutex_);
    last_ = std::move(last);
  }

 private:
  mutable std::mutex mutex_;
  Last last_;
};

/// What calls with the same sizes share.
struct ExternalRun {
  std::string operation;            ///< "linear + relu"
  std::vector<ViewLayout> results;  ///< of all the operation's outputs
  std::shared_ptr<RanBy> ran_by = std::make_shared<RanBy>();
};

/// Layouts of all results of the segment's operation. `sizes`: those of the whole fusion, by name.
std::vector<ViewLayout> externalResults(const Fusion& segment, const KernelArgumentHolder& args,
                                        const KnownScalars& sizes);

/// The outputs of `segment`, in its order. Throws `UserError` for shapes or indices that the
/// operation does not take. Without the device's library it works on the host, with one warning
/// that says what is missing.
KernelArgumentHolder runExternal(const Fusion& segment, const KernelArgumentHolder& args,
                                 Device& device, const KnownScalars& sizes, RandomState random,
                                 const ExternalRun& run, const RunContext& context);

/// Where among the segment's inputs the rows of its product come from: of two matrices, with an
/// epilogue or without; nothing for other segments.
std::optional<size_t> placeOfRows(const Fusion& segment);

/// As many rows of a product: `args[placeOfRows(segment)]` has them alone. They are written to
/// `result`, which is dense.
void runProductOfRows(const Fusion& segment, const KernelArgumentHolder& args, Tensor& result,
                      Device& device, const ExternalRun& run, const RunContext& context);

}  // namespace nvfuser
