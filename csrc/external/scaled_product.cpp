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

template <typename Op>
class ScaledProducts {
 public:
  explicit ScaledProducts(const Call& call) : call_(call), named_(call) {
    const auto* op = call.op->as<Op>();
    a_ = named_.strides(0, false);
    b_ = named_.strides(1, false);
    if constexpr (std::is_same_v<Op, GroupedMmaOp>) {
      named_.strides(2, false);
    }
    places_ = op->places();
    scale1_ = strides(places_.scale1);
    scale2_ = strides(places_.scale2);
    alpha_ = strides(places_.alpha);
    bias_ = strides(places_.bias);
    beta_ = strides(places_.beta);
    c_ = named_.strides(call.outputs.at(0), op->axesOfOutput(0), op->output(0), false);
  }

  int64_t size(char name) const { return named_.size(name); }
  bool outHasGroups() const { return c_.count('G') != 0; }
  int64_t strideOfOut(char name) const { return strideOf(c_, name); }

  /// What `group` does of the axis `name` between two places; without groups all of it.
  Product productOf(int64_t group, char name, int64_t begin, int64_t end) const {
    Product p;
    const TensorRef &a = call_.input(0), &b = call_.input(1), &c = call_.outputs.at(0);
    const auto at = [&](char axis) { return axis == name ? begin : 0; };
    const auto length = [&](char axis) { return axis == name ? end - begin : size(axis); };
    const auto place = [&](const std::map<char, int64_t>& s, std::string_view axes) {
      int64_t offset = strideOf(s, 'G') * group;
      for (char axis : axes) {
        offset += strideOf(s, axis) * at(axis);
      }
      return offset;
    };
    p.m = length('M');
    p.n = length('N');
    p.k = length('K');
    p.a = moved(a.data, place(a_, "MK"), a.dtype);
    p.b = moved(b.data, place(b_, "KN"), b.dtype);
    p.c = const_cast<void*>(moved(c.data, place(c_, "MN"), c.dtype));
    p.dtype = c.dtype;
    p.dtype_a = a.dtype;
    p.dtype_b = b.dtype;
    p.a_row = strideOf(a_, 'M');
    p.a_column = strideOf(a_, 'K');
    p.b_row = strideOf(b_, 'K');
    p.b_column = strideOf(b_, 'N');
    p.c_row = strideOf(c_, 'M');
    p.c_column = strideOf(c_, 'N');
    if (places_.scale1) {
      p.row_scale = numbers(*places_.scale1) + place(scale1_, "M");
      p.row_scale_step = strideOf(scale1_, 'M');
    }
    if (places_.scale2) {
      p.column_scale = numbers(*places_.scale2) + place(scale2_, "N");
      p.column_scale_step = strideOf(scale2_, 'N');
    }
    if (places_.alpha) {
      p.alpha = numbers(*places_.alpha)[place(alpha_, "")];
    }
    if (places_.bias) {
      const TensorRef& bias = call_.input(*places_.bias);
      p.bias = moved(bias.data, place(bias_, "N"), bias.dtype);
      p.dtype_bias = bias.dtype;
      p.bias_step = strideOf(bias_, 'N');
    }
    if (places_.beta) {
      p.beta = numbers(*places_.beta)[place(beta_, "")];
    }
    return p;
  }

 private:
  std::map<char, int64_t> strides(std::optional<size_t> place) {
    return place ? named_.strides(*place, true) : std::map<char, int64_t>{};
  }
  const float* numbers(size_t place) const {
    return static_cast<const float*>(call_.input(place).data);
  }

  const Call& call_;
  Named<Op> named_;
  ScaledProductPlaces places_;
  std::map<char, int64_t> a_, b_, c_, scale1_, scale2_, alpha_, bias_, beta_;
};

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

void runScaledProduct(const Call& call) {
  multiply(ScaledProducts<ScaledMmaOp>(call).productOf(0, 'K', 0, call.input(0).sizes[1]),
           *call.machine);
}

void runGroupedProduct(const Call& call) {
  const ScaledProducts<GroupedMmaOp> products(call);
  const TensorRef& offsets = call.input(2);
  const char grouped = call.input(0).rank() == 3 ? 'N' : call.input(1).rank() == 3 ? 'M' : 'K';
  int64_t begin = 0;
  for (int64_t group = 0; group < offsets.sizes[0]; ++group) {
    const int64_t end = static_cast<const int32_t*>(offsets.data)[group * offsets.strides[0]];
    if (end < begin || end > products.size(grouped)) {
      userError("grouped_mm: group ", group, " ends at ", end, ", but the one before at ", begin,
                " and all at ", products.size(grouped), "; offsets ascend up to that, in ",
                call.op->toString());
    }
    multiply(products.productOf(group, grouped, begin, end), *call.machine);
    begin = end;
  }
  if (!products.outHasGroups() && call.outputs.at(0).rank() == 2) {
    clearBehind(call.outputs.at(0), grouped == 'M' ? 0 : 1, begin);
  }
}

}  // namespace nvfuser::external
