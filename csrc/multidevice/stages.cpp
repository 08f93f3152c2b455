#include <multidevice/stages.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/cloner.h>
#include <ir/internal_nodes.h>
#include <multidevice/stage_keys.h>
#include <ops/alias.h>
#include <ops/axes.h>
#include <preseg_passes/rewrite.h>
#include <preseg_passes/substitute_scalars.h>

namespace nvfuser::multidevice {

namespace {

/// A tensor on its mesh, cut so, as the user would declare it.
void declare(TensorView* tv, const DeviceMesh& mesh, const Sharding& sharding) {
  tv->setDeviceMesh(mesh);
  for (size_t axis = ops::axesOf(tv).size(); axis-- > 0;) {  // a split moves those behind it
    if (const auto mesh_axis = sharding.of(axis)) {
      tv->outer_split(static_cast<int64_t>(axis), mesh.size(*mesh_axis));
      tv->axis(static_cast<int64_t>(axis))->parallelize(*mesh_axis);
    }
  }
}

class Cutter {
 public:
  explicit Cutter(const Fusion& global) : global_(global), keys_(global) {}

  Stages run() {
    if (keys_.all().size() == 1) {
      return onlyStage();
    }
    if (!global_.getOutputAliases().empty()) {
      userError("multidevice: a fusion on several meshes cannot update inputs in place, and ",
                *global_.getOutputAliases().begin()->first,
                " is written to one; make it an output of its own");
    }
    for (size_t i = 0; i < global_.inputs().size(); ++i) {
      slot_[{global_.inputs()[i], DeviceMesh()}] = i;
    }
    result_.slots = global_.inputs().size();
    findWhatIsHandedOver();
    for (const StageKey& key : keys_.all()) {
      makeStage(key);
    }
    describe();
    return std::move(result_);
  }

 private:
  using Value = std::pair<const Val*, DeviceMesh>;  ///< a tensor as a mesh has it
  /// A tensor of another mesh that a stage reads.
  struct Brought {
    const TensorView* tv;
    TensorView* input;  ///< of the stage
    size_t source;      ///< slot
    Shared given;
    Sharding wanted = {};
  };

  /// Which tensors other stages want.
  void findWhatIsHandedOver() {
    for (const Expr* expr : keys_.exprs()) {
      for (const TensorView* in : tensorInputs(expr)) {
        const bool is_same = keys_.meshOf(in) == keys_.meshOf(expr);
        if (!in->isFusionInput() &&
            (!is_same || keys_.levelOf(in) != keys_.levelOf(tensorOutputs(expr)[0]))) {
          wanted_.insert(in);
        }
      }
    }
  }

  size_t newSlot() { return result_.slots++; }

  /// All of it, on one mesh.
  Stages onlyStage() const {
    Stages all;
    Stage& stage = all.stages.emplace_back();
    stage.local = makeLocal(global_);
    all.slots = global_.inputs().size() + global_.outputs().size();
    for (size_t i = 0; i < all.slots; ++i) {
      (i < global_.inputs().size() ? stage.inputs : stage.outputs).push_back(i);
    }
    all.outputs = stage.outputs;
    for (const Sharding& sharding : stage.local.inputs) {
      all.of_inputs.push_back({stage.local.mesh, sharding});
    }
    for (const Sharding& sharding : stage.local.outputs) {
      all.of_outputs.push_back({stage.local.mesh, sharding});
    }
    return all;
  }

  /// A stage as long as it is made.
  struct Draft {
    const StageKey& key;
    Fusion* fusion;
    IrCloner& cloner;                         ///< from the global Fusion
    std::map<const Val*, size_t> slots = {};  ///< of inputs and outputs
    std::unordered_map<const Val*, Val*> sizes = {};
    std::vector<Brought> from_others = {};
    std::vector<TensorView*> outputs = {};
  };

