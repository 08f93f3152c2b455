/// The arguments of one call of a launch plan.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <runtime/launch_plan.h>

namespace nvfuser {

/// The arguments of one call, and the memory of its own that they point to.
class BoundArguments {
 public:
  /// Allocates workspaces. Throws `UserError` where an address is not aligned as the kernel needs
  /// it.
  BoundArguments(const LaunchPlan& plan, std::span<const LentArgument> args,
                 std::span<void* const> outputs, uint64_t seed, uint64_t offset,
                 const RunContext& context);
  BoundArguments(const BoundArguments&) = delete;
  BoundArguments& operator=(const BoundArguments&) = delete;

  std::span<void* const> pointers() const { return pointers_.span(); }
  /// Throws `IndexRangeError` where the launched kernel met an index outside its axis,
  /// `BoundsError` where it left a tensor's memory, and reports such. (Only on the CPU, where the
  /// launch is over by now.)
  void checkReports() const;

 private:
  struct Call;
  void allocateWorkspaces(const RunContext& context);
  /// Of the stream, or where its device has none, memory of this call; null: the kernel uses none.
  std::byte* standingWords(const RunContext& context);
  /// The map of a tensor that is where this call has it.
  TensorMapArgument* describeTensor(const LaunchPlan::Argument& argument, const Call& call);
  /// Of any other argument.
  void findValue(const LaunchPlan::Argument& argument, Call& call, LaunchPlan::Bytes* value);
  void checkAddresses();
  void checkWords() const;

  const LaunchPlan& plan_;
  ShortList<LaunchPlan::Bytes, 24> values_;
  ShortList<void*, 24> pointers_;
  std::vector<TensorMapArgument> maps_;
  mutable std::array<int64_t, 2> index_report_ = {};  ///< the kernel writes what index was wrong
  mutable std::vector<int64_t> bounds_;               ///< likewise at its begin, of an access
  std::vector<DeviceMemory> workspaces_;              ///< freed in stream order
};

}  // namespace nvfuser
