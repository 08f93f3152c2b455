#include <fuzz/library/draw_program.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <capi/operations.h>
#include <fuzz/library/build.h>
#include <fuzz/library/draw_input.h>
#include <ir/internal_base_nodes.h>
#include <ops/table/pointwise.h>

namespace nvfuser::fuzz {

namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Greatest integer up to which a dtype has all of them.
double exactRange(DataType dtype) {
  if (isIntegralType(dtype) || isBooleanType(dtype)) {
    return 0x1p62;  // they wrap, which is exact
  }
  return 1 / roundoff(dtype) / 2;
}

/// Exact in integers of floats, whatever the operands.
const std::vector<std::string> kExactUnary = {"neg",  "abs",   "relu",        "sign",     "floor",
                                              "ceil", "round", "trunc",       "set",      "isnan",
                                              "real", "isinf", "logical_not", "isfinite", "isreal"};
const std::vector<std::string> kExactBinary = {
    "add", "sub", "mul", "maximum", "minimum",     "eq",        "ne",
    "lt",  "le",  "gt",  "ge",      "logical_and", "logical_or"};
const std::vector<std::string> kIntegerUnary = {"bitwise_not", "bitceil"};
const std::vector<std::string> kIntegerBinary = {"bitwise_and",
                                                 "bitwise_or",
                                                 "bitwise_xor",
                                                 "bitwise_left_shift",
                                                 "bitwise_right_shift",
                                                 "logical_right_shift",
                                                 "gcd",
                                                 "mod",
                                                 "fmod",
                                                 "remainder",
                                                 "div",
                                                 "pow"};
/// Without one meaning for all operands (numerics.md), or that change what a test sees.
const std::vector<std::string> kLeftOut = {"print", "ceilDiv"};

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : draw_(seed) {
    program_.seed = seed;
    program_.mode = std::vector<ValueMode>{ValueMode::Exact, ValueMode::Normal,
                                           ValueMode::Special}[draw_.weighted({50, 35, 15})];
    program_.value_seed = draw_.next() >> 32;
    program_.schedule_seed = draw_.next() >> 32;
    program_.schedule_steps = draw_.number(0, 14);
    program_.wide_index = draw_.chance(0.1);
  }

  Program run() {
    elements_ = draw_.chance(0.02) ? 100000 : draw_.chance(0.2) ? 16000 : 2000;
    newInput(drawSizes(draw_, elements_));
    const size_t length = draw_.weighted({50, 36, 14});
    const int64_t calls = length == 0   ? draw_.number(1, 6)
                          : length == 1 ? draw_.number(7, 15)
                                        : draw_.number(16, 36);
    for (int64_t attempt = 0;
         attempt < 4 * calls && static_cast<int64_t>(program_.calls.size()) < calls && !broken_;
         ++attempt) {
      addCall();
    }
    if (program_.calls.empty()) {
      try_(Call{"set", {}, {value(program_.inputs[0].id)}}, 0);
    }
    chooseOutputs();
    return withoutDeadCode(program_);
  }

 private:
  struct Known {
    int64_t id;
    double bound;  ///< of integers, in exact mode
  };

  bool isExact() const { return program_.mode == ValueMode::Exact; }
  const Value& of(int64_t id) const { return builder_.at(id); }
  const std::vector<int64_t>& sizes(int64_t id) const { return of(id).sizes; }
  DataType dtype(int64_t id) const { return of(id).val->dtype(); }
  int64_t rank(int64_t id) const { return static_cast<int64_t>(sizes(id).size()); }
  static double count(const std::vector<int64_t>& all) {
    double product = 1;
    for (int64_t size : all) {
      product *= static_cast<double>(size);
    }
    return product;
  }
  bool isFloat(int64_t id) const { return isFloatingPointType(dtype(id)); }
  bool isWhole(int64_t id) const { return isIntegralType(dtype(id)); }

  const IterDomain* axis(int64_t id, int64_t i) const {
    return TensorDomain::noReductions(
        of(id).val->as<TensorView>()->getLogicalDomain())[static_cast<size_t>(i)];
  }
  bool isBroadcast(int64_t id, int64_t i) const {
    return axis(id, i)->isBroadcast() && !axis(id, i)->hasExpandedExtent();
  }

  // ---- values ----

