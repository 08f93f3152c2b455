#include <runtime/device_products.h>

#include <codegen/snippet_set.h>
#include <runtime/device_kernels.h>
#include <support/round.h>

namespace nvfuser {

namespace {

constexpr int64_t kProductTile = 64;
constexpr int64_t kProductThreads = 256;

/// As in runtime/strided_product.cuh.
struct ProductForm {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0, c_row = 0, c_column = 0;
  int64_t inner = 1, inner_a = 0, inner_b = 0, inner_c = 0;
  int64_t outer_a = 0, outer_b = 0, outer_c = 0;
  int64_t row_scale = 0, column_scale = 0, bias = 0;
  int64_t grouped = 0, groups = 0, ends_step = 0;
  int64_t group_row_scale = 0, group_column_scale = 0;
  int64_t group_alpha = 0, group_bias = 0, group_beta = 0;
  int64_t end = 0, rounds = 0;
};

std::string productSum(DataType dtype) {
  if (isIntegralType(dtype)) {
    return "u64";
  }
  return isComplexType(dtype) || dtype == DataType::Double ? *deviceTypeOf(dtype) : "float";
}

/// `types`: those of the sum, A, B, C and the bias.
std::string productText(const std::string& types) {
  codegen::SnippetSet snippets(Target::Cuda);
  for (const char* path :
       {"half.cuh", "bf16.cuh", "fp8.cuh", "complex.cuh", "strided_product.cuh"}) {
    snippets.add(path);
  }
  return snippets.text() + text(R"(
template <class SumOf, class AOf, class BOf, class COf, class BiasOf>
struct Types {
  using Sum = SumOf;
  using A = AOf;
  using B = BOf;
  using C = COf;
  using Bias = BiasOf;
};
using Given = Types<)",
                                types, R"(>;
extern "C" __global__ void __launch_bounds__(256) strided_product(const Given::A* a,
    const Given::B* b, Given::C* c, const float* row_scale, const float* column_scale,
    const float* alpha, const Given::Bias* bias, const float* beta, const i32* ends,
    ProductForm form) {
  stridedProduct<Given::Sum>(a, b, c, row_scale, column_scale, alpha, bias, beta, ends, form);
}
)");
}

ProductForm productForm(const external::Product& p) {
  ProductForm form;
  form.m = p.m;
  form.n = p.n;
  form.k = p.k;
  form.a_row = p.a_row;
  form.a_column = p.a_column;
  form.b_row = p.b_row;
  form.b_column = p.b_column;
  form.c_row = p.c_row;
  form.c_column = p.c_column;
  form.row_scale = p.row_scale_step;
  form.column_scale = p.column_scale_step;
  form.bias = p.bias_step;
  form.end = p.end == Epilogue::Relu ? 1 : p.end == Epilogue::TanhGelu ? 2 : 0;
  form.rounds = p.bias_is_epilogue ? 1 : 0;
  return form;
}

class ProductLaunch {
 public:
  ProductLaunch(const external::Product& p, Device& device, const RunContext& context)
      : p_(p), device_(device), context_(context) {
    const auto a = deviceTypeOf(p.dtype_a), b = deviceTypeOf(p.dtype_b), c = deviceTypeOf(p.dtype);
    const auto bias = deviceTypeOf(p.bias == nullptr ? p.dtype : p.dtype_bias);
    if (a && b && c && bias) {
      const std::string types =
          text(productSum(p.dtype), ", ", *a, ", ", *b, ", ", *c, ", ", *bias);
      kernel_ =
          deviceKernels(device, types, {"strided_product"}, productText).at("strided_product");
    }
  }
  bool hasKernel() const { return kernel_ != nullptr; }

  /// `offsets`: of A, B and C, in elements.
  void run(const ProductForm& form, int64_t batches, const int32_t* ends,
           const std::array<int64_t, 3>& offsets) const {
    LaunchShape shape;
    shape.block[0] = kProductThreads;
    shape.grid[0] = ceilDiv(form.m, kProductTile) * ceilDiv(form.n, kProductTile) * batches;
    if (shape.grid[0] == 0) {
      return;
    }
    const auto moved = [](const void* data, int64_t elements, DataType dtype) -> const void* {
      return static_cast<const std::byte*>(data) + elements * dataTypeSizeByte(dtype);
    };
    launchKernel(device_, *kernel_, shape, context_, moved(p_.a, offsets[0], p_.dtype_a),
                 moved(p_.b, offsets[1], p_.dtype_b), moved(p_.c, offsets[2], p_.dtype),
                 p_.row_scale, p_.column_scale, p_.alpha, p_.bias, p_.beta, ends, form);
  }

 private:
  const external::Product& p_;
  Device& device_;
  const RunContext& context_;
  std::shared_ptr<const LoadedKernel> kernel_;
};

}  // namespace

bool multiplyOnDevice(const external::Product& product, Device& device, const RunContext& context) {
  const ProductLaunch launch(product, device, context);
  if (!launch.hasKernel()) {
    return false;
  }
  ProductForm form = productForm(product);
  std::vector<external::Product::Batch> rest = product.batches;
  if (!rest.empty()) {
    form.inner = rest.back().size;
    form.inner_a = rest.back().a;
    form.inner_b = rest.back().b;
    form.inner_c = rest.back().c;
    rest.pop_back();
  }
  int64_t outer = 1;
  if (!rest.empty()) {
    outer = rest.back().size;
    form.outer_a = rest.back().a;
    form.outer_b = rest.back().b;
    form.outer_c = rest.back().c;
    rest.pop_back();
  }
  int64_t launches = 1;
  for (const external::Product::Batch& batch : rest) {
    launches *= batch.size;
  }
  for (int64_t i = 0; i < launches; ++i) {
    std::array<int64_t, 3> offsets{};
    int64_t at = i;
    for (size_t axis = rest.size(); axis-- > 0;) {
      const int64_t place = at % rest[axis].size;
      at /= rest[axis].size;
      offsets[0] += place * rest[axis].a;
      offsets[1] += place * rest[axis].b;
      offsets[2] += place * rest[axis].c;
    }
    launch.run(form, form.inner * outer, nullptr, offsets);
  }
  return true;
}

bool multiplyOnDevice(const external::GroupedProduct& product, Device& device,
                      const RunContext& context) {
  const ProductLaunch launch(product.all, device, context);
  if (!launch.hasKernel()) {
    return false;
  }
  ProductForm form = productForm(product.all);
  form.grouped = product.axis == 'M' ? 1 : product.axis == 'N' ? 2 : 3;
  form.groups = product.groups;
  form.ends_step = product.ends_step;
  form.inner = product.groups + (product.axis == 'K' ? 0 : 1);
  form.inner_a = product.a;
  form.inner_b = product.b;
  form.inner_c = product.c;
  form.group_row_scale = product.row_scale;
  form.group_column_scale = product.column_scale;
  form.group_alpha = product.alpha;
  form.group_bias = product.bias;
  form.group_beta = product.beta;
  launch.run(form, form.inner, product.ends, {});
  return true;
}

}  // namespace nvfuser
