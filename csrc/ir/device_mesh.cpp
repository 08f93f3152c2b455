#include <ir/device_mesh.h>

#include <algorithm>
#include <numeric>

#include <support/error.h>

namespace nvfuser {

DeviceMesh::DeviceMesh(std::vector<int64_t> devices, std::vector<int64_t> shape)
    : devices_(std::move(devices)), shape_(std::move(shape)) {
  if (shape_.empty() && !devices_.empty()) {
    shape_ = {size()};
  }
  const int64_t count =
      std::accumulate(shape_.begin(), shape_.end(), int64_t{1}, std::multiplies<>());
  if (devices_.empty()) {
    userError("DeviceMesh: a mesh has at least one device");
  }
  if (shape_.size() > std::size(kMeshAxes)) {
    userError("DeviceMesh: a mesh has at most three axes, got ", shape_.size(), " of sizes [",
              join(shape_, ", "), "]");
  }
  if (count != size() ||
      std::any_of(shape_.begin(), shape_.end(), [](int64_t n) { return n < 1; })) {
    userError("DeviceMesh: ", size(), " devices do not fill a mesh of sizes [", join(shape_, ", "),
              "]");
  }
  std::vector<int64_t> sorted = devices_;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0) {
    userError("DeviceMesh: devices are numbered from 0, got ", sorted.front());
  }
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    userError("DeviceMesh: device ", *twice, " is there twice");
  }
}

std::optional<size_t> DeviceMesh::placeOf(ParallelType axis) const {
  const size_t from_last = axis == ParallelType::DIDx ? 0 : axis == ParallelType::DIDy ? 1 : 2;
  return from_last < shape_.size() ? std::optional(shape_.size() - 1 - from_last) : std::nullopt;
}

int64_t DeviceMesh::strideOf(size_t place) const {
  return std::accumulate(shape_.begin() + static_cast<std::ptrdiff_t>(place) + 1, shape_.end(),
                         int64_t{1}, std::multiplies<>());
}

int64_t DeviceMesh::size(ParallelType axis) const {
  const auto place = placeOf(axis);
  return place ? shape_[*place] : 1;
}

bool DeviceMesh::has(int64_t device) const {
  return std::find(devices_.begin(), devices_.end(), device) != devices_.end();
}

std::optional<int64_t> DeviceMesh::coordinate(int64_t device, ParallelType axis) const {
  const auto found = std::find(devices_.begin(), devices_.end(), device);
  if (found == devices_.end()) {
    return std::nullopt;
  }
  const auto place = placeOf(axis);
  return place ? (found - devices_.begin()) / strideOf(*place) % shape_[*place] : 0;
}

std::vector<int64_t> DeviceMesh::team(int64_t device, ParallelType axis) const {
  const auto found = std::find(devices_.begin(), devices_.end(), device);
  check(found != devices_.end(), "a device that is not in the mesh has no team");
  const auto place = placeOf(axis);
  if (!place) {
    return {device};
  }
  const int64_t stride = strideOf(*place);
  const int64_t first = (found - devices_.begin()) - *coordinate(device, axis) * stride;
  std::vector<int64_t> team;
  for (int64_t i = 0; i < shape_[*place]; ++i) {
    team.push_back(devices_[static_cast<size_t>(first + i * stride)]);
  }
  return team;
}

std::string DeviceMesh::toString() const {
  const int64_t row = shape_.empty() ? 1 : shape_.back();
  const int64_t plane = shape_.size() < 3 ? size() : row * shape_[1];
  // An axis of one place shows by the sign in front.
  const bool shows_planes = shape_.size() == 3 && shape_[0] == 1;
  const bool shows_rows = shape_.size() == 2 && shape_[0] == 1;
  std::string result = text("DeviceMesh{", shows_planes ? "|| " : shows_rows ? "| " : "");
  for (int64_t i = 0; i < size(); ++i) {
    result += text(i == 0           ? ""
                   : i % plane == 0 ? " || "
                   : i % row == 0   ? " | "
                                    : " ",
                   devices_[static_cast<size_t>(i)]);
  }
  return result + "}";
}

}  // namespace nvfuser
