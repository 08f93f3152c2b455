/// Runs are timed in turns with a copy of the same bytes and printed as fractions of the copy's
/// speed, the slowest first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <runtime/tensor.h>

namespace benchmark {

struct Row {
  std::string name;
  double bytes;    ///< each input once and each output once
  double copy_ms;  ///< of the same bytes
  double ms;
  double fraction() const { return copy_ms / ms; }
};

/// Random numbers, repeated every 2^20 elements: drawing them is slower than what is measured.
inline nvfuser::Tensor randomTensor(const std::vector<int64_t>& sizes, nvfuser::DataType dtype,
                                    uint64_t seed, nvfuser::Device& device) {
  using nvfuser::Tensor;
  constexpr int64_t kPeriod = int64_t{1} << 20;
  Tensor result = Tensor::empty(sizes, dtype, device);
  const Tensor drawn = Tensor::randn({std::min(kPeriod, result.numel())}, dtype, seed, device);
  const int64_t bytes = result.numel() * nvfuser::dataTypeSizeByte(dtype);
  const int64_t period = drawn.numel() * nvfuser::dataTypeSizeByte(dtype);
  for (int64_t at = 0; at < bytes; at += period) {
    device.copyWithin(static_cast<char*>(result.data()) + at, drawn.data(),
                      static_cast<size_t>(std::min(period, bytes - at)), nullptr);
  }
  device.synchronize(nullptr);
  return result;
}

/// Int numbers below `classes`.
inline nvfuser::Tensor randomClasses(const std::vector<int64_t>& sizes, int64_t classes,
                                     nvfuser::Device& device) {
  std::mt19937_64 random(5);
  std::uniform_int_distribution<int64_t> draw(0, classes - 1);
  int64_t count = 1;
  for (int64_t size : sizes) {
    count *= size;
  }
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (int64_t& number : numbers) {
    number = draw(random);
  }
  return nvfuser::Tensor::fromHost(numbers, sizes, device);
}

inline double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Copies between buffers of `bytes` / 2, milliseconds each.
class Copy {
 public:
  Copy(nvfuser::Device& device, double bytes)
      : device_(device),
        from_(randomTensor({static_cast<int64_t>(bytes / 8)}, nvfuser::DataType::Float, 7, device)),
        to_(nvfuser::Tensor::zeros({static_cast<int64_t>(bytes / 8)}, nvfuser::DataType::Float,
                                   device)) {}

  void run() {
    device_.copyWithin(to_.data(), from_.data(), static_cast<size_t>(from_.numel()) * 4, nullptr);
  }
  std::vector<double> time(int repeats) {
    return device_.timeEach([this] { run(); }, repeats, nullptr);
  }

 private:
  nvfuser::Device& device_;
  nvfuser::Tensor from_;
  nvfuser::Tensor to_;
};

/// Copies that keep a GPU busy while the host puts what is timed behind them: else it would wait
/// for the host between the events around a short kernel.
class Lead {
 public:
  explicit Lead(nvfuser::Device& device)
      : asynchronous_(device.kind() == nvfuser::DeviceKind::Cuda),
        copy_(device, asynchronous_ ? kBytes : 8) {}

  void run() {
    for (int i = 0; asynchronous_ && i < kCopies; ++i) {
      copy_.run();
    }
  }

 private:
  static constexpr double kBytes = 512 << 20;
  static constexpr int kCopies = 8;  ///< a millisecond, at 4 TB/s
  bool asynchronous_;
  Copy copy_;
};

/// `run(repeats)` gives milliseconds of each launch. A copy and the run alternate; medians of
/// `rounds`.
inline Row measure(std::string name, nvfuser::Device& device, double bytes,
                   const std::function<std::vector<double>(int)>& run, int rounds = 7,
                   int repeats = 10) {
  Copy copy(device, bytes);
  Lead lead(device);
  std::vector<double> copies;
  std::vector<double> runs;
  copy.time(repeats);
  run(repeats);
  for (int round = 0; round < rounds; ++round) {
    lead.run();
    copies.push_back(median(copy.time(repeats)));
    lead.run();
    runs.push_back(median(run(repeats)));
  }
  return {std::move(name), bytes, median(std::move(copies)), median(std::move(runs))};
}

inline void print(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.fraction() < b.fraction(); });
  std::printf("%-44s %9s %9s %9s %8s %9s\n", "kernel", "MB", "ms", "copy ms", "GB/s", "of copy");
  for (const Row& row : rows) {
    std::printf("%-44s %9.1f %9.4f %9.4f %8.0f %9.3f\n", row.name.c_str(), row.bytes / 1e6, row.ms,
                row.copy_ms, row.bytes / row.ms / 1e6, row.fraction());
  }
}

}  // namespace benchmark
