/// What becomes of the products of queries and keys on their way to probabilities, row by row.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include <evaluator/philox.h>
#include <external/attention.h>
#include <external/elements.h>

namespace nvfuser::external {

/// Rows and keys that a block of scores has at most: so many that the numbers of a block stay in a
/// core's cache.
constexpr int64_t kBlockQueries = 96;
constexpr int64_t kBlockKeys = 128;

/// Of one head; `T` is what its elements are in memory.
template <typename T>
class Scores {
 public:
  Scores(const Attention& attention, int64_t head)
      : a_(attention),
        first_element_(head * attention.queries * attention.keys),
        kept_(1 - attention.dropout_p),
        kept_scale_(kept_ > 0 ? static_cast<float>(1 / kept_) : 0.0f) {
    if (a_.bias) {
      bias_ = a_.bias->offset(a_.heads, head);
    }
    if (a_.mask) {
      mask_ = a_.mask->offset(a_.heads, head);
    }
  }

  /// The keys that some query before `last_query` sees, from the first one on.
  int64_t keysSeen(int64_t last_query) const {
    return a_.is_causal ? std::min(a_.keys, last_query) : a_.keys;
  }

  /// Products of query `i` with `count` keys from `key` on become scores.
  void finish(float* row, int64_t i, int64_t key, int64_t count) const {
    constexpr float kLeftOut = -std::numeric_limits<float>::infinity();
    for (int64_t j = 0; j < count; ++j) {
      row[j] *= a_.scale;
    }
    if (a_.bias) {
      const int64_t at = bias_ + i * a_.bias->row + key * a_.bias->column;
      if (a_.bias->dtype == DataType::Float) {
        addNumbers(static_cast<const float*>(a_.bias->data) + at, a_.bias->column, count, row);
      } else {
        addNumbers(static_cast<const T*>(a_.bias->data) + at, a_.bias->column, count, row);
      }
    }
    if (a_.mask) {
      const bool* seen = static_cast<const bool*>(a_.mask->data) + mask_ + i * a_.mask->row +
                         key * a_.mask->column;
      for (int64_t j = 0; j < count; ++j) {
        row[j] = seen[j * a_.mask->column] ? row[j] : kLeftOut;
      }
    }
    for (int64_t j = std::max<int64_t>(i + 1 - key, 0); a_.is_causal && j < count; ++j) {
      row[j] = kLeftOut;
    }
  }

  bool drops() const { return a_.dropout_p > 0; }
  /// `row` times 0 for what is dropped, else 1/(1 − dropout_p).
  void drop(float* row, int64_t i, int64_t key, int64_t count) const {
    auto element = static_cast<uint64_t>(first_element_ + i * a_.keys + key);
    std::array<uint32_t, 4> words{};
    for (int64_t j = 0; j < count; ++j, ++element) {
      if (j == 0 || element % 4 == 0) {
        words = philoxBlock(a_.seed, element / 4, a_.offset);
      }
      const double uniform = static_cast<double>(words[element % 4] >> 8) * 0x1p-24;
      row[j] = uniform < kept_ ? row[j] * kept_scale_ : 0.0f;
    }
  }

 private:
  template <typename From>
  static void addNumbers(const From* from, int64_t step, int64_t count, float* to) {
    for (int64_t j = 0; j < count; ++j) {
      to[j] += numberOf(from[j * step]);
    }
  }

  const Attention& a_;
  int64_t bias_ = 0, mask_ = 0;
  int64_t first_element_;
  double kept_;
  float kept_scale_;
};

/// Calls `body(T{})` with the type that elements of attention's operands have in memory.
template <typename Body>
void withAttentionType(DataType dtype, const Body& body) {
  switch (dtype.type) {
    case PrimDataType::Half:
      return body(HalfBits{});
    case PrimDataType::BFloat16:
      return body(BFloat16Bits{});
    default:
      check(dtype == DataType::Float, "attention is of Half, BFloat16 or Float");
      return body(float{});
  }
}

}  // namespace nvfuser::external
