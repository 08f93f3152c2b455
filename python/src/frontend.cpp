#include "frontend.h"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "execution.h"
#include "explanation.h"
#include <capi/definition_text.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser::python {

class DefinedFusion {
 public:
  DefinedFusion(int64_t id, DefinitionPtr definition)
      : id_(id), definition_(std::move(definition)) {}

  int64_t id() const { return id_; }
  const capi::Definition& definition() const { return *definition_; }
  std::string text() const {
    return capi::definitionText(nvfuser::text("nvfuser_fusion_id", id_), definition_->statements);
  }
  FusionExecutorCache& executor() {
    std::call_once(made_, [&] {
      if (definition_->graph.outputs().empty()) {
        userError("execute: fusion ", id_, " has no outputs; name them with fd.add_output");
      }
      executor_ =
          std::make_unique<FusionExecutorCache>(std::make_unique<Fusion>(definition_->graph), id_);
    });
    return *executor_;
  }
  nb::list execute(nb::handle inputs) { return python::execute(executor(), known_, inputs); }
  /// Whether the caller is the first.
  bool takeDump() { return !dumped_.exchange(true); }

 private:
  const int64_t id_;
  const DefinitionPtr definition_;
  std::once_flag made_;
  std::unique_ptr<FusionExecutorCache> executor_;
  TorchCalls known_;
  std::atomic<bool> dumped_ = false;
};

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<DefinedFusion>> by_id;
  std::map<std::vector<std::string>, DefinedFusion*> by_statements;
};

/// Never destroyed: kernels may run until the process ends.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

DefinedFusion* enter(const DefinitionPtr& definition) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  DefinedFusion*& found = registry().by_statements[definition->statements];
  if (found == nullptr) {
    auto& all = registry().by_id;
    all.push_back(std::make_unique<DefinedFusion>(static_cast<int64_t>(all.size()), definition));
    found = all.back().get();
  }
  return found;
}

DefinedFusion* find(int64_t id) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto& all = registry().by_id;
  if (id < 0 || id >= static_cast<int64_t>(all.size())) {
    const std::string known = all.empty()       ? "none is defined yet"
                              : all.size() == 1 ? "the only id is 0"
                                                : text("known ids are 0 to ", all.size() - 1);
    userError("Fusion: there is no fusion with id ", id, "; ", std::string_view(known));
  }
  return all[static_cast<size_t>(id)].get();
}

}  // namespace

FrontendFusion::FrontendFusion() = default;
FrontendFusion::FrontendFusion(int64_t id) : defined_(find(id)) {}

DefinedFusion& FrontendFusion::requireDefined() const {
  if (defined_ == nullptr) {
    userError("the fusion is not defined; use `with FusionDefinition(fusion) as fd:` to define it");
  }
  return *defined_;
}

int64_t FrontendFusion::id() const { return requireDefined().id(); }
std::string FrontendFusion::definition() const { return requireDefined().text(); }
std::string FrontendFusion::ir() const {
  return requireDefined().definition().graph.toString(false);
}
std::string FrontendFusion::kernels() const {
  return join(requireDefined().executor().getMostRecentCode(), "\n");
}
std::string FrontendFusion::explain(nb::handle html, nb::handle inputs) const {
  DefinedFusion& fusion = requireDefined();
  std::string told = explainFusion(fusion.executor(), fusion.text());
  if (!html.is_none()) {
    writePage(html, fusion.text(), describeFusion(fusion.executor(), inputs));
  }
  return told;
}

void FrontendFusion::beginDefinition() {
  if (defined_ != nullptr) {
    userError("FusionDefinition: fusion ", defined_->id(),
              " is defined already; make a new Fusion()");
  }
  if (being_defined_ != nullptr) {
    userError("FusionDefinition: the fusion is being defined already");
  }
  being_defined_ = std::make_shared<capi::Definition>();
}

void FrontendFusion::endDefinition(bool keep) {
  (void)defining();
  if (keep) {
    defined_ = enter(being_defined_);
  }
  being_defined_.reset();
}

const DefinitionPtr& FrontendFusion::defining() const {
  if (being_defined_ == nullptr) {
    userError("the fusion is not being defined; use `with FusionDefinition(fusion) as fd:`");
  }
  return being_defined_;
}

nb::list FrontendFusion::execute(const nb::sequence& inputs) const {
  DefinedFusion& fusion = requireDefined();
  if (Options::current().dumps(DebugDumpOption::PythonDefinition) && fusion.takeDump()) {
    nb::print(fusion.text().c_str());
  }
  return fusion.execute(inputs);
}

}  // namespace nvfuser::python
