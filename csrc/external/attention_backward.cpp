// Gradients of attention; the probabilities are computed again, from the log-sum-exp. For a block
// of queries and a block of keys:
//
//   p = exp(scale · q kᵀ − lse)              [queries][keys]; z: 0 or 1/(1 − dropout_p)
//   g = scale · p (z · d vᵀ − Σ d o)         d: gradient of the output o
//   dv += (z p)ᵀ d,  dk += gᵀ q,  dq += g k
//
// A task has blocks of one head: all of them; or, where there are too few heads for the threads,
// all queries for one block of keys (dk and dv), then all keys for one block of queries (dq). Each
// gradient is summed over blocks in ascending order in either case, so the bits are the same.
#include <cmath>

#include <evaluator/element_codec.h>
#include <external/attention_scores.h>
#include <external/exponential.h>
#include <external/panels.h>

namespace nvfuser::external {

namespace {

int64_t blocksOf(int64_t count, int64_t each) { return (count + each - 1) / each; }

/// Rows of one operand, and what a block of products with others needs of it.
struct Range {
  int64_t first, last;
};

template <typename T>
class Backward {
 public:
  explicit Backward(const Attention& attention)
      : a_(attention),
        kernel_(gemmKernel<float>()),
        rows_(roundUp(std::min(kBlockQueries, a_.queries), kernel_.rows)),
        // Keys are rows of dk and dv, and columns of scores.
        keys_(roundUp(std::min(kBlockKeys, a_.keys), kernel_.columns)),
        key_rows_(roundUp(keys_, kernel_.rows)),
        depth_(roundUp(a_.depth, kernel_.columns)),
        width_(roundUp(a_.width, kernel_.columns)) {}

  void run(const Machine& machine) const {
    const int64_t heads = a_.numHeads();
    if (heads >= 2 * int64_t{machine.threads}) {
      forTasks(machine, heads,
               [&](int64_t head) { runBlocks(head, {0, a_.queries}, {0, a_.keys}, true, true); });
      return;
    }
    const int64_t key_blocks = blocksOf(a_.keys, kBlockKeys);
    forTasks(machine, heads * key_blocks, [&](int64_t task) {
      const int64_t first = task % key_blocks * kBlockKeys;
      runBlocks(task / key_blocks, {0, a_.queries}, {first, std::min(first + kBlockKeys, a_.keys)},
                false, true);
    });
    const int64_t query_blocks = blocksOf(a_.queries, kBlockQueries);
    forTasks(machine, heads * query_blocks, [&](int64_t task) {
      const int64_t first = task % query_blocks * kBlockQueries;
      runBlocks(task / query_blocks, {first, std::min(first + kBlockQueries, a_.queries)},
                {0, a_.keys}, true, false);
    });
  }

 private:
  template <typename Run>
  static void forTasks(const Machine& machine, int64_t tasks, const Run& run) {
    machine.parallel(tasks, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        run(task);
      }
    });
  }

  /// The memory of a thread.
  struct Buffers {
    std::vector<float> all;
    float *scores, *slopes;  // p, then z·p; g
    float *panel_a, *panel_b;
    float *key, *value, *plain_key;  // panels of a block of keys, for all queries
    float *grad_key, *grad_value, *grad_query;
  };
  Buffers& buffers(int64_t queries) const {
    thread_local Buffers b;
    const int64_t most = std::max(depth_, width_);
    const int64_t block = rows_ * keys_;
    const std::pair<float**, int64_t> parts[] = {
        {&b.scores, block},
        {&b.slopes, block},
        {&b.panel_a, std::max(rows_, key_rows_) * std::max({most, rows_, key_rows_})},
        {&b.panel_b, most * rows_},
        {&b.key, keys_ * a_.depth},
        {&b.value, keys_ * a_.width},
        {&b.plain_key, keys_ * depth_},
        {&b.grad_key, key_rows_ * depth_},
        {&b.grad_value, key_rows_ * width_},
        {&b.grad_query, roundUp(queries, kernel_.rows) * depth_ + kernel_.rows * depth_}};
    int64_t size = 0;
    for (const auto& [part, count] : parts) {
      size += count;
    }
    b.all.resize(static_cast<size_t>(size));
    int64_t at = 0;
    for (const auto& [part, count] : parts) {
      *part = b.all.data() + at;
      at += count;
    }
    return b;
  }

