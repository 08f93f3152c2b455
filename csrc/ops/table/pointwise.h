/// The one table of pointwise operations: what each computes, as generated text and as reference
/// functions, and what may be done with it. The operations' definitions, the evaluator, both code
/// generators, the bindings and the documentation read it; nothing else says what an operation
/// means.
///
/// Rules that hold for all text:
/// - Operands are C++ expressions whose type is already the compute dtype (the condition of
///   `where`: bool).
/// - The result is one expression; operands that are not primary are put in parentheses, the result
///   is not.
/// - Reduced-precision floats never are the compute dtype, except of `where` and casts, which only
///   move them.
/// - Signed integers wrap: data is computed in unsigned types where C++ leaves overflow undefined;
///   on the host, whose text is compiled with -fwrapv, in its own (GCC 12 vectorizes sums between
///   such casts wrongly: tests/fuzz/found/sums_of_comparisons.fuzz). Index is taken not to overflow
///   and printed plainly.
/// - Dividing an integer by zero gives 0.
/// - Casts of floats to integers have a value for every number: see `castText`.
#pragma once

#include <array>
#include <complex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ir/base_nodes.h>
#include <ir/op_types.h>

namespace nvfuser {

/// The language of generated text: CUDA C++, or C++ for the host compiler without system headers.
enum class Target : uint8_t { Cuda, Host };

/// What a dtype's elements are. Each has its own column in the table.
enum class NumberClass : uint8_t { Bool, Integer, Real, Complex };
NumberClass numberClass(DataType dtype);

/// Which dtype a function computes in and gives, from its operands'. "Promoted": see
/// ops/promotion.h.
enum class DtypeRule : uint8_t {
  Identity,    ///< the operand's own, as it is
  Keep,        ///< the operand's own; reduced precision is computed in Float and cast back
  Default,     ///< promoted; reduced precision becomes Float
  Float,       ///< promoted; so do integers and Bool
  FullFloat,   ///< promoted; must be Float or Double
  Magnitude,   ///< as Keep; a complex operand gives a real result
  RealPart,    ///< a part of a complex number
  Comparison,  ///< computed as Default; gives Bool
  Logical,     ///< operands become Bool; gives Bool
  Bitwise,     ///< promoted; integers or Bool alone
  Integer,     ///< promoted; integers alone
  Predicate,   ///< the operand's own; gives Bool
  Select,      ///< promoted, reduced precision stays; the first operand is Bool
};
std::string_view dtypeRuleName(DtypeRule rule);

/// The result's dtype, given the compute dtype.
enum class ResultKind : uint8_t { Same, Bool, RealPart, MakeComplex };

/// The e with op(e, x) == x.
enum class Identity : uint8_t { None, Zero, One, Lowest, Highest, AllOnes };

/// An operation on one class of numbers. `text` empty: not defined there. Placeholders: `$0 $1 $2`
/// operands, `$u0` … operands as unsigned where that is needed to wrap (in a pattern that begins
/// with
/// `~`, whose result is brought back to the type), `$T` compute type, `$O` the result's type, `$f`
/// "f" for Float, `$m` the prefix of C's mathematical functions, `$M` the greatest finite number.
template <typename Number>
struct Meaning {
  std::string_view text;
  /// Takes and gives numbers of the class (truth values: 0 or 1). Integers are int64 images of the
  /// compute dtype, which the result must be wrapped to.
  Number (*reference)(const Number* x, DataType compute) = nullptr;
  /// For the host, where it differs.
  std::string_view host = {};
};

struct PointwiseRow {
  std::string_view name;
  int arity;
  int code;  ///< the number of the enumerator
  ResultKind result = ResultKind::Same;
  /// Relative to an addition, in the unit that reads best: 1 simple, 4 division, 8 exp, 20 pow.
  int cost = 1;
  Meaning<double> real = {};
  Meaning<int64_t> integer = {};
  Meaning<int64_t> boolean = {};
  Meaning<std::complex<double>> complex = {};
  /// Text for unsigned integers, where that of signed ones would compare with zero in vain.
  std::string_view unsigned_text = {};
  /// Text for Index, where that of other integers takes care of divisors that Index never has.
  std::string_view index_text = {};
  bool commutative = false;
  bool associative = false;
  Identity identity = Identity::None;

