#include <fuzz/library/drawer.h>

#include <algorithm>
#include <cmath>

#include <capi/operations.h>
#include <fuzz/library/draw_input.h>
#include <ops/table/pointwise.h>

namespace nvfuser::fuzz {

namespace {

/// Greatest integer up to which a dtype has all of them.
double exactRange(DataType dtype) {
  if (isIntegralType(dtype) || isBooleanType(dtype)) {
    return 0x1p62;  // they wrap, which is exact
  }
  return 1 / roundoff(dtype) / 2;
}

}  // namespace

Drawer::Drawer(uint64_t seed, Focus focus) : focus_(focus), draw_(seed) {
  program_.seed = seed;
  const std::vector<ValueMode> modes = {ValueMode::Exact, ValueMode::Normal, ValueMode::Special};
  program_.mode = modes[draw_.weighted(focus == Focus::All ? std::vector<double>{50, 35, 15}
                                                           : std::vector<double>{1})];
  program_.value_seed = draw_.next() >> 32;
  program_.schedule_seed = draw_.next() >> 32;
  program_.schedule_steps = draw_.number(0, 14);
  program_.wide_index = draw_.chance(0.1);
}

int64_t Drawer::newInput(const std::vector<int64_t>& shape, std::vector<bool> broadcast,
                         std::optional<DataType> wanted) {
  broadcast.resize(shape.size(), false);
  const DataType type = wanted ? *wanted
                        : (focus_ == Focus::All && draw_.chance(0.35)) || program_.inputs.empty()
                            ? drawDtype(draw_, program_.mode)
                            : program_.inputs[0].dtype;
  Input input = drawInput(draw_, next_++, type, shape, broadcast);
  if (draw_.chance(0.03)) {
    for (const Input& other : program_.inputs) {
      if (other.dtype == type && other.sizes == shape && other.below == 0) {
        const int64_t id = input.id;
        input = other;
        input.id = id;
        input.same = other.same >= 0 ? other.same : other.id;
        break;
      }
    }
  }
  program_.inputs.push_back(input);
  builder_.add(input);
  known_.push_back({input.id, 4});
  return input.id;
}

int64_t Drawer::newIndex(const std::vector<int64_t>& shape, int64_t below) {
  Input input = drawInput(draw_, next_++, draw_.chance(0.5) ? DataType::Int : DataType::Int32,
                          shape, std::vector<bool>(shape.size(), false));
  input.below = below;
  program_.inputs.push_back(input);
  builder_.add(input);
  return input.id;
}

int64_t Drawer::pick() {
  const auto last = static_cast<int64_t>(known_.size()) - 1;
  const int64_t from = draw_.chance(0.65) ? std::max<int64_t>(0, last - 3) : 0;
  return known_[static_cast<size_t>(draw_.number(from, last))].id;
}

double Drawer::bound(int64_t id) const {
  for (const Known& known : known_) {
    if (known.id == id) {
      return known.bound;
    }
  }
  return 4;
}

bool Drawer::fits(int64_t a, int64_t b) const {
  const int64_t common = std::min(rank(a), rank(b));
  double result = 1;
  for (int64_t i = 1; i <= common; ++i) {
    const int64_t left = sizes(a)[static_cast<size_t>(rank(a) - i)];
    const int64_t right = sizes(b)[static_cast<size_t>(rank(b) - i)];
    const bool free_left = isBroadcast(a, rank(a) - i);
    const bool free_right = isBroadcast(b, rank(b) - i);
    if (left != right && !free_left && !free_right) {
      return false;
    }
    result *= static_cast<double>(free_left ? right : left);
  }
  for (int64_t id : {a, b}) {
    for (int64_t i = common + 1; i <= rank(id); ++i) {
      result *= static_cast<double>(sizes(id)[static_cast<size_t>(rank(id) - i)]);
    }
  }
  return result <= 4 * elements_;
}

bool Drawer::stretches(int64_t a, int64_t b) const {
  for (int64_t i = 1; i <= rank(a); ++i) {
    const int64_t own = sizes(a)[static_cast<size_t>(rank(a) - i)];
    if (i > rank(b) ||
        (own != sizes(b)[static_cast<size_t>(rank(b) - i)] && !isBroadcast(a, rank(a) - i))) {
      return false;
    }
  }
  return fits(a, b);
}

Argument Drawer::partner(int64_t a) {
  const bool of_axes = focus_ == Focus::Axes;
  if (!of_axes && draw_.chance(0.15)) {
    return scalarOperand(a);
  }
  if (draw_.chance(of_axes ? 0.95 : 0.8)) {
    const int64_t b = pickWhere([&](int64_t id) { return fits(a, id); });
    if (b >= 0 && (b != a || draw_.chance(0.4))) {
      return value(b);
    }
  }
  std::vector<int64_t> shape = sizes(a);
  std::vector<bool> broadcast(shape.size(), false);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (draw_.chance(0.2) || isBroadcast(a, static_cast<int64_t>(i))) {
      broadcast[i] = true;
      shape[i] = 1;
    }
  }
  const auto dropped = draw_.chance(0.25) ? draw_.number(0, rank(a)) : 0;
  shape.erase(shape.begin(), shape.begin() + dropped);
  broadcast.erase(broadcast.begin(), broadcast.begin() + dropped);
  return value(newInput(shape, broadcast));
}

