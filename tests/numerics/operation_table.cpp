#include "operation_table.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "devices.h"
#include <ir/builder.h>
#include <runtime/compile_batch.h>
#include <support/options.h>

namespace nvfuser::table {

namespace {

constexpr size_t kBatch = 128;  ///< kernels a translation unit

}  // namespace

std::string_view layoutName(Layout layout) {
  switch (layout) {
    case Layout::Contiguous:
      return "contiguous";
    case Layout::Strided:
      return "strided";
    case Layout::Expanded:
      return "expanded";
    case Layout::Misaligned:
      return "misaligned";
    case Layout::Empty:
      return "empty";
  }
  return "";
}

std::string_view deviceName(const Device& device) {
  switch (device.kind()) {
    case DeviceKind::Cpu:
      return "cpu";
    case DeviceKind::Cuda:
      return "gpu";
    default:
      return "emulated";
  }
}

Device& cudaLike() { return testsOnlyGpu() ? neededGpu() : emulatedDevice(); }

TensorView* Definition::tensor(const Sizes& sizes, DataType dtype, Values values,
                               std::optional<Sizes> empty) {
  Sizes declared;
  for (int64_t size : sizes) {
    declared.push_back(size == 1 ? 1 : -1);
  }
  TensorView* tv = makeSymbolicTensor(declared, dtype);
  FusionGuard::getCurFusion()->addInput(tv);
  Input input{dtype, values};
  input.is_tensor = true;
  input.sizes = sizes;
  input.empty = std::move(empty);
  inputs_.push_back(std::move(input));
  return tv;
}

TensorView* Definition::expandedTensor(const Sizes& sizes, DataType dtype, Values values,
                                       std::optional<Sizes> empty) {
  std::vector<bool> expanded(sizes.size(), false);
  expanded.at(0) = true;
  TensorView* tv = TensorViewBuilder()
                       .ndims(static_cast<int64_t>(sizes.size()))
                       .dtype(dtype)
                       .contiguity(false)
                       .shape(Sizes(sizes.size(), -1))
                       .expanded(expanded)
                       .build();
  FusionGuard::getCurFusion()->addInput(tv);
  Input input{dtype, values};
  input.is_tensor = true;
  input.is_expanded = true;
  input.sizes = sizes;
  input.empty = std::move(empty);
  inputs_.push_back(std::move(input));
  return tv;
}

Val* Definition::scalar(DataType dtype, Values values) {
  Val* val = IrBuilder::create<Val>(dtype);
  FusionGuard::getCurFusion()->addInput(val);
  inputs_.push_back({dtype, values});
  return val;
}

Val* Definition::scalar(DataType dtype, PolymorphicValue value) {
  Val* val = scalar(dtype);
  inputs_.back().fixed = value;
  return val;
}

void Definition::output(Val* value) { FusionGuard::getCurFusion()->addOutput(value); }

void Table::program(const std::string& kind, const std::string& name, const Define& define) {
  try {
    Definition definition;
    auto fusion = std::make_unique<Fusion>();
    {
      FusionGuard guard(fusion.get());
      define(definition);
    }
    auto cache = std::make_unique<FusionExecutorCache>(std::move(fusion));
    programs_.push_back({kind, name, definition.accuracy, definition.inputs_, std::move(cache)});
  } catch (const std::exception& error) {
    failed(text(kind, " ", name, ", defining"), error.what());
  }
}

void Table::refused(const std::string& kind, const std::string& name, const std::string& wording,
                    const Define& define) {
  try {
    Definition definition;
    Fusion fusion;
    FusionGuard guard(&fusion);
    define(definition);
    failed(text(kind, " ", name), text("was accepted, but has to be refused: ", wording));
  } catch (const UserError& error) {
    if (std::string_view(error.what()).find(wording) == std::string_view::npos) {
      failed(text(kind, " ", name),
             text("was refused with: ", error.what(), ", but should say: ", wording));
      return;
    }
    ++refusals_[text(kind, ": ", wording)];
    ++cases_[kind];
    ++num_cases_;
  } catch (const std::exception& error) {
    failed(text(kind, " ", name), text("was refused with no UserError: ", error.what()));
  }
}

void Table::failed(const std::string& where, const std::string& what) {
  constexpr int64_t kShown = 60;
  if (++failures_ <= kShown) {
    MESSAGE(family_, " on ", deviceName(device_), ": ", where, ": ", what.substr(0, 700));
  }
}

std::vector<std::pair<Layout, int>> Table::runsOf(const Program& program) {
  bool any_rank = false;
  bool any_tensor = false;
  bool any_scalar = false;
  bool any_empty = false;
  for (const Definition::Input& input : program.inputs) {
    any_tensor |= input.is_tensor;
    any_rank |= input.is_tensor && !input.sizes.empty();
    any_scalar |= !input.is_tensor && !input.fixed.hasValue();
    any_empty |= input.empty.has_value();
  }
  std::vector<std::pair<Layout, int>> runs{{Layout::Contiguous, 0}};
  if (any_scalar) {
    for (int variant = 1; variant < 6; ++variant) {
      runs.emplace_back(Layout::Contiguous, variant);
    }
  }
  if (any_tensor) {
    runs.emplace_back(Layout::Misaligned, 1);
  }
  if (any_rank) {
    runs.emplace_back(Layout::Strided, 2);
    runs.emplace_back(Layout::Expanded, 3);
  }
  if (any_empty) {
    runs.emplace_back(Layout::Empty, 0);
  }
  return runs;
}

void Table::prepareAll(Program& program, std::vector<KernelExecutor*>* executors) {
  std::set<KernelExecutor*> known;
  for (auto [layout, variant] : runsOf(program)) {
    try {
      std::vector<Tensor> tensors;
      std::vector<PolymorphicValue> scalars;
      KernelArgumentHolder on_host;
      KernelArgumentHolder arguments;
      makeArguments(program, layout, variant, &tensors, &scalars, &on_host, &arguments);
      program.cache->prepare(arguments, std::nullopt, &device_);
      for (KernelExecutor* executor : program.cache->executors()) {
        if (known.insert(executor).second) {
          executors->push_back(executor);
        }
      }
    } catch (const std::exception&) {
      // The run tells.
    }
  }
}

void Table::compileAll() {
  std::vector<KernelExecutor*> executors;
  auto flush = [&] {
    if (executors.empty()) {
      return;
    }
    num_kernels_ += static_cast<int64_t>(executors.size());
    ++num_batches_;
    try {
      compileBatch(executors, device_, PrimDataType::Int32);
    } catch (const std::exception& error) {
      // The kernels are compiled one by one when they run, which tells the wrong one.
      failed(text("batch ", num_batches_), error.what());
    }
    executors.clear();
  };
  for (Program& program : programs_) {
    prepareAll(program, &executors);
    if (executors.size() >= kBatch) {
      flush();
    }
  }
  flush();
}

void Table::run(int64_t least_cases) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  // Thousands of kernels that run once. Optimised ones are tests/python/test_ops_edges.py's.
  Options options = Options::current();
  if (std::getenv("NVFUSER_HOST_OPT_LEVEL") == nullptr) {
    options = options.set("HOST_OPT_LEVEL", "0");
  }
  const OptionsGuard guard(options);
  compileAll();
  const auto compiled = Clock::now();
  for (Program& program : programs_) {
    for (auto [layout, variant] : runsOf(program)) {
      runOnce(program, layout, variant);
    }
  }
  const auto end = Clock::now();
  auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  std::string counts;
  for (const auto& [kind, count] : cases_) {
    append(counts, text(counts.empty() ? "" : ", ", kind, " ", count));
  }
  std::string refusals;
  for (const auto& [wording, count] : refusals_) {
    append(refusals, text("\n    ", count, " × ", wording));
  }
  std::printf(
      "operation table, %s on %s: %lld cases (%lld elements) in %lld runs of %zu programs, %lld "
      "kernels in %lld "
      "compilations (%.1f s), runs and checks %.1f s, %lld wrong\n  cases: %s\n%s%s%s",
      family_.c_str(), std::string(deviceName(device_)).c_str(), static_cast<long long>(num_cases_),
      static_cast<long long>(num_elements_), static_cast<long long>(num_runs_), programs_.size(),
      static_cast<long long>(num_kernels_), static_cast<long long>(num_batches_),
      seconds(start, compiled), seconds(compiled, end), static_cast<long long>(failures_),
      counts.c_str(),
      refusals.empty() ? "" : "  refused, with their documented errors:", refusals.c_str(),
      refusals.empty() ? "" : "\n");
  CHECK(failures_ == 0);
  CHECK(num_cases_ >= least_cases);
}

}  // namespace nvfuser::table
