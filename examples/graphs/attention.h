// SPDX-License-Identifier: Apache-2.0
// The vector kernels of attention.c. A block's softmax is that of its own columns alone; merging
// two blocks scales both to the larger of their maxima.
#ifndef GRAPHS_ATTENTION_H
#define GRAPHS_ATTENTION_H

#include <stdint.h>

// Arguments are regions of f32, then scalars. Heads are rows.
//
// (scores, weights, most, sum, columns, scale): of the first `columns` scores of a head, each times
// `scale` (f64, as bits): most = the largest, weights = exp(score - most), 0 behind them, sum =
// that of the weights.
void kernel_softmax(int64_t *args);

// (most, sum, values, all_most, all_sum, all_values): all = all and the block. values[heads, width]
// are the weighted sums. In an empty `all` the maxima are -infinity.
void kernel_merge(int64_t *args);

// (all_sum, all_values, out): out = all_values / all_sum.
void kernel_divide(int64_t *args);

#endif
