// Each pass over whole fusions on small ones: IR in, IR out, compared with
// tests/golden/expected/preseg_<pass>.txt. Samples in which a pass does not fire come first.
#include <doctest/doctest.h>

#include <functional>

#include <golden_file.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <preseg_passes/mark_views.h>
#include <preseg_passes/pipeline.h>

using namespace nvfuser;

namespace {

struct Sample {
  std::string title;
  std::function<void()> define;
};

TensorView* input(const std::vector<int64_t>& shape, DataType dtype = DataType::Float) {
  TensorView* tv = makeContigConcreteTensor(shape, dtype);
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

void output(TensorView* tv) { FusionGuard::getCurFusion()->addOutput(tv); }

Val* number(double value) { return IrBuilder::create<Val>(value); }

Val* size(int64_t value) {
  return IrBuilder::create<Val>(PolymorphicValue(value), DataType(DataType::Index));
}

/// The math, then what it does not tell of the outputs: their order in memory, and whether they are
/// views.
std::string shown(const Fusion& fusion) {
  std::string out = fusion.mathString();
  for (const Val* val : fusion.outputs()) {
    const auto* tv = val->as<TensorView>();
    if (tv->hasAllocation()) {
      out += text("in memory: ", tv->toInlineString(), "[ ", join(tv->getAllocationDomain(), ", "),
                  " ]\n");
    }
  }
  for (const preseg_passes::ViewOutput& view : preseg_passes::viewOutputs(fusion)) {
    out += text("output ", view.output, " is a view of T", view.source, "\n");
  }
  return out;
}

std::string pageOf(const std::string& pass, const std::vector<Sample>& samples) {
  std::string page = text("pass ", pass, "\n");
  for (const Sample& sample : samples) {
    Fusion fusion;
    {
      FusionGuard guard(&fusion);
      sample.define();
    }
    const std::string before = shown(fusion);
    preseg_passes::runOne(fusion, pass);
    fusion.verify();
    const std::string after = shown(fusion);
    page += text("\n---- ", sample.title, "\n", before,
                 after == before ? std::string("unchanged\n") : text("becomes\n", after));
  }
  return page;
}

void checkPass(const std::string& pass, const std::vector<Sample>& samples) {
  checkGoldenFile(text("golden/expected/preseg_", pass, ".txt"), pageOf(pass, samples));
}

}  // namespace

TEST_CASE("preseg: substitute-extents") {
  checkPass("substitute-extents",
            {
                {"symbols stay where no axes meet", [] { output(sin(input({-1, -1}))); }},
                {"a broadcast axis is no other size",
                 [] {
                   TensorView* row = broadcast(input({-1}), {true, false});
                   output(add(row, input({-1, 1})));
                 }},
                {"two symbols",
                 [] {
                   TensorView* x = input({-1});
                   output(add(x, input({-1})));
                 }},
                {"a constant wins",
                 [] {
                   TensorView* x = input({-1, -1});
                   output(add(x, input({-1, 8})));
                 }},
                {"sizes in operands, and axes made by transforms",
                 [] {
                   TensorView* x = input({-1, -1});
                   TensorView* y = input({4, 6});
                   TensorView* z = add(x, y);
                   output(slice(x, {Slice{}, Slice{nullptr, size(3), nullptr}}));
                   output(flatten(z));
                 }},
                {"constants that differ are left to the run's error",
                 [] {
                   TensorView* x = input({4, 6});
                   output(gather(x, 0, input({3, 5}, DataType::Int)));
                 }},
            });
}

TEST_CASE("preseg: remove-empty") {
  checkPass("remove-empty",
            {
                {"symbols may be anything", [] { output(sin(input({-1, -1}))); }},
                {"an empty output is not computed", [] { output(sin(cos(input({-1, 0})))); }},
                {"reductions of nothing",
                 [] {
                   TensorView* x = sin(input({-1, 0}));
                   output(sum(x, {1}));
                   output(max(x, {1}));
                   output(prod(x, {1}, true));
                 }},
                {"a mean of nothing is left alone",
                 [] { output(Welford(sin(input({-1, 0})), {1}).avg); }},
                {"a pad of nothing",
                 [] { output(pad(sin(input({3, 0})), {size(1), size(2)}, number(2.5))); }},
                {"a part without elements",
                 [] {
                   TensorView* x = input({3, 4});
                   TensorView* nothing = slice(x, {0, 2}, {3, 2});
                   std::vector<TensorView*> padded;
                   padded.push_back(pad(sin(nothing), {size(0), size(4)}));
                   padded.push_back(set(x));
                   output(cat(padded, 1, std::nullopt, true));
                 }},
                {"scalars of no operand",
                 [] { output(full({size(0), size(3)}, number(1.0), DataType::Float)); }},
            });
}

TEST_CASE("preseg: consecutive-casts") {
  using enum PrimDataType;
  auto chain = [](DataType from, std::vector<DataType> steps) {
    return [from, steps] {
      TensorView* x = input({-1}, from);
      for (DataType step : steps) {
        x = castOp(step, x);
      }
      output(x);
    };
  };
  checkPass("consecutive-casts",
            {
                {"narrow, then wide: it rounds", chain(Float, {Half, Float})},
                {"other exponents: it overflows", chain(BFloat16, {Half, Float})},
                {"wide, then back", chain(BFloat16, {Float, BFloat16})},
                {"wide, then wider, then narrow", chain(Half, {Float, Double, BFloat16})},
                {"integers that fit", chain(Char, {Int, Short})},
                {"signs that do not", chain(Char, {UInt32, Int})},
                {"an integer as a real number, then as another integer: it saturates",
                 chain(Short, {Float, Byte})},
                {"a real number that holds the integer", chain(Short, {Float, Double})},
                {"one that does not", chain(Int, {Float, Double})},
                {"a large integer to a narrow number: two ways of rounding",
                 chain(Int32, {Double, BFloat16})},
                {"truth values", chain(Bool, {Float, Int})},
                {"real, then complex", chain(Float, {ComplexFloat, ComplexDouble})},
                {"the wide one is read by others, too",
                 [] {
                   TensorView* x = input({-1}, BFloat16);
                   TensorView* wide = castOp(Float, x);
                   output(sin(wide));
                   output(cos(castOp(BFloat16, wide)));
                 }},
                {"an output does not become an input, nor two outputs one",
                 [] {
                   TensorView* x = input({-1}, BFloat16);
                   TensorView* wide = castOp(Float, x);
                   output(wide);
                   output(castOp(BFloat16, wide));
                 }},
            });
}

TEST_CASE("preseg: own-spreads") {
  checkPass("own-spreads",
            {
                {"what is computed is stored",
                 [] {
                   TensorView* x = exp(input({-1}));
                   output(add(broadcast(x, {true, false}), broadcast(x, {false, true})));
                 }},
                {"one spread, and one more along the same axis",
                 [] {
                   TensorView* x = select(input({-1, 3}), 1, IrBuilder::create<Val>(int64_t{0}));
                   output(add(broadcast(x, {true, false}), neg(broadcast(x, {true, false}))));
                 }},
                {"differences of coordinates",
                 [] {
                   TensorView* x = select(input({-1, 3}), 1, IrBuilder::create<Val>(int64_t{0}));
                   output(sub(broadcast(x, {true, false}), broadcast(x, {false, true})));
                 }},
                {"a diagonal, of positions that are cast",
                 [] {
                   TensorView* places = castOp(DataType::Float, iota(size(4)));
                   output(eq(broadcast(places, {true, false}), broadcast(places, {false, true})));
                 }},
            });
}

TEST_CASE("preseg: short-axes") {
  checkPass("short-axes",
            {
                {"an input is read as it lies", [] { output(sum(input({-1, 3}), {1})); }},
                {"half precision is summed in float",
                 [] { output(sum(neg(input({-1, 3}, DataType::Half)), {1})); }},
                {"an axis of many, and one that only a call knows",
                 [] {
                   output(sum(sin(input({-1, 5})), {1}));
                   output(sum(sin(input({-1, -1})), {1}));
                 }},
                {"rows beside sums of each row",
                 [] {
                   TensorView* x = sin(input({4, -1}));
                   output(sum(x, {0}));
                   output(sum(x, {1}));
                 }},
                {"random numbers", [] { output(sum(rand_like(input({-1, 3})), {1})); }},
                {"squared distances of points",
                 [] {
                   TensorView* x = input({-1, 3});
                   TensorView* apart =
                       sub(broadcast(x, {true, false, false}), broadcast(x, {false, true, false}));
                   output(sum(mul(apart, apart), {2}));
                 }},
                {"areas of boxes",
                 [] {
                   TensorView* boxes = input({-1, 4});
                   Slice all{nullptr, nullptr, nullptr};
                   TensorView* low = slice(boxes, {all, Slice{size(0), size(2), nullptr}});
                   TensorView* high = slice(boxes, {all, Slice{size(2), size(4), nullptr}});
                   output(prod(sub(high, low), {1}));
                 }},
                {"a sum over all of them", [] { output(sum(abs(input({-1, 2})), {0, 1})); }},
                {"forces between points, summed for each",
                 [] {
                   TensorView* x = input({-1, 3});
                   TensorView* apart =
                       sub(broadcast(x, {true, false, false}), broadcast(x, {false, true, false}));
                   output(sum(apart, {1}));
                 }},
                {"gradients of distances, spread over points' coordinates",
                 [] {
                   TensorView* x = input({-1, 3});
                   TensorView* apart =
                       sub(broadcast(x, {true, false, false}), broadcast(x, {false, true, false}));
                   TensorView* weight = broadcast(exp(sum(apart, {2})), {false, false, true});
                   output(sum(mul(expand_as(weight, apart), apart), {0}));
                 }},
            });
}

TEST_CASE("preseg: short-planes") {
  checkPass(
      "short-planes",
      {
          {"an input whose elements lie side by side", [] { output(sum(input({-1, 3}), {1})); }},
          {"planes of an image", [] { output(max(input({-1, 3, -1, 64}), {1})); }},
          {"a sum of few rows of an input, beside sums of each",
           [] {
             TensorView* x = input({4, -1});
             output(sum(x, {0}));
             output(sum(x, {1}));
           }},
          {"coordinates that are joined",
           [] {
             TensorView* x = input({-1, 1});
             TensorView* ones = full({size(1), size(1)}, number(1), DataType::Float);
             TensorView* turn = input({3});
             TensorView* at = cat({x, neg(x), expand(ones, {x->axis(0)->extent(), size(1)})}, 1);
             output(sum(mul(at, broadcast(turn, {true, false})), {1}));
           }},
      });
}

TEST_CASE("preseg: join-equal") {
  auto whole = [] { return Slice{size(1), size(5), nullptr}; };
  checkPass("join-equal", {
                              {"random numbers",
                               [] {
                                 TensorView* x = input({-1});
                                 output(mul(rand_like(x), rand_like(x)));
                               }},
                              {"sums over other axes of a square, and a square turned",
                               [] {
                                 TensorView* x = input({8, 8});
                                 output(add(sum(x, {0}), sum(x, {1})));
                                 output(add(set(x), transpose(x, 0, 1)));
                               }},
                              {"other parts, other sizes, other dtypes",
                               [] {
                                 TensorView* x = input({12});
                                 output(add(slice(x, {{size(0), size(11), nullptr}}),
                                            slice(x, {{size(1), size(12), nullptr}})));
                                 output(reshape(x, {12}, {3, 4}));
                                 output(reshape(x, {12}, {4, 3}));
                                 output(castOp(DataType::Half, x));
                                 output(castOp(DataType::BFloat16, x));
                               }},
                              {"what reads no tensor",
                               [] {
                                 TensorView* x = input({4});
                                 output(add(x, full({size(4)}, number(2), DataType::Float)));
                                 output(sub(x, full({size(4)}, number(2), DataType::Float)));
                               }},
                              {"a part that is taken twice, with sizes of their own",
                               [whole] {
                                 TensorView* x = input({-1});
                                 output(mul(slice(x, {whole()}), slice(x, {whole()})));
                               }},
                              {"what a register holds",
                               [] {
                                 TensorView* x = input({-1});
                                 output(sin(x));
                                 output(mul(sin(x), x));
                               }},
                              {"what is computed from equal operands is equal",
                               [] {
                                 TensorView* x = input({-1, -1});
                                 output(mul(sum(exp(sin(x)), {1}), sum(exp(sin(x)), {1})));
                               }},
                              {"several results at once",
                               [] {
                                 TensorView* x = input({-1, -1});
                                 output(mul(variance_mean(x, {1}, 1, true).var,
                                            variance_mean(x, {1}, 1, true).mean));
                               }},
                              {"two outputs stay two",
                               [] {
                                 TensorView* x = input({-1});
                                 output(sum(x, {0}));
                                 output(sum(x, {0}));
                               }},
                          });
}

TEST_CASE("preseg: broadcast-squeeze") {
  checkPass(
      "broadcast-squeeze",
      {
          {"other axes",
           [] {
             TensorView* x = broadcast(input({-1, 1}), {true, false, false});
             output(squeeze(x, {2}));
           }},
          {"an expanded axis comes back unexpanded",
           [] {
             TensorView* x = expand(input({-1, 1}), {size(-1), size(7)});
             output(sin(broadcast(squeeze(x, std::vector<int64_t>{1}, true), {false, true})));
           }},
          {"added and dropped",
           [] {
             TensorView* x = broadcast(input({-1}), {true, false});
             output(sin(squeeze(x, {0})));
           }},
          {"added, expanded and dropped",
           [] {
             TensorView* x = expand(broadcast(input({-1}), {true, false}), {size(7), size(-1)});
             output(sin(squeeze(x, std::vector<int64_t>{0}, true)));
           }},
          {"added and partly dropped",
           [] {
             TensorView* x = broadcast(input({-1}), {true, false, true});
             output(sin(squeeze(x, {0})));
           }},
          {"dropped and added",
           [] {
             TensorView* x = squeeze(input({-1, 1}), {1});
             output(sin(broadcast(x, {false, true})));
           }},
          {"added twice",
           [] {
             TensorView* x = broadcast(input({-1}), {true, false});
             output(sin(broadcast(x, {false, true, false})));
           }},
          {"dropped twice", [] { output(sin(squeeze(squeeze(input({1, -1, 1}), {0}), {1}))); }},
          {"the middle is an output",
           [] {
             TensorView* x = broadcast(input({-1}), {true, false});
             output(x);
             output(sin(squeeze(x, {0})));
           }},
          {"a reduction that keeps its axis",
           [] {
             TensorView* x = input({-1, -1});
             output(squeeze(sum(x, {1}, true), {1}));
           }},
      });
}

TEST_CASE("preseg: cancel-split-cat") {
  auto parts = [](TensorView* x, std::vector<int64_t> cuts) {
    std::vector<TensorView*> result;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      result.push_back(slice(x, {Slice{}, Slice{size(cuts[i]), size(cuts[i + 1]), nullptr}}));
    }
    return result;
  };
  checkPass("cancel-split-cat",
            {
                {"another order",
                 [&] {
                   const auto p = parts(input({-1, 6}), {0, 2, 6});
                   output(cat({p[1], p[0]}, 1));
                 }},
                {"a gap",
                 [&] {
                   TensorView* x = input({-1, 8});
                   output(cat({parts(x, {0, 2})[0], parts(x, {4, 8})[0]}, 1));
                 }},
                {"another axis",
                 [&] {
                   const auto p = parts(input({4, 8}), {0, 4, 8});
                   output(cat(p, 0));
                 }},
                {"operations that differ",
                 [&] {
                   const auto p = parts(input({-1, 6}), {0, 2, 6});
                   output(cat({mul(p[0], number(2.0)), mul(p[1], number(3.0))}, 1));
                 }},
                {"two tensors",
                 [&] {
                   TensorView* x = input({-1, 6});
                   TensorView* y = input({-1, 6});
                   output(cat({parts(x, {0, 2})[0], parts(y, {2, 6})[0]}, 1));
                 }},
                {"in order", [&] { output(cat(parts(input({-1, 6}), {0, 2, 6}), 1)); }},
                {"part of the tensor", [&] { output(cat(parts(input({-1, 9}), {2, 4, 7}), 1)); }},
                {"the same operations on each",
                 [&] {
                   std::vector<TensorView*> done;
                   for (TensorView* p : parts(input({-1, 6}), {0, 2, 6})) {
                     done.push_back(sin(mul(p, number(2.0))));
                   }
                   output(cat(done, 1));
                 }},
                {"chunks of a symbolic size", [] { output(cat(chunk(input({-1, -1}), 2, 1), 1)); }},
            });
}

