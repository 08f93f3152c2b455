/// Types, elements, operands and parameters as text.
#include <algorithm>
#include <limits>

#include <codegen/emitter.h>
#include <codegen/literal_text.h>
#include <ir/fusion.h>

namespace nvfuser::codegen {

std::string Emitter::typeName(DataType dtype) {
  dtype = resolved(dtype);
  if (isIntegralType(dtype)) {
    snippets_.addBasics();
  } else if (std::string_view file = typeSnippet(target_, dtype); !file.empty()) {
    snippets_.add(file);
  }
  return std::string(typeText(dtype));
}

DataType Emitter::storedAs(const kir::Buffer& buffer) const {
  auto count = counts_.find(&buffer);
  return count != counts_.end() ? count->second : resolved(buffer.dtype);
}

DataType Emitter::computeOf(DataType dtype) const {
  return isReducedPrecisionFloat(dtype) ? DataType(DataType::Float) : resolved(dtype);
}

std::string Emitter::refText(const kir::Ref& ref) const { return refText(ref, {}); }

std::string Emitter::refText(const kir::Ref& ref, std::string_view offset) const {
  const kir::Buffer& buffer = *ref.buffer;
  if (buffer.by_value) {
    return buffer.name;
  }
  if (buffer.memory == MemoryType::Local) {
    check(buffer.elements != nullptr && buffer.elements->isConstant(),
          text("registers have a size that is known: ", buffer.name));
    if (buffer.elements->isConstant(1)) {
      return buffer.name;
    }
  }
  if (offset.empty()) {
    return text(buffer.name, "[", scalar_(ref.index), "]");
  }
  if (ref.index->isConstant(0)) {
    return text(buffer.name, "[", offset, "]");
  }
  return text(buffer.name, "[", scalar_.operand(ref.index), " + ", offset, "]");
}

DataType Emitter::dtypeOf(const kir::Operand& operand) const {
  if (auto* ref = std::get_if<kir::Ref>(&operand)) {
    return storedAs(*ref->buffer);
  }
  if (auto* literal = std::get_if<kir::Literal>(&operand)) {
    return resolved(literal->dtype);
  }
  if (std::holds_alternative<kir::IndexValue>(operand)) {
    return index_type_;
  }
  auto& name = std::get<kir::ParamRef>(operand).name;
  for (const kir::Param& param : kernel_.params) {
    if (param.name != name) {
      continue;
    }
    return param.kind == kir::ParamKind::IndexArg ? index_type_ : resolved(param.dtype);
  }
  throw InternalError(text("the kernel ", kernel_.name, " has no parameter ", name));
}

std::string Emitter::converted(std::string_view value, DataType from, DataType to) {
  from = resolved(from);
  to = resolved(to);
  if (from == to) {
    return std::string(value);
  }
  snippets_.add(castSnippets(target_, from, to));
  std::string out = castText(target_, from, to, value);
  if (isIntegralType(to) || isIntegralType(from)) {
    snippets_.addBasics();
  }
  return out;
}

std::string Emitter::operandText(const kir::Operand& operand, DataType dtype,
                                 std::string_view offset) {
  dtype = resolved(dtype);
  if (auto* literal = std::get_if<kir::Literal>(&operand)) {
    bool needs_basics = false;
    PolymorphicValue value = literal->value;
    DataType from = resolved(literal->dtype);
    if (literal->dtype == DataType::Index && index_type_ == DataType::Int32) {
      // Where 32 bits index everything, the limits of 64 bits (a minimum starts there) are theirs.
      constexpr std::numeric_limits<int32_t> kIndex;
      value = std::clamp<int64_t>(value.as<int64_t>(), kIndex.min(), kIndex.max());
    }
    if (foldLiteral({value, from}, dtype, &value)) {
      from = dtype;
    }
    if (std::string_view file = typeSnippet(target_, from); !file.empty()) {
      snippets_.add(file);
    }
    std::string out = literalText(value, from, &needs_basics);
    if (needs_basics) {
      snippets_.addBasics();
    }
    return converted(out, from, dtype);
  }
  if (auto* index = std::get_if<kir::IndexValue>(&operand)) {
    return converted(converted(scalar_(index->index), index_type_, index->dtype), index->dtype,
                     dtype);
  }
  const DataType from = dtypeOf(operand);
  if (auto* param = std::get_if<kir::ParamRef>(&operand)) {
    return converted(param->name, from, dtype);
  }
  return elementText(std::get<kir::Ref>(operand), offset, dtype);
}

std::string Emitter::elementText(const kir::Ref& ref, std::string_view offset, DataType dtype) {
  return converted(refText(ref, offset), storedAs(*ref.buffer), dtype);
}

std::string Emitter::pointwise(const kir::PointwiseType& op, DataType compute, DataType out,
                               const std::vector<std::string>& operands) {
  compute = resolved(compute);
  out = resolved(out);
  // Integer arithmetic is done in u32 and u64.
  if (numberClass(compute) == NumberClass::Integer || isIntegralType(out)) {
    snippets_.addBasics();
  }
  return std::visit(
      [&](auto type) {
        snippets_.add(pointwiseSnippets(type, target_, compute, out));
        return pointwiseText(type, target_, compute, out, operands);
      },
      op);
}

std::string Emitter::comment(const kir::Buffer& buffer) const {
  return buffer.tv != nullptr ? buffer.tv->toString() : std::string();
}

const kir::Buffer* Emitter::bufferOf(const kir::Param& param) const {
  check(param.kind == kir::ParamKind::TensorArg && param.buffer != nullptr,
        text("the parameter ", param.name, " is a tensor"));
  return param.buffer;
}

bool Emitter::isRestrict(const kir::Buffer& buffer) const {
  return aliased_.count(&buffer) == 0 && !(buffer.read && buffer.written);
}

std::string Emitter::parameterType(const kir::Param& param) {
  switch (param.kind) {
    case kir::ParamKind::TensorArg: {
      const kir::Buffer& buffer = *bufferOf(param);
      if (buffer.by_value) {
        return "const " + typeName(buffer.dtype);
      }
      return text(buffer.written ? "" : "const ", typeName(buffer.dtype), "*",
                  isRestrict(buffer) ? " __restrict__" : "");
    }
    case kir::ParamKind::MapArg:
      snippets_.add("box_copy.cuh");
      return "const __grid_constant__ TensorMap";
    case kir::ParamKind::IndexArg:
      return "const Index";
    case kir::ParamKind::ScalarArg:
      return "const " + typeName(param.dtype);
  }
  throw InternalError("a parameter of an unknown kind");
}

Emitter::Emitter(const kir::Kernel& kernel, Target target, DataType index_type)
    : kernel_(kernel),
      name_(kernel.name),
      target_(target),
      index_type_(index_type),
      snippets_(target) {
  findAliases();
  findCounts();
}

void Emitter::findCounts() {
  kir::forEach(kernel_.body, [&](const kir::Stmt& stmt) {
    auto note = [&](const auto* reduction) {
      if (reduction == nullptr || reduction->monoid.kind != kir::Monoid::Kind::Welford) {
        return;
      }
      const kir::Buffer* count = reduction->state[2].buffer;
      if (count->memory == MemoryType::Local) {
        counts_[count] = computeOf(reduction->state[0].buffer->dtype);
      }
    };
    note(std::get_if<kir::Combine>(&stmt.node));
    note(std::get_if<kir::BlockReduce>(&stmt.node));
    note(std::get_if<kir::ClusterReduce>(&stmt.node));
    note(std::get_if<kir::GridReduce>(&stmt.node));
  });
  // A vector moves bytes as they are.
  kir::forEach(kernel_.body, [&](const kir::Stmt& stmt) {
    if (auto* copy = std::get_if<kir::CopyVector>(&stmt.node)) {
      counts_.erase(copy->src.buffer);
    } else if (auto* guarded = std::get_if<kir::Guarded>(&stmt.node)) {
      auto* src = std::get_if<kir::Ref>(&guarded->src);
      if (src != nullptr && src->width > 1) {
        counts_.erase(src->buffer);
      }
    }
  });
}

void Emitter::findAliases() {
  // Inputs may share memory with each other, which does no harm while nobody writes it. An output
  // that reuses an input's memory makes both pointers lead to what is written.
  auto bufferOfVal = [&](const Val* val) -> const kir::Buffer* {
    for (const auto& buffer : kernel_.buffers) {
      if (buffer->tv == val) {
        return buffer.get();
      }
    }
    return nullptr;
  };
  for (const auto& buffer : kernel_.buffers) {
    if (buffer->tv == nullptr || buffer->role != kir::BufferRole::Output) {
      continue;
    }
    const Fusion* fusion = buffer->tv->fusion();
    auto alias = fusion->getOutputAliases().find(buffer->tv);
    if (alias == fusion->getOutputAliases().end() || alias->second.type == AllocationType::New) {
      continue;
    }
    aliased_.insert(buffer.get());
    if (const kir::Buffer* other = bufferOfVal(alias->second.aliased_io)) {
      aliased_.insert(other);
    }
  }
  // An input that is written, likewise: the caller may have passed another view of it.
  const bool writes_input = std::any_of(
      kernel_.buffers.begin(), kernel_.buffers.end(),
      [](const auto& buffer) { return buffer->role == kir::BufferRole::Input && buffer->written; });
  for (const auto& buffer : kernel_.buffers) {
    if (writes_input && buffer->role == kir::BufferRole::Input) {
      aliased_.insert(buffer.get());
    }
  }
}

}  // namespace nvfuser::codegen
