// Attention between its products: scores become probabilities, and what flows back to them.
//
//   attentionRows(...)      a row of scores s[keys], of float, becomes exp(s - lse) of those keys
//                           that its query sees, each times 0 or 1 / (1 - p) where some are
//                           dropped; lse = log sum exp s, where not given
//   attentionSlopes(...)    p, z p and what products of gradients and values gave become
//                           scale p (z dp - sum d o)
//
// A block of 256 threads along x has a row; rows of a head, then heads, stand along x of the grid.
// Of one query alone that sees no key, all is zero and lse is minus infinity. Kept are elements
// whose uniform number, by their row-major number among all heads' scores, is less than 1 - p, as
// everywhere (philox.cuh).
//
// needs: basics.cuh philox.cuh
struct HeadStrides {
  i64 outer, inner, row, column;
};
struct AttentionForm {  // as in csrc/runtime/device_attention.cpp
  i64 queries, keys, width;
  i64 inner;       // heads along the inner one of two axes
  i64 first_head;  // of all
  i64 is_causal, drops, has_lse;
  HeadStrides bias, mask, lse, grad, output;
  u64 seed, offset;
  double dropout_p, scale;
};
__device__ __forceinline__ i64 placeOf(const HeadStrides& strides, const AttentionForm& form,
                                       i64 head, i64 query) {
  return head / form.inner * strides.outer + head % form.inner * strides.inner +
         query * strides.row;
}

// Of 256 threads; all get the result.
template <class Combine>
__device__ __forceinline__ float combinedByBlock(float mine, float* work, const Combine& combine) {
  __syncthreads();
  work[threadIdx.x] = mine;
  __syncthreads();
  for (int distance = 128; distance > 0; distance /= 2) {
    if ((int)threadIdx.x < distance) {
      work[threadIdx.x] = combine(work[threadIdx.x], work[threadIdx.x + distance]);
    }
    __syncthreads();
  }
  return work[0];
}

// What a probability is multiplied by. The generator's state, where somebody has it in memory, is
// that.
__device__ __forceinline__ float keptScale(const AttentionForm& form, const u64* seed,
                                           const u64* offset, i64 element) {
  if (form.drops == 0) {
    return 1.0f;
  }
  const u64 number = (u64)element;
  const u32 word = philox(seed == nullptr ? form.seed : *seed,
                          offset == nullptr ? form.offset : *offset, number / 4)
                       .w[number % 4];
  const double kept = 1.0 - form.dropout_p;
  return (double)(word >> 8) / 16777216.0 < kept ? (float)(1.0 / kept) : 0.0f;
}

// `plain` (null: nobody asks) gets exp(s - lse), `scores` what is kept of it.
template <class Bias>
__device__ __forceinline__ void attentionRows(float* scores, float* plain, const Bias* bias,
                                              const bool* mask, float* lse, const u64* seed,
                                              const u64* offset, const AttentionForm& form) {
  __shared__ float work[256];
  const i64 head = blockIdx.x / form.queries, query = blockIdx.x % form.queries;
  float* row = scores + (i64)blockIdx.x * form.keys;
  const i64 seen = form.is_causal != 0 && query + 1 < form.keys ? query + 1 : form.keys;
  float greatest = -infinity<float>();
  for (i64 key = threadIdx.x; key < form.keys; key += 256) {
    float score = row[key] * (float)form.scale;
    if (bias != nullptr) {
      score += (float)bias[placeOf(form.bias, form, head, query) + key * form.bias.column];
    }
    if (key >= seen || (mask != nullptr &&
                        !mask[placeOf(form.mask, form, head, query) + key * form.mask.column])) {
      score = -infinity<float>();
    }
    row[key] = score;
    greatest = score > greatest || score != score ? score : greatest;
  }
  float* of_row = lse + placeOf(form.lse, form, head, query);
  float sum_log;
  if (form.has_lse != 0) {
    sum_log = *of_row;
  } else {
    greatest =
        combinedByBlock(greatest, work, [](float a, float b) { return a > b || a != a ? a : b; });
    float sum = 0.0f;
    for (i64 key = threadIdx.x; key < form.keys && greatest != -infinity<float>(); key += 256) {
      sum += expf(row[key] - greatest);
    }
    sum = combinedByBlock(sum, work, [](float a, float b) { return a + b; });
    sum_log = greatest == -infinity<float>() ? greatest : greatest + logf(sum);
    if (threadIdx.x == 0) {
      *of_row = sum_log;
    }
  }
  const i64 first = ((form.first_head + head) * form.queries + query) * form.keys;
  for (i64 key = threadIdx.x; key < form.keys; key += 256) {
    const float p = sum_log == -infinity<float>() ? 0.0f : expf(row[key] - sum_log);
    if (plain != nullptr) {
      plain[(i64)blockIdx.x * form.keys + key] = p;
    }
    row[key] = p * keptScale(form, seed, offset, first + key);
  }
}

// `slopes` has d · v and gets the result.
template <class T>
__device__ __forceinline__ void attentionSlopes(float* slopes, const float* plain, const T* grad,
                                                const T* output, const u64* seed, const u64* offset,
                                                const AttentionForm& form) {
  __shared__ float work[256];
  const i64 head = blockIdx.x / form.queries, query = blockIdx.x % form.queries;
  const T* d = grad + placeOf(form.grad, form, head, query);
  const T* o = output + placeOf(form.output, form, head, query);
  float mine = 0.0f;
  for (i64 column = threadIdx.x; column < form.width; column += 256) {
    mine += (float)d[column * form.grad.column] * (float)o[column * form.output.column];
  }
  const float mean = combinedByBlock(mine, work, [](float a, float b) { return a + b; });
  const i64 first = ((form.first_head + head) * form.queries + query) * form.keys;
  for (i64 key = threadIdx.x; key < form.keys; key += 256) {
    const i64 at = (i64)blockIdx.x * form.keys + key;
    const float kept = keptScale(form, seed, offset, first + key);
    slopes[at] = (float)form.scale * plain[at] * (kept * slopes[at] - mean);
  }
}
