/// Where a vector is in memory: at the place of its first element, if the others are its neighbours
/// and the place is a multiple of the width. What is not proven of extents and strides is checked
/// at each launch.
///
///   index k·4 + v          neighbours along v, at a multiple of 4
///   index (k·4 + v) / n    a quotient is alike for all v if n is a multiple of 4, which is checked
#include <algorithm>

#include <device_lower/kernel_builder.h>

namespace nvfuser {

using kir::Scalar;

namespace {

/// n·h and 3·n·h have the factors n and h: a constant is none that a launch would have to check.
std::vector<Scalar> factorsOf(Scalar term) {
  if (term->value == 0 && term->terms.size() == 1) {
    return factorsOf(term->terms.front().first);
  }
  return term->op == kir::ScalarOp::Product ? term->args : std::vector<Scalar>{term};
}

/// Whether it is the same for all threads and iterations: an extent, a stride, or computed of such.
bool isUniform(Scalar a, const Symbols& symbols) {
  const std::vector<Scalar> used = kir::ScalarPool::symbolsOf(a);
  return std::all_of(used.begin(), used.end(),
                     [&](Scalar s) { return symbols.sources().count(s) != 0; });
}

/// Product of the uniform factors of a term.
Scalar uniformPart(kir::ScalarPool& pool, Scalar term, const Symbols& symbols) {
  Scalar result = pool.one();
  for (Scalar factor : factorsOf(term)) {
    result = isUniform(factor, symbols) ? pool.mul(result, factor) : result;
  }
  return result;
}

/// The innermost quotient or rest of something that the vector's variable is part of.
Scalar divisionOf(Scalar a, Scalar variable) {
  for (const auto& [term, coefficient] : a->terms) {
    if (Scalar inner = divisionOf(term, variable)) {
      return inner;
    }
  }
  for (Scalar arg : a->args) {
    if (Scalar inner = divisionOf(arg, variable)) {
      return inner;
    }
  }
  const bool divides = (a->op == kir::ScalarOp::Div || a->op == kir::ScalarOp::Mod) &&
                       kir::ScalarPool::contains(a->args[0], variable);
  return divides ? a : nullptr;
}

/// Factors of how many elements lie beside each other along the innermost axis in memory.
std::vector<Scalar> rowLength(const TensorView* tv, Symbols& symbols) {
  const auto& axes = tv->getMaybeAllocationDomain();
  for (size_t i = axes.size(); i-- > 0;) {
    if (!axes[i]->isBroadcast() && !axes[i]->isReduction()) {
      return factorsOf(symbols.extent(axes[i]));
    }
  }
  return {};
}

/// Uniform scalars that have to be multiples of `width`, so that a quotient or rest is alike for
/// all elements of a vector: what it is divided by, and what stands beside the vector's variable.
/// None where others than uniform ones would have to be.
///
///   (2·t + v + m·k) / (n·h)      m, n, h
std::vector<Scalar> multiplesFor(kir::ScalarPool& pool, Scalar division, int64_t width,
                                 const TensorView* tv, Symbols& symbols) {
  std::vector<Scalar> multiples;
  const auto add = [&](Scalar factor) {
    if (!factor->isConstant() &&
        std::find(multiples.begin(), multiples.end(), factor) == multiples.end()) {
      multiples.push_back(factor);
    }
  };
  const std::vector<Scalar> divided_by = factorsOf(division->args[1]);
  const auto isOfAll = [&](Scalar factor) { return isUniform(factor, symbols); };
  if (!std::all_of(divided_by.begin(), divided_by.end(), isOfAll)) {
    return {};
  }
  // One factor is enough; of rows that lie in memory that is their length.
  const std::vector<Scalar> row = rowLength(tv, symbols);
  const auto of_row =
      std::find_first_of(divided_by.begin(), divided_by.end(), row.begin(), row.end());
  if (of_row != divided_by.end()) {
    add(*of_row);
  } else {
    std::for_each(divided_by.begin(), divided_by.end(), add);
  }
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  pool.decompose(division->args[0], &value, &terms);
  for (const auto& [term, coefficient] : terms) {
    const Scalar part = uniformPart(pool, term, symbols);
    const std::vector<Scalar> factors = factorsOf(part);
    const bool has_one = std::any_of(factors.begin(), factors.end(), [&](Scalar factor) {
      return std::find(multiples.begin(), multiples.end(), factor) != multiples.end();
    });
    if (!has_one && coefficient % width != 0) {
      add(factors.back());
    }
  }
  return multiples;
}

}  // namespace

void KernelBuilder::requireDivisible(Scalar value, int64_t width, const TensorView* tv) {
  if (pool_.provesDivisible(value, pool_.constant(width))) {
    return;
  }
  if (value->isConstant()) {
    userError("lower: T", tv->name(), " is accessed in vectors of ", width,
              " elements, which needs a multiple of ", width, ", but goes through ", value->value,
              "\n  note: ", tv, "\n  help: split the vectorized axis by a number that divides ",
              value->value);
  }
  for (const auto& check : kernel_.checks) {
    if (check.value == value && check.divisor == width) {
      return;
    }
  }
  kernel_.checks.push_back(
      {kir::LaunchCheck::Kind::Divisible, value, nullptr, width,
       text("T", tv->name(), " is accessed in vectors of ", width, " elements")});
  if (options_.predicate_elimination) {
    pool_.assumeDivisible(value, width);
  }
}

kir::Ref KernelBuilder::vectorRef(const kir::Ref& at, const kir::Ref& first,
                                  const LoopClass* vector, int64_t width, const TensorView* tv) {
  auto notContiguous = [&]() {
    userError("lower: T", tv->name(), " cannot be accessed in vectors of ", width,
              " along the vectorized axis: its elements are not neighbours there (index ",
              at.index->toString(), ")\n  note: ", tv,
              "\n  help: vectorize an axis whose memory is contiguous, or make the tensor "
              "contiguous");
  };
  // Where the index is divided by an extent, that must be a multiple of the width: n = width·n'.
  // (width·k + v) / n is then k / n', of which quotients and rests do not depend on v.
  Scalar index = at.index;
  for (Scalar division; (division = divisionOf(index, vector->index)) != nullptr;) {
    std::unordered_map<Scalar, Scalar> as_multiple;
    for (Scalar factor : multiplesFor(pool_, division, width, tv, symbols_)) {
      as_multiple[factor] = pool_.mul(pool_.symbol(text(factor, "/", width), nullptr, 0), width);
      requireDivisible(factor, width, tv);
    }
    Scalar simpler = pool_.substitute(index, as_multiple);
    if (simpler == index) {
      notContiguous();
    }
    index = simpler;
  }
  int64_t coefficient = 0;
  Scalar rest = nullptr;
  if (!pool_.splitLinear(index, vector->index, &coefficient, &rest) || coefficient != 1) {
    notContiguous();
  }
  // The first element: every part a multiple of the width.
  int64_t value = 0;
  std::vector<std::pair<Scalar, int64_t>> terms;
  pool_.decompose(rest, &value, &terms);
  if (value % width != 0) {
    userError("lower: T", tv->name(), " cannot be accessed in vectors of ", width,
              ": they begin at element ", value, ", which is no multiple of ", width, " (index ",
              at.index->toString(), ")\n  note: ", tv,
              "\n  help: vectorize by a number that divides where a slice or a pad begins");
  }
  for (const auto& [term, c] : terms) {
    Scalar part = pool_.mul(uniformPart(pool_, term, symbols_), c);
    if (part->isConstant() && part->value % width != 0) {
      notContiguous();
    }
    if (pool_.provesDivisible(part, pool_.constant(width))) {
      continue;
    }
    bool made = false;  // of the symbols that stand for n / width
    for (Scalar symbol : kir::ScalarPool::symbolsOf(part)) {
      made |= symbol->name.find('/') != std::string::npos;
    }
    if (!made) {
      requireDivisible(part, width, tv);
    }
  }
  if (first.buffer->memory == MemoryType::Global) {
    const int64_t bytes = width * dataTypeSizeByte(first.buffer->dtype);
    const bool known = std::any_of(
        kernel_.checks.begin(), kernel_.checks.end(),
        [&](const auto& check) { return check.buffer == first.buffer && check.divisor == bytes; });
    if (!known) {
      kernel_.checks.push_back(
          {kir::LaunchCheck::Kind::Aligned, nullptr, first.buffer, bytes,
           text("T", tv->name(), " is accessed in vectors of ", width, " elements")});
    }
  } else {
    auto* buffer = const_cast<kir::Buffer*>(first.buffer);
    buffer->alignment = std::max(buffer->alignment, width * dataTypeSizeByte(buffer->dtype));
  }
  return {first.buffer, first.index, width};
}

}  // namespace nvfuser
