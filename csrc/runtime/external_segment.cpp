#include <runtime/external_segment.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <external/cublaslt.h>
#include <external/providers.h>
#include <runtime/cpu/cpu_threads.h>
#include <runtime/cuda/current_device.h>
#include <runtime/cuda/driver.h>
#include <runtime/cuda/nvrtc_search.h>
#include <runtime/dense_copy.h>
#include <runtime/device_operations.h>
#include <runtime/device_products.h>
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

/// Of an operation's operands and results: less is done by the calling thread before others are
/// awake.
constexpr int64_t kBytesOfOneThread = int64_t{16} << 10;

external::Machine hostMachine(const RunContext& context, int64_t bytes) {
  external::Machine machine;
  machine.allocator = context.allocator.get();
  machine.communicator = context.communicator.get();
  machine.threads = cpuThreads().threads();
  if (bytes < kBytesOfOneThread) {
    return machine;
  }
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

external::Machine machineOf(Device& device, const RunContext& context, int64_t all_bytes) {
  if (device.kind() == DeviceKind::Cpu) {
    return hostMachine(context, all_bytes);
  }
  external::Machine machine;
  machine.kind = device.kind();
  machine.index = device.index();
  machine.stream = context.stream;
  machine.allocator = context.allocator.get();
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

struct Bytes {
  int64_t operands = 0, results = 0;
};

Bytes bytesOf(const Request& request, const std::vector<KernelArgument>& operands,
              const std::vector<ViewLayout>& results) {
  Bytes bytes;
  for (const KernelArgument& operand : operands) {
    if (operand.isTensor()) {
      bytes.operands += operand.tensor().numel() * dataTypeSizeByte(operand.tensor().dtype());
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    int64_t count = 1;
    for (int64_t size : results[i].sizes) {
      count *= size;
    }
    bytes.results += count * dataTypeSizeByte(request.results[i]->dtype());
  }
  return bytes;
}

/// That an operation is slow, and why: once a process for each operation, silent on the emulated
/// device, where the host stands in for a library.
void warnOnce(const std::string& operation, std::string_view is_slow, const std::string& why,
              const Device& device) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (device.kind() == DeviceKind::Cuda && said->insert(operation).second) {
    warn(text(operation, is_slow, why.empty() ? "there is no library for it on the device" : why));
  }
}

/// Of a call that copies operands to the host and results back.
std::string copiesText(const Bytes& bytes) {
  return text(" runs on the host: this call, and others like it, copy ", bytes.operands,
              " bytes of operands there and ", bytes.results,
              " bytes of results back, and wait for that: ");
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

Tensor allocated(const Request& request, const std::vector<ViewLayout>& layouts, size_t i,
                 Device& device, const RunContext& context) {
  return Tensor::emptyStrided(layouts[i].sizes, layouts[i].strides, request.results[i]->dtype(),
                              device, context);
}

/// `operands`: the operation's, then the epilogue's bias. Results have no memory yet.
external::Call callOf(const Request& request, const std::vector<KernelArgument>& operands,
                      const std::vector<ViewLayout>& results, RandomState random,
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
  for (size_t i = 0; i < results.size(); ++i) {
    call.outputs.push_back(
        {nullptr, request.results[i]->dtype(), results[i].sizes, results[i].strides});
  }
  return call;
}

/// Where devices exchange data in memory of theirs: operands are dense afterwards, and so are the
/// tensors to be filled, which are the `results` where these are.
std::vector<ViewLayout> denseForExchange(const Expr* op, std::vector<KernelArgument>& operands,
                                         const std::vector<ViewLayout>& results, Device& device,
                                         const RunContext& context) {
  if (!op->isA<CommunicationOp>() || device.kind() != DeviceKind::Cuda ||
      context.communicator == nullptr || !context.communicator->takes(device.kind())) {
    return results;
  }
  std::vector<ViewLayout> filled = results;
  for (size_t i = 0; i < results.size(); ++i) {
    operands[i] = denseOnDevice(operands[i].tensor(), context);
    filled[i].strides = rowMajorStrides(filled[i].sizes);
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

std::optional<size_t> placeOfRows(const Fusion& segment) {
  const Request request = requestOf(segment);
  const Expr* op = request.op;
  const auto is_matrix = [](const Val* val) {
    return val->isA<TensorView>() &&
           TensorDomain::noReductions(val->as<TensorView>()->getLogicalDomain()).size() == 2;
  };
  if (!op->isOneOf<MatmulOp, LinearOp>() || !is_matrix(op->input(0)) || !is_matrix(op->input(1)) ||
      !is_matrix(request.results[0]) || segment.outputs().size() != 1) {
    return std::nullopt;
  }
  const auto place = std::find(segment.inputs().begin(), segment.inputs().end(), op->input(0));
  const auto times = std::count(segment.inputs().begin(), segment.inputs().end(), op->input(0));
  if (times != 1 || op->input(0) == op->input(1)) {
    return std::nullopt;
  }
  return static_cast<size_t>(place - segment.inputs().begin());
}

void runProductOfRows(const Fusion& segment, const KernelArgumentHolder& args, Tensor& result,
                      Device& device, const ExternalRun& run, const RunContext& context) {
  const Request request = requestOf(segment);
  std::vector<KernelArgument> operands;
  std::vector<const Val*> needed(request.op->inputs().begin(), request.op->inputs().end());
  if (request.bias != nullptr) {
    needed.push_back(request.bias);
  }
  for (const Val* input : needed) {
    const auto place = std::find(segment.inputs().begin(), segment.inputs().end(), input);
    operands.push_back(args[static_cast<size_t>(place - segment.inputs().begin())]);
  }
  const std::vector<ViewLayout> layout = {{result.sizes(), result.strides()}};
  const Bytes bytes = bytesOf(request, operands, layout);
  std::optional<std::string> ran_by;
  {
    const external::Machine machine = machineOf(device, context, bytes.operands + bytes.results);
    const cuda::CurrentDevice current(device);
    external::Call call = callOf(request, operands, layout, {}, machine);
    call.outputs[0].data = result.data();
    std::string why, declined;
    call.declined = &declined;
    ran_by = external::runOnDevice(call, &why);
    if (!ran_by && device.kind() == DeviceKind::Cuda &&
        multiplyOnDevice(external::productOf(call), device, context)) {
      ran_by = "kernels of this compiler";
    }
  }
  if (ran_by) {
    run.ran_by->set({text(*ran_by, ", by parts that are exchanged")});
    return;
  }
  ExternalRun own = run;  // by way of the host
  own.results = layout;
  result.copyFrom(runExternal(segment, args, device, {}, {}, own, context)[0].tensor(),
                  context.stream);
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
  const Bytes bytes = bytesOf(request, operands, run.results);
  std::vector<Tensor> results(run.results.size());
  std::string why;
  std::string declined;
  std::optional<std::string> ran_by;
  const auto begin = std::chrono::steady_clock::now();
  {
    const std::vector<ViewLayout> filled =
        denseForExchange(op, operands, run.results, device, context);
    const external::Machine machine = machineOf(device, context, bytes.operands + bytes.results);
    const cuda::CurrentDevice current(device);
    external::Call call = callOf(request, operands, filled, random, machine);
    call.declined = &declined;
    call.allocate = [&] {
      for (size_t i = 0; i < results.size(); ++i) {
        if (!results[i].defined()) {
          results[i] = allocated(request, filled, i, device, context);
          call.outputs[i].data = results[i].data();
        }
      }
    };
    call.adopt = [&](size_t output, void* data, void* handle) {
      const ViewLayout& layout = filled[output];
      results[output] =
          Tensor::inBlock(layout.sizes, layout.strides, request.results[output]->dtype(), device,
                          context, {data, handle});
    };
    const Allocator* allocator = context.allocator.get();
    call.handleOfInput = [&operands, allocator](size_t i) {
      return operands[i].isTensor() ? operands[i].tensor().handleFor(allocator) : nullptr;
    };
    call.handleOfOutput = [&results, allocator](size_t i) {
      return results[i].handleFor(allocator);
    };
    ran_by = external::runOnDevice(call, &why);
    if (!ran_by && runOwnKernels(call, operands, run.results, results, device, context)) {
      ran_by = "kernels of this compiler";
      if (op->isOneOf<MatmulOp, LinearOp>()) {
        warnOnce(op->getOpString(), " runs in a kernel without tensor cores: ", why, device);
      }
    }
    call.allocate();
    for (size_t i = 0; i < results.size(); ++i) {
      if (filled[i].strides != run.results[i].strides) {
        const Tensor dense = std::exchange(results[i], Tensor());
        results[i] = allocated(request, run.results, i, device, context);
        results[i].copyFrom(dense, context.stream);
      }
    }
  }
  if (!ran_by) {
    if (!declined.empty()) {
      why += text(why.empty() ? "" : "; ", declined);
    }
    warnOnce(op->getOpString(), copiesText(bytes), why, device);
    for (KernelArgument& operand : operands) {
      if (operand.isTensor()) {
        operand = Tensor::fromHostTensor(operand.tensor().toHostTensor(context.stream));
      }
    }
    const external::Machine machine = hostMachine(context, bytes.operands + bytes.results);
    external::Call call = callOf(request, operands, run.results, random, machine);
    std::vector<Tensor> on_host;
    for (size_t i = 0; i < results.size(); ++i) {
      on_host.push_back(allocated(request, run.results, i, cpuDevice(), {}));
      call.outputs[i].data = on_host[i].data();
    }
    external::runPortable(call);
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
