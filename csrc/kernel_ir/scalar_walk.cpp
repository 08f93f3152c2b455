/// Looking inside an expression: replacing and finding its symbols, taking it apart, its value.
#include <algorithm>

#include <kernel_ir/scalar_arithmetic.h>

namespace nvfuser::kir {

Scalar ScalarPool::substitute(Scalar a, const std::unordered_map<Scalar, Scalar>& replacement) {
  auto found = replacement.find(a);
  if (found != replacement.end()) {
    return found->second;
  }
  if (a->op == ScalarOp::Constant || a->op == ScalarOp::Symbol) {
    return a;
  }
  if (a->op == ScalarOp::Sum) {
    Scalar result = constant(a->value);
    for (const auto& [term, coefficient] : a->terms) {
      result = add(result, mul(substitute(term, replacement), coefficient));
    }
    return result;
  }
  std::vector<Scalar> args;
  for (Scalar arg : a->args) {
    args.push_back(substitute(arg, replacement));
  }
  switch (a->op) {
    case ScalarOp::Product: {
      Scalar result = one_;
      for (Scalar arg : args) {
        result = mul(result, arg);
      }
      return result;
    }
    case ScalarOp::Div:
      return div(args[0], args[1]);
    case ScalarOp::Mod:
      return mod(args[0], args[1]);
    case ScalarOp::Min:
      return min(args[0], args[1]);
    case ScalarOp::Max:
      return max(args[0], args[1]);
    case ScalarOp::Xor:
      return bitXor(args[0], args[1]);
    case ScalarOp::Less:
      return less(args[0], args[1]);
    case ScalarOp::Equal:
      return equal(args[0], args[1]);
    case ScalarOp::And: {
      Scalar result = one_;
      for (Scalar arg : args) {
        result = logicalAnd(result, arg);
      }
      return result;
    }
    case ScalarOp::Or:
      return logicalOr(args[0], args[1]);
    case ScalarOp::Not:
      return logicalNot(args[0]);
    default:
      return select(args[0], args[1], args[2]);
  }
}

bool ScalarPool::contains(Scalar a, Scalar symbol) {
  if (a == symbol) {
    return true;
  }
  for (const auto& [term, coefficient] : a->terms) {
    if (contains(term, symbol)) {
      return true;
    }
  }
  return std::any_of(a->args.begin(), a->args.end(),
                     [&](Scalar arg) { return contains(arg, symbol); });
}

bool ScalarPool::splitLinear(Scalar a, Scalar symbol, int64_t* coefficient, Scalar* rest) {
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  decompose(a, &value, &terms);
  *coefficient = 0;
  std::vector<std::pair<Scalar, int64_t>> others;
  for (const auto& [term, c] : terms) {
    if (term == symbol) {
      *coefficient = c;
    } else if (contains(term, symbol)) {
      return false;
    } else {
      others.emplace_back(term, c);
    }
  }
  *rest = makeSum(value, std::move(others));
  return true;
}

std::vector<Scalar> ScalarPool::symbolsOf(Scalar a) {
  std::vector<Scalar> result;
  std::vector<Scalar> open{a};
  while (!open.empty()) {
    Scalar s = open.back();
    open.pop_back();
    if (s->op == ScalarOp::Symbol) {
      result.push_back(s);
    }
    for (const auto& [term, coefficient] : s->terms) {
      open.push_back(term);
    }
    for (Scalar arg : s->args) {
      open.push_back(arg);
    }
  }
  std::sort(result.begin(), result.end(), byId);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

int64_t evaluate(Scalar a, const std::function<int64_t(Scalar)>& valueOf) {
  auto arg = [&](size_t i) { return evaluate(a->args[i], valueOf); };
  switch (a->op) {
    case ScalarOp::Constant:
      return a->value;
    case ScalarOp::Symbol:
      return valueOf(a);
    case ScalarOp::Sum: {
      int64_t sum = a->value;
      for (const auto& [term, coefficient] : a->terms) {
        sum += coefficient * evaluate(term, valueOf);
      }
      return sum;
    }
    case ScalarOp::Product: {
      int64_t product = 1;
      for (size_t i = 0; i < a->args.size(); ++i) {
        product *= arg(i);
      }
      return product;
    }
    case ScalarOp::Div: {
      const int64_t divisor = arg(1);
      return divisor == 0 ? 0 : arg(0) / divisor;
    }
    case ScalarOp::Mod: {
      const int64_t divisor = arg(1);
      return divisor == 0 ? 0 : arg(0) % divisor;
    }
    case ScalarOp::Min:
      return std::min(arg(0), arg(1));
    case ScalarOp::Max:
      return std::max(arg(0), arg(1));
    case ScalarOp::Xor:
      return arg(0) ^ arg(1);
    case ScalarOp::Less:
      return arg(0) < arg(1) ? 1 : 0;
    case ScalarOp::Equal:
      return arg(0) == arg(1) ? 1 : 0;
    case ScalarOp::And:
      for (size_t i = 0; i < a->args.size(); ++i) {
        if (arg(i) == 0) {
          return 0;
        }
      }
      return 1;
    case ScalarOp::Or:
      return arg(0) != 0 || arg(1) != 0 ? 1 : 0;
    case ScalarOp::Not:
      return arg(0) == 0 ? 1 : 0;
    case ScalarOp::Select:
      return arg(0) != 0 ? arg(1) : arg(2);
  }
  return 0;
}

}  // namespace nvfuser::kir