TEST_CASE("preseg: cat-to-repeat") {
  checkPass("cat-to-repeat", {
                                 {"two tensors computed alike",
                                  [] {
                                    TensorView* x = input({-1, 6});
                                    output(cat({sin(x), sin(x)}, 1));
                                  }},
                                 {"one tensor",
                                  [] {
                                    TensorView* x = sin(input({-1, 6}));
                                    output(cat({x, x}, 1));
                                  }},
                                 {"three times, symbolic",
                                  [] {
                                    TensorView* x = input({-1, -1});
                                    output(cat({x, x, x}, 0));
                                  }},
                             });
}

TEST_CASE("preseg: narrow-joins") {
  auto inputs = [](size_t count, const std::vector<int64_t>& shape) {
    std::vector<TensorView*> parts;
    for (size_t i = 0; i < count; ++i) {
      parts.push_back(input(shape));
    }
    return parts;
  };
  checkPass("narrow-joins",
            {
                {"sixteen", [&] { output(cat(inputs(16, {2, 3}), 1)); }},
                {"seventeen of a symbolic size", [&] { output(cat(inputs(17, {-1, 3}), 0)); }},
            });
}

TEST_CASE("preseg: hoist-reads") {
  checkPass(
      "hoist-reads",
      {
          {"an input", [] { output(slice(input({-1, 8}), {0, 2}, {4, 5})); }},
          {"the whole is an output, too",
           [] {
             TensorView* x = sin(input({6, 8}));
             output(x);
             output(slice(x, {0, 2}, {6, 5}));
           }},
          {"others read it",
           [] {
             TensorView* x = sin(input({6, 8}));
             output(slice(x, {0, 2}, {6, 5}));
             output(sum(x, {1}));
           }},
          {"a reduction", [] { output(select(sum(input({6, 8}), {1}), 0, size(2))); }},
          {"a gather of two operands",
           [] {
             TensorView* x = input({6, 8});
             TensorView* y = input({6, 1});
             output(gather(add(x, y), 0, input({3, 8}, DataType::Int)));
           }},
          {"a slice of a chain", [] { output(slice(cos(sin(input({6, 8}))), {0, 2}, {6, 5})); }},
          {"a slice of two operands, one broadcast",
           [] {
             TensorView* x = input({6, 8});
             TensorView* y = input({6, 1});
             output(slice(add(x, y), {0, 2}, {6, 5}));
           }},
          {"a slice of two operands, one expanded",
           [] {
             TensorView* x = input({6, 8});
             TensorView* y = expand(input({6, 1}), {size(6), size(8)});
             output(slice(add(sin(x), y), {0, 2}, {6, 5}));
           }},
          {"halves",
           [] {
             TensorView* x = sin(input({6, 8}));
             TensorView* left = slice(x, {0, 0}, {6, 4});
             output(mul(left, slice(x, {0, 4}, {6, 8})));
           }},
          {"a selected row of a sum",
           [] {
             TensorView* x = input({6, 8});
             TensorView* y = input({8});
             output(select(add(x, broadcast(y, {true, false})), 0, size(3)));
           }},
          {"an index-select and a gather",
           [] {
             TensorView* x = castOp(DataType::Float, input({-1, 8}, DataType::BFloat16));
             TensorView* rows = indexSelect(x, 0, input({-1}, DataType::Int));
             output(gather(neg(rows), 1, input({-1, -1}, DataType::Int)));
           }},
          {"take along an axis",
           [] {
             TensorView* x = exp(input({6, 8}));
             output(takeAlongAxis(x, input({6, 1}, DataType::Int), 1));
           }},
      });
}

