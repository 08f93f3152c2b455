/// Random numbers that are the same on every machine: no distribution of the standard library,
/// whose results are not fixed.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace nvfuser::fuzz {

class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u) {
    next();
    next();
  }

  /// splitmix64
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Both ends included.
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  double real(double low, double high) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }
  bool chance(double probability) { return real(0, 1) < probability; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - real(0, 1)));
    return radius * std::cos(2 * std::numbers::pi * real(0, 1));
  }
  template <typename Item>
  const Item& oneOf(const std::vector<Item>& items) {
    return items[static_cast<size_t>(number(0, static_cast<int64_t>(items.size()) - 1))];
  }
  /// An index, each with its weight.
  size_t weighted(const std::vector<double>& weights) {
    double sum = 0;
    for (double weight : weights) {
      sum += weight;
    }
    double at = real(0, sum);
    for (size_t i = 0; i < weights.size(); ++i) {
      at -= weights[i];
      if (at < 0) {
        return i;
      }
    }
    return weights.size() - 1;
  }

 private:
  uint64_t state_;
};

}  // namespace nvfuser::fuzz
