// Whole fusions with and without the passes that rewrite them: equal results, both equal to the
// reference, and as few kernels as the pass is there for.
#include <doctest/doctest.h>

#include <algorithm>

#include "automatic.h"
#include "current_fusion.h"
#include <preseg_passes/optimization_pass.h>

using namespace nvfuser;
using automatic::Define;
using automatic::Input;

namespace {

TensorView* strided(int64_t rank, DataType dtype = DataType::Float) {
  TensorView* tv = makeSymbolicTensor(rank, dtype);
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

Val* size(int64_t value) {
  return IrBuilder::create<Val>(PolymorphicValue(value), DataType(DataType::Index));
}

std::unique_ptr<FusionExecutorCache> cacheOf(const Define& define) {
  auto fusion = std::make_unique<Fusion>();
  FusionGuard guard(fusion.get());
  define(*fusion);
  return std::make_unique<FusionExecutorCache>(std::move(fusion));
}

struct Case {
  std::string pass;
  std::string title;
  size_t kernels;  ///< with the pass; 0: as many as a device wants
  /// Schedulers read parts of inputs, too; a pass saves them computing an element more than once.
  size_t kernels_without;
  std::vector<Input> inputs;
  std::function<void()> define;
  bool same_bits = true;  ///< false: sums in another order
  /// Values of indices; other tensors are drawn.
  std::vector<std::pair<size_t, std::vector<int64_t>>> indices = {};
};

/// Rows of 40, rolled by one: the element at `first`, 0 or 39, changes its end.
TensorView* rolled(TensorView* x, int64_t first) {
  auto place = [](int64_t k) { return IrBuilder::create<Val>(k); };
  TensorView* end = unsqueeze(select(x, 1, place(first)), 1);
  std::vector<Slice> others(2);
  others[1] =
      first == 0 ? Slice{place(1), place(40), nullptr} : Slice{place(0), place(39), nullptr};
  TensorView* rest = slice(x, others);
  return first == 0 ? cat({rest, end}, 1) : cat({end, rest}, 1);
}

void check(const Case& c) {
  CAPTURE(c.title);
  auto define = [&](Fusion&) { c.define(); };
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    KernelArgumentHolder arguments;
    const KernelArgumentHolder drawn = automatic::makeInputs(c.inputs, *device);
    for (size_t i = 0; i < drawn.size(); ++i) {
      KernelArgument argument = drawn[i];
      for (const auto& [position, values] : c.indices) {
        if (position == i) {
          argument = Tensor::fromHost(values, c.inputs[i].sizes, *device);
        }
      }
      arguments.push(argument);
    }
    const OptionsGuard strict(Options::current().disable("fallback").set("VERIFY", "1"));
    auto with = cacheOf(define);
    const KernelArgumentHolder results = with->runFusionWithInputs(arguments);
    const std::string report = with->report();
    CAPTURE(report);
    CHECK((c.kernels == 0 || with->numKernels() == c.kernels));
    testValidate(with->fusion(), results, arguments, __LINE__, __FILE__, c.title);
    // Again, from the plan.
    const KernelArgumentHolder again = with->runFusionWithInputs(arguments);

    const OptionsGuard off(Options::current().disable("preseg(" + c.pass + ")"));
    auto without = cacheOf(define);
    const KernelArgumentHolder plain = without->runFusionWithInputs(arguments);
    const std::string plain_report = without->report();
    CAPTURE(plain_report);
    CHECK((c.kernels == 0 || without->numKernels() == c.kernels_without));
    REQUIRE(plain.size() == results.size());
    for (size_t i = 0; i < plain.size(); ++i) {
      CHECK(sameBytes(again[i].tensor(), results[i].tensor()));
      if (c.same_bits) {
        CHECK(sameBytes(plain[i].tensor(), results[i].tensor()));
      }
    }
  }
}

}  // namespace