TEST_CASE("preseg: move-pad") {
  const auto widths = [] { return std::vector<Val*>{size(1), size(2)}; };
  checkPass("move-pad",
            {
                {"an input", [&] { output(pad(input({-1, 8}), widths())); }},
                {"another value", [&] { output(pad(relu(input({8})), widths(), number(1.0))); }},
                {"-0", [&] { output(pad(relu(input({8})), widths(), number(-0.0))); }},
                {"zero becomes -0", [&] { output(pad(neg(input({8})), widths())); }},
                {"zero becomes one", [&] { output(pad(exp(input({8})), widths())); }},
                {"others read it",
                 [&] {
                   TensorView* x = relu(input({8}));
                   output(pad(x, widths()));
                   output(sin(x));
                 }},
                {"a broadcast axis would be padded",
                 [&] {
                   TensorView* x = input({6, 8});
                   output(pad(mul(x, input({6, 1})), widths()));
                 }},
                {"a concatenation's own",
                 [] {
                   TensorView* x = input({6, 8});
                   output(cat({relu(x), relu(input({6, 3}))}, 1));
                 }},
                {"a chain",
                 [&] {
                   TensorView* x = castOp(DataType::Float, input({8}, DataType::Half));
                   output(pad(sin(relu(x)), widths()));
                 }},
                {"two operands, one broadcast along another axis",
                 [&] {
                   TensorView* x = input({6, 8});
                   output(pad(mul(x, input({1, 8})), widths()));
                 }},
                {"a scalar factor", [&] { output(pad(mul(input({8}), number(0.5)), widths())); }},
                {"a symbolic factor may be infinite",
                 [&] {
                   Val* factor = IrBuilder::create<Val>(DataType::Double);
                   FusionGuard::getCurFusion()->addInput(factor);
                   output(pad(mul(input({8}), factor), widths()));
                 }},
            });
}

