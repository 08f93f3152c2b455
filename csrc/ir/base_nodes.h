/// The nodes of a Fusion: `Statement`, `Val` (a value: scalar, axis, tensor) and `Expr` (how
/// outputs come from inputs).
///
/// Nodes have pointer identity and belong to exactly one Fusion, which frees them. What a node
/// holds is a struct of fields (fields.h), and an Expr has operands besides. So cloning, equality,
/// hash, printing and reading are written once, for all kinds.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ir/fields.h>
#include <ir/polymorphic_value.h>
#include <ir/type.h>
#include <support/error.h>

namespace nvfuser {

class Expr;
class FingerprintReader;
class Fusion;
class NodeNames;
class IrCloner;
class TensorView;
class Val;

/// Only the builder and the cloner can make one, so every node is registered with its Fusion.
class IrBuilderPasskey {
 public:
  Fusion* const fusion;

 private:
  friend class IrBuilder;
  friend class IrCloner;
  explicit IrBuilderPasskey(Fusion* container) : fusion(container) {}
};

class Statement {
 public:
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  virtual ~Statement() = default;

  virtual bool isVal() const { return false; }
  virtual bool isExpr() const { return false; }
  Val* asVal();
  const Val* asVal() const;
  Expr* asExpr();
  const Expr* asExpr() const;

  template <typename T>
  bool isA() const {
    return T::classof(this);
  }
  template <typename... Ts>
  bool isOneOf() const {
    return (isA<Ts>() || ...);
  }
  template <typename T>
  T* as() {
    check(isA<T>(), "a node was taken for another kind of node");
    return static_cast<T*>(this);
  }
  template <typename T>
  const T* as() const {
    check(isA<T>(), "a node was taken for another kind of node");
    return static_cast<const T*>(this);
  }

  Fusion* fusion() const { return fusion_; }
  Fusion* container() const { return fusion_; }
  /// Number of the node, unique among the nodes of its kind in the Fusion; kept by cloning.
  int64_t name() const { return name_; }

  virtual std::string toString(int indent_size = 0) const = 0;
  virtual std::string toInlineString(int indent_size = 0) const = 0;

 protected:
  explicit Statement(Fusion* fusion) : fusion_(fusion) {}

 private:
  friend class Fusion;
  friend class NodeNames;
  friend class IrCloner;
  Fusion* fusion_;
  int64_t name_ = -1;
};

/// What a scalar is, in 128 bits (fingerprint.cpp): scalars of equal meaning by structure have
/// equal ones. Good for one process: symbols are told apart by identity.
struct Fingerprint {
  uint64_t high = 0;
  uint64_t low = 0;

  /// Whether a symbol is in it, so that the value is not known yet.
  bool hasSymbol() const { return (low & 1) != 0; }
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
struct FingerprintHash {
  size_t operator()(const Fingerprint& f) const { return static_cast<size_t>(f.high); }
};

/// A value. As itself a scalar (constant, symbolic or computed); axes and tensors derive from it.
class Val : public Statement {
 public:
  Val(IrBuilderPasskey passkey, ValType vtype, DataType dtype, PolymorphicValue value = {});
  /// A symbolic scalar.
  Val(IrBuilderPasskey passkey, DataType dtype);
  Val(IrBuilderPasskey passkey, PrimDataType dtype) : Val(passkey, DataType(dtype)) {}
  /// A constant; its dtype is that of the value (Bool, Int, Double, ComplexDouble).
  Val(IrBuilderPasskey passkey, PolymorphicValue value);
  /// A constant of a given dtype.
  Val(IrBuilderPasskey passkey, PolymorphicValue value, DataType dtype);

  static bool classof(const Statement* s) { return s->isVal(); }
  bool isVal() const final { return true; }

  ValType vtype() const { return vtype_; }
  DataType dtype() const { return dtype_; }
  DataType getDataType() const { return dtype_; }
  /// The constant's value; empty for anything else.
  const PolymorphicValue& value() const { return value_; }

  bool isScalar() const { return vtype_ == ValType::Others || vtype_ == ValType::NamedScalar; }
  bool isConst() const { return value_.hasValue(); }
  bool isSymbolic() const { return !isConst(); }
  /// A scalar whose definition, followed to its leaves, has constants alone.
  bool isConstScalar() const;
  bool isConstInt() const { return isConstScalar() && isIntegralType(dtype_); }
  bool isIntegralScalar() const { return isScalar() && isIntegralType(dtype_); }
  bool isFloatingPointScalar() const { return isScalar() && isFloatingPointType(dtype_); }
  bool isABool() const { return isScalar() && isBooleanType(dtype_); }
  bool isZero() const { return isConst() && value_ == PolymorphicValue(0); }
  bool isZeroInt() const { return isZero() && isIntegralType(dtype_); }
  bool isOne() const { return isConst() && value_ == PolymorphicValue(1); }
  bool isOneInt() const { return isOne() && isIntegralType(dtype_); }
  bool isTrue() const { return isABool() && isConst() && value_.as<bool>(); }
  bool isFalse() const { return isABool() && isConst() && !value_.as<bool>(); }
  /// Value of a constant expression; empty if it depends on a symbol. (evaluator/)
  PolymorphicValue evaluate() const;

