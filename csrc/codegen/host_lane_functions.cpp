/// Pointwise operations in a loop of vectors (host_lanes.cpp): where a kernel has many functions,
/// they are called.
///
///   T2 = simdSin(T1)     →     [[gnu::noinline]] static Lanes<float, 16> lanes_sin_0(
///                                  Lanes<float, 16> a) { return simdSin(a); }
///                              T2 = lanes_sin_0(T1)
///
/// A sine is thirty instructions and a way out to the C library. The host's compiler takes up to
/// 20 ms for each copy that it writes into a kernel, the more the longer the kernel is: 1,000 sines
/// take it 15 s inlined and 0.4 s called. A call costs a few of a function's cycles, which long
/// kernels do not show (docs/performance.md); short ones keep their functions inlined.
#include <algorithm>

#include <codegen/host_emitter.h>

namespace nvfuser::codegen {

namespace {

/// Functions of a kernel that are inlined, each time.
constexpr int64_t kMostInlined = 16;

bool isUnary(const kir::Compute& compute, UnaryOpType wanted) {
  const auto* type = std::get_if<UnaryOpType>(&compute.op);
  return type != nullptr && *type == wanted;
}

const PointwiseRow& rowOf(const kir::Compute& compute) {
  return std::visit([](auto op) -> const PointwiseRow& { return pointwiseRow(op); }, compute.op);
}

/// What an operand is computed in.
DataType operandType(const kir::Compute& compute, size_t i, DataType compute_type) {
  const auto* type = std::get_if<TernaryOpType>(&compute.op);
  return type != nullptr && *type == TernaryOpType::Where && i == 0 ? DataType(DataType::Bool)
                                                                    : compute_type;
}

/// Whether a text calls a function of simd.h or its like, extremes not counted: these are four
/// instructions, and a call makes its caller store the vectors that it holds.
bool callsFunction(std::string_view pattern) {
  for (size_t at = pattern.find("simd"); at != std::string_view::npos;
       at = pattern.find("simd", at + 1)) {
    const std::string_view name = pattern.substr(at);
    if (!name.starts_with("simdMaxNan") && !name.starts_with("simdMinNan")) {
      return true;
    }
  }
  return false;
}

/// More than a few instructions on vectors: of runtime/cpu/simd_math.h, or lane by lane.
bool isFunction(const kir::Compute& compute, DataType compute_type) {
  if (isUnary(compute, UnaryOpType::Cast) || isUnary(compute, UnaryOpType::BitCast)) {
    return false;
  }
  const std::string_view pattern = lanesPattern(rowOf(compute).name, compute_type);
  return pattern.empty() || callsFunction(pattern) || pattern.starts_with("lanesWhole") ||
         pattern.starts_with("lanesInt");
}

struct FunctionFile {
  std::string_view begin;  ///< of its functions' names
  std::string_view file;
};
constexpr FunctionFile kFunctionFiles[] = {
    {"lanesInt", "cpu/lanes_integer.h"},    {"lanesWhole", "cpu/lanes_whole.h"},
    {"simdAcosh", "cpu/simd_hyperbolic.h"}, {"simdAcos", "cpu/simd_angles.h"},
    {"simdAsinh", "cpu/simd_hyperbolic.h"}, {"simdAsin", "cpu/simd_angles.h"},
    {"simdAtanh", "cpu/simd_hyperbolic.h"}, {"simdAtan", "cpu/simd_angles.h"},
    {"simdCosh", "cpu/simd_hyperbolic.h"},  {"simdCos", "cpu/simd_angles.h"},
    {"simdErf", "cpu/simd_error.h"},        {"simdLgamma", "cpu/simd_gamma.h"},
    {"simdMaxNan", "cpu/simd.h"},           {"simdMinNan", "cpu/simd.h"},
    {"simdPow", "cpu/simd_pow.h"},          {"simdSinh", "cpu/simd_hyperbolic.h"},
    {"simdSin", "cpu/simd_angles.h"},       {"simdTanh", "cpu/simd_math.h"},
    {"simdTan", "cpu/simd_angles.h"},       {"simd", "cpu/simd_math.h"},
};
/// Adds what the functions in a text on vectors need; the first line that fits counts.
void addFileOf(std::string_view pattern, SnippetSet& snippets) {
  const auto begins = [&](size_t at) {
    const std::string_view name = pattern.substr(at);
    return name.starts_with("simd") || name.starts_with("lanesWhole") ||
           name.starts_with("lanesInt");
  };
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (begins(at)) {
      const auto* found = std::find_if(
          std::begin(kFunctionFiles), std::end(kFunctionFiles),
          [&](const FunctionFile& each) { return pattern.substr(at).starts_with(each.begin); });
      snippets.add(found->file);
    }
  }
}

}  // namespace

