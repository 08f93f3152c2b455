/// The table operation × dtype × layout: programs of a few operations each, run on a device with
/// inputs of every layout and with special values, compared element by element with the reference
/// interpreter.
///
/// A test defines programs and combinations that must be refused, then calls `run`. Kernels are
/// compiled in batches. One program is compiled once for all layouts: its inputs are declared with
/// symbolic sizes and any strides. A case is one output of one program in one run. Every case is
/// counted; `run` prints the counts, and nothing is left out silently.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <ir/fusion.h>
#include <ir/interface_nodes.h>
#include <ops/table/accuracy.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::table {

using Sizes = std::vector<int64_t>;

/// What the elements of an input are.
enum class Values : uint8_t {
  Special,   ///< NaN, infinities, signed zeros, ends of the range, halves, and ordinary ones
  Finite,    ///< the same without NaN and infinities
  Moderate,  ///< as Special, without the ends of the range
  Ordinary,  ///< between −2 and 2; integers −9 … 9 (0 … 9)
  Positive,  ///< 0.25 … 4; integers 1 … 9
  Whole,     ///< −2, −1, 0, 1, 2: sums and products of a few are exact in every dtype
  Factor,    ///< 1, mostly, and −1 and 2: long products are exact
  Dividend,  ///< as Special, integers not below zero and without the upper half of the range
  Counter,   ///< 0, 1, 2, … modulo 5: positions
};

/// How an error is measured.
struct Accuracy {
  double ulps = 4;               ///< of the compute dtype
  bool absolute = false;         ///< relative to the largest operand, too: results that cancel
  RoundedTerms terms = nullptr;  ///< the same where a function has such
  bool may_overflow = false;  ///< infinite instead of within the tolerance of the greatest number
  bool exact = false;         ///< bit for bit, but for NaN's bits
  bool statistical = false;   ///< testValidate's bound, for chains of operations and reductions
};

enum class Layout : uint8_t { Contiguous, Strided, Expanded, Misaligned, Empty };
std::string_view layoutName(Layout layout);

/// Defines one program: inputs, then outputs.
class Definition {
 public:
  /// A tensor with symbolic sizes (an extent of 1 is a broadcast axis) and any strides. `empty`:
  /// its sizes in the run with empty tensors, if there is to be one.
  TensorView* tensor(const Sizes& sizes, DataType dtype, Values values = Values::Special,
                     std::optional<Sizes> empty = std::nullopt);
  /// A tensor with a declared axis of stride 0 in front.
  TensorView* expandedTensor(const Sizes& sizes, DataType dtype, Values values = Values::Special,
                             std::optional<Sizes> empty = std::nullopt);
  Val* scalar(DataType dtype, Values values = Values::Special);
  /// A scalar input that always has this value.
  Val* scalar(DataType dtype, PolymorphicValue value);
  void output(Val* value);
  Accuracy accuracy;

 private:
  friend class Table;
  struct Input {
    DataType dtype;
    Values values;
    bool is_tensor = false;
    bool is_expanded = false;
    Sizes sizes = {};
    std::optional<Sizes> empty = {};
    PolymorphicValue fixed = {};
  };
  std::vector<Input> inputs_;
};

class Table {
 public:
  Table(std::string family, Device& device) : family_(std::move(family)), device_(device) {}

  Device& device() const { return device_; }

  using Define = std::function<void(Definition&)>;
  /// `kind`: what is counted together, mostly the operation. `name`: the combination.
  void program(const std::string& kind, const std::string& name, const Define& define);
  /// A combination that is not supported: defining it must give a `UserError` whose text contains
  /// `wording`.
  void refused(const std::string& kind, const std::string& name, const std::string& wording,
               const Define& define);

  /// Compiles, runs, compares, prints, and fails the test for anything wrong. The least number of
  /// cases guards against a table that lost some.
  void run(int64_t least_cases);

 private:
  struct Program {
    std::string kind;
    std::string name;
    Accuracy accuracy;
    std::vector<Definition::Input> inputs;
    std::unique_ptr<FusionExecutorCache> cache;
  };
  void compileAll();
  /// Layout of the inputs, and which values.
  static std::vector<std::pair<Layout, int>> runsOf(const Program& program);
  void makeArguments(const Program& program, Layout layout, int variant,
                     std::vector<Tensor>* tensors, std::vector<PolymorphicValue>* scalars,
                     KernelArgumentHolder* on_host, KernelArgumentHolder* arguments);
  void prepareAll(Program& program, std::vector<KernelExecutor*>* executors);
  void runOnce(Program& program, Layout layout, int variant);
  void failed(const std::string& where, const std::string& what);

  std::string family_;
  Device& device_;
  std::list<Program> programs_;
  std::map<std::string, int64_t> cases_;
  std::map<std::string, int64_t> refusals_;  ///< by wording
  int64_t num_cases_ = 0;
  int64_t num_elements_ = 0;
  int64_t num_runs_ = 0;
  int64_t num_kernels_ = 0;
  int64_t num_batches_ = 0;
  int64_t failures_ = 0;
};

/// Element `i` (of operand number `operand`) in the order that pairs of operands meet each other.
PolymorphicValue elementOf(DataType dtype, Values values, int64_t i, size_t operand);

/// Emulated CUDA, or the GPU if it alone is wanted.
Device& cudaLike();
std::string_view deviceName(const Device& device);

}  // namespace nvfuser::table
