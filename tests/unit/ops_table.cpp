// The table of pointwise operations: complete, and right at the edges.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <ops/table/pointwise.h>
#include <ops/table/reference_math.h>

using namespace nvfuser;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Target kTargets[] = {Target::Cuda, Target::Host};

const std::vector<std::string> kOperands = {"a", "b + 1", "c[2]"};

template <typename Type>
std::string cuda(Type type, DataType compute, std::vector<std::string> operands,
                 DataType out = DataType::Null) {
  return pointwiseText(type, Target::Cuda, compute, out, operands);
}

template <typename Type>
std::string host(Type type, DataType compute, std::vector<std::string> operands,
                 DataType out = DataType::Null) {
  return pointwiseText(type, Target::Host, compute, out, operands);
}

template <typename Type>
double real(Type type, std::vector<PolymorphicValue> x, DataType compute = DataType::Double) {
  return pointwiseReference(type, compute, DataType::Null, x).template as<double>();
}

template <typename Type>
int64_t whole(Type type, std::vector<PolymorphicValue> x, DataType compute = DataType::Int) {
  return pointwiseReference(type, compute, DataType::Null, x).template as<int64_t>();
}

bool balanced(const std::string& text) {
  int depth = 0;
  for (char c : text) {
    depth += (c == '(') - (c == ')');
    if (depth < 0) {
      return false;
    }
  }
  return depth == 0;
}

template <typename Type>
void checkRows(std::span<const PointwiseRow> rows) {
  std::set<std::string_view> names;
  for (const PointwiseRow& row : rows) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    auto type = static_cast<Type>(row.code);
    CHECK(&pointwiseRow(type) == &row);
    int classes = 0;
    for (DataType dtype : allDataTypes()) {
      if (isReducedPrecisionFloat(dtype) || !row.accepts(dtype)) {
        continue;
      }
      CAPTURE(dtype.toString());
      ++classes;
      for (Target target : kTargets) {
        std::span<const std::string> operands(kOperands.data(), static_cast<size_t>(row.arity));
        std::string text = pointwiseText(type, target, dtype, DataType::Null, operands);
        CAPTURE(text);
        CHECK(!text.empty());
        CHECK(text.find('$') == std::string::npos);
        CHECK(balanced(text));
        pointwiseSnippets(type, target, dtype);
      }
      switch (numberClass(dtype)) {
        case NumberClass::Bool:
          CHECK(static_cast<bool>(row.boolean.reference));
          break;
        case NumberClass::Integer:
          CHECK(static_cast<bool>(row.integer.reference));
          break;
        case NumberClass::Real:
          CHECK(static_cast<bool>(row.real.reference));
          break;
        case NumberClass::Complex:
          CHECK(static_cast<bool>(row.complex.reference));
          break;
      }
    }
    CHECK(classes > 0);
    if (row.identity != Identity::None) {
      CHECK((row.associative && row.commutative));
    }
  }
}

}  // namespace

TEST_CASE("every operation has a row, with text and reference for each dtype it takes") {
  checkRows<UnaryOpType>(unaryRows());
  checkRows<BinaryOpType>(binaryRows());
  checkRows<TernaryOpType>(ternaryRows());
}

TEST_CASE("functions name rows of their arity") {
  std::set<std::string_view> names;
  for (const PointwiseFunction& function : pointwiseFunctions()) {
    CAPTURE(function.name);
    CHECK(names.insert(function.name).second);
    CHECK(function.row().arity == function.arity);
    CHECK(!function.doc.empty());
    CHECK(findPointwiseFunction(function.name) == &function);
  }
  CHECK(names.size() >= 80);
  CHECK(findPointwiseFunction("no_such") == nullptr);
  CHECK(findPointwiseFunction("truediv")->rule == DtypeRule::Float);
}

