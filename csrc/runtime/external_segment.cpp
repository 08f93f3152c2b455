#include <runtime/external_segment.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

#include <external/cublaslt.h>
#include <external/providers.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/cuda/current_device.h>
#include <runtime/cuda/driver.h>
#include <runtime/cuda/nvrtc_search.h>
#include <runtime/dense_copy.h>
#include <runtime/run_context.h>
#include <scheduler/expr_eval/epilogue.h>
#include <segmenter/group.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

/// What a segment asks of a library.
struct Request {
  const Expr* op = nullptr;
  std::vector<const TensorView*> results;  ///< the operation's, or what its epilogue makes of it
  const TensorView* bias = nullptr;        ///< the epilogue's
  Epilogue epilogue = Epilogue::None;
};

Request requestOf(const Fusion& segment) {
  const std::vector<Expr*> exprs = tensorExprs(segment);
  Request request;
  if (exprs.size() == 1) {
    request.op = exprs[0];
    for (const Val* output : request.op->outputs()) {
      request.results.push_back(output->as<TensorView>());
    }
    return request;
  }
  const auto* result = segment.outputs()[0]->as<TensorView>();
  const auto product = productWithEpilogue(exprs, result);
  check(product.has_value(), "a library's operation has nothing but its epilogue beside it");
  return {product->product, {result}, product->bias, product->end};
}

external::Machine hostMachine(const RunContext& context) {
  external::Machine machine;
  machine.communicator = context.communicator.get();
  machine.threads = cpuThreads().threads();
  machine.parallel = [cancellation = context.cancellation](int64_t tasks, const auto& run) {
    cpuThreads().parallelFor(tasks, run, cancellation);
  };
  return machine;
}

/// Where cuBLASLt may be: beside NVRTC, or in the wheel that is its neighbour.
void tellWhereLibrariesAre() {
  static std::once_flag once;
  std::call_once(once, [] {
    const cuda::Driver* driver = cuda::driver();
    external::setCublasLtSearch(cuda::libraryFolders("cublas"),
                                driver ? driver->version / 1000 : 13);
  });
}

external::Machine machineOf(Device& device, const RunContext& context) {
  if (device.kind() == DeviceKind::Cpu) {
    return hostMachine(context);
  }
  external::Machine machine;
  machine.kind = device.kind();
  machine.index = device.index();
  machine.stream = context.stream;
  machine.communicator = context.communicator.get();
  auto blocks = std::make_shared<std::map<void*, DeviceMemory>>();
  machine.allocate = [&device, context, blocks](size_t bytes) {
    DeviceMemory memory(bytes, device, context);
    void* const data = memory.data();
    blocks->insert_or_assign(data, std::move(memory));
    return data;
  };
  machine.release = [blocks](void* data) { blocks->erase(data); };
  if (device.kind() == DeviceKind::Cuda) {
    tellWhereLibrariesAre();
  }
  return machine;
}

void warnOnce(const std::string& operation, const std::string& why) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (said->insert(why).second) {
    warn(text(operation, " runs on the host, in its memory: ", why));
  }
}

/// Sizes by name and the scalars among the arguments.
ExpressionEvaluator evaluatorOf(const Fusion& segment, const KernelArgumentHolder& args,
                                const KnownScalars& sizes) {
  ExpressionEvaluator evaluator;
  for (const auto& [name, value] : sizes) {
    evaluator.bind(name, value);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].isTensor()) {
      evaluator.bind(segment.inputs()[i], args[i].scalar());
    }
  }
  return evaluator;
}

std::vector<ViewLayout> layoutsOf(const Request& request, ExpressionEvaluator& evaluator) {
  std::vector<ViewLayout> layouts;
  for (const TensorView* tv : request.results) {
    auto layout = denseLayout(tv, evaluator);
    if (!layout) {
      userError(request.op->getOpString(), ": the result ", tv,
                " has an order in memory that is no permutation of its axes; give it one");
    }
    layouts.push_back(std::move(*layout));
  }
  return layouts;
}

std::vector<Tensor> allocate(const Request& request, const std::vector<ViewLayout>& layouts,
                             Device& device, const RunContext& context) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < layouts.size(); ++i) {
    results.push_back(Tensor::emptyStrided(layouts[i].sizes, layouts[i].strides,
                                           request.results[i]->dtype(), device, context));
  }
  return results;
}

/// `operands`: the operation's, then the epilogue's bias.
external::Call callOf(const Request& request, const std::vector<KernelArgument>& operands,
                      const std::vector<Tensor>& results, RandomState random,
                      const external::Machine& machine) {
  external::Call call;
  call.op = request.op;
  call.epilogue = request.epilogue;
  call.philox_seed = random.seed;
  call.philox_offset = random.offset;
  call.machine = &machine;
  for (size_t i = 0; i < request.op->inputs().size(); ++i) {
    const KernelArgument& operand = operands[i];
    if (operand.isTensor()) {
      call.inputs.emplace_back(operand.tensor().ref());
    } else {
      call.inputs.emplace_back(operand.scalar());
    }
  }
  if (request.bias != nullptr) {
    call.added_bias = operands.back().tensor().ref();
  }
  for (const Tensor& result : results) {
    call.outputs.push_back(result.ref());
  }
  return call;
}

