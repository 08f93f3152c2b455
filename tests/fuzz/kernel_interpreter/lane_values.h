/// Operands and elements of a kernel's statements, in all lanes.
///
/// Each of these objects serves one statement: it holds the indices as they are when it is made.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <fuzz/kernel_interpreter/kernel_memory.h>
#include <fuzz/kernel_interpreter/lane_scalars.h>
#include <fuzz/kernel_interpreter/number.h>

namespace nvfuser::fuzz {

/// What statements read from: scalars, parameters, memory.
class LaneValues {
 public:
  LaneValues(const kir::Kernel& kernel, std::span<void* const> args, LaneScalars& scalars,
             KernelMemory& memory);

  LaneScalars& scalars() const { return scalars_; }
  KernelMemory& memory() const { return memory_; }
  /// Where 32 bits index everything, the limits of 64 bits are theirs.
  Number literal(const kir::Literal& literal) const;
  Number parameter(const kir::ParamRef& ref, DataType dtype) const;

 private:
  const kir::Kernel& kernel_;
  std::span<void* const> args_;
  LaneScalars& scalars_;
  KernelMemory& memory_;
  std::map<std::string, size_t> param_numbers_;
};

/// An operand, converted to a dtype.
class LaneOperand {
 public:
  LaneOperand(const LaneValues& values, const kir::Operand& operand, DataType dtype);
  /// `offset`: elements further, where the operand is in memory.
  Number operator()(int64_t lane, int64_t offset = 0) const;

 private:
  KernelMemory& memory_;
  const kir::Buffer* buffer_ = nullptr;
  bool is_index_ = false;
  LaneScalars::Values indices_;  ///< places in the buffer, or the index itself
  DataType from_, dtype_;
  Number constant_;
};

/// Elements of one buffer.
class LaneElements {
 public:
  LaneElements(const LaneValues& values, const kir::Ref& ref)
      : memory_(values.memory()), buffer_(*ref.buffer), places_(values.scalars().of(ref.index)) {}
  Number read(int64_t lane, int64_t offset = 0) const {
    return memory_.load(buffer_, lane, places_[lane] + offset);
  }
  void write(int64_t lane, const Number& number, int64_t offset = 0) const {
    memory_.store(buffer_, lane, places_[lane] + offset, number);
  }

 private:
  KernelMemory& memory_;
  const kir::Buffer& buffer_;
  LaneScalars::Values places_;
};

/// The parts of a reduction's state.
class LaneStates {
 public:
  LaneStates(const LaneValues& values, const std::vector<kir::Ref>& refs);
  std::vector<Number> read(int64_t lane) const;
  void write(int64_t lane, const std::vector<Number>& numbers) const;

 private:
  std::vector<LaneElements> parts_;
};

}  // namespace nvfuser::fuzz
