#include <device_lower/fetch_ahead.h>

#include <algorithm>
#include <set>

#include <kernel_ir/accesses.h>

namespace nvfuser {

using kir::Scalar;

namespace {

constexpr int64_t kAheadBytes = 8192;  ///< two pages
constexpr int64_t kWideBytes = 4;      ///< of elements of which a loop uses up lines too fast

struct Access {
  kir::Ref ref;
  bool written = false;
  bool streams = false;  ///< past the caches
};

/// A loop of vectors, from outside in, with the block that its statements stand in.
struct Nest {
  std::vector<const kir::For*> loops;
  kir::Block* block = nullptr;
  std::vector<Access> accesses;
  std::vector<kir::Stmt> fetches;
};

class FetchAhead {
 public:
  FetchAhead(kir::Kernel& kernel, const std::unordered_map<Scalar, kir::SymbolSource>& sources)
      : kernel_(kernel), pool_(*kernel.pool), sources_(sources) {}

  void run() {
    walk(kernel_.body);
    std::set<const kir::Buffer*> known;
    for (size_t n = 0; n < nests_.size(); ++n) {
      for (const Access& access : nests_[n].accesses) {
        if (isOfCaller(access.ref) && known.insert(access.ref.buffer).second &&
            isNew(access.ref, nests_[n])) {
          access.written ? fetchToWrite(access, n) : fetchToRead(access, n);
        }
      }
    }
    for (Nest& nest : nests_) {
      nest.block->insert(nest.block->begin(), nest.fetches.begin(), nest.fetches.end());
    }
  }

 private:
  void walk(kir::Block& block) {
    for (kir::Stmt& stmt : block) {
      if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
        path_.push_back(loop);
        if (loop->kind == kir::LoopKind::Simd) {
          collect(*loop->body);
        } else {
          walk(*loop->body);
        }
        path_.pop_back();
      } else if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        walk(*branch->then_body);  // what is left for an `else` is an edge
      }
    }
  }

