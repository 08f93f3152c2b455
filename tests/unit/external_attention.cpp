// Portable attention: the same bits for any number of threads, and a plain loop's values.
#include <doctest/doctest.h>

#include <cmath>

#include <external/exponential.h>
#include <external/external_call.h>
#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <runtime/tensor.h>

namespace nvfuser {
namespace {

/// Runs tasks one by one, the last ones first, as if `threads` shared them.
external::Machine machineWith(int threads) {
  external::Machine machine;
  machine.threads = threads;
  machine.parallel = [](int64_t tasks, const auto& run) {
    for (int64_t task = tasks; task-- > 0;) {
      run(task, task + 1);
    }
  };
  return machine;
}

struct Results {
  std::vector<float> output, logsumexp, grad_query, grad_key, grad_value;
};

constexpr int64_t kHeads = 3, kQueries = 230, kKeys = 310, kDepth = 20, kWidth = 12;

Results run(int threads, double dropout_p, bool is_causal) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  auto tensor = [](int64_t rows, int64_t columns, uint64_t seed) {
    return Tensor::randn({1, kHeads, rows, columns}, DataType::Float, seed);
  };
  auto symbolic = [] { return makeSymbolicTensor(4); };
  Val* p = IrBuilder::create<Val>(dropout_p);
  Val* causal = IrBuilder::create<Val>(is_causal);
  const Tensor q = tensor(kQueries, kDepth, 1), k = tensor(kKeys, kDepth, 2),
               v = tensor(kKeys, kWidth, 3), d = tensor(kQueries, kWidth, 4);
  const Tensor output = Tensor::empty({1, kHeads, kQueries, kWidth}, DataType::Float, cpuDevice());
  const Tensor lse = Tensor::empty({1, kHeads, kQueries}, DataType::Float, cpuDevice());
  const Tensor seed = Tensor::empty({2}, DataType::UInt64, cpuDevice());
  const Tensor offset = Tensor::empty({}, DataType::UInt64, cpuDevice());
  const external::Machine machine = machineWith(threads);
  TensorView *tq = symbolic(), *tk = symbolic(), *tv = symbolic(), *td = symbolic();
  const SdpaFwdResult f = sdpfa_fwd(tq, tk, tv, nullptr, nullptr, p, causal, nullptr);
  external::Call call;
  call.op = f.output->definition();
  call.machine = &machine;
  call.philox_seed = 5;
  call.philox_offset = 6;
  const PolymorphicValue given_p(dropout_p), given_causal(is_causal);
  call.inputs = {q.ref(), k.ref(), v.ref(), given_p, given_causal};
  call.outputs = {output.ref(), lse.ref(), seed.ref(), offset.ref()};
  external::runPortable(call);
  const SdpaBwdResult b = sdpfa_bwd(td, tq, tk, tv, f.output, f.logsumexp, p, causal, f.philox_seed,
                                    f.philox_offset, nullptr);
  const Tensor gq = Tensor::empty({1, kHeads, kQueries, kDepth}, DataType::Float, cpuDevice());
  const Tensor gk = Tensor::empty({1, kHeads, kKeys, kDepth}, DataType::Float, cpuDevice());
  const Tensor gv = Tensor::empty({1, kHeads, kKeys, kWidth}, DataType::Float, cpuDevice());
  call.op = b.grad_query->definition();
  call.inputs = {d.ref(),   q.ref(), k.ref(),      v.ref(),    output.ref(),
                 lse.ref(), given_p, given_causal, seed.ref(), offset.ref()};
  call.outputs = {gq.ref(), gk.ref(), gv.ref()};
  external::runPortable(call);
  return {output.toHost<float>(), lse.toHost<float>(), gq.toHost<float>(), gk.toHost<float>(),
          gv.toHost<float>()};
}

TEST_CASE("the number of threads changes no bit of attention") {
  for (const double dropout_p : {0.0, 0.4}) {
    for (const bool is_causal : {false, true}) {
      const Results one = run(1, dropout_p, is_causal);
      const Results many = run(16, dropout_p, is_causal);
      CHECK(one.output == many.output);
      CHECK(one.logsumexp == many.logsumexp);
      CHECK(one.grad_query == many.grad_query);
      CHECK(one.grad_key == many.grad_key);
      CHECK(one.grad_value == many.grad_value);
    }
  }
}

TEST_CASE("a row of attention by a plain loop") {
  const Results got = run(1, 0, false);
  const Tensor q = Tensor::randn({1, kHeads, kQueries, kDepth}, DataType::Float, 1);
  const Tensor k = Tensor::randn({1, kHeads, kKeys, kDepth}, DataType::Float, 2);
  const Tensor v = Tensor::randn({1, kHeads, kKeys, kWidth}, DataType::Float, 3);
  const auto of_q = q.toHost<float>(), of_k = k.toHost<float>(), of_v = v.toHost<float>();
  for (const int64_t head : {0, 2}) {
    for (const int64_t i : {0, 95, 96, 229}) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t j = 0; j < kKeys; ++j) {
        double dot = 0;
        for (int64_t e = 0; e < kDepth; ++e) {
          dot += double{of_q[static_cast<size_t>((head * kQueries + i) * kDepth + e)]} *
                 double{of_k[static_cast<size_t>((head * kKeys + j) * kDepth + e)]};
        }
        weights.push_back(std::exp(dot / std::sqrt(double{kDepth})));
        total += weights.back();
      }
      CHECK(got.logsumexp[static_cast<size_t>(head * kQueries + i)] ==
            doctest::Approx(std::log(total)).epsilon(1e-5));
      for (int64_t column = 0; column < kWidth; ++column) {
        double sum = 0;
        for (int64_t j = 0; j < kKeys; ++j) {
          sum += weights[static_cast<size_t>(j)] / total *
                 double{of_v[static_cast<size_t>((head * kKeys + j) * kWidth + column)]};
        }
        const float value =
            got.output[static_cast<size_t>((head * kQueries + i) * kWidth + column)];
        CHECK(std::abs(double{value} - sum) < 1e-5);
      }
    }
  }
}

TEST_CASE("exponentials of a row, to a unit in the last place or two") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const int64_t count : {1, 7, 16, 1000}) {
    std::vector<float> row;
    for (int64_t i = 0; i < count; ++i) {
      row.push_back(static_cast<float>(i) * -0.0931f + 2.5f);
    }
    std::vector<float> got = row;
    const float sum = external::rowFunctions().exponentials(got.data(), count, 2.5f);
    double total = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      const double right = std::exp(static_cast<double>(row[i] - 2.5f));
      total += double{got[i]};
      CHECK(std::abs(double{got[i]} - right) <= 2.5e-7 * right + 1e-37);
    }
    CHECK(double{sum} == doctest::Approx(total).epsilon(1e-6));
  }
  std::vector<float> special{-infinity, 0.0f, std::nanf(""), -200.0f};
  CHECK(external::rowFunctions().greatest(special.data(), 4) == 0.0f);
  CHECK(external::rowFunctions().greatest(special.data(), 1) == -infinity);
  external::rowFunctions().exponentials(special.data(), 4, 0.0f);
  CHECK(special[0] == 0.0f);
  CHECK(special[1] == 1.0f);
  CHECK(std::isnan(special[2]));
  CHECK(special[3] == 0.0f);
}

}  // namespace
}  // namespace nvfuser
