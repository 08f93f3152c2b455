/// Programs whose sizes vary: few exact operations on tensors whose axes come out with one element,
/// with none, equal or unequal only by computation, called several times with sizes that change.
/// Here are their arguments and outputs; draw_sizes_calls.cpp has the operations.
#include <algorithm>
#include <numeric>
#include <set>

#include <capi/operations.h>
#include <fuzz/library/draw_program.h>
#include <fuzz/library/sizes_drawer.h>

namespace nvfuser::fuzz {

namespace {

constexpr int64_t kMostElements = 2000;
constexpr double kRefusals = 0.4;  ///< how likely an operation may be one that some call refuses

}  // namespace

SizesDrawer::SizesDrawer(uint64_t seed) : draw_(Draw(seed).next()) {
  program_.seed = seed;
  program_.mode = ValueMode::Exact;
  program_.value_seed = draw_.next() >> 32;
  program_.schedule_steps = 0;
  program_.wide_index = draw_.chance(0.1);
  program_.sizes_vary = true;
}

Program SizesDrawer::run() {
  const auto calls = static_cast<size_t>(draw_.number(2, 5));
  program_.again.resize(calls - 1);
  shapes_.resize(calls);
  for (int64_t i = draw_.number(2, 4); i > 0; --i) {
    lengths_.push_back(drawLength(calls));
  }
  for (int64_t i = draw_.number(1, 3); i > 0; --i) {
    addInput();
  }
  for (int64_t i = draw_.number(0, 2); i > 0; --i) {
    addScalar();
  }
  const int64_t wanted = draw_.number(2, 9);
  for (int64_t attempt = 0;
       attempt < 5 * wanted && !is_broken_ && static_cast<int64_t>(program_.calls.size()) < wanted;
       ++attempt) {
    addCall();
  }
  if (!is_broken_ && tensors_.size() == program_.inputs.size()) {
    try_({"set", {}, {value(tensors_[0])}});
  }
  chooseOutputs();
  chooseUpdates();
  return withoutDeadCode(program_);
}

SizesDrawer::Sizes SizesDrawer::drawLength(size_t calls) {
  const std::vector<int64_t> lengths = {2, 3, 4, 5, 7, 8, 16, 17, 33};
  const auto one = [&]() -> int64_t {
    switch (draw_.weighted({70, 18, 12})) {
      case 0:
        return draw_.oneOf(lengths);
      case 1:
        return 1;
      default:
        return 0;
    }
  };
  Sizes result{one()};
  while (result.size() < calls) {
    result.push_back(draw_.chance(0.4) ? result[0] : one());
  }
  return result;
}

void SizesDrawer::addInput() {
  const size_t calls = shapes_.size();
  Input input;
  input.id = next_++;
  input.dtype = std::vector<DataType>{DataType::Float, DataType::Double, DataType::Half,
                                      DataType::Int}[draw_.weighted({60, 10, 15, 15})];
  const auto rank = static_cast<size_t>(draw_.weighted({4, 30, 44, 22}));
  std::vector<Sizes> sizes(calls);
  for (size_t axis = 0; axis < rank; ++axis) {
    const size_t kind = draw_.weighted({62, 14, 8, 12, 4});
    Sizes length = kind == 1   ? Sizes(calls, 1)
                   : kind == 2 ? Sizes(calls, draw_.number(2, 6))
                   : kind == 3 ? drawLength(calls)
                               : draw_.oneOf(lengths_);
    if ((kind == 1 || kind == 2) && draw_.chance(0.1)) {
      length.back() = length[0] + 1;  // not what is declared
    }
    for (size_t call = 0; call < calls; ++call) {
      if (length[call] * elementsOf(sizes[call]) > kMostElements) {
        length.assign(calls, 2);
      }
    }
    input.axes += kind == 1 ? 'b' : kind == 2 ? 'c' : kind == 4 ? 'e' : 's';
    for (size_t call = 0; call < calls; ++call) {
      sizes[call].push_back(length[call]);
    }
  }
  const bool shy = draw_.chance(0.3);
  for (size_t axis = 0; axis < rank; ++axis) {
    input.contiguity.push_back(shy && draw_.chance(0.6) ? 0 : 1);
  }
  for (size_t call = 0; call < calls; ++call) {
    Input with = input;
    with.sizes = sizes[call];
    drawLayout(with);
    if (call == 0) {
      input = with;
    } else {
      program_.again[call - 1].layouts.push_back({input.id, with.sizes, with.strides, with.offset});
    }
    shapes_[call].add(input, with);
  }
  program_.inputs.push_back(input);
  builder_.add(input);
  know(input.id, 4);
}

void SizesDrawer::drawLayout(Input& input) {
  const size_t rank = input.sizes.size();
  input.offset = draw_.chance(0.1) ? draw_.number(1, 7) : 0;
  Sizes order(rank);
  std::iota(order.begin(), order.end(), 0);
  const bool any = draw_.chance(0.12);
  const bool all_open = std::count(input.contiguity.begin(), input.contiguity.end(), 1) == 0;
  const size_t kind = any || all_open ? draw_.weighted({25, 25, 25, 25}) : 0;
  if (kind == 1 && rank > 1) {
    std::swap(order[0], order[rank - 1]);
  }
  int64_t step = kind == 2 ? draw_.number(2, 3) : 1;
  input.strides.assign(rank, 1);
  for (size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    input.strides[axis] = step;
    const bool counts = input.axes[axis] != 'e';
    const bool padded = input.contiguity[axis] == 0 && draw_.chance(0.3);
    step = counts ? step * std::max<int64_t>(input.sizes[axis], 1) + (padded ? 3 : 0) : step;
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    if (input.axes[axis] == 'e' || (kind == 3 && draw_.chance(0.5))) {
      input.strides[axis] = 0;
    }
    if (input.sizes[axis] < 2 && draw_.chance(0.3)) {  // of no meaning
      input.strides[axis] =
          draw_.oneOf(Sizes{0, 1, 3, 7, 1000003, -1, -5, int64_t{1} << 40, int64_t{1} << 62});
    }
  }
}

void SizesDrawer::addScalar() {
  const ScalarInput scalar{next_++, DataType::Int, 0};
  const Sizes& length = draw_.oneOf(lengths_);
  for (size_t call = 0; call < shapes_.size(); ++call) {
    ScalarInput with = scalar;
    with.value = static_cast<double>(
        draw_.oneOf(Sizes{0, 1, 1, 2, 3, -1, -2, length[call], length[call] - 1, length[call]}));
    if (call == 0) {
      program_.scalars.push_back(with);
      builder_.add(with);
    } else {
      program_.again[call - 1].scalars[scalar.id] = with.value;
    }
    shapes_[call].add(with);
  }
  scalars_.push_back(scalar.id);
}

int64_t SizesDrawer::rank(int64_t id) const {
  return static_cast<int64_t>(
      TensorDomain::noReductions(builder_.at(id).val->as<TensorView>()->getLogicalDomain()).size());
}

void SizesDrawer::know(int64_t id, double bound) {
  tensors_.push_back(id);
  bounds_[id] = bound;
}

int64_t SizesDrawer::pick() {
  const auto last = static_cast<int64_t>(tensors_.size()) - 1;
  return tensors_[static_cast<size_t>(std::max(draw_.number(0, last), draw_.number(0, last)))];
}

Argument SizesDrawer::number(std::initializer_list<int64_t> some) {
  if (!scalars_.empty() && draw_.chance(0.45)) {
    return value(draw_.oneOf(scalars_));
  }
  return integer(draw_.oneOf(Sizes(some)));
}

Argument SizesDrawer::extent() {
  const int64_t a = pick();
  if (rank(a) == 0) {
    return integer(1);
  }
  const int64_t id = next_;
  return try_({"size", {}, {value(a), integer(draw_.number(0, rank(a) - 1))}}) ? value(id)
                                                                               : integer(1);
}

Argument SizesDrawer::list(std::vector<Argument> items) {
  return {.kind = Argument::Kind::List, .items = std::move(items)};
}

bool SizesDrawer::try_(Call call, double bound, int64_t results) {
  for (int64_t i = 0; i < results; ++i) {
    call.results.push_back(next_++);
  }
  std::vector<Shapes> after = shapes_;
  bool refuses = false;
  for (Shapes& shapes : after) {
    const bool refused_before = !shapes.refused().empty();
    shapes.add(call);
    refuses = refuses || (!refused_before && !shapes.refused().empty());
    for (int64_t id : call.results) {
      if (!shapes.refused().empty() || !shapes.isTensor(id)) {
        continue;
      }
      if (elementsOf(shapes.of(id)) > kMostElements) {
        return false;
      }
    }
  }
  if (!after[0].refused().empty() || (refuses && !draw_.chance(kRefusals))) {
    return false;
  }
  try {
    builder_.add(call);
  } catch (const UserError&) {
    return false;
  } catch (const capi::ArgumentError&) {
    return false;
  } catch (const std::exception&) {
    is_broken_ = true;  // shown by whoever builds the program
    program_.calls.push_back(call);
    program_.outputs = {call.results[0]};
    return false;
  }
  const bool gives_tensor = builder_.at(call.results[0]).val->isA<TensorView>();
  if (gives_tensor && bound > largest(dtype(call.results[0]))) {
    return false;
  }
  program_.calls.push_back(call);
  shapes_ = std::move(after);
  for (int64_t id : call.results) {
    if (gives_tensor) {
      know(id, bound);
    } else {
      scalars_.push_back(id);
    }
  }
  return true;
}

double SizesDrawer::largest(DataType dtype) {
  return isIntegralType(dtype) ? 0x1p31 : 1 / roundoff(dtype) / 2;
}

void SizesDrawer::chooseOutputs() {
  if (is_broken_) {
    return;
  }
  std::set<int64_t> used;
  for (const Call& call : program_.calls) {
    std::vector<int64_t> ids;
    for (const Argument& argument : call.arguments) {
      collectValues(argument, ids);
    }
    used.insert(ids.begin(), ids.end());
  }
  for (const Call& call : program_.calls) {
    for (int64_t id : call.results) {
      const bool made = builder_.at(id).val->isA<TensorView>();
      if (made && used.count(id) == 0 && program_.outputs.size() < 5) {
        program_.outputs.push_back(id);
      }
    }
  }
  for (auto call = program_.calls.rbegin();
       program_.outputs.empty() && call != program_.calls.rend(); ++call) {
    if (builder_.at(call->results[0]).val->isA<TensorView>()) {
      program_.outputs.push_back(call->results[0]);
    }
  }
}

void SizesDrawer::chooseUpdates() {
  std::vector<Input> free = program_.inputs;
  while (!is_broken_ && !free.empty() && draw_.chance(0.25)) {
    const auto at = static_cast<size_t>(draw_.number(0, static_cast<int64_t>(free.size()) - 1));
    const Input target = free[at];
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
    std::vector<int64_t> fitting;
    for (const Call& call : program_.calls) {
      for (int64_t id : call.results) {
        const bool is_written =
            std::any_of(program_.updates.begin(), program_.updates.end(),
                        [&](const Update& update) { return update.result == id; });
        if (!is_written && shapes_[0].isTensor(id) && of(id) == of(target.id) &&
            dtype(id) == target.dtype) {
          fitting.push_back(id);
        }
      }
    }
    if (fitting.empty()) {
      continue;
    }
    const Update update{draw_.oneOf(fitting), target.id};
    std::vector<Shapes> after = shapes_;
    bool refuses = false;
    for (size_t call = 0; call < after.size(); ++call) {
      after[call].add(update);
      refuses |= after[call].refused() != shapes_[call].refused();
    }
    if (after[0].refused().empty() && (!refuses || draw_.chance(kRefusals))) {
      program_.updates.push_back(update);
      shapes_ = std::move(after);
    }
  }
}

Program drawProgramOfSizes(uint64_t seed) { return SizesDrawer(seed).run(); }

}  // namespace nvfuser::fuzz