namespace {

TensorView* channelsLast() {
  TensorView* x = TensorViewBuilder().ndims(4).contiguity(true).strideOrder({3, 0, 2, 1}).build();
  FusionGuard::getCurFusion()->addInput(x);
  return x;
}

}  // namespace

TEST_CASE("preseg: memory-order") {
  checkPass("memory-order",
            {
                {"inputs in the usual order", [] { output(sin(input({-1, -1}))); }},
                {"two inputs that differ",
                 [] {
                   TensorView* x = channelsLast();
                   output(add(x, input({-1, -1, -1, -1})));
                 }},
                {"an order that the user has set",
                 [] {
                   TensorView* y = sin(channelsLast());
                   output(y);
                   y->setAllocationDomain(y->getLogicalDomain(), true);
                 }},
                {"an output that reuses an input's storage",
                 [] {
                   TensorView* x = channelsLast();
                   TensorView* y = sin(x);
                   FusionGuard::getCurFusion()->aliasOutputToInput(y, x,
                                                                   AllocationType::ReuseBuffer);
                 }},
                {"axes of its own", [] { output(flatten(channelsLast(), 1, 2)); }},
                {"channels last", [] { output(sin(channelsLast())); }},
                {"with a bias",
                 [] {
                   TensorView* x = channelsLast();
                   TensorView* bias = broadcast(input({-1}), {true, false, true, true});
                   output(add(x, bias));
                 }},
                {"a permutation", [] { output(permute(sin(channelsLast()), {1, 0, 2, 3})); }},
                {"a reduction", [] { output(sum(channelsLast(), {2})); }},
                {"a reduction that keeps its axis", [] { output(sum(channelsLast(), {2}, true)); }},
            });
}

