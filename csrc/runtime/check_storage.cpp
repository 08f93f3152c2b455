#include <runtime/check_storage.h>

#include <ir/fusion.h>
#include <runtime/memory_overlap.h>

namespace nvfuser {

void checkStorage(const Fusion& fusion, const KernelArgumentHolder& args,
                  const KernelArgumentHolder& outputs, const Device& device) {
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
      if (args[i].isTensor() && inputs[i] != reused && rangesMeet(written, args[i].tensor())) {
        userError("run: output ", o, ", ", declared[o]->toString(),
                  ", overlaps the memory of input ", i, ", ", inputs[i]->toString(),
                  "; its elements could be overwritten before they are read: pass other memory, or "
                  "declare the reuse with aliasOutputToInput()");
      }
    }
    for (size_t k = 0; k < o; ++k) {
      if (declared[k] != declared[o] && !declared[k]->isFusionInput() &&
          rangesMeet(written, outputs[k].tensor())) {
        userError("run: outputs ", k, ", ", declared[k]->toString(), ", and ", o, ", ",
                  declared[o]->toString(), ", overlap in memory; give each memory of its own");
      }
    }
  }
}

}  // namespace nvfuser