  /// Whether the operation is defined for a compute dtype.
  bool accepts(DataType compute) const;
  DataType resultType(DataType compute) const;
};

/// The least and the greatest value of a dtype; none where its values have no order.
std::optional<PolymorphicValue> leastValue(DataType dtype);
std::optional<PolymorphicValue> greatestValue(DataType dtype);
/// What changes no value that the operation combines it with; none: there is nothing such.
std::optional<PolymorphicValue> identityValue(BinaryOpType type, DataType dtype);

const PointwiseRow& pointwiseRow(UnaryOpType type);
const PointwiseRow& pointwiseRow(BinaryOpType type);
const PointwiseRow& pointwiseRow(TernaryOpType type);
std::span<const PointwiseRow> unaryRows();
std::span<const PointwiseRow> binaryRows();
std::span<const PointwiseRow> ternaryRows();

/// A function that users call: a line of pointwise_functions.def.
struct PointwiseFunction {
  std::string_view name;
  int arity;
  int code;  ///< of UnaryOpType, BinaryOpType or TernaryOpType, as the arity says
  DtypeRule rule;
  std::string_view python_operator;  ///< of Python's module `operator`; may be empty
  std::string_view doc;
  const PointwiseRow& row() const;
};
std::span<const PointwiseFunction> pointwiseFunctions();
/// Null if there is none of the name.
const PointwiseFunction* findPointwiseFunction(std::string_view name);

/// The dtype that an expression computes in, i.e. that its operands must be brought to. For Cast
/// and BitCast that of the operand. `expr` is a UnaryOp, BinaryOp or TernaryOp.
DataType pointwiseComputeType(const Expr* expr);

// ---- text --------------------------------------------------------------------------------------

/// The expression that computes `type` on `operands` in `compute`, converted to `out` (Null: what
/// the operation gives).
std::string pointwiseText(UnaryOpType type, Target target, DataType compute, DataType out,
                          std::span<const std::string> operands);
std::string pointwiseText(BinaryOpType type, Target target, DataType compute, DataType out,
                          std::span<const std::string> operands);
std::string pointwiseText(TernaryOpType type, Target target, DataType compute, DataType out,
                          std::span<const std::string> operands);

/// Files below runtime/ that the text needs, in the order in which they are to be included.
std::vector<std::string_view> pointwiseSnippets(UnaryOpType type, Target target, DataType compute,
                                                DataType out = DataType::Null);
std::vector<std::string_view> pointwiseSnippets(BinaryOpType type, Target target, DataType compute,
                                                DataType out = DataType::Null);
std::vector<std::string_view> pointwiseSnippets(TernaryOpType type, Target target, DataType compute,
                                                DataType out = DataType::Null);

/// Text on vectors of the host (runtime/cpu/lanes.h), whose lanes are of the compute dtype. Empty:
/// there is none. Comparisons give masks of that dtype's size.
std::string lanesText(UnaryOpType type, DataType compute, std::span<const std::string> operands);
std::string lanesText(BinaryOpType type, DataType compute, std::span<const std::string> operands);
std::string lanesText(TernaryOpType type, DataType compute, std::span<const std::string> operands);
/// The pattern behind it.
std::string_view lanesPattern(std::string_view name, DataType compute);

/// `operand` of type `from` converted to `to`. Non-zero is true, complex to real takes the real
/// part, reduced precision goes by Float. Floats are cut towards zero; beyond the range of an
/// integer type they become its nearest end (types below 32 bits: that of int32, of which they keep
/// the low bits), and NaN becomes 0.
std::string castText(Target target, DataType from, DataType to, std::string_view operand);
std::vector<std::string_view> castSnippets(Target target, DataType from, DataType to);

/// The name of the type in generated text: "float", "i64", "half_t", "complex<float>", …
std::string_view typeText(DataType dtype);
/// The file below runtime/ that defines the type; empty for built-in types.
std::string_view typeSnippet(Target target, DataType dtype);

/// Whether text can stand as an operand without parentheses: a name, a literal, a call, an element.
bool isPrimaryText(std::string_view text);

// ---- reference ---------------------------------------------------------------------------------

/// The value of the operation on operands of `compute` (other kinds are converted), as `out` (Null:
/// what it gives). BitCast is the identity here: its result depends on the stored form, which only
/// the evaluator has.
PolymorphicValue pointwiseReference(UnaryOpType type, DataType compute, DataType out,
                                    std::span<const PolymorphicValue> operands);
PolymorphicValue pointwiseReference(BinaryOpType type, DataType compute, DataType out,
                                    std::span<const PolymorphicValue> operands);
PolymorphicValue pointwiseReference(TernaryOpType type, DataType compute, DataType out,
                                    std::span<const PolymorphicValue> operands);

/// Bits of an integer dtype; 64 for Index.
int integerBits(DataType dtype);
/// `value` cut to the width of an integer dtype, and sign- or zero-extended.
int64_t wrapInteger(int64_t value, DataType dtype);

}  // namespace nvfuser
