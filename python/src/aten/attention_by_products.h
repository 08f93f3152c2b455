/// Attention as products of matrices and a softmax of scores that are stored, all in Float: for
/// what no kernel of attention takes.
#pragma once

#include <utility>
#include <vector>

#include "aten/aten_program.h"

namespace nvfuser::python {

/// Tensors [batch, heads, rows, numbers].
struct ScoredAttention {
  const AtenTensor &query, &key, &value;
  const AtenTensor* added = nullptr;  ///< to the scores; null: nothing
  double scale = 1;
  bool is_causal = false;
};

/// Bool [queries, keys]: true where a query does not see a key that comes after it.
AtenTensor laterKeys(const AtenProgram& aten, int64_t queries, int64_t keys);
/// Makes scores infinitely small.
void hideScores(const AtenProgram& aten, const AtenTensor& scores, const AtenTensor& where);

/// Output and log-sum-exp. Queries that see no key have zeros and −∞.
std::pair<AtenTensor, AtenTensor> attentionByProducts(const AtenProgram& aten,
                                                      const ScoredAttention& of);
/// For query, key and value.
std::vector<AtenTensor> gradientsByProducts(const AtenProgram& aten, const ScoredAttention& of,
                                            const AtenTensor& grad, const AtenTensor& output,
                                            const AtenTensor& logsumexp);

}  // namespace nvfuser::python
