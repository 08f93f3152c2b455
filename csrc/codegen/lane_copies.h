/// Copies of a loop's body, one for each of its few iterations, with what hangs on the iteration's
/// number alone decided.
///
///   T2 = T0[i] * T1[i]                shared:   T2 = T0[i] * T1[i]
///   T3 = T2 + T1[i]                             T3 = T2 + T1[i]
///   T4 = k < 1                  →     at(0):    T6[i * 2 + k] = T2
///   T5 = where(T4, T2, T3)            at(1):    T6[i * 2 + k] = T3
///   T6[i * 2 + k] = T5
///
/// A recursive filter of 16 samples, stacked, has each of its steps once then, and not sixteen
/// times with fifteen choices each for the host's compiler to see through.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <kernel_ir/kernel.h>

namespace nvfuser::codegen {

class LaneCopies {
 public:
  /// `number`: the symbol of the iteration.
  LaneCopies(const kir::Block& body, kir::Scalar number, kir::ScalarPool& pool);

  /// What does not depend on the number, in front of all copies.
  const kir::Block& shared() const { return shared_; }
  /// The rest of it for one iteration; `number` still is in its indices.
  kir::Block at(int64_t place) const;

 private:
  /// Numbers in one copy.
  struct Known {
    std::unordered_map<kir::Scalar, kir::Scalar> symbols;
    std::unordered_map<const kir::Buffer*, int64_t> numbers;
  };

  std::optional<int64_t> numberOf(const kir::Operand& operand, const Known& known) const;
  std::optional<int64_t> numberOf(const kir::Stmt& stmt, const Known& known) const;
  kir::Stmt chosen(const kir::Stmt& stmt, const Known& known) const;

  kir::Scalar number_;
  kir::ScalarPool& pool_;
  kir::Block shared_;
  kir::Block own_;
  std::set<const kir::Buffer*> registers_;  ///< declared in the body
  std::unordered_map<const kir::Buffer*, int64_t> writes_;
};

}  // namespace nvfuser::codegen
