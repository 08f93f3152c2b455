#include <external/providers.h>

#include <algorithm>
#include <mutex>

#include <external/communication.h>
#include <external/cublaslt.h>

namespace nvfuser::external {

namespace {

struct Registered {
  int64_t id;
  std::string operation;
  DeviceKind device;
  std::string name;
  Provider provider;
};

struct Registry {
  std::mutex mutex;
  std::vector<Registered> providers;
  int64_t next_id = 1;
};

Registry& registry() {
  static auto* one = new Registry;  // never destroyed: other static objects may still run fusions
  return *one;
}

}  // namespace

std::string operationName(const Expr* op) {
  return op->isA<ScanOp>() ? std::string("scan") : op->getOpString();
}

int64_t registerProvider(std::string operation, DeviceKind device, std::string name,
                         Provider provider) {
  if (!provider) {
    userError("registerProvider: the provider ", name, " of ", operation, " is no function");
  }
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.providers.push_back(
      {all.next_id, std::move(operation), device, std::move(name), std::move(provider)});
  return all.next_id++;
}

void unregisterProvider(int64_t id) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (std::erase_if(all.providers, [&](const Registered& one) { return one.id == id; }) == 0) {
    userError("unregisterProvider: there is no provider ", id,
              "; pass what registerProvider returned, once");
  }
}

bool takesEpilogue(const Expr* product, Epilogue end, bool adds_bias, DeviceKind device) {
  const bool keeps_values =
      product->output(0)->dtype() == DataType::Float || (end == Epilogue::Relu && !adds_bias);
  if (device == DeviceKind::Cuda && !keeps_values) {
    return false;
  }
  const std::string operation = operationName(product);
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return std::none_of(all.providers.begin(), all.providers.end(), [&](const Registered& one) {
    return one.operation == operation && one.device == device;
  });
}

std::optional<std::string> runOnDevice(const Call& call, std::string* why) {
  if (call.op->isA<CommunicationOp>() && call.machine->communicator != nullptr &&
      call.machine->communicator->takes(call.machine->kind)) {
    runCommunication(call);
    return std::string(call.machine->communicator->name());
  }
  if (call.machine->kind == DeviceKind::Emulated) {
    return std::nullopt;  // its memory is read through the device alone
  }
  const std::string operation = operationName(call.op);
  std::vector<Registered> asked;  // a copy: a provider may register others
  {
    Registry& all = registry();
    const std::lock_guard<std::mutex> lock(all.mutex);
    for (auto one = all.providers.rbegin(); one != all.providers.rend(); ++one) {
      if (!call.hasEpilogue() && one->operation == operation && one->device == call.machine->kind) {
        asked.push_back(*one);
      }
    }
  }
  for (const Registered& one : asked) {
    if (one.provider(call)) {
      return one.name;
    }
  }
  switch (call.machine->kind) {
    case DeviceKind::Cpu:
      runPortable(call);
      return "portable code";
    case DeviceKind::Cuda:
      if (runCublasLt(call, why)) {
        return "cuBLASLt";
      }
      return std::nullopt;
    case DeviceKind::Emulated:
      break;
  }
  return std::nullopt;
}

}  // namespace nvfuser::external
