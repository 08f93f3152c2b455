/// The border of the C interface: exceptions end here and become a status and a message.
#pragma once

#include <exception>

#include <capi/nvfuser_c.h>

namespace nvfuser::capi {

/// What a caller is told about the exception; remembers its message for `lastError`.
nvf_status report(const std::exception_ptr& error) noexcept;

/// The message of the calling thread's last failure; empty before the first.
const char* lastError() noexcept;

/// Runs the body; NVF_OK, or what `report` says of the exception that left it.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    body();
    return NVF_OK;
  } catch (...) {
    return report(std::current_exception());
  }
}

}  // namespace nvfuser::capi
