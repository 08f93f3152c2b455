/// Generated text of pointwise operations and casts: filling in the table's patterns.
#include <algorithm>
#include <cctype>

#include <ops/table/pointwise.h>

namespace nvfuser {

namespace {

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Functions of the device-side library that patterns call, and where they are.
struct LibraryFunction {
  std::string_view name;
  std::string_view cuda;
  std::string_view host;
};
constexpr std::string_view kBasicsCuda = "basics.cuh";
constexpr std::string_view kBasicsHost = "cpu/prelude.h";
constexpr std::string_view kMathCuda = "math.cuh";
constexpr std::string_view kMathHost = "cpu/math.h";
constexpr LibraryFunction kLibrary[] = {
    {"arctan", "", kMathHost},
    {"bitCast", kBasicsCuda, kBasicsHost},
    {"bitCeil", kMathCuda, kMathHost},
    {"ceilDiv", kBasicsCuda, kBasicsHost},
    {"erfcinv", "", kMathHost},
    {"erfinv", "", kMathHost},
    {"floorMod", kMathCuda, kMathHost},
    {"gcd", kMathCuda, kMathHost},
    {"lerp", kMathCuda, kMathHost},
    {"maxNan", kMathCuda, kMathHost},
    {"maxNumber", kMathCuda, kMathHost},
    {"minNan", kMathCuda, kMathHost},
    {"minNumber", kMathCuda, kMathHost},
    {"powInteger", kMathCuda, kMathHost},
    {"powReal", "", kBasicsHost},
    {"printValue", "print.cuh", "cpu/print.h"},
    {"shiftLeft", kMathCuda, kMathHost},
    {"shiftRight", kMathCuda, kMathHost},
    {"shiftRightLogical", kMathCuda, kMathHost},
    {"sigmoid", "sigmoid.cuh", ""},
    {"truncDiv", kMathCuda, kMathHost},
    {"truncMod", kMathCuda, kMathHost},
};

struct Pattern {
  std::string_view text;
  bool wraps = false;
};

template <typename Number>
Pattern choose(const Meaning<Number>& meaning, Target target) {
  std::string_view chosen =
      target == Target::Host && !meaning.host.empty() ? meaning.host : meaning.text;
  if (chosen.starts_with('~')) {
    return {chosen.substr(1), true};
  }
  return {chosen, false};
}

Pattern patternOf(const PointwiseRow& row, Target target, DataType compute) {
  switch (numberClass(compute)) {
    case NumberClass::Bool:
      return choose(row.boolean, target);
    case NumberClass::Integer:
      if (isUnsignedIntegralType(compute) && !row.unsigned_text.empty()) {
        return {row.unsigned_text, false};
      }
      // Index arithmetic is plain: it does not overflow, and its divisors are positive.
      if (compute == DataType::Index) {
        if (!row.index_text.empty()) {
          return {row.index_text, false};
        }
        return {choose(row.integer, Target::Cuda).text, false};
      }
      return choose(row.integer, target);
    case NumberClass::Real:
      return choose(row.real, target);
    case NumberClass::Complex:
      return choose(row.complex, target);
  }
  throw InternalError("a dtype of no number class");
}

std::string asOperand(std::string_view text) {
  return isPrimaryText(text) ? std::string(text) : nvfuser::text("(", text, ")");
}

std::string_view unsignedText(DataType dtype) {
  return dataTypeSizeBit(dtype) > 32 ? "u64" : "u32";
}

std::string fill(Pattern pattern, Target target, DataType compute, DataType result,
                 std::span<const std::string> operands) {
  std::string out;
  std::string_view rest = pattern.text;
  auto operandAt = [&](char digit) -> const std::string& {
    return operands[static_cast<size_t>(digit - '0')];
  };
  while (!rest.empty()) {
    if (rest[0] != '$') {
      out += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const char key = rest[1];
    rest.remove_prefix(2);
    switch (key) {
      case 'T':
        out += typeText(compute);
        break;
      case 'O':
        out += typeText(result);
        break;
      case 'f':
        if (compute != DataType::Double) {
          out += 'f';
        }
        break;
      case 'm':
        if (target == Target::Host) {
          out += "__builtin_";
        }
        break;
      case 'M':
        out += compute == DataType::Double ? "0x1.fffffffffffffp+1023" : "0x1.fffffep+127f";
        break;
      case 'u': {
        const std::string& operand = operandAt(rest[0]);
        rest.remove_prefix(1);
        if (pattern.wraps && target != Target::Host) {
          append(out, text(unsignedText(compute), "(", operand, ")"));
        } else {
          out += asOperand(operand);
        }
        break;
      }
      default: {
        // An operand that is already between commas and parentheses needs none of its own.
        bool is_argument = (out.ends_with('(') || out.ends_with(", ")) &&
                           (rest.starts_with(')') || rest.starts_with(','));
        out += is_argument ? operandAt(key) : asOperand(operandAt(key));
      }
    }
  }
  // Host text is compiled with -fwrapv, so only what C++ computes in int is brought back.
  const bool is_promoted = dataTypeSizeBit(compute) < 32;
  return pattern.wraps && (target != Target::Host || is_promoted)
             ? text(typeText(compute), "(", out, ")")
             : out;
}

std::string rowText(const PointwiseRow& row, Target target, DataType compute, DataType out,
                    std::span<const std::string> operands) {
  check(static_cast<int>(operands.size()) == row.arity, "a pointwise operation of another arity");
  DataType natural = row.resultType(compute);
  if (out == DataType::Null) {
    out = natural;
  }
  if (row.code == static_cast<int>(UnaryOpType::Cast) && row.arity == 1) {
    return castText(target, compute, out, operands[0]);
  }
  // A copy of bits has no result type of its own.
  if (row.code == static_cast<int>(UnaryOpType::BitCast) && row.arity == 1) {
    natural = out;
  }
  check(!isReducedPrecisionFloat(compute) || row.name == "where" || row.name == "bit_cast",
        "reduced precision is no compute dtype");
  Pattern pattern = patternOf(row, target, compute);
  check(!pattern.text.empty(), "a pointwise operation on a dtype that it is not defined for");
  return castText(target, natural, out, fill(pattern, target, compute, natural, operands));
}

std::string rowLanes(const PointwiseRow& row, DataType compute,
                     std::span<const std::string> operands) {
  const std::string_view pattern = lanesPattern(row.name, compute);
  return pattern.empty()
             ? std::string()
             : fill({pattern}, Target::Host, compute, row.resultType(compute), operands);
}

void addFile(std::vector<std::string_view>& files, std::string_view file) {
  if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) {
    files.push_back(file);
  }
}

std::vector<std::string_view> rowSnippets(const PointwiseRow& row, Target target, DataType compute,
                                          DataType out) {
  DataType result = out == DataType::Null ? row.resultType(compute) : out;
  std::vector<std::string_view> files = castSnippets(target, compute, result);
  std::string_view pattern = patternOf(row, target, compute).text;
  for (const LibraryFunction& function : kLibrary) {
    for (size_t at = pattern.find(function.name); at != std::string_view::npos;
         at = pattern.find(function.name, at + 1)) {
      size_t end = at + function.name.size();
      bool starts_word = at == 0 || !isWordChar(pattern[at - 1]);
      if (starts_word && end < pattern.size() && (pattern[end] == '(' || pattern[end] == '<')) {
        addFile(files, target == Target::Cuda ? function.cuda : function.host);
      }
    }
  }
  return files;
}

}  // namespace

bool isPrimaryText(std::string_view text) {
  if (text.empty()) {
    return false;
  }
  size_t i = 0;
  // Skips a group in parentheses or brackets that begins at i.
  auto skipGroup = [&] {
    int depth = 0;
    do {
      if (text[i] == '(' || text[i] == '[' || text[i] == '{') {
        ++depth;
      }
      if (text[i] == ')' || text[i] == ']' || text[i] == '}') {
        --depth;
      }
      ++i;
    } while (i < text.size() && depth > 0);
    return depth == 0;
  };
  if (text[0] == '(') {
    if (!skipGroup()) {
      return false;
    }
    // "(T)x" is a cast, not a group.
    if (i < text.size() && text[i] != '.' && text[i] != '[') {
      return false;
    }
  } else if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
    // A literal, also with a signed exponent.
    bool is_hex = text.starts_with("0x");
    while (i < text.size()) {
      bool is_exponent = i > 0 && (is_hex ? text[i - 1] == 'p' : text[i - 1] == 'e');
      if (!isWordChar(text[i]) && text[i] != '.' &&
          !(is_exponent && (text[i] == '-' || text[i] == '+'))) {
        return false;
      }
      ++i;
    }
    return true;
  }
  while (i < text.size()) {
    if (text[i] == '(' || text[i] == '[') {
      if (!skipGroup()) {
        return false;
      }
      // A name after a call: "f(x)y" does not occur, "f(x).y" does.
      if (i < text.size() && isWordChar(text[i])) {
        return false;
      }
    } else if (isWordChar(text[i]) || text[i] == '.') {
      ++i;
    } else if (text.substr(i).starts_with("::")) {
      i += 2;
    } else {
      return false;
    }
  }
  return true;
}

