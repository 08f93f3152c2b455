// Elements, or whole rows, that go to places by an index.
#include <algorithm>
#include <complex>

#include "aten/library.h"
#include <evaluator/element_codec.h>
#include <evaluator/strided_loop.h>
#include <ir/index_error.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// The dtype as whose elements others are moved, bit by bit; sums of integers that wrap, too.
DataType movedAs(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Float8_e4m3fn:
    case PrimDataType::Float8_e5m2:
      return DataType::Byte;
    case PrimDataType::UInt16:
      return DataType::Short;
    case PrimDataType::UInt32:
      return DataType::Int32;
    case PrimDataType::UInt64:
      return DataType::Int;
    default:
      return dtype;
  }
}

TensorRef movedAs(TensorRef tensor) {
  tensor.dtype = movedAs(tensor.dtype);
  return tensor;
}

/// In memory of the host: an index that the axis does not have is an error of ours.
void requireInRange(const ScatterOp& op, TensorRef index, int64_t extent) {
  for (size_t axis = 0; axis < index.sizes.size(); ++axis) {
    index.sizes[axis] =
        index.strides[axis] == 0 ? std::min<int64_t>(index.sizes[axis], 1) : index.sizes[axis];
  }
  forEachRun<1>(
      index.sizes, {index.strides}, {0},
      [&](int64_t length, const std::array<int64_t, 1>& start, const std::array<int64_t, 1>& step) {
        for (int64_t i = 0; i < length; ++i) {
          const int64_t place = start[0] + i * step[0];
          const int64_t at = loadInteger(
              static_cast<const std::byte*>(index.data) + place * dataTypeSizeByte(index.dtype),
              index.dtype);
          if (at < 0 || at >= extent) {
            indexOutOfRange(op, at, extent);
          }
        }
      });
}

/// The index as ATen takes it. What is repeated stays so.
AtenTensor indexOf(const AtenProgram& aten, const TensorRef& index) {
  if (index.dtype == DataType::Int) {
    return aten.at(index);
  }
  TensorRef own = index;
  for (size_t axis = 0; axis < own.sizes.size(); ++axis) {
    own.sizes[axis] = own.strides[axis] == 0 ? 1 : own.sizes[axis];
  }
  const AtenTensor wide = aten.converted(aten.at(own), DataType::Int);
  std::vector<int64_t> strides(wide.strides().begin(), wide.strides().end());
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    strides[axis] = index.strides[axis] == 0 ? 0 : strides[axis];
  }
  return aten.view(wide, index.sizes, strides);
}

/// Whether all lines along `dim` have the same places: whole rows go there.
bool areRows(const TensorRef& index, size_t dim) {
  bool alike = index.sizes.size() > 1;
  for (size_t axis = 0; axis < index.sizes.size(); ++axis) {
    alike = alike && (axis == dim || index.strides[axis] == 0);
  }
  return alike;
}

/// With axis `dim` in front, as long as `sizes` along the others.
AtenTensor rowsOf(const AtenProgram& aten, const AtenTensor& tensor, size_t dim,
                  std::vector<int64_t> sizes) {
  std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  std::rotate(sizes.begin(), sizes.begin() + static_cast<int64_t>(dim),
              sizes.begin() + static_cast<int64_t>(dim) + 1);
  std::rotate(strides.begin(), strides.begin() + static_cast<int64_t>(dim),
              strides.begin() + static_cast<int64_t>(dim) + 1);
  return aten.view(tensor, sizes, strides);
}

class Scatter {
 public:
  explicit Scatter(const AtenProgram& aten)
      : aten_(aten),
        op_(*aten.call().op->as<ScatterOp>()),
        self_(movedAs(aten.call().input(0))),
        index_(aten.call().input(1)),
        dim_(static_cast<size_t>(op_.dim())) {}

