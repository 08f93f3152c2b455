#include <runtime/bounds_error.h>

#include <kernel_ir/kernel.h>
#include <support/text.h>

namespace nvfuser {

namespace {

std::string elements(std::pair<int64_t, int64_t> range) {
  return range.second - range.first == 1 ? text("element ", range.first)
                                         : text("elements ", range.first, " to ", range.second - 1);
}

}  // namespace

void accessOutside(const kir::Kernel& kernel, size_t param, std::pair<int64_t, int64_t> access,
                   std::pair<int64_t, int64_t> memory) {
  const kir::Param& tensor = kernel.params.at(param);
  const bool declared = tensor.buffer != nullptr && tensor.buffer->tv != nullptr;
  throw BoundsError(text(
      "kernel ", kernel.name, ": access to ", elements(access), " of ", tensor.name,
      declared ? " = " + tensor.buffer->tv->toString() : std::string(", a workspace"),
      ", outside of its memory, which has ",
      memory.first == memory.second ? std::string("no elements") : elements(memory),
      "; the access was left out. If the tensor is as large as its sizes and strides say, this is "
      "a wrong index of the kernel: see docs/debug.md"));
}

}  // namespace nvfuser
