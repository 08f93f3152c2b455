#include "kernel_cache.h"

#include <algorithm>
#include <unordered_map>

#include "run_context.h"
#include "tensor_types.h"
#include <ATen/DLConvertor.h>
#include <ATen/EmptyTensor.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/jit/jit_log.h>
#include <torch/csrc/jit/passes/canonicalize.h>

namespace nvfuser::torchscript {

namespace {

using torch::jit::Graph;
using torch::jit::Stack;

constexpr size_t kMostEntries = 512;  ///< kinds of inputs that one group is compiled for
constexpr size_t kInline = 16;        ///< inputs or outputs that need no memory of their own

uint64_t kindOf(const c10::IValue& value) {
  if (value.isTensor()) {
    return traitsOf(value.toTensor());
  }
  // Apart from the words of tensors, which are odd.
  return value.isInt() ? 2 : value.isDouble() ? 4 : value.isBool() ? 6 : 8;
}

DLTensor borrowed(const at::Tensor& tensor) {
  DLTensor lent = {};
  lent.data = tensor.numel() == 0 ? nullptr : tensor.data_ptr();
  lent.device.device_type = tensor.is_cuda() ? kDLCUDA : kDLCPU;
  lent.device.device_id = tensor.is_cuda() ? tensor.get_device() : 0;
  lent.ndim = static_cast<int32_t>(tensor.dim());
  lent.dtype = at::getDLDataType(tensor);
  // The tensor's own arrays; DLPack does not say const.
  lent.shape = const_cast<int64_t*>(tensor.sizes().data());
  lent.strides = const_cast<int64_t*>(tensor.strides().data());
  return lent;
}

/// Whether elements share memory, as in a result that is broadcast: PyTorch's never do.
bool repeats(const at::Tensor& tensor) {
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    if (tensor.stride(axis) == 0 && tensor.size(axis) > 1) {
      return true;
    }
  }
  return false;
}

/// Whether one result is another one, as a copy of it may be.
bool sharesMemory(const at::Tensor& tensor, c10::ArrayRef<c10::IValue> others) {
  const void* data = tensor.numel() == 0 ? nullptr : tensor.data_ptr();
  return data != nullptr &&
         std::any_of(others.begin(), others.end(), [&](const c10::IValue& other) {
           return other.toTensor().numel() > 0 && other.toTensor().data_ptr() == data;
         });
}

std::string kernelsOf(nvf_fusion* fusion) {
  char* text = nullptr;
  if (nvf_kernels(fusion, &text) != NVF_OK) {
    return nvf_last_error();
  }
  std::string result = text;
  nvf_free_text(text);
  return result;
}

}  // namespace

bool mayFallBack() {
  static const bool kMay = nvf_option("DISABLE", "fallback") != 1;
  return kMay;
}

GraphCache::GraphCache(std::shared_ptr<Graph> graph, int64_t id)
    : graph_(std::move(graph)),
      id_(id),
      num_inputs_(graph_->inputs().size()),
      num_outputs_(graph_->outputs().size()),
      code_(graph_->copy(), "prim::CudaFusionGroup") {
  overflow_.failed = true;
  overflow_.failure = "it was compiled for too many kinds of inputs already";
}

bool GraphCache::fits(const Entry& entry, const uint64_t* traits,
                      c10::ArrayRef<c10::IValue> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (entry.traits[i] != traits[i]) {
      return false;
    }
  }
  for (const BakedInput& baked : entry.baked) {
    if (!baked.fits(inputs[baked.input])) {
      return false;
    }
  }
  return true;
}

GraphCache::Entry& GraphCache::entryFor(c10::ArrayRef<c10::IValue> inputs) {
  c10::SmallVector<uint64_t, kInline> traits;
  for (const c10::IValue& input : inputs) {
    traits.push_back(kindOf(input));
  }
  if (Entry* latest = latest_.load(std::memory_order_acquire);
      latest != nullptr && fits(*latest, traits.data(), inputs)) {
    return *latest;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (fits(*entry, traits.data(), inputs)) {
      latest_.store(entry.get(), std::memory_order_release);
      return *entry;
    }
  }
  if (entries_.size() == kMostEntries) {
    return overflow_;
  }
  entries_.push_back(make(inputs, {traits.begin(), traits.end()}));
  latest_.store(entries_.back().get(), std::memory_order_release);
  return *entries_.back();
}