TEST_CASE("pointwise table: text of each row") {
  using enum UnaryOpType;
  using enum BinaryOpType;
  CHECK(cuda(Exp, DataType::Float, {"a"}) == "expf(a)");
  CHECK(cuda(Exp, DataType::Double, {"a + b"}) == "exp(a + b)");
  CHECK(host(Exp, DataType::Float, {"a"}) == "__builtin_expf(a)");
  CHECK(cuda(Sigmoid, DataType::Float, {"a"}) == "sigmoid(a)");
  CHECK(cuda(Sigmoid, DataType::Double, {"a * b"}) == "sigmoid(a * b)");
  CHECK(host(Sigmoid, DataType::Double, {"a * b"}) == "1.0 / (1.0 + __builtin_exp(-(a * b)))");
  CHECK(cuda(Neg, DataType::Float, {"-a"}) == "-(-a)");
  CHECK(cuda(Add, DataType::Float, {"a", "b"}) == "a + b");
  CHECK(cuda(Mul, DataType::Float, {"a + b", "f(c)"}) == "(a + b) * f(c)");
  CHECK(cuda(Sub, DataType::Float, {"a", "b - c"}) == "a - (b - c)");
  CHECK(cuda(Max, DataType::Float, {"a", "b"}) == "maxNan(a, b)");
  CHECK(cuda(Max, DataType::Int, {"a", "b"}) == "a > b ? a : b");
  // Data wraps; indices are plain.
  CHECK(cuda(Add, DataType::Int, {"a", "b"}) == "i64(u64(a) + u64(b))");
  CHECK(cuda(Add, DataType::Char, {"a", "b"}) == "i8(u32(a) + u32(b))");
  CHECK(cuda(Add, DataType::Index, {"a", "b"}) == "a + b");
  CHECK(host(Div, DataType::Int, {"a", "b"}) == "truncDiv(a, b)");
  CHECK(host(Div, DataType::Index, {"a", "b"}) == "a / b");
  CHECK(cuda(TernaryOpType::Where, DataType::Half, {"p", "a", "b"}) == "p ? a : b");
  CHECK(cuda(TernaryOpType::Where, DataType::Float, {"p && q", "a", "b"}) == "(p && q) ? a : b");
  CHECK(cuda(IsPosInf, DataType::Float, {"a"}) == "a > 0x1.fffffep+127f");
  // A result of another type than the natural one.
  CHECK(cuda(Add, DataType::Float, {"a", "b"}, DataType::Half) == "half_t(a + b)");
  CHECK(cuda(Eq, DataType::Float, {"a", "b"}) == "a == b");
  CHECK(cuda(BinaryOpType::Complex, DataType::Float, {"a", "b"}) == "complex<float>(a, b)");
}

TEST_CASE("casts") {
  using D = DataType;
  auto text = [](D from, D to) { return castText(Target::Cuda, from, to, "a + b"); };
  CHECK(text(D::Float, D::Float) == "a + b");
  CHECK(text(D::Half, D::Float) == "float(a + b)");
  CHECK(text(D::Half, D::Double) == "double(float(a + b))");
  CHECK(text(D::Double, D::BFloat16) == "bf16_t(float(a + b))");
  CHECK(text(D::Half, D::BFloat16) == "bf16_t(float(a + b))");
  CHECK(text(D::Float, D::Bool) == "(a + b) != 0");
  CHECK(text(D::Half, D::Bool) == "float(a + b) != 0");
  CHECK(text(D::Float, D::Byte) == "toInteger<u8>(a + b)");
  CHECK(text(D::Float, D::Int) == "toInteger<i64>(a + b)");
  CHECK(text(D::Int, D::Char) == "i8(a + b)");
  CHECK(text(D::Bool, D::Float) == "float(a + b)");
  CHECK(text(D::ComplexFloat, D::Double) == "double((a + b).re)");
  CHECK(text(D::ComplexFloat, D::Bool) == "(a + b).re != 0 || (a + b).im != 0");
  CHECK(text(D::Int, D::ComplexFloat) == "complex<float>(float(a + b))");
  CHECK(text(D::Float8_e4m3fn, D::Half) == "half_t(float(a + b))");
  for (Target target : kTargets) {
    for (D from : allDataTypes()) {
      for (D to : allDataTypes()) {
        CHECK(balanced(castText(target, from, to, "x")));
      }
    }
  }
  CHECK(castSnippets(Target::Cuda, D::Half, D::BFloat16) ==
        std::vector<std::string_view>{"half.cuh", "bf16.cuh"});
  CHECK(castSnippets(Target::Host, D::Int, D::Float).empty());
}