std::string pointwiseText(UnaryOpType type, Target target, DataType compute, DataType out,
                          std::span<const std::string> operands) {
  return rowText(pointwiseRow(type), target, compute, out, operands);
}

std::string pointwiseText(BinaryOpType type, Target target, DataType compute, DataType out,
                          std::span<const std::string> operands) {
  return rowText(pointwiseRow(type), target, compute, out, operands);
}

std::string pointwiseText(TernaryOpType type, Target target, DataType compute, DataType out,
                          std::span<const std::string> operands) {
  return rowText(pointwiseRow(type), target, compute, out, operands);
}

std::string lanesText(UnaryOpType type, DataType compute, std::span<const std::string> operands) {
  return rowLanes(pointwiseRow(type), compute, operands);
}

std::string lanesText(BinaryOpType type, DataType compute, std::span<const std::string> operands) {
  return rowLanes(pointwiseRow(type), compute, operands);
}

std::string lanesText(TernaryOpType type, DataType compute, std::span<const std::string> operands) {
  return rowLanes(pointwiseRow(type), compute, operands);
}

std::vector<std::string_view> pointwiseSnippets(UnaryOpType type, Target target, DataType compute,
                                                DataType out) {
  return rowSnippets(pointwiseRow(type), target, compute, out);
}

std::vector<std::string_view> pointwiseSnippets(BinaryOpType type, Target target, DataType compute,
                                                DataType out) {
  return rowSnippets(pointwiseRow(type), target, compute, out);
}

std::vector<std::string_view> pointwiseSnippets(TernaryOpType type, Target target, DataType compute,
                                                DataType out) {
  return rowSnippets(pointwiseRow(type), target, compute, out);
}

}  // namespace nvfuser
