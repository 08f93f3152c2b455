#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <memory>

#include <runtime/executor_kernel_arg.h>
#include <runtime/repeated_call.h>
#include <runtime/tensor.h>
#include <user_error.h>

namespace nvfuser {
namespace {

using Sizes = std::vector<int64_t>;

TEST_CASE("tensors are made, filled and read") {
  CHECK(Tensor::arange(4).toHost<int64_t>() == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(Tensor::full({2}, 1.5, DataType::Half).toHost<float>() == std::vector<float>{1.5f, 1.5f});
  CHECK(Tensor::zeros({2, 2}, DataType::BFloat16).toHost<double>() == std::vector<double>(4, 0.0));
  CHECK(Tensor::ones({3}, DataType::Bool).toHost<bool>() == std::vector<bool>(3, true));
  CHECK(Tensor::full({}, std::complex<double>(1, 2), DataType::ComplexFloat)
            .item()
            .as<std::complex<double>>() == std::complex<double>(1, 2));
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  Tensor x = Tensor::fromHost(values, {2, 3});
  CHECK(x.dtype() == DataType::Float);
  CHECK(x.strides() == Sizes{3, 1});
  CHECK(x.size(-1) == 3);
  CHECK(x.toHost<float>() == values);
  CHECK(x.toHost<int>() == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK(x.toString() == "float[2, 3] on cpu");
  CHECK_THROWS_AS(Tensor::fromHost(values, {4}), UserError);
  CHECK_THROWS_AS(x.item(), UserError);
  CHECK_THROWS_AS(Tensor::empty({2, -1}, DataType::Float), UserError);
}

TEST_CASE("strides of axes without a second element are of no meaning") {
  Tensor row = Tensor::emptyStrided({1, 3}, {-5, 1}, DataType::Float);
  row.copyFrom(Tensor::arange(3, DataType::Float).asStrided({1, 3}, {int64_t{1} << 62, 1}, 0));
  CHECK(row.toHost<float>() == std::vector<float>{0, 1, 2});
  CHECK(Tensor::emptyStrided({2, 0}, {-1, 1}, DataType::Float).numel() == 0);
  CHECK_THROWS_AS(Tensor::emptyStrided({2, 3}, {-3, 1}, DataType::Float), UserError);
}

TEST_CASE("fresh memory can be poisoned") {
  for (DataType dtype : {DataType(DataType::Float), DataType(DataType::Double),
                         DataType(DataType::Half), DataType(DataType::BFloat16),
                         DataType(DataType::Float8_e4m3fn), DataType(DataType::Float8_e5m2)}) {
    for (double x : Tensor::empty({5}, dtype, cpuDevice(), true).toHost<double>()) {
      CHECK(std::isnan(x));
    }
  }
}

TEST_CASE("views share the storage") {
  Tensor x = Tensor::fromHost(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {2, 3});
  CHECK(x.transpose(0, 1).toHost<int32_t>() == std::vector<int32_t>{0, 3, 1, 4, 2, 5});
  CHECK(x.permute({1, 0}).strides() == Sizes{1, 3});
  CHECK(!x.permute({1, 0}).isContiguous());
  CHECK(x.permute({1, 0}).contiguous().strides() == Sizes{2, 1});
  CHECK(x.slice(1, 1, 3).toHost<int32_t>() == std::vector<int32_t>{1, 2, 4, 5});
  CHECK(x.slice(1, -2, 100, 2).toHost<int32_t>() == std::vector<int32_t>{1, 4});
  CHECK(x.select(0, -1).toHost<int32_t>() == std::vector<int32_t>{3, 4, 5});
  CHECK(x.select(0, 1).data<int32_t>() == x.data<int32_t>() + 3);
  CHECK(x.view({3, -1}).sizes() == Sizes{3, 2});
  CHECK(x.unsqueeze(1).sizes() == Sizes{2, 1, 3});
  Tensor wide = x.select(0, 0).expand({2, 3});
  CHECK(wide.strides() == Sizes{0, 1});
  CHECK(wide.toHost<int32_t>() == std::vector<int32_t>{0, 1, 2, 0, 1, 2});
  x.slice(1, 1, 2).fill(9);
  CHECK(x.toHost<int32_t>() == std::vector<int32_t>{0, 9, 2, 3, 9, 5});
  CHECK_THROWS_AS(x.transpose(0, 1).view({6}), UserError);
  CHECK_THROWS_AS(x.permute({0, 0}), UserError);
  CHECK_THROWS_AS(x.expand({3, 3}), UserError);
  Tensor copy = x.transpose(0, 1).clone();
  CHECK(copy.strides() == Sizes{1, 3});
  CHECK(copy.toHost<int32_t>() == x.transpose(0, 1).toHost<int32_t>());
  copy.fill(0);
  CHECK(x.select(0, 0).select(0, 1).item().as<int64_t>() == 9);
}

TEST_CASE("random tensors depend on their seed alone") {
  const auto a = Tensor::randn({1000}, DataType::Float, 1).toHost<float>();
  CHECK(a == Tensor::randn({1000}, DataType::Float, 1).toHost<float>());
  CHECK(a != Tensor::randn({1000}, DataType::Float, 2).toHost<float>());
  double squares = 0;
  for (float x : a) {
    squares += static_cast<double>(x) * static_cast<double>(x) / 1000;
  }
  CHECK(squares == doctest::Approx(1).epsilon(0.2));
}

TEST_CASE("DLPack out and in again, and the deleter is called once") {
  Tensor x = Tensor::fromHost(std::vector<float>{0, 1, 2, 3, 4, 5}, {2, 3}).slice(1, 1, 3);
  DLManagedTensor* lent = x.toDLPack();
  CHECK(lent->dl_tensor.ndim == 2);
  CHECK(lent->dl_tensor.shape[1] == 2);
  CHECK(lent->dl_tensor.strides[0] == 3);
  CHECK(lent->dl_tensor.dtype.code == kDLFloat);
  CHECK(lent->dl_tensor.dtype.bits == 32);
  Tensor y = Tensor::fromDLPack(lent);
  CHECK(y.data() == x.data());
  CHECK(y.toHost<float>() == std::vector<float>{1, 2, 4, 5});
  Tensor z = Tensor::fromDLPack(x.toDLPackVersioned());
  CHECK(z.toHost<float>() == y.toHost<float>());

  static int deleted;
  deleted = 0;
  static float data[4] = {1, 2, 3, 4};
  static int64_t shape[1] = {3};
  DLManagedTensor foreign{};
  foreign.dl_tensor = {.data = data,
                       .device = {kDLCPU, 0},
                       .ndim = 1,
                       .dtype = {kDLFloat, 32, 1},
                       .shape = shape,
                       .strides = nullptr,
                       .byte_offset = 4};
  foreign.deleter = [](DLManagedTensor*) { ++deleted; };
  {
    Tensor taken = Tensor::fromDLPack(&foreign);
    Tensor view = taken.slice(0, 1, 3);
    taken = Tensor();
    CHECK(deleted == 0);
    CHECK(view.toHost<float>() == std::vector<float>{3, 4});
  }
  CHECK(deleted == 1);
  foreign.dl_tensor.dtype = {3, 64, 1};
  CHECK_THROWS_AS(Tensor::fromDLPack(&foreign), UserError);
  CHECK(deleted == 2);
}

TEST_CASE("DLPack: elements without memory are refused, no elements need none") {
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  const DLTensor tensor = {.data = nullptr,
                           .device = {kDLCPU, 0},
                           .ndim = 2,
                           .dtype = {kDLFloat, 32, 1},
                           .shape = shape,
                           .strides = strides,
                           .byte_offset = 0};
  LentArgument lent;
  checkAll({{"the tensor has elements, but no memory", [&] { Tensor::fromDLPack(tensor); }}});
  CHECK(!lend(tensor, lent));
  shape[1] = 0;
  CHECK(Tensor::fromDLPack(tensor).numel() == 0);
  CHECK(lend(tensor, lent));
}

TEST_CASE("every dtype has a name in DLPack and comes back") {
  for (DataType dtype : allDataTypes()) {
    CHECK(fromDLDataType(toDLDataType(dtype)) == dtype);
  }
}

TEST_CASE("an argument holder takes tensors, scalars and vectors of both") {
  Tensor x = Tensor::arange(3);
  Tensor y = Tensor::zeros({2, 2}, DataType::Float);
  KernelArgumentHolder args(x, 2, 0.5, std::vector<Tensor>{y, x}, true);
  CHECK(args.size() == 6);
  CHECK(args[0].isTensor());
  CHECK(args[0].as<Tensor>().data() == x.data());
  CHECK(args[1].is<int64_t>());
  CHECK(args[1].as<int>() == 2);
  CHECK(args[2].as<double>() == 0.5);
  CHECK(args[3].tensor().dim() == 2);
  CHECK(args.back().is<bool>());
  args.push(std::optional<Tensor>());
  CHECK(!args.back().isTensor());
  CHECK(!args.back().isScalar());
  args.erase(&args[1]);
  CHECK(args.size() == 6);
  CHECK(args[1].as<double>() == 0.5);
  KernelArgumentHolder copy = args;
  copy.push(args);
  CHECK(copy.size() == 12);
  KernelArgumentHolder listed({x, y});
  CHECK(listed.size() == 2);
  CHECK(KernelArgumentHolder(std::vector<Tensor>{x, y, x}).size() == 3);
  CHECK(KernelArgumentHolder(x, 1).toString() == "[int64_t[3] on cpu, 1]");
  CHECK(args.getDeviceIndex() == 0);
  CHECK_THROWS_AS(args[1].tensor(), InternalError);
}

TEST_CASE("the smallest index type") {
  KernelArgumentHolder args;
  args.pushTensorProxy({1 << 16, 1 << 14}, {1 << 14, 1}, DataType::Half);
  CHECK(args.getSmallestIndexTypeOfArguments() == PrimDataType::Int32);
  args.pushTensorProxy({2, 2}, {int64_t{1} << 33, 1}, DataType::Half);
  CHECK(args.getSmallestIndexTypeOfArguments() == PrimDataType::Int);
  CHECK(args[0].tensor().isMeta());
}

TEST_CASE("tensor: elements written to memory with gaps, backwards and over the source") {
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    CAPTURE(device->properties().name);
    auto memory = [&] { return Tensor::arange(8, DataType::Int, *device); };
    using Numbers = std::vector<int64_t>;
    const Tensor three = Tensor::fromHost(Numbers{70, 80, 90}, {3}, *device);

    Tensor x = memory();
    x.slice(0, 1, 6, 2).copyFrom(three);
    CHECK(x.toHost<int64_t>() == Numbers{0, 70, 2, 80, 4, 90, 6, 7});

    x = memory();
    auto* fifth = x.data<int64_t>() + 5;
    const Tensor backwards = Tensor::fromRef({fifth, DataType::Int, {3}, {-2}}, *device);
    CHECK(backwards.toHost<int64_t>() == Numbers{5, 3, 1});
    Tensor(backwards).copyFrom(three);
    CHECK(x.toHost<int64_t>() == Numbers{0, 90, 2, 80, 4, 70, 6, 7});

    x = memory();
    x.slice(0, 2, 8).copyFrom(x.slice(0, 0, 6));
    CHECK(x.toHost<int64_t>() == Numbers{0, 1, 0, 1, 2, 3, 4, 5});

    x = memory();
    const Tensor turned = x.view({2, 4}).permute({1, 0});
    Tensor(turned).copyFrom(memory().view({2, 4}).permute({1, 0}));
    CHECK(x.toHost<int64_t>() == memory().toHost<int64_t>());
    Tensor(turned).copyFrom(memory().view({4, 2}));
    CHECK(x.toHost<int64_t>() == Numbers{0, 2, 4, 6, 1, 3, 5, 7});
  }
}

template <typename T>
void checkStridedCopies(DataType dtype, Device& device) {
  CAPTURE(dtype);
  std::vector<T> values;
  for (int i = 0; i < 105; ++i) {
    values.push_back(static_cast<T>(i % 2 == 0));
  }
  const Tensor source = Tensor::fromHost(values, {5, 3, 1, 7}, device);
  REQUIRE(source.dtype() == dtype);
  const Tensor turned = source.permute({3, 0, 2, 1});
  Tensor target = Tensor::emptyStrided({7, 5, 1, 3}, {64, 8, 5, 2}, dtype, device, true);
  target.copyFrom(turned);
  CHECK(target.toHost<T>() == turned.toHost<T>());
  const Tensor repeated = source.asStrided({5, 4, 7}, {21, 0, 1}, 0);
  Tensor wide = Tensor::emptyStrided({5, 4, 7}, {1, 40, 5}, dtype, device, true);
  wide.copyFrom(repeated);
  CHECK(wide.toHost<T>() == repeated.toHost<T>());
}

TEST_CASE(
    "copies between tensors that lie otherwise: all widths, several axes, repeated elements") {
  for (Device* device : {&cpuDevice(), &emulatedDevice()}) {
    CAPTURE(device->properties().name);
    checkStridedCopies<int8_t>(DataType::Char, *device);
    checkStridedCopies<int16_t>(DataType::Short, *device);
    checkStridedCopies<float>(DataType::Float, *device);
    checkStridedCopies<double>(DataType::Double, *device);
    checkStridedCopies<std::complex<double>>(DataType::ComplexDouble, *device);
  }
}

}  // namespace
}  // namespace nvfuser