  int64_t newInput(const std::vector<int64_t>& shape, std::vector<bool> broadcast = {},
                   std::optional<DataType> wanted = {}) {
    broadcast.resize(shape.size(), false);
    const DataType type = wanted ? *wanted
                          : draw_.chance(0.35) || program_.inputs.empty()
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

  int64_t newIndex(const std::vector<int64_t>& shape, int64_t below) {
    Input input = drawInput(draw_, next_++, draw_.chance(0.5) ? DataType::Int : DataType::Int32,
                            shape, std::vector<bool>(shape.size(), false));
    input.below = below;
    program_.inputs.push_back(input);
    builder_.add(input);
    return input.id;
  }

  /// Recent values are likelier.
  int64_t pick() {
    const auto last = static_cast<int64_t>(known_.size()) - 1;
    const int64_t from = draw_.chance(0.65) ? std::max<int64_t>(0, last - 3) : 0;
    return known_[static_cast<size_t>(draw_.number(from, last))].id;
  }
  template <typename Condition>
  int64_t pickWhere(const Condition& condition) {
    std::vector<int64_t> found;
    for (const Known& known : known_) {
      if (condition(known.id)) {
        found.push_back(known.id);
      }
    }
    return found.empty() ? -1
                         : found[static_cast<size_t>(
                               std::max(draw_.number(0, static_cast<int64_t>(found.size()) - 1),
                                        draw_.number(0, static_cast<int64_t>(found.size()) - 1)))];
  }
  double bound(int64_t id) const {
    for (const Known& known : known_) {
      if (known.id == id) {
        return known.bound;
      }
    }
    return 4;
  }

  /// Whether two tensors go together element by element.
  bool fits(int64_t a, int64_t b) const {
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

  /// Something that goes with `a`.
  Argument partner(int64_t a) {
    if (draw_.chance(0.15)) {
      return scalarOperand(a);
    }
    if (draw_.chance(0.8)) {
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

  Argument scalarOperand(int64_t a) {
    const bool whole = isWhole(a) || isExact();
    const auto number = static_cast<double>(draw_.number(-3, 3));
    if (draw_.chance(0.3)) {
      ScalarInput scalar{next_++, whole ? DataType::Int : DataType::Double,
                         whole ? number : draw_.normal()};
      program_.scalars.push_back(scalar);
      builder_.add(scalar);
      return value(scalar.id);
    }
    return whole ? integer(static_cast<int64_t>(number))
                 : real(std::round(draw_.normal() * 64) / 16);
  }

  bool isWholeOperand(const Argument& argument) const {
    return argument.kind == Argument::Kind::Int ||
           (argument.kind == Argument::Kind::Value &&
            (isWhole(argument.integer) || isBooleanType(dtype(argument.integer))));
  }

  double boundOf(const Argument& argument) const {
    switch (argument.kind) {
      case Argument::Kind::Value:
        return bound(argument.integer);
      case Argument::Kind::Int:
        return static_cast<double>(std::abs(argument.integer));
      default:
        return 4;
    }
  }

  // ---- calls ----

  /// Adds a call with `results` results; false where the front end refuses it. `limit`: what its
  /// results are at most, in exact mode.
  bool try_(Call call, double limit, int64_t results = 1) {
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
      if (count(sizes(id)) > 8 * elements_ || (isExact() && limit > exactRange(dtype(id)))) {
        return false;
      }
    }
    program_.calls.push_back(call);
    for (int64_t id : call.results) {
      if (builder_.has(id)) {
        known_.push_back({id, limit});
      }
    }
    return true;
  }

  void addCall() {
    switch (draw_.weighted({20, 22, 6, 8, 12, 5, 6, 7, 11, 3, 1, 2})) {
      case 0:
        return addUnary();
      case 1:
        return addBinary();
      case 2:
        return addTernary();
      case 3:
        return addCast();
      case 4:
        return addBroadcast();
      case 5:
        return addPermute();
      case 6:
        return addReshape();
      case 7:
        return addResize();
      case 8:
        return addReduction();
      case 9:
        return addComposite();
      case 10:
        return addRandom();
      default:
        return addIndexing();
    }
  }

  std::string pointwiseName(int arity, int64_t a) {
    const auto& exact = arity == 1 ? kExactUnary : kExactBinary;
    const auto& whole = arity == 1 ? kIntegerUnary : kIntegerBinary;
    if (isExact()) {
      return isWhole(a) && draw_.chance(0.5) ? draw_.oneOf(whole) : draw_.oneOf(exact);
    }
    if (draw_.chance(0.3)) {
      return draw_.oneOf(exact);
    }
    std::vector<std::string> names;
    for (const PointwiseFunction& function : pointwiseFunctions()) {
      // The sign of a NaN has no meaning.
      const bool unclear = program_.mode == ValueMode::Special && function.name == "signbit";
      if (function.arity == arity && !contains(kLeftOut, function.name) && !unclear) {
        names.emplace_back(function.name);
      }
    }
    return draw_.oneOf(names);
  }

  void addUnary() {
    const int64_t a = pick();
    const std::string name = pointwiseName(1, a);
    if (isExact() && name == "abs" && isComplexType(dtype(a))) {
      return;
    }
    if (!isExact() && isFloat(a) && draw_.chance(0.1)) {
      static const std::vector<std::string> kActivations = {"gelu", "tanh_gelu", "leaky_relu",
                                                            "softplus", "softmax"};
      try_({draw_.oneOf(kActivations), {}, {value(a)}}, 0);
      return;
    }
    const bool wild = contains(kIntegerUnary, name);
    try_({name, {}, {value(a)}}, wild ? 0x1p62 : std::max(bound(a), 1.0));
  }

  void addBinary() {
    const int64_t a = pick();
    const std::string name = pointwiseName(2, a);
    Argument left = value(a);
    Argument right = partner(a);
    const double x = boundOf(left);
    const double y = boundOf(right);
    if (isExact() && std::max(x, y) > 0x1p23 && !(isWholeOperand(left) && isWholeOperand(right))) {
      return;  // a large integer meets a float, and loses digits
    }
    double limit = std::max({x, y, 1.0});
    if (name == "add" || name == "sub") {
      limit = x + y;
    } else if (name == "mul") {
      limit = std::max((isComplexType(dtype(a)) ? 2 : 1) * x * y, 1.0);
    } else if (contains(kIntegerBinary, name)) {
      // A float among the operands would be divided.
      if (isExact() && right.kind == Argument::Kind::Value &&
          of(right.integer).val->isA<TensorView>() && !isWhole(right.integer)) {
        return;
      }
      limit = 0x1p62;
    }
    if (draw_.chance(0.25)) {
      std::swap(left, right);
    }
    try_({name, {}, {left, right}}, limit);
  }

  void addTernary() {
    const int64_t a = pick();
    switch (draw_.number(0, isExact() ? 2 : 4)) {
      case 0: {
        int64_t condition =
            pickWhere([&](int64_t id) { return dtype(id) == DataType::Bool && fits(a, id); });
        if (condition < 0) {
          condition = newInput(sizes(a), {}, DataType::Bool);
        }
        const Argument other = partner(a);
        if (isExact() && std::max(bound(a), boundOf(other)) > 0x1p23) {
          return;
        }
        try_({"where", {}, {value(condition), value(a), other}},
             std::max(bound(a), boundOf(other)));
        return;
      }
      case 1:
        try_({"clamp", {}, {value(a), named("min", integer(-2)), named("max", integer(3))}},
             std::max(bound(a), 3.0));
        return;
      case 2: {
        const Argument b = partner(a);
        const Argument c = partner(a);
        const double limit = bound(a) + 4 * boundOf(b) * boundOf(c);
        if (isExact() && limit > 0x1p23) {
          return;
        }
        try_({"addcmul", {}, {value(a), b, c}}, limit);
        return;
      }
      case 3:
        try_({"threshold", {}, {value(a), real(0.5), real(-1.5)}}, 0);
        return;
      default: {
        const Argument b = partner(a);
        try_({"lerp", {}, {value(a), b, real(0.25)}}, 0);
      }
    }
  }

  void addCast() {
    const int64_t a = pick();
    const DataType to = drawDtype(draw_, program_.mode);
    if (isExact() && isIntegralType(to) && dataTypeSizeBit(to) < 64 && !isWhole(a) &&
        bound(a) > 100) {
      return;  // bounds do not tell what a narrow integer becomes
    }
    const double limit = to == DataType::Bool ? 1
                         : isIntegralType(to) && (isUnsignedIntegralType(to) || isWhole(a))
                             ? 0x1p62
                             : bound(a);
    try_({"cast", {}, {value(a), named("dtype", dtypeOf(to))}}, limit);
  }

  void addBroadcast() {
    const int64_t a = pick();
    const int64_t n = rank(a);
    if (n > 6) {
      return;
    }
    const double limit = bound(a);
    switch (draw_.number(0, 3)) {
      case 0:
        try_({"unsqueeze", {}, {value(a), integer(draw_.number(0, n))}}, limit);
        return;
      case 1: {  // stretched to the shape of another
        const int64_t b = pickWhere([&](int64_t id) { return rank(id) >= n && fits(a, id); });
        if (b < 0) {
          return;
        }
        try_({"expand_as", {}, {value(a), value(b)}}, limit);
        return;
      }
      case 2: {
        std::vector<int64_t> shape;
        if (draw_.chance(0.5)) {
          shape.push_back(draw_.number(2, 5));
        }
        for (int64_t i = 0; i < n; ++i) {
          shape.push_back(isBroadcast(a, i) && draw_.chance(0.7) ? draw_.number(2, 7) : -1);
        }
        try_({"expand", {}, {value(a), integers(shape)}}, limit);
        return;
      }
      default: {
        for (int64_t i = 0; i < n; ++i) {
          if (isBroadcast(a, i)) {
            try_({"squeeze", {}, {value(a), named("dims", integers({i}))}}, limit);
            return;
          }
        }
        Argument flags{.kind = Argument::Kind::List};
        int64_t added = 0;
        for (int64_t i = 0; i < n + 1; ++i) {
          const bool is_new = added == 0 && (draw_.chance(0.4) || i == n);
          added += is_new ? 1 : 0;
          flags.items.push_back(truth(is_new));
        }
        try_({"broadcast", {}, {value(a), flags}}, limit);
      }
    }
  }

  void addPermute() {
    const int64_t a = pick();
    if (rank(a) < 2) {
      return;
    }
    std::vector<int64_t> order(static_cast<size_t>(rank(a)));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1],
                order[static_cast<size_t>(draw_.number(0, static_cast<int64_t>(i) - 1))]);
    }
    if (draw_.chance(0.5)) {
      try_({"permute", {}, {value(a), integers(order)}}, bound(a));
    } else {
      try_({"transpose", {}, {value(a), integer(order[0]), integer(order[1])}}, bound(a));
    }
  }

