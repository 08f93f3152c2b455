#include <device_lower/loop_copies.h>

#include <unordered_set>
#include <vector>

#include <kernel_ir/accesses.h>

namespace nvfuser {

namespace {

/// What the loads of a thread may hold at once; 64 registers are what it has where blocks of 512
/// threads are to be two.
constexpr int64_t kMostBytes = 32 * 4;

const kir::For* asLoop(const kir::Stmt& stmt) { return std::get_if<kir::For>(&stmt.node); }

bool isWrittenOut(const kir::For& loop) {
  return loop.extent->isConstant() && loop.kind == kir::LoopKind::Unrolled;
}

/// Bytes of tensors that one execution loads, where loops that are written out load all at once;
/// `outer`: those around it that the loads are counted for.
int64_t bytesInFlight(const kir::Block& block, const std::vector<const kir::For*>& outer) {
  int64_t bytes = 0;
  for (const kir::Stmt& stmt : block) {
    if (const kir::For* loop = asLoop(stmt)) {
      std::vector<const kir::For*> inside = outer;
      if (isWrittenOut(*loop)) {
        inside.push_back(loop);
      }
      bytes += bytesInFlight(*loop->body, inside);
    } else if (const auto* branch = std::get_if<kir::If>(&stmt.node)) {
      for (const auto* body : {branch->then_body.get(), branch->else_body.get()}) {
        bytes += body != nullptr ? bytesInFlight(*body, outer) : 0;
      }
    } else {
      kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool is_write) {
        if (is_write || ref.buffer->memory != MemoryType::Global) {
          return;
        }
        int64_t copies = 1;
        for (const kir::For* around : outer) {
          copies *= kir::ScalarPool::contains(ref.index, around->var) ? around->extent->value : 1;
        }
        bytes += copies * ref.width * dataTypeSizeByte(ref.buffer->dtype);
      });
    }
  }
  return bytes;
}

/// Whether an array in registers that outlives an iteration has a place for each.
bool indexesRegisters(const kir::For& loop) {
  std::unordered_set<const kir::Buffer*> own;
  bool found = false;
  kir::forEach(*loop.body, [&](const kir::Stmt& stmt) {
    if (const auto* declared = std::get_if<kir::Declare>(&stmt.node)) {
      own.insert(declared->buffer);
    }
    kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool) {
      found |= ref.buffer->memory == MemoryType::Local && own.count(ref.buffer) == 0 &&
               ref.index != nullptr && kir::ScalarPool::contains(ref.index, loop.var);
    });
  });
  return found;
}

/// Whether a loop inside loads several elements at once as it is.
bool loadsInLoops(const kir::Block& block) {
  bool found = false;
  kir::forEach(block, [&](const kir::Stmt& stmt) {
    const kir::For* loop = asLoop(stmt);
    found |= loop != nullptr && isWrittenOut(*loop) && bytesInFlight(*loop->body, {}) > 0;
  });
  return found;
}

}  // namespace

bool wantsCopies(const kir::For& loop) {
  return !loadsInLoops(*loop.body) || indexesRegisters(loop) ||
         bytesInFlight(*loop.body, {&loop}) <= kMostBytes;
}

}  // namespace nvfuser
