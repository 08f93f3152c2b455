/// Asks the schedulers about groups, each form once.
///
/// The form of a group is its operations, how they are connected, and what is known of its tensors
/// and axes, without any names; so 64 equal layers have one form.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <segmenter/group.h>
#include <segmenter/traits.h>

namespace nvfuser {

/// Whether a group can be one kernel.
using TakesGroup = std::function<bool(const Group&)>;

/// Units that become a kernel. Some of them may be computed by other kernels as well.
struct Part {
  std::vector<int> units;  ///< ascending
  std::set<int> stored;    ///< tensors
};

/// The part of these units (ascending), which stores what others read.
Part makePart(const FusionTraits& traits, std::vector<int> units);
Group groupOf(const FusionTraits& traits, const Part& part);

class Questions {
 public:
  Questions(const FusionTraits& traits, const SegmentCall& call, const TakesGroup& takes)
      : traits_(traits), call_(call), takes_(takes) {}

  bool takes(const Part& part);

  int64_t asked() const { return asked_; }
  /// Units in all groups that were asked about.
  int64_t askedUnits() const { return asked_units_; }
  /// Units in all groups whose form was looked up.
  int64_t lookedUpUnits() const { return looked_up_units_; }

  /// Kernels of parts with equal forms do the same with tensors of like sizes.
  std::vector<int> formOf(const Part& part);

 private:
  /// A number for each text.
  int number(const std::string& text);
  int formOf(const Expr* expr);
  int formOf(const TensorView* tv);

  const FusionTraits& traits_;
  const SegmentCall& call_;
  const TakesGroup& takes_;
  std::map<std::vector<int>, bool> answers_;
  std::map<std::string, int> texts_;
  std::unordered_map<const Statement*, int> forms_;
  int64_t asked_ = 0;
  int64_t asked_units_ = 0;
  int64_t looked_up_units_ = 0;
};

}  // namespace nvfuser
