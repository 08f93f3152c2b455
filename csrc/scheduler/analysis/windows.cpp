#include <scheduler/analysis/windows.h>

#include <algorithm>

#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

bool isWindow(const Expr* expr) {
  return expr->isOneOf<SliceOp, PadOp>() && expr->input(0)->isFusionInput();
}

/// By how many elements a window's axis begins behind that of what it reads.
int64_t startOf(const Expr* window, size_t axis, SchedulerRuntimeInfo& info) {
  return window->isA<SliceOp>() ? info.evaluate(window->as<SliceOp>()->start(axis))
                                : -info.evaluate(window->as<PadOp>()->leftWidth(axis));
}

/// Whether neighbours along the axis are known to be neighbours in memory, whatever strides a call
/// has: kernels are made from what is declared.
bool isInnermostInMemory(const TensorView* tv, const IterDomain* axis) {
  const auto& memory = tv->getMaybeAllocationDomain();
  for (size_t i = memory.size(); i-- > 0;) {
    if (!memory[i]->isBroadcast() && !memory[i]->isReduction()) {
      return memory[i] == axis && tv->getContiguity()[i].value_or(false);
    }
  }
  return false;
}

}  // namespace

bool isWindow(const TensorView* tv) {
  return tv->definition() != nullptr && !tv->isFusionOutput() && isWindow(tv->definition());
}

std::vector<TensorView*> windowsOfInputs(const Fusion& fusion) {
  std::vector<TensorView*> windows;
  for (const Expr* expr : fusion.exprs()) {
    if (isWindow(expr)) {
      windows.push_back(expr->output(0)->as<TensorView>());
    }
  }
  return windows;
}

std::vector<int64_t> windowStrides(const TensorView* window, SchedulerRuntimeInfo& info) {
  std::vector<int64_t> strides = info.strides(window->definition()->input(0)->as<TensorView>());
  const auto& logical = window->getLogicalDomain();
  for (size_t i = 0; i < logical.size(); ++i) {
    if (const auto* resize = dynamic_cast<const Resize*>(logical[i]->definition())) {
      strides[i] *= std::abs(resize->step());
    }
  }
  return strides;
}

bool readThroughWindows(const TensorView* input) {
  const std::vector<Expr*> uses = input->fusion()->usesOf(input);
  return input->isFusionInput() && !uses.empty() &&
         std::all_of(uses.begin(), uses.end(), [](const Expr* use) { return isWindow(use); });
}

std::vector<TensorView*> withWindows(const std::vector<TensorView*>& border) {
  std::vector<TensorView*> read;
  for (TensorView* tv : border) {
    const std::vector<Expr*> uses = tv->fusion()->usesOf(tv);
    const bool in_parts = tv->isFusionInput() && !uses.empty() &&
                          std::all_of(uses.begin(), uses.end(), [](const Expr* use) {
                            return isWindow(use) || use->isA<SelectOp>();
                          });
    if (!in_parts) {
      read.push_back(tv);
      continue;
    }
    for (const Expr* use : uses) {
      if (!use->output(0)->isFusionOutput()) {
        read.push_back(use->output(0)->as<TensorView>());
      }
    }
  }
  return read;
}

int64_t windowWidth(const TensorView* window, const IterDomain* along, SchedulerRuntimeInfo& info) {
  const Expr* op = window->definition();
  const auto* input = op->input(0)->as<TensorView>();
  const std::vector<IterDomain*> axes = TensorDomain::noReductions(input->getLogicalDomain());
  const auto& logical = window->getLogicalDomain();
  const auto place = std::find(logical.begin(), logical.end(), along);
  if (place == logical.end()) {
    return 1;
  }
  const auto inner = static_cast<size_t>(place - logical.begin());
  const std::vector<int64_t> strides = info.strides(input);
  const bool steps = op->isA<SliceOp>() && info.evaluate(op->as<SliceOp>()->step(inner)) != 1;
  if (strides[inner] != 1 || !isInnermostInMemory(input, axes[inner]) || steps) {
    return 1;
  }
  const int64_t size = SchedulerRuntimeInfo::elementBytes(input);
  const int64_t start = startOf(op, inner, info);
  auto fits = [&](int64_t elements) {
    bool divides = elements * size <= kMaxVectorBytes && start % elements == 0 &&
                   info.alignment(input) % (elements * size) == 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      // Of an axis that happens to have one element, too: kernels are checked by their sizes alone.
      divides &= i == inner || axes[i]->isBroadcast() || strides[i] % elements == 0;
    }
    return divides;
  };
  int64_t width = 1;
  while (fits(width * 2)) {
    width *= 2;
  }
  return width;
}

}  // namespace nvfuser
