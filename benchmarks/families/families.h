/// The fusions that are timed without a schedule, with the names that `peers.py` gives the same
/// formulas in PyTorch. One group of formulas a file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <fusion.h>
#include <ops/all_ops.h>
#include <support/text.h>

namespace benchmark {

struct Program {
  std::string name;
  std::function<void(nvfuser::Fusion&)> define;
  std::vector<std::vector<int64_t>> sizes;  ///< of the inputs
  nvfuser::DataType dtype;
  /// What takes the first size's place when the result is checked; 0: no size of an input is larger
  /// than `kMostWhenChecked`.
  int64_t rows_when_checked = 3;
  int64_t classes = 0;  ///< the last input is Int, of numbers below this; 0: it is like the others
};

constexpr int64_t kMostWhenChecked = 1030;
constexpr int64_t kMostOuterWhenChecked = 2;  ///< of the axes before the last two

/// All of them; on the CPU with a sixteenth of the rows.
std::vector<Program> families(bool gpu);

void addNorms(std::vector<Program>& all, std::vector<int64_t> sizes, nvfuser::DataType dtype);
void addNormGradients(std::vector<Program>& all, std::vector<int64_t> sizes,
                      nvfuser::DataType dtype);
/// Of images [N, C, H, W], and softmax over rows [R, C].
void addOuterNorms(std::vector<Program>& all, const std::vector<int64_t>& image,
                   std::vector<int64_t> sizes, nvfuser::DataType dtype);
void addSums(std::vector<Program>& all, std::vector<int64_t> sizes, nvfuser::DataType dtype);
void addTransposes(std::vector<Program>& all, std::vector<int64_t> sizes, nvfuser::DataType dtype);
void addActivations(std::vector<Program>& all, std::vector<int64_t> sizes, nvfuser::DataType dtype);
/// Norms behind a sum with the residual, also behind dropout.
void addResidualNorms(std::vector<Program>& all, std::vector<int64_t> sizes,
                      nvfuser::DataType dtype);
void addCrossEntropy(std::vector<Program>& all, std::vector<int64_t> sizes,
                     nvfuser::DataType dtype);
/// Of [batch, heads, positions, 2·half], and two such tensors joined.
void addRopeAndJoin(std::vector<Program>& all, std::vector<int64_t> sizes, nvfuser::DataType dtype);

// What the formulas are made of.
nvfuser::TensorView* input(nvfuser::Fusion& fusion, int64_t rank, nvfuser::DataType dtype);
void output(nvfuser::Fusion& fusion, nvfuser::TensorView* tv, nvfuser::DataType dtype);
/// In Float.
nvfuser::TensorView* wide(nvfuser::TensorView* tv);
nvfuser::Val* eps();

template <class Sizes>
std::string named(const char* what, const Sizes& sizes, nvfuser::DataType dtype) {
  return nvfuser::text(what, " ", nvfuser::join(sizes, "x"), " ", dtype);
}

}  // namespace benchmark
