/// The part of code generation that is the same for all targets: statements, expressions, types. A
/// target is a subclass that supplies the hooks: the signature, vector and asynchronous copies,
/// what threads do together.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <codegen/generate.h>
#include <codegen/scalar_text.h>
#include <codegen/snippet_set.h>
#include <codegen/text_writer.h>

namespace nvfuser::codegen {

/// How the state of a reduction travels between threads: a struct with identity() and combine().
struct StateType {
  std::string name;                  ///< "State0", "Welford<float>"
  std::vector<std::string> members;  ///< in the order of the monoid's parts
  std::vector<DataType> dtypes;      ///< of the members
};

class Emitter {
 public:
  /// `index_type` is Int or Int32: what Index is in the text.
  Emitter(const kir::Kernel& kernel, Target target, DataType index_type);
  virtual ~Emitter() = default;
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  /// The function's name, instead of the kernel's.
  void rename(std::string name) { name_ = std::move(name); }
  GeneratedKernel generate();

 protected:
  // ---- hooks: emit_*.cpp of the target
  /// Everything around the statements: writes the function, given their text.
  virtual void function(TextWriter& out, const std::string& body) = 0;
  /// Before a `for`, where it is to be unrolled or vectorized.
  virtual void loopPragma(const kir::For& loop) = 0;
  /// Before the first statement of its body.
  virtual void loopStart(const kir::For&) {}
  /// Alignment in bytes of a register array; 0: that of its elements.
  virtual int64_t alignmentOf(const kir::Buffer& buffer) const = 0;
  virtual void emit(const kir::CopyVector& copy) = 0;
  virtual void emit(const kir::CopyAsync& copy) = 0;
  virtual void emit(const kir::BulkCopy& copy) = 0;
  virtual void emit(const kir::BoxCopy& copy) = 0;
  virtual void emit(const kir::AsyncCommit& commit) = 0;
  virtual void emit(const kir::AsyncWait& wait) = 0;
  virtual void emit(const kir::MBarrierInit& init) = 0;
  virtual void emit(const kir::MBarrierArrive& arrive) = 0;
  virtual void emit(const kir::SetRegisters& set) = 0;
  virtual void emit(const kir::GridDependency& dependency) = 0;
  virtual void emit(const kir::FenceAsyncProxy& fence) = 0;
  virtual void emit(const kir::Sync& sync) = 0;
  virtual void emit(const kir::CombineAt& combine) = 0;
  virtual void emit(const kir::BlockReduce& reduce) = 0;
  virtual void emit(const kir::BlockScan& scan) = 0;
  virtual void emit(const kir::ClusterReduce& reduce) = 0;
  virtual void emit(const kir::GridReduce& reduce) = 0;

  // ---- values: emit_values.cpp
  /// The C++ type of an element; adds the snippet that defines it.
  std::string typeName(DataType dtype);
  /// Index becomes the index type.
  DataType resolved(DataType dtype) const { return dtype == DataType::Index ? index_type_ : dtype; }
  /// How the elements of a buffer are stored. As its dtype, but for counts of Welford states in
  /// registers: those are kept in the type of the mean, which spares two conversions a step, where
  /// no vector takes them to memory.
  DataType storedAs(const kir::Buffer& buffer) const;
  /// The dtype that a part of a reduction's state computes in.
  DataType computeOf(DataType dtype) const;
  /// An element (`offset` further) in the dtype of its buffer, converted to `dtype`.
  virtual std::string elementText(const kir::Ref& ref, std::string_view offset, DataType dtype);
  /// An element: `T2`, or `T0[i * 4]`.
  std::string refText(const kir::Ref& ref) const;
  /// The same, `offset` elements further: an expression of type int.
  std::string refText(const kir::Ref& ref, std::string_view offset) const;
  virtual std::string addressText(const kir::Ref& ref) const { return "&" + refText(ref); }
  DataType dtypeOf(const kir::Operand& operand) const;
  /// An operand, converted to `dtype`. `Ref`s may be `offset` elements further.
  std::string operandText(const kir::Operand& operand, DataType dtype,
                          std::string_view offset = {});
  std::string converted(std::string_view value, DataType from, DataType to);
  std::string pointwise(const kir::PointwiseType& op, DataType compute, DataType out,
                        const std::vector<std::string>& operands);
  std::string comment(const kir::Buffer& buffer) const;
  /// Whether no other pointer of the kernel leads to the memory of a tensor argument that the
  /// kernel writes.
  bool isRestrict(const kir::Buffer& buffer) const;
  const kir::Buffer* bufferOf(const kir::Param& param) const;
  /// `const float* __restrict__`, `const Index`: the type of a parameter.
  std::string parameterType(const kir::Param& param);

