// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// Declarations that the files of libgpukern_bench.so share. Every exported function returns 0, or
/// an error whose message bench_last_error() returns. Functions that launch work only enqueue it on
/// the given stream.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#define BENCH_API extern "C" __attribute__((visibility("default")))

namespace bench {

constexpr int kThreads = 256;

inline thread_local std::string last_error;

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next launch would report it
  throw std::runtime_error(std::string(cudaGetErrorName(status)) + ": " +
                           cudaGetErrorString(status));
}

/// Runs a body; an exception becomes the status 1 and a message.
template <class Body>
int guard(Body&& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    last_error = error.what();
    return 1;
  }
}

/// Blocks of kThreads that cover n items.
inline unsigned blocks_for(std::int64_t n) {
  const std::int64_t blocks = (n + kThreads - 1) / kThreads;
  if (blocks > INT32_MAX) throw std::invalid_argument("too many items for one launch");
  return static_cast<unsigned>(blocks);
}

/// Launches a kernel with kThreads threads a block, one thread an item.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t items, void* stream,
            Arguments... arguments) {
  if (items == 0) return;
  kernel<<<blocks_for(items), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(arguments...);
  check(cudaGetLastError());
}

/// This thread's item.
__device__ inline std::int64_t item() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

/// Calls body(Index{}) for the type of an index.
template <class Body>
void with_index(int index_bytes, Body&& body) {
  if (index_bytes == 4) return body(std::int32_t{});
  if (index_bytes == 8) return body(std::int64_t{});
  throw std::invalid_argument("an index has 4 or 8 bytes");
}

}  // namespace bench
