/// `FusionExecutorCache`: runs any legal Fusion for any inputs, without a schedule from the user.
///
/// The fusion is cut into groups, each a tree of element-wise operations (and at most one
/// reduction, at its end) that lead to one tensor; a group becomes one kernel under a naive
/// schedule: one thread for each output element, serial reductions. Tensors between groups live in
/// memory of the device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <runtime/executor.h>
#include <segmenter/trees.h>

namespace nvfuser {

class FusionExecutorCache {
 public:
  explicit FusionExecutorCache(std::unique_ptr<Fusion> fusion, int64_t fusion_id = 0,
                               bool auto_schedule = true);
  ~FusionExecutorCache();

  /// Outputs in the fusion's order, without those hidden by aliasing. Compiles at the first call
  /// for a device (and index type). `device`: where to run a fusion without tensor inputs. May be
  /// called from several threads.
  KernelArgumentHolder runFusionWithInputs(const KernelArgumentHolder& args,
                                           std::optional<PrimDataType> forced_index_type = {},
                                           Device* device = nullptr);

  bool isCompiled(const KernelArgumentHolder& args);
  Fusion* fusion() const { return fusion_.get(); }
  /// Text of the kernels that ran last.
  std::vector<std::string> getMostRecentCode() const;
  /// One for each kernel, in the order in which they run.
  std::vector<KernelExecutor*> executors() const;
  /// Number of kernels that the fusion is cut into.
  size_t numKernels() const;

  void setRandomState(uint64_t seed, uint64_t offset);

 private:
  struct Segment;
  /// What dumps call the whole fusion.
  std::string name() const;
  void segment(const Options& options);
  /// Null where the tree cannot be one kernel.
  std::unique_ptr<Segment> makeSegment(const Tree& tree, const Options& options);
  /// Several kernels in few runs of the host's compiler, once. (On a GPU, each kernel's index type
  /// is known only when it runs.)
  void compileForHost(const CompileParams& params);

  std::unique_ptr<Fusion> fusion_;
  int64_t fusion_id_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Segment>> segments_;
  bool compiled_for_host_ = false;
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace nvfuser