  // ---- statements: emit_statements.cpp
  void block(const kir::Block& statements);
  virtual void emit(const kir::For& loop);
  void emit(const kir::If& branch);
  void emit(const kir::Declare& declare);
  void emit(const kir::LoadIndex& load);
  void emit(const kir::Let& let);
  void emit(const kir::Compute& compute);
  /// A function of which results do not show the last digits.
  enum class RoundedFunction : uint8_t { None, Exp, Sigmoid, Divide };
  RoundedFunction roundedFunction(const kir::Compute& compute) const;
  /// A Float as the target computes it faster than by the operation's own text, right to the digits
  /// that show, with its snippet added; empty: it does not.
  virtual std::string fasterText(const kir::Compute& /*compute*/,
                                 const std::vector<std::string>& /*operands*/) {
    return {};
  }
  virtual void emit(const kir::Assign& assign);
  virtual void emit(const kir::Guarded& guarded);
  void emit(const kir::Combine& combine);
  void emit(const kir::Random& random);
  /// Only loops of vectors are fast enough to wait for memory (host_lanes.cpp).
  void emit(const kir::Fetch&) {}
  /// The random number of a statement, in the dtype of its target.
  std::string randomText(const kir::Random& random);
  /// Its generator's seed and offset, as two arguments.
  std::string generatorText(const kir::Random& random);
  static bool drawsNormal(const kir::Random& random) {
    return random.type == RNGOpType::NormalStandard || random.type == RNGOpType::NormalGeneral;
  }
  /// What its distribution makes of a standard number.
  std::string distributedText(const kir::Random& random, std::string number);
  /// dst[0..width) = value(k)[0..width), element by element.
  void elementwise(const kir::Ref& dst, const kir::Operand& src);

  // ---- reductions: emit_reductions.cpp
  const StateType& stateType(const kir::Monoid& monoid);
  /// Of the library's struct `state` with these members, or of a group of them: `parts` in all.
  const StateType& groupType(std::string_view state, const std::vector<std::string>& members,
                             DataType real, size_t parts);
  /// `State0 state = {T3};`
  void loadState(const StateType& type, const std::vector<kir::Ref>& state,
                 std::string_view name = "state");
  /// `T3 = state.v0;`
  void storeState(const StateType& type, const std::vector<kir::Ref>& state,
                  std::string_view name = "state");
  static std::string_view monoidName(const kir::Monoid& monoid);

  const kir::Kernel& kernel_;
  std::string name_;
  const Target target_;
  const DataType index_type_;
  TextWriter out_{1};
  SnippetSet snippets_;
  ScalarText scalar_;

 private:
  void findAliases();
  void findCounts();
  void combineWelford(const kir::Combine& combine);
  void combineOnlineSoftmax(const kir::Combine& combine);
  std::string indexHelpers() const;

  std::map<std::string, StateType> states_;  ///< by their definition without the name
  std::string state_definitions_;
  std::set<const kir::Buffer*> aliased_;
  std::map<const kir::Buffer*, DataType> counts_;
};

}  // namespace nvfuser::codegen
