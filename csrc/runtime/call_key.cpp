#include <runtime/call_key.h>

#include <algorithm>
#include <cstring>

#include <scheduler/runtime_info.h>

namespace nvfuser {

bool mayFallBack(const Options& options) {
  return !options.isDisabled(DisableOption::Fallback) && !options.flag(Setting::DisableFallback);
}

int64_t alignmentOf(const void* address) {
  constexpr uintptr_t kMost = SchedulerRuntimeInfo::kMaxAlignment;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address) | kMost;
  return static_cast<int64_t>(bits & -bits);
}

int64_t alignmentOf(const Tensor& tensor) {
  const auto offset =
      static_cast<uintptr_t>(tensor.storageOffset() * dataTypeSizeByte(tensor.dtype()));
  return alignmentOf(tensor.data() != nullptr ? tensor.data()
                                              : reinterpret_cast<const void*>(offset));
}

namespace {

/// Bytes that the words of an argument take at most.
size_t bytesOf(const LentArgument& argument) {
  const LentTensor* tensor = argument.tensor();
  return sizeof(int64_t) * (tensor != nullptr ? 2 + 2 * tensor->sizes.size() : 2);
}

char* put(char* at, int64_t word) {
  std::memcpy(at, &word, sizeof(word));
  return at + sizeof(word);
}

char* put(char* at, std::span<const int64_t> words) {
  for (int64_t word : words) {  // few: a call of memcpy would take longer
    at = put(at, word);
  }
  return at;
}

char* put(char* at, const LentArgument& argument, bool is_free_integer) {
  if (const LentTensor* tensor = argument.tensor()) {
    const bool is_meta = tensor->device == nullptr;
    at = put(at, (static_cast<int64_t>(tensor->dtype.type) * 2 + (is_meta ? 1 : 0)) * 64 +
                     alignmentOf(tensor->data));
    at = put(at, static_cast<int64_t>(tensor->sizes.size()));
    at = put(at, tensor->sizes);
    return put(at, tensor->strides);
  }
  const PolymorphicValue& scalar = *argument.scalar();
  if (scalar.is<int64_t>()) {
    return put(put(at, -1), is_free_integer ? 0 : scalar.as<int64_t>());
  }
  // Which kinds a scalar may have is checked when a call is planned.
  return put(at, scalar.hasValue() ? -3 - static_cast<int64_t>(scalar.dtype().type) : -2);
}

}  // namespace

CallKey::CallKey(const Device& device, std::optional<PrimDataType> index_type,
                 const Options& options, std::span<const LentArgument> arguments,
                 const std::vector<bool>& free_integers) {
  const std::string& code = options.codeKey();
  size_t most = 2 * sizeof(int64_t) + code.size();
  for (const LentArgument& argument : arguments) {
    most += bytesOf(argument);
  }
  if (most > few_.size()) {
    many_.resize(most);
    begin_ = end_ = many_.data();
  }
  end_ = put(end_, static_cast<int64_t>(reinterpret_cast<uintptr_t>(&device)));
  end_ = put(end_, (index_type ? static_cast<int64_t>(*index_type) + 1 : 0) * 2 +
                       (mayFallBack(options) ? 1 : 0));
  for (size_t i = 0; i < arguments.size(); ++i) {
    end_ = put(end_, arguments[i], i < free_integers.size() && free_integers[i]);
  }
  end_ = std::copy(code.begin(), code.end(), end_);
}

}  // namespace nvfuser
