#include <ir/index_error.h>

#include <ir/internal_base_nodes.h>
#include <support/text.h>

namespace nvfuser {

void indexOutOfRange(const Expr& op, int64_t index, int64_t extent) {
  throw IndexRangeError(
      text(op.getOpString(), ": index ", index, " is out of range for an axis of extent ", extent,
           ", in ", join(op.outputs(), ", ", [](const Val* out) { return out->toInlineString(); }),
           " = ", op.toInlineString(), "; ",
           extent > 0 ? text("pass indices from 0 to ", extent - 1)
                      : std::string("nothing can be read of an axis without elements"),
           index < 0 && index >= -extent ? ", counted from the beginning alone" : ""));
}

}  // namespace nvfuser
