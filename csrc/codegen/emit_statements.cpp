/// Statements as text, and the text as a whole.
#include <codegen/emitter.h>

namespace nvfuser::codegen {

namespace {

std::string parenthesised(const std::string& value) {
  return isPrimaryText(value) ? value : "(" + value + ")";
}

}  // namespace

void Emitter::block(const kir::Block& statements) {
  for (const kir::Stmt& stmt : statements) {
    std::visit([&](const auto& statement) { emit(statement); }, stmt.node);
  }
}

void Emitter::emit(const kir::For& loop) {
  const std::string var = scalar_.name(loop.var);
  loopPragma(loop);
  const std::string extent = scalar_.operand(loop.extent);
  out_.open(loop.descending
                ? text("for (Index ", var, " = ", extent, " - 1; ", var, " >= 0; --", var, ") {")
                : text("for (Index ", var, " = 0; ", var, " < ", extent, "; ++", var, ") {"),
            loop.comment);
  loopStart(loop);
  block(*loop.body);
  out_.close();
}

void Emitter::emit(const kir::If& branch) {
  out_.open(text("if (", scalar_(branch.condition), ") {"));
  block(*branch.then_body);
  if (branch.else_body != nullptr && !branch.else_body->empty()) {
    out_.reopen("} else {");
    block(*branch.else_body);
  }
  out_.close();
}

void Emitter::emit(const kir::Declare& declare) {
  const kir::Buffer& buffer = *declare.buffer;
  check(buffer.memory == MemoryType::Local && buffer.elements != nullptr &&
            buffer.elements->isConstant(),
        text("registers have a size that is known: ", buffer.name));
  const int64_t elements = buffer.elements->value;
  std::string declaration = text(typeName(storedAs(buffer)), " ", buffer.name);
  if (elements != 1) {
    append(declaration, text("[", elements, "]"));
  }
  if (const int64_t alignment = alignmentOf(buffer); alignment > 0) {
    declaration = text("alignas(", alignment, ") ", declaration);
  }
  out_.line(declaration + ";", comment(buffer));
}

void Emitter::emit(const kir::LoadIndex& load) {
  const std::string index = converted(refText(load.src), storedAs(*load.src.buffer), index_type_);
  out_.line(text("const Index ", scalar_.name(load.var), " = ",
                 load.range < 0 ? index : text("range", load.range, "(", index, ")"), ";"));
}

void Emitter::emit(const kir::Let& let) {
  out_.line(text("const ", ScalarText::isBoolean(let.value) ? "bool " : "Index ",
                 scalar_.name(let.var), " = ", scalar_(let.value), ";"));
}

void Emitter::emit(const kir::Compute& compute) {
  const DataType stored = storedAs(*compute.dst.buffer);
  auto* unary = std::get_if<UnaryOpType>(&compute.op);
  if (auto* ref = std::get_if<kir::Ref>(&compute.operands[0]);
      ref != nullptr && unary != nullptr && *unary == UnaryOpType::Cast &&
      storedAs(*ref->buffer) == resolved(compute.compute)) {
    out_.line(text(refText(compute.dst), " = ", elementText(*ref, {}, stored), ";"));
    return;
  }
  std::vector<std::string> operands;
  const bool selects = std::holds_alternative<TernaryOpType>(compute.op) &&
                       std::get<TernaryOpType>(compute.op) == TernaryOpType::Where;
  for (const kir::Operand& operand : compute.operands) {
    const bool is_condition = selects && operands.empty();
    operands.push_back(
        operandText(operand, is_condition ? DataType(DataType::Bool) : compute.compute));
  }
  const std::string faster = fasterText(compute, operands);
  out_.line(text(refText(compute.dst), " = ",
                 faster.empty() ? pointwise(compute.op, compute.compute, stored, operands)
                                : converted(faster, DataType::Float, stored),
                 ";"));
}

Emitter::RoundedFunction Emitter::roundedFunction(const kir::Compute& compute) const {
  const int digits = compute.digits_shown;
  if (digits == 0 || resolved(compute.compute) != DataType::Float) {
    return RoundedFunction::None;
  }
  if (const auto* unary = std::get_if<UnaryOpType>(&compute.op);
      unary != nullptr && digits <= significandBits(DataType::BFloat16)) {
    return *unary == UnaryOpType::Exp       ? RoundedFunction::Exp
           : *unary == UnaryOpType::Sigmoid ? RoundedFunction::Sigmoid
                                            : RoundedFunction::None;
  }
  const auto* binary = std::get_if<BinaryOpType>(&compute.op);
  return binary != nullptr && *binary == BinaryOpType::Div ? RoundedFunction::Divide
                                                           : RoundedFunction::None;
}

void Emitter::elementwise(const kir::Ref& dst, const kir::Operand& src) {
  const DataType dtype = storedAs(*dst.buffer);
  if (dst.width == 1) {
    out_.line(text(refText(dst), " = ", operandText(src, dtype), ";"));
    return;
  }
  out_.directive(target_ == Target::Cuda ? "#pragma unroll" : "#pragma GCC ivdep");
  out_.line(text("for (int e = 0; e < ", dst.width, "; ++e) ", refText(dst, "e"), " = ",
                 operandText(src, dtype, "e"), ";"));
}

void Emitter::emit(const kir::Assign& assign) { elementwise(assign.dst, assign.src); }

void Emitter::emit(const kir::Guarded& guarded) {
  if (guarded.dst.width == 1) {
    const DataType dtype = storedAs(*guarded.dst.buffer);
    out_.line(text(refText(guarded.dst), " = ", parenthesised(scalar_(guarded.condition)), " ? ",
                   parenthesised(operandText(guarded.src, dtype)), " : ",
                   parenthesised(operandText(guarded.otherwise, dtype)), ";"));
    return;
  }
  out_.open(text("if (", scalar_(guarded.condition), ") {"));
  auto* src = std::get_if<kir::Ref>(&guarded.src);
  if (src != nullptr && src->buffer->dtype == guarded.dst.buffer->dtype) {
    emit(kir::CopyVector{guarded.dst, *src});
  } else {
    elementwise(guarded.dst, guarded.src);
  }
  out_.reopen("} else {");
  elementwise(guarded.dst, guarded.otherwise);
  out_.close();
}

void Emitter::emit(const kir::Random& random) {
  out_.line(text(refText(random.dst), " = ", randomText(random), ";"));
}

std::string Emitter::generatorText(const kir::Random& random) {
  snippets_.add("philox.cuh");
  std::string offset = operandText(random.offset, DataType::UInt64);
  if (random.draw != 0) {
    offset = text(parenthesised(offset), " + ", random.draw, "u");
  }
  return text(operandText(random.seed, DataType::UInt64), ", ", offset);
}

std::string Emitter::randomText(const kir::Random& random) {
  const DataType dtype = storedAs(*random.dst.buffer);
  const bool wide = dtype == DataType::Double;
  const std::string place = random.block == nullptr ? text("u64(", scalar_(random.element), ")")
                                                    : text("u64(", scalar_(random.block), "), int(",
                                                           scalar_(random.word), ")");
  if (random.type == RNGOpType::UniformOfThreads) {
    return text("uniformOfThreads<Index>(", generatorText(random), ", ", place, ", ",
                operandText(random.parameters[0], DataType::UInt64), ", ",
                operandText(random.parameters[1], DataType::UInt64), ")");
  }
  const int digits = significandBits(dtype);  // so that none reaches 1 when it is rounded
  const std::string drawn = drawsNormal(random) ? (wide ? "normalF64" : "normalF32")
                            : wide              ? "uniformF64"
                            : digits == 24      ? "uniformF32"
                                                : text("uniformF32<", digits, ">");
  return distributedText(random, text(drawn, "(", generatorText(random), ", ", place, ")"));
}

std::string Emitter::distributedText(const kir::Random& random, std::string number) {
  const DataType dtype = storedAs(*random.dst.buffer);
  const DataType compute = dtype == DataType::Double ? DataType::Double : DataType::Float;
  auto parameter = [&](size_t i) {
    check(i < random.parameters.size(), "a random operation has the parameters of its kind");
    return operandText(random.parameters[i], compute);
  };
  const std::string_view fma = compute == DataType::Double ? "fma(" : "fmaf(";
  if (random.type == RNGOpType::UniformRange) {
    const std::string low = parameter(0);
    number = text(fma, number, ", ", parenthesised(parameter(1)), " - ", parenthesised(low), ", ",
                  low, ")");
  } else if (random.type == RNGOpType::NormalGeneral) {
    number = text(fma, number, ", ", parameter(1), ", ", parameter(0), ")");
  }
  return converted(number, compute, dtype);
}

// ---- the whole

std::string Emitter::indexHelpers() const {
  std::string out;
  auto helper = [&](std::string_view name, std::string_view comparison) {
    append(out, text("static __device__ inline Index ", name, "(Index a, Index b) { return a ",
                     comparison, " b ? a : b; }\n"));
  };
  if (scalar_.usesMin()) {
    helper("indexMin", "<");
  }
  if (scalar_.usesMax()) {
    helper("indexMax", ">");
  }
  return out;
}

GeneratedKernel Emitter::generate() {
  block(kernel_.body);
  const std::string body = out_.take();
  TextWriter top(0);
  for (const std::string& line : kernel_.header) {
    top.comment(line);
  }
  TextWriter bottom(0);
  function(bottom, body);
  if (scalar_.usesMin() || scalar_.usesMax() || !state_definitions_.empty()) {
    if (target_ == Target::Host) {
      snippets_.addBasics();  // __device__ means nothing there
    }
  }
  GeneratedKernel result;
  result.entry = name_;
  result.snippets = snippets_.paths();
  result.text = top.take() + snippets_.text();
  if (!result.snippets.empty()) {
    result.text += "\n// ---- the kernel ----\n";
  }
  result.own_begin = result.text.size();
  append(result.text,
         text("typedef ", index_type_ == DataType::Int ? "long long" : "int", " Index;\n"));
  result.text += indexHelpers() + state_definitions_ + "\n" + bottom.take();
  return result;
}

}  // namespace nvfuser::codegen
