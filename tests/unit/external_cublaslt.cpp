// The calls that cuBLASLt gets, through a table of functions of our own that does what the library
// would: so layouts, transpositions and batches are checked by their results.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <external/cublaslt.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/tensor.h>

namespace nvfuser {
namespace {

using namespace external::cublaslt;

struct FakeDesc {
  bool trans_a = false, trans_b = false;
  uint32_t epilogue = 0;
  const void* bias = nullptr;
};
struct FakeLayout {
  int type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batches = 1;
  int64_t stride = 0;
};
struct Seen {
  int products = 0;
  int objects = 0;  ///< made and not destroyed
  bool no_algorithm = false;
  std::vector<int32_t> parts{1};  ///< that each sum is cut into, by the algorithms proposed
  int32_t taken_parts = 0;
  bool bias_by_epilogue = false;
  size_t workspace = 0;
};
Seen seen;

template <typename T>
T valueOf(const void* value, size_t bytes) {
  REQUIRE(bytes == sizeof(T));
  T read{};
  std::memcpy(&read, value, sizeof read);
  return read;
}

Status create(Handle* handle) {
  *handle = &seen;
  return 0;
}
Status makeDesc(MatmulDesc* desc, int compute, int scale) {
  CHECK(compute == Compute32F);
  CHECK(scale == R_32F);
  ++seen.objects;
  *desc = new FakeDesc;
  return 0;
}
Status dropDesc(MatmulDesc desc) {
  --seen.objects;
  delete static_cast<FakeDesc*>(desc);
  return 0;
}
Status setDesc(MatmulDesc desc, int attribute, const void* value, size_t bytes) {
  auto* own = static_cast<FakeDesc*>(desc);
  switch (attribute) {
    case TransA:
      own->trans_a = valueOf<int32_t>(value, bytes) == 1;
      return 0;
    case TransB:
      own->trans_b = valueOf<int32_t>(value, bytes) == 1;
      return 0;
    case EpilogueKind:
      own->epilogue = valueOf<uint32_t>(value, bytes);
      return (own->epilogue & ~(kEpilogueBias | kEpilogueRelu | kEpilogueGelu)) == 0 ? 0 : 7;
    case BiasPointer:
      own->bias = valueOf<const void*>(value, bytes);
      return 0;
    default:
      return 7;
  }
}
Status makeLayout(Layout* layout, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  CHECK((ld == 0 || ld >= static_cast<int64_t>(rows)));
  ++seen.objects;
  *layout = new FakeLayout{type, rows, columns, ld};
  return 0;
}
Status dropLayout(Layout layout) {
  --seen.objects;
  delete static_cast<FakeLayout*>(layout);
  return 0;
}
Status setLayout(Layout layout, int attribute, const void* value, size_t bytes) {
  auto* own = static_cast<FakeLayout*>(layout);
  if (attribute == BatchCount) {
    own->batches = valueOf<int32_t>(value, bytes);
  } else {
    own->stride = valueOf<int64_t>(value, bytes);
  }
  return 0;
}
Status makePreference(Preference* preference) {
  ++seen.objects;
  *preference = new int;
  return 0;
}
Status dropPreference(Preference preference) {
  --seen.objects;
  delete static_cast<int*>(preference);
  return 0;
}
Status setPreference(Preference, int, const void*, size_t) { return 0; }
Status findAlgorithm(Handle, MatmulDesc, Layout, Layout, Layout, Layout, Preference, int most,
                     Heuristic* results, int* found) {
  *found = seen.no_algorithm ? 0 : std::min(most, static_cast<int>(seen.parts.size()));
  for (int i = 0; i < *found; ++i) {
    results[i].state = 0;
    results[i].workspace_bytes = 64;
    results[i].algorithm.data[0] = static_cast<uint64_t>(seen.parts[static_cast<size_t>(i)]);
  }
  return 0;
}
Status describeAlgorithm(const Algorithm* algorithm, int attribute, void* value, size_t bytes,
                         size_t*) {
  REQUIRE((attribute == PartsOfSum && bytes == sizeof(int32_t)));
  *static_cast<int32_t*>(value) = static_cast<int32_t>(algorithm->data[0]);
  return 0;
}
float readAt(const void* data, int type, int64_t i) {
  if (type == R_32F) {
    return static_cast<const float*>(data)[i];
  }
  REQUIRE(type == R_16BF);
  return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[i]} << 16);
}
void writeAt(void* data, int type, int64_t i, float value) {
  if (type == R_32F) {
    static_cast<float*>(data)[i] = value;
  } else {  // cut, not rounded: near enough for a comparison
    static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
}
float ended(float x, uint32_t epilogue) {
  if ((epilogue & kEpilogueRelu) != 0) {
    return std::max(x, 0.0f);
  }
  if ((epilogue & kEpilogueGelu) != 0) {
    return x / 2 * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
  }
  return x;
}
Status multiply(Handle, MatmulDesc desc, const void* alpha, const void* a, Layout of_a,
                const void* b, Layout of_b, const void* beta, const void* c, Layout of_c, void* d,
                Layout of_d, const Algorithm* algorithm, void* workspace, size_t bytes, void*) {
  seen.taken_parts = static_cast<int32_t>(algorithm->data[0]);
  CHECK(*static_cast<const float*>(alpha) == 1.0f);
  CHECK((workspace != nullptr) == (bytes > 0));
  ++seen.products;
  const auto* how = static_cast<const FakeDesc*>(desc);
  const auto* la = static_cast<const FakeLayout*>(of_a);
  const auto* lb = static_cast<const FakeLayout*>(of_b);
  const auto* lc = static_cast<const FakeLayout*>(of_c);
  const auto* ld = static_cast<const FakeLayout*>(of_d);
  const float times_c = *static_cast<const float*>(beta);
  // Only C may have columns that overlap, and what is not added is D itself.
  CHECK((la->ld > 0 && lb->ld > 0 && ld->ld > 0));
  CHECK((times_c == 1.0f || (times_c == 0.0f && c == d && of_c == of_d)));
  CHECK((how->bias != nullptr) == ((how->epilogue & kEpilogueBias) != 0));
  CHECK((lc->rows == ld->rows && lc->columns == ld->columns && lc->batches == ld->batches));
  const uint64_t depth = how->trans_a ? la->rows : la->columns;
  CHECK(depth == (how->trans_b ? lb->columns : lb->rows));
  CHECK(ld->rows == (how->trans_a ? la->columns : la->rows));
  CHECK(ld->columns == (how->trans_b ? lb->rows : lb->columns));
  auto at = [](const void* data, const FakeLayout* l, bool transposed, int64_t batch, uint64_t row,
               uint64_t column) {
    const auto i = static_cast<int64_t>(transposed ? column : row);
    const auto j = static_cast<int64_t>(transposed ? row : column);
    return readAt(data, l->type, batch * l->stride + j * l->ld + i);
  };
  seen.bias_by_epilogue = (how->epilogue & kEpilogueBias) != 0;
  for (int32_t batch = 0; batch < ld->batches; ++batch) {
    for (uint64_t j = 0; j < ld->columns; ++j) {
      for (uint64_t i = 0; i < ld->rows; ++i) {
        float sum = times_c == 0.0f ? 0.0f : at(c, lc, false, batch, i, j);
        if (seen.bias_by_epilogue) {
          sum += readAt(how->bias, ld->type, static_cast<int64_t>(i));
        }
        for (uint64_t k = 0; k < depth; ++k) {
          sum += at(a, la, how->trans_a, batch, i, k) * at(b, lb, how->trans_b, batch, k, j);
        }
        writeAt(d, ld->type,
                batch * ld->stride + static_cast<int64_t>(j) * ld->ld + static_cast<int64_t>(i),
                ended(sum, how->epilogue));
      }
    }
  }
  return 0;
}

const Table kTable{create,        makeDesc,          dropDesc,       setDesc,        makeLayout,
                   dropLayout,    setLayout,         makePreference, dropPreference, setPreference,
                   findAlgorithm, describeAlgorithm, multiply};

/// Whether the library took it; its result is compared with the portable code's.
bool agrees(const std::vector<Tensor>& operands, std::vector<int64_t> sizes,
            std::vector<int64_t> strides, bool is_linear, std::string* why,
            Epilogue epilogue = Epilogue::None, const Tensor* added_bias = nullptr) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  std::vector<TensorView*> tensors;
  external::Call call;
  external::Machine machine;
  machine.allocate = [](size_t bytes) {
    seen.workspace += bytes;
    return ::operator new(bytes);
  };
  machine.release = [](void* data) { ::operator delete(data); };
  call.machine = &machine;
  call.epilogue = epilogue;
  if (added_bias != nullptr) {
    call.added_bias = added_bias->ref();
  }
  for (const Tensor& operand : operands) {
    tensors.push_back(makeSymbolicTensor(operand.dim(), operand.dtype()));
    call.inputs.emplace_back(operand.ref());
  }
  TensorView* out = is_linear
                        ? linear(tensors[0], tensors[1], tensors.size() > 2 ? tensors[2] : nullptr)
                        : matmul(tensors[0], tensors[1]);
  call.op = out->definition();
  const Tensor result =
      Tensor::emptyStrided(sizes, strides, operands[0].dtype(), cpuDevice(), true);
  call.outputs = {result.ref()};
  if (!runCublasLt(kTable, &seen, call, why)) {
    CHECK(seen.objects == 0);
    return false;
  }
  CHECK(seen.objects == 0);
  const Tensor expected =
      Tensor::emptyStrided(sizes, strides, operands[0].dtype(), cpuDevice(), true);
  call.outputs = {expected.ref()};
  external::runPortable(call);
  const bool is_narrow = result.dtype() == DataType::BFloat16;
  for (int64_t i = 0; i < result.numel(); ++i) {
    const float got = readAt(result.data(), is_narrow ? R_16BF : R_32F, i);
    const float wanted = readAt(expected.data(), is_narrow ? R_16BF : R_32F, i);
    CHECK(got == doctest::Approx(wanted).epsilon(is_narrow ? 1e-2 : 1e-5));
  }
  return true;
}

