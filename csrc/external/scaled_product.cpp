// Products with scales, and of groups: each group is a product of its own, whose tiles the threads
// share.
#include <map>

#include <external/elements.h>
#include <external/product.h>

namespace nvfuser::external {

namespace {

/// Sizes and strides of operands by the names that the expression gives to axes.
template <typename Op>
class Named {
 public:
  explicit Named(const Call& call) : call_(call), op_(call.op->as<Op>()) {}

  /// `stretches`: an axis of one element is read at 0 where others have more along it.
  std::map<char, int64_t> strides(size_t i, bool stretches) {
    return strides(call_.input(i), op_->axesOfInput(i), op_->input(i), stretches);
  }
  std::map<char, int64_t> strides(const TensorRef& tensor, std::string_view names, const Val* val,
                                  bool stretches) {
    std::map<char, int64_t> result;
    for (size_t axis = 0; names != "-" && axis < tensor.sizes.size(); ++axis) {
      const int64_t size = tensor.sizes[axis];
      const char name = names[axis];
      if (name == '1' && size != 1) {
        userError(op_->getOpString(), ": ", val->toInlineString(), " [", join(tensor.sizes, ", "),
                  "] has one number for ", size,
                  " blocks of what is summed over; that needs a GPU "
                  "of compute capability 10 or more, for which there is no code here");
      }
      if (name == '1' || (stretches && size == 1)) {
        continue;
      }
      const auto [found, is_new] = sizes_.emplace(name, size);
      check(found->second == size, "shape inference looked at the operands of the product");
      result[name] = tensor.strides[axis];
    }
    return result;
  }
  int64_t size(char name) const { return sizes_.at(name); }

