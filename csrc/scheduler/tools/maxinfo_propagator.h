/// In which order a schedule spreads from one tensor to the others: along the spanning tree that
/// keeps, for each tensor, the most of what the reference's axes mean (Prim's algorithm).
///
///   T1[i] = sum(T0[i, r]);  T2[i, b] = broadcast(T1);  T3[i, j] = T0 + T2,  reference T3
///   T2 is reached from T3, T0 from T3 (both axes survive), T1 from T0 (not from T2, where the
///   reduced axis is lost)
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include <ir/interface_nodes.h>

namespace nvfuser {

class MaxInfoSpanningTree {
 public:
  /// Says along which edges the tree may grow.
  class Selector {
   public:
    virtual ~Selector() = default;
    virtual bool allowC2P(TensorView* from, TensorView* to) = 0;
    virtual bool allowP2C(TensorView* from, TensorView* to) = 0;
    virtual bool allowSibling(TensorView* from, TensorView* to) = 0;
  };
  /// Visits the edges of the tree, each after the edge that reached `from`.
  class Propagator {
   public:
    virtual ~Propagator() = default;
    virtual void setUp() {}
    virtual void tearDown() {}
    virtual void propagateC2P(TensorView* from, TensorView* to) = 0;
    virtual void propagateP2C(TensorView* from, TensorView* to) = 0;
    virtual void propagateSibling(TensorView* from, TensorView* to) = 0;
  };
  virtual ~MaxInfoSpanningTree() = default;

  void traverse(Propagator* propagator);

 protected:
  enum class Edge : uint8_t { Sibling, ConsumerToProducer, ProducerToConsumer };
  struct Hop {
    TensorView* from;
    TensorView* to;
    Edge edge;
  };
  /// The edges of the tree in the order of its growth.
  virtual std::vector<Hop> grow() const = 0;

 private:
  std::vector<Hop> path_;
  bool is_grown_ = false;
};

/// Information is which of the reference's logical axes (behind its first `reference_pos` loop
/// axes) a tensor still has, and whether in full. Tensors where none of them arrives are not
/// visited.
class MaxLogicalDomainInfoSpanningTree : public MaxInfoSpanningTree {
 public:
  explicit MaxLogicalDomainInfoSpanningTree(TensorView* reference, Selector* selector = nullptr,
                                            bool propagate_through_resize = true);
  MaxLogicalDomainInfoSpanningTree(TensorView* reference, int64_t reference_pos,
                                   Selector* selector = nullptr,
                                   bool propagate_through_resize = true);

 protected:
  std::vector<Hop> grow() const override;

 private:
  TensorView* reference_;
  int64_t reference_pos_;
  Selector* selector_;
  bool through_resize_;
};

/// Allows edges to a set of tensors.
class SetSelector : public MaxInfoSpanningTree::Selector {
 public:
  explicit SetSelector(std::unordered_set<TensorView*> selected) : selected_(std::move(selected)) {}
  bool allowC2P(TensorView*, TensorView* to) override { return selected_.count(to) != 0; }
  bool allowP2C(TensorView*, TensorView* to) override { return selected_.count(to) != 0; }
  bool allowSibling(TensorView*, TensorView*) override { return true; }
  const std::unordered_set<TensorView*>& selected() const { return selected_; }

 private:
  std::unordered_set<TensorView*> selected_;
};

}  // namespace nvfuser
