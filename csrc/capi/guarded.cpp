#include <capi/guarded.h>

#include <new>
#include <string>

#include <capi/arguments.h>
#include <runtime/device.h>
#include <support/error.h>

namespace nvfuser::capi {

namespace {

std::string& message() {
  thread_local std::string text;
  return text;
}

nvf_status remember(nvf_status status, const char* what) noexcept {
  try {
    message() = what;
  } catch (const std::bad_alloc&) {
    message().clear();
  }
  return status;
}

}  // namespace

nvf_status report(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const ArgumentError& e) {
    return remember(NVF_ARGUMENT_ERROR, e.what());
  } catch (const UserError& e) {
    return remember(NVF_USER_ERROR, e.what());
  } catch (const CompileError& e) {
    return remember(NVF_COMPILE_ERROR, e.what());
  } catch (const std::bad_alloc&) {
    return remember(NVF_USER_ERROR, "out of memory");
  } catch (const std::exception& e) {
    return remember(NVF_INTERNAL_ERROR, e.what());
  } catch (...) {
    return remember(NVF_INTERNAL_ERROR, "an exception of unknown type");
  }
}

const char* lastError() noexcept { return message().c_str(); }

}  // namespace nvfuser::capi
