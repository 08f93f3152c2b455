// Random numbers: a pure function of (seed, offset + k, row-major element number e).
// - Uniform Float: u = (w >> 8) · 2⁻²⁴ with w = word e mod 4 of block e div 4.
// - Uniform Half and BFloat16: the same with 11 and 8 bits, Float8 with 4 and 3, so that no
//   rounding reaches 1.
// - Uniform Double: u = (w >> 11) · 2⁻⁵³ with w = words 2(e mod 2) (low) and 2(e mod 2) + 1 of
//   block e div 2.
// - Range [low, high): fma(u, high − low, low) in the dtype (Float where it is narrower).
// - Normal: √(−2 ln v)·cos(2π u) for even e, ·sin(2π u) for odd e, of the pair e and e xor 1.
//   Here u is the uniform number of its odd element (Float's or Double's); v, never zero, comes
//   from the even one: (w + ½)·2⁻³² in steps of Float arithmetic, or 1 − Double's uniform number.
// - Normal, general: fma(n, std, mean).
// - Of `threads` threads that take `width` elements each: element e is of thread t = (e div width)
//   mod threads in its turn r = (e div width) div threads; w = word e mod 4 of the block at counter
//   offset + r·(width div 4) + (e mod width) div 4 of sequence t; u = w·2⁻³² + 2⁻³³ in Float.

#include <cmath>
#include <numbers>

#include <evaluator/operations.h>
#include <evaluator/philox.h>

namespace nvfuser::reference {

namespace {

/// The words of one random operation; remembers the block read last.
class Words {
 public:
  Words(uint64_t seed, uint64_t sequence) : seed_(seed), sequence_(sequence) {}

  uint64_t seed() const { return seed_; }
  uint64_t sequence() const { return sequence_; }
  uint32_t word32(uint64_t element) { return read(element / 4)[element % 4]; }
  uint64_t word64(uint64_t element) {
    const auto& words = read(element / 2);
    const size_t low = 2 * (element % 2);
    return uint64_t{words[low]} | uint64_t{words[low + 1]} << 32;
  }

 private:
  const std::array<uint32_t, 4>& read(uint64_t block) {
    if (block != block_ || first_) {
      words_ = philoxBlock(seed_, block, sequence_);
      block_ = block;
      first_ = false;
    }
    return words_;
  }

