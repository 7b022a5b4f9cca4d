// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Sums, means and maxima of bags of rows, without any check of the indices and offsets: a peer, and
// the reference results. Values are small integers, whose sums are exact in every order.

#include <cmath>

#include "api.cuh"
#include "types.cuh"

namespace bench {
namespace {

/// Reductions, numbered as in benchmarks/implementations/unchecked.py.
enum Reduction : int { kSum = 0, kMean = 1, kMax = 2 };

constexpr int kMostThreads = 1024;
constexpr int kLanes = 32;

template <class T>
struct Bags {
  const T* source;
  const std::int64_t* index;  ///< NULL for segments of the source
  const std::int64_t* offsets;
  const T* weights;  ///< may be NULL
  T* out;
  std::int64_t bags;
  std::int64_t columns;
};

template <Reduction kReduction>
__device__ float combine(float left, float right) {
  return kReduction == kMax ? fmaxf(left, right) : left + right;
}

/// The threads (x, y) of a bag are lanes over columns and over items; a block has blockDim.z bags.
template <Reduction kReduction, class T>
__global__ void __launch_bounds__(kMostThreads) bags_kernel(Bags<T> of) {
  __shared__ float parts[kMostThreads];
  const std::int64_t bag = static_cast<std::int64_t>(blockIdx.x) * blockDim.z + threadIdx.z;
  const bool exists = bag < of.bags;
  const std::int64_t first = exists ? of.offsets[bag] : 0;
  const std::int64_t last = exists ? of.offsets[bag + 1] : 0;
  float* lane = parts + threadIdx.z * blockDim.y * blockDim.x + threadIdx.x;
  for (std::int64_t start = 0; start < of.columns; start += blockDim.x) {
    const std::int64_t column = start + threadIdx.x;
    float result = kReduction == kMax ? -INFINITY : 0.0F;
    if (column < of.columns) {
#pragma unroll 4
      for (std::int64_t i = first + threadIdx.y; i < last; i += blockDim.y) {
        const std::int64_t row = of.index == nullptr ? i : of.index[i];
        const auto value = static_cast<float>(of.source[row * of.columns + column]);
        const float weight = of.weights == nullptr ? 1.0F : static_cast<float>(of.weights[i]);
        result = combine<kReduction>(result, value * weight);
      }
    }
    if (blockDim.y > 1) {
      lane[threadIdx.y * blockDim.x] = result;
      __syncthreads();
      if (threadIdx.y == 0)
        for (unsigned y = 1; y < blockDim.y; ++y)
          result = combine<kReduction>(result, lane[y * blockDim.x]);
      __syncthreads();
    }
    if (kReduction == kMean) result /= static_cast<float>(last - first);
    if (exists && column < of.columns && threadIdx.y == 0)
      of.out[bag * of.columns + column] = static_cast<T>(result);
  }
}

template <class T>
void launch_bags(Reduction reduction, int threads, const Bags<T>& of, void* stream) {
  const auto x = static_cast<unsigned>(of.columns < kLanes ? of.columns : kLanes);
  const unsigned y = static_cast<unsigned>(threads) / x;
  const unsigned z = threads < kThreads ? static_cast<unsigned>(kThreads / threads) : 1U;
  const auto blocks = static_cast<unsigned>((of.bags + z - 1) / z);
  auto* kernel = reduction == kMax    ? bags_kernel<kMax, T>
                 : reduction == kMean ? bags_kernel<kMean, T>
                                      : bags_kernel<kSum, T>;
  kernel<<<blocks, dim3(x, y, z), 0, static_cast<cudaStream_t>(stream)>>>(of);
  check(cudaGetLastError());
}

}  // namespace
}  // namespace bench

/// Reduces bags of rows of `columns` elements, float16, bfloat16 or float32, by `threads` threads
/// each: from 32 to 1024. No bag is empty.
BENCH_API int bench_bags(int dtype, int reduction, int threads, const void* source,
                         const std::int64_t* index, const std::int64_t* offsets,
                         const void* weights, void* out, std::int64_t bags, std::int64_t columns,
                         void* stream) {
  return bench::guard([&] {
    const auto reduce = [&](auto type) {
      using T = decltype(type);
      bench::launch_bags<T>(static_cast<bench::Reduction>(reduction), threads,
                            {static_cast<const T*>(source), index, offsets,
                             static_cast<const T*>(weights), static_cast<T*>(out), bags, columns},
                            stream);
    };
    if (dtype == 0) return reduce(__half{});
    if (dtype == 1) return reduce(__nv_bfloat16{});
    if (dtype == 2) return reduce(float{});
    throw std::invalid_argument("no such dtype of bags");
  });
}
