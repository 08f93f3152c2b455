// C = end(alpha · row scale · column scale · (A · B) + beta · bias), of matrices by strides.
//
//   stridedProduct<Sum>(a, b, c, row_scale, column_scale, alpha, bias, beta, ends, form)
//
// Blocks of 256 threads along x compute tiles of 64 x 64; they stand along x of the grid: tiles
// along the columns, along the rows, then batches of two axes. Elements are converted to Sum, which
// is added up 16 at a time, in an order that hangs on the sizes alone. Pointers that are null are
// left out.
//
// With groups (`form.grouped`: 1 rows of C, 2 its columns, 3 what is summed over) the inner batch
// is the group; `ends[g * ends_step]` says where group g ends, which begins where the one before
// ends. Of groups of rows and of columns one more has what is behind the last end: zeros. Ends that
// do not ascend up to the length are cut off there.
//
// needs: basics.cuh
struct ProductForm {  // as in csrc/runtime/device_products.cpp
  i64 m, n, k;
  i64 a_row, a_column, b_row, b_column, c_row, c_column;
  i64 inner, inner_a, inner_b, inner_c;  // the batches' sizes and strides
  i64 outer_a, outer_b, outer_c;
  i64 row_scale, column_scale, bias;  // strides
  i64 grouped, groups, ends_step;
  i64 group_row_scale, group_column_scale, group_alpha, group_bias, group_beta;  // strides
  i64 end;     // 0 nothing, 1 relu, 2 gelu by tanh
  i64 rounds;  // A · B is rounded to C's dtype before the bias
};

template <class Sum>
__device__ __forceinline__ Sum endOfProduct(Sum x, i64 end) {
  if (end == 1) {
    return x < Sum(0) ? Sum(0) : x;
  }
  if (end == 2) {
    const float number = (float)x;
    const float power = -1.5957691216057308f * (number + 0.044715f * number * number * number);
    return Sum(number / (1.0f + expf(power)));
  }
  return x;
}

template <class Sum, class A, class B, class C, class Bias>
__device__ __forceinline__ void stridedProduct(const A* a, const B* b, C* c, const float* row_scale,
                                               const float* column_scale, const float* alpha,
                                               const Bias* bias, const float* beta, const i32* ends,
                                               const ProductForm& form) {
  constexpr int kTile = 64, kDeep = 16, kEach = 4;
  __shared__ uint4 memory[2 * kDeep * (kTile + 1) * sizeof(Sum) / sizeof(uint4)];
  using Line = Sum[kTile + 1];
  Line* const tile_a = reinterpret_cast<Line*>(memory);
  Line* const tile_b = tile_a + kDeep;
  i64 block = blockIdx.x;
  const i64 tiles_n = ceilDiv(form.n, (i64)kTile), tiles_m = ceilDiv(form.m, (i64)kTile);
  const i64 tile_n = block % tiles_n;
  block /= tiles_n;
  const i64 tile_m = block % tiles_m;
  block /= tiles_m;
  const i64 inner = block % form.inner, outer = block / form.inner;
  const bool is_behind = form.grouped != 0 && inner == form.groups;
  i64 begin = 0, rows = form.m, columns = form.n, depth = form.k;
  if (form.grouped != 0) {
    const i64 length = form.grouped == 1 ? form.m : form.grouped == 2 ? form.n : form.k;
    i64 last = is_behind ? length : (i64)ends[inner * form.ends_step];
    begin = inner == 0 ? 0 : (i64)ends[(inner - 1) * form.ends_step];
    last = last < 0 ? 0 : last > length ? length : last;
    begin = begin < 0 ? 0 : begin > last ? last : begin;
    (form.grouped == 1 ? rows : form.grouped == 2 ? columns : depth) = last - begin;
    depth = is_behind ? 0 : depth;
  }
  const i64 first_row = tile_m * kTile, first_column = tile_n * kTile;
  if (first_row >= rows || first_column >= columns) {
    return;
  }
  const i64 begin_m = form.grouped == 1 ? begin : 0, begin_n = form.grouped == 2 ? begin : 0;
  const i64 begin_k = form.grouped == 3 ? begin : 0;
  const A* from_a = a + (is_behind ? 0 : inner * form.inner_a) + outer * form.outer_a +
                    begin_m * form.a_row + begin_k * form.a_column;
  const B* from_b = b + (is_behind ? 0 : inner * form.inner_b) + outer * form.outer_b +
                    begin_k * form.b_row + begin_n * form.b_column;
  C* to = c + (is_behind ? 0 : inner * form.inner_c) + outer * form.outer_c + begin_m * form.c_row +
          begin_n * form.c_column;
  const int thread = threadIdx.x, x = thread % 16, y = thread / 16;
  Sum sums[kEach][kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      sums[i][j] = Sum(0);
    }
  }
  for (i64 from = 0; from < depth; from += kDeep) {
    // Neighbours in memory by neighbouring threads.
    for (int e = thread; e < kTile * kDeep; e += 256) {
      const bool deep_first = form.a_column <= form.a_row;
      const int deep = deep_first ? e % kDeep : e / kTile;
      const int row = deep_first ? e / kDeep : e % kTile;
      const bool is_there = first_row + row < rows && from + deep < depth;
      tile_a[deep][row] =
          is_there ? Sum(from_a[(first_row + row) * form.a_row + (from + deep) * form.a_column])
                   : Sum(0);
    }
    for (int e = thread; e < kTile * kDeep; e += 256) {
      const bool deep_first = form.b_row < form.b_column;
      const int deep = deep_first ? e % kDeep : e / kTile;
      const int column = deep_first ? e / kDeep : e % kTile;
      const bool is_there = first_column + column < columns && from + deep < depth;
      tile_b[deep][column] =
          is_there
              ? Sum(from_b[(from + deep) * form.b_row + (first_column + column) * form.b_column])
              : Sum(0);
    }
    __syncthreads();
    Sum parts[kEach][kEach];
#pragma unroll
    for (int deep = 0; deep < kDeep; ++deep) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          const Sum term = tile_a[deep][y + 16 * i] * tile_b[deep][x + 16 * j];
          parts[i][j] = deep == 0 ? term : parts[i][j] + term;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        sums[i][j] = sums[i][j] + parts[i][j];
      }
    }
    __syncthreads();
  }
  const i64 group = is_behind ? 0 : inner;
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const i64 row = first_row + y + 16 * i, column = first_column + x + 16 * j;
      if (row >= rows || column >= columns) {
        continue;
      }
      Sum sum = sums[i][j];
      if (row_scale != nullptr) {
        sum = sum * Sum(row_scale[group * form.group_row_scale + (begin_m + row) * form.row_scale]);
      }
      if (column_scale != nullptr) {
        sum = sum * Sum(column_scale[group * form.group_column_scale +
                                     (begin_n + column) * form.column_scale]);
      }
      if (alpha != nullptr) {
        sum = sum * Sum(alpha[group * form.group_alpha]);
      }
      if (form.rounds != 0) {
        sum = Sum(C(sum));
      }
      if (bias != nullptr && !is_behind) {
        const Sum added = Sum(bias[group * form.group_bias + (begin_n + column) * form.bias]);
        sum = sum + (beta == nullptr ? added : Sum(beta[group * form.group_beta]) * added);
      }
      if constexpr (sizeof(Sum) == 4) {
        if (form.end != 0 && form.rounds == 0) {
          sum = Sum(C(sum));
        }
        sum = endOfProduct(sum, form.end);
      }
      to[row * form.c_row + column * form.c_column] = C(sum);
    }
  }
}
