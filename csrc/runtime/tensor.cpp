#include <runtime/tensor.h>

#include <algorithm>
#include <cmath>

#include <evaluator/element_codec.h>
#include <evaluator/philox.h>
#include <evaluator/strided_loop.h>

namespace nvfuser {

struct Tensor::Storage {
  Device* device = nullptr;  ///< null: meta
  void* data = nullptr;
  bool owned = false;
  std::shared_ptr<void> owner;

  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() {
    if (owned && data != nullptr) {
      device->release(data, nullptr);
    }
  }
};

namespace {

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t all = 1;
  for (int64_t size : sizes) {
    all *= size;
  }
  return all;
}

/// Number of elements from the first to the last one in memory; strides are not negative.
int64_t span(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 0) {
      return 0;
    }
    last += (sizes[axis] - 1) * strides[axis];
  }
  return last + 1;
}

void checkSizes(const std::vector<int64_t>& sizes) {
  for (int64_t size : sizes) {
    if (size < 0) {
      userError("a tensor cannot have the sizes [", join(sizes, ", "), "]: ", size, " is negative");
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
  checkSizes(sizes);
  if (strides.size() != sizes.size()) {
    userError("a tensor of ", sizes.size(), " axes was given ", strides.size(), " strides");
  }
  checkSizes(strides);
  checkBytes(sizes, strides, dtype);
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->device = &device;
  tensor.storage_->owned = true;
  const auto bytes =
      static_cast<size_t>(span(tensor.sizes_, tensor.strides_) * dataTypeSizeByte(dtype));
  tensor.storage_->data = device.allocate(bytes, nullptr);
  if (poison && bytes != 0) {
    device.fillBytes(tensor.storage_->data, 0xFF, bytes, nullptr);
    device.synchronize(nullptr);
  }
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
  if (product(sizes) != static_cast<int64_t>(count)) {
    userError("fromHost: ", count, " elements do not fill a tensor of sizes [", join(sizes, ", "),
              "], which has ", product(sizes));
  }
  Tensor tensor = empty(std::move(sizes), dtype, device);
  if (count != 0) {
    device.copyFromHost(tensor.data(), data, count * static_cast<size_t>(dataTypeSizeByte(dtype)),
                        nullptr);
    device.synchronize(nullptr);
  }
  return tensor;
}

Tensor Tensor::fromRef(const TensorRef& ref, Device& device, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.dtype_ = ref.dtype;
  tensor.sizes_ = ref.sizes;
  tensor.strides_ = ref.strides;
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

int64_t Tensor::numel() const { return product(sizes_); }

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

// ---- moving ----

HostTensor Tensor::toHostTensor() const {
  HostTensor host(dtype_, sizes_);
  if (numel() == 0) {
    return host;
  }
  Device& from = device();
  if (from.kind() == DeviceKind::Cpu) {
    return HostTensor::copyOf(ref());
  }
  if (isContiguous()) {
    from.copyToHost(host.data(), data(), host.sizeBytes(), nullptr);
    from.synchronize(nullptr);
    return host;
  }
  // The whole stretch of memory, gaps included, then the elements out of it.
  std::vector<std::byte> bytes(
      static_cast<size_t>(span(sizes_, strides_) * dataTypeSizeByte(dtype_)));
  from.copyToHost(bytes.data(), data(), bytes.size(), nullptr);
  from.synchronize(nullptr);
  TensorRef stretch = ref();
  stretch.data = bytes.data();
  return HostTensor::copyOf(stretch);
}

Tensor Tensor::copyTo(Device& target) const {
  if (numel() == 0) {
    return empty(sizes_, dtype_, target);
  }
  if (!isContiguous() && span(sizes_, strides_) == numel()) {
    // A permutation: the stretch is copied as it is.
    Tensor flat = asStrided({numel()}, {1}, offset_).copyTo(target);
    return flat.asStrided(sizes_, strides_, 0);
  }
  return fromHostTensor(toHostTensor(), target);
}

void Tensor::copyFrom(const Tensor& source) {
  if (source.dtype() != dtype_ || source.sizes() != sizes_) {
    userError("copyFrom: ", source, " cannot be written to ", *this,
              "; dtype and sizes have to be the same");
  }
  if (numel() == 0) {
    return;
  }
  const HostTensor host = source.toHostTensor();
  const int64_t width = dataTypeSizeByte(dtype_);
  Device& target = device();
  if (isContiguous()) {
    target.copyFromHost(data(), host.data(), host.sizeBytes(), nullptr);
    target.synchronize(nullptr);
    return;
  }
  // What stands in the gaps has to stay: the stretch is read, changed and written back.
  std::vector<std::byte> bytes(static_cast<size_t>(span(sizes_, strides_) * width));
  target.copyToHost(bytes.data(), data(), bytes.size(), nullptr);
  target.synchronize(nullptr);
  forEachRun<2>(
      sizes_, {strides_, rowMajorStrides(sizes_)}, {0, 0},
      [&](int64_t length, const std::array<int64_t, 2>& start, const std::array<int64_t, 2>& step) {
        for (int64_t i = 0; i < length; ++i) {
          std::memcpy(bytes.data() + (start[0] + i * step[0]) * width,
                      host.data() + (start[1] + i * step[1]) * width, static_cast<size_t>(width));
        }
      });
  target.copyFromHost(data(), bytes.data(), bytes.size(), nullptr);
  target.synchronize(nullptr);
}

Tensor Tensor::contiguous() const {
  return isContiguous() ? *this : fromHostTensor(toHostTensor(), device());
}

void Tensor::fill(const PolymorphicValue& value) {
  if (numel() == 0) {
    return;
  }
  const auto width = static_cast<size_t>(dataTypeSizeByte(dtype_));
  std::array<std::byte, 16> element{};
  storeElement(element.data(), dtype_, value);
  const bool one_byte = std::all_of(element.begin(), element.begin() + static_cast<int>(width),
                                    [&](std::byte byte) { return byte == element[0]; });
  if (one_byte && isContiguous()) {
    device().fillBytes(data(), static_cast<unsigned char>(element[0]),
                       static_cast<size_t>(numel()) * width, nullptr);
    device().synchronize(nullptr);
    return;
  }
  HostTensor host(dtype_, sizes_);
  for (int64_t i = 0; i < host.numel(); ++i) {
    std::memcpy(host.data() + i * static_cast<int64_t>(width), element.data(), width);
  }
  copyFrom(fromHostTensor(host, cpuDevice()));
}

PolymorphicValue Tensor::item() const {
  if (numel() != 1) {
    userError("item: ", *this, " has ", numel(), " elements, not one");
  }
  return loadElement(toHostTensor().data(), dtype_);
}

// ---- views ----

Tensor Tensor::permute(const std::vector<int64_t>& new2old) const {
  if (static_cast<int64_t>(new2old.size()) != dim()) {
    userError("permute: ", new2old.size(), " axes were given for a tensor of rank ", dim());
  }
  Tensor result = *this;
  std::vector<bool> used(sizes_.size(), false);
  for (size_t axis = 0; axis < new2old.size(); ++axis) {
    const size_t old = wrapAxis(new2old[axis], "permute");
    if (used[old]) {
      userError("permute: axis ", new2old[axis], " stands twice in [", join(new2old, ", "), "]");
    }
    used[old] = true;
    result.sizes_[axis] = sizes_[old];
    result.strides_[axis] = strides_[old];
  }
  return result;
}

Tensor Tensor::transpose(int64_t axis0, int64_t axis1) const {
  Tensor result = *this;
  const size_t a = wrapAxis(axis0, "transpose");
  const size_t b = wrapAxis(axis1, "transpose");
  std::swap(result.sizes_[a], result.sizes_[b]);
  std::swap(result.strides_[a], result.strides_[b]);
  return result;
}

Tensor Tensor::slice(int64_t axis, int64_t start, int64_t stop, int64_t step) const {
  const size_t at = wrapAxis(axis, "slice");
  if (step < 1) {
    userError("slice: the step must be positive, got ", step);
  }
  auto bound = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + sizes_[at] : index, 0, sizes_[at]);
  };
  Tensor result = *this;
  const int64_t first = bound(start);
  const int64_t last = std::max(first, bound(stop));
  result.offset_ += first * strides_[at];
  result.sizes_[at] = (last - first + step - 1) / step;
  result.strides_[at] *= step;
  return result;
}

Tensor Tensor::select(int64_t axis, int64_t index) const {
  const size_t at = wrapAxis(axis, "select");
  const int64_t wrapped = index < 0 ? index + sizes_[at] : index;
  if (wrapped < 0 || wrapped >= sizes_[at]) {
    userError("select: index ", index, " is out of range for axis ", axis, " of extent ",
              sizes_[at]);
  }
  Tensor result = *this;
  result.offset_ += wrapped * strides_[at];
  result.sizes_.erase(result.sizes_.begin() + static_cast<std::ptrdiff_t>(at));
  result.strides_.erase(result.strides_.begin() + static_cast<std::ptrdiff_t>(at));
  return result;
}

Tensor Tensor::unsqueeze(int64_t axis) const {
  const int64_t at = axis < 0 ? axis + dim() + 1 : axis;
  if (at < 0 || at > dim()) {
    userError("unsqueeze: axis ", axis, " is out of range for a tensor of rank ", dim());
  }
  Tensor result = *this;
  const int64_t stride =
      at < dim() ? sizes_[static_cast<size_t>(at)] * strides_[static_cast<size_t>(at)] : 1;
  result.sizes_.insert(result.sizes_.begin() + at, 1);
  result.strides_.insert(result.strides_.begin() + at, stride);
  return result;
}

Tensor Tensor::expand(const std::vector<int64_t>& sizes) const {
  if (sizes.size() < sizes_.size()) {
    userError("expand: [", join(sizes, ", "), "] has fewer axes than ", *this);
  }
  Tensor result = *this;
  const auto added = static_cast<std::ptrdiff_t>(sizes.size() - sizes_.size());
  result.sizes_.insert(result.sizes_.begin(), static_cast<size_t>(added), 1);
  result.strides_.insert(result.strides_.begin(), static_cast<size_t>(added), 0);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == -1 || sizes[axis] == result.sizes_[axis]) {
      continue;
    }
    if (result.sizes_[axis] != 1) {
      userError("expand: axis ", axis, " of extent ", result.sizes_[axis], " cannot become ",
                sizes[axis], "; only axes of extent 1 expand");
    }
    result.sizes_[axis] = sizes[axis];
    result.strides_[axis] = 0;
  }
  return result;
}

Tensor Tensor::view(std::vector<int64_t> sizes) const {
  if (!isContiguous()) {
    userError("view: ", *this, " is not contiguous; take contiguous() first");
  }
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else {
      known *= size;
    }
  }
  if (open != nullptr && known > 0) {
    *open = numel() / known;
  }
  if (product(sizes) != numel() ||
      std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
    userError("view: ", *this, " has ", numel(), " elements and cannot have the sizes [",
              join(sizes, ", "), "]");
  }
  Tensor result = *this;
  result.strides_ = rowMajorStrides(sizes);
  result.sizes_ = std::move(sizes);
  return result;
}

Tensor Tensor::asStrided(std::vector<int64_t> sizes, std::vector<int64_t> strides,
                         int64_t offset) const {
  check(sizes.size() == strides.size(), "sizes and strides differ in number");
  Tensor result = *this;
  result.sizes_ = std::move(sizes);
  result.strides_ = std::move(strides);
  result.offset_ = offset;
  return result;
}

}  // namespace nvfuser
