#include <kernel_ir/verifier.h>

#include <set>

#include <kernel_ir/accesses.h>
#include <kernel_ir/scalars_of.h>
#include <support/error.h>

namespace nvfuser::kir {

namespace {

class Verifier {
 public:
  Verifier(const Kernel& kernel, const std::unordered_map<Scalar, SymbolSource>& sources)
      : kernel_(kernel), sources_(sources) {
    for (const auto& buffer : kernel.buffers) {
      own_.insert(buffer.get());
    }
  }

  void run() { block(kernel_.body, {}); }

 private:
  struct Scope {
    std::set<Scalar> symbols;
    std::set<const Buffer*> declared;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw InternalError(text("kernel IR of ", kernel_.name, ": ", what, "\n", kernel_.toString()));
  }

  /// Sizes, strides and hardware indices are known everywhere.
  bool isGlobal(Scalar symbol) const {
    return sources_.count(symbol) != 0 || symbol->name == kComputes ||
           symbol->name.starts_with("threadIdx.") || symbol->name.starts_with("blockIdx.");
  }

  void expression(Scalar a, const Scope& scope) const {
    for (Scalar symbol : ScalarPool::symbolsOf(a)) {
      if (scope.symbols.count(symbol) == 0 && !isGlobal(symbol)) {
        fail(text("'", symbol->name, "' is used in ", a, " but not defined before it"));
      }
    }
  }

  void buffer(const Buffer* used, const Scope& scope, const char* where) const {
    if (used == nullptr || own_.count(used) == 0) {
      fail(text("a buffer of ", where, " is not the kernel's"));
    }
    if (used->memory == MemoryType::Local && used->role == BufferRole::Intermediate &&
        scope.declared.count(used) == 0) {
      fail(text(used->name, " is used in ", where, " outside the scope that declares it"));
    }
  }

  void ref(const Ref& r, const Scope& scope, const char* where) const {
    buffer(r.buffer, scope, where);
    if (r.width < 1) {
      fail(text("an access to ", r.buffer->name, " has width ", r.width));
    }
    if (r.index == nullptr) {
      fail(text("an access to ", r.buffer->name, " has no index"));
    }
  }

  void accesses(const Stmt& stmt, const Scope& scope) const {
    forEachAccess(
        stmt, [&](const Ref& r, bool is_write) { ref(r, scope, is_write ? "a write" : "a read"); });
    if (auto* block = std::get_if<BlockReduce>(&stmt.node)) {
      buffer(block->workspace, scope, "a reduction");
    } else if (auto* scan = std::get_if<BlockScan>(&stmt.node)) {
      buffer(scan->workspace, scope, "a scan");
    } else if (auto* cluster = std::get_if<ClusterReduce>(&stmt.node)) {
      buffer(cluster->workspace, scope, "a reduction");
    } else if (auto* init = std::get_if<MBarrierInit>(&stmt.node)) {
      buffer(init->barriers, scope, "an initialisation");
    } else if (auto* grid = std::get_if<GridReduce>(&stmt.node)) {
      buffer(grid->workspace, scope, "a reduction");
      buffer(grid->tickets, scope, "a reduction");
    }
  }

  void block(const Block& statements, Scope scope) const {
    for (const Stmt& stmt : statements) {
      if (auto* declare = std::get_if<Declare>(&stmt.node)) {
        if (declare->buffer == nullptr || own_.count(declare->buffer) == 0) {
          fail("a declaration is of no buffer of the kernel");
        }
        if (!scope.declared.insert(declare->buffer).second) {
          fail(text(declare->buffer->name, " is declared twice"));
        }
        continue;
      }
      forEachScalar(stmt, [&](Scalar a) {
        if (a != nullptr) {
          expression(a, scope);
        }
      });
      accesses(stmt, scope);
      if (auto* loop = std::get_if<For>(&stmt.node)) {
        if (loop->body == nullptr || loop->var == nullptr || loop->extent == nullptr) {
          fail("a loop lacks its variable, extent or body");
        }
        Scope inside = scope;
        inside.symbols.insert(loop->var);
        block(*loop->body, std::move(inside));
      } else if (auto* branch = std::get_if<If>(&stmt.node)) {
        if (branch->then_body == nullptr || branch->condition == nullptr) {
          fail("a branch lacks its condition or body");
        }
        block(*branch->then_body, scope);
        if (branch->else_body) {
          block(*branch->else_body, scope);
        }
      } else if (Scalar defined = definedBy(stmt)) {
        scope.symbols.insert(defined);
      }
    }
  }

  const Kernel& kernel_;
  const std::unordered_map<Scalar, SymbolSource>& sources_;
  std::set<const Buffer*> own_;
};

}  // namespace

void verify(const Kernel& kernel, const std::unordered_map<Scalar, SymbolSource>& sources) {
  Verifier(kernel, sources).run();
  if (kernel.shared_bytes != nullptr) {
    for (const auto& buffer : kernel.buffers) {
      const bool used = buffer->read || buffer->written;
      if (used && buffer->memory == MemoryType::Shared && buffer->shared_offset == nullptr) {
        throw InternalError(text("kernel IR of ", kernel.name, ": ", buffer->name,
                                 " has no place in shared memory"));
      }
    }
  }
}

}  // namespace nvfuser::kir
