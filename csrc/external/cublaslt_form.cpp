#include <external/cublaslt_form.h>

#include <utility>

namespace nvfuser::external::cublaslt {

namespace {

std::optional<Operand> operand(int64_t rows, int64_t columns, int64_t row_stride,
                               int64_t column_stride) {
  if ((row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1)) {
    return Operand{rows, columns, columns == 1 ? rows : column_stride, false};
  }
  if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) {
    return Operand{columns, rows, rows == 1 ? columns : row_stride, true};
  }
  return std::nullopt;
}

/// C with its columns side by side in memory: where its rows are, the transposed product.
Product rowMajor(Product p) {
  if (p.c_column == 1 || p.n == 1) {
    return p;
  }
  std::swap(p.m, p.n);
  std::swap(p.a, p.b);
  std::swap(p.a_row, p.b_column);
  std::swap(p.a_column, p.b_row);
  std::swap(p.c_row, p.c_column);
  for (Product::Batch& batch : p.batches) {
    std::swap(batch.a, batch.b);
  }
  return p;
}

}  // namespace

std::optional<Kinds> kindsOf(DataType dtype) {
  switch (dtype.type) {
    case PrimDataType::Half:
      return Kinds{R_16F, Compute32F, R_32F};
    case PrimDataType::BFloat16:
      return Kinds{R_16BF, Compute32F, R_32F};
    case PrimDataType::Float:
      return Kinds{R_32F, Compute32F, R_32F};
    case PrimDataType::Double:
      return Kinds{R_64F, Compute64F, R_64F};
    case PrimDataType::ComplexFloat:
      return Kinds{C_32F, Compute32F, C_32F};
    case PrimDataType::ComplexDouble:
      return Kinds{C_64F, Compute64F, C_64F};
    default:
      return std::nullopt;
  }
}

std::optional<Form> formOf(const Product& given, std::string* why) {
  const auto kinds = kindsOf(given.dtype);
  if (!kinds) {
    *why = text("cuBLASLt has no products of ", dataTypeName(given.dtype));
    return std::nullopt;
  }
  const Product p = rowMajor(given);
  const auto a = operand(p.n, p.k, p.b_column, p.b_row);
  const auto b = operand(p.k, p.m, p.a_column, p.a_row);
  const auto d = operand(p.n, p.m, p.c_column, p.c_row);
  if (p.k == 0) {
    *why = "nothing is summed";
    return std::nullopt;
  }
  if (!a || !b || !d || d->transposed) {
    *why = "cuBLASLt takes matrices whose rows or columns lie side by side";
    return std::nullopt;
  }
  const Form form{given, p, *kinds, *a, *b, *d};
  const bool is_turned = p.m != given.m || p.a != given.a;
  if (given.bias != nullptr && (is_turned || (given.bias_step != 1 && given.n != 1))) {
    *why = "cuBLASLt adds a dense bias to row-major results only";
    return std::nullopt;
  }
  if (given.end != Epilogue::None && form.isWide()) {
    *why = text("cuBLASLt ends no products of ", dataTypeName(given.dtype), " with a function");
    return std::nullopt;
  }
  if (given.dtype != DataType::Float &&
      (given.end == Epilogue::TanhGelu || given.bias_is_epilogue)) {
    *why = "cuBLASLt does not round a product before its epilogue";
    return std::nullopt;
  }
  return form;
}

}  // namespace nvfuser::external::cublaslt
