/// A random program while it is drawn: its Fusion is built alongside, so that the sizes and dtypes
/// of all values are known. The kinds of calls are in files of their own (draw_pointwise.cpp,
/// draw_shapes.cpp, draw_reductions.cpp); draw_program.cpp chooses among them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fuzz/library/build.h>
#include <fuzz/library/draw.h>
#include <fuzz/library/draw_program.h>
#include <fuzz/library/program.h>
#include <ir/internal_base_nodes.h>

namespace nvfuser::fuzz {

class Drawer {
 public:
  Drawer(uint64_t seed, Focus focus);
  Program run();

 private:
  struct Known {
    int64_t id;
    double bound;  ///< of integers, in exact mode
  };

  bool isExact() const { return program_.mode == ValueMode::Exact; }
  const Value& of(int64_t id) const { return builder_.at(id); }
  const std::vector<int64_t>& sizes(int64_t id) const { return of(id).sizes; }
  DataType dtype(int64_t id) const { return of(id).val->dtype(); }
  int64_t rank(int64_t id) const { return static_cast<int64_t>(sizes(id).size()); }
  static double count(const std::vector<int64_t>& all) {
    double product = 1;
    for (int64_t size : all) {
      product *= static_cast<double>(size);
    }
    return product;
  }
  bool isFloat(int64_t id) const { return isFloatingPointType(dtype(id)); }
  bool isWhole(int64_t id) const { return isIntegralType(dtype(id)); }
  const IterDomain* axis(int64_t id, int64_t i) const {
    return TensorDomain::noReductions(
        of(id).val->as<TensorView>()->getLogicalDomain())[static_cast<size_t>(i)];
  }
  bool isBroadcast(int64_t id, int64_t i) const {
    return axis(id, i)->isBroadcast() && !axis(id, i)->hasExpandedExtent();
  }

  // ---- values ----
  /// A new input of these sizes, broadcast where it says so (of size 1).
  int64_t newInput(const std::vector<int64_t>& shape, std::vector<bool> broadcast = {},
                   std::optional<DataType> wanted = {});
  /// Indices below a number.
  int64_t newIndex(const std::vector<int64_t>& shape, int64_t below);
  /// Recent values are likelier.
  int64_t pick();
  template <typename Condition>
  int64_t pickWhere(const Condition& condition) {
    std::vector<int64_t> found;
    for (const Known& known : known_) {
      if (condition(known.id)) {
        found.push_back(known.id);
      }
    }
    return found.empty() ? -1
                         : found[static_cast<size_t>(
                               std::max(draw_.number(0, static_cast<int64_t>(found.size()) - 1),
                                        draw_.number(0, static_cast<int64_t>(found.size()) - 1)))];
  }
  double bound(int64_t id) const;
  /// Whether two tensors go together element by element.
  bool fits(int64_t a, int64_t b) const;
  /// Whether `a` can be expanded to the shape of `b`: only axes of one element stretch.
  bool stretches(int64_t a, int64_t b) const;
  bool fit(const Argument& a, const Argument& b) const {
    return a.kind != Argument::Kind::Value || b.kind != Argument::Kind::Value ||
           fits(a.integer, b.integer);
  }
  /// Something that goes with `a`.
  Argument partner(int64_t a);
  Argument scalarOperand(int64_t a);
  bool isWholeOperand(const Argument& argument) const;
  double boundOf(const Argument& argument) const;
  /// Whether a result of the call that is unsigned may be that of a number below zero.
  bool mayWrap(const Call& call) const;

  // ---- calls ----
  /// Adds a call with `results` results; false where the front end refuses it. `limit`: what its
  /// results are at most, in exact mode.
  bool try_(Call call, double limit, int64_t results = 1);
  void addCall();
  std::string pointwiseName(int arity, int64_t a);
  void addUnary();
  void addBinary();
  void addTernary();
  void addCast();
  void addBroadcast();
  void addOuter(int64_t a);
  void addPermute();
  void addReshape();
  void addResize();
  void addIndexing();
  void addScatter(int64_t a, int64_t dim);
  int64_t indexOfOwn(int64_t source, int64_t dim, int64_t size);
  std::vector<int64_t> someAxes(int64_t n);
  void addReduction();
  void addScan(int64_t a);
  void addComposite();
  void addRandom();
  void chooseOutputs();

  const Focus focus_;
  Draw draw_;
  Program program_;
  Builder builder_;
  std::vector<Known> known_;
  int64_t next_ = 0;
  double elements_ = 2000;
  bool broken_ = false;
};

}  // namespace nvfuser::fuzz
