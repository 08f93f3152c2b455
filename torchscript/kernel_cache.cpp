#include "kernel_cache.h"

#include <algorithm>
#include <unordered_map>

#include "lent_arguments.h"
#include "run_context.h"
#include "tensor_types.h"
#include <ATen/DLConvertor.h>
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
  if (known_.useOne([&](KnownCall& call) { return call.run(stack); })) {
    return;
  }
  Entry& entry = entryFor(torch::jit::last(stack, num_inputs_));
  if (entry.failed.load(std::memory_order_acquire)) {
    fallBack(entry, stack, entry.failure);
  } else if (!runFused(entry, stack)) {
    fallBack(entry, stack, nvf_last_error());
  }
}

/// The execution that the entry had before, as long as nothing but a launch is to be done.
bool GraphCache::repeat(const Entry& entry, Stack& stack) {
  // Numbers are drawn from the generator once a call: by the way that serves every call.
  if (entry.draws != 0 || !entry.was_run.load(std::memory_order_relaxed)) {
    return false;
  }
  std::unique_ptr<KnownCall> call = KnownCall::make(entry.fusion.get(), entry.inputs, entry.baked,
                                                    torch::jit::last(stack, num_inputs_));
  if (call == nullptr || !call->run(stack)) {
    return false;
  }
  known_.keep(std::move(call));
  return true;
}

bool GraphCache::runFused(Entry& entry, Stack& stack) {
  if (repeat(entry, stack)) {
    return true;
  }
  const LentArguments arguments(entry.inputs, torch::jit::last(stack, num_inputs_));
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