  uint64_t seed_;
  uint64_t sequence_;
  uint64_t block_ = 0;
  bool first_ = true;
  std::array<uint32_t, 4> words_{};
};

double uniformOfThreads(uint64_t seed, uint64_t offset, uint64_t element, uint64_t threads,
                        uint64_t width) {
  const uint64_t taken = element / width;
  const uint64_t block = offset + taken / threads * (width / 4) + element % width / 4;
  const uint32_t word = philoxBlock(seed, block, taken % threads)[element % 4];
  return static_cast<double>(static_cast<float>(word) * 0x1p-32f + 0x1p-33f);
}

double uniform(Words& words, uint64_t element, DataType dtype) {
  if (dtype == DataType::Double) {
    return std::ldexp(static_cast<double>(words.word64(element) >> 11), -53);
  }
  const int bits = significandBits(dtype);
  return std::ldexp(static_cast<double>(words.word32(element) >> (32 - bits)), -bits);
}

/// cos(2π u), or sin(2π u), of a u of at most 53 digits: what is beyond the nearest quarter turn is
/// exact, and an angle that was rounded first would have lost digits of it.
double cosineOfTurns(double u, bool is_sine) {
  const double quarters = std::rint(4 * u);
  const long double rest = (4 * u - quarters) * std::numbers::pi_v<long double> / 2;
  const int quadrant = (static_cast<int>(quarters) + (is_sine ? 3 : 0)) % 4;
  const long double size = quadrant % 2 == 0 ? std::cos(rest) : std::sin(rest);
  return static_cast<double>(quadrant == 1 || quadrant == 2 ? -size : size);
}

double normal(Words& words, uint64_t element, DataType dtype) {
  const uint64_t even = element & ~uint64_t{1};
  double v = 0;
  double u = 0;
  if (dtype == DataType::Double) {
    v = 1 - uniform(words, even, DataType::Double);
    u = uniform(words, even + 1, DataType::Double);
  } else {
    const float scaled = static_cast<float>(words.word32(even)) * 0x1p-32f;
    v = static_cast<double>(scaled + 0x1p-33f);
    u = uniform(words, even + 1, DataType::Float);
  }
  const double radius = std::sqrt(-2 * std::log(v));
  return radius * cosineOfTurns(u, element % 2 != 0);
}

/// a·b + c rounded once, in the dtype that a kernel computes in.
double fusedMultiplyAdd(double a, double b, double c, DataType dtype) {
  if (dtype == DataType::Double) {
    return std::fma(a, b, c);
  }
  return static_cast<double>(
      std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
}

/// The `element`-th number of a distribution, in Double or what a kernel computes it in.
double drawn(RNGOpType type, Words& words, uint64_t element, DataType dtype, DataType compute,
             const double* parameters) {
  switch (type) {
    case RNGOpType::Uniform:
      return uniform(words, element, dtype);
    case RNGOpType::UniformRange: {
      const double width = roundToDtype(parameters[1] - parameters[0], compute);
      return fusedMultiplyAdd(uniform(words, element, dtype), width, parameters[0], compute);
    }
    case RNGOpType::NormalStandard:
      return normal(words, element, dtype);
    case RNGOpType::UniformOfThreads:
      return uniformOfThreads(words.seed(), words.sequence(), element,
                              static_cast<uint64_t>(parameters[0]),
                              static_cast<uint64_t>(parameters[1]));
    case RNGOpType::NormalGeneral:
      break;
  }
  return fusedMultiplyAdd(normal(words, element, dtype), parameters[1], parameters[0], compute);
}

DataType drawnIn(DataType dtype) {
  return dtype == DataType::Double ? DataType::Double : DataType::Float;
}

}  // namespace

double uniformFloat(uint64_t seed, uint64_t sequence, uint64_t element) {
  Words words(seed, sequence);
  return uniform(words, element, DataType::Float);
}

double drawnNumber(RNGOpType type, DataType dtype, uint64_t seed, uint64_t sequence,
                   uint64_t element, const double* parameters) {
  Words words(seed, sequence);
  return roundToDtype(drawn(type, words, element, dtype, drawnIn(dtype), parameters), dtype);
}

Array random(const RNGOp* op, Context& context) {
  const DataType dtype = op->out()->dtype();
  if (!isFloatingPointType(dtype)) {
    userError("random numbers are floating-point, not ", dataTypeName(dtype), ", in ", *op);
  }
  uint64_t seed = context.options.philox_seed;
  uint64_t sequence = context.options.philox_offset;
  if (!op->isDeterministic()) {
    sequence += static_cast<uint64_t>(context.random_index.at(op));
  } else {
    seed = static_cast<uint64_t>(onlyElement(context.operand(op->seed())).as<int64_t>());
    sequence = static_cast<uint64_t>(onlyElement(context.operand(op->offset())).as<int64_t>());
  }
  const DataType compute = drawnIn(dtype);
  const DataType given =
      op->getRNGOpType() == RNGOpType::UniformOfThreads ? DataType(DataType::Double) : compute;
  double parameters[2] = {};
  for (size_t i = 0; i < static_cast<size_t>(op->numParameters()); ++i) {
    parameters[i] = onlyElement(convert(context.operand(op->parameter(i)), given)).as<double>();
  }
  Array out = makeArray(dtype, context.logicalSizes(op->out()->as<TensorView>()));
  auto* numbers = out.data<double>();
  Words words(seed, sequence);
  const auto count = static_cast<uint64_t>(out.numel());
  for (uint64_t e = 0; e < count; ++e) {
    numbers[e] =
        roundToDtype(drawn(op->getRNGOpType(), words, e, dtype, compute, parameters), dtype);
  }
  return out;
}

}  // namespace nvfuser::reference