  void makeStage(const StageKey& key) {
    auto fusion = std::make_unique<Fusion>();
    IrCloner cloner = Fusion::copy(&global_, fusion.get());
    const FusionGuard guard(fusion.get());
    Draft draft{key, fusion.get(), cloner};
    for (size_t i = 0; i < global_.inputs().size(); ++i) {
      draft.slots[cloner.clone(global_.inputs()[i])] = i;
    }
    const std::vector<Expr*> own = keys_.exprsOf(key);
    readFromOthers(own, draft);
    giveToOthers(own, draft);
    preseg_passes::ScalarSubstitution(*fusion, std::move(draft.sizes)).apply();
    preseg_passes::sweep(*fusion);
    if (draft.outputs.empty()) {
      return;  // inputs alone, which others get part by part
    }
    dropUnused(*fusion);
    const std::vector<TensorView*> all = fusion->allTvs();
    if (std::none_of(all.begin(), all.end(),
                     [](const TensorView* tv) { return tv->hasDeviceMesh(); })) {
      draft.outputs[0]->setDeviceMesh(key.mesh);
    }
    Stage stage;
    stage.local = makeLocal(*fusion);
    if (takeInParts(draft.from_others, *fusion, stage.local, key.mesh)) {
      stage.local = makeLocal(*fusion);
    }
    for (const Brought& one : draft.from_others) {
      handOver(one, key.mesh, stage, draft.slots);
    }
    noteSlots(draft, stage);
    result_.stages.push_back(std::move(stage));
  }

  /// What other stages compute becomes inputs.
  void readFromOthers(const std::vector<Expr*>& own, Draft& draft) {
    std::unordered_map<const TensorView*, TensorView*> brought;
    for (Expr* expr : own) {
      Expr* copy = draft.cloner.clone(expr->output(0))->definition();
      for (const TensorView* in : tensorInputs(expr)) {
        const bool is_other = keys_.crosses(in, draft.key.mesh);
        const bool is_own =
            !is_other && (in->isFusionInput() || keys_.levelOf(in) == draft.key.level);
        if (is_own) {
          continue;
        }
        TensorView*& input = brought[in];
        TensorView* old = draft.cloner.clone(const_cast<TensorView*>(in));
        if (input == nullptr) {
          input = bring(in, old, draft);
        }
        draft.fusion->replaceInput(copy, old, input);
      }
    }
  }

  /// Outputs are the global Fusion's and what other stages want, of what is computed here.
  void giveToOthers(const std::vector<Expr*>& own, Draft& draft) {
    for (const Val* output : global_.outputs()) {
      if (output->isA<TensorView>()) {
        draft.fusion->removeOutput(draft.cloner.clone(const_cast<Val*>(output)));
      }
    }
    const auto give = [&](TensorView* tv, const Value& value) {
      if (!tv->isFusionOutput()) {
        draft.fusion->addOutput(tv);
      }
      draft.slots[tv] = slot_.count(value) != 0 ? slot_.at(value) : (slot_[value] = newSlot());
      draft.outputs.push_back(tv);
    };
    for (const Expr* expr : own) {
      for (const TensorView* out : tensorOutputs(expr)) {
        if (wanted_.count(out) != 0 || out->isFusionOutput()) {
          give(draft.cloner.clone(const_cast<TensorView*>(out)), {out, draft.key.mesh});
        }
      }
    }
  }

  /// Where the stage's inputs come from and its outputs go, and how they are cut.
  void noteSlots(const Draft& draft, Stage& stage) {
    const Fusion& fusion = *draft.fusion;
    for (const Val* input : fusion.inputs()) {
      stage.inputs.push_back(draft.slots.at(input));
    }
    for (size_t i = 0; i < fusion.outputs().size(); ++i) {
      stage.outputs.push_back(draft.slots.at(fusion.outputs()[i]));
      places_[stage.outputs.back()] = {draft.key.mesh, stage.local.outputs[i]};
    }
    for (size_t i = 0; i < fusion.inputs().size(); ++i) {
      if (fusion.inputs()[i]->isA<TensorView>()) {
        places_.emplace(stage.inputs[i], Stages::Place{draft.key.mesh, stage.local.inputs[i]});
      }
    }
  }

  /// What another stage has, as an input of this one.
  TensorView* bring(const TensorView* tv, const TensorView* copy, Draft& draft) {
    const DeviceMesh& mesh = draft.key.mesh;
    std::vector<IterDomain*> axes;
    for (const IterDomain* id : ops::axesOf(copy)) {
      Val* extent = ops::extentOf(id);
      if (ops::constantOf(extent) || extent->definition() == nullptr) {
        axes.push_back(ops::newOwnAxis(id));
        continue;
      }
      Val*& symbol = draft.sizes[extent];
      symbol = symbol == nullptr ? IrBuilder::create<Val>(extent->dtype()) : symbol;
      axes.push_back(ops::newIterAxis(symbol));
    }
    TensorView* input = ops::newTensor(std::move(axes), tv->dtype());
    draft.fusion->addInput(input);
    const DeviceMesh from = keys_.meshOf(tv);
    const size_t source = slot_.at({tv, tv->isFusionInput() ? DeviceMesh() : from});
    const Sharding given = tv->isFusionInput() ? shardingOf(tv) : places_.at(source).sharding;
    draft.slots[input] = source;
    if (from == mesh) {
      declare(input, mesh, given);
    } else {
      declare(input, mesh, Sharding());
      draft.from_others.push_back({tv, input, source, {from, given}});
    }
    return input;
  }

