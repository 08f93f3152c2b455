#include <device_lower/wait_for_grid.h>

#include <algorithm>

#include <kernel_ir/accesses.h>

namespace nvfuser {

namespace {

bool touchesGlobal(const kir::Stmt& stmt) {
  const std::vector<const kir::Buffer*> buffers = kir::buffersOf(stmt);
  bool touches = std::any_of(buffers.begin(), buffers.end(), [](const kir::Buffer* buffer) {
    return buffer->memory == MemoryType::Global;
  });
  const auto look = [&](const kir::Stmt& one) {
    touches |= std::holds_alternative<kir::BoxCopy>(one.node);
  };
  look(stmt);
  if (const auto* loop = std::get_if<kir::For>(&stmt.node)) {
    kir::forEach(std::as_const(*loop->body), look);
  } else if (const auto* branch = std::get_if<kir::If>(&stmt.node)) {
    kir::forEach(std::as_const(*branch->then_body), look);
    if (branch->else_body) {
      kir::forEach(std::as_const(*branch->else_body), look);
    }
  }
  return touches;
}

}  // namespace

void waitForGrid(kir::Kernel& kernel) {
  const auto first = std::find_if(kernel.body.begin(), kernel.body.end(), touchesGlobal);
  const auto launch =
      kernel.body.insert(first, {kir::GridDependency{kir::GridDependency::Kind::Launch}});
  kernel.body.insert(launch, {kir::GridDependency{kir::GridDependency::Kind::Wait}});
  kernel.dependent = true;
}

}  // namespace nvfuser