  void runBlocks(int64_t head, Range queries, Range keys, bool wants_query, bool wants_key) const {
    const Scores<T> of_head(a_, head);
    Buffers& b = buffers(wants_query ? queries.last - queries.first : 0);
    const int64_t query_rows = roundUp(queries.last - queries.first, kernel_.rows);
    if (wants_query) {
      std::fill_n(b.grad_query, query_rows * depth_, 0.0f);
    }
    for (int64_t j = keys.first; j < keys.last; j += kBlockKeys) {
      const int64_t now = std::min(kBlockKeys, keys.last - j);
      const T* key = start(a_.key, head) + j * a_.key.row;
      pack(key, a_.key.row, a_.key.column, now, a_.depth, kernel_.columns, b.key);
      pack(start(a_.value, head) + j * a_.value.row, a_.value.row, a_.value.column, now, a_.width,
           kernel_.columns, b.value);
      pack(key, a_.key.column, a_.key.row, a_.depth, now, kernel_.columns, b.plain_key);
      std::fill_n(b.grad_key, key_rows_ * depth_, 0.0f);
      std::fill_n(b.grad_value, key_rows_ * width_, 0.0f);
      for (int64_t i = queries.first; i < queries.last; i += kBlockQueries) {
        const int64_t count = std::min(kBlockQueries, queries.last - i);
        if (of_head.keysSeen(i + count) <= j) {
          continue;  // none of these queries sees a key of the block
        }
        computeSlopes(of_head, head, i, count, j, now, b);
        if (wants_key) {
          addTransposed(b.scores, count, now, start(a_.grad, head) + i * a_.grad.row, a_.grad,
                        a_.width, b, b.grad_value, width_);
          addTransposed(b.slopes, count, now, start(a_.query, head) + i * a_.query.row, a_.query,
                        a_.depth, b, b.grad_key, depth_);
        }
        if (wants_query) {
          pack(b.slopes, keys_, 1, count, now, kernel_.rows, b.panel_a);
          addProduct(b.panel_a, b.plain_key, count, a_.depth, now,
                     b.grad_query + (i - queries.first) * depth_, depth_);
        }
      }
      if (wants_key) {
        store(a_.grad_key, head, j, now, b.grad_key, a_.depth, depth_);
        store(a_.grad_value, head, j, now, b.grad_value, a_.width, width_);
      }
    }
    if (wants_query) {
      store(a_.grad_query, head, queries.first, queries.last - queries.first, b.grad_query,
            a_.depth, depth_);
    }
  }

  /// z·p and g of a block of queries and keys.
  void computeSlopes(const Scores<T>& of_head, int64_t head, int64_t first, int64_t count,
                     int64_t key, int64_t keys, Buffers& b) const {
    std::fill_n(b.scores, rows_ * keys_, 0.0f);
    std::fill_n(b.slopes, rows_ * keys_, 0.0f);
    pack(start(a_.query, head) + first * a_.query.row, a_.query.row, a_.query.column, count,
         a_.depth, kernel_.rows, b.panel_a);
    addProduct(b.panel_a, b.key, count, keys, a_.depth, b.scores, keys_);
    const T* grad = start(a_.grad, head) + first * a_.grad.row;
    pack(grad, a_.grad.row, a_.grad.column, count, a_.width, kernel_.rows, b.panel_a);
    addProduct(b.panel_a, b.value, count, keys, a_.width, b.slopes, keys_);
    const T* output = start(a_.output, head) + first * a_.output.row;
    const float* lse = static_cast<const float*>(a_.logsumexp.data) +
                       a_.logsumexp.offset(a_.heads, head) + first * a_.logsumexp.row;
    for (int64_t i = 0; i < count; ++i) {
      float* p = b.scores + i * keys_;
      float* g = b.slopes + i * keys_;
      float mean = 0;
      for (int64_t column = 0; column < a_.width; ++column) {
        mean += numberOf(grad[i * a_.grad.row + column * a_.grad.column]) *
                numberOf(output[i * a_.output.row + column * a_.output.column]);
      }
      of_head.finish(p, first + i, key, keys);
      const float shift = lse[i * a_.logsumexp.row];
      if (shift == -std::numeric_limits<float>::infinity()) {
        std::fill_n(p, keys, 0.0f);  // it saw nothing
      } else {
        rows_of_scores_.exponentials(p, keys, shift);
      }
      if (!of_head.drops()) {
        for (int64_t j = 0; j < keys; ++j) {
          g[j] = p[j] * (g[j] - mean) * a_.scale;
        }
        continue;
      }
      of_head.drop(g, first + i, key, keys);
      for (int64_t j = 0; j < keys; ++j) {
        g[j] = p[j] * (g[j] - mean) * a_.scale;
      }
      of_head.drop(p, first + i, key, keys);
    }
  }

  /// to += blockᵀ · rows, for a block [count][keys] and as many rows of an operand.
  void addTransposed(const float* block, int64_t count, int64_t keys, const T* rows,
                     const HeadMatrices& of, int64_t columns, Buffers& b, float* to,
                     int64_t stride) const {
    pack(block, 1, keys_, keys, count, kernel_.rows, b.panel_a);
    pack(rows, of.column, of.row, columns, count, kernel_.columns, b.panel_b);
    addProduct(b.panel_a, b.panel_b, keys, columns, count, to, stride);
  }

  const T* start(const HeadMatrices& of, int64_t head) const {
    return static_cast<const T*>(of.data) + of.offset(a_.heads, head);
  }

  void store(const HeadMatrices& of, int64_t head, int64_t first, int64_t count, const float* from,
             int64_t columns, int64_t stride) const {
    auto* to = static_cast<T*>(of.data) + of.offset(a_.heads, head) + first * of.row;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t column = 0; column < columns; ++column) {
        storeNumber(to[i * of.row + column * of.column], from[i * stride + column], of.dtype);
      }
    }
  }

  const Attention& a_;
  const GemmKernel<float>& kernel_;
  const RowFunctions& rows_of_scores_ = rowFunctions();
  // Of a block, filled up to whole register blocks.
  int64_t rows_, keys_, key_rows_, depth_, width_;
};

}  // namespace

void runAttentionBackward(const Call& call) {
  Attention attention = attentionOf(call);
  const auto word = [](const Attention::Word& of) {
    return static_cast<uint64_t>(loadInteger(of.at, of.dtype));
  };
  attention.seed = word(attention.seed_at);
  attention.offset = word(attention.offset_at);
  withAttentionType(attention.query.dtype,
                    [&](auto type) { Backward<decltype(type)>(attention).run(*call.machine); });
}

}  // namespace nvfuser::external