TEST_CASE("preseg: sizes, empty tensors, casts and broadcasts") {
  const Case cases[] = {
      {"substitute-extents",
       "a constant of one operand",
       1,
       1,
       {{{5, 24}}, {{5, 24}}},
       [] {
         TensorView* x = input({-1, -1});
         output(sin(add(x, input({-1, 24}))));
       }},
      {"substitute-extents",
       "sizes of slices and reshapes",
       1,
       1,
       {{{6, 8}}, {{6, 8}}},
       [] {
         TensorView* x = input({-1, -1});
         TensorView* y = sin(add(x, input({6, 8})));
         output(flatten(y));
         output(slice(x, {Slice{}, Slice{nullptr, size(3), nullptr}}));
       }},
      {"remove-empty",
       "an empty part, and reductions of nothing",
       3,
       1,
       {{{7, 0}}, {{7}}},
       [] {
         TensorView* x = sin(input({-1, 0}));
         TensorView* y = input({-1});
         output(cos(x));
         output(add(sum(x, {1}), y));
         output(max(x, {1}));
       }},
      {"consecutive-casts",
       "half, float, double, half",
       1,
       1,
       {{{33, 17}, DataType::Half}},
       [] {
         TensorView* x =
             castOp(DataType::Double, castOp(DataType::Float, strided(2, DataType::Half)));
         output(castOp(DataType::BFloat16, x));
         output(sin(castOp(DataType::Float, castOp(DataType::Half, x))));
       }},
      {"consecutive-casts",
       "integers",
       1,
       1,
       {{{301}, DataType::Char}},
       [] {
         TensorView* x = castOp(DataType::Int, strided(1, DataType::Char));
         output(castOp(DataType::Byte, x));
         output(castOp(DataType::Float, x));
       }},
      {"join-equal",
       "sums of what is written twice",
       1,
       1,
       {{{33, 17}}},
       [] {
         TensorView* x = strided(2);
         output(div(exp(x), broadcast(sum(exp(x), {1}), {false, true})));
         output(sqrt(sum(exp(x), {1})));
       }},
      {"join-equal",
       "sums over unlike axes of a square stay apart",
       2,
       2,
       {{{16, 16}}},
       [] {
         TensorView* x = strided(2);
         output(add(sum(x, {0}), sum(x, {1})));
         output(sub(sum(x, {0}), sum(x, {1})));
       },
       false},
      {"broadcast-squeeze",
       "a softmax written with kept axes",
       1,
       1,
       {{{19, 65}}},
       [] {
         TensorView* x = strided(2);
         TensorView* most = squeeze(max(x, {1}, true), {1});
         TensorView* e = exp(sub(x, broadcast(most, {false, true})));
         output(div(e, sum(e, {1}, true)));
       },
       false},
  };
  for (const Case& c : cases) {
    check(c);
  }
}

TEST_CASE("preseg: integers of 64 bits that fit 32") {
  const auto number = [](int64_t value) { return IrBuilder::create<Val>(value, DataType::Int); };
  const auto classes = [&](int64_t count) {
    return broadcast(iota(number(count), number(0), number(1)), {true, false});
  };
  const Case cases[] = {
      {"narrow-integers",
       "classes of floats, cut, clamped and counted",
       0,
       0,
       {{{1000}}},
       [&] {
         TensorView* place = castOp(DataType::Int, mul(strided(1), IrBuilder::create<Val>(1e10)));
         output(lt(place, number(3)));
         TensorView* kept = minimum(maximum(place, number(-7)), number(9))->as<TensorView>();
         TensorView* is_class = eq(broadcast(kept, {false, true}), classes(16));
         output(sum(castOp(DataType::Float, castOp(DataType::Int, is_class)), {0}));
       }},
      {"narrow-integers",
       "labels of any size beside classes",
       0,
       0,
       {{{7}, DataType::Int}},
       [&] {
         TensorView* label = broadcast(strided(1, DataType::Int), {false, true});
         output(eq(label, classes(37)));
         output(castOp(DataType::Float, ge(classes(37), label)));
       },
       true,
       {{0, {0, 36, 37, -1, int64_t{1} << 32, -(int64_t{1} << 40), (int64_t{1} << 32) + 5}}}},
      {"narrow-integers",
       "products of places, and what leaves 32 bits",
       0,
       0,
       {{{1}}},
       [&] {
         output(neg(strided(1)));
         TensorView* rows = iota(number(41), number(-20), number(1));
         TensorView* far = iota(number(41), number(0), number(100000000));
         TensorView* first = broadcast(rows, {false, true});
         const auto beside = [&](TensorView* other) { return broadcast(other, {true, false}); };
         output(castOp(DataType::Float, sub(mul(first, beside(rows)), first)));
         output(castOp(DataType::Float, mul(first, beside(far))));
         output(lt(mul(first, beside(far)), number(5)));
         output(castOp(DataType::BFloat16, mul(beside(rows), number(16777216))));
       }},
  };
  for (const Case& c : cases) {
    check(c);
  }
}

