/// Who runs an operation of a library. First those that a caller registered, the last one first;
/// then the device's own library; then those registered for what that leaves. The Python module
/// registers PyTorch here (python/src/aten).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <external/external_call.h>

namespace nvfuser::external {

/// Fills the results and returns true; or false, having done nothing, for a call that it does not
/// take. What it throws reaches the caller of the fusion. May be called from several threads.
using Provider = std::function<bool(const Call&)>;

enum class Turn : uint8_t {
  First,       ///< before the device's own library
  ForTheRest,  ///< for calls that it does not take; products come with their epilogue, too
};

/// What a provider is handed.
enum class Results : uint8_t {
  Allocated,  ///< memory for each result
  Adopted,    ///< none: it has its own, or asks for some (`Call::allocate`)
};

/// `operation` as `operationName` gives it. Operands and results are in memory of the device; on
/// emulated CUDA a provider is not asked. `name` stands in reports. Returns what `unregister`
/// takes.
int64_t registerProvider(std::string operation, DeviceKind device, std::string name,
                         Provider provider, Turn turn = Turn::First,
                         Results results = Results::Allocated);
void unregisterProvider(int64_t id);

/// Whether a product on this kind of device may be called with an epilogue: no provider comes
/// before the library (providers get the operation alone), and the values are those of the
/// operations one by one. cuBLASLt rounds once, at the end; that is the same in Float, and for a
/// relu.
bool takesEpilogue(const Expr* product, Epilogue end, bool adds_bias, DeviceKind device);

/// Runs the call on its device. Returns the provider's name, or nothing if none takes the call;
/// `why` then says what is missing, where there is something.
std::optional<std::string> runOnDevice(const Call& call, std::string* why);

}  // namespace nvfuser::external
