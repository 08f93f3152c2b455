/// Rows of the operation table that combine elements: reductions, and what is composed from them.
#include <doctest/doctest.h>

#include "operation_table_pointwise.h"
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>
#include <ops/normalization.h>

namespace nvfuser::table {

namespace {

std::string nameOf(DataType dtype) { return std::string(dataTypeName(dtype)); }
Val* real(double value) { return IrBuilder::create<Val>(value); }

void reductionTable(Table& table) {
  const Sizes sizes = {6, 17};
  const Sizes none = {0, 17};
  for (DataType dtype : allDataTypes()) {
    using Reduce = TensorView* (*)(TensorView*, const std::vector<int64_t>&, bool, DataType);
    struct Kind {
      const char* name;
      Reduce reduce;
      Values exact;
      bool ordered;
    };
    for (const Kind& kind :
         {Kind{"sum", &sum, Values::Whole, false}, Kind{"prod", &prod, Values::Factor, false},
          Kind{"max", &max, Values::Special, true}, Kind{"min", &min, Values::Special, true}}) {
      // Numbers whose combination is exact in every order.
      auto all = [&](Definition& d) {
        d.accuracy.exact = true;
        TensorView* x = d.tensor(sizes, dtype, kind.exact, none);
        d.output(kind.reduce(x, {1}, false, DataType::Null));
        d.output(kind.reduce(x, {0}, true, DataType::Null));
        d.output(kind.reduce(x, {0, -1}, false, DataType::Null));
      };
      if (kind.ordered && isComplexType(dtype)) {
        table.refused(kind.name, nameOf(dtype), "not defined for operands of type", all);
        continue;
      }
      table.program(kind.name, nameOf(dtype), all);
      table.program(
          kind.name, nameOf(dtype) + " of a 0-dim tensor and of an expanded axis",
          [&](Definition& d) {
            d.accuracy.statistical = true;
            d.output(kind.reduce(d.tensor({}, dtype, Values::Ordinary), {}, false, DataType::Null));
            d.output(kind.reduce(d.expandedTensor({3, 5}, dtype, Values::Factor), {0, 1}, false,
                                 DataType::Null));
          });
      if (!kind.ordered) {
        table.program(kind.name, nameOf(dtype) + " rounded", [&](Definition& d) {
          d.accuracy.statistical = true;
          TensorView* x =
              d.tensor(sizes, dtype, kind.reduce == &prod ? Values::Factor : Values::Ordinary);
          d.output(kind.reduce(x, {1}, false, DataType::Null));
          d.output(kind.reduce(x, {0}, false,
                               isComplexType(dtype) ? DataType(DataType::ComplexDouble)
                                                    : DataType(DataType::Double)));
        });
        if (!isComplexType(dtype)) {
          table.program(kind.name, nameOf(dtype) + " of special values", [&](Definition& d) {
            d.accuracy.statistical = true;
            d.output(kind.reduce(
                d.tensor(sizes, dtype,
                         isFloatingPointType(dtype) ? Values::Special : Values::Ordinary),
                {0}, false, DataType::Null));
          });
        }
      }
    }
    table.program("mean", nameOf(dtype), [&](Definition& d) {
      d.accuracy.statistical = true;
      TensorView* x = d.tensor(sizes, dtype, Values::Ordinary, none);
      d.output(mean(x, {1}, false));
      d.output(mean(x, {0, 1}, true));
    });
    table.program("variance", nameOf(dtype), [&](Definition& d) {
      d.accuracy.statistical = true;
      TensorView* x = d.tensor(sizes, dtype, Values::Ordinary, none);
      d.output(variance(x, {1}, true, false));
      d.output(variance(x, {0}, int64_t{0}, true));
      d.output(standard_deviation(x, {1}, false, true));
    });
    auto both = [&](Definition& d) {
      d.accuracy.statistical = true;
      const VarMeanResult r =
          variance_mean(d.tensor(sizes, dtype, Values::Ordinary, none), {1}, 1, false);
      d.output(r.var);
      d.output(r.mean);
    };
    isReducedPrecisionFloat(dtype)
        ? table.refused("variance_mean", nameOf(dtype), "variance_mean is not supported for", both)
        : table.program("variance_mean", nameOf(dtype), both);
    auto welford = [&](Definition& d) {
      d.accuracy.statistical = true;
      const WelfordResult r = Welford(d.tensor(sizes, dtype, Values::Ordinary, none), {0});
      d.output(r.avg);
      d.output(r.var_sum);
      d.output(r.n);
    };
    dtype == DataType::Float || dtype == DataType::Double
        ? table.program("Welford", nameOf(dtype), welford)
        : table.refused("Welford", nameOf(dtype), "please upcast to float", welford);
    table.program("sum_to", nameOf(dtype), [&](Definition& d) {
      d.accuracy.exact = true;
      TensorView* x = d.tensor({3, 5, 7}, dtype, Values::Whole, Sizes{0, 5, 7});
      d.output(sum_to(x, std::vector<int64_t>{5, 1}));
      TensorView* y = d.tensor({3, 5, 7}, dtype, Values::Whole, Sizes{3, 5, 0});
      d.output(sum_to(y, std::vector<int64_t>{5, 1}));
    });
  }
}

/// Composites that refuse a class of dtypes, as in operation_table_pointwise.h.
constexpr std::string_view kReal = "a tensor of real numbers is needed";
constexpr std::string_view kUndefined = "not defined for operands of type";
constexpr Refusal kRefusals[] = {
    {"softmax", "c", kReal},
    {"softmax of 0-dim", "c", kReal},
    {"softmax backward", "c", kReal},
    {"gelu", "c", kUndefined},
    {"silu", "bi", kUndefined},
    {"leaky_relu", "c", kUndefined},
    {"softplus", "c", kUndefined},
    {"layer_norm", "c", kReal},
    {"layer_norm backward", "c", kReal},
    {"rms_norm", "c", kReal},
    {"rms_norm backward", "c", kReal},
    {"batch_norm", "c", kReal},
    {"batch_norm training", "c", kReal},
    {"batch_norm backward", "c", kReal},
    {"instance_norm", "c", kReal},
    {"instance_norm backward", "c", kReal},
};

void compositeTable(Table& table) {
  const Sizes sizes = {6, 19};
  const Sizes none = {0, 19};
  for (DataType dtype : allDataTypes()) {
    const std::string name = nameOf(dtype);
    const DataType wide = dtype == DataType::Double ? DataType::Double : DataType::Float;
    auto row = [&](const char* kind, const std::function<void(Definition&)>& define) {
      auto with_accuracy = [&](Definition& d) {
        d.accuracy.statistical = true;
        define(d);
      };
      const std::string_view wording = refusalOf(kind, dtype, kRefusals);
      wording.empty() ? table.program(kind, name, with_accuracy)
                      : table.refused(kind, name, std::string(wording), with_accuracy);
    };
    auto ordinary = [&](Definition& d) { return d.tensor(sizes, dtype, Values::Ordinary, none); };
    row("softmax", [&](Definition& d) {
      TensorView* x = ordinary(d);
      d.output(softmax(x, 1));
      d.output(softmax(x, 0));
      d.output(log_softmax(x, -1));
      d.output(softmax(d.tensor(sizes, dtype, Values::Special, none), 1));
    });
    row("softmax of 0-dim", [&](Definition& d) {
      TensorView* x = d.tensor({}, dtype, Values::Ordinary);
      d.output(softmax(x, 0));
      d.output(log_softmax(x, -1));
    });
    row("softmax backward", [&](Definition& d) {
      TensorView* dy = ordinary(d);
      TensorView* y = ordinary(d);
      d.output(softmax_backward(dy, y, 1));
      d.output(log_softmax_backward(dy, y, 1));
    });
    row("gelu", [&](Definition& d) {
      TensorView* x = ordinary(d);
      TensorView* dy = ordinary(d);
      d.output(gelu(x));
      d.output(gelu_backward(dy, x));
      d.output(gelu(d.tensor({}, dtype, Values::Ordinary)));
    });
    row("tanh_gelu", [&](Definition& d) {
      TensorView* x = ordinary(d);
      TensorView* dy = ordinary(d);
      d.output(tanh_gelu(x));
      d.output(tanh_gelu_backward(dy, x));
      d.output(tanh_backward(dy, x));
      d.output(tanh_gelu(d.tensor({}, dtype, Values::Ordinary)));
    });
    row("silu", [&](Definition& d) {
      d.output(silu(ordinary(d)));
      d.output(silu(d.tensor({}, dtype, Values::Ordinary)));
    });
    row("leaky_relu", [&](Definition& d) {
      d.output(leaky_relu(d.tensor(sizes, dtype, Values::Special, none), real(0.01)));
      d.output(leaky_relu(d.tensor({}, dtype, Values::Special), real(0.01)));
    });
    row("softplus", [&](Definition& d) {
      d.output(softplus(d.tensor(sizes, dtype, Values::Special, none), real(1.0), real(20.0)));
      d.output(softplus(d.tensor({}, dtype, Values::Special), real(1.0), real(20.0)));
    });
    row("dropout_backward", [&](Definition& d) {
      d.output(dropout_backward(
          ordinary(d), d.tensor(sizes, DataType::Bool, Values::Ordinary, none), real(1.25)));
    });
    row("lstm", [&](Definition& d) {
      const LstmResult r = lstm(ordinary(d), ordinary(d), ordinary(d), ordinary(d), ordinary(d));
      d.output(r.cell);
      d.output(r.hidden);
    });
    row("layer_norm", [&](Definition& d) {
      const ForwardNormResult r =
          layer_norm(ordinary(d), 1, d.tensor({19}, dtype, Values::Ordinary),
                     d.tensor({19}, dtype, Values::Ordinary), real(1e-5));
      d.output(r.output);
      d.output(r.mean);
      d.output(r.invstd);
    });
    row("layer_norm backward", [&](Definition& d) {
      const BackwardNormResult r = layer_norm_backward(
          ordinary(d), ordinary(d), {-1}, d.tensor({6, 1}, wide, Values::Ordinary, Sizes{0, 1}),
          d.tensor({6, 1}, wide, Values::Positive, Sizes{0, 1}),
          d.tensor({19}, dtype, Values::Ordinary), d.tensor({19}, dtype, Values::Ordinary),
          {true, true, true});
      d.output(r.grad_input);
      d.output(r.grad_weight);
      d.output(r.grad_bias);
    });
    row("rms_norm", [&](Definition& d) {
      const ForwardRMSNormResult r =
          rms_norm(ordinary(d), 1, d.tensor({19}, dtype, Values::Ordinary), real(1e-5));
      d.output(r.output);
      d.output(r.invstd);
    });
    row("rms_norm backward", [&](Definition& d) {
      const BackwardRMSNormResult r = rms_norm_backward(
          ordinary(d), ordinary(d), {-1}, d.tensor({6, 1}, wide, Values::Positive, Sizes{0, 1}),
          d.tensor({19}, dtype, Values::Ordinary), {true, true});
      d.output(r.grad_input);
      d.output(r.grad_weight);
    });
    for (bool training : {true, false}) {
      row(training ? "batch_norm training" : "batch_norm", [&](Definition& d) {
        TensorView* x = d.tensor({4, 3, 5}, dtype, Values::Ordinary, Sizes{0, 3, 5});
        auto channel = [&](Values values) { return d.tensor({3}, wide, values); };
        const ForwardNormResult r =
            training ? batch_norm(x, channel(Values::Ordinary), channel(Values::Ordinary), nullptr,
                                  nullptr, true, real(0.1), real(1e-5))
                     : batch_norm(x, nullptr, nullptr, channel(Values::Ordinary),
                                  channel(Values::Positive), false, real(0.1), real(1e-5));
        d.output(r.output);
        if (training) {
          d.output(r.mean);
          d.output(r.invstd);
        }
      });
    }
    row("batch_norm backward", [&](Definition& d) {
      auto channel = [&](Values values) { return d.tensor({3}, wide, values); };
      TensorView* x = d.tensor({4, 3, 5}, dtype, Values::Ordinary, Sizes{0, 3, 5});
      const BackwardNormResult r = batch_norm_backward(
          x, d.tensor({4, 3, 5}, dtype, Values::Ordinary, Sizes{0, 3, 5}),
          channel(Values::Ordinary), nullptr, nullptr, channel(Values::Ordinary),
          channel(Values::Positive), true, real(1e-5), {true, true, true});
      d.output(r.grad_input);
      d.output(r.grad_weight);
      d.output(r.grad_bias);
    });
    row("instance_norm", [&](Definition& d) {
      const ForwardNormResult r = instance_norm(
          d.tensor({4, 3, 7}, dtype, Values::Ordinary, Sizes{0, 3, 7}),
          d.tensor({3}, wide, Values::Ordinary), d.tensor({3}, wide, Values::Ordinary), nullptr,
          nullptr, true, real(0.1), real(1e-5));
      d.output(r.output);
      d.output(r.mean);
    });
    row("instance_norm backward", [&](Definition& d) {
      const BackwardNormResult r =
          instance_norm_backward(d.tensor({4, 3, 7}, dtype, Values::Ordinary, Sizes{0, 3, 7}),
                                 d.tensor({4, 3, 7}, dtype, Values::Ordinary, Sizes{0, 3, 7}),
                                 d.tensor({3}, wide, Values::Ordinary), nullptr, nullptr,
                                 d.tensor({4, 3}, wide, Values::Ordinary, Sizes{0, 3}),
                                 d.tensor({4, 3}, wide, Values::Positive, Sizes{0, 3}), true,
                                 real(1e-5), {true, true, true});
      d.output(r.grad_input);
      d.output(r.grad_weight);
      d.output(r.grad_bias);
    });
  }
}

void runReductions(Device& device) {
  Table table("reductions", device);
  reductionTable(table);
  table.run(2000);
}
void runComposites(Device& device) {
  Table table("composites", device);
  compositeTable(table);
  table.run(500);
}

}  // namespace

TEST_CASE("operation table: reductions on cpu") { runReductions(cpuDevice()); }
TEST_CASE("operation table: reductions on CUDA") { runReductions(table::cudaLike()); }
TEST_CASE("operation table: composites on cpu") { runComposites(cpuDevice()); }
TEST_CASE("operation table: composites on CUDA") { runComposites(table::cudaLike()); }

}  // namespace nvfuser::table
