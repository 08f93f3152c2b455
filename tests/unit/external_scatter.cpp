// Accumulating scatter in memory of the host: rows that are sorted by place give the bits of lines
// that are worked on one by one, for any number of threads.
#include <doctest/doctest.h>

#include <external/external_call.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/tensor.h>

namespace nvfuser {
namespace {

/// `index` of a row each, [count, columns]: repeated in memory, or stretched.
std::vector<float> scattered(const std::vector<int64_t>& rows, bool stretched, DataType dtype,
                             int64_t dim) {
  constexpr int64_t kRows = 13, kColumns = 6;
  const auto count = static_cast<int64_t>(rows.size());
  Fusion fusion;
  FusionGuard guard(&fusion);
  const TensorView* out_tv =
      scatter(makeSymbolicTensor(2, dtype), dim, makeSymbolicTensor(2, DataType::Int),
              makeSymbolicTensor(2, dtype), BinaryOpType::Add);
  Tensor index = Tensor::fromHost(rows, {count}).asStrided({count, kColumns}, {1, 0}, 0);
  if (!stretched) {
    Tensor dense = Tensor::empty({count, kColumns}, DataType::Int);
    dense.copyFrom(index);
    index = dense;
  }
  Tensor self = Tensor::randn({kRows, kColumns}, dtype, 1);
  Tensor source = Tensor::randn({count, kColumns}, dtype, 2);
  if (dim == 1) {
    self = self.transpose(0, 1);
    source = source.transpose(0, 1);
    index = index.transpose(0, 1);
  }
  const Tensor out = Tensor::empty(self.sizes(), dtype);
  external::Machine machine;
  machine.threads = 4;
  machine.parallel = [](int64_t tasks, const auto& run) {
    for (int64_t task = tasks; task-- > 0;) {
      run(task, task + 1);
    }
  };
  external::Call call;
  call.op = out_tv->definition();
  call.inputs = {self.ref(), index.ref(), source.ref()};
  call.outputs = {out.ref()};
  call.machine = &machine;
  external::runPortable(call);
  const HostTensor host = out.toHostTensor();
  std::vector<float> numbers;
  for (int64_t i = 0; i < host.numel(); ++i) {
    numbers.push_back(static_cast<float>(host.getDouble(i)));
  }
  return numbers;
}

TEST_CASE("rows that are scattered together have the bits of single lines") {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 200; ++i) {
    rows.push_back(i * i % 11);
  }
  for (DataType dtype : {DataType(DataType::Float), DataType(DataType::BFloat16)}) {
    for (int64_t dim : {0, 1}) {
      CHECK(scattered(rows, true, dtype, dim) == scattered(rows, false, dtype, dim));
    }
  }
}

TEST_CASE("a place out of range is named, also among rows") {
  CHECK_THROWS_WITH_AS(scattered({1, 13}, true, DataType::Float, 0),
                       doctest::Contains("scatter: index 13 is out of range for an axis of extent "
                                         "13"),
                       UserError);
}

}  // namespace
}  // namespace nvfuser
