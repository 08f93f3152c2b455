#include <external/providers.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

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
  Turn turn;
  Results results;

  bool takes(const std::string& asked, DeviceKind kind) const {
    return operation == asked && device == kind;
  }
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<const Registered>> providers;
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
                         Provider provider, Turn turn, Results results) {
  if (!provider) {
    userError("registerProvider: the provider ", name, " of ", operation, " is no function");
  }
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.providers.push_back(std::make_shared<const Registered>(
      Registered{all.next_id, std::move(operation), device, std::move(name), std::move(provider),
                 turn, results}));
  return all.next_id++;
}

void unregisterProvider(int64_t id) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (std::erase_if(all.providers, [&](const auto& one) { return one->id == id; }) == 0) {
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
  return std::none_of(all.providers.begin(), all.providers.end(), [&](const auto& one) {
    return one->turn == Turn::First && one->takes(operation, device);
  });
}

namespace {

/// A copy: a provider may register others. The last one first.
std::vector<std::shared_ptr<const Registered>> registeredFor(const Call& call,
                                                             const std::string& operation) {
  std::vector<std::shared_ptr<const Registered>> result;
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (auto one = all.providers.rbegin(); one != all.providers.rend(); ++one) {
    if ((*one)->takes(operation, call.machine->kind)) {
      result.push_back(*one);
    }
  }
  return result;
}

}  // namespace

std::optional<std::string> runOnDevice(const Call& call, std::string* why) {
  const auto allocate = [&] {
    if (call.allocate) {
      call.allocate();
    }
  };
  if (call.op->isA<CommunicationOp>() && call.machine->communicator != nullptr &&
      call.machine->communicator->takes(call.machine->kind)) {
    allocate();
    runCommunication(call);
    return std::string(call.machine->communicator->name());
  }
  if (call.machine->kind == DeviceKind::Emulated) {
    return std::nullopt;  // its memory is read through the device alone
  }
  const std::string operation = operationName(call.op);
  const auto registered = registeredFor(call, operation);
  const auto by_one_of = [&](Turn turn) -> std::optional<std::string> {
    const bool may_be_asked = turn == Turn::ForTheRest || !call.hasEpilogue();
    for (const auto& one : registered) {
      if (one->turn != turn || !may_be_asked) {
        continue;
      }
      if (one->results == Results::Allocated) {
        allocate();
      }
      if (one->provider(call)) {
        return one->name;
      }
    }
    return std::nullopt;
  };
  if (auto name = by_one_of(Turn::First)) {
    return name;
  }
  allocate();
  if (call.machine->kind == DeviceKind::Cpu) {
    runPortable(call);
    return "portable code";
  }
  if (runCublasLt(call, why)) {
    return "cuBLASLt";
  }
  auto name = by_one_of(Turn::ForTheRest);
  if (!name && registered.empty()) {
    *why += text(why->empty() ? "" : "; ",
                 "import torch in this process, whose library then does it on the device");
  }
  return name;
}

}  // namespace nvfuser::external