TEST_CASE("snippets") {
  CHECK(pointwiseSnippets(UnaryOpType::Exp, Target::Cuda, DataType::Float).empty());
  CHECK(pointwiseSnippets(BinaryOpType::Max, Target::Cuda, DataType::Float) ==
        std::vector<std::string_view>{"math.cuh"});
  CHECK(pointwiseSnippets(BinaryOpType::Max, Target::Cuda, DataType::Int).empty());
  CHECK(pointwiseSnippets(BinaryOpType::Remainder, Target::Host, DataType::Int) ==
        std::vector<std::string_view>{"cpu/math.h"});
  CHECK(pointwiseSnippets(TernaryOpType::Lerp, Target::Cuda, DataType::ComplexFloat) ==
        std::vector<std::string_view>{"complex.cuh", "math.cuh"});
  CHECK(pointwiseSnippets(UnaryOpType::Cast, Target::Cuda, DataType::Float, DataType::Half) ==
        std::vector<std::string_view>{"half.cuh"});
}

TEST_CASE("primary text") {
  for (const char* text : {"a", "a.b", "a[i + 1]", "f(a, b)", "(a + b)", "1.5f", "1e-5f", "0x1p-3",
                           "T3[i].re", "ns::f(x)[2]", "(a).re"}) {
    CAPTURE(text);
    CHECK(isPrimaryText(text));
  }
  for (const char* text : {"", "a + b", "-a", "!a", "(a) + (b)", "(float)x", "a ? b : c", "*p"}) {
    CAPTURE(text);
    CHECK(!isPrimaryText(text));
  }
}

TEST_CASE("reals at the edges") {
  using enum BinaryOpType;
  using enum UnaryOpType;
  CHECK(std::isnan(real(Max, {kNan, 1.0})));
  CHECK(std::isnan(real(Max, {1.0, kNan})));
  CHECK(std::isnan(real(Min, {1.0, kNan})));
  CHECK(real(FMax, {kNan, 1.0}) == 1.0);
  CHECK(real(FMin, {1.0, kNan}) == 1.0);
  CHECK(real(Remainder, {-7.0, 3.0}) == 2.0);
  CHECK(real(Remainder, {7.0, -3.0}) == -2.0);
  CHECK(real(Fmod, {-7.0, 3.0}) == -1.0);
  CHECK(real(Round, {0.5}) == 0.0);
  CHECK(real(Round, {1.5}) == 2.0);
  CHECK(real(Round, {-2.5}) == -2.0);
  CHECK(std::signbit(real(Round, {-0.25})));
  CHECK(std::isnan(real(Relu, {kNan})));
  CHECK(!std::signbit(real(Relu, {-0.0})));
  CHECK(real(Sign, {-3.5}) == -1.0);
  CHECK(real(Sign, {kNan}) == 0.0);
  CHECK(std::isnan(real(Frac, {kInf})));
  CHECK(whole(Signbit, {-0.0}, DataType::Double) == 1);
  CHECK(whole(IsNegInf, {-kInf}, DataType::Double) == 1);
  CHECK(whole(IsPosInf, {-kInf}, DataType::Double) == 0);
  CHECK(real(Nextafter, {1.0, 2.0}, DataType::Float) == 1.0 + std::ldexp(1.0, -23));
  CHECK(real(Nextafter, {1.0, 2.0}) == 1.0 + std::ldexp(1.0, -52));
  CHECK(std::isnan(real(TernaryOpType::Clamp, {kNan, 0.0, 1.0})));
  CHECK(real(TernaryOpType::Clamp, {5.0, 3.0, 2.0}) == 2.0);
  CHECK(std::isnan(real(TernaryOpType::Threshold, {kNan, 0.0, 1.0})));
  CHECK(real(TernaryOpType::Lerp, {1.0, 3.0, 1.0}) == 3.0);
  CHECK(real(TernaryOpType::Where, {false, kNan, 2.0}) == 2.0);
  CHECK(real(Erf, {inverseErf(0.3)}) == doctest::Approx(0.3).epsilon(1e-14));
}