  /// Where all those that read such a tensor want it cut, it is. Whether there are any.
  static bool takeInParts(std::vector<Brought>& from_others, const Fusion& fusion,
                          const LocalFusion& local, const DeviceMesh& mesh) {
    bool any = false;
    for (Brought& one : from_others) {
      const auto& inputs = fusion.inputs();
      const auto place = std::find(inputs.begin(), inputs.end(), one.input) - inputs.begin();
      one.wanted = local.wanted.at(static_cast<size_t>(place));
      if (one.wanted != Sharding()) {
        declare(one.input, mesh, one.wanted);
        any = true;
      }
    }
    return any;
  }

  /// The tensor's parts on the other mesh have a slot of their own.
  void handOver(const Brought& one, const DeviceMesh& mesh, Stage& stage,
                std::map<const Val*, size_t>& slots) {
    const auto [found, is_new] =
        handed_.try_emplace({one.source, mesh.toString() + one.wanted.toString()}, result_.slots);
    slots[one.input] = found->second;
    if (!is_new) {
      return;
    }
    newSlot();
    const size_t axes = ops::axesOf(one.tv).size();
    const Shared wanted{mesh, one.wanted};
    const std::string tensor = ops::describe(one.tv);
    stage.handovers.push_back({one.source, found->second, one.tv->dtype(), axes, one.given, wanted,
                               piecesOf(one.given, wanted, axes),
                               text("handing over ", tensor, " from ", one.given.mesh.toString(),
                                    " to ", mesh.toString()),
                               tensor});
  }

  /// Inputs that nobody reads, but numbers.
  static void dropUnused(Fusion& fusion) {
    const std::vector<Val*> inputs = fusion.inputs();
    for (Val* input : inputs) {
      if (input->isA<TensorView>() && !input->isFusionOutput() && fusion.usesOf(input).empty()) {
        fusion.removeInput(input);
      }
    }
  }

  void describe() {
    for (size_t i = 0; i < global_.inputs().size(); ++i) {
      const Val* input = global_.inputs()[i];
      Stages::Place& place = result_.of_inputs.emplace_back();
      if (input->isA<TensorView>()) {
        place = {keys_.meshOf(input->as<TensorView>()), shardingOf(input->as<TensorView>())};
      }
    }
    for (const Val* output : global_.outputs()) {
      const auto* tv = output->as<TensorView>();
      result_.outputs.push_back(tv->isFusionInput() ? slot_.at({tv, DeviceMesh()})
                                                    : slot_.at({tv, keys_.meshOf(tv)}));
      result_.of_outputs.push_back(tv->isFusionInput()
                                       ? Stages::Place{keys_.meshOf(tv), shardingOf(tv)}
                                       : places_.at(result_.outputs.back()));
    }
  }

  const Fusion& global_;
  const StageKeys keys_;
  std::set<const TensorView*,
           decltype([](const TensorView* a, const TensorView* b) { return a->name() < b->name(); })>
      wanted_;
  struct Order {
    bool operator()(const Value& a, const Value& b) const {
      return std::tuple(a.first->name(), a.first->isA<TensorView>(), a.second.toString()) <
             std::tuple(b.first->name(), b.first->isA<TensorView>(), b.second.toString());
    }
  };
  std::map<Value, size_t, Order> slot_;
  std::map<std::pair<size_t, std::string>, size_t> handed_;
  std::map<size_t, Stages::Place> places_;
  Stages result_;
};

}  // namespace

std::vector<int64_t> Stages::devices() const {
  std::set<int64_t> all;
  for (const Stage& stage : stages) {
    all.insert(stage.local.mesh.devices().begin(), stage.local.mesh.devices().end());
    for (const Handover& handover : stage.handovers) {
      const std::vector<int64_t>& devices = handover.given.mesh.devices();
      all.insert(devices.begin(), devices.end());
    }
  }
  return {all.begin(), all.end()};
}

Stages makeStages(const Fusion& global) { return Cutter(global).run(); }

}  // namespace nvfuser::multidevice
