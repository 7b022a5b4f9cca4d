// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Other ways to move rows between GPUs than gpukern's loads. ways.py compiles this at run time.

#include "bulk_copy.cuh"

using gpukern::gpu::BulkBarrier;

/// Gathers rows by bulk copies to shared memory. A block of 32 threads takes `batch` rows at a
/// time, which are beside each other in `out`. Rows are multiples of 16 bytes.
extern "C" __global__ void __launch_bounds__(32)
    bulk_rows(uint4* __restrict__ out, const char* __restrict__ table,
              const long long* __restrict__ index, long long count, int row_bytes, int batch) {
  extern __shared__ __align__(128) char rows[];
  __shared__ BulkBarrier barrier;
  const int lane = threadIdx.x;
  if (lane == 0) barrier.initialise();
  __syncwarp();
  unsigned phase = 0;
  const long long step = static_cast<long long>(gridDim.x) * batch;
  for (long long first = static_cast<long long>(blockIdx.x) * batch; first < count; first += step) {
    const int found = static_cast<int>(min(static_cast<long long>(batch), count - first));
    if (lane == 0) barrier.expect(found * row_bytes);
    __syncwarp();
    if (lane < found)
      barrier.copy(rows + lane * row_bytes, table + index[first + lane] * row_bytes, row_bytes);
    barrier.wait(phase++);
    const int row_words = row_bytes / 16;
    for (int i = lane; i < found * row_words; i += 32)
      out[first * row_words + i] = reinterpret_cast<const uint4*>(rows)[i];
    __syncwarp();
    BulkBarrier::order_writes();
  }
}

/// Writes rows of the local part of a table to their places in the outputs of all GPUs.
template <class Word>
__global__ void push_rows(Word* __restrict__ outs, const Word* __restrict__ local,
                          const long long* __restrict__ rows, const long long* __restrict__ places,
                          long long count, int row_words) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long words = count * row_words;
#pragma unroll 4
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
       i += step) {
    const long long row = i / row_words;
    const int word = static_cast<int>(i % row_words);
    outs[places[row] * row_words + word] = local[rows[row] * row_words + word];
  }
}
