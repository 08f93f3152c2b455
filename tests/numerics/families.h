/// The families of fusions that programs are made of, as data: each defined once for all sizes,
/// with the number of kernels that it makes. families.cpp runs them.
#pragma once

#include <string>
#include <vector>

#include "automatic.h"

namespace nvfuser::families {

using automatic::Input;
using automatic::output;

struct Family {
  std::string name;
  /// Kernels of a call, on the CPU and on a GPU, wherever rows fit the chip; a library's
  /// operations are not counted.
  size_t on_cpu = 1;
  size_t on_gpu = 1;
  std::function<void(Fusion&, DataType)> define;
  /// Inputs for `batch` rows of `hidden` elements.
  std::function<std::vector<Input>(int64_t batch, int64_t hidden, DataType)> inputs;
};

/// Element by element; families_pointwise.cpp.
std::vector<Family> pointwise();
/// Sums, normalisations, softmax, losses; families_rows.cpp.
std::vector<Family> rows();
/// Elements that go elsewhere: transposes, rotary embeddings, joins, tables, products;
/// families_moves.cpp.
std::vector<Family> moves();

// ---- what definitions are made of

inline TensorView* given(Fusion& fusion, int64_t rank, DataType dtype) {
  return automatic::input(fusion, rank, dtype);
}
/// An input, computed with in Float.
inline TensorView* wide(Fusion& fusion, int64_t rank, DataType dtype) {
  return castOp(DataType::Float, given(fusion, rank, dtype));
}
inline Val* number(double value) { return IrBuilder::create<Val>(value); }
inline Val* whole(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }
/// `tv` with `count` broadcast axes in front.
inline TensorView* behind(TensorView* tv, size_t count) {
  std::vector<bool> is_new(count + TensorDomain::noReductions(tv->getLogicalDomain()).size(),
                           false);
  std::fill_n(is_new.begin(), count, true);
  return broadcast(tv, is_new);
}

}  // namespace nvfuser::families
