/// A `Fusion`: the graph of operations that a user describes, with its inputs and outputs. It owns
/// every node.
#pragma once

#include <any>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <ir/base_nodes.h>
#include <ir/fusion_guard.h>
#include <ir/interface_nodes.h>

namespace nvfuser {

struct BankConflict;
struct CompileParams;
class IrCloner;
class NodeNames;

/// What has to hold of sizes in each run. `message` begins what is said where it does not.
struct SizeRequirement {
  enum class Kind : uint8_t {
    SameCount,  ///< `found` elements are as many as `needed`
    NotZero,    ///< `found` is not 0
  };
  Kind kind;
  Val* found;
  Val* needed;  ///< null where there is none
  std::string message;
};

/// What a schedule promises, or asks of, the kernel that is made of a Fusion.
struct KernelHints {
  int64_t most_threads = 0;  ///< no block has more; 0: nothing is said
  int64_t least_blocks = 0;  ///< so many are to be resident on one multiprocessor; 0: any number
  bool fetch_ahead = false;  ///< loops of the CPU's tasks ask for lines ahead
  /// Elements that a thread adds to memory at once of what its block has added up for the only
  /// scatter (device_lower/add_by_blocks.h); 0: entries are added to memory.
  int64_t adds_by_blocks = 0;

  static constexpr auto fields() {
    return std::tuple{Field{"most_threads", &KernelHints::most_threads},
                      Field{"least_blocks", &KernelHints::least_blocks},
                      Field{"fetch_ahead", &KernelHints::fetch_ahead},
                      Field{"adds_by_blocks", &KernelHints::adds_by_blocks}};
  }
};

/// How an output uses the storage of an input.
struct AliasInfo {
  AllocationType type = AllocationType::New;
  Val* aliased_io = nullptr;
  OutputVisibility visibility = OutputVisibility::kVisible;
};

class Fusion {
 public:
  Fusion();
  Fusion(const Fusion& other);
  Fusion(Fusion&& other) noexcept;
  Fusion& operator=(const Fusion& other);
  Fusion& operator=(Fusion&& other) noexcept;
  ~Fusion();
  friend void swap(Fusion& a, Fusion& b) noexcept;
  void clear() noexcept;
  /// Copies everything; names and order are kept. The cloner maps old nodes to new ones.
  static IrCloner copy(const Fusion* from, Fusion* to);
  /// Copies these nodes and what they refer to (a tensor's axes, an expression's operands); names
  /// and order are kept. `to` has no inputs, outputs or aliases afterwards. Takes time by the nodes
  /// copied, however large `from` is.
  static IrCloner copyPart(const Fusion* from, Fusion* to,
                           const std::vector<const Statement*>& nodes);
  /// Structural: two fusions built by the same calls are equal, and equal ones have equal hashes.
  size_t hash() const;
  bool sameDefinition(const Fusion& other) const;

  // Interface.
  /// Registers a tensor (moved to global memory) or a scalar. Errors: registered twice, computed
  /// inside the fusion.
  void addInput(Val* input);
  void addOutput(Val* output);
  void removeInput(Val* input);
  void removeOutput(Val* output);
  void replaceOutput(Val* output, Val* replacement);
  const std::vector<Val*>& inputs() const { return inputs_; }
  const std::vector<Val*>& outputs() const { return outputs_; }

  /// `output` is written to the storage of `input` (ReuseBuffer); it is hidden unless it was also
  /// added as an output.
  void aliasOutputToInput(Val* output, Val* input, AllocationType type);
  const AliasInfo& getOutputAlias(const Val* output) const;
  const std::map<const Val*, AliasInfo>& getOutputAliases() const { return aliases_; }

  /// An operation whose sizes are symbols says what has to hold when they are known.
  void requireSizes(SizeRequirement requirement) {
    size_requirements_.push_back(std::move(requirement));
  }
  const std::vector<SizeRequirement>& sizeRequirements() const { return size_requirements_; }

  // Graph.
  /// Expressions that lead to an output, producers first; ties in definition order.
  std::vector<Expr*> exprs() const;
  /// Scalars and tensors that take part in the computation, in order of definition.
  std::vector<Val*> usedMathVals() const;
  /// Tensors that take part in the computation: inputs, then in order of definition.
  std::vector<TensorView*> allTvs() const;
  /// Expressions reading `val` that lead to an output, in definition order.
  std::vector<Expr*> usesOf(const Val* val) const;
  const std::vector<std::unique_ptr<Val>>& vals() const { return vals_; }
  const std::vector<std::unique_ptr<Expr>>& allExprs() const { return exprs_; }
  int64_t numExprs() const { return static_cast<int64_t>(exprs_.size()); }
  int64_t numVals() const { return static_cast<int64_t>(vals_.size()); }
  bool isNoOp() const;

