#include <runtime/loop_origins.h>

#include <algorithm>
#include <set>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

constexpr size_t kLongestOrigin = 400;  ///< characters; merges of merges of splits grow long

/// "axis 1 of T3, i1", "inside the pieces of 8 steps of (axis 1 of T3, i1)", …
std::string originOf(const TensorView* tv, const IterDomain* id) {
  for (const auto* domain : {&tv->getLogicalDomain(), &tv->getMaybeRootDomain()}) {
    const auto place = std::find(domain->begin(), domain->end(), id);
    if (place != domain->end()) {
      return text("axis ", place - domain->begin(), " of ", tv->toInlineString(), ", ",
                  id->extent()->toInlineString());
    }
  }
  const Expr* made = id->definition();
  if (made == nullptr) {
    return id->toString();
  }
  switch (made->kind()) {
    case ExprKind::Split: {
      const auto* split = made->as<Split>();
      const std::string factor = split->factor()->toInlineString();
      const char* part = split->inner() == id ? "inside " : "";
      const std::string pieces = split->innerSplit() ? text("the pieces of ", factor, " steps")
                                                     : text("the ", factor, " equal pieces");
      return text(part, pieces, " of (", originOf(tv, split->in()), ")");
    }
    case ExprKind::Merge: {
      const auto* merge = made->as<Merge>();
      return text("(", originOf(tv, merge->outer()), ") and (", originOf(tv, merge->inner()),
                  ") as one");
    }
    case ExprKind::Resize:
      return text("(", originOf(tv, made->as<Resize>()->in()), ") made longer or shorter");
    case ExprKind::Swizzle: {
      const auto* swizzle = made->as<Swizzle>();
      const IterDomain* from = swizzle->outX() == id ? swizzle->inX() : swizzle->inY();
      return text("(", originOf(tv, from), ") in an order that avoids bank conflicts");
    }
    default:
      return text("(", originOf(tv, made->input(0)->as<IterDomain>()), ") rotated");
  }
}

std::string shortened(const std::string& origin) {
  return text(std::string_view(origin).substr(0, kLongestOrigin),
              origin.size() > kLongestOrigin ? "…" : "");
}

/// "T15" of "T15 iUR50{8}".
const TensorView* tensorOf(const Fusion& fusion, std::string_view comment) {
  const std::string_view name = comment.substr(0, comment.find(' '));
  for (const TensorView* tv : fusion.allTvs()) {
    if (tv->toInlineString() == name) {
      return tv;
    }
  }
  return nullptr;
}

class Origins {
 public:
  explicit Origins(const CompiledKernel& kernel) : fusion_(kernel.fusion()) {
    addLaunch();
    walk(kernel.kernel().body);
  }

  std::vector<LoopDescription> take() { return std::move(loops_); }

 private:
  void add(std::string comment, const std::string& origin) {
    if (known_.insert(comment).second) {
      LoopDescription& loop = loops_.emplace_back();
      loop.comment = std::move(comment);
      loop.origin = shortened(origin);
    }
  }

  /// One tensor stands for all that are bound to the same dimension of the launch.
  void addLaunch() {
    for (const TensorView* tv : fusion_.allTvs()) {
      for (const IterDomain* id : tv->getLoopDomain()) {
        if (id->isThread() && !id->isBroadcast()) {
          add(std::string(parallelTypeName(id->getParallelType())), originOf(tv, id));
        }
      }
    }
  }

  void walk(const kir::Block& block) {
    for (const kir::Stmt& statement : block) {
      if (const auto* loop = std::get_if<kir::For>(&statement.node)) {
        addLoop(loop->comment);
        walk(*loop->body);
      } else if (const auto* branch = std::get_if<kir::If>(&statement.node)) {
        walk(*branch->then_body);
        if (branch->else_body != nullptr) {
          walk(*branch->else_body);
        }
      }
    }
  }

  void addLoop(const std::string& comment) {
    const TensorView* tv = tensorOf(fusion_, comment);
    if (tv == nullptr) {
      return;
    }
    for (const IterDomain* id : tv->getLoopDomain()) {
      if (comment == text(tv->toInlineString(), " ", id->toString())) {
        add(comment, originOf(tv, id));
        return;
      }
    }
  }

  const Fusion& fusion_;
  std::set<std::string> known_;
  std::vector<LoopDescription> loops_;
};

}  // namespace

std::vector<LoopDescription> loopOrigins(const CompiledKernel& kernel) {
  return Origins(kernel).take();
}

}  // namespace nvfuser
