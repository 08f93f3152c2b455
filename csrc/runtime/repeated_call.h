/// Arguments as they lie in the caller's own memory: nothing is copied and no tensor is made. What
/// depends on arguments alone, keys and addresses, is asked of these.
#pragma once

#include <array>
#include <span>
#include <variant>
#include <vector>

#include <ir/polymorphic_value.h>
#include <runtime/device.h>
#include <runtime/dlpack.h>
#include <runtime/executor_kernel_arg.h>
#include <runtime/run_context.h>

namespace nvfuser {

struct LentTensor {
  void* data = nullptr;
  DataType dtype;
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;  ///< in elements
  Device* device = nullptr;          ///< null: meta
};

/// What differs between calls that are alike: a tensor's address or a number.
union LentWord {
  void* address;    ///< null for a tensor without elements
  double real;      ///< of a floating-point number
  int64_t integer;  ///< of an integer or a bool
};

class LentArgument {
 public:
  LentArgument() = default;
  LentArgument(const LentTensor& tensor) : value_(tensor) {}
  LentArgument(const PolymorphicValue& scalar) : value_(scalar) {}
  /// An undefined tensor is a scalar without a value.
  explicit LentArgument(const KernelArgument& argument);

  /// Null where it is a scalar.
  const LentTensor* tensor() const { return std::get_if<LentTensor>(&value_); }
  /// Null where it is a tensor.
  const PolymorphicValue* scalar() const { return std::get_if<PolymorphicValue>(&value_); }
  /// Of a tensor: it is elsewhere now.
  void setAddress(void* data) { std::get_if<LentTensor>(&value_)->data = data; }

 private:
  std::variant<PolymorphicValue, LentTensor> value_;
};

/// A tensor of DLPack, which has to outlive the call; false where it is none that can be lent as it
/// is (`Tensor::fromDLPack` then says why, or takes it).
bool lend(const DLTensor& tensor, LentArgument& lent);

/// A list that needs no memory of its own while it is short.
template <typename Item, size_t kFew>
class ShortList {
 public:
  explicit ShortList(size_t count) : count_(count) {
    if (count > kFew) {
      many_.resize(count);
    }
  }
  Item* data() { return count_ > kFew ? many_.data() : few_.data(); }
  Item& operator[](size_t i) { return data()[i]; }
  std::span<Item> span() { return {data(), count_}; }
  std::span<const Item> span() const {
    return {count_ > kFew ? many_.data() : few_.data(), count_};
  }

 private:
  size_t count_;
  std::array<Item, kFew> few_;
  std::vector<Item> many_;
};

/// A holder's arguments, lent; the holder has to outlive this.
class LentArguments {
 public:
  explicit LentArguments(const KernelArgumentHolder& holder);
  std::span<const LentArgument> span() { return list_.span(); }

 private:
  ShortList<LentArgument, 8> list_;
};

}  // namespace nvfuser
