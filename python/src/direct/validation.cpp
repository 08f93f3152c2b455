// Comparing results with what the fusion means.

#include <runtime/validation.h>

#include "arrays.h"
#include "direct/bindings.h"
#include "direct/fusion.h"
#include "interpreter_lock.h"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <ops/all_ops.h>
#include <runtime/launch_values.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

/// Of the most elements that are reduced on a way from the inputs to each value.
class ReductionSizes {
 public:
  ReductionSizes(const nvfuser::Fusion& fusion, const KernelArgumentHolder& args)
      : evaluator_(bindAllInputs(fusion, args)) {}

  double of(const Val* val) {
    const Expr* definition = val->definition();
    if (!val->isA<TensorView>() || definition == nullptr) {
      return 1;
    }
    if (const auto known = known_.find(val); known != known_.end()) {
      return known->second;
    }
    double before = 1;
    for (const Val* input : definition->inputs()) {
      before = std::max(before, of(input));
    }
    double here = 1;
    for (const IterDomain* axis : val->as<TensorView>()->getLogicalDomain()) {
      if (axis->isReduction()) {
        const PolymorphicValue extent = evaluator_.evaluate(axis->extent());
        here *= extent.hasValue() ? static_cast<double>(extent.as<int64_t>()) : 1;
      }
    }
    return known_[val] = std::max(before, here);
  }

 private:
  ExpressionEvaluator evaluator_;
  std::map<const Val*, double> known_;
};

/// Half an ulp of 1.
double roundingOf(DataType dtype) { return std::ldexp(1.0, -significandBits(dtype)); }

std::vector<std::pair<double, double>> tolerances(const IrFusion& fusion, nb::handle args) {
  const Inputs given(args);
  const nvfuser::Fusion& graph = fusion.definition->graph;
  ReductionSizes sizes(graph, given.holder());
  std::vector<std::pair<double, double>> result;
  for (const Val* output : graph.outputs()) {
    if (significandBits(output->dtype()) == 0) {
      result.emplace_back(0, 0);
      continue;
    }
    // Sums of n terms in random order are off by about √n roundings of the sum's dtype; the factor
    // leaves room for libm's ulps and for terms that cancel.
    const DataType inner =
        isReducedPrecisionFloat(output->dtype()) ? DataType(DataType::Float) : output->dtype();
    const double off = 16 * roundingOf(inner) * (1 + std::sqrt(sizes.of(output))) +
                       2 * roundingOf(output->dtype());
    result.emplace_back(off, off);
  }
  return result;
}

/// Outputs as the fusion's meaning has them, computed by the interpreter.
void validate(const IrFusion& fusion, nb::handle outputs, nb::handle args) {
  const Inputs given(args);
  const Inputs results(outputs);
  const RunContext context = results.context();
  OthersRun others_run;
  results.waitFor(context);
  testValidate(&fusion.definition->graph, results.holder(), given.holder(), 0, "validate");
}

}  // namespace

void bindValidation(nb::module_& direct) {
  using namespace nb::literals;
  direct.def("validate_with_auto_inferred_outputs", &validate, "fusion"_a, "fusion_outputs"_a,
             "args"_a,
             "Compares outputs with what the fusion means, computed operation by operation with "
             "sums in double precision. A RuntimeError names the first output that differs, its "
             "worst element and the tolerance.");
  direct.def("get_val_tolerances", &tolerances, "fusion"_a, "args"_a,
             "(atol, rtol) of each output, by its dtype and by how many elements are reduced.");
}

}  // namespace nvfuser::python
