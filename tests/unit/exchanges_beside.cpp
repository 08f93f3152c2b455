// What a device asks of its communicator: one exchange after the other, or parts that go beside
// products and other exchanges.
#include <doctest/doctest.h>

#include "on_threads.h"
#include <external/thread_communicator.h>
#include <multidevice/multi_device_executor.h>
#include <ops/all_ops.h>
#include <support/options.h>

namespace nvfuser {
namespace {

using external::Communicator;

/// Notes what is asked of another one.
class Noting final : public Communicator {
 public:
  explicit Noting(std::shared_ptr<Communicator> own) : own_(std::move(own)) {}
  int64_t rank() const override { return own_->rank(); }
  int64_t size() const override { return own_->size(); }
  std::string_view name() const override { return "noted threads"; }
  void exchange(const external::Exchange& exchange) override {
    asked.push_back(exchange.toString());
    own_->exchange(exchange);
  }
  std::vector<int64_t> numbersOfAll(std::span<const int64_t> team, int64_t own,
                                    std::string_view what) override {
    return own_->numbersOfAll(team, own, what);
  }
  void barrier() override { own_->barrier(); }

  std::vector<std::string> asked;

 private:
  std::shared_ptr<Communicator> own_;
};

constexpr int64_t kDevices = 2;

struct Shared {
  Fusion fusion;
  FusionGuard guard{&fusion};
  DeviceMesh mesh{std::vector<int64_t>{0, 1}};

  TensorView* cut(TensorView* tv, std::optional<int64_t> axis) {
    tv->setDeviceMesh(mesh);
    if (axis) {
      tv->outer_split(*axis, kDevices);
      tv->axis(*axis)->parallelize(ParallelType::DIDx);
    }
    return tv;
  }
  TensorView* input(std::optional<int64_t> axis) {
    TensorView* tv = makeContigTensor(2);
    fusion.addInput(tv);
    return cut(tv, axis);
  }

  /// Of a call with parts of these sizes, by device 0; all results are finite numbers.
  std::vector<std::string> asked(const std::vector<std::vector<int64_t>>& parts,
                                 const Options& options) {
    const auto threads = external::threadCommunicators(kDevices, 30);
    std::vector<std::string> of_first;
    const std::vector<std::string> errors = unit::onThreads(kDevices, [&](int64_t rank) {
      const OptionsGuard way(options);
      const auto noting = std::make_shared<Noting>(threads[static_cast<size_t>(rank)]);
      MultiDeviceExecutor executor(fusion, noting);
      for (int turn = 0; turn < 2; ++turn) {  // a plan, and a plan that is known
        KernelArgumentHolder args;
        for (const std::vector<int64_t>& sizes : parts) {
          args.push(Tensor::ones(sizes, DataType::Float));
        }
        noting->asked.clear();
        executor.run(args);
        if (rank == 0 && turn > 0) {
          CHECK(noting->asked == of_first);
        } else if (rank == 0) {
          of_first = noting->asked;
        }
      }
    });
    CHECK(errors == std::vector<std::string>(kDevices));
    return of_first;
  }
};

using Texts = std::vector<std::string>;

Options inOrder() { return Options().disable("overlap"); }
Options beside() { return Options().enable("overlap"); }

TEST_CASE_FIXTURE(Shared, "exchanges: the rows of a product come part by part") {
  TensorView* x = input(0);
  TensorView* y = linear(x, input(0));
  fusion.addOutput(y);
  cut(y, 1);
  const std::vector<std::vector<int64_t>> parts = {{4, 6}, {5, 6}};
  CHECK(asked(parts, inOrder()) == Texts{"allgather of 24 elements of dtype float"});
  CHECK(asked(parts, Options()) == Texts{"allgather of 24 elements of dtype float"});
  CHECK(asked(parts, beside()) == Texts{"shift of 24 elements of dtype float"});
}

TEST_CASE_FIXTURE(Shared, "exchanges: the rows of a product go part by part") {
  TensorView* x = input(1);
  TensorView* y = linear(x, input(1));
  fusion.addOutput(y);
  cut(y, 0);
  const std::vector<std::vector<int64_t>> parts = {{8, 3}, {10, 3}};
  CHECK(asked(parts, inOrder()) == Texts{"alltoall of 40 elements of dtype float"});
  CHECK(asked(parts, beside()) == Texts{"shift of 40 elements of dtype float"});
}

TEST_CASE_FIXTURE(Shared,
                  "exchanges: sums that go early go apart, in the order of their products") {
  TensorView* x = input(0);
  TensorView* grad = input(0);
  TensorView* w = input(std::nullopt);
  TensorView* late = matmul(transpose(matmul(grad, w), 0, 1), x);
  TensorView* early = matmul(transpose(grad, 0, 1), x);
  for (TensorView* y : {late, early}) {
    fusion.addOutput(y);
    cut(y, std::nullopt);
  }
  const std::vector<std::vector<int64_t>> parts = {{4, 3}, {4, 5}, {5, 7}};
  CHECK(asked(parts, inOrder()) ==
        Texts{"allreduce of 15 elements of dtype float and 21 of dtype float"});
  CHECK(asked(parts, beside()) == Texts{"allreduce of 15 elements of dtype float",
                                        "allreduce of 21 elements of dtype float"});
}

TEST_CASE_FIXTURE(Shared, "exchanges: those whose operands are there come first") {
  TensorView* x = input(0);
  TensorView* grad = input(0);
  TensorView* w = input(0);
  TensorView* y = linear(x, w);               // gathers x
  TensorView* z = matmul(relu(y), input(0));  // sums of parts
  TensorView* of_grad = neg(grad);            // gathered
  fusion.addOutput(z);
  fusion.addOutput(of_grad);
  cut(y, 1);
  cut(z, std::nullopt);
  cut(of_grad, std::nullopt);
  CHECK(asked({{4, 6}, {2, 3}, {5, 6}, {5, 6}}, inOrder()) ==
        Texts{"allgather of 24 elements of dtype float", "allgather of 6 elements of dtype float",
              "allreduce of 48 elements of dtype float"});
}

}  // namespace
}  // namespace nvfuser