TEST_CASE("preseg: slices, concatenations, pads and gathers") {
  const Case cases[] = {
      {"cancel-split-cat",
       "projections cut and joined",
       1,
       1,
       {{{9, 24}}},
       [] {
         std::vector<TensorView*> done;
         for (TensorView* p : chunk(input({-1, 24}), 3, 1)) {
           done.push_back(relu(p));
         }
         output(cat(done, 1));
       }},
      {"cancel-split-cat",
       "joined in another order",
       1,
       1,
       {{{9, 24}}},
       [] {
         const auto p = chunk(input({-1, 24}), 2, 1);
         output(cat({p[1], p[0]}, 1));
       }},
      {"cat-to-repeat",
       "angles",
       1,
       1,
       {{{9, 24}}},
       [] {
         TensorView* x = abs(input({-1, 24}));
         output(neg(cat({x, x}, 1)));
       }},
      {"narrow-joins", "forty parts",
       4,  // three joins of parts, and one of these
       1, std::vector<Input>(40, Input{{5, 3}}),
       [] {
         std::vector<TensorView*> parts;
         for (int i = 0; i < 40; ++i) {
           parts.push_back(neg(input({-1, 3})));
         }
         output(cat(parts, 0));
       }},
      {"short-axes",
       "products of the others, turned, of parts that are cut, padded and turned over",
       0,
       0,
       {{{3, 11, 9}}},
       [] {
         auto place = [](int64_t k) { return IrBuilder::create<Val>(k); };
         TensorView* x = input({3, -1, 9});
         TensorView* cut = slice(abs(x), {0, 2, 0}, {3, 11, 9}, {1, 1, 1});
         TensorView* turned = permute(cut, {1, 0, 2});
         TensorView* products = scan(turned, 1, BinaryOpType::Mul);
         TensorView* order = iota(place(3), place(2), place(-1), DataType::Int);
         TensorView* back = takeAlongAxis(products, broadcast(order, {true, false, true}), 1);
         TensorView* wider =
             pad(mul(products, back), {place(0), place(0), place(0), place(1), place(0), place(0)});
         output(sum(neg(wider), {1}));
       },
       false},
      {"short-results",
       "gradients of boxes from those of corners, sizes and products",
       0,
       0,
       {{{77, 4}}},
       [] {
         auto place = [](int64_t k) { return IrBuilder::create<Val>(k); };
         TensorView* x = input({-1, 4});
         const auto corners = chunk(abs(x), 2, 1);
         TensorView* products = scan(sub(corners[1], corners[0]), 1, BinaryOpType::Mul);
         TensorView* of_first = pad(products, {place(0), place(2)});
         TensorView* of_second = pad(neg(mul(products, corners[0])), {place(2), place(0)});
         output(add(add(of_first, of_second), mul(x, x)));
       }},
      {"hoist-selections",
       "what is made of rolled rows, rolled back",
       1,
       2,
       {{{11, 40}}},
       [] {
         TensorView* u = input({-1, 40});
         TensorView* flux = mul(u, neg(u));
         TensorView* sum = add(flux, rolled(flux, 0));
         TensorView* step = sub(mul(sum, rolled(u, 0)), u);
         output(sub(step, rolled(step, 39)));
       }},
      {"hoist-reads",
       "two halves",
       1,
       1,
       {{{11, 30}}},
       [] {
         TensorView* x = relu(input({-1, 30}));
         const auto p = chunk(x, 2, 1);
         output(mul(p[0], p[1]));
       }},
      {"hoist-reads",
       "rows by index",
       1,
       1,
       {{{11, 30}, DataType::Half}, {{5}, DataType::Int}},
       [] {
         TensorView* x = castOp(DataType::Float, strided(2, DataType::Half));
         output(relu(indexSelect(neg(x), 0, strided(1, DataType::Int))));
       },
       true,
       {{1, {3, 0, 10, 3, 7}}}},
      {"hoist-reads",
       "the loss of the labels",
       1,
       1,  // a group reads its inputs at the index, too
       {{{4, 30}}, {{4, 1}, DataType::Int}},
       [] {
         TensorView* x = neg(sqrt(abs(strided(2))));
         output(takeAlongAxis(x, input({-1, 1}, DataType::Int), 1));
       },
       true,
       {{1, {3, 0, 29, 3}}}},
      {"read-uncut",
       "places of planes that were cut out and flipped twice",
       0,
       0,
       {{{2, 6, 9}}, {{1, 7}, DataType::Int}},
       [] {
         TensorView* part = slice(input({2, 6, 9}), {0, 1, 2}, {2, 5, 9});
         TensorView* x = reshape(flip(flip(part, {1, 2}), {2}), {2, 4, 7}, {2, 28});
         output(takeAlongAxis(x, input({1, 7}, DataType::Int), 1));
       },
       true,
       {{1, {0, 27, 6, 7, 13, 3, 21}}}},
      {"read-uncut",
       "rows but the first, backwards, which others read, too",
       0,
       0,
       {{{9, 5}}, {{6}, DataType::Int}},
       [] {
         TensorView* x = flip(slice(input({9, 5}), {1, 0}, {9, 5}), {0});
         output(relu(indexSelect(x, 0, input({6}, DataType::Int))));
         output(neg(x));
       },
       true,
       {{1, {3, 0, 0, 1, 2, 3}}}},
      {"move-pad",
       "a padded activation",
       1,
       1,
       {{{11, 30}}},
       [] { output(pad(relu(sqrt(abs(input({-1, -1})))), {size(1), size(4), size(0), size(3)})); }},
  };
  for (const Case& c : cases) {
    check(c);
  }
}

