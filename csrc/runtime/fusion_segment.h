/// One kernel's part of a larger Fusion: the operations, and the kernels that were made of them,
/// one for each set of a scheduler's parameters.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <runtime/executor.h>
#include <runtime/in_place.h>
#include <scheduler/registry.h>
#include <segmenter/extract.h>

namespace nvfuser {

/// A segment under one plan.
struct SegmentKernel {
  std::unique_ptr<HeuristicParams> params;   ///< null: run as the user scheduled it, or interpreted
  std::unique_ptr<KernelExecutor> executor;  ///< null: it is interpreted on the host
  std::vector<InPlace> in_place;             ///< outputs that it writes straight to inputs
};

class FusionSegment {
 public:
  /// `group` is part of `whole`, which outlives this.
  FusionSegment(const Fusion& whole, const Group& group);

  const Fusion& fusion() const { return *extracted_.fusion; }
  /// Values of the whole fusion.
  const std::vector<const Val*>& inputs() const { return extracted_.inputs; }
  const std::vector<const Val*>& outputs() const { return extracted_.outputs; }

  /// The first plan of a scheduler that did not fail, and that has a kernel as far as known. The
  /// refusals of its predecessors are kept for reports.
  Proposal propose(SchedulerRuntimeInfo& info);
  /// The kernel of a plan (null: as the user scheduled it): found, or scheduled and lowered (not
  /// compiled) for `device`, named by `next_name`. Null where the model of loops has no kernel for
  /// the plan, which is not proposed again. A failure of a scheduler or of lowering is thrown as it
  /// is. Of `wanted`, it writes to inputs what it may (`directWrites`).
  SegmentKernel* kernelFor(const HeuristicParams* params, const std::vector<InPlace>& wanted,
                           Device& device, PrimDataType index_type, const CompileParams& compile,
                           int64_t fusion_id, int64_t& next_name);
  /// Runs on the host, one operation after the other.
  SegmentKernel& interpreted();

  /// Schedulers whose plan could not be carried out; they are not asked again.
  void setFailed(SchedulerType type) { failed_.insert(type); }

  /// Nothing can be compiled here: it is interpreted, whatever schedulers propose.
  void setOnHost() { on_host_ = true; }
  bool isOnHost() const { return on_host_; }

  std::vector<const SegmentKernel*> kernels() const;

 private:
  /// Slices, pads, joins and indexed reads read inputs, before the first scheduler that makes a
  /// kernel is asked.
  void readInputsAnywhere(bool on_host);
  std::optional<Refusal> refusesToReduce(SchedulerType type) const;
  /// What a scheduler says of the form; asked once.
  const std::optional<Refusal>& refusalOf(const SchedulerEntry& entry);

  ExtractedGroup extracted_;
  bool asked_ = false;
  bool on_host_ = false;
  std::map<SchedulerType, std::optional<Refusal>> form_;  ///< what was said about its form
  std::map<std::string, std::unique_ptr<SegmentKernel>> kernels_;
  std::set<SchedulerType> failed_;
  std::map<std::string, Refusal> refused_;  ///< plans, by name, that have no kernel
};

}  // namespace nvfuser
