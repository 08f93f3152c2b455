/// Executing a fusion on tensors that the caller lends or hands over.
#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <string>

#include <capi/arguments.h>
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

/// An nvf_allocator, of which the caller may forget the struct after the call.
class CallersAllocator final : public Allocator {
 public:
  explicit CallersAllocator(const nvf_allocator& functions) : functions_(functions) {
    if (functions.allocate == nullptr || functions.release == nullptr) {
      throw ArgumentError("execute: an allocator needs both functions, allocate and release");
    }
  }

  Block allocate(size_t bytes, Device& device, Stream stream) override {
    Block block;
    const DLDevice where = toDLDevice(device);
    const int status =
        functions_.allocate(functions_.user, static_cast<int64_t>(bytes), where.device_type,
                            where.device_id, stream, &block.data, &block.handle);
    if (status != 0) {
      userError("execute: the caller's allocator gave status ", status, " for ", bytes,
                " bytes on ", device.properties().name);
    }
    return block;
  }
  void release(const Block& block, Device& device, Stream stream) noexcept override {
    const DLDevice where = toDLDevice(device);
    functions_.release(functions_.user, block.data, block.handle, where.device_type,
                       where.device_id, stream);
  }

 private:
  nvf_allocator functions_;
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

/// The caller's maker of outputs.
class CallersOutputs final : public OutputMaker {
 public:
  explicit CallersOutputs(const nvf_output_maker& maker) : maker_(maker) {}

  bool make(size_t index, const Allocator::Form& form, Device& device, Stream,
            void** data) override {
    const DLDevice where = toDLDevice(device);
    return maker_.make(maker_.user, static_cast<int64_t>(index), codeOf(form.dtype),
                       static_cast<int64_t>(form.sizes.size()), form.sizes.data(),
                       form.strides.data(), where.device_type, where.device_id, data) == 0;
  }

 private:
  const nvf_output_maker& maker_;
};

/// False for what `execute` has to deal with: tensors that are handed over, and what is wrong.
bool lendArgument(const nvf_argument& input, LentArgument& lent) {
  switch (input.kind) {
    case NVF_ARG_TENSOR:
      return input.tensor != nullptr &&
             lend(*static_cast<const nvfuser::DLTensor*>(input.tensor), lent);
    case NVF_ARG_BOOL:
      lent = PolymorphicValue(input.integer != 0);
      return true;
    case NVF_ARG_INT:
      lent = PolymorphicValue(input.integer);
      return true;
    case NVF_ARG_DOUBLE:
      lent = PolymorphicValue(input.real);
      return true;
    case NVF_ARG_COMPLEX:
      lent = PolymorphicValue(std::complex<double>(input.real, input.imag));
      return true;
    default:
      return false;
  }
}

RunContext contextOf(const nvf_run_context* given) {
  RunContext context;
  if (given != nullptr) {
    context.stream = given->stream;
    if (given->has_random_state != 0) {
      context.draws.emplace(given->random_seed, given->random_offset);
    }
    if (given->allocator != nullptr) {
      context.allocator = std::make_shared<CallersAllocator>(*given->allocator);
    }
  }
  return context;
}

bool repeat(nvf_fusion& fusion, const nvf_argument* inputs, int64_t input_count,
            const nvf_run_context* context, const nvf_output_maker& maker) {
  FusionExecutorCache* executor = fusion.made.load(std::memory_order_acquire);
  if (executor == nullptr || !executor->canRepeat()) {
    return false;
  }
  const auto count = static_cast<size_t>(input_count);
  ShortList<LentArgument, 8> arguments(count);
  for (size_t i = 0; i < count; ++i) {
    if (!lendArgument(inputs[i], arguments[i])) {
      return false;
    }
  }
  CallersOutputs outputs(maker);
  return executor->repeat(arguments.span(), contextOf(context), outputs,
                          fusion.options ? *fusion.options : Options::current());
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

int nvf_repeat_in(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                  const nvf_run_context* context, const nvf_output_maker* outputs, int32_t* done) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    requirePointer(inputs, "inputs");
    requirePointer(outputs, "outputs");
    requirePointer(done, "done");
    *done = repeat(*fusion, inputs, input_count, context, *outputs) ? 1 : 0;
  });
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