TEST_CASE("preseg: reductions behind reshapes, and what is reshaped back") {
  check({"read-outputs",
         "a sum that an output is a copy of, its norm by groups of channels, and the sum's parts",
         0,
         0,
         {{{2, 24, 5, 7}}, {{24}}},
         [] {
           TensorView* x = input({2, 24, 5, 7});
           TensorView* shift = broadcast(input({24}), {true, false, true, true});
           TensorView* sum_of = add(sin(x), shift);
           output(set(sum_of));
           TensorView* groups = reshape(sum_of, {2, 24, 5, 7}, {2, 3, 8, 35});
           const auto moments = variance_mean(groups, {2, 3}, 0, true);
           output(reshape(mul(sub(groups, moments.mean), rsqrt(moments.var)), {2, 3, 8, 35},
                          {2, 24, 5, 7}));
           output(neg(sum_of));
         }});
  check({"reduce-unmerged",
         "gradients of a norm and of the bias in front of it",
         0,  // one of a GPU, two without the pass
         0,
         {{{3, 5, 24}}, {{3, 5, 24}}},
         [] {
           TensorView* x = input({3, 5, 24});
           TensorView* grad = input({3, 5, 24});
           TensorView* of_x = sub(grad, mul(x, sum(mul(grad, x), {2}, true)));
           output(of_x);
           output(sum(mul(grad, x), {0, 1}));
           output(sum(mul(reshape(of_x, {3, 5, 24}, {15, 24}), IrBuilder::create<Val>(0.5)), {0}));
         },
         false});
  check({"cancel-reshapes",
         "scaled by groups of channels",
         1,
         1,
         {{{3, 12, 7}}, {{3, 4}}, {{12}}},
         [] {
           TensorView* x = input({3, 12, 7});
           TensorView* scale = broadcast(input({3, 4}), {false, false, true, true});
           TensorView* shift =
               broadcast(reshape(input({12}), {12}, {4, 3}), {true, false, false, true});
           TensorView* scaled = add(mul(reshape(x, {3, 12, 7}, {3, 4, 3, 7}), scale), shift);
           output(relu(reshape(scaled, {3, 4, 3, 7}, {3, 12, 7})));
         }});
}

