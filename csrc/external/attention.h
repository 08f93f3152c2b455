/// Attention as an implementation sees it: heads of matrices, all by strides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <external/external_call.h>

namespace nvfuser::external {

/// A tensor [heads…, rows, columns].
struct HeadMatrices {
  void* data = nullptr;
  DataType dtype = {};
  int64_t row = 0, column = 0;  ///< strides in elements; 0: the same for all
  std::vector<int64_t> heads;   ///< strides of the batches, and of the heads

  /// Elements from the first one to the first of a head; `sizes` as `Attention::heads`.
  int64_t offset(const std::vector<int64_t>& sizes, int64_t head) const;
};

struct Attention {
  int64_t queries = 0, keys = 0;
  int64_t depth = 0;  ///< numbers of a query, and of a key
  int64_t width = 0;  ///< numbers of a value
  std::vector<int64_t> heads;
  HeadMatrices query, key, value;
  HeadMatrices output;                            ///< forward: written
  HeadMatrices logsumexp;                         ///< one number a row; forward: written
  HeadMatrices grad;                              ///< backward: of the output
  HeadMatrices grad_query, grad_key, grad_value;  ///< backward: written
  std::optional<HeadMatrices> bias, mask;         ///< [queries, keys]
  float scale = 1;
  bool is_causal = false;
  double dropout_p = 0;
  uint64_t seed = 0, offset = 0;  ///< of the dropout
  /// Backward: integers that are those.
  struct Word {
    const void* at = nullptr;
    DataType dtype = DataType::UInt64;
  } seed_at, offset_at;

  int64_t numHeads() const;
};

/// Of an `SdpaFwdOp` or an `SdpaBwdOp`. No element is read. Throws `UserError` for sizes that do
/// not go together.
Attention attentionOf(const Call& call);

// In memory of the host.
void runAttention(const Call& call);
void runAttentionBackward(const Call& call);

}  // namespace nvfuser::external
