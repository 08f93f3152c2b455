#include <runtime/pack_arguments.h>

#include <algorithm>
#include <cstring>

#include <evaluator/host_tensor.h>
#include <runtime/check_storage.h>

namespace nvfuser {

template <typename T>
void* PackedArguments::keep(T value) {
  auto& bytes = storage_.emplace_back(std::max<size_t>(sizeof(T), 16));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes.data();
}

void* PackedArguments::store(const PolymorphicValue& value, DataType dtype) {
  HostTensor one(dtype, {});
  if (isComplexType(dtype)) {
    one.setComplex(0, value.as<std::complex<double>>());
  } else if (isFloatingPointType(dtype)) {
    one.setDouble(0, value.as<double>());
  } else {
    one.setInt(0, value.as<int64_t>());
  }
  auto& bytes = storage_.emplace_back(16);
  std::memcpy(bytes.data(), one.data(), one.sizeBytes());
  return bytes.data();
}

PackedArguments::PackedArguments(const CompiledKernel& compiled, LaunchValues& values,
                                 const KernelArgumentHolder& args,
                                 const KernelArgumentHolder& outputs, Device& device, uint64_t seed,
                                 uint64_t offset) {
  const kir::Kernel& kernel = compiled.kernel();
  const Fusion& fusion = compiled.fusion();
  checkStorage(fusion, args, outputs, device, values.evaluator());
  if (kernel.index_type == DataType::Int32 &&
      (args.getSmallestIndexTypeOfArguments() == PrimDataType::Int ||
       outputs.getSmallestIndexTypeOfArguments() == PrimDataType::Int)) {
    userError(
        "run: CompileParams ask for index_type Int32, but a tensor has elements that 32 bits "
        "cannot count; leave index_type out, or ask for Int");
  }
  auto position = [](const std::vector<Val*>& list, const Val* val) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), val) - list.begin());
  };
  std::unordered_map<const kir::Buffer*, const void*> addresses;
  for (const kir::Param& param : kernel.params) {
    switch (param.kind) {
      case kir::ParamKind::TensorArg: {
        void* address = nullptr;
        if (param.buffer->role == kir::BufferRole::Input) {
          address = args[position(fusion.inputs(), param.buffer->tv)].tensor().data();
        } else if (param.buffer->role == kir::BufferRole::Output) {
          address = outputs[position(fusion.outputs(), param.buffer->tv)].tensor().data();
        } else {
          const int64_t bytes =
              values.of(param.buffer->elements) * dataTypeSizeByte(param.buffer->dtype);
          address = device.allocate(static_cast<size_t>(bytes), nullptr);
          workspaces_.emplace_back(address, Release{&device});
          if (param.buffer->zeroed) {
            device.fillBytes(address, 0, static_cast<size_t>(bytes), nullptr);
          }
        }
        addresses[param.buffer] = address;
        pointers_.push_back(keep(address));
        break;
      }
      case kir::ParamKind::IndexArg: {
        const int64_t value = values.of(param.symbol);
        pointers_.push_back(param.dtype == DataType::Int32 ? keep(static_cast<int32_t>(value))
                                                           : keep(value));
        break;
      }
      case kir::ParamKind::ScalarArg:
        if (param.val != nullptr) {
          const PolymorphicValue value = values.of(param.val);
          if (!value.hasValue()) {
            userError("run: scalar ", param.val->toInlineString(),
                      " has no value: it is neither an input of the Fusion nor computed from its "
                      "inputs and their sizes; addInput it and pass a number");
          }
          pointers_.push_back(store(value, param.dtype));
        } else {
          pointers_.push_back(keep(param.name == "philox_seed" ? seed : offset));
        }
        break;
    }
  }
  std::string why;
  if (!values.checksHold(addresses, &why)) {
    userError("run: ", why, "; use a narrower vector or pass a tensor that fits");
  }
}

}  // namespace nvfuser
