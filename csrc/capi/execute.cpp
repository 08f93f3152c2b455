/// Executing a fusion on tensors that the caller lends or hands over.
#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <string>

#include <capi/arguments.h>
#include <capi/callers_context.h>
#include <capi/fusion_handle.h>
#include <capi/guarded.h>
#include <runtime/run_context.h>
#include <support/error.h>
#include <support/options.h>

using namespace nvfuser;
using namespace nvfuser::capi;

namespace {

int64_t visibleOutputs(const Fusion& fusion) {
  return std::count_if(fusion.outputs().begin(), fusion.outputs().end(), [&](const Val* output) {
    return fusion.getOutputAlias(output).visibility == OutputVisibility::kVisible;
  });
}

/// The tensors and numbers of one execution. Takes over managed tensors at once, so that none is
/// lost in an error.
class Inputs {
 public:
  Inputs(const nvf_argument* inputs, int64_t count) {
    std::string trouble;
    for (int64_t i = 0; i < count; ++i) {
      try {
        holder_.push(argument(inputs[i]));
      } catch (const std::exception& error) {
        if (trouble.empty()) {
          trouble = text("execute: input ", i, ": ", std::string_view(error.what()));
        }
      }
    }
    if (!trouble.empty()) {
      throw ArgumentError(trouble);
    }
  }

  const KernelArgumentHolder& holder() const { return holder_; }

  /// `output`, or a copy of it if it is in memory that the caller only lent.
  Tensor own(const Tensor& output, const RunContext& context) const {
    const auto* at = static_cast<const std::byte*>(output.data());
    for (const auto& [begin, end] : borrowed_) {
      if (at != nullptr && at >= begin && at < end) {
        Tensor copy = Tensor::emptyStrided(output.sizes(), rowMajorStrides(output.sizes()),
                                           output.dtype(), output.device(), context);
        copy.copyFrom(output, context.stream);
        return copy;
      }
    }
    return output;
  }

 private:
  KernelArgument argument(const nvf_argument& input) {
    switch (input.kind) {
      case NVF_ARG_TENSOR: {
        requirePointer(input.tensor, "the tensor");
        // Lent by a tensor object of our own, whose deleter leaves the caller's memory alone.
        auto lent = std::make_unique<nvfuser::DLManagedTensor>();
        lent->dl_tensor = *static_cast<const nvfuser::DLTensor*>(input.tensor);
        lent->deleter = [](nvfuser::DLManagedTensor* self) { delete self; };
        Tensor tensor = Tensor::fromDLPack(lent.release());
        remember(tensor);
        return tensor;
      }
      case NVF_ARG_MANAGED:
        requirePointer(input.tensor, "the tensor");
        return Tensor::fromDLPack(static_cast<nvfuser::DLManagedTensor*>(input.tensor));
      case NVF_ARG_BOOL:
        return PolymorphicValue(input.integer != 0);
      case NVF_ARG_INT:
        return PolymorphicValue(input.integer);
      case NVF_ARG_DOUBLE:
        return PolymorphicValue(input.real);
      case NVF_ARG_COMPLEX:
        return PolymorphicValue(std::complex<double>(input.real, input.imag));
      default:
        throw ArgumentError("is neither a tensor nor a number");
    }
  }

  void remember(const Tensor& tensor) {
    if (tensor.data() == nullptr || tensor.numel() == 0) {
      return;
    }
    const auto* begin = static_cast<const std::byte*>(tensor.data());
    const std::byte* end = begin + dataTypeSizeByte(tensor.dtype());
    for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
      end += (tensor.size(axis) - 1) * tensor.stride(axis) * dataTypeSizeByte(tensor.dtype());
    }
    borrowed_.emplace_back(begin, end);
  }

  KernelArgumentHolder holder_;
  std::vector<std::pair<const std::byte*, const std::byte*>> borrowed_;
};

KernelArgumentHolder execute(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                             const RunContext& context, struct ::DLManagedTensor** outputs,
                             int64_t capacity, int64_t* count) {
  const Inputs arguments(inputs, inputs == nullptr ? 0 : input_count);
  requirePointer(fusion, "the fusion");
  requirePointer(count, "count");
  FusionExecutorCache& executor = executorOf(*fusion);
  const int64_t expected = visibleOutputs(fusion->graph);
  if (expected > capacity) {
    throw ArgumentError(text("execute: there are ", expected, " outputs, but room for ", capacity));
  }
  std::optional<OptionsGuard> guard;
  if (fusion->options) {
    guard.emplace(*fusion->options);
  }
  KernelArgumentHolder results;
  for (const KernelArgument& result :
       executor.runFusionWithInputs(arguments.holder(), {}, nullptr, context)) {
    results.push(arguments.own(result.tensor(), context));
  }
  check(static_cast<int64_t>(results.size()) == expected, "an execution gives each output");
  for (size_t i = 0; i < results.size(); ++i) {
    outputs[i] = reinterpret_cast<struct ::DLManagedTensor*>(results[i].tensor().toDLPack());
  }
  *count = expected;
  return results;
}

}  // namespace

extern "C" {

int nvf_execute(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                struct ::DLManagedTensor** outputs, int64_t capacity, int64_t* count) {
  return guarded([&] {
    const KernelArgumentHolder results =
        execute(fusion, inputs, input_count, {}, outputs, capacity, count);
    for (const KernelArgument& result : results) {
      result.tensor().device().synchronize(nullptr);
    }
  });
}

int nvf_execute_in(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                   const nvf_run_context* context, struct ::DLManagedTensor** outputs,
                   int64_t capacity, int64_t* count) {
  return guarded(
      [&] { execute(fusion, inputs, input_count, contextOf(context), outputs, capacity, count); });
}

int nvf_output_count(nvf_fusion* fusion, int64_t* count) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    requirePointer(count, "count");
    *count = visibleOutputs(fusion->graph);
  });
}

int nvf_draw_count(nvf_fusion* fusion, int64_t* count) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    requirePointer(count, "count");
    *count = executorOf(*fusion).numDraws();
  });
}

int nvf_allow_fallback(nvf_fusion* fusion, int32_t allowed) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    fusion->options.reset();
    if (allowed == 0) {
      fusion->options = Options::current().disable("fallback");
    }
  });
}

int nvf_set_random_state(nvf_fusion* fusion, uint64_t seed, uint64_t offset) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    executorOf(*fusion).setRandomState(seed, offset);
  });
}

}  // extern "C"
