// Products of matrices: those that cuBLASLt leaves, with scales, and of groups.
#include <optional>

#include "aten/library.h"
#include <external/product.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

bool isFloat8(DataType dtype) {
  return dtype == DataType::Float8_e4m3fn || dtype == DataType::Float8_e5m2;
}

/// The dtype in which products of another are exact, or as the definition rounds them; none where
/// PyTorch has no such product.
std::optional<DataType> productDtype(const AtenProgram& aten, DataType dtype, int64_t summed) {
  switch (dtype.type) {
    case PrimDataType::Float8_e4m3fn:
    case PrimDataType::Float8_e5m2:
      return DataType::Float;
    case PrimDataType::Char:
    case PrimDataType::Byte:
    case PrimDataType::Short:
      // Of 32 bits at most each: exact in the 53 of Double.
      return summed < (int64_t{1} << 21) ? std::optional<DataType>(DataType::Double) : std::nullopt;
    case PrimDataType::Int32:
    case PrimDataType::Int:
      return aten.isOnCuda() ? std::nullopt : std::optional(dtype);
    case PrimDataType::Half:
    case PrimDataType::BFloat16:
    case PrimDataType::Float:
    case PrimDataType::Double:
    case PrimDataType::ComplexFloat:
    case PrimDataType::ComplexDouble:
      return dtype;
    default:
      return std::nullopt;
  }
}

/// What is done to a finished product, each number by itself.
AtenTensor ended(const AtenProgram& aten, AtenTensor product) {
  const external::Call& call = aten.call();
  if (call.added_bias) {
    product = aten.sum(product, aten.at(*call.added_bias));
  }
  if (call.epilogue == Epilogue::Relu) {
    aten.run("aten::relu_", "", {product});
  } else if (call.epilogue == Epilogue::TanhGelu) {
    aten.run("aten::gelu_", "", {product, std::string_view("tanh")});
  }
  return product;
}

/// A matrix [rows] or [rows, 1] of scales as [rows, 1], or along columns; one number stays one.
AtenTensor alongAxis(const AtenProgram& aten, const TensorRef& scale, bool is_of_rows) {
  TensorRef lying = scale;
  const int64_t count = scale.numel();
  int64_t step = 0;
  for (size_t axis = 0; axis < scale.sizes.size(); ++axis) {
    step = scale.sizes[axis] > 1 ? scale.strides[axis] : step;
  }
  lying.sizes = is_of_rows ? std::vector<int64_t>{count, 1} : std::vector<int64_t>{1, count};
  lying.strides = is_of_rows ? std::vector<int64_t>{step, 1} : std::vector<int64_t>{1, step};
  return aten.at(lying);
}

/// Operands in Float times their scales.
AtenTensor scaled(const AtenProgram& aten, size_t operand, std::optional<size_t> scale,
                  bool is_of_rows) {
  AtenTensor wide = aten.as(aten.operand(operand), DataType::Float);
  if (!scale) {
    return wide;
  }
  return aten.one("aten::mul", "Tensor",
                  {wide, alongAxis(aten, aten.call().input(*scale), is_of_rows)});
}

/// Whether the matrix units take it: Float8, rows of a and columns of b side by side, in steps of
/// 16 numbers.
bool isForMatrixUnits(const AtenProgram& aten, const ScaledProductPlaces& places) {
  const external::Call& call = aten.call();
  const TensorRef &a = call.input(0), &b = call.input(1), &c = call.outputs.at(0);
  const auto is_step = [](int64_t number) { return number % 16 == 0; };
  const bool are_matrices = isFloat8(a.dtype) && isFloat8(b.dtype) &&
                            !(a.dtype == DataType::Float8_e5m2 && b.dtype == a.dtype) &&
                            a.strides[1] == 1 && b.strides[0] == 1 && is_step(a.strides[0]) &&
                            is_step(b.strides[1]) && is_step(a.sizes[1]) && is_step(b.sizes[1]) &&
                            a.numel() > 0 && b.numel() > 0;
  const bool are_numbers = places.scale1 && places.scale2 &&
                           call.input(*places.scale1).numel() == 1 &&
                           call.input(*places.scale2).numel() == 1;
  return aten.isOnCuda() && are_matrices && are_numbers && !places.alpha && !places.beta &&
         !places.bias && c.isContiguous() && c.dtype == DataType::BFloat16;
}

}  // namespace

bool runProduct(const AtenProgram& aten) {
  const external::Call& call = aten.call();
  const TensorRef& out = call.outputs.at(0);
  const external::Product product = external::productOf(call);  // sizes fit
  const auto dtype = productDtype(aten, out.dtype, product.k);
  if (!dtype || call.input(0).dtype != call.input(1).dtype) {
    return declined(call, text("PyTorch has no product of ", call.input(0).dtype, " and ",
                               call.input(1).dtype, " there; cast them to Double"));
  }
  const bool is_linear = call.op->isA<LinearOp>();
  const bool is_made_here = *dtype != out.dtype || call.hasEpilogue();
  const AtenTensor result = is_made_here ? aten.empty(out.sizes, *dtype) : aten.result(0);
  const AtenTensor a = aten.as(aten.operand(0), *dtype);
  const AtenTensor b = aten.as(aten.operand(1), *dtype);
  if (is_linear && call.input(1).rank() > 1) {
    AtenTensor bias;
    if (call.inputs.size() > 2) {
      bias = aten.as(aten.operand(2), *dtype);
    }
    aten.run("aten::linear", "out",
             {a, b, bias.handle() != nullptr ? some(bias) : AtenArgument(std::nullopt), result});
  } else if (is_linear && call.inputs.size() > 2) {
    return declined(call, "PyTorch's linear of a weight with one axis has no bias");
  } else {
    aten.run("aten::matmul", "out", {a, b, result});
  }
  if (!is_made_here) {
    return true;
  }
  // Numbers of few bits wrap as integers do.
  AtenTensor narrow = aten.another(result);
  if (isIntegralType(out.dtype) && *dtype == DataType::Double) {
    narrow = aten.converted(result, DataType::Int);
  }
  aten.give(0, ended(aten, aten.as(std::move(narrow), out.dtype)));
  return true;
}