Argument Drawer::scalarOperand(int64_t a) {
  const bool whole = isWhole(a) || isExact();
  const auto number = static_cast<double>(draw_.number(-3, 3));
  if (draw_.chance(0.3)) {
    ScalarInput scalar{next_++, whole ? DataType::Int : DataType::Double,
                       whole ? number : draw_.normal()};
    program_.scalars.push_back(scalar);
    builder_.add(scalar);
    return value(scalar.id);
  }
  return whole ? integer(static_cast<int64_t>(number)) : real(std::round(draw_.normal() * 64) / 16);
}

bool Drawer::isWholeOperand(const Argument& argument) const {
  return argument.kind == Argument::Kind::Int ||
         (argument.kind == Argument::Kind::Value &&
          (isWhole(argument.integer) || isBooleanType(dtype(argument.integer))));
}

double Drawer::boundOf(const Argument& argument) const {
  switch (argument.kind) {
    case Argument::Kind::Value:
      return bound(argument.integer);
    case Argument::Kind::Int:
      return static_cast<double>(std::abs(argument.integer));
    default:
      return 4;
  }
}

bool Drawer::mayWrap(const Call& call) const {
  const auto may_be_negative = [&](const Argument& argument) {
    switch (argument.kind) {
      case Argument::Kind::Int:
        return argument.integer < 0;
      case Argument::Kind::Value:
        return !isUnsignedIntegralType(dtype(argument.integer)) &&
               !isBooleanType(dtype(argument.integer));
      default:
        return false;
    }
  };
  const bool reaches_below = call.operation == "neg" || call.operation == "sub" ||
                             call.operation == "addcmul" || call.operation == "pad";
  const bool combines = reaches_below || findPointwiseFunction(call.operation) != nullptr;
  return reaches_below ||
         (combines && std::any_of(call.arguments.begin(), call.arguments.end(), may_be_negative));
}

bool Drawer::try_(Call call, double limit, int64_t results) {
  for (int64_t i = 0; i < results; ++i) {
    call.results.push_back(next_++);
  }
  try {
    builder_.add(call);
  } catch (const UserError&) {
    return false;
  } catch (const capi::ArgumentError&) {
    return false;
  } catch (const std::exception&) {
    broken_ = true;  // shown by whoever builds the program
    program_.calls.push_back(call);
    program_.outputs = {call.results[0]};
    return false;
  }
  for (int64_t id : call.results) {
    if (!builder_.has(id)) {
      continue;
    }
    if (!of(id).val->isA<TensorView>()) {
      return false;
    }
    const std::vector<int64_t> shape = sizes(id);
    if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
      return false;  // nothing padded by less than nothing: an error that is known at the launch
    }
    if (count(shape) > 8 * elements_ || (isExact() && limit > exactRange(dtype(id)))) {
      return false;
    }
  }
  program_.calls.push_back(call);
  for (int64_t id : call.results) {
    if (builder_.has(id)) {
      const bool wraps = isUnsignedIntegralType(dtype(id)) && mayWrap(call);
      known_.push_back({id, wraps ? 0x1p62 : limit});
    }
  }
  return true;
}

}  // namespace nvfuser::fuzz