TEST_CASE("preseg: mark-views") {
  checkPass("mark-views", {
                              {"a copy that was asked for", [] { output(set(input({-1, -1}))); }},
                              {"the input itself",
                               [] {
                                 TensorView* x = input({-1, -1});
                                 output(x);
                               }},
                              {"the input is overwritten",
                               [] {
                                 TensorView* x = input({-1, -1});
                                 output(permute(x, {1, 0}));
                                 TensorView* y = sin(x);
                                 FusionGuard::getCurFusion()->aliasOutputToInput(
                                     y, x, AllocationType::ReuseBuffer);
                               }},
                              {"a permutation of what is computed",
                               [] { output(permute(sin(input({4, 6})), {1, 0})); }},
                              {"part of what is computed",
                               [] { output(slice(sum(input({4, 6, 8}), {0}), {1, 0}, {2, 8})); }},
                              {"an order that the user has set",
                               [] {
                                 TensorView* y = permute(input({4, 6}), {1, 0});
                                 output(y);
                                 y->setAllocationDomain({y->axis(1), y->axis(0)}, true);
                               }},
                              {"views of inputs",
                               [] {
                                 TensorView* x = input({4, 6});
                                 output(permute(x, {1, 0}));
                                 output(reshape(x, {4, 6}, {2, 12}));
                                 output(slice(x, {1, 2}, {3, 6}));
                                 output(broadcast(select(x, 0, size(2)), {true, false}));
                                 output(expand(unsqueeze(x, 0), {size(5), size(-1), size(-1)}));
                               }},
                              {"a result in another shape",
                               [] { output(reshape(sin(input({4, 6})), {4, 6}, {3, 8})); }},
                              {"views of outputs, and of views",
                               [] {
                                 TensorView* y = sin(input({4, 6}));
                                 TensorView* turned = permute(y, {1, 0});
                                 output(y);
                                 output(turned);
                                 output(slice(turned, {1, 1}, {3, 4}));
                               }},
                          });
}
