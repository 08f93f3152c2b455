#include <runtime/tensor.h>

#include <algorithm>
#include <cmath>

#include <evaluator/element_codec.h>
#include <evaluator/philox.h>
#include <evaluator/strided_loop.h>
#include <runtime/run_context.h>
#include <runtime/tensor_layout.h>

namespace nvfuser {

struct Tensor::Storage {
  Device* device = nullptr;  ///< null: meta
  void* data = nullptr;
  DeviceMemory memory;  ///< where `data` is our own
  std::shared_ptr<void> owner;
  const Allocator* lender = nullptr;  ///< the owner of borrowed memory, which names it by
  void* lent_as = nullptr;
};

namespace {

void checkSizes(const std::vector<int64_t>& sizes) {
  for (int64_t size : sizes) {
    if (size < 0) {
      userError("a tensor cannot have the sizes [", join(sizes, ", "), "]: ", size, " is negative");
    }
  }
}

/// Memory is allocated from the first element on. Strides of axes without a second element are of
/// no meaning, and may be any number (a reversed view of one row has -1).
void checkStrides(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  if (std::count(sizes.begin(), sizes.end(), 0) != 0) {
    return;
  }
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 1 && strides[axis] < 0) {
      userError("a tensor cannot be allocated with the strides [", join(strides, ", "),
                "]: ", strides[axis], " is negative");
    }
  }
}

/// The bytes of a tensor have to be countable.
void checkBytes(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                DataType dtype) {
  int64_t last = 0;
  bool overflow = false;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0) {
      return;
    }
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(sizes[axis] - 1, strides[axis], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  if (overflow || last > INT64_MAX / std::max<int64_t>(dataTypeSizeByte(dtype), 1) - 1) {
    userError("a tensor of sizes [", join(sizes, ", "), "] and dtype ", dtype,
              " has more bytes than 2^63 - 1, which no index can count");
  }
}

const char* deviceKindName(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Cpu:
      return "cpu";
    case DeviceKind::Emulated:
      return "emulated";
    case DeviceKind::Cuda:
      return "cuda";
  }
  return "";
}

}  // namespace

// ---- making ----

Tensor Tensor::empty(std::vector<int64_t> sizes, DataType dtype, Device& device, bool poison) {
  std::vector<int64_t> strides = rowMajorStrides(sizes);
  return emptyStrided(std::move(sizes), std::move(strides), dtype, device, poison);
}

Tensor Tensor::emptyStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                            DataType dtype, Device& device, bool poison) {
  Tensor tensor = emptyStrided(std::move(sizes), std::move(strides), dtype, device, RunContext());
  if (poison && tensor.storage_->data != nullptr) {
    const int64_t elements = elementSpan(tensor.sizes_, tensor.strides_);
    device.fillBytes(tensor.storage_->data, 0xFF,
                     static_cast<size_t>(elements * dataTypeSizeByte(dtype)), nullptr);
    device.synchronize(nullptr);
  }
  return tensor;
}

Tensor Tensor::emptyStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                            DataType dtype, Device& device, const RunContext& context) {
  checkSizes(sizes);
  if (strides.size() != sizes.size()) {
    userError("a tensor of ", sizes.size(), " axes was given ", strides.size(), " strides");
  }
  checkStrides(sizes, strides);
  checkBytes(sizes, strides, dtype);
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->device = &device;
  const auto bytes =
      static_cast<size_t>(elementSpan(tensor.sizes_, tensor.strides_) * dataTypeSizeByte(dtype));
  const Allocator::Form form{dtype, tensor.sizes_, tensor.strides_};
  tensor.storage_->memory = DeviceMemory(bytes, device, context, &form);
  tensor.storage_->data = tensor.storage_->memory.data();
  return tensor;
}

Tensor Tensor::inBlock(std::vector<int64_t> sizes, std::vector<int64_t> strides, DataType dtype,
                       Device& device, const RunContext& context, const Allocator::Block& block) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->device = &device;
  tensor.storage_->memory = DeviceMemory(block, device, context);
  tensor.storage_->data = block.data;
  return tensor;
}

Tensor Tensor::full(std::vector<int64_t> sizes, const PolymorphicValue& value, DataType dtype,
                    Device& device) {
  Tensor tensor = empty(std::move(sizes), dtype, device);
  tensor.fill(value);
  return tensor;
}

Tensor Tensor::zeros(std::vector<int64_t> sizes, DataType dtype, Device& device) {
  return full(std::move(sizes), 0, dtype, device);
}

Tensor Tensor::ones(std::vector<int64_t> sizes, DataType dtype, Device& device) {
  return full(std::move(sizes), 1, dtype, device);
}

Tensor Tensor::arange(int64_t count, DataType dtype, Device& device) {
  HostTensor host(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    host.setInt(i, i);
  }
  return fromHostTensor(host, device);
}