  /// The statements of a loop of vectors.
  void collect(kir::Block& block) {
    Nest nest{path_, &block, {}, {}};
    for (kir::Stmt& stmt : block) {
      if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        collect(*branch->then_body);
        continue;
      }
      const auto* assign = std::get_if<kir::Assign>(&stmt.node);
      const bool streams = assign != nullptr && assign->cache_op == CacheOp::Streaming;
      kir::forEachAccess(stmt, [&](const kir::Ref& ref, bool written) {
        nest.accesses.push_back({ref, written, written && streams});
      });
    }
    if (!nest.accesses.empty()) {
      nests_.push_back(std::move(nest));
    }
  }

  static bool isOfCaller(const kir::Ref& ref) {
    return ref.buffer->memory == MemoryType::Global &&
           ref.buffer->role != kir::BufferRole::Intermediate && !ref.buffer->by_value &&
           ref.width == 1;
  }

  /// Whether each step touches elements of its own, next to each other, and it is known where.
  bool isNew(const kir::Ref& ref, const Nest& nest) {
    int64_t stride = 0;
    Scalar rest = nullptr;
    if (!pool_.splitLinear(ref.index, nest.loops.back()->var, &stride, &rest) || stride != 1) {
      return false;
    }
    std::set<Scalar> vars;
    for (const kir::For* loop : nest.loops) {
      vars.insert(loop->var);
      if (!loop->extent->isConstant(1) && !kir::ScalarPool::contains(ref.index, loop->var)) {
        return false;
      }
    }
    const std::vector<Scalar> symbols = kir::ScalarPool::symbolsOf(ref.index);
    return std::all_of(symbols.begin(), symbols.end(), [&](Scalar symbol) {
      const auto source = sources_.find(symbol);
      const bool is_size =
          source != sources_.end() && source->second.kind != kir::SymbolSource::Kind::Stride;
      return vars.count(symbol) != 0 || is_size || symbol->name.starts_with("blockIdx.");
    });
  }

  void fetchToRead(const Access& access, size_t n) {
    for (size_t later = n + 1; later < nests_.size(); ++later) {
      if (!goOverSame(n, later)) {
        continue;
      }
      const auto& again = nests_[later].accesses;
      const auto same = std::find_if(again.begin(), again.end(), [&](const Access& other) {
        return other.ref.buffer == access.ref.buffer && !other.written;
      });
      if (same == again.end()) {
        continue;
      }
      for (size_t last = later + 1; last < nests_.size(); ++last) {
        if (goOverSame(n, last)) {  // so `later` has neither the first wait nor the last
          fetch(nests_[later], access, plus(same->ref.index, nests_[later].loops.front()->var, 1));
          return;
        }
      }
      break;
    }
    fetchInLoop(access, nests_[n]);
  }

  void fetchToWrite(const Access& access, size_t n) {
    if (access.streams) {
      return;
    }
    for (size_t before = n; before-- > 0;) {
      if (goOverSame(before, n)) {
        std::unordered_map<Scalar, Scalar> vars;
        for (size_t i = 0; i < nests_[n].loops.size(); ++i) {
          vars[nests_[n].loops[i]->var] = nests_[before].loops[i]->var;
        }
        fetch(nests_[before], access, pool_.substitute(access.ref.index, vars));
        return;
      }
    }
    fetchInLoop(access, nests_[n]);
  }

  /// Whether two nests go over the same elements inside of a loop that they share.
  bool goOverSame(size_t a, size_t b) const {
    const auto& of_a = nests_[a].loops;
    const auto& of_b = nests_[b].loops;
    return of_a.front() == of_b.front() && of_a.back() != of_b.back() &&
           std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                      [](const kir::For* x, const kir::For* y) { return x->extent == y->extent; });
  }

  static void fetch(Nest& nest, const Access& access, Scalar index) {
    nest.fetches.push_back({kir::Fetch{{access.ref.buffer, index}, access.written}});
  }

  Scalar plus(Scalar index, Scalar var, int64_t steps) {
    return pool_.substitute(index, {{var, pool_.add(var, pool_.constant(steps))}});
  }

  /// A few thousand bytes further on the way of the loops, from inside out: the first one whose
  /// steps lead far enough, or where the way goes on in a straight line.
  void fetchInLoop(const Access& access, Nest& nest) {
    const DataType dtype = access.ref.buffer->dtype;
    int64_t bytes = dataTypeSizeByte(dtype == DataType::Index ? kernel_.index_type : dtype);
    const bool wide = bytes >= kWideBytes;
    const Scalar index = access.ref.index;
    Scalar task = nullptr;  // a thread goes on with the next one
    for (Scalar symbol : kir::ScalarPool::symbolsOf(index)) {
      task = symbol->name == "blockIdx.x" ? symbol : task;
    }
    bool straight = true;
    for (auto loop = nest.loops.rbegin(); loop != nest.loops.rend(); ++loop) {
      const Scalar extent = (*loop)->extent;
      const int64_t steps = std::max<int64_t>(kAheadBytes / bytes, 1);
      const auto outer = std::next(loop);
      const bool goes_on = extent->isConstant() &&
                           goesOn(index, **loop, outer == nest.loops.rend() ? task : (*outer)->var);
      if (!extent->isConstant() || (steps < extent->value && goes_on)) {
        if (wide || !straight) {
          fetch(nest, access, plus(index, (*loop)->var, steps));
        }
        return;
      }
      straight = straight && goes_on;
      bytes *= extent->value;
    }
    if (task != nullptr && (wide || !straight)) {
      fetch(nest, access, plus(index, task, 1));
    }
  }

  /// Whether the loop around, or the next task, begins where one more step would lead.
  bool goesOn(Scalar index, const kir::For& loop, Scalar outer) {
    int64_t step = 0;
    int64_t outer_step = 0;
    Scalar rest = nullptr;
    return outer != nullptr && pool_.splitLinear(index, loop.var, &step, &rest) &&
           pool_.splitLinear(index, outer, &outer_step, &rest) &&
           outer_step == step * loop.extent->value;
  }

  kir::Kernel& kernel_;
  kir::ScalarPool& pool_;
  const std::unordered_map<Scalar, kir::SymbolSource>& sources_;
  std::vector<const kir::For*> path_;
  std::vector<Nest> nests_;
};

}  // namespace

void fetchAhead(kir::Kernel& kernel, const std::unordered_map<Scalar, kir::SymbolSource>& sources) {
  FetchAhead(kernel, sources).run();
}

}  // namespace nvfuser