  void addReshape() {
    const int64_t a = pick();
    if (draw_.chance(0.25)) {
      const int64_t start = draw_.number(0, std::max<int64_t>(0, rank(a) - 1));
      try_({"flatten",
            {},
            {value(a), integer(start), integer(draw_.number(start, std::max(start, rank(a) - 1)))}},
           bound(a));
      return;
    }
    std::vector<int64_t> shape = sizes(a);
    for (int64_t step = draw_.number(1, 3); step > 0; --step) {
      if (shape.size() > 1 && draw_.chance(0.5)) {  // two become one
        const auto at =
            static_cast<size_t>(draw_.number(0, static_cast<int64_t>(shape.size()) - 2));
        shape[at] *= shape[at + 1];
        shape.erase(shape.begin() + static_cast<int64_t>(at) + 1);
      } else if (!shape.empty() && shape.size() < 6) {  // one becomes two
        const auto at =
            static_cast<size_t>(draw_.number(0, static_cast<int64_t>(shape.size()) - 1));
        const int64_t size = shape[at];
        std::vector<int64_t> factors;
        for (int64_t factor = 1; factor <= std::min<int64_t>(size, 64); ++factor) {
          if (size % factor == 0) {
            factors.push_back(factor);
          }
        }
        if (!factors.empty()) {
          const int64_t factor = draw_.oneOf(factors);
          shape[at] = size / factor;
          shape.insert(shape.begin() + static_cast<int64_t>(at) + 1, factor);
        }
      }
    }
    if (!shape.empty() && draw_.chance(0.3) && count(shape) > 0) {
      shape[static_cast<size_t>(draw_.number(0, static_cast<int64_t>(shape.size()) - 1))] = -1;
    }
    try_({"reshape", {}, {value(a), integers(shape)}}, bound(a));
  }

