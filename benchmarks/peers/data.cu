// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Fills buffers and compares them, on the GPU.

#include <algorithm>

#include "api.cuh"
#include "data.cuh"

namespace bench {
namespace {

// Enough blocks for any GPU; the kernels below use grid-stride loops.
constexpr std::int64_t kMostItems = std::int64_t{1} << 20;

std::int64_t threads_for(std::int64_t n) { return std::min(n, kMostItems); }

__device__ std::int64_t stride() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

/// The fields of a float in each unit of bits: the sign and the mantissa stay random, the exponent
/// becomes one of the eight from 2^-4 on.
struct FloatShape {
  int bits;      ///< of a number: 16, 32 or 64; 0 leaves everything random
  int mantissa;  ///< bits of it
  int bias;
};

__device__ std::uint64_t shaped(std::uint64_t word, FloatShape shape) {
  if (shape.bits == 0) return word;
  std::uint64_t result = 0;
  for (int at = 0; at < 64; at += shape.bits) {
    const std::uint64_t number = (word >> at) & (~std::uint64_t{0} >> (64 - shape.bits));
    const std::uint64_t sign = number >> (shape.bits - 1);
    const std::uint64_t low = number & ((std::uint64_t{1} << shape.mantissa) - 1);
    const std::uint64_t exponent = shape.bias - 4 + ((number >> shape.mantissa) & 7);
    result |= ((sign << (shape.bits - 1)) | (exponent << shape.mantissa) | low) << at;
  }
  return result;
}

__global__ void fill_kernel(std::uint64_t* data, std::int64_t words, std::uint64_t seed,
                            FloatShape shape) {
  for (std::int64_t i = item(); i < words; i += stride())
    data[i] = shaped(random_bits(static_cast<std::uint64_t>(i), seed), shape);
}

template <class Index>
__global__ void index_kernel(Index* index, std::int64_t count, int distribution, std::uint64_t n,
                             std::uint64_t seed) {
  for (std::int64_t i = item(); i < count; i += stride())
    index[i] = static_cast<Index>(index_at(distribution, static_cast<std::uint64_t>(i),
                                           static_cast<std::uint64_t>(count), n, seed));
}

template <class Word>
__global__ void compare_kernel(const Word* left, const Word* right, std::int64_t words,
                               unsigned long long* differ) {
  unsigned long long found = 0;
  for (std::int64_t i = item(); i < words; i += stride()) found += left[i] != right[i] ? 1U : 0U;
  if (found != 0) atomicAdd(differ, found);
}

}  // namespace
}  // namespace bench

using bench::check;
using bench::guard;
using bench::launch;
using bench::threads_for;

/// Fills whole 8-byte words with random bits, or with finite random floats of a width: float_bits
/// 16 (float16), 17 (bfloat16), 32, 64; 0 for any bits.
BENCH_API int bench_fill(void* data, std::int64_t bytes, std::uint64_t seed, int float_bits,
                         void* stream) {
  return guard([&] {
    bench::FloatShape shape{0, 0, 0};
    if (float_bits == 16) shape = {16, 10, 15};
    if (float_bits == 17) shape = {16, 7, 127};
    if (float_bits == 32) shape = {32, 23, 127};
    if (float_bits == 64) shape = {64, 52, 1023};
    const std::int64_t words = bytes / 8;
    launch(bench::fill_kernel, threads_for(words), stream, static_cast<std::uint64_t*>(data), words,
           seed, shape);
  });
}

/// Fills an index of `count` numbers of `index_bytes` (4 or 8) into a source of `n` items.
BENCH_API int bench_fill_index(void* index, int index_bytes, std::int64_t count, int distribution,
                               std::int64_t n, std::uint64_t seed, void* stream) {
  return guard([&] {
    const auto items = static_cast<std::uint64_t>(n);
    if (index_bytes == 4)
      launch(bench::index_kernel<std::int32_t>, threads_for(count), stream,
             static_cast<std::int32_t*>(index), count, distribution, items, seed);
    else
      launch(bench::index_kernel<std::int64_t>, threads_for(count), stream,
             static_cast<std::int64_t*>(index), count, distribution, items, seed);
  });
}

/// The same index, computed on the host: for tests, which may have no GPU.
BENCH_API std::int64_t bench_index_at(int distribution, std::int64_t i, std::int64_t count,
                                      std::int64_t n, std::uint64_t seed) {
  return static_cast<std::int64_t>(bench::index_at(distribution, static_cast<std::uint64_t>(i),
                                                   static_cast<std::uint64_t>(count),
                                                   static_cast<std::uint64_t>(n), seed));
}

/// Counts the 4-byte words that differ (or bytes, if the size or an address is not a multiple of
/// 4). `scratch` has 8 bytes on the device. Waits for the stream.
BENCH_API int bench_compare(const void* left, const void* right, std::int64_t bytes, void* scratch,
                            std::int64_t* differ, void* stream) {
  return guard([&] {
    auto* cuda_stream = static_cast<cudaStream_t>(stream);
    auto* counter = static_cast<unsigned long long*>(scratch);
    check(cudaMemsetAsync(counter, 0, sizeof(*counter), cuda_stream));
    const auto addresses =
        reinterpret_cast<std::uintptr_t>(left) | reinterpret_cast<std::uintptr_t>(right);
    if (bytes % 4 == 0 && addresses % 4 == 0)
      launch(bench::compare_kernel<std::uint32_t>, threads_for(bytes / 4), stream,
             static_cast<const std::uint32_t*>(left), static_cast<const std::uint32_t*>(right),
             bytes / 4, counter);
    else
      launch(bench::compare_kernel<std::uint8_t>, threads_for(bytes), stream,
             static_cast<const std::uint8_t*>(left), static_cast<const std::uint8_t*>(right), bytes,
             counter);
    unsigned long long found = 0;
    check(cudaMemcpyAsync(&found, counter, sizeof(found), cudaMemcpyDeviceToHost, cuda_stream));
    check(cudaStreamSynchronize(cuda_stream));
    *differ = static_cast<std::int64_t>(found);
  });
}