bool runScaledProduct(const AtenProgram& aten) {
  const external::Call& call = aten.call();
  const ScaledProductPlaces places = call.op->as<ScaledMmaOp>()->places();
  for (const auto& scale : {places.scale1, places.scale2}) {
    const size_t side = scale == places.scale1 ? 0 : 1;
    const int64_t lines = call.input(side).sizes[side];
    if (scale && call.input(*scale).numel() != 1 && call.input(*scale).numel() != lines) {
      return false;  // one of blocks: the portable code says what is missing
    }
  }
  const TensorRef& out = call.outputs.at(0);
  if (isForMatrixUnits(aten, places)) {
    const AtenTensor scale_a = alongAxis(aten, call.input(*places.scale1), true);
    const AtenTensor scale_b = alongAxis(aten, call.input(*places.scale2), false);
    aten.run("aten::_scaled_mm", "out",
             {aten.operand(0), aten.operand(1), scale_a, scale_b, std::nullopt, std::nullopt,
              some(out.dtype), false, aten.result(0)});
    return true;
  }
  AtenTensor product =
      aten.one("aten::matmul", "",
               {scaled(aten, 0, places.scale1, true), scaled(aten, 1, places.scale2, false)});
  if (places.alpha) {
    product = aten.one("aten::mul", "Tensor",
                       {product, alongAxis(aten, call.input(*places.alpha), true)});
  }
  if (places.bias) {
    AtenTensor bias = aten.as(aten.operand(*places.bias), DataType::Float);
    if (places.beta) {
      const AtenTensor beta = alongAxis(aten, call.input(*places.beta), true);
      bias = aten.one("aten::mul", "Tensor", {bias, beta});
    }
    product = aten.sum(product, bias);
  }
  aten.give(0, std::move(product));
  return true;
}

bool runGroupedProduct(const AtenProgram& aten) {
  const external::Call& call = aten.call();
  const ScaledProductPlaces places = call.op->as<GroupedMmaOp>()->places();
  const TensorRef &a = call.input(0), &b = call.input(1), &out = call.outputs.at(0);
  const bool is_plain =
      !places.scale1 && !places.scale2 && !places.alpha && !places.bias && !places.beta;
  // ATen's kernel reads rows or columns that lie side by side, from addresses of 16 bytes.
  const auto lies_well = [](const TensorRef& tensor) {
    const auto rank = static_cast<size_t>(tensor.rank());
    const int64_t row = tensor.strides[rank - 2], column = tensor.strides[rank - 1];
    const int64_t width = dataTypeSizeByte(tensor.dtype);
    const auto is_aligned = [&](int64_t stride) { return stride * width % 16 == 0; };
    bool fits = (column == 1 && is_aligned(row)) || (row == 1 && is_aligned(column));
    fits = fits && (rank < 3 || is_aligned(tensor.strides[0]));
    return fits && reinterpret_cast<uintptr_t>(tensor.data) % 16 == 0;
  };
  if (!is_plain || a.dtype != DataType::BFloat16 || out.dtype != a.dtype || !lies_well(a) ||
      !lies_well(b) || a.numel() == 0 || b.numel() == 0) {
    return declined(call,
                    "PyTorch's _grouped_mm takes BFloat16 matrices without scales whose rows "
                    "begin at multiples of 16 bytes");
  }
  const AtenTensor offsets = aten.as(aten.operand(2), DataType::Int32);
  AtenTensor product =
      aten.one("aten::_grouped_mm", "",
               {aten.operand(0), aten.operand(1), some(offsets), std::nullopt, std::nullopt});
  if (out.rank() == 2) {  // what is behind the last group is zero
    const size_t axis = a.rank() == 3 ? 1 : 0;
    const int64_t groups = call.input(2).sizes[0], count = out.sizes[axis];
    const int32_t one = 1;
    const AtenTensor ones =
        aten.view(aten.element(&one, DataType::Int32), {&count, 1}, std::vector<int64_t>{0});
    const AtenTensor number =
        aten.one("aten::cumsum", "", {ones, int64_t{0}, some(DataType(DataType::Int32))});
    const AtenTensor last = aten.view(offsets, {}, {}, (groups - 1) * offsets.strides()[0]);
    const AtenTensor behind = aten.one("aten::gt", "Tensor", {number, last});
    const std::vector<int64_t> lying =
        axis == 0 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1};
    aten.run("aten::masked_fill_", "Tensor",
             {product, aten.view(behind, out.sizes, lying), aten.number(0.0, out.dtype)});
  }
  aten.give(0, std::move(product));
  return true;
}

}  // namespace nvfuser::python
