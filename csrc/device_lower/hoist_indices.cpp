#include <device_lower/hoist_indices.h>

#include <map>
#include <set>

#include <kernel_ir/scalars_of.h>

namespace nvfuser {

using kir::Scalar;

namespace {

bool isIndex(Scalar a) {
  switch (a->op) {
    case kir::ScalarOp::Sum:
    case kir::ScalarOp::Product:
    case kir::ScalarOp::Div:
    case kir::ScalarOp::Mod:
    case kir::ScalarOp::Xor:
      return true;
    default:
      return false;
  }
}

/// Operations in an expression; divisions count more.
int cost(Scalar a) {
  int total = a->op == kir::ScalarOp::Div || a->op == kir::ScalarOp::Mod ? 8 : 0;
  total += static_cast<int>(a->args.size() > 1 ? a->args.size() - 1 : 0);
  for (Scalar arg : a->args) {
    total += cost(arg);
  }
  for (const auto& [term, coefficient] : a->terms) {
    total += 1 + (coefficient != 1) + cost(term);
  }
  return total - (a->op == kir::ScalarOp::Sum && a->value == 0 ? 1 : 0);
}

struct Use {
  Scalar value = nullptr;
  int weight = 0;
  bool is_certain = false;  ///< whenever the block runs, not on some condition alone
};

class Hoister {
 public:
  explicit Hoister(kir::Kernel& kernel) : pool_(*kernel.pool) {}

  void run(kir::Block& block) {
    std::map<int, Use> uses;  // by id
    std::set<Scalar> unknown;
    collectDefined(block, &unknown);
    count(block, 1, true, unknown, &uses);

    // From small to large; one whose uses are all inside a larger candidate's needs no name of its
    // own.
    std::map<int, Use> candidates;
    for (const auto& [id, use] : uses) {
      if (use.weight >= 2 && cost(use.value) >= 2) {
        candidates.emplace(id, use);
      }
    }
    std::vector<Use> named;
    for (const auto& [id, use] : candidates) {
      bool covered = false;
      for (const auto& [other_id, other] : candidates) {
        covered |= other.value != use.value && other.weight >= use.weight &&
                   kir::ScalarPool::contains(other.value, use.value);
      }
      if (!covered) {
        named.push_back(use);
      }
    }
    std::unordered_map<Scalar, Scalar> names;
    std::vector<kir::Stmt> lets;
    for (const Use& use : named) {
      Scalar var = pool_.symbol(text("n", next_++), nullptr, use.value->lo, use.value->hi);
      Scalar value = pool_.substitute(use.value, names);
      // A loop without iterations, or a condition that fails, may be all that keeps from a division
      // by an extent of zero: in front of it the same quotient must not stop the program.
      lets.push_back({kir::Let{var, use.is_certain ? value : pool_.withoutZeroDivisors(value)}});
      names[use.value] = var;
    }
    if (!names.empty()) {
      rename(block, names);
      // In front of the first statement that uses one of the names.
      size_t at = 0;
      while (at < block.size() && !usesAny(block[at], names)) {
        ++at;
      }
      block.insert(block.begin() + static_cast<std::ptrdiff_t>(at),
                   std::make_move_iterator(lets.begin()), std::make_move_iterator(lets.end()));
    }
    for (kir::Stmt& stmt : block) {
      if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
        run(*loop->body);
      }
      if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        run(*branch->then_body);
        if (branch->else_body) {
          run(*branch->else_body);
        }
      }
    }
  }

 private:
  static void collectDefined(const kir::Block& block, std::set<Scalar>* defined) {
    kir::forEach(block, [&](const kir::Stmt& stmt) {
      if (Scalar var = kir::definedBy(stmt)) {
        defined->insert(var);
      }
    });
  }

  void count(Scalar a, int weight, bool is_certain, const std::set<Scalar>& unknown,
             std::map<int, Use>* uses) {
    if (isIndex(a)) {
      bool known = true;
      for (Scalar s : kir::ScalarPool::symbolsOf(a)) {
        known &= unknown.count(s) == 0;
      }
      if (known) {
        Use& use = (*uses)[a->id];
        use.value = a;
        use.weight += weight;
        use.is_certain |= is_certain;
      }
    }
    const bool chooses = a->op == kir::ScalarOp::And || a->op == kir::ScalarOp::Or ||
                         a->op == kir::ScalarOp::Select;  // which operands are computed
    for (Scalar arg : a->args) {
      count(arg, weight, is_certain && !chooses, unknown, uses);
    }
    for (const auto& [term, coefficient] : a->terms) {
      count(term, weight, is_certain, unknown, uses);
    }
  }

  void count(const kir::Block& block, int weight, bool is_certain, const std::set<Scalar>& unknown,
             std::map<int, Use>* uses) {
    for (const kir::Stmt& stmt : block) {
      kir::forEachScalar(stmt, [&](Scalar a) { count(a, weight, is_certain, unknown, uses); });
      if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
        count(*loop->body, 2, false, unknown, uses);
      }
      if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
        count(*branch->then_body, weight, false, unknown, uses);
        if (branch->else_body) {
          count(*branch->else_body, weight, false, unknown, uses);
        }
      }
    }
  }

  void rename(kir::Block& block, const std::unordered_map<Scalar, Scalar>& names) {
    kir::forEach(block, [&](kir::Stmt& stmt) {
      kir::mapScalars(stmt, [&](Scalar a) { return pool_.substitute(a, names); });
    });
  }

  static bool usesAny(const kir::Stmt& stmt, const std::unordered_map<Scalar, Scalar>& names) {
    bool found = false;
    auto look = [&](const kir::Stmt& s) {
      kir::forEachScalar(s, [&](Scalar a) {
        for (const auto& [value, var] : names) {
          found |= kir::ScalarPool::contains(a, var);
        }
      });
    };
    look(stmt);
    if (auto* loop = std::get_if<kir::For>(&stmt.node)) {
      kir::forEach(*loop->body, look);
    }
    if (auto* branch = std::get_if<kir::If>(&stmt.node)) {
      kir::forEach(*branch->then_body, look);
      if (branch->else_body) {
        kir::forEach(*branch->else_body, look);
      }
    }
    return found;
  }

  kir::ScalarPool& pool_;
  int next_ = 0;
};

}  // namespace

void hoistIndices(kir::Kernel& kernel) { Hoister(kernel).run(kernel.body); }

}  // namespace nvfuser