  /// The expression that computes this value; null for a fusion input, also where one exists.
  Expr* definition() const { return is_fusion_input_ ? nullptr : definition_; }
  template <typename E>
  bool isDefinitionType() const;
  /// Expressions that read this value and still lead somewhere (dead ones are dropped by the
  /// Fusion).
  const std::vector<Expr*>& uses() const { return uses_; }
  bool isFusionInput() const { return is_fusion_input_; }
  bool isFusionOutput() const { return is_fusion_output_; }

  /// Same node, equal constants, or the same operation of same operands. Symbols are equal only to
  /// themselves. Takes no walk: scalars are compared by fingerprint.
  virtual bool sameAs(const Statement* other) const;
  /// Computed once and remembered until a definition that it is computed from changes. Other values
  /// than scalars are what they are by identity.
  Fingerprint fingerprint() const;

  std::string toString(int indent_size = 0) const override;
  /// A scalar is spelled out by its definition while that is short; a long one has its name alone,
  /// as definitions share parts and may be exponentially long when spelled out.
  std::string toInlineString(int indent_size = 0) const override;

 private:
  friend class Expr;
  friend class FingerprintReader;
  friend class Fusion;
  friend class IrCloner;
  /// This scalar is defined otherwise from now on.
  void forgetFingerprint() noexcept;

  ValType vtype_;
  DataType dtype_;
  PolymorphicValue value_;
  Expr* definition_ = nullptr;
  std::vector<Expr*> uses_;
  bool is_fusion_input_ = false;
  bool is_fusion_output_ = false;
  /// The fingerprint; 0 while it is not known. Threads that read one Fusion may write it at once,
  /// and then write the same.
  mutable std::atomic<uint64_t> fingerprint_high_ = 0;
  mutable std::atomic<uint64_t> fingerprint_low_ = 0;
};

/// A scalar known by a name of its own: a kernel's built-in such as `blockDim.x`.
class NamedScalar : public Val {
 public:
  NamedScalar(IrBuilderPasskey passkey, std::string symbol, DataType dtype);
  static bool classof(const Statement* s) {
    return s->isVal() && s->asVal()->vtype() == ValType::NamedScalar;
  }
  const std::string& symbol() const { return symbol_; }
  std::string toString(int = 0) const override { return symbol_; }
  std::string toInlineString(int = 0) const override { return symbol_; }

 private:
  std::string symbol_;
};

enum class ExprKind : uint8_t {
#define X(Class) Class,
#include <ir/expr_kinds.def>
#undef X
};
std::string_view exprKindName(ExprKind kind);

/// What an expression reads and what it makes.
struct Operands {
  std::vector<Val*> inputs;
  std::vector<Val*> outputs;
};

class Expr : public Statement {
 public:
  static bool classof(const Statement* s) { return s->isExpr(); }
  bool isExpr() const final { return true; }
  ExprKind kind() const { return kind_; }

  const std::vector<Val*>& inputs() const { return operands_.inputs; }
  const std::vector<Val*>& outputs() const { return operands_.outputs; }
  Val* input(size_t i) const { return operands_.inputs.at(i); }
  Val* output(size_t i) const { return operands_.outputs.at(i); }
  /// Values among its fields: scalars that are no operands, such as the factor of a split.
  std::vector<Val*> fieldVals() const;

  /// Same kind and fields.
  bool sameOp(const Expr* other) const;
  /// Same kind, fields and inputs.
  bool sameAs(const Expr* other) const;
  /// Whether two runs give the same values (random operations do not).
  bool isDeterministic() const { return kind_ != ExprKind::RNGOp && kind_ != ExprKind::SdpaFwdOp; }
  /// "add", "set", "reduction_add", …: the operation as printed text names it.
  std::string getOpString() const;

  std::string toString(int indent_size = 0) const override;
  std::string toInlineString(int indent_size = 0) const override;

 protected:
  Expr(IrBuilderPasskey passkey, ExprKind kind, Operands operands);

 private:
  friend class Fusion;
  friend class IrCloner;
  ExprKind kind_;
  Operands operands_;
};

/// Base of one kind of expression:
/// `class Split : public ExprOf<Split, ExprKind::Split, SplitFields>`. Each has a `kName`: how text
/// names it, or what precedes the field that is part of its name.
template <typename Self, ExprKind K, typename F = NoFields>
class ExprOf : public Expr {
 public:
  using Fields = F;
  static constexpr ExprKind kKind = K;
  ExprOf(IrBuilderPasskey passkey, Operands operands, F fields = {})
      : Expr(passkey, K, std::move(operands)), fields_(std::move(fields)) {}
  static bool classof(const Statement* s) { return s->isExpr() && s->asExpr()->kind() == K; }
  const F& fields() const { return fields_; }

 private:
  F fields_;
};

inline Val* Statement::asVal() { return as<Val>(); }
inline const Val* Statement::asVal() const { return as<Val>(); }
inline Expr* Statement::asExpr() { return as<Expr>(); }
inline const Expr* Statement::asExpr() const { return as<Expr>(); }

template <typename E>
bool Val::isDefinitionType() const {
  return definition() != nullptr && definition()->isA<E>();
}

}  // namespace nvfuser
