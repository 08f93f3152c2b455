/// One launch with all that depends on sizes, strides and integer scalars worked out: the grid, the
/// outputs' layouts, the block of arguments. A call copies the block and fills in addresses.
///
///   LaunchPlan    grid (64, 1, 1) block (128, 1, 1); output float[8192] strides [1];
///                 arguments: address of input 0 | address of output 0 | 8192
///   a call        allocates the output, copies the block, writes two addresses, launches
///
/// A plan is immutable and serves every call whose tensors have the same dtypes, sizes and strides
/// and whose integer scalars have the same values; several threads may use it at once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <runtime/compiled_kernel.h>
#include <runtime/launch_values.h>
#include <runtime/repeated_call.h>
#include <runtime/run_context.h>
#include <runtime/tensor_map.h>

namespace nvfuser {

class OccupiedMemory;

class LaunchPlan {
 public:
  enum class Kind : uint8_t {
    Launch,
    Nothing,    ///< no output has elements
    Interpret,  ///< there are elements, but a launched or reduced axis has none
  };

  /// Throws `UserError` for sizes that the kernel cannot take, for scalars without a value and
  /// where `launch` contradicts the schedule.
  LaunchPlan(const CompiledKernel& compiled, LaunchValues& values, const LaunchParams& launch);

  const CompiledKernel& compiled() const { return *compiled_; }
  Kind kind() const { return kind_; }
  const LaunchShape& shape() const { return shape_; }
  const LaunchParams& launchParams() const { return launch_params_; }
  /// Whether 32 bits are too few to count some output's elements.
  bool hasLargeOutputs() const { return has_large_outputs_; }
  /// Random operations that draw from the generator.
  uint64_t numDraws() const { return num_draws_; }

  /// Outputs in the fusion's order; one that the kernel may write to the input whose storage it
  /// reuses (in_place.h) is that input.
  KernelArgumentHolder allocateOutputs(const KernelArgumentHolder& args,
                                       const RunContext& context) const;
  /// In memory of its own, whatever it reuses.
  Tensor allocateOutput(size_t i, const RunContext& context) const;
  /// Where the outputs belong when the kernel has run; null for those in memory of their own.
  std::vector<const Tensor*> targets(const KernelArgumentHolder& args) const;
  bool hasTargets() const { return has_targets_; }
  /// Whether the kernel may write output `i` to `memory`, an argument among those that `occupied`
  /// was made of.
  bool writesDirectly(size_t i, const Tensor& memory, const OccupiedMemory& occupied) const;
  size_t numOutputs() const { return outputs_.size(); }
  Allocator::Form outputForm(size_t i) const {
    return {outputs_[i].dtype, outputs_[i].sizes, outputs_[i].strides};
  }
  /// Whether a call is a launch (or nothing) that writes each output where it belongs.
  bool isRepeatable() const;
  // Where the kernel writes output `i`, if not to memory of its own: to that of an output before
  // it, or of an input, which this updates or which it is.
  std::optional<size_t> outputSameAs(size_t i) const { return outputs_[i].same_as; }
  std::optional<size_t> outputInput(size_t i) const { return outputs_[i].input; }
  bool outputIsUpdate(size_t i) const { return outputs_[i].target.has_value(); }
  /// Whether a call needs memory beside its outputs.
  bool hasWorkspaces() const { return !workspaces_.empty() || standing_bytes_ > 0; }
  /// Throws `UserError` unless the tensors have the dtypes, sizes and strides of the outputs.
  void checkOutputs(const KernelArgumentHolder& outputs) const;

 private:
  friend class BoundArguments;
  struct Output {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    DataType dtype;
    std::optional<size_t> input;    ///< whose storage it is for the kernel, too
    std::optional<size_t> target;   ///< an input whose storage it has in the end
    std::optional<size_t> same_as;  ///< an output before it
  };
  using Bytes = std::array<std::byte, 16>;
  struct Argument {
    enum class Kind : uint8_t {
      Input,
      Element,  ///< an input's one element, read on the host
      Output,
      Workspace,
      Standing,     ///< words that launches share (`Device::standingWords`)
      Map,          ///< of a tensor, made in each call
      IndexReport,  ///< on the CPU: memory of the call itself
      Bounds,       ///< likewise
      Constant,
      Scalar,
      Computed,
      Seed,
      Offset
    };
    Kind kind = Kind::Constant;
    size_t index = 0;          ///< of the input, output, workspace or map
    size_t offset = 0;         ///< in the workspace or the standing words, bytes
    const Val* val = nullptr;  ///< of a computed scalar
    DataType dtype = {};       ///< of an element or scalar
    Bytes bytes = {};          ///< of a constant
  };
  /// Memory that a call allocates at once. What is zeroed lies first.
  struct Workspace {
    size_t bytes = 0;
    size_t zeroed_bytes = 0;
  };
  /// All of a tensor map but for the address.
  struct Map {
    bool is_output = false;
    size_t tensor = 0;  ///< which input or output
    TensorMapArgument form;
  };
  struct AddressCheck {
    size_t argument;
    int64_t divisor;
    std::string reason;
  };

  /// Where each output is written and how it lies; whether none has elements.
  bool placeOutputs(LaunchValues& values);
  void chooseShape(LaunchValues& values, const LaunchParams& launch);
  int64_t tensorBytes(const KernelArgumentHolder& args) const;
  Argument tensorArgument(const kir::Param& param);
  Argument mapArgument(const kir::TensorMap& map, LaunchValues& values);
  void placeStandingWords(LaunchValues& values);
  void placeWorkspaces(LaunchValues& values);
  void findBounds(LaunchValues& values);
  Argument scalarArgument(const kir::Param& param, LaunchValues& values);
  /// Throws where sizes break what the kernel relies on; addresses are left to each call.
  void checkLaunch(const kir::LaunchCheck& check, LaunchValues& values);

  const CompiledKernel* compiled_;
  Kind kind_ = Kind::Launch;
  LaunchShape shape_;
  LaunchParams launch_params_;
  std::vector<Output> outputs_;
  std::vector<Argument> arguments_;
  std::vector<Workspace> workspaces_;
  size_t standing_bytes_ = 0;  ///< of the standing words, to the last one that it uses
  std::vector<Map> maps_;
  std::vector<AddressCheck> address_checks_;
  std::vector<int64_t> index_extents_;  ///< of the kernel's index_reads
  std::vector<int64_t> bounds_;         ///< what the kernel's `bounds` holds before the launch
  /// Knows all sizes; for scalars that are computed from scalar inputs in each call.
  std::shared_ptr<const ExpressionEvaluator> evaluator_;
  bool has_large_outputs_ = false;
  bool has_targets_ = false;
  uint64_t num_draws_ = 0;
};

}  // namespace nvfuser