TEST_CASE("preseg: sums that are added up") {
  const auto steps = [](TensorView* x, TensorView* c, int count, bool keeps) {
    TensorView* total = nullptr;
    for (int step = 0; step < count; ++step) {
      x = sin(mul(x, c));
      TensorView* one = sum(mul(x, x), {0}, keeps);
      total = total == nullptr ? one : step % 2 == 1 ? sub(total, one) : add(total, one);
    }
    return total;
  };
  check({"join-sums",
         "six steps of a recurrence",
         1,
         1,
         {{{200, 33}}, {{33}}},
         [&] {
           TensorView* x = input({200, 33});
           output(steps(x, input({33}), 6, false));
         },
         false});
  check({"join-sums",
         "axes that are kept, sizes of a call",
         1,
         1,
         {{{65, 40}}, {{40}}},
         [&] {
           TensorView* x = strided(2);
           output(steps(x, strided(1), 3, true));
         },
         false});
  check({"join-sums",
         "no rows",
         0,
         0,
         {{{0, 30}}, {{30}}},
         [&] {
           TensorView* x = strided(2);
           output(steps(x, strided(1), 3, false));
         },
         false});
}

TEST_CASE("preseg: means beside variances") {
  const auto scores = [](TensorView* x, const std::vector<int64_t>& axes, int64_t correction) {
    TensorView* deviation = sqrt(variance_mean(x, axes, correction, true).var);
    output(div(sub(x, mean(x, axes, true)), deviation));
  };
  check({"share-moments",
         "scores of rows",
         1,
         1,
         {{{200, 33}}},
         [&] { scores(input({200, 33}), {1}, 1); },
         false});
  check({"share-moments",
         "scores of all",
         1,
         1,
         {{{20, 3, 33}}},
         [&] { scores(input({20, 3, 33}), {0, 1, 2}, 0); },
         false});
  check({"share-moments",
         "sizes of a call stay apart",
         1,
         1,
         {{{65, 40}}},
         [&] { scores(strided(2), {1}, 1); },
         false});
}

TEST_CASE("preseg: sums of sums and extremes of extremes") {
  const auto mean = [](TensorView* tv, double count) {
    return div(sum(tv, {0}), IrBuilder::create<Val>(count));
  };
  check({"merge-reductions",
         "a loss of rows",
         1,
         2,
         {{{200, 33}}, {{200, 33}}},
         [&] {
           TensorView* x = input({200, 33});
           TensorView* difference = sub(x, input({200, 33}));
           output(mean(sum(mul(difference, difference), {1}), 200));
         },
         false});
  check({"merge-reductions",
         "three, of pairs",
         1,
         3,
         {{{20, 17}}, {{20, 19}}},
         [&] {
           TensorView* x = input({20, 17});
           TensorView* y = input({20, 19});
           TensorView* pairs =
               abs(sub(broadcast(x, {false, false, true}), broadcast(y, {false, true, false})));
           output(mean(div(sum(sum(pairs, {1}), {1}), IrBuilder::create<Val>(19.0)), 20));
         },
         false});
  check({"merge-reductions",
         "sizes of a call",
         1,
         2,
         {{{65, 40}}},
         [&] { output(sum(sum(strided(2), {1}), {0})); },
         false});
  check({"merge-reductions", "the largest of planes", 1, 2, {{{7, 30, 50}}}, [&] {
           output(max(max(input({7, 30, 50}), {2}), {1}));
         }});
  check({"merge-reductions", "integers", 1, 2, {{{31, 30}, DataType::Int}}, [&] {
           output(sum(sum(input({31, 30}, DataType::Int), {0}), {0}));
         }});
  check({"merge-reductions",
         "no rows",
         0,
         0,
         {{{0, 30}}},
         [&] { output(mean(sum(strided(2), {1}), 1)); },
         false});
}

