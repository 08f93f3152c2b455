#include "frontend.h"

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "arguments.h"
#include "execution.h"
#include "explanation.h"
#include <support/decimal.h>
#include <support/error.h>
#include <support/options.h>

namespace nvfuser::python {

class DefinedFusion {
 public:
  DefinedFusion(int64_t id, DefinitionPtr definition)
      : id_(id), definition_(std::move(definition)) {}

  int64_t id() const { return id_; }
  const DefinitionPtr& definition() const { return definition_; }
  std::string text() const {
    return definition_->pythonText(nvfuser::text("nvfuser_fusion_id", id_));
  }
  const std::shared_ptr<ExecutorCache>& executor() {
    std::call_once(made_, [&] {
      if (definition_->graph.outputs().empty()) {
        userError("execute: fusion ", id_, " has no outputs; name them with fd.add_output");
      }
      executor_ = std::make_shared<ExecutorCache>(IrFusion{definition_}, id_, true);
    });
    return executor_;
  }
  /// Whether the caller is the first.
  bool takeDump() { return !dumped_.exchange(true); }

  int64_t hits = 0;  ///< of the registry, under its mutex

 private:
  const int64_t id_;
  const DefinitionPtr definition_;
  std::once_flag made_;
  std::shared_ptr<ExecutorCache> executor_;
  std::atomic<bool> dumped_ = false;
};

namespace {

using DefinedFusionPtr = std::shared_ptr<DefinedFusion>;

struct Registry {
  std::mutex mutex;
  std::vector<DefinedFusionPtr> by_id;
  std::map<std::vector<std::string>, DefinedFusionPtr> by_statements;
  int64_t most = 16384;
  int64_t lookups = 0;
};

/// Never destroyed: kernels may run until the process ends.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

DefinedFusionPtr enter(const DefinitionPtr& definition) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto& all = registry().by_id;
  auto& by_statements = registry().by_statements;
  const auto known = by_statements.find(definition->statements);
  if (known == by_statements.end() && static_cast<int64_t>(all.size()) >= registry().most) {
    userError("FusionDefinition: The number of fusions in nvfuser has exceeded ", registry().most,
              "; define fewer, allow more by FusionCache.get(max_fusions), or empty the cache by "
              "FusionCache.reset()");
  }
  ++registry().lookups;
  if (known != by_statements.end()) {
    ++known->second->hits;
    return known->second;
  }
  all.push_back(std::make_shared<DefinedFusion>(static_cast<int64_t>(all.size()), definition));
  return by_statements.emplace(definition->statements, all.back()).first->second;
}

DefinedFusionPtr find(int64_t id) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto& all = registry().by_id;
  if (id < 0 || id >= static_cast<int64_t>(all.size())) {
    const std::string known = all.empty()       ? "none is defined yet"
                              : all.size() == 1 ? "the only id is 0"
                                                : text("known ids are 0 to ", all.size() - 1);
    userError("Fusion: there is no fusion with id ", id, "; ", std::string_view(known));
  }
  return all[static_cast<size_t>(id)];
}

}  // namespace

nb::object wrapFrontend(const DefinitionPtr& owner, Val* val) {
  if (val->isA<TensorView>()) {
    return nb::cast(FrontendTensor{{owner, val}});
  }
  return nb::cast(FrontendScalar{{owner, val}});
}

bool isOpen(const ValNode& value) {
  return static_cast<const FrontendDefinition&>(*value.owner).is_open;
}

nb::object callOnOpen(const ValNode& self, std::string_view operation,
                      std::initializer_list<nb::handle> operands) {
  if (!isOpen(self)) {
    userError(operation,
              ": the fusion is not being defined any more; use its tensors and scalars inside the "
              "`with FusionDefinition` block that made them");
  }
  return callOperation(self.owner, capi::findOperation(operation), operands, &wrapFrontend);
}

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
  return requireDefined().definition()->graph.toString(false);
}
std::string FrontendFusion::kernels() const {
  return join(requireDefined().executor()->executor->getMostRecentCode(), "\n");
}
std::string FrontendFusion::explain(nb::handle html, nb::handle inputs) const {
  DefinedFusion& fusion = requireDefined();
  FusionExecutorCache& executor = *fusion.executor()->executor;
  std::string told = explainFusion(executor, fusion.text());
  if (!html.is_none()) {
    writePage(html, fusion.text(), describeFusion(executor, inputs));
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
  being_defined_ = std::make_shared<FrontendDefinition>();
}

void FrontendFusion::closeDefinition() {
  (void)defining();
  being_defined_->is_open = false;
}

void FrontendFusion::endDefinition(bool keep) {
  if (keep || being_defined_ == nullptr) {
    closeDefinition();
  }
  const auto ended = std::move(being_defined_);
  being_defined_.reset();
  ended->is_open = false;
  if (keep) {
    defined_ = enter(ended);
  }
}

DefinitionPtr FrontendFusion::defining() const {
  if (being_defined_ == nullptr || !being_defined_->is_open) {
    userError("the fusion is not being defined; use `with FusionDefinition(fusion) as fd:`");
  }
  return being_defined_;
}

IrFusion FrontendFusion::irFusion() const {
  return being_defined_ != nullptr ? IrFusion{being_defined_}
                                   : IrFusion{requireDefined().definition()};
}

std::shared_ptr<ExecutorCache> FrontendFusion::executor() const {
  DefinedFusion& fusion = requireDefined();
  if (Options::current().dumps(DebugDumpOption::PythonDefinition) && fusion.takeDump()) {
    nb::print(fusion.text().c_str());
  }
  return fusion.executor();
}

nb::list FrontendFusion::execute(const nb::sequence& inputs) const {
  return executor()->execute(inputs);
}

void FusionCache::limit(int64_t most) {
  if (most <= 0) {
    userError("FusionCache: max_fusions must be greater than 0, got ", most);
  }
  std::lock_guard<std::mutex> lock(registry().mutex);
  if (const auto count = static_cast<int64_t>(registry().by_id.size()); count > most) {
    userError("FusionCache: max_fusions is ", most, ", but there are ", count,
              " fusions already; allow more, or empty the cache by FusionCache.reset()");
  }
  registry().most = most;
}

void FusionCache::reset() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().by_id.clear();
  registry().by_statements.clear();
  registry().lookups = 0;
}

int64_t FusionCache::size() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  return static_cast<int64_t>(registry().by_id.size());
}

std::string FusionCache::stats() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const auto& all = registry().by_id;
  if (all.empty()) {
    return "The fusion cache is empty.\n";
  }
  std::string out = text("Total Fusions: ", all.size(), "\nCache Hits by Fusion Id:\n");
  int64_t hits = 0;
  for (const DefinedFusionPtr& fusion : all) {
    append(out, text("\t", fusion->id(), " -> ", fusion->hits, " hits\n"));
    hits += fusion->hits;
  }
  const double rate = 100.0 * static_cast<double>(hits) / static_cast<double>(registry().lookups);
  char percent[32];
  std::snprintf(percent, sizeof percent, "%g", rate);
  return text(out, "Cache Lookups: ", registry().lookups, "\nCache Hits: ", hits,
              "\nHit Rate: ", withPoint(percent), "%\n");
}

}  // namespace nvfuser::python
