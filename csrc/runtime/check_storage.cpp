#include <runtime/check_storage.h>

#include <algorithm>
#include <cstddef>

#include <evaluator/expression_evaluator.h>
#include <ir/fusion.h>

namespace nvfuser {

namespace {

/// First byte and the one behind the last.
std::pair<const std::byte*, const std::byte*> rangeOf(const Tensor& tensor) {
  const auto* first = static_cast<const std::byte*>(tensor.data());
  int64_t last = 0;
  for (size_t axis = 0; axis < tensor.sizes().size(); ++axis) {
    last += (tensor.sizes()[axis] - 1) * tensor.strides()[axis];
  }
  return {first, first + (last + 1) * dataTypeSizeByte(tensor.dtype())};
}

bool overlap(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) {
    return false;
  }
  const auto [a_first, a_end] = rangeOf(a);
  const auto [b_first, b_end] = rangeOf(b);
  return a_first < b_end && b_first < a_end;
}

bool sameView(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.dtype() == b.dtype();
}

/// A kernel writes its outputs densely, in order of the allocation domain.
void checkReusedLayout(const TensorView* output, const Val* input, const Tensor& tensor,
                       ExpressionEvaluator& evaluator) {
  const auto logical = TensorDomain::noReductions(output->getLogicalDomain());
  std::vector<int64_t> sizes;
  for (const IterDomain* id : logical) {
    sizes.push_back(evaluator.evaluateInt(id->getMaybeExpandedExtent(), "an output's size"));
  }
  std::vector<int64_t> strides = tensor.strides();
  int64_t stride = 1;
  const auto& memory = output->getMaybeAllocationDomain();
  for (auto it = memory.rbegin(); it != memory.rend(); ++it) {
    const auto place = std::find(logical.begin(), logical.end(), *it);
    if (place == logical.end()) {
      continue;
    }
    const auto axis = static_cast<size_t>(place - logical.begin());
    if (axis < strides.size() && sizes[axis] != 1) {
      strides[axis] = stride;
      stride *= std::max<int64_t>(sizes[axis], 1);
    }
  }
  if (tensor.sizes() != sizes || (tensor.numel() > 0 && tensor.strides() != strides)) {
    userError("run: output ", output, " is written to the storage of input ", input->toString(),
              ", which needs sizes [", join(sizes, ", "), "] with strides [", join(strides, ", "),
              "], got ", tensor.toString(), "; pass a dense tensor of these sizes");
  }
}

}  // namespace

void checkStorage(const Fusion& fusion, const KernelArgumentHolder& args,
                  const KernelArgumentHolder& outputs, const Device& device,
                  ExpressionEvaluator& evaluator) {
  auto onDevice = [&](const Tensor& tensor, std::string_view what, size_t i, const Val* val) {
    if (!tensor.defined() || tensor.isMeta()) {
      userError("run: ", what, " ", i, ", ", val->toString(), ", has no memory (",
                tensor.defined() ? "a meta tensor" : "undefined", "); allocate it on ",
                device.properties().name);
    }
    if (&tensor.device() != &device) {
      userError("run: ", what, " ", i, ", ", val->toString(), ", is on ",
                tensor.device().properties().name, ", but the kernel runs on ",
                device.properties().name, "; move it there first");
    }
  };
  const std::vector<Val*>& inputs = fusion.inputs();
  const std::vector<Val*>& declared = fusion.outputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (args[i].isTensor() &&
        !(inputs[i]->isA<TensorView>() && inputs[i]->as<TensorView>()->isCpuScalar())) {
      onDevice(args[i].tensor(), "input", i, inputs[i]);
    }
  }
  for (size_t o = 0; o < declared.size(); ++o) {
    const Tensor& written = outputs[o].tensor();
    onDevice(written, "output", o, declared[o]);
    if (declared[o]->isFusionInput()) {
      continue;  // nothing is written
    }
    const Val* reused = fusion.getOutputAlias(declared[o]).aliased_io;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!args[i].isTensor() || !overlap(written, args[i].tensor())) {
        continue;
      }
      if (inputs[i] == reused) {
        checkReusedLayout(declared[o]->as<TensorView>(), reused, written, evaluator);
      } else if (reused == nullptr || !sameView(written, args[i].tensor())) {
        userError("run: output ", o, ", ", declared[o]->toString(),
                  ", overlaps the memory of input ", i, ", ", inputs[i]->toString(),
                  "; its elements could be overwritten before they are read: pass other memory, or "
                  "declare the reuse with aliasOutputToInput()");
      }
    }
    for (size_t k = 0; k < o; ++k) {
      if (declared[k] != declared[o] && !declared[k]->isFusionInput() &&
          overlap(written, outputs[k].tensor())) {
        userError("run: outputs ", k, ", ", declared[k]->toString(), ", and ", o, ", ",
                  declared[o]->toString(), ", overlap in memory; give each memory of its own");
      }
    }
  }
}

}  // namespace nvfuser
