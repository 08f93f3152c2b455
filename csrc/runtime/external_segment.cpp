#include <runtime/external_segment.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <external/providers.h>
#include <runtime/cuda/current_device.h>
#include <runtime/dense_copy.h>
#include <runtime/device_operations.h>
#include <runtime/device_products.h>
#include <runtime/external_machine.h>
#include <runtime/external_request.h>
#include <runtime/run_context.h>
#include <support/dump.h>

namespace nvfuser {

namespace {

struct Bytes {
  int64_t operands = 0, results = 0;
};

Bytes bytesOf(const ExternalRequest& request, const std::vector<KernelArgument>& operands,
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

Tensor allocated(const ExternalRequest& request, const std::vector<ViewLayout>& layouts, size_t i,
                 Device& device, const RunContext& context) {
  return Tensor::emptyStrided(layouts[i].sizes, layouts[i].strides, request.results[i]->dtype(),
                              device, context);
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

/// One call of a library's operation, on whoever takes it.
class ExternalOperation {
 public:
  /// `operands` may become copies.
  ExternalOperation(const ExternalRequest& request, std::vector<KernelArgument>& operands,
                    const std::vector<ViewLayout>& layouts, RandomState random, Device& device,
                    const RunContext& context)
      : request_(request),
        operands_(operands),
        layouts_(layouts),
        random_(random),
        device_(device),
        context_(context),
        bytes_(bytesOf(request, operands, layouts)),
        results_(layouts.size()) {}

  /// By whom; nothing where nobody takes it on the device. Results have memory in any case.
  std::optional<std::string> runOnDevice() {
    const std::vector<ViewLayout> filled =
        denseForExchange(request_.op, operands_, layouts_, device_, context_);
    const external::Machine machine =
        machineOf(device_, context_, bytes_.operands + bytes_.results);
    const cuda::CurrentDevice current(device_);
    external::Call call = callOf(request_, operands_, filled, random_, machine);
    call.declined = &declined_;
    giveMemory(call, filled);
    std::optional<std::string> ran_by = external::runOnDevice(call, &why_);
    if (!ran_by && runOwnKernels(call, operands_, layouts_, results_, device_, context_)) {
      ran_by = "kernels of this compiler";
      if (request_.op->isOneOf<MatmulOp, LinearOp>()) {
        warnOnce(request_.op->getOpString(), " runs in a kernel without tensor cores: ", why_,
                 device_);
      }
    }
    call.allocate();
    for (size_t i = 0; i < results_.size(); ++i) {
      if (filled[i].strides != layouts_[i].strides) {
        const Tensor dense = std::exchange(results_[i], Tensor());
        results_[i] = allocated(request_, layouts_, i, device_, context_);
        results_[i].copyFrom(dense, context_.stream);
      }
    }
    return ran_by;
  }

  /// Behind `runOnDevice`, which says why.
  std::string runOnHost() {
    if (!declined_.empty()) {
      why_ += text(why_.empty() ? "" : "; ", declined_);
    }
    warnOnce(request_.op->getOpString(), copiesText(bytes_), why_, device_);
    for (KernelArgument& operand : operands_) {
      if (operand.isTensor()) {
        operand = Tensor::fromHostTensor(operand.tensor().toHostTensor(context_.stream));
      }
    }
    const external::Machine machine = hostMachine(context_, bytes_.operands + bytes_.results);
    external::Call call = callOf(request_, operands_, layouts_, random_, machine);
    std::vector<Tensor> on_host;
    for (size_t i = 0; i < results_.size(); ++i) {
      on_host.push_back(allocated(request_, layouts_, i, cpuDevice(), {}));
      call.outputs[i].data = on_host[i].data();
    }
    external::runPortable(call);
    for (size_t i = 0; i < results_.size(); ++i) {
      results_[i].copyFrom(on_host[i], context_.stream);
    }
    return "portable code on the host";
  }

  const std::vector<Tensor>& results() const { return results_; }

 private:
  /// How the call comes by the memory of its results: ours, when it asks, or its own.
  void giveMemory(external::Call& call, const std::vector<ViewLayout>& filled) {
    call.allocate = [this, &call, &filled] {
      for (size_t i = 0; i < results_.size(); ++i) {
        if (!results_[i].defined()) {
          results_[i] = allocated(request_, filled, i, device_, context_);
          call.outputs[i].data = results_[i].data();
        }
      }
    };
    call.adopt = [this, &filled](size_t output, void* data, void* handle) {
      const ViewLayout& layout = filled[output];
      results_[output] =
          Tensor::inBlock(layout.sizes, layout.strides, request_.results[output]->dtype(), device_,
                          context_, {data, handle});
    };
    const Allocator* allocator = context_.allocator.get();
    call.handleOfInput = [this, allocator](size_t i) {
      return operands_[i].isTensor() ? operands_[i].tensor().handleFor(allocator) : nullptr;
    };
    call.handleOfOutput = [this, allocator](size_t i) { return results_[i].handleFor(allocator); };
  }

  const ExternalRequest& request_;
  std::vector<KernelArgument>& operands_;
  const std::vector<ViewLayout>& layouts_;
  const RandomState random_;
  Device& device_;
  const RunContext& context_;
  const Bytes bytes_;
  std::vector<Tensor> results_;
  std::string why_;  ///< no library takes it
  std::string declined_;
};

}  // namespace

std::vector<ViewLayout> externalResults(const Fusion& segment, const KernelArgumentHolder& args,
                                        const KnownScalars& sizes) {
  return layoutsOf(segment, requestOf(segment), args, sizes);
}

std::optional<size_t> placeOfRows(const Fusion& segment) {
  const ExternalRequest request = requestOf(segment);
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
  const ExternalRequest request = requestOf(segment);
  const std::vector<KernelArgument> operands = operandsOf(segment, request, args, {});
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
  const ExternalRequest request = requestOf(segment);
  const Expr* op = request.op;
  if (drawsFromGenerator(op)) {
    random.offset += static_cast<uint64_t>(
        segment.getManaged<std::map<int64_t, int64_t>>("random_draws").at(op->name()));
  }
  std::vector<KernelArgument> operands = operandsOf(segment, request, args, sizes);
  const auto begin = std::chrono::steady_clock::now();
  ExternalOperation operation(request, operands, run.results, random, device, context);
  std::optional<std::string> ran_by = operation.runOnDevice();
  if (!ran_by) {
    ran_by = operation.runOnHost();
  }
  run.ran_by->set(lastOf(op, *ran_by, operands, context, begin));
  KernelArgumentHolder outputs;
  for (const Val* output : segment.outputs()) {
    const auto place = std::find(request.results.begin(), request.results.end(), output);
    check(place != request.results.end(), "a library's operation is alone in its segment");
    outputs.push(operation.results()[static_cast<size_t>(place - request.results.begin())]);
  }
  return outputs;
}

}  // namespace nvfuser