 private:
  const Call& call_;
  const Op* op_;
  std::map<char, int64_t> sizes_;
};

int64_t strideOf(const std::map<char, int64_t>& strides, char name) {
  const auto found = strides.find(name);
  return found == strides.end() ? 0 : found->second;
}

const void* moved(const void* data, int64_t elements, DataType dtype) {
  return static_cast<const std::byte*>(data) + elements * dataTypeSizeByte(dtype);
}

/// Along all of each axis, of the first group.
template <typename Op>
GroupedProduct productsOf(const Call& call) {
  const auto* op = call.op->as<Op>();
  Named<Op> named(call);
  const TensorRef &a = call.input(0), &b = call.input(1), &c = call.outputs.at(0);
  const auto a_axes = named.strides(0, false), b_axes = named.strides(1, false);
  if constexpr (std::is_same_v<Op, GroupedMmaOp>) {
    named.strides(2, false);
  }
  const ScaledProductPlaces places = op->places();
  const auto strides = [&](std::optional<size_t> place) {
    return place ? named.strides(*place, true) : std::map<char, int64_t>{};
  };
  const auto numbers = [&](std::optional<size_t> place) {
    return place ? static_cast<const float*>(call.input(*place).data) : nullptr;
  };
  const auto scale1 = strides(places.scale1), scale2 = strides(places.scale2);
  const auto alpha = strides(places.alpha), bias = strides(places.bias);
  const auto beta = strides(places.beta);
  const auto c_axes = named.strides(c, op->axesOfOutput(0), op->output(0), false);
  GroupedProduct of;
  Product& p = of.all;
  p.m = named.size('M');
  p.n = named.size('N');
  p.k = named.size('K');
  p.a = a.data;
  p.b = b.data;
  p.c = c.data;
  p.dtype = c.dtype;
  p.dtype_a = a.dtype;
  p.dtype_b = b.dtype;
  p.a_row = strideOf(a_axes, 'M');
  p.a_column = strideOf(a_axes, 'K');
  p.b_row = strideOf(b_axes, 'K');
  p.b_column = strideOf(b_axes, 'N');
  p.c_row = strideOf(c_axes, 'M');
  p.c_column = strideOf(c_axes, 'N');
  p.row_scale = numbers(places.scale1);
  p.row_scale_step = strideOf(scale1, 'M');
  p.column_scale = numbers(places.scale2);
  p.column_scale_step = strideOf(scale2, 'N');
  p.alpha = numbers(places.alpha);
  p.beta = numbers(places.beta);
  if (places.bias) {
    const TensorRef& added = call.input(*places.bias);
    p.bias = added.data;
    p.dtype_bias = added.dtype;
    p.bias_step = strideOf(bias, 'N');
  }
  of.a = strideOf(a_axes, 'G');
  of.b = strideOf(b_axes, 'G');
  of.c = strideOf(c_axes, 'G');
  of.row_scale = strideOf(scale1, 'G');
  of.column_scale = strideOf(scale2, 'G');
  of.alpha = strideOf(alpha, 'G');
  of.bias = strideOf(bias, 'G');
  of.beta = strideOf(beta, 'G');
  return of;
}

/// Zeros in rows, or columns, from `begin` on: those of no group.
void clearBehind(const TensorRef& c, size_t axis, int64_t begin) {
  for (int64_t i = axis == 0 ? begin : 0; i < c.sizes[0]; ++i) {
    for (int64_t j = axis == 1 ? begin : 0; j < c.sizes[1]; ++j) {
      storeElement(const_cast<void*>(moved(c.data, i * c.strides[0] + j * c.strides[1], c.dtype)),
                   c.dtype, PolymorphicValue(0.0));
    }
  }
}

}  // namespace

Product GroupedProduct::of(int64_t group, int64_t begin, int64_t end) const {
  Product p = all;
  const int64_t m = axis == 'M' ? begin : 0;
  const int64_t n = axis == 'N' ? begin : 0;
  const int64_t k = axis == 'K' ? begin : 0;
  (axis == 'M' ? p.m : axis == 'N' ? p.n : p.k) = end - begin;
  const auto next = [&](const float* numbers, int64_t offset) {
    return numbers == nullptr ? nullptr : numbers + offset;
  };
  p.a = moved(p.a, a * group + m * p.a_row + k * p.a_column, p.dtype_a);
  p.b = moved(p.b, b * group + k * p.b_row + n * p.b_column, p.dtype_b);
  p.c = const_cast<void*>(moved(p.c, c * group + m * p.c_row + n * p.c_column, p.dtype));
  p.row_scale = next(p.row_scale, row_scale * group + m * p.row_scale_step);
  p.column_scale = next(p.column_scale, column_scale * group + n * p.column_scale_step);
  p.alpha = next(p.alpha, alpha * group);
  p.beta = next(p.beta, beta * group);
  if (p.bias != nullptr) {
    p.bias = moved(p.bias, bias * group + n * p.bias_step, p.dtype_bias);
  }
  return p;
}

Product scaledProductOf(const Call& call) { return productsOf<ScaledMmaOp>(call).all; }

GroupedProduct groupedProductOf(const Call& call) {
  GroupedProduct of = productsOf<GroupedMmaOp>(call);
  const TensorRef& offsets = call.input(2);
  of.axis = call.input(0).rank() == 3 ? 'N' : call.input(1).rank() == 3 ? 'M' : 'K';
  of.groups = offsets.sizes[0];
  of.ends = static_cast<const int32_t*>(offsets.data);
  of.ends_step = offsets.strides[0];
  return of;
}

void runScaledProduct(const Call& call) { multiply(scaledProductOf(call), *call.machine); }

void runGroupedProduct(const Call& call) {
  const GroupedProduct of = groupedProductOf(call);
  const int64_t length = of.axis == 'M' ? of.all.m : of.axis == 'N' ? of.all.n : of.all.k;
  int64_t begin = 0;
  for (int64_t group = 0; group < of.groups; ++group) {
    const int64_t end = of.ends[group * of.ends_step];
    if (end < begin || end > length) {
      userError("grouped_mm: group ", group, " ends at ", end, ", but the one before at ", begin,
                " and all at ", length, "; offsets ascend up to that, in ", call.op->toString());
    }
    multiply(of.of(group, begin, end), *call.machine);
    begin = end;
  }
  if (of.axis != 'K') {
    clearBehind(call.outputs.at(0), of.axis == 'M' ? 0 : 1, begin);
  }
}

}  // namespace nvfuser::external