/// Where devices exchange data in memory of theirs: operands are dense afterwards, and so are the
/// tensors to be filled, which are `results` where these are.
std::vector<Tensor> denseForExchange(const Expr* op, std::vector<KernelArgument>& operands,
                                     const std::vector<Tensor>& results, Device& device,
                                     const RunContext& context) {
  if (!op->isA<CommunicationOp>() || device.kind() != DeviceKind::Cuda ||
      context.communicator == nullptr || !context.communicator->takes(device.kind())) {
    return results;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    operands[i] = denseOnDevice(operands[i].tensor(), context);
  }
  std::vector<Tensor> filled;
  for (const Tensor& result : results) {
    filled.push_back(result.isContiguous()
                         ? result
                         : Tensor::emptyStrided(result.sizes(), rowMajorStrides(result.sizes()),
                                                result.dtype(), device, context));
  }
  return filled;
}

RanBy::Last lastOf(const Expr* op, const std::string& name,
                   const std::vector<KernelArgument>& operands, const RunContext& context,
                   std::chrono::steady_clock::time_point begin) {
  RanBy::Last last{name};
  if (!op->isA<CommunicationOp>()) {
    return last;
  }
  const auto* exchange = op->as<CommunicationOp>();
  last.devices = exchange->mesh().size(exchange->along());
  for (size_t i = 0; i < exchange->count(); ++i) {
    const Tensor& tensor = operands[i].tensor();
    const bool takes_parts = exchange->type() == CommunicationType::ReduceScatter ||
                             exchange->type() == CommunicationType::Alltoall;
    const int64_t bytes = tensor.numel() * dataTypeSizeByte(tensor.dtype());
    last.received_bytes += external::receivedBytes(exchange->type(), last.devices,
                                                   takes_parts ? bytes / last.devices : bytes);
  }
  last.name = context.communicator->name();
  last.host_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return last;
}

}  // namespace

std::vector<ViewLayout> externalResults(const Fusion& segment, const KernelArgumentHolder& args,
                                        const KnownScalars& sizes) {
  ExpressionEvaluator evaluator = evaluatorOf(segment, args, sizes);
  return layoutsOf(requestOf(segment), evaluator);
}

KernelArgumentHolder runExternal(const Fusion& segment, const KernelArgumentHolder& args,
                                 Device& device, const KnownScalars& sizes, RandomState random,
                                 const ExternalRun& run, const RunContext& context) {
  const Request request = requestOf(segment);
  const Expr* op = request.op;
  if (drawsFromGenerator(op)) {
    random.offset += static_cast<uint64_t>(
        segment.getManaged<std::map<int64_t, int64_t>>("random_draws").at(op->name()));
  }
  const bool has_scalars = std::any_of(op->inputs().begin(), op->inputs().end(),
                                       [](const Val* in) { return !in->isA<TensorView>(); });
  ExpressionEvaluator evaluator;
  if (has_scalars) {
    evaluator = evaluatorOf(segment, args, sizes);
  }
  std::vector<KernelArgument> operands;
  std::vector<const Val*> needed(op->inputs().begin(), op->inputs().end());
  if (request.bias != nullptr) {
    needed.push_back(request.bias);
  }
  for (const Val* input : needed) {
    if (!input->isA<TensorView>()) {
      const PolymorphicValue value = evaluator.evaluate(input);
      if (!value.hasValue()) {
        userError(op->getOpString(), ": the scalar ", input->toInlineString(),
                  " has no value; pass it to the fusion");
      }
      operands.emplace_back(value);
      continue;
    }
    const auto place = std::find(segment.inputs().begin(), segment.inputs().end(), input);
    operands.push_back(args[static_cast<size_t>(place - segment.inputs().begin())]);
  }
  std::vector<Tensor> results = allocate(request, run.results, device, context);
  std::string why;
  std::optional<std::string> ran_by;
  const auto begin = std::chrono::steady_clock::now();
  {
    const external::Machine machine = machineOf(device, context);
    const std::vector<Tensor> filled = denseForExchange(op, operands, results, device, context);
    const cuda::CurrentDevice current(device);
    ran_by = external::runOnDevice(callOf(request, operands, filled, random, machine), &why);
    for (size_t i = 0; i < results.size(); ++i) {
      if (filled[i].strides() != results[i].strides()) {
        results[i].copyFrom(filled[i], context.stream);
      }
    }
  }
  if (!ran_by) {
    if (!why.empty()) {
      warnOnce(op->getOpString(), why);
    }
    for (KernelArgument& operand : operands) {
      if (operand.isTensor()) {
        operand = Tensor::fromHostTensor(operand.tensor().toHostTensor(context.stream));
      }
    }
    const std::vector<Tensor> on_host = allocate(request, run.results, cpuDevice(), {});
    const external::Machine machine = hostMachine(context);
    external::runPortable(callOf(request, operands, on_host, random, machine));
    for (size_t i = 0; i < results.size(); ++i) {
      results[i].copyFrom(on_host[i], context.stream);
    }
    ran_by = "portable code on the host";
  }
  run.ran_by->set(lastOf(op, *ran_by, operands, context, begin));
  KernelArgumentHolder outputs;
  for (const Val* output : segment.outputs()) {
    const auto place = std::find(request.results.begin(), request.results.end(), output);
    check(place != request.results.end(), "a library's operation is alone in its segment");
    outputs.push(results[static_cast<size_t>(place - request.results.begin())]);
  }
  return outputs;
}

}  // namespace nvfuser