Tensor Tensor::randn(std::vector<int64_t> sizes, DataType dtype, uint64_t seed, Device& device) {
  HostTensor host(dtype, std::move(sizes));
  std::array<double, 4> drawn{};
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (i % 4 == 0) {
      const auto words = philoxBlock(seed, static_cast<uint64_t>(i / 4), 0);
      for (size_t pair = 0; pair < 4; pair += 2) {
        const double radius = std::sqrt(-2 * std::log((words[pair] + 1.0) * 0x1p-32));
        const double angle = words[pair + 1] * (6.283185307179586 * 0x1p-32);
        drawn[pair] = radius * std::cos(angle);
        drawn[pair + 1] = radius * std::sin(angle);
      }
    }
    const double number = drawn[static_cast<size_t>(i % 4)];
    if (isBooleanType(dtype)) {
      host.setInt(i, number < 0 ? 1 : 0);
    } else if (isIntegralType(dtype)) {
      host.setDouble(i, isUnsignedIntegralType(dtype) ? std::fabs(10 * number) : 10 * number);
    } else if (isComplexType(dtype)) {
      host.setComplex(i, {number, drawn[static_cast<size_t>((i + 1) % 4)]});
    } else {
      host.setDouble(i, number);
    }
  }
  return fromHostTensor(host, device);
}

Tensor Tensor::fromHostTensor(const HostTensor& host, Device& device) {
  return fromBytes(host.data(), static_cast<size_t>(host.numel()), host.dtype(), host.sizes(),
                   device);
}

Tensor Tensor::fromBytes(const void* data, size_t count, DataType dtype, std::vector<int64_t> sizes,
                         Device& device) {
  if (elementCount(sizes) != static_cast<int64_t>(count)) {
    userError("fromHost: ", count, " elements do not fill a tensor of sizes [", join(sizes, ", "),
              "], which has ", elementCount(sizes));
  }
  Tensor tensor = empty(std::move(sizes), dtype, device);
  if (count != 0) {
    device.copyFromHost(tensor.data(), data, count * static_cast<size_t>(dataTypeSizeByte(dtype)),
                        nullptr);
    device.synchronize(nullptr);
  }
  return tensor;
}

Tensor Tensor::fromRef(TensorRef ref, Device& device, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.dtype_ = ref.dtype;
  tensor.sizes_ = std::move(ref.sizes);
  tensor.strides_ = std::move(ref.strides);
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->device = &device;
  tensor.storage_->data = ref.data;
  tensor.storage_->owner = std::move(owner);
  return tensor;
}

Tensor Tensor::meta(std::vector<int64_t> sizes, std::vector<int64_t> strides, DataType dtype) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.storage_ = std::make_shared<Storage>();
  return tensor;
}

// ---- what it is ----

size_t Tensor::wrapAxis(int64_t axis, const char* what) const {
  const int64_t wrapped = axis < 0 ? axis + dim() : axis;
  if (wrapped < 0 || wrapped >= dim()) {
    userError(what, ": axis ", axis, " is out of range for a tensor of rank ", dim());
  }
  return static_cast<size_t>(wrapped);
}

int64_t Tensor::size(int64_t axis) const { return sizes_[wrapAxis(axis, "size")]; }

int64_t Tensor::stride(int64_t axis) const { return strides_[wrapAxis(axis, "stride")]; }

int64_t Tensor::numel() const { return elementCount(sizes_); }

bool Tensor::isContiguous() const { return ref().isContiguous(); }

bool Tensor::isMeta() const { return defined() && storage_->device == nullptr; }

Device& Tensor::device() const {
  if (!defined() || storage_->device == nullptr) {
    userError("a tensor without storage is on no device");
  }
  return *storage_->device;
}

void* Tensor::data() const {
  if (!defined() || storage_->data == nullptr) {
    return nullptr;
  }
  return static_cast<std::byte*>(storage_->data) + offset_ * dataTypeSizeByte(dtype_);
}

const Allocator::Block* Tensor::blockOf(const Allocator* allocator) const {
  const bool is_its =
      defined() && allocator != nullptr && storage_->memory.allocator() == allocator;
  return is_its ? &storage_->memory.block() : nullptr;
}

void* Tensor::handleFor(const Allocator* allocator) const {
  if (const Allocator::Block* block = blockOf(allocator)) {
    return block->handle;
  }
  const bool is_its = defined() && allocator != nullptr && storage_->lender == allocator;
  return is_its ? storage_->lent_as : nullptr;
}

void Tensor::setLender(const Allocator* lender, void* handle) {
  check(defined(), "memory that is lent");
  storage_->lender = lender;
  storage_->lent_as = handle;
}

std::optional<Allocator::Block> Tensor::takeBlock(const Allocator* allocator) {
  if (blockOf(allocator) == nullptr || storage_.use_count() != 1) {
    return std::nullopt;
  }
  const Allocator::Block block = storage_->memory.take();
  *this = Tensor();
  return block;
}

TensorRef Tensor::ref() const {
  return {.data = data(), .dtype = dtype_, .sizes = sizes_, .strides = strides_};
}

std::string Tensor::toString() const {
  if (!defined()) {
    return "undefined tensor";
  }
  std::string result = text(dataTypeName(dtype_), "[", join(sizes_, ", "), "]");
  if (!isContiguous()) {
    result += text(" strides [", join(strides_, ", "), "]");
  }
  result += " on ";
  if (isMeta()) {
    return result + "meta";
  }
  result += deviceKindName(device().kind());
  if (device().kind() == DeviceKind::Cuda) {
    result += text(":", device().index());
  }
  return result;
}

}  // namespace nvfuser