std::unique_ptr<GraphCache::Entry> GraphCache::make(c10::ArrayRef<c10::IValue> inputs,
                                                    std::vector<uint64_t> traits) {
  auto entry = std::make_unique<Entry>();
  entry->traits = std::move(traits);
  try {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (entry->traits[i] == 0) {
        throw Refusal("its input " + std::to_string(i) +
                      " is undefined, sparse or has too many axes");
      }
    }
    LoweredGraph lowered = lowerGraph(*graph_, inputs);
    GRAPH_DEBUG("parsed IR of GraphCache ", static_cast<const void*>(this), ":\n", lowered.text);
    entry->baked = std::move(lowered.baked);
    entry->inputs = std::move(lowered.inputs);
    entry->fusion = std::move(lowered.fusion);
    // What cannot be compiled runs as PyTorch's own operators.
    if (nvf_allow_fallback(entry->fusion.get(), 0) != NVF_OK ||
        nvf_draw_count(entry->fusion.get(), &entry->draws) != NVF_OK) {
      throw Refusal(nvf_last_error());
    }
  } catch (const Refusal& refusal) {
    entry->failure = refusal.what();
  } catch (const c10::Error& error) {
    entry->failure = error.what_without_backtrace();
  }
  if (!entry->failure.empty()) {
    entry->failed = true;
    entry->fusion = nullptr;
  }
  return entry;
}

void GraphCache::run(Stack& stack) {
  // GRAPH_DEBUG looks for the file's name each time, which takes as long as the rest of a call.
  if (!torch::jit::get_jit_logging_levels().empty()) {
    GRAPH_DEBUG("running GraphCache: ", static_cast<const void*>(this));
  }
  Entry& entry = entryFor(torch::jit::last(stack, num_inputs_));
  if (entry.failed.load(std::memory_order_acquire)) {
    fallBack(entry, stack, entry.failure);
  } else if (!runFused(entry, stack)) {
    fallBack(entry, stack, nvf_last_error());
  }
}

/// The inputs of a fusion from those of the group, lent.
class GraphCache::Arguments {
 public:
  Arguments(const Entry& entry, c10::ArrayRef<c10::IValue> inputs)
      : arguments_(entry.inputs.size()), tensors_(entry.inputs.size()) {
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      set(i, inputs[entry.inputs[i]]);
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const nvf_argument* data() const { return arguments_.data(); }
  int64_t size() const { return static_cast<int64_t>(arguments_.size()); }
  c10::Device device() const { return device_; }

 private:
  void set(size_t i, const c10::IValue& input) {
    nvf_argument& argument = arguments_[i];
    argument = {};
    if (input.isTensor()) {
      const at::Tensor* tensor = &input.toTensor();
      if (tensor->is_conj() || tensor->is_neg()) {
        resolved_.push_back(std::make_unique<at::Tensor>(tensor->resolve_conj().resolve_neg()));
        tensor = resolved_.back().get();
      }
      tensors_[i] = borrowed(*tensor);
      if (tensor->is_cuda()) {
        device_ = tensor->device();
      }
      argument.kind = NVF_ARG_TENSOR;
      argument.tensor = &tensors_[i];
    } else if (input.isDouble()) {
      argument.kind = NVF_ARG_DOUBLE;
      argument.real = input.toDouble();
    } else if (input.isInt()) {
      argument.kind = NVF_ARG_INT;
      argument.integer = input.toInt();
    } else {
      argument.kind = NVF_ARG_BOOL;
      argument.integer = input.toBool() ? 1 : 0;
    }
  }

  c10::SmallVector<nvf_argument, kInline> arguments_;
  c10::SmallVector<DLTensor, kInline> tensors_;
  std::vector<std::unique_ptr<at::Tensor>> resolved_;  ///< lazily conjugated or negated ones
  c10::Device device_ = c10::kCPU;
};

namespace {

/// Makes the outputs of a repeated execution, PyTorch's own from the start.
class Outputs {
 public:
  explicit Outputs(size_t count) : made_(count) {}

  nvf_output_maker maker() { return {this, &Outputs::make}; }
  at::Tensor& operator[](size_t i) { return made_[i]; }

 private:
  /// Large blocks on the CPU are not made here: PyTorch gives them back to the system after each
  /// call, and to have them again costs more than most kernels; the library keeps them.
  static constexpr int64_t kLargeBytes = 1 << 20;

  static int make(void* self, int64_t index, int32_t dtype, int64_t ndims, const int64_t* sizes,
                  const int64_t* strides, int32_t device_type, int32_t device_id, void** data) {
    const c10::IntArrayRef shape(sizes, static_cast<size_t>(ndims));
    const c10::IntArrayRef steps(strides, static_cast<size_t>(ndims));
    const std::optional<c10::ScalarType> scalar = scalarTypeOf(dtype);
    if (!scalar) {
      return 1;
    }
    try {
      at::Tensor& made = static_cast<Outputs*>(self)->made_[static_cast<size_t>(index)];
      if (device_type == kDLCPU) {
        const auto item = static_cast<int64_t>(c10::elementSize(*scalar));
        if (c10::multiply_integers(shape) * item >= kLargeBytes) {
          return 1;
        }
        made = at::Tensor(at::detail::empty_strided_cpu(shape, steps, *scalar));
      } else {
        const auto device = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_id));
        made = at::empty_strided(shape, steps, at::dtype(*scalar).device(device));
      }
      *data = made.numel() == 0 ? nullptr : made.mutable_data_ptr();
    } catch (const std::exception&) {  // the way that makes it then fails with its own words
      return 1;
    }
    return 0;
  }

