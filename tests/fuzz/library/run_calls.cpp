#include <fuzz/library/run_calls.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <fuzz/kernel_interpreter/kernel_interpreter.h>
#include <fuzz/library/build.h>
#include <fuzz/library/compare.h>
#include <fuzz/library/settled.h>
#include <fuzz/library/shapes.h>
#include <fuzz/library/stages.h>
#include <runtime/cpu/cpu_device.h>
#include <runtime/fusion_executor_cache.h>

namespace nvfuser::fuzz {

namespace {

/// What a call must come to.
struct Due {
  std::string refused;              ///< why; empty: there are results
  bool may_refuse = false;          ///< results, or a refusal
  std::vector<HostTensor> results;  ///< of `values_`
};

class Calls {
 public:
  Calls(const Program& program, const RunOptions& options,
        const std::function<void(std::string_view)>& progress)
      : program_(program), options_(options), stages_(options, progress) {}

  Outcome run() {
    values_ = program_.outputs;
    for (const Update& update : program_.updates) {
      if (std::find(values_.begin(), values_.end(), update.result) == values_.end()) {
        values_.push_back(update.result);
      }
    }
    stages_.run("define", [&] {
      fusion_ = build(program_).release();
      fusion_->verify();
      check(parseProgram(program_.toString()) == program_, "a program's file reads back");
      if (options_.verbose) {
        std::printf("%s", fusion_->toString().c_str());
      }
    });
    if (stages_.isClean()) {
      stages_.run("reference", [&] {
        for (size_t call = 0; call <= program_.again.size(); ++call) {
          due_.push_back(dueOf(call));
        }
      });
    }
    if (stages_.isClean()) {
      stages_.onDevices("calls",
                        [&](Device& device, const std::string& name) { runOn(device, name); });
    }
    return std::move(stages_.outcome);
  }

 private:
  Due dueOf(size_t call) const {
    const Shapes shapes = shapesOf(program_, call);
    Due due{.refused = shapes.refused(), .may_refuse = !shapes.fitsLayout(), .results = {}};
    if (!due.refused.empty()) {
      return due;
    }
    Program asked = program_;
    asked.outputs = values_;
    const Program constant = settled(asked, call, shapes);
    Builder builder = build(constant);
    due.results = interpret(builder.fusion(), makeArguments(constant, cpuDevice()).inputs(),
                            {.rounding = Rounding::CastsAndOutputs});
    for (size_t i = 0; i < due.results.size(); ++i) {
      check(due.results[i].sizes() == shapes.of(values_[i]),
            "the settled program's results have the sizes of the call");
    }
    return due;
  }

  std::unique_ptr<FusionExecutorCache> newCache() const {
    return std::make_unique<FusionExecutorCache>(std::make_unique<Fusion>(*fusion_));
  }

  void runOn(Device& device, const std::string& name) {
    const size_t count = due_.size();
    auto cache = newCache();
    for (std::string_view turn : {"cold", "warm"}) {
      for (size_t call = 0; call < count; ++call) {
        if (!runCall(*cache, device, call, name, turn)) {
          return;
        }
      }
    }
    cache = newCache();
    for (size_t call = count; call-- > 0;) {
      if (!runCall(*cache, device, call, name, "backwards")) {
        return;
      }
    }
  }

  /// False where it failed: what comes behind may be wrong for the same reason.
  bool runCall(FusionExecutorCache& cache, Device& device, size_t call, const std::string& name,
               std::string_view turn) {
    const Due& due = due_[call];
    const std::string where = text("call ", call, ", ", turn, ": ");
    const auto fail = [&](bool is_mismatch, const std::string& what) {
      stages_.outcome.failures.push_back({is_mismatch, name, where + what});
      return false;
    };
    const KernelArgumentHolder args = makeArguments(callOf(program_, call), device);
    const KernelArgumentHolder before = makeArguments(callOf(program_, call), device);
    KernelArgumentHolder results;
    try {
      results = cache.runFusionWithInputs(
          args, program_.wide_index ? std::optional(PrimDataType::Int) : std::nullopt, &device);
    } catch (const TooLong&) {
      return true;
    } catch (const UserError& e) {
      if (due.refused.empty() && !due.may_refuse) {
        return fail(false, text("refused, although it has a result: ", e.what()));
      }
      const std::string changed = differs(args, before, {});
      return changed.empty() || fail(true, text("refused, but ", changed, ": ", e.what()));
    } catch (const std::exception& e) {
      return fail(false, e.what());
    }
    if (!due.refused.empty()) {
      return fail(true, text("gave a result instead of a UserError, although ", due.refused));
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const std::string mismatch = compared(results[i].tensor(), due.results[i]);
      if (!mismatch.empty()) {
        return fail(true, text("output ", i, " (v", program_.outputs[i], ") ", mismatch));
      }
    }
    const std::string changed = differs(args, before, due.results);
    return changed.empty() || fail(true, changed);
  }

  std::string compared(const Tensor& got, const HostTensor& due) {
    const Comparison comparison = compareOutput(got.toHostTensor(), {.references = {due}});
    stages_.outcome.elements += comparison.elements;
    stages_.outcome.skipped += comparison.skipped;
    return comparison.mismatch;
  }

  /// The first argument that does not have the elements that it is due after the call: those of
  /// `results` where it is updated, else those of before.
  std::string differs(const KernelArgumentHolder& args, const KernelArgumentHolder& before,
                      const std::vector<HostTensor>& results) {
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const int64_t id = program_.inputs[i].id;
      const auto update = std::find_if(program_.updates.begin(), program_.updates.end(),
                                       [&](const Update& each) { return each.input == id; });
      const bool is_updated = update != program_.updates.end() && !results.empty();
      const size_t place =
          is_updated
              ? static_cast<size_t>(std::find(values_.begin(), values_.end(), update->result) -
                                    values_.begin())
              : 0;
      const std::string mismatch = compared(
          args[i].tensor(), is_updated ? results[place] : before[i].tensor().toHostTensor());
      if (!mismatch.empty()) {
        return text("input v", id,
                    is_updated ? " is not what was written there: " : " is changed: ", mismatch);
      }
    }
    return {};
  }

  const Program& program_;
  const RunOptions& options_;
  std::unique_ptr<Fusion> fusion_;
  std::vector<int64_t> values_;  ///< outputs, then what is written to inputs
  std::vector<Due> due_;
  Stages stages_;
};

}  // namespace

Outcome runCalls(const Program& program, const RunOptions& options,
                 const std::function<void(std::string_view)>& progress) {
  return Calls(program, options, progress).run();
}

}  // namespace nvfuser::fuzz