bool HostEmitter::isCalled(const kir::Compute& compute) {
  const DataType type = resolved(compute.compute);
  if (!isFunction(compute, type)) {
    return false;
  }
  if (functions_ < 0) {
    functions_ = 0;
    kir::forEach(kernel_.body, [&](const kir::Stmt& stmt) {
      const auto* other = std::get_if<kir::Compute>(&stmt.node);
      functions_ += other != nullptr && isFunction(*other, resolved(other->compute)) ? 1 : 0;
    });
  }
  return functions_ > kMostInlined;
}

std::string_view HostEmitter::fastLaneFunction(const kir::Compute& compute, const LaneLoop& lanes) {
  const RoundedFunction rounded = roundedFunction(compute);
  if (rounded == RoundedFunction::Exp) {
    return "simdExpFast";
  }
  if (rounded == RoundedFunction::Sigmoid) {
    return "simdSigmoidFast";
  }
  const auto* divisor =
      rounded == RoundedFunction::Divide ? std::get_if<kir::Ref>(&compute.operands[1]) : nullptr;
  return divisor != nullptr && lanes.filled.count(divisor->buffer) != 0 ? "simdDivideFast"
                                                                        : std::string_view();
}

std::string HostEmitter::laneValue(const kir::Compute& compute, const LaneLoop& lanes,
                                   const std::vector<std::string>& operands,
                                   const std::function<std::string(size_t)>& element) {
  const DataType dtype = storedAs(*compute.dst.buffer);
  const DataType type = resolved(compute.compute);
  const PointwiseRow& row = rowOf(compute);
  const std::string_view fast = fastLaneFunction(compute, lanes);
  std::string value =
      !fast.empty() ? text(fast, "(", join(operands, ", "), ")")
      : isUnary(compute, UnaryOpType::BitCast)
          ? std::string()
          : std::visit([&](auto op) { return lanesText(op, type, operands); }, compute.op);
  const DataType natural = row.resultType(type);
  const bool is_cut = isIntegralType(dtype) && isFloatingPointType(natural);
  if (value.empty() || (is_cut && !isCutInVectors(natural, dtype))) {
    std::vector<std::string> elements;
    for (size_t i = 0; i < compute.operands.size(); ++i) {
      elements.push_back(element(i));
    }
    return laneEach(pointwise(compute.op, type, dtype, elements), dtype, lanes);
  }
  addFileOf(fast.empty() ? lanesPattern(row.name, type) : fast, snippets_);
  if (isBooleanType(natural) && !isBooleanType(type)) {
    value = text("lanesTruth(", value, ")");
  }
  return is_cut ? laneCut(value, natural, dtype, lanes) : laneCast(value, natural, dtype, lanes);
}

std::string HostEmitter::laneCall(const kir::Compute& compute, const LaneLoop& lanes,
                                  const std::vector<std::string>& operands) {
  LaneLoop inside;
  inside.width = lanes.width;
  inside.count = "n";
  const DataType type = resolved(compute.compute);
  const std::vector<std::string> names{"a", "b", "c"};
  std::string parameters;
  for (size_t i = 0; i < operands.size(); ++i) {
    append(parameters, text(laneType(operandType(compute, i, type), inside), " ", names[i], ", "));
  }
  const std::string value =
      laneValue(compute, inside,
                std::vector<std::string>(
                    names.begin(), names.begin() + static_cast<std::ptrdiff_t>(operands.size())),
                [&](size_t i) { return laneOf(names[i], operandType(compute, i, type)); });
  const std::string result = laneType(storedAs(*compute.dst.buffer), inside);
  const std::string body = text("(", parameters, "Index n) { return ", value, "; }");
  const auto [function, is_new] = lane_functions_.emplace(
      text(result, body), text("lanes_", rowOf(compute).name, "_", lane_functions_.size()));
  if (is_new) {
    lane_function_text_.line(
        text("[[gnu::noinline]] static ", result, " ", function->second, body));
  }
  return text(function->second, "(", join(operands, ", "), ", ", lanes.count, ")");
}

void HostEmitter::laneStatement(const kir::Compute& compute, LaneLoop& lanes) {
  if (isPlaceCompared(compute, lanes)) {
    laneStore(compute.dst, lanePlace(compute, lanes), lanes);
    return;
  }
  if (isUnary(compute, UnaryOpType::Cast)) {
    laneStore(compute.dst, laneOperand(compute.operands[0], storedAs(*compute.dst.buffer), lanes),
              lanes);
    return;
  }
  const DataType type = resolved(compute.compute);
  std::vector<std::string> operands;
  for (size_t i = 0; i < compute.operands.size(); ++i) {
    operands.push_back(laneOperand(compute.operands[i], operandType(compute, i, type), lanes));
  }
  const std::string value =
      isCalled(compute)
          ? laneCall(compute, lanes, operands)
          : laneValue(compute, lanes, operands, [&](size_t i) {
              return laneElement(compute.operands[i], operandType(compute, i, type), lanes);
            });
  laneStore(compute.dst, value, lanes);
}

}  // namespace nvfuser::codegen
