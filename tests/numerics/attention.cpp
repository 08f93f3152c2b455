// Attention and its gradients through FusionExecutorCache, on the CPU and on emulated CUDA, against
// the reference.
#include <doctest/doctest.h>

#include <external/providers.h>
#include <numerics/automatic.h>

using namespace nvfuser;

namespace {

using automatic::Input;
using Sizes = std::vector<int64_t>;

constexpr PrimDataType kDtypes[] = {DataType::Float, DataType::BFloat16, DataType::Half};

struct Form {
  Sizes heads = {2, 3};
  int64_t queries = 7, keys = 9;
  int64_t depth = 8, width = 5;
  double dropout_p = 0;
  bool is_causal = false;
  bool has_scale = false;
  bool is_strided = false;  ///< [batch, queries, heads, numbers] in memory

  std::string toString() const {
    return text("[", join(heads, ", "), "] x ", queries, " x ", keys, ", depth ", depth, ", width ",
                width, ", dropout ", dropout_p, is_causal ? ", causal" : "",
                is_strided ? ", strided" : "");
  }
  Sizes sizes(int64_t rows, int64_t columns) const {
    Sizes all = heads;
    all.push_back(rows);
    all.push_back(columns);
    return all;
  }
  Tensor draw(int64_t rows, int64_t columns, DataType dtype, uint64_t seed, Device& device) const {
    const Tensor dense = Tensor::randn(sizes(rows, columns), dtype, seed, device);
    if (!is_strided) {
      return dense;
    }
    Sizes swapped = dense.sizes();
    std::swap(swapped[swapped.size() - 2], swapped[swapped.size() - 3]);
    Tensor strided =
        Tensor::empty(swapped, dtype, device).transpose(dense.dim() - 2, dense.dim() - 3);
    strided.copyFrom(dense);
    return strided;
  }
};

TensorView* operand(const Form& form, DataType dtype) {
  TensorView* tv = TensorViewBuilder()
                       .shape(Sizes(form.heads.size() + 2, -1))
                       .dtype(dtype)
                       .contiguity(!form.is_strided)
                       .build();
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

Val* number(double value) { return IrBuilder::create<Val>(value); }

/// Forward, then backward from its results: each compared with the reference.
void check(const Form& form, DataType dtype) {
  const std::string what = text(form.toString(), " ", dtype);
  CAPTURE(what);
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    Val* null = nullptr;
    auto forward = std::make_unique<Fusion>();
    {
      FusionGuard guard(forward.get());
      TensorView* q = operand(form, dtype);
      TensorView* k = operand(form, dtype);
      TensorView* v = operand(form, dtype);
      const SdpaFwdResult r =
          sdpfa_fwd(q, k, v, nullptr, nullptr, number(form.dropout_p),
                    IrBuilder::create<Val>(form.is_causal), form.has_scale ? number(0.3) : null);
      for (TensorView* tv : {r.output, r.logsumexp, r.philox_seed, r.philox_offset}) {
        forward->addOutput(tv);
      }
    }
    FusionExecutorCache forward_cache(std::move(forward));
    const Tensor q = form.draw(form.queries, form.depth, dtype, 1, *device);
    const Tensor k = form.draw(form.keys, form.depth, dtype, 2, *device);
    const Tensor v = form.draw(form.keys, form.width, dtype, 3, *device);
    forward_cache.setRandomState(1234567, 8);
    const KernelArgumentHolder arguments{q, k, v};
    const KernelArgumentHolder results = forward_cache.runFusionWithInputs(arguments);
    const InterpreterOptions random{.philox_seed = 1234567, .philox_offset = 8};
    testValidate(forward_cache.fusion(), results, arguments, __LINE__, __FILE__, what, random);
    CHECK(forward_cache.numExternalCalls() == 1);
    CHECK(forward_cache.numKernels() == 0);

    auto backward = std::make_unique<Fusion>();
    {
      FusionGuard guard(backward.get());
      std::vector<TensorView*> t;
      for (int i = 0; i < 5; ++i) {
        t.push_back(operand(form, dtype));
      }
      TensorView* lse = makeContigTensor(static_cast<int64_t>(form.heads.size()) + 1);
      TensorView* seed = makeContigConcreteTensor({2}, DataType::UInt64);
      TensorView* offset = makeContigConcreteTensor({}, DataType::UInt64);
      for (TensorView* tv : {lse, seed, offset}) {
        backward->addInput(tv);
      }
      const SdpaBwdResult r = sdpfa_bwd(t[0], t[1], t[2], t[3], t[4], lse, number(form.dropout_p),
                                        IrBuilder::create<Val>(form.is_causal), seed, offset,
                                        form.has_scale ? number(0.3) : null);
      for (TensorView* tv : {r.grad_query, r.grad_key, r.grad_value}) {
        backward->addOutput(tv);
      }
    }
    FusionExecutorCache backward_cache(std::move(backward));
    const KernelArgumentHolder of_backward{form.draw(form.queries, form.width, dtype, 4, *device),
                                           q,
                                           k,
                                           v,
                                           results[0],
                                           results[1],
                                           results[2],
                                           results[3]};
    const KernelArgumentHolder grads = backward_cache.runFusionWithInputs(of_backward);
    testValidate(backward_cache.fusion(), grads, of_backward, __LINE__, __FILE__, what);
    CHECK(backward_cache.numExternalCalls() == 1);
  }
}

}  // namespace

