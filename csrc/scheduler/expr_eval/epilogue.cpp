#include <scheduler/expr_eval/epilogue.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <ir/axis_map.h>

namespace nvfuser {

namespace {

/// Walks from the result to the product, and keeps what it passes.
class Walk {
 public:
  /// `val` before a cast from Float, or to it, which loses nothing; so no rounding inside is lost.
  const Val* beforeCast(const Val* val, bool to_float) {
    const Expr* cast = unary(val, UnaryOpType::Cast);
    if (cast == nullptr) {
      return val;
    }
    const DataType from = cast->input(0)->dtype();
    const DataType to = val->dtype();
    const DataType narrow = to_float ? from : to;
    const bool is_it = (to_float ? to : from) == DataType::Float &&
                       (narrow == DataType::Half || narrow == DataType::BFloat16);
    return is_it ? pass(cast)->input(0) : val;
  }
  const Val* widened(const Val* val) { return beforeCast(val, true); }
  const Expr* pass(const Expr* expr) {
    passed_.insert(expr);
    return expr;
  }
  static const Expr* unary(const Val* val, UnaryOpType type) {
    const Expr* expr = val->definition();
    const bool is_it = val->isA<TensorView>() && expr != nullptr && expr->isA<UnaryOp>() &&
                       expr->as<UnaryOp>()->getUnaryOpType() == type;
    return is_it ? expr : nullptr;
  }
  static const Expr* binary(const Val* val, BinaryOpType type) {
    const Expr* expr = val->definition();
    const bool is_it = val->isA<TensorView>() && expr != nullptr && expr->isA<BinaryOp>() &&
                       expr->as<BinaryOp>()->getBinaryOpType() == type;
    return is_it ? expr : nullptr;
  }

  /// x of x · `factor`, or null.
  const Val* scaled(const Val* val, double factor) {
    const Expr* mul = binary(val, BinaryOpType::Mul);
    if (mul == nullptr) {
      return nullptr;
    }
    for (size_t i = 0; i < 2; ++i) {
      const Val* constant = mul->input(1 - i);
      if (constant->isScalar() && constant->isConst() &&
          std::abs(constant->value().as<double>() - factor) < 1e-6 * factor) {
        return pass(mul)->input(i);
      }
    }
    return nullptr;
  }

  /// x where `val` is tanh_gelu(x), or null.
  const Val* ofTanhGelu(const Val* val) {
    const Expr* outer = binary(val, BinaryOpType::Mul);
    const Expr* sigmoid = outer ? unary(outer->input(1), UnaryOpType::Sigmoid) : nullptr;
    const Val* twice = sigmoid ? scaled(sigmoid->input(0), 2.0) : nullptr;
    const Val* sum = twice ? scaled(twice, 0.7978845608028654) : nullptr;
    const Expr* add = sum ? binary(sum, BinaryOpType::Add) : nullptr;
    const Val* cube = add ? scaled(add->input(1), 0.044715) : nullptr;
    const Expr* third = cube ? binary(cube, BinaryOpType::Mul) : nullptr;
    const Expr* second = third ? binary(third->input(0), BinaryOpType::Mul) : nullptr;
    if (second == nullptr) {
      return nullptr;
    }
    const Val* x = widened(outer->input(0));
    for (const Val* other : {add->input(0), third->input(1), second->input(0), second->input(1)}) {
      if (widened(other) != x) {
        return nullptr;
      }
    }
    for (const Expr* expr : {outer, sigmoid, add, third, second}) {
      pass(expr);
    }
    return x;
  }

  /// The vector that `val` repeats for each row, or null.
  const TensorView* repeatedRow(const Val* val) {
    val = widened(val);
    const Expr* expr = val->definition();
    if (expr == nullptr || !expr->isA<BroadcastOp>()) {
      return nullptr;
    }
    const std::vector<bool>& flags = expr->as<BroadcastOp>()->flags();
    if (flags.empty() || flags.back() || std::count(flags.begin(), flags.end(), false) != 1) {
      return nullptr;
    }
    const Val* row = widened(pass(expr)->input(0));
    const auto* tv = row->as<TensorView>();
    return tv->getLogicalDomain().size() == 1 && !tv->getLogicalDomain()[0]->isBroadcast()
               ? tv
               : nullptr;
  }

  const std::set<const Expr*>& passed() const { return passed_; }

 private:
  std::set<const Expr*> passed_;
};

/// A product with columns, of numbers that are computed in Float.
bool isProduct(const Expr* expr) {
  if (expr == nullptr || !expr->isOneOf<MatmulOp, LinearOp>() || rankOf(expr->input(0)) < 2 ||
      rankOf(expr->input(1)) < 2) {
    return false;
  }
  const DataType dtype = expr->output(0)->dtype();
  return dtype == DataType::Half || dtype == DataType::BFloat16 || dtype == DataType::Float;
}

}  // namespace

std::optional<ProductWithEpilogue> productWithEpilogue(const std::vector<Expr*>& exprs,
                                                       const TensorView* result) {
  ProductWithEpilogue found;
  found.result = result;
  Walk walk;
  const Val* at = walk.beforeCast(result, false);
  if (const Expr* relu = Walk::unary(at, UnaryOpType::Relu)) {
    found.end = Epilogue::Relu;
    at = walk.widened(walk.pass(relu)->input(0));
  } else if (const Val* x = walk.ofTanhGelu(at)) {
    found.end = Epilogue::TanhGelu;
    at = walk.widened(x);
  }
  if (const Expr* add = Walk::binary(at, BinaryOpType::Add)) {
    for (size_t i = 0; i < 2 && found.bias == nullptr; ++i) {
      const Val* other = walk.widened(add->input(1 - i));
      if (isProduct(other->definition()) && add->input(i)->isA<TensorView>()) {
        found.bias = walk.repeatedRow(add->input(i));
        at = other;
      }
    }
    walk.pass(add);
    if (found.bias == nullptr) {
      return std::nullopt;
    }
  }
  const Expr* product = at->definition();
  const bool ends = found.end != Epilogue::None || found.bias != nullptr;
  if (!ends || !isProduct(product) || result->dtype() != product->output(0)->dtype()) {
    return std::nullopt;
  }
  if (found.bias != nullptr && (found.bias->dtype() != result->dtype() ||
                                (product->isA<LinearOp>() && product->as<LinearOp>()->hasBias()))) {
    return std::nullopt;
  }
  found.product = walk.pass(product);
  const bool is_all = walk.passed().size() == exprs.size() &&
                      std::all_of(exprs.begin(), exprs.end(),
                                  [&](const Expr* expr) { return walk.passed().count(expr) != 0; });
  return is_all ? std::optional(found) : std::nullopt;
}

}  // namespace nvfuser