  void addResize() {
    const int64_t a = pick();
    const int64_t n = rank(a);
    if (n == 0) {
      return;
    }
    switch (draw_.number(0, 3)) {
      case 0: {
        std::vector<int64_t> starts;
        std::vector<int64_t> ends;
        for (int64_t size : sizes(a)) {
          const int64_t start = draw_.chance(0.5) ? 0 : draw_.number(0, size);
          starts.push_back(start);
          ends.push_back(draw_.chance(0.4) ? size : draw_.number(start, size + 1));
        }
        try_({"slice",
              {},
              {value(a), named("start_indices", integers(starts)),
               named("end_indices", integers(ends))}},
             bound(a));
        return;
      }
      case 1: {
        std::vector<int64_t> widths;
        for (int64_t i = 0; i < draw_.number(1, n); ++i) {
          widths.push_back(draw_.number(-1, 3));
          widths.push_back(draw_.number(0, 4));
        }
        std::vector<Argument> arguments{value(a), named("pad_widths", integers(widths))};
        if (draw_.chance(0.4)) {
          arguments.push_back(named("value", integer(draw_.number(-3, 3))));
        }
        try_({"pad", {}, arguments}, std::max(bound(a), 3.0));
        return;
      }
      case 2: {
        const int64_t dim = draw_.number(0, n - 1);
        Argument list{.kind = Argument::Kind::List, .items = {value(a)}};
        double limit = bound(a);
        for (int64_t i = draw_.number(1, 2); i > 0; --i) {
          const int64_t b = pickWhere([&](int64_t id) {
            if (rank(id) != n) {
              return false;
            }
            for (int64_t k = 0; k < n; ++k) {
              if (k != dim &&
                  sizes(id)[static_cast<size_t>(k)] != sizes(a)[static_cast<size_t>(k)]) {
                return false;
              }
            }
            return true;
          });
          list.items.push_back(value(b));
          limit = std::max(limit, bound(b));
        }
        try_({"cat", {}, {list, named("dim", integer(dim))}}, limit);
        return;
      }
      default: {
        std::vector<int64_t> times;
        for (int64_t i = 0; i < n; ++i) {
          times.push_back(draw_.chance(0.4) ? draw_.number(1, 3) : 1);
        }
        try_({"repeat", {}, {value(a), integers(times)}}, bound(a));
      }
    }
  }

