#include <external/product.h>

namespace nvfuser::external {

namespace {

/// A tensor as a matrix, with the axes before the last two as batches.
struct MatrixView {
  int64_t rows = 1, columns = 1;
  int64_t row_stride = 0, column_stride = 0;
  std::vector<int64_t> sizes, strides;  ///< of the batches
};

/// `has_rows`, `has_columns`: which of the last axes the tensor has.
MatrixView viewOf(const TensorRef& tensor, bool has_rows, bool has_columns) {
  MatrixView view;
  view.sizes = tensor.sizes;
  view.strides = tensor.strides;
  auto take = [&](int64_t& size, int64_t& stride) {
    size = view.sizes.back();
    stride = view.strides.back();
    view.sizes.pop_back();
    view.strides.pop_back();
  };
  if (has_columns) {
    take(view.columns, view.column_stride);
  }
  if (has_rows) {
    take(view.rows, view.row_stride);
  }
  return view;
}

int64_t strideAt(const MatrixView& view, size_t axis, size_t axes) {
  const size_t missing = axes - view.sizes.size();
  if (axis < missing || view.sizes[axis - missing] == 1) {
    return 0;
  }
  return view.strides[axis - missing];
}

void checkBatch(const Call& call, const MatrixView& view, const MatrixView& out) {
  const size_t missing = out.sizes.size() - view.sizes.size();
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    if (view.sizes[i] != 1 && view.sizes[i] != out.sizes[i + missing]) {
      userError(call.op->getOpString(), ": a batch of ", view.sizes[i], " does not go with one of ",
                out.sizes[i + missing], ", in ", call.op->toString(),
                "; sizes of 1 are broadcast, others have to be equal");
    }
  }
}

/// Batches that are just more rows of A.
void takeBatchesAsRows(Product& product) {
  if (product.m == 1 && !product.batches.empty() && product.batches.back().b == 0) {
    const Product::Batch rows = product.batches.back();
    product.batches.pop_back();
    product.m = rows.size;
    product.a_row = rows.a;
    product.c_row = rows.c;
  }
  while (!product.batches.empty()) {
    const Product::Batch& last = product.batches.back();
    if (last.b != 0 || last.a != product.m * product.a_row || last.c != product.m * product.c_row) {
      break;
    }
    product.m *= last.size;
    product.batches.pop_back();
  }
}

/// The third operand of a linear, or what an epilogue adds.
void takeBias(Product& product, const Call& call) {
  if (call.op->isA<LinearOp>() && call.inputs.size() > 2) {
    const TensorRef& bias = call.input(2);
    const int64_t length = bias.rank() == 0 ? 1 : bias.sizes[0];
    if (length != product.n) {
      userError("linear: the bias ", call.op->input(2)->toInlineString(), " has ", length,
                " elements for ", product.n, " columns; it needs one for each row of the weight");
    }
    product.bias = bias.data;
    product.dtype_bias = bias.dtype;
    product.bias_step = bias.rank() == 0 ? 0 : bias.strides[0];
  } else if (call.added_bias) {
    check(call.added_bias->numel() == product.n, "an epilogue's bias has a number for each column");
    product.bias = call.added_bias->data;
    product.dtype_bias = call.added_bias->dtype;
    product.bias_step = call.added_bias->strides.back();
    product.bias_is_epilogue = true;
  }
}

}  // namespace

int64_t Product::numBatches() const {
  int64_t all = 1;
  for (const Batch& batch : batches) {
    all *= batch.size;
  }
  return all;
}

bool Product::isPlain() const {
  return dtype_a == dtype && dtype_b == dtype && (bias == nullptr || dtype_bias == dtype) &&
         row_scale == nullptr && column_scale == nullptr && alpha == nullptr && beta == nullptr;
}

Product productOf(const Call& call) {
  const bool is_linear = call.op->isA<LinearOp>();
  const TensorRef& left = call.input(0);
  TensorRef right = call.input(1);
  const TensorRef& result = call.outputs.at(0);
  const bool has_rows = left.rank() > 1;
  const bool has_columns = right.rank() > 1;
  if (is_linear && has_columns) {
    std::swap(right.sizes[0], right.sizes[1]);
    std::swap(right.strides[0], right.strides[1]);
  }
  const MatrixView a = viewOf(left, has_rows, true);
  const MatrixView b = viewOf(right, true, has_columns);
  const MatrixView c = viewOf(result, has_rows, has_columns);
  if (a.columns != b.rows) {
    userError(call.op->getOpString(), ": ", a.columns, " elements of ",
              call.op->input(0)->toInlineString(), " [", join(left.sizes, ", "),
              "] would be multiplied with ", b.rows, " of ", call.op->input(1)->toInlineString(),
              " [", join(call.input(1).sizes, ", "), "]; both have to be equal");
  }
  if (!is_linear) {
    checkBatch(call, a, c);
    checkBatch(call, b, c);
  }
  Product product;
  product.m = a.rows;
  product.n = b.columns;
  product.k = a.columns;
  product.a = left.data;
  product.b = right.data;
  product.c = result.data;
  product.dtype = result.dtype;
  product.dtype_a = left.dtype;
  product.dtype_b = right.dtype;
  product.end = call.epilogue;
  product.a_row = a.row_stride;
  product.a_column = a.column_stride;
  product.b_row = b.row_stride;
  product.b_column = b.column_stride;
  product.c_row = c.row_stride;
  product.c_column = c.column_stride;
  for (size_t i = 0; i < c.sizes.size(); ++i) {
    if (c.sizes[i] != 1) {
      product.batches.push_back({c.sizes[i], strideAt(a, i, c.sizes.size()),
                                 strideAt(b, i, c.sizes.size()), c.strides[i]});
    }
  }
  takeBatchesAsRows(product);
  takeBias(product, call);
  return product;
}

}  // namespace nvfuser::external