  void run() const {
    const int64_t extent = self_.rank() == 0 ? 1 : self_.sizes[dim_];
    if (!aten_.isOnCuda()) {
      requireInRange(op_, index_, extent);
    }
    const DataType dtype = aten_.call().outputs.at(0).dtype;
    AtenTensor result = aten_.result(0);
    if (dtype != self_.dtype) {
      result = aten_.one("aten::view", "dtype", {result, self_.dtype});
    }
    const AtenTensor self = aten_.at(self_);
    if (index_.numel() == 0) {
      return aten_.copy(result, self);
    }
    const auto type = op_.accumulateOp();
    if (!type) {
      aten_.run("aten::scatter", "src_out",
                {self, op_.dim(), indexOf(aten_, index_), source(), result});
      return;
    }
    // Reduced precision is summed in Float and rounded once.
    const bool is_order = *type == BinaryOpType::Max || *type == BinaryOpType::Min;
    const bool is_narrow = self_.dtype == DataType::Half || self_.dtype == DataType::BFloat16;
    if (!is_narrow || is_order) {
      return accumulate(*type, self, source(), result);
    }
    const AtenTensor wide = aten_.empty(self_.sizes, DataType::Float);
    accumulate(*type, aten_.converted(self, DataType::Float),
               aten_.converted(source(), DataType::Float), wide);
    aten_.copy(result, wide);
  }

 private:
  /// As many elements as the index has.
  AtenTensor source() const {
    if (aten_.call().isScalar(2)) {
      std::complex<double> held;  // no element is wider
      storeElement(&held, aten_.call().outputs.at(0).dtype, aten_.call().scalar(2));
      return aten_.view(aten_.element(&held, self_.dtype), index_.sizes,
                        std::vector<int64_t>(index_.sizes.size(), 0));
    }
    TensorRef source = movedAs(aten_.call().input(2));
    source.sizes = index_.sizes;
    return aten_.at(source);
  }

  void accumulate(BinaryOpType type, const AtenTensor& self, const AtenTensor& source,
                  const AtenTensor& result) const {
    if (type != BinaryOpType::Add) {
      const std::string_view reduction = type == BinaryOpType::Mul   ? "prod"
                                         : type == BinaryOpType::Max ? "amax"
                                                                     : "amin";
      aten_.run("aten::scatter_reduce", "two_out",
                {self, op_.dim(), indexOf(aten_, index_), source, reduction, true, result});
      return;
    }
    if (!areRows(index_, dim_)) {
      aten_.run("aten::scatter_add", "out",
                {self, op_.dim(), indexOf(aten_, index_), source, result});
      return;
    }
    aten_.copy(result, self);
    TensorRef places = index_;
    places.sizes = {index_.sizes[dim_]};
    places.strides = {index_.strides[dim_]};
    std::vector<int64_t> table = index_.sizes;
    table[dim_] = self_.sizes[dim_];
    const AtenTensor of_rows = indexOf(aten_, places);
    const std::vector<const AtenTensor*> indices{&of_rows};
    aten_.run("aten::index_put_", "",
              {rowsOf(aten_, result, dim_, table), indices,
               rowsOf(aten_, source, dim_, index_.sizes), true});
  }

  const AtenProgram& aten_;
  const ScatterOp& op_;
  TensorRef self_;
  const TensorRef& index_;
  size_t dim_;
};

bool accumulates(BinaryOpType type, DataType dtype) {
  using enum BinaryOpType;
  const bool has_own = movedAs(dtype) == dtype;
  if (dtype == DataType::Bool) {
    return false;
  }
  if (isComplexType(dtype)) {
    return type == Add;
  }
  if (isIntegralType(dtype)) {
    return has_own || type == Add || type == Mul;  // they wrap alike with and without a sign
  }
  return has_own;
}

}  // namespace

bool runScatter(const AtenProgram& aten) {
  const external::Call& call = aten.call();
  const auto type = call.op->as<ScatterOp>()->accumulateOp();
  if (type && !accumulates(*type, call.outputs.at(0).dtype)) {
    return declined(call, text("PyTorch does not accumulate ", call.outputs.at(0).dtype,
                               " by an index; cast it"));
  }
  Scatter(aten).run();
  return true;
}

}  // namespace nvfuser::python