TEST_CASE("attention and its gradients, of all dtypes") {
  for (PrimDataType dtype : kDtypes) {
    check({}, dtype);
    check({.is_causal = true}, dtype);
    check({.dropout_p = 0.3, .is_causal = true, .has_scale = true}, dtype);
    check({.is_strided = true}, dtype);
  }
}

TEST_CASE("attention and its gradients, of all shapes") {
  const Form forms[] = {
      {.heads = {1, 1}, .queries = 1, .keys = 1, .depth = 1, .width = 1},
      {.heads = {1, 2}, .queries = 200, .keys = 300, .depth = 40, .width = 33},
      {.heads = {1, 2}, .queries = 300, .keys = 200, .depth = 16, .width = 64, .is_causal = true},
      {.heads = {1, 1}, .queries = 130, .keys = 257, .depth = 33, .width = 17, .is_causal = true},
      {.heads = {2, 1, 3}, .queries = 5, .keys = 4, .is_causal = true},
      {.heads = {1, 1}, .queries = 20, .keys = 21, .depth = 300, .width = 3},
      {.heads = {5, 4}, .queries = 97, .keys = 129, .dropout_p = 0.5},
      {.queries = 1, .keys = 140, .is_causal = true},  // sees one key
      {.keys = 0},
      {.queries = 0},
      {.heads = {0, 3}},
      {.width = 0},
      {.dropout_p = 1},
  };
  for (const Form& form : forms) {
    if (form.heads.size() == 2 || !form.is_strided) {
      check(form, DataType::Float);
    }
  }
  check(forms[1], DataType::BFloat16);
}

TEST_CASE("attention with bias and mask") {
  struct Extra {
    Sizes bias, mask;
  };
  const Extra extras[] = {{{2, 3, 7, 9}, {2, 3, 7, 9}},
                          {{1, 3, 1, 9}, {7, 9}},
                          {{7, 9}, {2, 1, 1, 9}},
                          {{9}, {1, 1, 7, 1}}};
  for (const auto& [bias_sizes, mask_sizes] : extras) {
    for (PrimDataType dtype : kDtypes) {
      for (const bool bias_is_float : {false, true}) {
        for (Device* device : testDevices()) {
          auto fusion = std::make_unique<Fusion>();
          auto added = [&](const Sizes& sizes, DataType of) {
            Sizes shape;
            for (int64_t size : sizes) {
              shape.push_back(size == 1 ? 1 : -1);
            }
            TensorView* tv = TensorViewBuilder().shape(shape).dtype(of).contiguity(true).build();
            fusion->addInput(tv);
            return tv;
          };
          const DataType of_bias = bias_is_float ? DataType::Float : dtype;
          {
            FusionGuard guard(fusion.get());
            std::vector<TensorView*> t;
            for (int i = 0; i < 3; ++i) {
              t.push_back(added({2, 3, 2, 8}, dtype));
            }
            TensorView* bias = added(bias_sizes, of_bias);
            TensorView* mask = added(mask_sizes, DataType::Bool);
            const SdpaFwdResult r =
                sdpfa_fwd(t[0], t[1], t[2], bias, mask, nullptr, nullptr, nullptr);
            fusion->addOutput(r.output);
            fusion->addOutput(r.logsumexp);
          }
          FusionExecutorCache cache(std::move(fusion));
          int64_t count = 1;
          for (int64_t size : mask_sizes) {
            count *= size;
          }
          auto seen = std::make_unique<bool[]>(static_cast<size_t>(count));
          for (int64_t i = 0; i < count; ++i) {
            seen[static_cast<size_t>(i)] = i > 8 && i % 3 != 1;  // the first row sees nothing
          }
          Tensor mask = Tensor::empty(mask_sizes, DataType::Bool, cpuDevice());
          std::copy_n(seen.get(), count, static_cast<bool*>(mask.data()));
          const KernelArgumentHolder arguments{Tensor::randn({2, 3, 7, 8}, dtype, 1, *device),
                                               Tensor::randn({2, 3, 9, 8}, dtype, 2, *device),
                                               Tensor::randn({2, 3, 9, 8}, dtype, 3, *device),
                                               Tensor::randn(bias_sizes, of_bias, 4, *device),
                                               mask.copyTo(*device)};
          const KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
          testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
        }
      }
    }
  }
}

