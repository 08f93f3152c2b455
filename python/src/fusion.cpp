#include "fusion.h"

#include <mutex>

#include "arrays.h"
#include "status.h"

namespace nvfuser::python {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<FusionPtr> fusions;  ///< by id
};

/// Never destroyed: kernels may run until the process ends.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

std::string takeText(char* text) {
  std::string result = text;
  nvf_free_text(text);
  return result;
}

}  // namespace

Fusion::Handle Fusion::makeHandle() {
  nvf_fusion* made = nullptr;
  check(nvf_fusion_create(&made));
  return {made, &nvf_fusion_destroy};
}

Fusion::Fusion(int64_t id) : id_(id), handle_(makeHandle()) {}

FusionPtr Fusion::create() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto& fusions = registry().fusions;
  fusions.push_back(std::make_shared<Fusion>(static_cast<int64_t>(fusions.size())));
  return fusions.back();
}

FusionPtr Fusion::find(int64_t id) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto& fusions = registry().fusions;
  if (id < 0 || id >= static_cast<int64_t>(fusions.size())) {
    throw UserError("Fusion: there is no fusion with id " + std::to_string(id) + "; " +
                    (fusions.empty() ? "none was made yet"
                                     : "the last is " + std::to_string(fusions.size() - 1)));
  }
  return fusions[static_cast<size_t>(id)];
}

void Fusion::requireDefined() const {
  if (!defined()) {
    throw UserError("fusion " + std::to_string(id_) +
                    " is not defined; use `with FusionDefinition(fusion) as fd:` to define it");
  }
}

std::string Fusion::definition() const {
  char* text = nullptr;
  check(nvf_definition(handle_.get(), id_, &text));
  return takeText(text);
}

std::string Fusion::ir() const {
  requireDefined();
  char* text = nullptr;
  check(nvf_print(handle_.get(), &text));
  return takeText(text);
}

void Fusion::beginDefinition() {
  State expected = State::Empty;
  if (!state_.compare_exchange_strong(expected, State::Defining)) {
    throw UserError("FusionDefinition: fusion " + std::to_string(id_) +
                    (expected == State::Defined ? " is defined already; make a new one"
                                                : " is being defined already"));
  }
}

void Fusion::endDefinition(bool keep) {
  if (!keep) {
    handle_ = makeHandle();
  }
  state_ = keep ? State::Defined : State::Empty;
}

nvf_fusion* Fusion::defining() const {
  if (state_ != State::Defining) {
    throw UserError("fusion " + std::to_string(id_) +
                    " is not being defined; use `with FusionDefinition(fusion) as fd:`");
  }
  return handle_.get();
}

nb::list Fusion::execute(const nb::sequence& inputs) {
  requireDefined();
  if (nvf_dumps_definition() != 0 && !dumped_.exchange(true)) {
    nb::print(definition().c_str());
  }
  Inputs arguments(inputs);
  int64_t count = 0;
  check(nvf_output_count(handle_.get(), &count));
  std::vector<Managed> outputs = arguments.run(handle_.get(), count);
  nb::list result;
  for (Managed& output : outputs) {
    result.append(arguments.toFramework(std::move(output)));
  }
  return result;
}

}  // namespace nvfuser::python
