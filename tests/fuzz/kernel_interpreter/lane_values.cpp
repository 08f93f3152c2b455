#include <fuzz/kernel_interpreter/lane_values.h>

#include <algorithm>
#include <limits>

namespace nvfuser::fuzz {

LaneValues::LaneValues(const kir::Kernel& kernel, std::span<void* const> args, LaneScalars& scalars,
                       KernelMemory& memory)
    : kernel_(kernel), args_(args), scalars_(scalars), memory_(memory) {
  for (const kir::Param& param : kernel.params) {
    param_numbers_[param.name] = param_numbers_.size();
  }
}

Number LaneValues::literal(const kir::Literal& literal) const {
  if (literal.dtype == DataType::Index && kernel_.index_type == DataType::Int32) {
    constexpr std::numeric_limits<int32_t> kIndex;
    return {0, 0, std::clamp<int64_t>(literal.value.as<int64_t>(), kIndex.min(), kIndex.max())};
  }
  return numberOf(literal.value, literal.dtype);
}

Number LaneValues::parameter(const kir::ParamRef& ref, DataType dtype) const {
  const size_t i = param_numbers_.at(ref.name);
  const kir::Param& param = kernel_.params[i];
  if (param.kind == kir::ParamKind::IndexArg) {
    return converted({0, 0, scalars_.uniform(param.symbol)}, DataType::Int, dtype);
  }
  return converted(load(args_[i], param.dtype), param.dtype, dtype);
}

LaneOperand::LaneOperand(const LaneValues& values, const kir::Operand& operand, DataType dtype)
    : memory_(values.memory()), from_(dtype), dtype_(dtype) {
  if (const auto* ref = std::get_if<kir::Ref>(&operand)) {
    buffer_ = ref->buffer;
    from_ = buffer_->dtype;
    indices_ = values.scalars().of(ref->index);
  } else if (const auto* literal = std::get_if<kir::Literal>(&operand)) {
    constant_ = converted(values.literal(*literal), literal->dtype, dtype);
  } else if (const auto* param = std::get_if<kir::ParamRef>(&operand)) {
    constant_ = values.parameter(*param, dtype);
  } else {
    const auto& index = std::get<kir::IndexValue>(operand);
    is_index_ = true;
    from_ = index.dtype;
    indices_ = values.scalars().of(index.index);
  }
}

Number LaneOperand::operator()(int64_t lane, int64_t offset) const {
  if (buffer_ != nullptr) {
    return converted(memory_.load(*buffer_, lane, indices_[lane] + offset), from_, dtype_);
  }
  if (is_index_) {
    return converted(converted({0, 0, indices_[lane]}, DataType::Int, from_), from_, dtype_);
  }
  return constant_;
}

LaneStates::LaneStates(const LaneValues& values, const std::vector<kir::Ref>& refs) {
  for (const kir::Ref& ref : refs) {
    parts_.emplace_back(values, ref);
  }
}

std::vector<Number> LaneStates::read(int64_t lane) const {
  std::vector<Number> numbers;
  for (const LaneElements& part : parts_) {
    numbers.push_back(part.read(lane));
  }
  return numbers;
}

void LaneStates::write(int64_t lane, const std::vector<Number>& numbers) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].write(lane, numbers[i]);
  }
}

}  // namespace nvfuser::fuzz