Tensor real(std::vector<int64_t> sizes, uint64_t seed = 1) {
  return Tensor::randn(std::move(sizes), DataType::Float, seed);
}

TEST_CASE("cuBLASLt is told shapes, transpositions and batches") {
  std::string why;
  const Tensor a = real({5, 7});
  const Tensor b = real({7, 3}, 2);
  CHECK(agrees({a, b}, {5, 3}, {3, 1}, false, &why));
  CHECK(agrees({a, b}, {5, 3}, {1, 5}, false, &why));  // the result column by column
  CHECK(agrees({real({7, 5}).transpose(0, 1), b}, {5, 3}, {3, 1}, false, &why));
  CHECK(agrees({a, real({3, 7}).transpose(0, 1)}, {5, 3}, {3, 1}, false, &why));
  CHECK(agrees({real({5, 9}).slice(1, 0, 7), b}, {5, 3}, {3, 1}, false, &why));
  CHECK(agrees({real({7}), b}, {3}, {1}, false, &why));
  CHECK(agrees({a, real({7})}, {5}, {1}, false, &why));
  CHECK(agrees({real({1, 7}), real({7, 1})}, {1, 1}, {1, 1}, false, &why));
  CHECK(seen.workspace > 0);
  // Batches: one call for the innermost axis, one for each of the others.
  seen.products = 0;
  CHECK(agrees({real({4, 5, 7}), real({4, 7, 3}, 2)}, {4, 5, 3}, {15, 3, 1}, false, &why));
  CHECK(seen.products == 1);
  CHECK(
      agrees({real({2, 1, 5, 7}), real({4, 7, 3}, 2)}, {2, 4, 5, 3}, {60, 15, 3, 1}, false, &why));
  CHECK(seen.products == 3);
  // A batch that is just more rows.
  CHECK(agrees({real({4, 5, 7}), b}, {4, 5, 3}, {15, 3, 1}, false, &why));
  CHECK(seen.products == 4);
}