  std::vector<int64_t> someAxes(int64_t n) {
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < n; ++i) {
      if (draw_.chance(0.45)) {
        axes.push_back(draw_.chance(0.2) ? i - n : i);
      }
    }
    if (axes.empty() && n > 0) {
      axes.push_back(draw_.chance(0.5) ? -1 : draw_.number(0, n - 1));
    }
    return axes;
  }

  void addReduction() {
    const int64_t a = pick();
    const int64_t n = rank(a);
    if (n == 0) {
      return;
    }
    const std::vector<int64_t> axes = someAxes(n);
    double combined = 1;
    for (int64_t i : axes) {
      combined *= static_cast<double>(sizes(a)[static_cast<size_t>(i < 0 ? i + n : i)]);
    }
    std::vector<std::string> names = {"sum", "sum", "max", "min"};
    if (isExact() && combined > 0 && !isComplexType(dtype(a))) {
      names.insert(names.end(), {"prod"});
    } else if (!isExact()) {
      names.insert(names.end(), {"prod", "mean", "var", "var_mean", "welford"});
    }
    const std::string name = draw_.oneOf(names);
    double limit = std::max(bound(a), 1.0);
    if (name == "sum") {
      limit = std::max(1.0, bound(a) * combined);
    } else if (name == "prod") {
      limit = isWhole(a) ? 0x1p62 : std::pow(std::max(bound(a), 1.0), std::min(combined, 100.0));
    } else if (combined == 0 && isExact()) {
      limit = isFloat(a) ? 4 : 0x1p62;  // infinities, or the ends of the range
      if (isFloat(a)) {
        return;
      }
    }
    std::vector<Argument> arguments{value(a), named("axes", integers(axes))};
    if (name != "welford" && draw_.chance(0.4)) {
      arguments.push_back(named("keepdim", truth(true)));
    }
    if (name == "var" || name == "var_mean") {
      arguments.push_back(named("correction", integer(draw_.number(0, 1))));
    }
    try_({name, {}, arguments}, limit, name == "var_mean" ? 2 : name == "welford" ? 3 : 1);
  }

  void addComposite() {
    const int64_t a = pick();
    const int64_t n = rank(a);
    if (isExact() || n == 0 || !isFloat(a)) {
      return;
    }
    switch (draw_.number(0, 4)) {
      case 0:
      case 1: {
        static const std::vector<std::string> kSoft = {"softmax", "log_softmax"};
        try_({draw_.oneOf(kSoft), {}, {value(a), named("dim", integer(draw_.number(0, n - 1)))}},
             0);
        return;
      }
      case 2:
      case 3: {
        const int64_t first = draw_.number(0, n - 1);
        const std::vector<int64_t> shape(sizes(a).begin() + first, sizes(a).end());
        const bool layer = draw_.chance(0.5);
        std::vector<Argument> arguments{value(a), named("norm_shape", integers(shape))};
        if (draw_.chance(0.6)) {
          arguments.push_back(named("weight", value(newInput(shape, {}, dtype(a)))));
        }
        if (layer && draw_.chance(0.5)) {
          arguments.push_back(named("bias", value(newInput(shape, {}, dtype(a)))));
        }
        try_({layer ? "layer_norm" : "rms_norm", {}, arguments}, 0, layer ? 3 : 2);
        return;
      }
      default:
        if (n >= 2) {
          try_({"triu", {}, {value(a), named("diagonal", integer(draw_.number(-1, 1)))}}, bound(a));
        }
    }
  }

  void addRandom() {
    const int64_t a = pick();
    if (isExact() || !isFloat(a)) {
      try_({draw_.chance(0.5) ? "zeros_like" : "ones_like", {}, {value(a)}}, 1);
      return;
    }
    switch (draw_.number(0, 3)) {
      case 0:
        try_({"rand_like", {}, {value(a)}}, 0);
        return;
      case 1:
        try_({"randn_like", {}, {value(a)}}, 0);
        return;
      case 2:
        try_({"dropout", {}, {value(a), named("p", real(0.25))}}, 0, 2);
        return;
      default:
        try_({"uniform", {}, {real(-1), real(2), named("shape", integers(sizes(a)))}}, 0);
    }
  }

  void addIndexing() {
    const int64_t a = pick();
    const int64_t n = rank(a);
    if (n == 0 || count(sizes(a)) == 0) {
      try_({"iota",
            {},
            {integer(draw_.number(1, 40)), named("start", integer(draw_.number(-3, 3)))}},
           43);
      return;
    }
    const int64_t dim = draw_.number(0, n - 1);
    const int64_t size = sizes(a)[static_cast<size_t>(dim)];
    switch (draw_.number(0, 4)) {
      case 0:
        try_({"select",
              {},
              {value(a), named("index", integer(draw_.number(0, size - 1))),
               named("dim", integer(dim))}},
             bound(a));
        return;
      case 1: {
        const int64_t index = newIndex({draw_.number(1, 9)}, size);
        try_({"index_select", {}, {value(a), value(index), named("dim", integer(dim))}}, bound(a));
        return;
      }
      case 2:
      case 3: {
        std::vector<int64_t> shape = sizes(a);
        shape[static_cast<size_t>(dim)] = draw_.number(1, 9);
        const bool along = draw_.chance(0.5);
        const int64_t index = newIndex(shape, size);
        try_({along ? "take_along_axis" : "gather",
              {},
              {value(a), value(index), named("dim", integer(dim))}},
             bound(a));
        return;
      }
      default:
        try_({"iota", {}, {integer(size), named("start", integer(draw_.number(-3, 3)))}},
             static_cast<double>(size) + 3);
    }
  }

  void chooseOutputs() {
    if (broken_) {
      return;
    }
    std::set<int64_t> used;
    std::vector<int64_t> made;
    for (const Call& call : program_.calls) {
      std::vector<int64_t> ids;
      for (const Argument& argument : call.arguments) {
        collectValues(argument, ids);
      }
      used.insert(ids.begin(), ids.end());
      for (int64_t id : call.results) {
        if (builder_.has(id)) {
          made.push_back(id);
        }
      }
    }
    const int64_t most = draw_.number(1, 4);
    for (auto id = made.rbegin(); id != made.rend(); ++id) {
      const bool is_leaf = used.count(*id) == 0;
      if (static_cast<int64_t>(program_.outputs.size()) < most &&
          (is_leaf ? draw_.chance(0.9) : draw_.chance(0.2))) {
        program_.outputs.push_back(*id);
      }
    }
    if (program_.outputs.empty()) {
      program_.outputs.push_back(made.back());
    }
    std::reverse(program_.outputs.begin(), program_.outputs.end());
  }

  Draw draw_;
  Program program_;
  Builder builder_;
  std::vector<Known> known_;
  int64_t next_ = 0;
  double elements_ = 2000;
  bool broken_ = false;
};

}  // namespace

Program drawProgram(uint64_t seed) { return Drawer(seed).run(); }

}  // namespace nvfuser::fuzz