TEST_CASE("a query that sees no key gives zeros, and gradients of zero") {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    std::vector<TensorView*> t;
    for (int i = 0; i < 3; ++i) {
      t.push_back(makeContigConcreteTensor({1, 1, 2, 4}));
      fusion->addInput(t.back());
    }
    TensorView* mask = makeContigConcreteTensor({2, 2}, DataType::Bool);
    fusion->addInput(mask);
    const SdpaFwdResult r = sdpfa_fwd(t[0], t[1], t[2], nullptr, mask, nullptr, nullptr, nullptr);
    const SdpaBwdResult g = sdpfa_bwd(t[0], t[0], t[1], t[2], r.output, r.logsumexp, nullptr,
                                      nullptr, r.philox_seed, r.philox_offset, nullptr);
    for (TensorView* tv : {r.output, r.logsumexp, g.grad_query}) {
      fusion->addOutput(tv);
    }
  }
  FusionExecutorCache cache(std::move(fusion));
  Tensor mask = Tensor::empty({2, 2}, DataType::Bool, cpuDevice());
  std::copy_n(std::array<bool, 4>{false, false, true, false}.begin(), 4,
              static_cast<bool*>(mask.data()));
  const Tensor value = Tensor::randn({1, 1, 2, 4}, DataType::Float, 3);
  const KernelArgumentHolder results =
      cache.runFusionWithInputs({Tensor::randn({1, 1, 2, 4}, DataType::Float, 1),
                                 Tensor::randn({1, 1, 2, 4}, DataType::Float, 2), value, mask});
  const std::vector<float> output = results[0].tensor().toHost<float>();
  const std::vector<float> values = value.toHost<float>();
  for (size_t i = 0; i < 4; ++i) {
    CHECK(output[i] == 0.0f);
    CHECK(output[4 + i] == doctest::Approx(values[i]));
    CHECK(results[2].tensor().toHost<float>()[i] == 0.0f);
  }
  CHECK(results[1].tensor().toHost<float>()[0] == -std::numeric_limits<float>::infinity());
}

TEST_CASE("dropout draws anew in each call, in the order of definition") {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    TensorView* x = makeContigTensor(4);
    fusion->addInput(x);
    TensorView* noise = rand_like(x);
    const SdpaFwdResult first = sdpfa_fwd(x, x, x, nullptr, nullptr, number(0.5), nullptr, nullptr);
    const SdpaFwdResult second =
        sdpfa_fwd(x, x, x, nullptr, nullptr, number(0.5), nullptr, nullptr);
    const SdpaFwdResult none = sdpfa_fwd(x, x, x, nullptr, nullptr, number(0), nullptr, nullptr);
    for (TensorView* tv : {noise, first.output, second.output, first.philox_seed,
                           second.philox_seed, second.philox_offset, none.philox_seed}) {
      fusion->addOutput(tv);
    }
  }
  FusionExecutorCache cache(std::move(fusion));
  const Tensor x = Tensor::randn({2, 2, 6, 8}, DataType::Float, 1);
  cache.setRandomState(77, 10);
  for (uint64_t call = 0; call < 2; ++call) {
    const KernelArgumentHolder results = cache.runFusionWithInputs({x});
    const InterpreterOptions random{.philox_seed = 77, .philox_offset = 10 + 3 * call};
    testValidate(cache.fusion(), results, {x}, __LINE__, __FILE__, "", random);
    CHECK(results[3].tensor().toHost<uint64_t>() == std::vector<uint64_t>{77, 11 + 3 * call});
    CHECK(results[4].tensor().toHost<uint64_t>() == std::vector<uint64_t>{77, 12 + 3 * call});
    CHECK(results[5].tensor().toHost<uint64_t>() == std::vector<uint64_t>{12 + 3 * call});
    CHECK(results[6].tensor().toHost<uint64_t>() == std::vector<uint64_t>{0, 0});
    CHECK(results[1].tensor().toHost<float>() != results[2].tensor().toHost<float>());
  }
}

TEST_CASE("neighbours of attention are fused around it, and a provider may take it") {
  auto fusion = std::make_unique<Fusion>();
  {
    FusionGuard guard(fusion.get());
    std::vector<TensorView*> t;
    for (int i = 0; i < 3; ++i) {
      t.push_back(makeContigTensor(4, DataType::BFloat16));
      fusion->addInput(t.back());
    }
    TensorView* q = castOp(DataType::BFloat16, mul(t[0], number(2)));
    const SdpaFwdResult r = sdpfa_fwd(q, t[1], t[2], nullptr, nullptr, nullptr, nullptr, nullptr);
    fusion->addOutput(castOp(DataType::BFloat16, gelu(r.output)));
  }
  FusionExecutorCache cache(std::move(fusion));
  KernelArgumentHolder arguments;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    arguments.push(Tensor::randn({1, 2, 6, 8}, DataType::BFloat16, seed));
  }
  KernelArgumentHolder results = cache.runFusionWithInputs(arguments);
  testValidate(cache.fusion(), results, arguments, __LINE__, __FILE__);
  CHECK(cache.numExternalCalls() == 1);
  CHECK(cache.numKernels() == 2);
  CHECK(cache.report().find("sdpfa_fwd, run by portable code") != std::string::npos);
  const int64_t id = external::registerProvider("sdpfa_fwd", DeviceKind::Cpu, "another",
                                                [](const external::Call& call) {
                                                  external::runPortable(call);
                                                  return true;
                                                });
  cache.runFusionWithInputs(arguments);
  CHECK(cache.report().find("run by another") != std::string::npos);
  external::unregisterProvider(id);
}