TEST_CASE("cuBLASLt adds the bias of a linear") {
  std::string why;
  CHECK(agrees({real({5, 7}), real({3, 7}, 2), real({3}, 3)}, {5, 3}, {3, 1}, true, &why));
  CHECK(
      agrees({real({2, 5, 7}), real({3, 7}, 2), real({3}, 3)}, {2, 5, 3}, {15, 3, 1}, true, &why));
  CHECK(agrees({real({5, 7}), real({3, 7}, 2)}, {5, 3}, {3, 1}, true, &why));
  CHECK(agrees({real({5, 7}), real({7}, 2), real({}, 3)}, {5}, {1}, true, &why));
  CHECK_FALSE(agrees({real({5, 7}), real({3, 7}, 2), real({3}, 3)}, {5, 3}, {1, 5}, true, &why));
  CHECK(why.find("dense bias") != std::string::npos);
}

TEST_CASE(
    "a bias of narrow numbers is no epilogue where sums are cut, nor is one that is not aligned") {
  std::string why;
  const auto draw = [](PrimDataType dtype, std::vector<int64_t> sizes) {
    return Tensor::randn(std::move(sizes), dtype, 1);
  };
  for (const PrimDataType dtype : {DataType::BFloat16, DataType::Float}) {
    for (const int32_t parts : {1, 44}) {
      seen.parts = {parts};
      const Tensor x = draw(dtype, {5, 7}), w = draw(dtype, {3, 7}), b = draw(dtype, {4});
      CHECK(agrees({x, w, b.slice(0, 0, 3)}, {5, 3}, {3, 1}, true, &why));
      CHECK(seen.bias_by_epilogue == (dtype == DataType::Float || parts == 1));
      CHECK(agrees({x, w, b.slice(0, 1, 4)}, {5, 3}, {3, 1}, true, &why));
      CHECK_FALSE(seen.bias_by_epilogue);
    }
  }
  seen.parts = {1};
}

