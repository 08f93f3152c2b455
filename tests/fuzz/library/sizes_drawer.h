/// A program of `Focus::Sizes` while it is drawn. Sizes are those of its calls by shapes.h, one
/// table for each; the Fusion is built alongside, to know what the front end takes and which dtypes
/// come out. (drawer.h has the other programs.)
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fuzz/library/build.h>
#include <fuzz/library/draw.h>
#include <fuzz/library/shapes.h>

namespace nvfuser::fuzz {

class SizesDrawer {
 public:
  /// (The numbers of neighbouring seeds are each other's, one place further: those of a number
  /// drawn from the seed are not.)
  explicit SizesDrawer(uint64_t seed);
  Program run();

 private:
  using Sizes = std::vector<int64_t>;

  // ---- arguments of all calls ----
  /// An axis' length in each call.
  Sizes drawLength(size_t calls);
  void addInput();
  /// Mostly one that fits the declaration, but for axes without a second element.
  void drawLayout(Input& input);
  void addScalar();

  // ---- values ----
  const Sizes& of(int64_t id) const { return shapes_[0].of(id); }
  int64_t rank(int64_t id) const;
  DataType dtype(int64_t id) const { return builder_.at(id).val->dtype(); }
  void know(int64_t id, double bound);
  int64_t pick();
  /// A scalar of the fusion, or a number.
  Argument number(std::initializer_list<int64_t> some);
  /// The extent of an axis of some tensor, as a scalar.
  Argument extent();
  static Argument list(std::vector<Argument> items);

  // ---- calls ----
  /// Adds a call with `results` results. Not where the front end does not take it, where it becomes
  /// large, or where no call would be left that gives a result.
  bool try_(Call call, double bound = 4, int64_t results = 1);
  /// Up to which all integers are numbers of the dtype.
  static double largest(DataType dtype);
  void addCall();
  /// Whether one of two tensors is stretched, in call 0 or in one that has other sizes.
  bool isStretched(int64_t a, int64_t b) const;
  void addBinary(int64_t a);
  void addSlice(int64_t a);
  void addReshape(int64_t a);
  void addPad(int64_t a);
  void addExpand(int64_t a);
  void addCat(int64_t a);
  void addChunk(int64_t a);
  void addNew();
  void addSqueeze(int64_t a);
  void addSum(int64_t a);
  /// All that nobody reads.
  void chooseOutputs();
  /// Results that are written to inputs of their sizes.
  void chooseUpdates();

  Draw draw_;
  Program program_;
  Builder builder_{false, /*sized=*/false};
  std::vector<Shapes> shapes_;  ///< of each call
  std::vector<Sizes> lengths_;  ///< each in each call
  std::vector<int64_t> tensors_;
  std::vector<int64_t> scalars_;
  std::map<int64_t, double> bounds_;
  int64_t next_ = 0;
  bool is_broken_ = false;
};

}  // namespace nvfuser::fuzz
