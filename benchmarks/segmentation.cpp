// Time to cut large Fusions into kernels: with made-up schedulers (the segmenter alone) and with
// the real ones (`prepare` of a cache also plans and lowers, so it is not what is measured here).
#include <chrono>
#include <cstdio>
#include <functional>

#include <fusion.h>
#include <ir/builder.h>
#include <ops/all_ops.h>
#include <scheduler/registry.h>
#include <segmenter/extract.h>
#include <segmenter/segment_fusion.h>

using namespace nvfuser;

namespace {

TensorView* input(const std::vector<int64_t>& shape) {
  TensorView* tv = makeContigConcreteTensor(shape);
  FusionGuard::getCurFusion()->addInput(tv);
  return tv;
}

TensorView* layers(int count) {
  TensorView* x = input({-1, 512});
  for (int i = 0; i < count; ++i) {
    TensorView* weight = input({512});
    TensorView* bias = input({512});
    TensorView* y = layer_norm(x, 1, weight, bias, IrBuilder::create<Val>(1e-5)).output;
    x = add(x, gelu(y));
  }
  return x;
}

TensorView* chain(int count) {
  TensorView* x = input({-1, -1});
  for (int i = 0; i < count; ++i) {
    x = sin(x);
  }
  return x;
}

/// Blocks of a softmax and some arithmetic, until there are `count` operations.
TensorView* mixed(int count) {
  TensorView* x = input({-1, 512});
  while (FusionGuard::getCurFusion()->numExprs() < count) {
    TensorView* y = softmax(mul(x, x), 1);
    x = add(tanh(y), neg(x));
  }
  return x;
}

int64_t extentOf(const IterDomain* id) {
  const Val* extent = id->getMaybeExpandedExtent();
  return extent->isConst() ? extent->value().as<int64_t>() : int64_t{1024};
}

SchedulerRuntimeInfo infoOf(const Fusion& fusion) {
  ExpressionEvaluator evaluator;
  std::vector<TensorLayout> layouts;
  for (const Val* val : fusion.inputs()) {
    if (!val->isA<TensorView>()) {
      continue;
    }
    TensorLayout layout;
    const auto& axes = val->as<TensorView>()->getLogicalDomain();
    int64_t stride = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t extent = extentOf(axes[i]);
      layout.sizes.insert(layout.sizes.begin(), extent);
      layout.strides.insert(layout.strides.begin(), axes[i]->isBroadcast() ? 0 : stride);
      stride *= axes[i]->isBroadcast() ? 1 : extent;
      if (!axes[i]->extent()->isConst()) {
        evaluator.bind(axes[i]->extent(), PolymorphicValue(extent));
      }
    }
    layouts.push_back(std::move(layout));
  }
  DeviceProperties device;
  device.multiprocessors = 132;
  return SchedulerRuntimeInfo(fusion, layouts, std::move(evaluator), DeviceKind::Cuda, device,
                              DataType::Int);
}

/// Whether a scheduler of the registry takes the group.
bool realTakes(const Fusion& whole, const Group& group) {
  const ExtractedGroup part = extractGroup(whole, group);
  for (const SchedulerEntry* entry : schedulerEntries()) {
    if (refusalOfForm(*entry, *part.fusion).has_value()) {
      continue;
    }
    SchedulerRuntimeInfo info = infoOf(*part.fusion);
    if (std::holds_alternative<std::unique_ptr<HeuristicParams>>(entry->plan(*part.fusion, info))) {
      return true;
    }
  }
  return false;
}

double milliseconds(const std::function<void()>& run) {
  double best = 1e30;
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

void row(const char* name, const std::function<TensorView*()>& define) {
  Fusion fusion;
  FusionGuard guard(&fusion);
  fusion.addOutput(define());
  SegmentCall call;
  call.extent = extentOf;
  call.device = DeviceKind::Cuda;
  auto small = [](const Group& group) { return group.exprs.size() <= 60; };
  auto real = [&](const Group& group) { return realTakes(fusion, group); };
  SegmentCounts counts;
  size_t groups = 0;
  const double alone = milliseconds([&] { groups = segmentFusion(fusion, call, small).size(); });
  size_t kernels = 0;
  const double all =
      milliseconds([&] { kernels = segmentFusion(fusion, call, real, &counts).size(); });
  std::printf("%-24s %8lld %8zu %10.1f | %8zu %10.1f %9lld %9lld %9lld\n", name,
              static_cast<long long>(counts.operations), groups, alone, kernels, all,
              static_cast<long long>(counts.questions), static_cast<long long>(counts.questioned),
              static_cast<long long>(counts.pairs));
}

}  // namespace

int main() {
  std::printf("%-24s %8s %8s %10s | %8s %10s %9s %9s %9s\n", "fusion", "ops", "kernels", "ms",
              "kernels", "ms", "questions", "asked ops", "pairs");
  std::printf("%-24s %8s %19s | %s\n", "", "", "up to 60 ops", "the registry's schedulers");
  for (int count : {8, 16, 32, 64, 128}) {
    row(text(count, " layers").c_str(), [&] { return layers(count); });
  }
  for (int count : {500, 1000, 2000, 4000}) {
    row(text("mixed, ", count).c_str(), [&] { return mixed(count); });
  }
  for (int count : {500, 1000, 2000, 4000}) {
    row(text("chain, ", count).c_str(), [&] { return chain(count); });
  }
  return 0;
}