  c10::SmallVector<at::Tensor, 4> made_;
};

}  // namespace

/// The execution that the entry had before, as long as nothing but a launch is to be done.
bool GraphCache::repeat(Entry& entry, const Arguments& arguments, Stack& stack) const {
  // Numbers are drawn from the generator once a call: by the way that serves every call.
  if (entry.draws != 0 || !entry.was_run.load(std::memory_order_relaxed)) {
    return false;
  }
  Outputs outputs(num_outputs_);
  const nvf_output_maker maker = outputs.maker();
  const RunContext context(arguments.device(), 0);
  int32_t done = 0;
  if (nvf_repeat_in(entry.fusion.get(), arguments.data(), arguments.size(), context.get(), &maker,
                    &done) != NVF_OK ||
      done == 0) {
    return false;
  }
  torch::jit::drop(stack, num_inputs_);
  for (size_t i = 0; i < num_outputs_; ++i) {
    at::Tensor& result = outputs[i];
    stack.emplace_back(repeats(result) ? result.clone(at::MemoryFormat::Contiguous)
                                       : std::move(result));
  }
  return true;
}

bool GraphCache::runFused(Entry& entry, Stack& stack) {
  const Arguments arguments(entry, torch::jit::last(stack, num_inputs_));
  if (repeat(entry, arguments, stack)) {
    return true;
  }
  c10::SmallVector<DLManagedTensor*, kInline> outputs(num_outputs_);
  int64_t count = 0;
  const RunContext context(arguments.device(), entry.draws);
  if (nvf_execute_in(entry.fusion.get(), arguments.data(), arguments.size(), context.get(),
                     outputs.data(), static_cast<int64_t>(outputs.size()), &count) != NVF_OK) {
    return false;
  }
  if (!entry.was_run.exchange(true, std::memory_order_relaxed)) {
    GRAPH_DEBUG("kernels of GraphCache ", static_cast<const void*>(this), ":\n",
                kernelsOf(entry.fusion.get()));
  }
  torch::jit::drop(stack, num_inputs_);
  for (size_t i = 0; i < num_outputs_; ++i) {
    at::Tensor result = at::fromDLPack(outputs[i]);
    if (repeats(result) || sharesMemory(result, torch::jit::last(stack, i))) {
      result = result.clone(at::MemoryFormat::Contiguous);
    }
    stack.emplace_back(std::move(result));
  }
  return true;
}

void GraphCache::runGraph(Stack& stack) {
  // The interpreter takes the whole stack as its inputs.
  Stack own(std::make_move_iterator(stack.end() - static_cast<std::ptrdiff_t>(num_inputs_)),
            std::make_move_iterator(stack.end()));
  torch::jit::drop(stack, num_inputs_);
  torch::jit::InterpreterState(code_).run(own);
  for (c10::IValue& output : own) {
    stack.push_back(std::move(output));
  }
}

/// What fails with PyTorch's operators, too, is their error; else fusion is what failed.
void GraphCache::fallBack(Entry& entry, Stack& stack, const std::string& given_reason) {
  const std::string reason = given_reason;
  if (!mayFallBack()) {
    TORCH_CHECK(false, "nvfuser: prim::CudaFusionGroup with cache_id ", id_,
                " cannot be run as a fusion: ", reason);
  }
  runGraph(stack);
  // The same error may be one of this call's sizes; kernels that cannot be compiled stay so.
  if (!entry.failed.exchange(true)) {
    std::lock_guard<std::mutex> lock(mutex_);
    entry.failure = reason;
  }
  if (!warned_.exchange(true)) {
    TORCH_WARN("nvfuser: the FALLBACK path was taken for prim::CudaFusionGroup with cache_id ", id_,
               ": ", reason, "\nThe result is right, but was computed by PyTorch's own operators. ",
               "PYTORCH_NVFUSER_DISABLE=fallback makes this an error.");
  }
}

// Caches by id -----------------------------------------------------------------------------------

namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, int64_t> ids;  ///< by the graph's text
  std::vector<std::shared_ptr<GraphCache>> caches;
};

Registry& registry() {
  static auto* registry = new Registry;  // operators may outlive the library's statics
  return *registry;
}

}  // namespace

int64_t cacheIdOf(const std::shared_ptr<Graph>& graph) {
  const std::string text = torch::jit::Canonicalize(graph, false)->toString(false);
  Registry& all = registry();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto [place, is_new] = all.ids.emplace(text, static_cast<int64_t>(all.caches.size()));
  if (is_new) {
    all.caches.push_back(std::make_shared<GraphCache>(graph->copy(), place->second));
  }
  return place->second;
}

std::shared_ptr<GraphCache> cacheWith(int64_t id) {
  Registry& all = registry();
  std::lock_guard<std::mutex> lock(all.mutex);
  TORCH_CHECK(id >= 0 && static_cast<size_t>(id) < all.caches.size(),
              "nvfuser: there is no fusion with cache_id ", id);
  return all.caches[static_cast<size_t>(id)];
}

}  // namespace nvfuser::torchscript