  // Mapping hints for the graph of axes (id_model/).
  /// `a` stands for `b`: an axis that a scheduling primitive put into one tensor's loop domain in
  /// place of an axis which only its neighbour has (TensorDomain::additionalIDs). Exact where both
  /// are broadcast or neither is.
  void registerExactMapping(IterDomain* a, IterDomain* b) { mapping_hints_.emplace_back(a, b); }
  bool hasRegisteredExactMappings() const { return !mapping_hints_.empty(); }
  const std::vector<std::pair<IterDomain*, IterDomain*>>& registeredExactMappings() const {
    return mapping_hints_;
  }
  void resetExactMappings() { mapping_hints_.clear(); }

  // Kinds of axes.
  /// Symbolic axes are iterated from now on, and so are those that are made later: the sizes of a
  /// call are known (settling/), or the user's schedule has loops for them. Copies stay settled.
  void settleAxes();
  bool axesAreSettled() const { return axes_are_settled_; }
  /// Throws `InternalError` where an axis of a tensor is Symbolic: plans and kernels take an axis
  /// for what it is.
  void verifySettled() const;

  KernelHints& kernelHints() { return kernel_hints_; }
  const KernelHints& kernelHints() const { return kernel_hints_; }

  // Mutation.
  void removeExpr(Expr* expr);
  /// `expr` reads `replacement` where it read `old_input`.
  void replaceInput(Expr* expr, Val* old_input, Val* replacement);
  /// `val` is computed by `expr`, which had `old_output` there; `old_output` loses its definition.
  void replaceExprOutput(Expr* expr, Val* old_output, Val* val);

  // Attempts: an operation that throws half-way leaves nothing behind.
  /// How much was defined at some time.
  struct Mark {
    size_t vals, exprs, outputs, size_requirements;
    int64_t val_names[5];
    int64_t expr_names;
  };
  Mark mark() const;
  /// Removes what was defined since. Nodes from before must not refer to it, but as operands.
  void rollBack(const Mark& mark) noexcept;

  // Printing.
  void print(std::ostream& os, bool include_transforms = true) const;
  void print() const;
  std::string toString(bool include_transforms = true) const;
  /// The operations alone, one a line.
  void printMath(bool from_outputs_only = true) const;
  std::string mathString() const;
  void printTransforms() const;
  std::string transformsString() const;
  /// The Fusion that `toString()` printed (ir/README.md has the grammar). Throws `UserError`, which
  /// names the line, what is there and what was expected.
  static std::unique_ptr<Fusion> fromText(std::string_view text);
  /// Lowers and prints the kernel's text (runtime/).
  void printKernel() const;
  void printKernel(const CompileParams& params) const;
  std::string kernelString(const CompileParams& params) const;
  /// How many ways each access of the kernel to shared memory conflicts, with every size taken as
  /// 4096 (device_lower/bank_conflict.h).
  std::vector<BankConflict> bankConflictInfo() const;
  std::vector<BankConflict> bankConflictInfo(const CompileParams& params) const;

  // Constants, one node each.
  Val* zeroVal();
  Val* zeroVal(DataType dtype);
  Val* oneVal();
  Val* oneVal(DataType dtype);
  Val* trueVal();
  Val* falseVal();

  /// Throws `UserError` or `InternalError` where the graph breaks a rule of the IR (ir/README.md
  /// states them).
  void verify() const;

  /// Data that travels with the fusion and is copied with it.
  template <typename T>
  void manage(const std::string& key, T data) {
    managed_[key] = std::any(std::move(data));
  }
  template <typename T>
  const T& getManaged(const std::string& key) const {
    return std::any_cast<const T&>(managed_.at(key));
  }
  bool hasManaged(const std::string& key) const { return managed_.count(key) != 0; }
  void stopManaging(const std::string& key) { managed_.erase(key); }

 private:
  friend class NodeNames;
  friend class IrBuilder;
  friend class IrCloner;
  template <typename T>
  T* adopt(std::unique_ptr<T> node);
  void registerExpr(Expr* expr);
  /// Tells every node which Fusion it is in, after the lists were exchanged.
  void adoptAll() noexcept;
  void nameVal(Val* val);
  Val* constant(PolymorphicValue value, DataType dtype);

  std::vector<std::unique_ptr<Val>> vals_;
  std::vector<std::unique_ptr<Expr>> exprs_;
  std::vector<Val*> inputs_;
  std::vector<Val*> outputs_;
  std::map<const Val*, AliasInfo> aliases_;
  std::vector<std::pair<IterDomain*, IterDomain*>> mapping_hints_;
  std::vector<SizeRequirement> size_requirements_;
  int64_t val_names_[5] = {0, 0, 0, 0, 0};
  int64_t expr_names_ = 0;
  std::map<std::pair<int, int64_t>, Val*> constants_;
  std::map<std::string, std::any> managed_;
  bool axes_are_settled_ = false;
  KernelHints kernel_hints_;
};

}  // namespace nvfuser
