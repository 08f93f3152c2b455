#include <fuzz/kernel_interpreter/lane_scalars.h>

#include <algorithm>
#include <array>
#include <span>

#include <support/error.h>

namespace nvfuser::fuzz {

using kir::Scalar;
using kir::ScalarOp;

LaneScalars::Node& LaneScalars::node(Scalar scalar) {
  const auto id = static_cast<size_t>(scalar->id);
  if (nodes_.size() <= id) {
    nodes_.resize(id + 1);
  }
  if (nodes_[id] == nullptr) {
    nodes_[id] = std::make_unique<Node>();
  }
  return *nodes_[id];
}

void LaneScalars::set(Scalar symbol, int64_t value) {
  Node& one = node(symbol);
  one.changed = ++now_;
  one.values.assign(1, value);
}

int64_t* LaneScalars::setLanes(Scalar symbol) {
  Node& one = node(symbol);
  one.changed = ++now_;
  one.values.assign(static_cast<size_t>(lanes_), 0);
  // One lane has values of its own as well; what is uniform is told by the size.
  return one.values.data();
}

bool LaneScalars::isKnown(Scalar scalar) {
  const std::vector<Scalar> symbols = kir::ScalarPool::symbolsOf(scalar);
  return std::all_of(symbols.begin(), symbols.end(),
                     [&](Scalar symbol) { return node(symbol).changed > 0; });
}

const LaneScalars::Node& LaneScalars::update(Scalar scalar) {
  Node& one = node(scalar);
  if (scalar->op == ScalarOp::Symbol) {
    if (one.changed == 0) {
      throw InternalError(text("the symbol ", scalar->name, " has no value where it is read"));
    }
    return one;
  }
  if (!one.is_known) {
    for (Scalar symbol : kir::ScalarPool::symbolsOf(scalar)) {
      one.symbols.push_back(&node(symbol));
    }
    one.is_known = true;
  }
  bool is_old = one.changed == 0;
  for (const Node* symbol : one.symbols) {
    is_old = is_old || symbol->changed > one.changed;
  }
  if (is_old) {
    evaluate(scalar, one);
    one.changed = now_;
  }
  one.current = now_;
  return one;
}

void LaneScalars::evaluate(Scalar scalar, Node& into) {
  constexpr size_t kFew = 8;
  std::array<Values, kFew> few;
  std::vector<Values> many;
  const size_t count = scalar->terms.size() + scalar->args.size();
  if (count > kFew) {
    many.resize(count);
  }
  const std::span<Values> args(count > kFew ? many.data() : few.data(), count);
  size_t size = 1;
  for (size_t i = 0; i < count; ++i) {
    args[i] = of(scalar->op == ScalarOp::Sum ? scalar->terms[i].first : scalar->args[i]);
    size = args[i].is_uniform_ ? size : static_cast<size_t>(lanes_);
  }
  into.values.resize(size);
  const auto fill = [&](const auto& value) {
    for (size_t lane = 0; lane < size; ++lane) {
      into.values[lane] = value(static_cast<int64_t>(lane));
    }
  };
  // What inactive lanes hold may be anything, so sums wrap and divisors may be zero.
  const auto wrapped = [](int64_t a, int64_t b, int64_t factor) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                static_cast<uint64_t>(b) * static_cast<uint64_t>(factor));
  };
  const auto isTrue = [&](size_t i, int64_t lane) { return args[i][lane] != 0; };
  const auto divisible = [&](int64_t lane) { return args[1][lane] != 0 && args[1][lane] != -1; };
  switch (scalar->op) {
    case ScalarOp::Constant:
      return fill([&](int64_t) { return scalar->value; });
    case ScalarOp::Symbol:
      return;
    case ScalarOp::Sum:
      return fill([&](int64_t lane) {
        int64_t sum = scalar->value;
        for (size_t i = 0; i < args.size(); ++i) {
          sum = wrapped(sum, args[i][lane], scalar->terms[i].second);
        }
        return sum;
      });
    case ScalarOp::Product:
      return fill([&](int64_t lane) {
        int64_t product = 1;
        for (const Values& arg : args) {
          product = wrapped(0, product, arg[lane]);
        }
        return product;
      });
    case ScalarOp::Div:
      return fill(
          [&](int64_t lane) { return divisible(lane) ? args[0][lane] / args[1][lane] : 0; });
    case ScalarOp::Mod:
      return fill(
          [&](int64_t lane) { return divisible(lane) ? args[0][lane] % args[1][lane] : 0; });
    case ScalarOp::Min:
      return fill([&](int64_t lane) { return std::min(args[0][lane], args[1][lane]); });
    case ScalarOp::Max:
      return fill([&](int64_t lane) { return std::max(args[0][lane], args[1][lane]); });
    case ScalarOp::Xor:
      return fill([&](int64_t lane) { return args[0][lane] ^ args[1][lane]; });
    case ScalarOp::Less:
      return fill([&](int64_t lane) { return args[0][lane] < args[1][lane] ? 1 : 0; });
    case ScalarOp::Equal:
      return fill([&](int64_t lane) { return args[0][lane] == args[1][lane] ? 1 : 0; });
    case ScalarOp::And:
      return fill([&](int64_t lane) {
        bool all = true;
        for (size_t i = 0; i < args.size(); ++i) {
          all = all && isTrue(i, lane);
        }
        return all ? 1 : 0;
      });
    case ScalarOp::Or:
      return fill([&](int64_t lane) { return isTrue(0, lane) || isTrue(1, lane) ? 1 : 0; });
    case ScalarOp::Not:
      return fill([&](int64_t lane) { return isTrue(0, lane) ? 0 : 1; });
    case ScalarOp::Select:
      return fill([&](int64_t lane) { return isTrue(0, lane) ? args[1][lane] : args[2][lane]; });
  }
}

}  // namespace nvfuser::fuzz
