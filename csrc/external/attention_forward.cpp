// Attention without a matrix of scores: a task has some queries of a head, and goes once over the
// keys, block by block:
//
//   s = scale · q kᵀ + bias           a block of scores, [queries][keys], in cache
//   m' = max(m, s), p = exp(s − m')   by rows; m: the greatest so far
//   l = l · exp(m − m') + Σ p         the denominator so far
//   o = o · exp(m − m') + p v
//   o / l → output, m + log l → logsumexp
//
// Everything is summed in Float, in an order that hangs on the sizes alone.
#include <cmath>

#include <external/attention_scores.h>
#include <external/exponential.h>
#include <external/panels.h>

namespace nvfuser::external {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
class Forward {
 public:
  explicit Forward(const Attention& attention)
      : a_(attention),
        kernel_(gemmKernel<float>()),
        rows_(roundUp(std::min(kBlockQueries, a_.queries), kernel_.rows)),
        keys_(roundUp(std::min(kBlockKeys, a_.keys), kernel_.columns)),
        width_(roundUp(a_.width, kernel_.columns)),
        query_panels_(rows_ * a_.depth),
        key_panels_(keys_ * a_.depth),
        blocks_((a_.queries + kBlockQueries - 1) / kBlockQueries) {}

  int64_t tasks() const { return a_.numHeads() * blocks_; }

  void run(int64_t task) const {
    // The last queries first: causal, they see most keys.
    const int64_t head = task / blocks_;
    const int64_t first = (blocks_ - 1 - task % blocks_) * kBlockQueries;
    const int64_t count = std::min(kBlockQueries, a_.queries - first);
    thread_local std::vector<float> memory;
    memory.resize(static_cast<size_t>(query_panels_ + key_panels_ + rows_ * keys_ + rows_ * width_ +
                                      keys_ * width_ + rows_ * keys_));
    float* query = memory.data();
    float* key = query + query_panels_;
    float* scores = key + key_panels_;
    float* probabilities = scores + rows_ * keys_;  // panels
    float* value = probabilities + rows_ * keys_;
    float* sums = value + keys_ * width_;
    std::fill_n(sums, rows_ * width_, 0.0f);
    std::array<float, kBlockQueries> greatest, denominators;
    greatest.fill(-kInfinity);
    denominators.fill(0);
    const Scores<T> of_head(a_, head);
    pack(start(a_.query, head) + first * a_.query.row, a_.query.row, a_.query.column, count,
         a_.depth, kernel_.rows, query);
    const int64_t all_keys = of_head.keysSeen(first + count);
    for (int64_t j = 0; j < all_keys; j += kBlockKeys) {
      const int64_t now = std::min(kBlockKeys, a_.keys - j);
      pack(start(a_.key, head) + j * a_.key.row, a_.key.row, a_.key.column, now, a_.depth,
           kernel_.columns, key);
      std::fill_n(scores, rows_ * keys_, 0.0f);
      addProduct(query, key, count, now, a_.depth, scores, keys_);
      for (int64_t i = 0; i < count; ++i) {
        float* row = scores + i * keys_;
        of_head.finish(row, first + i, j, now);
        addRow(row, now, greatest[static_cast<size_t>(i)], denominators[static_cast<size_t>(i)],
               sums + i * width_);
        if (of_head.drops()) {
          of_head.drop(row, first + i, j, now);
        }
      }
      pack(scores, keys_, 1, count, now, kernel_.rows, probabilities);
      pack(start(a_.value, head) + j * a_.value.row, a_.value.column, a_.value.row, a_.width, now,
           kernel_.columns, value);
      addProduct(probabilities, value, count, a_.width, now, sums, width_);
    }
    for (int64_t i = 0; i < count; ++i) {
      store(head, first + i, greatest[static_cast<size_t>(i)], denominators[static_cast<size_t>(i)],
            sums + i * width_);
    }
  }

 private:
  const T* start(const HeadMatrices& of, int64_t head) const {
    return static_cast<const T*>(of.data) + of.offset(a_.heads, head);
  }

  /// Scores become probabilities, not yet divided; what was summed before is brought to the same
  /// greatest score.
  void addRow(float* row, int64_t count, float& greatest, float& denominator, float* sums) const {
    const float found = rows_of_scores_.greatest(row, count);
    const float most = found > greatest ? found : greatest;
    const float shift = most == -kInfinity ? 0.0f : most;
    if (most > greatest && greatest != -kInfinity) {
      const float shrunk = std::exp(greatest - most);
      denominator *= shrunk;
      for (int64_t j = 0; j < width_; ++j) {
        sums[j] *= shrunk;
      }
    }
    denominator += rows_of_scores_.exponentials(row, count, shift);
    greatest = most;
  }

  void store(int64_t head, int64_t i, float greatest, float denominator, const float* sums) const {
    auto* to =
        static_cast<T*>(a_.output.data) + a_.output.offset(a_.heads, head) + i * a_.output.row;
    // No key seen: zeros.
    const float factor = denominator == 0.0f ? 0.0f : 1 / denominator;
    for (int64_t j = 0; j < a_.width; ++j) {
      storeNumber(to[j * a_.output.column], sums[j] * factor, a_.output.dtype);
    }
    static_cast<float*>(
        a_.logsumexp.data)[a_.logsumexp.offset(a_.heads, head) + i * a_.logsumexp.row] =
        denominator == 0.0f ? -kInfinity : greatest + std::log(denominator);
  }

  const Attention& a_;
  const GemmKernel<float>& kernel_;
  const RowFunctions& rows_of_scores_ = rowFunctions();
  int64_t rows_, keys_, width_;  ///< of a block, filled up to whole register blocks
  int64_t query_panels_, key_panels_;
  int64_t blocks_;
};

void storeState(const TensorRef& to, const std::vector<uint64_t>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    static_cast<uint64_t*>(to.data)[to.rank() == 0 ? 0 : static_cast<int64_t>(i) * to.strides[0]] =
        words[i];
  }
}

}  // namespace

void runAttention(const Call& call) {
  const Attention attention = attentionOf(call);
  storeState(call.outputs.at(2), {attention.seed, attention.offset});
  storeState(call.outputs.at(3), {attention.offset});
  withAttentionType(attention.query.dtype, [&](auto type) {
    const Forward<decltype(type)> forward(attention);
    call.machine->parallel(forward.tasks(), [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        forward.run(task);
      }
    });
  });
}

}  // namespace nvfuser::external
