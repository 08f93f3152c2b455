/// What sizes a call's results have, by PyTorch's rules for the sizes at hand: the oracle of
/// programs whose sizes vary. It knows nothing of a Fusion's axes; what has one element stretches,
/// whether that was declared or came out so.
///
///   v0 [5]   v1 [1]   v2 4
///   v3 = slice(v0, start_indices=[v2], end_indices=[9])      [1]
///   v4 = add(v3, v1)                                         [1]
///   v5 = add(v0, v4)                                         [5]
///   v6 = reshape(v0, [2, -1])                                refused: 5 elements in rows of 2
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fuzz/library/program.h>

namespace nvfuser::fuzz {

/// The number of elements of a tensor of these sizes.
int64_t elementsOf(const std::vector<int64_t>& sizes);

class Shapes {
 public:
  /// Adds an input with the sizes of this call; `declared` has those of the first one.
  void add(const Input& declared, const Input& input);
  void add(const ScalarInput& scalar);
  /// Adds the results of an operation. What comes behind something that is refused has none.
  void add(const Call& call);
  /// A result of other sizes, or an input of which elements share memory, is refused.
  void add(const Update& update);

  /// Why PyTorch would raise, or the declaration forbids the call; empty: there are results.
  const std::string& refused() const { return refused_; }
  /// Whether the inputs lie in memory as they are declared to, axes without a second element aside.
  /// Where they do not, a refusal is as good as the result.
  bool fitsLayout() const { return fits_layout_; }

  bool isTensor(int64_t id) const { return tensors_.count(id) != 0; }
  const std::vector<int64_t>& of(int64_t id) const { return tensors_.at(id); }
  /// A scalar of the call.
  int64_t number(const Argument& argument) const;
  std::vector<int64_t> numbers(const Argument& list) const;

 private:
  std::vector<int64_t> asked(const Argument& list);
  void refuse(std::string why);
  std::vector<int64_t> padded(std::vector<int64_t> sizes, const std::vector<int64_t>& widths);
  std::vector<int64_t> joined(const Argument& list, int64_t dim);
  std::vector<int64_t> reshaped(const std::vector<int64_t>& sizes, std::vector<int64_t> shape);
  std::vector<int64_t> expanded(const std::vector<int64_t>& sizes, std::vector<int64_t> shape,
                                const std::vector<int64_t>& places);

  std::map<int64_t, std::vector<int64_t>> tensors_;
  std::map<int64_t, double> scalars_;
  std::string refused_;
  bool fits_layout_ = true;
  std::set<int64_t> overlapping_;  ///< inputs of which elements share memory
};

/// Those of call `call`, from 0.
Shapes shapesOf(const Program& program, size_t call);

/// The shape that tensors are stretched to when they meet; empty `why`: they fit.
std::vector<int64_t> stretched(const std::vector<std::vector<int64_t>>& shapes, std::string* why);
/// The argument of that name, else the one at that position; null: it is not given.
const Argument* argumentOf(const Call& call, std::string_view name, size_t position);
/// Python's meaning of the bounds: which elements x[start:end] has, as (first, how many).
std::pair<int64_t, int64_t> pythonRange(int64_t size, int64_t start, int64_t end);

}  // namespace nvfuser::fuzz
