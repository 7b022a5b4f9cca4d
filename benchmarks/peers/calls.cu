// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What calls cost on the host when nothing of Python takes part: loops over a bare launch and over
// the C functions of gpukern, which come as addresses.

#include <gpukern/gpukern.h>

#include <chrono>

#include "api.cuh"

namespace bench {
namespace {

/// The launch that saxpy cannot do without: its arguments, and no work.
__global__ void small_saxpy_kernel(float a, const float* x, const float* y, float* out, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) out[i] = a * x[i] + y[i];
}

/// Seconds that one call takes to return, as the mean of `count` calls back to back.
template <class Call>
double time_to_issue(int count, Call&& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < count; ++k) call();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / count;
}

void require(gpukern_status status) {
  if (status != GPUKERN_SUCCESS)
    throw std::runtime_error("gpukern: status " + std::to_string(static_cast<int>(status)));
}

}  // namespace
}  // namespace bench

using bench::guard;
using bench::require;
using bench::time_to_issue;

/// A bare launch of a saxpy kernel on n <= 256 floats.
BENCH_API int bench_cost_launch(int count, const float* x, const float* y, float* out, int n,
                                void* stream, double* seconds) {
  return guard([&] {
    auto* cuda_stream = static_cast<cudaStream_t>(stream);
    *seconds = time_to_issue(count, [&] {
      bench::small_saxpy_kernel<<<1, bench::kThreads, 0, cuda_stream>>>(2.0F, x, y, out, n);
    });
    bench::check(cudaGetLastError());
  });
}

/// gpukern_saxpy, whose address `function` is.
BENCH_API int bench_cost_saxpy(void* function, int count, const void* a, const gpukern_tensor* x,
                               const gpukern_tensor* y, const gpukern_tensor* out,
                               const gpukern_exec* exec, double* seconds) {
  return guard([&] {
    auto* saxpy = reinterpret_cast<decltype(&gpukern_saxpy)>(function);
    *seconds = time_to_issue(count, [&] { require(saxpy(a, x, y, out, exec)); });
  });
}

/// gpukern_gather, whose address `function` is.
BENCH_API int bench_cost_gather(void* function, int count, const gpukern_tensor* source,
                                const gpukern_tensor* index, int mode, const gpukern_tensor* out,
                                const gpukern_exec* exec, double* seconds) {
  return guard([&] {
    auto* gather = reinterpret_cast<decltype(&gpukern_gather)>(function);
    const auto c_mode = static_cast<gpukern_mode>(mode);
    *seconds = time_to_issue(
        count, [&] { require(gather(source, index, 0, c_mode, nullptr, out, exec)); });
  });
}