TEST_CASE("preseg: channels last stays channels last") {
  auto define = [](Fusion& fusion) {
    TensorView* x = TensorViewBuilder().ndims(4).contiguity(true).strideOrder({3, 0, 2, 1}).build();
    TensorView* bias = makeContigTensor(1);
    fusion.addInput(x);
    fusion.addInput(bias);
    TensorView* y = relu(add(x, broadcast(bias, {true, false, true, true})));
    fusion.addOutput(y);
    fusion.addOutput(sum(y, {0, 2, 3}));
    fusion.addOutput(mul(y, broadcast(sum(y, {2, 3}), {false, false, true, true})));
  };
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    automatic::Program program(define, *device);
    const KernelArgumentHolder arguments =
        automatic::makeInputs({{{2, 5, 3, 7}, DataType::Float, {105, 1, 35, 5}}, {{5}}}, *device);
    program.run(arguments);
    const KernelArgumentHolder results = program.cache().runFusionWithInputs(arguments);
    CHECK(results[0].tensor().strides() == std::vector<int64_t>{105, 1, 35, 5});
    CHECK(results[2].tensor().strides() == std::vector<int64_t>{105, 1, 35, 5});
  }
}

namespace {

bool sharesMemory(const KernelArgument& a, const KernelArgument& b, int64_t offset = 0) {
  const auto* first = static_cast<const std::byte*>(a.tensor().data());
  const auto* second = static_cast<const std::byte*>(b.tensor().data());
  return first == second + offset * dataTypeSizeByte(b.tensor().dtype());
}

}  // namespace

TEST_CASE("preseg: outputs that are views run no kernel") {
  auto define = [](Fusion&) {
    TensorView* x = strided(2);
    output(permute(x, {1, 0}));
    output(reshape(x, {4, 6}, {2, 12}));
    output(slice(x, {1, 2}, {3, 6}));
    output(broadcast(select(x, 0, size(2)), {true, false}));
    output(expand(unsqueeze(x, 0), {size(5), size(-1), size(-1)}));
  };
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto cache = cacheOf(define);
    const KernelArgumentHolder arguments = automatic::makeInputs({{{4, 6}}}, *device);
    const KernelArgumentHolder results = cache->runFusionWithInputs(arguments);
    CHECK(cache->numKernels() == 0);
    CHECK(cache->executors().empty());
    testValidate(cache->fusion(), results, arguments, __LINE__, __FILE__);
    CHECK(sharesMemory(results[0], arguments[0]));
    CHECK(results[0].tensor().strides() == std::vector<int64_t>{1, 6});
    CHECK(sharesMemory(results[1], arguments[0]));
    CHECK(sharesMemory(results[2], arguments[0], 8));
    CHECK(results[2].tensor().strides() == std::vector<int64_t>{6, 1});
    CHECK(sharesMemory(results[3], arguments[0], 12));
    CHECK(results[4].tensor().sizes() == std::vector<int64_t>{5, 4, 6});
    CHECK(results[4].tensor().strides() == std::vector<int64_t>{0, 6, 1});

    // Strides that the reshape cannot be said with: a kernel copies, the others stay views.
    const KernelArgumentHolder gaps =
        automatic::makeInputs({{{4, 6}, DataType::Float, {9, 1}}}, *device);
    const KernelArgumentHolder copied = cache->runFusionWithInputs(gaps);
    CHECK(cache->numKernels() == 1);
    testValidate(cache->fusion(), copied, gaps, __LINE__, __FILE__);
    CHECK_FALSE(sharesMemory(copied[1], gaps[0]));
    CHECK(sharesMemory(copied[2], gaps[0], 11));

    // No elements, no views of anything that could be overrun.
    auto empty = cacheOf([](Fusion&) { output(permute(strided(2), {1, 0})); });
    const KernelArgumentHolder none = automatic::makeInputs({{{0, 6}}}, *device);
    CHECK(empty->runFusionWithInputs(none)[0].tensor().sizes() == std::vector<int64_t>{6, 0});
    CHECK(empty->numKernels() == 0);

    const OptionsGuard off(Options::current().disable("preseg(mark-views)"));
    auto plain = cacheOf([](Fusion&) { output(permute(strided(2), {1, 0})); });
    const KernelArgumentHolder separate = plain->runFusionWithInputs(arguments);
    CHECK(plain->numKernels() == 1);
    CHECK_FALSE(sharesMemory(separate[0], arguments[0]));
    CHECK(sameBytes(separate[0].tensor(), results[0].tensor()));
  }
}