TEST_CASE("of the algorithms proposed for a long sum of narrow numbers, one with short parts") {
  std::string why;
  struct Choice {
    PrimDataType dtype;
    int64_t length;
    std::vector<int32_t> parts;
    int32_t taken;
  };
  for (const Choice& choice :
       {Choice{DataType::BFloat16, 40000, {8, 4, 10, 33}, 10},
        {DataType::BFloat16, 40000, {8, 4}, 8},  // none has: the library's first
        {DataType::BFloat16, 40000, {12, 33}, 12},
        {DataType::BFloat16, 4096, {1, 10}, 1},
        {DataType::Float, 40000, {8, 10}, 8}}) {
    CAPTURE(choice.length);
    seen.parts = choice.parts;
    const Tensor x = Tensor::ones({2, choice.length}, choice.dtype);
    const Tensor w = Tensor::ones({3, choice.length}, choice.dtype);
    CHECK(agrees({x, w, Tensor::ones({3}, choice.dtype)}, {2, 3}, {3, 1}, true, &why));
    CHECK(seen.taken_parts == choice.taken);
  }
  seen.parts = {1};
}

TEST_CASE("cuBLASLt ends a product with a function") {
  std::string why;
  const Tensor x = real({5, 7}), w = real({3, 7}, 2), b = real({3}, 3);
  for (const Epilogue end : {Epilogue::Relu, Epilogue::TanhGelu}) {
    CHECK(agrees({x, w}, {5, 3}, {3, 1}, true, &why, end));
    CHECK(agrees({x, w, b}, {5, 3}, {3, 1}, true, &why, end));
    CHECK(agrees({x, w}, {5, 3}, {3, 1}, true, &why, end, &b));
    CHECK(agrees({x, w.transpose(0, 1)}, {5, 3}, {1, 5}, false, &why, end));
    CHECK(
        agrees({real({4, 5, 7}), real({4, 7, 3}, 2)}, {4, 5, 3}, {15, 3, 1}, false, &why, end, &b));
  }
  CHECK(agrees({x, w}, {5, 3}, {3, 1}, true, &why, Epilogue::None, &b));
  auto halves = [](std::vector<int64_t> sizes) {
    return Tensor::randn(std::move(sizes), DataType::Half, 1);
  };
  const Tensor half_bias = halves({3});
  CHECK_FALSE(
      agrees({halves({5, 7}), halves({3, 7})}, {5, 3}, {3, 1}, true, &why, Epilogue::TanhGelu));
  CHECK(why.find("does not round") != std::string::npos);
  CHECK_FALSE(agrees({halves({5, 7}), halves({3, 7})}, {5, 3}, {3, 1}, true, &why, Epilogue::Relu,
                     &half_bias));
  auto doubles = [](std::vector<int64_t> sizes) {
    return Tensor::randn(std::move(sizes), DataType::Double, 1);
  };
  CHECK_FALSE(
      agrees({doubles({5, 7}), doubles({3, 7})}, {5, 3}, {3, 1}, true, &why, Epilogue::Relu));
}

TEST_CASE("what cuBLASLt does not take is declined, with nothing left behind") {
  std::string why;
  CHECK_FALSE(
      agrees({real({5, 14}).slice(1, 0, 14, 2), real({7, 3})}, {5, 3}, {3, 1}, false, &why));
  CHECK(why.find("side by side") != std::string::npos);
  CHECK_FALSE(agrees({real({5, 0}), real({0, 3})}, {5, 3}, {3, 1}, false, &why));
  const Tensor whole = Tensor::ones({5, 5}, DataType::Int);
  CHECK_FALSE(agrees({whole, whole}, {5, 5}, {5, 1}, false, &why));
  CHECK(why.find("no products of") != std::string::npos);
  seen.no_algorithm = true;
  CHECK_FALSE(agrees({real({5, 7}), real({7, 3})}, {5, 3}, {3, 1}, false, &why));
  CHECK(why.find("no algorithm") != std::string::npos);
  seen.no_algorithm = false;
  CHECK(agrees({real({0, 7}), real({7, 3})}, {0, 3}, {3, 1}, false, &why));  // nothing to do
}

}  // namespace
}  // namespace nvfuser
