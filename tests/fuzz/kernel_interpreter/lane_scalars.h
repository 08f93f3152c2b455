/// The values of a kernel's scalars for many threads at once: its *lanes*.
///
/// A scalar without thread indices in it has one value for all lanes. A value is computed when it
/// is asked for, and kept until one of the scalar's symbols changes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <kernel_ir/scalar.h>

namespace nvfuser::fuzz {

class LaneScalars {
 public:
  explicit LaneScalars(int64_t lanes) : lanes_(lanes) {}

  int64_t lanes() const { return lanes_; }
  /// Gives a symbol one value.
  void set(kir::Scalar symbol, int64_t value);
  /// Gives a symbol a value for each lane, to be written before anything else is asked for.
  int64_t* setLanes(kir::Scalar symbol);

  /// Whether all symbols of a scalar have been set.
  bool isKnown(kir::Scalar scalar);
  /// Whether all lanes have the same value. Throws `InternalError` for a symbol without a value.
  bool isUniform(kir::Scalar scalar) { return updated(scalar).values.size() == 1; }
  int64_t uniform(kir::Scalar scalar) { return updated(scalar).values[0]; }
  /// Until one of the scalar's symbols is set.
  class Values {
   public:
    Values() = default;
    int64_t operator[](int64_t lane) const { return first_[is_uniform_ ? 0 : lane]; }

   private:
    friend class LaneScalars;
    Values(const int64_t* first, bool is_uniform) : first_(first), is_uniform_(is_uniform) {}
    const int64_t* first_ = nullptr;
    bool is_uniform_ = true;
  };
  Values of(kir::Scalar scalar) {
    const Node& node = updated(scalar);
    return {node.values.data(), node.values.size() == 1};
  }

 private:
  struct Node {
    bool is_known = false;  ///< whether `symbols` are
    uint64_t changed = 0;   ///< of a symbol: when it was set; of others: when last evaluated
    uint64_t current = 0;   ///< until when that is known to hold
    std::vector<const Node*> symbols;  ///< in it
    std::vector<int64_t> values;
  };

  Node& node(kir::Scalar scalar);
  const Node& updated(kir::Scalar scalar) {
    const auto id = static_cast<size_t>(scalar->id);
    return id < nodes_.size() && nodes_[id] != nullptr && nodes_[id]->current == now_
               ? *nodes_[id]
               : update(scalar);
  }
  const Node& update(kir::Scalar scalar);
  void evaluate(kir::Scalar scalar, Node& into);

  int64_t lanes_;
  uint64_t now_ = 1;                          ///< counts what is set
  std::vector<std::unique_ptr<Node>> nodes_;  ///< by the scalar's id
};

}  // namespace nvfuser::fuzz