TEST_CASE("preseg: views of results, of other outputs and between kernels") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto cache = cacheOf([](Fusion&) {
      TensorView* x = strided(2);
      TensorView* y = softmax(x, 1);
      output(reshape(y, {6, 8}, {6, 2, 4}));
      TensorView* z = sin(x);
      output(z);
      output(permute(z, {1, 0}));
    });
    const KernelArgumentHolder arguments = automatic::makeInputs({{{6, 8}}}, *device);
    const KernelArgumentHolder results = cache->runFusionWithInputs(arguments);
    const std::string report = cache->report();
    CAPTURE(report);
    testValidate(cache->fusion(), results, arguments, __LINE__, __FILE__);
    CHECK(cache->numKernels() <= 2);
    CHECK(sharesMemory(results[2], results[1]));

    // A reshape in front of a reduction costs nothing.
    auto heads = cacheOf([](Fusion&) {
      TensorView* x = input({-1, 8});
      output(softmax(reshape(x, {6, 8}, {6, 2, 4}), 2));
    });
    const KernelArgumentHolder shares = heads->runFusionWithInputs(arguments);
    const std::string heads_report = heads->report();
    CAPTURE(heads_report);
    testValidate(heads->fusion(), shares, arguments, __LINE__, __FILE__);
    CHECK(heads->numKernels() == 1);
  }
}

TEST_CASE("preseg: an input that is overwritten is not shown as a view") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto cache = cacheOf([](Fusion& fusion) {
      TensorView* x = strided(2);
      output(permute(x, {1, 0}));
      output(reshape(x, {4, 6}, {24}));
      // Each row minus the first: read through a broadcast while it is written.
      TensorView* first = broadcast(select(x, 0, size(0)), {true, false});
      fusion.aliasOutputToInput(sub(x, first), x, AllocationType::ReuseBuffer);
    });
    const KernelArgumentHolder arguments = automatic::makeInputs({{{4, 6}}}, *device);
    const Tensor before = arguments[0].tensor().clone();
    const KernelArgumentHolder results = cache->runFusionWithInputs(arguments);
    REQUIRE(results.size() == 2);
    CHECK(sameBytes(results[0].tensor(), before.permute({1, 0})));
    CHECK(sameBytes(results[1].tensor(), before.view({24})));
    const std::vector<float> was = before.toHost<float>();
    const std::vector<float> is = arguments[0].tensor().toHost<float>();
    for (size_t i = 0; i < was.size(); ++i) {
      CHECK(is[i] == was[i] - was[i % 6]);
    }
  }
}

namespace {

/// Outputs that the kernels of the last call wrote to the storage of inputs.
size_t writtenInPlace(const FusionExecutorCache& cache) {
  size_t count = 0;
  for (const KernelExecutor* executor : cache.executors()) {
    count += executor->fusion()->getOutputAliases().size();
  }
  return count;
}

/// Runs, and compares what is in the first input afterwards.
void checkUpdate(FusionExecutorCache& cache, const KernelArgumentHolder& arguments,
                 const std::function<float(const std::vector<float>&, size_t)>& expected) {
  const std::vector<float> was = arguments[0].tensor().toHost<float>();
  cache.runFusionWithInputs(arguments);
  const std::vector<float> is = arguments[0].tensor().toHost<float>();
  for (size_t i = 0; i < was.size(); ++i) {
    CHECK(is[i] == expected(was, i));
  }
}

}  // namespace

