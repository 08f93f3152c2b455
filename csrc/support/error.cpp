#include <support/error.h>

namespace nvfuser {

void throwInternal(std::string_view what, std::source_location where) {
  throw InternalError(text("internal error: ", what, " (", where.file_name(), ":", where.line(),
                           ", ", where.function_name(), "); please report it"));
}

}  // namespace nvfuser
