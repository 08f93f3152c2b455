// Operations along an axis that need all of its elements in order.
#include "aten/library.h"
#include <evaluator/element_codec.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// Numbers that ATen compares and adds; of others it has memory only.
bool isComputed(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Half:
    case PrimDataType::BFloat16:
    case PrimDataType::Float:
    case PrimDataType::Double:
    case PrimDataType::Char:
    case PrimDataType::Short:
    case PrimDataType::Int32:
    case PrimDataType::Int:
    case PrimDataType::Byte:
      return true;
    default:
      return false;
  }
}

bool declineDtype(const external::Call& call) {
  return declined(call, text("PyTorch has no ", external::operationName(call.op), " of ",
                             call.input(0).dtype, "; cast it"));
}

/// The axis's first `count` elements, or those from there on.
AtenTensor part(const AtenProgram& aten, const AtenTensor& of, size_t axis, int64_t begin,
                int64_t count) {
  std::vector<int64_t> sizes(of.sizes().begin(), of.sizes().end());
  const int64_t stride = of.strides()[axis];
  sizes[axis] = count;
  return aten.view(of, sizes, of.strides(), begin * stride);
}

/// The elements from the axis's end to its beginning, in memory of their own.
AtenTensor flipped(const AtenProgram& aten, const AtenTensor& of, int64_t axis, DataType dtype) {
  AtenTensor turned = aten.empty(of.sizes(), dtype);
  const std::vector<int64_t> axes{axis};
  aten.run("aten::flip", "out", {of, axes, turned});
  return turned;
}

}  // namespace

bool runArgsort(const AtenProgram& aten) {
  const auto* op = aten.call().op->as<ArgsortOp>();
  const TensorRef& in = aten.call().input(0);
  if (!isComputed(in.dtype) && in.dtype != DataType::Bool) {
    return declineDtype(aten.call());
  }
  const AtenTensor values = aten.empty(in.sizes, in.dtype);
  aten.run("aten::sort", "values_stable",
           {aten.operand(0), some(true), op->dim(), op->isDescending(), values, aten.result(0)},
           "TT");
  return true;
}

bool runTopK(const AtenProgram& aten) {
  const auto* op = aten.call().op->as<TopKOp>();
  if (!isComputed(aten.call().input(0).dtype)) {
    return declineDtype(aten.call());
  }
  const auto k = aten.call().scalar(1).as<int64_t>();
  aten.run("aten::topk", "values",
           {aten.operand(0), k, op->dim(), op->isLargest(), true, aten.result(0), aten.result(1)},
           "TT");
  return true;
}

bool runScan(const AtenProgram& aten) {
  const external::Call& call = aten.call();
  const auto* op = call.op->as<ScanOp>();
  const TensorRef& in = call.input(0);
  const DataType dtype = in.dtype;
  using enum BinaryOpType;
  const BinaryOpType type = op->scanType();
  const bool is_order = type != Add && type != Mul;
  if (!isComputed(dtype) && (is_order || !isComplexType(dtype))) {
    return declineDtype(call);
  }
  if ((type == FMax || type == FMin) && !isIntegralType(dtype)) {
    return declined(call, "PyTorch's cummax and cummin do not pass over NaN");
  }
  // A GPU would round each sum of Half to Half, the CPU holds it in Float.
  const bool is_narrow = dtype == DataType::Half || dtype == DataType::BFloat16;
  const bool is_widened = aten.isOnCuda() && is_narrow && !is_order;
  const DataType sum_dtype = is_widened ? DataType(DataType::Float) : dtype;
  const auto scan = [&](const AtenTensor& from, const AtenTensor& to) {
    if (is_order) {
      const AtenTensor indices = aten.empty(to.sizes(), DataType::Int);
      const bool is_max = type == Max || type == FMax;
      aten.run(is_max ? "aten::cummax" : "aten::cummin", "out", {from, op->dim(), to, indices},
               "TT");
    } else {
      aten.run(type == Add ? "aten::cumsum" : "aten::cumprod", "out",
               {from, op->dim(), some(sum_dtype), to});
    }
  };
  const bool is_backward = op->isBackward() && in.rank() > 0;
  if (call.inputs.size() == 1) {
    if (!is_widened && !is_backward) {
      scan(aten.operand(0), aten.result(0));
      return true;
    }
    const AtenTensor sums = aten.empty(in.sizes, sum_dtype);
    if (is_backward) {
      scan(flipped(aten, aten.operand(0), op->dim(), dtype), sums);
      aten.copy(aten.result(0), flipped(aten, sums, op->dim(), sum_dtype));
    } else {
      scan(aten.operand(0), sums);
      aten.copy(aten.result(0), sums);
    }
    return true;
  }
  // The initial value is one more element in front.
  if (in.rank() == 0) {
    return declined(call, "PyTorch scans no single element behind an initial value");
  }
  const auto axis = static_cast<size_t>(op->dim());
  std::vector<int64_t> longer = in.sizes;
  ++longer[axis];
  const AtenTensor all = aten.empty(longer, dtype);
  aten.fill(part(aten, all, axis, 0, 1), call.scalar(1));
  const AtenTensor behind = part(aten, all, axis, 1, in.sizes[axis]);
  aten.copy(behind,
            is_backward ? flipped(aten, aten.operand(0), op->dim(), dtype) : aten.operand(0));
  const AtenTensor sums = aten.empty(longer, sum_dtype);
  scan(all, sums);
  const AtenTensor found = part(aten, sums, axis, 1, in.sizes[axis]);
  aten.copy(aten.result(0),
            is_backward ? flipped(aten, found, op->dim(), sum_dtype) : aten.another(found));
  return true;
}

}  // namespace nvfuser::python
