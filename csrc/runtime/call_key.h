/// What a plan depends on of a call, as bytes: two calls with equal keys are served by one plan.
///
///   device | index type asked for, whether it may fall back | each argument: dtype, alignment,
///   sizes and strides of a tensor, an integer's value where a plan may depend on it
///   (free_integers.h), another number's kind | options of the code
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <runtime/repeated_call.h>
#include <support/options.h>

namespace nvfuser {

/// Whether what cannot be compiled may run in another way.
bool mayFallBack(const Options& options);

/// The largest power of 2 that divides the address, as far as schedulers care.
int64_t alignmentOf(const void* address);
/// The same of a tensor's first element; of one without memory, in memory that begins at a
/// multiple.
int64_t alignmentOf(const Tensor& tensor);

class CallKey {
 public:
  CallKey(const Device& device, std::optional<PrimDataType> index_type, const Options& options,
          std::span<const LentArgument> arguments, const std::vector<bool>& free_integers);
  CallKey(const CallKey&) = delete;
  CallKey& operator=(const CallKey&) = delete;

  std::string_view bytes() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

 private:
  /// For what most calls have, no memory is needed.
  std::array<char, 1024> few_;
  std::string many_;
  char* begin_ = few_.data();
  char* end_ = few_.data();
};

/// Of keys in a map that is searched by their bytes.
struct CallKeyHash {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const { return std::hash<std::string_view>()(bytes); }
};

}  // namespace nvfuser
