/// What the statements of one loop choose by its variable.
///
///   for k in 0..8
///     T1 = n + k < 1024
///     T2 = exp(T5[k])                  turnOf(T1): k = 1024 - n, where it was true
///     T3 = sin(T6[k])                  decided, with k below the turn: T4[k] = T2
///     T4[k] = where(T1, T2, T3)        read: T3 and T1 are gone
#pragma once

#include <optional>
#include <set>
#include <vector>

#include <kernel_ir/kernel.h>

namespace nvfuser {

/// A condition on the loop's variable k: it is `below` for k < at, and not for the others.
struct Turn {
  kir::Scalar at = nullptr;
  bool below = true;
};

/// What is known of k: k < at, or not.
using KnownTurns = std::vector<Turn>;

class LoopChoices {
 public:
  /// `var` of a loop, and its statements.
  LoopChoices(kir::Scalar var, const kir::Block& block, kir::ScalarPool& pool);

  /// Whether there is nothing but what is computed, copied and read, element by element.
  static bool isSimple(const kir::Block& block);
  /// Where the last choice turns that is not decided and whose condition is linear in the variable.
  std::optional<Turn> lastTurn(const kir::Block& block) const;
  /// The turn of a < b; of its opposite, if it is not `holds`.
  std::optional<Turn> turnBelow(kir::Scalar a, kir::Scalar b, bool holds) const;
  /// With choices and guards that are known; `is_decided` becomes true where there are any.
  kir::Block decided(const kir::Block& block, const KnownTurns& known, bool& is_decided) const;
  /// Without what nobody reads.
  kir::Block read(const kir::Block& block) const;

 private:
  std::optional<Turn> turnOf(const kir::Block& block, const kir::Operand& condition) const;
  const kir::Stmt* definitionOf(const kir::Block& block, const kir::Operand& operand) const;
  kir::Scalar numberOf(const kir::Block& block, const kir::Operand& operand) const;
  std::optional<bool> holds(const std::optional<Turn>& turn, const KnownTurns& known) const;
  kir::Scalar decided(kir::Scalar condition, const KnownTurns& known) const;

  kir::Scalar var_;
  kir::ScalarPool& pool_;
  std::set<const kir::Buffer*> own_;  ///< declared in the loop
};

}  // namespace nvfuser