TEST_CASE("inverse error functions") {
  for (double y :
       {-0.999999, -0.75, -0.5, -1e-3, -1e-300, 0.0, 1e-8, 0.2, 0.5, 0.9, 0.9999999999}) {
    CAPTURE(y);
    CHECK(std::erf(inverseErf(y)) == doctest::Approx(y).epsilon(1e-13));
  }
  for (double y : {1e-300, 1e-100, 1e-20, 1e-5, 0.3, 0.7, 1.0, 1.4, 1.999}) {
    CAPTURE(y);
    CHECK(std::erfc(inverseErfc(y)) == doctest::Approx(y).epsilon(1e-10));
  }
  CHECK(inverseErf(1.0) == kInf);
  CHECK(inverseErf(-1.0) == -kInf);
  CHECK(std::isnan(inverseErf(1.5)));
  CHECK(inverseErfc(0.0) == kInf);
  CHECK(inverseErfc(2.0) == -kInf);
}

TEST_CASE("integers at the edges") {
  using enum BinaryOpType;
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  CHECK(whole(Div, {-7, 2}) == -3);
  CHECK(whole(Mod, {-7, 2}) == -1);
  CHECK(whole(Remainder, {-7, 2}) == 1);
  CHECK(whole(Remainder, {7, -2}) == -1);
  CHECK(whole(Div, {kLeast, -1}) == kLeast);
  CHECK(whole(Mod, {kLeast, -1}) == 0);
  CHECK(whole(Add, {127, 1}, DataType::Char) == -128);
  CHECK(whole(Mul, {200, 2}, DataType::Byte) == 144);
  CHECK(whole(UnaryOpType::Neg, {kLeast}) == kLeast);
  CHECK(whole(UnaryOpType::Abs, {-128}, DataType::Char) == -128);
  CHECK(whole(UnaryOpType::BitwiseNot, {5}, DataType::Byte) == 250);
  CHECK(whole(Pow, {2, 10}) == 1024);
  CHECK(whole(Pow, {2, -1}) == 0);
  CHECK(whole(Pow, {-1, -3}) == -1);
  CHECK(whole(Pow, {1, -5}) == 1);
  CHECK(whole(Gcd, {-12, 18}) == 6);
  CHECK(whole(Gcd, {0, 0}) == 0);
  CHECK(whole(CeilDiv, {7, 2}) == 4);
  CHECK(whole(Lshift, {1, 64}) == 0);
  CHECK(whole(Lshift, {1, 7}, DataType::Char) == -128);
  CHECK(whole(Rshift, {-8, 1}) == -4);
  CHECK(whole(Rshift, {-8, 100}) == -1);
  CHECK(whole(Rshift, {8, -1}) == 0);
  CHECK(whole(LogicalRshift, {-1, 28}, DataType::Int32) == 15);
  CHECK(whole(UnaryOpType::BitCeil, {33}) == 64);
  // 2^64 - 1 as an unsigned 64-bit number.
  CHECK(whole(GT, {-1, 1}, DataType::UInt64) == 1);
  CHECK(whole(Div, {-1, 2}, DataType::UInt64) == std::numeric_limits<int64_t>::max());
  CHECK(whole(Max, {-1, 1}, DataType::UInt64) == -1);
}

TEST_CASE("8-bit division, remainders and shifts as C++ and Python have them") {
  for (int a = -128; a < 128; ++a) {
    for (int b = -128; b < 128; ++b) {
      if (b != 0) {
        CHECK(whole(BinaryOpType::Div, {a, b}, DataType::Char) == static_cast<int8_t>(a / b));
        CHECK(whole(BinaryOpType::Mod, {a, b}, DataType::Char) == a % b);
        int python = ((a % b) + b) % b;
        CHECK(whole(BinaryOpType::Remainder, {a, b}, DataType::Char) == python);
      }
      if (b >= 0 && b < 8) {
        CHECK(whole(BinaryOpType::Rshift, {a, b}, DataType::Char) == (a >> b));
        CHECK(whole(BinaryOpType::Lshift, {a, b}, DataType::Char) ==
              static_cast<int8_t>(static_cast<unsigned>(a) << b));
      }
    }
  }
}