TEST_CASE("preseg: updates in place, by the kernel where it reads what it writes") {
  for (Device* device : testDevices()) {
    CAPTURE(device->properties().name);
    auto step = cacheOf([](Fusion& fusion) {
      TensorView* p = strided(2);
      TensorView* g = strided(2);
      TensorView* next = add(p, relu(g));
      fusion.aliasOutputToInput(next, p, AllocationType::ReuseBuffer);
      output(neg(p));  // reads the same elements
    });
    const KernelArgumentHolder arguments = automatic::makeInputs({{{33, 65}}, {{33, 65}}}, *device);
    const std::vector<float> g = arguments[1].tensor().toHost<float>();
    auto sum = [&](const std::vector<float>& p, size_t i) { return p[i] + std::max(g[i], 0.0f); };
    for (int call = 0; call < 3; ++call) {
      checkUpdate(*step, arguments, sum);
      CHECK(step->numKernels() == 1);
      CHECK(writtenInPlace(*step) == 1);
    }
    const Tensor before = arguments[0].tensor().clone();
    const KernelArgumentHolder results = step->runFusionWithInputs(arguments);
    CHECK(results.size() == 1);
    CHECK(results[0].tensor().toHost<float>()[7] == -before.toHost<float>()[7]);

    // The gradient is the parameter, turned around: all of it is read before any is written.
    KernelArgumentHolder turned;
    const Tensor square = Tensor::randn({16, 16}, DataType::Float, 3, *device);
    turned.push(square);
    turned.push(square.permute({1, 0}));
    checkUpdate(*step, turned, [](const std::vector<float>& p, size_t i) {
      return p[i] + std::max(p[i % 16 * 16 + i / 16], 0.0f);
    });

    // Memory with gaps is written to as well, but on a GPU, which may write in vectors.
    const KernelArgumentHolder gaps =
        automatic::makeInputs({{{8, 6}, DataType::Float, {9, 1}}, {{8, 6}}}, *device);
    const std::vector<float> other = gaps[1].tensor().toHost<float>();
    checkUpdate(*step, gaps, [&](const std::vector<float>& p, size_t i) {
      return p[i] + std::max(other[i], 0.0f);
    });
    CHECK(writtenInPlace(*step) == (device->kind() == DeviceKind::Cpu ? 1 : 0));

    // Row 0 is read by all rows, and a permutation at other places.
    auto rows = cacheOf([](Fusion& fusion) {
      TensorView* x = strided(2);
      TensorView* first = broadcast(select(x, 0, size(0)), {true, false});
      fusion.aliasOutputToInput(sub(x, first), x, AllocationType::ReuseBuffer);
    });
    checkUpdate(*rows, automatic::makeInputs({{{40, 65}}}, *device),
                [](const std::vector<float>& x, size_t i) { return x[i] - x[i % 65]; });
    CHECK(writtenInPlace(*rows) == 0);
    auto flipped = cacheOf([](Fusion& fusion) {
      TensorView* x = input({16, 16});
      fusion.aliasOutputToInput(add(x, transpose(x, 0, 1)), x, AllocationType::ReuseBuffer);
    });
    checkUpdate(
        *flipped, automatic::makeInputs({{{16, 16}}}, *device),
        [](const std::vector<float>& x, size_t i) { return x[i] + x[i % 16 * 16 + i / 16]; });
  }
}

TEST_CASE("preseg: the user's fusion stays as it was, and guards leave a pass out") {
  auto define = [](Fusion&) {
    TensorView* x = castOp(DataType::Float, strided(1, DataType::Half));
    output(castOp(DataType::Half, sin(castOp(DataType::Float, castOp(DataType::Half, x)))));
  };
  auto count = [](const Fusion& fusion) { return fusion.exprs().size(); };
  auto all = cacheOf(define);
  CHECK(count(*all->fusion()) == 5);
  CHECK(count(all->rewritten()) == 3);
  {
    OptimizationPassGuard<preseg_passes::ConsecutiveCastPass> off(false);
    CHECK(count(cacheOf(define)->rewritten()) == 5);
    OptimizationPassGuard<preseg_passes::RemoveEmptyPass> both(false);
    CHECK(count(cacheOf(define)->rewritten()) == 5);
  }
  {
    OptimizationPassGuard<preseg_passes::PreSegmenter> off(false);
    CHECK(count(cacheOf(define)->rewritten()) == 5);
  }
  Fusion fusion(*all->fusion());
  OptimizationPass<preseg_passes::ConsecutiveCastPass>::runPass(&fusion);
  CHECK(count(fusion) == 3);
  const OptionsGuard off(Options::current().disable("preseg"));
  CHECK(count(cacheOf(define)->rewritten()) == 5);
}
