// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The cost of calls on the host without Python: loops over a bare launch, over the driver's launch
// of a kernel that was compiled at run time, and over the C functions of gpukern, whose addresses
// are passed.

#include <cuda.h>
#include <gpukern/gpukern.h>
#include <gpukern/program.h>

#include <chrono>
#include <iterator>

#include "api.cuh"

namespace bench {
namespace {

/// A launch with the arguments of saxpy that does no work.
__global__ void small_saxpy_kernel(float a, const float* x, const float* y, float* out, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) out[i] = a * x[i] + y[i];
}

/// The mean time in seconds until a call returns, over `count` consecutive calls.
template <class Call>
double time_to_issue(int count, Call&& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < count; ++k) call();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / count;
}

/// A function of the driver by its name.
template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  auto outcome = cudaDriverEntryPointSymbolNotFound;
  constexpr unsigned kVersion = 12000;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &outcome));
#else
  check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &outcome));
#endif
  if (outcome != cudaDriverEntryPointSuccess) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Function>(found);
}

void check_driver(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": error " +
                           std::to_string(static_cast<int>(result)));
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

/// gpukern_saxpy, whose address is `function`.
BENCH_API int bench_cost_saxpy(void* function, int count, const void* a, const gpukern_tensor* x,
                               const gpukern_tensor* y, const gpukern_tensor* out,
                               const gpukern_exec* exec, double* seconds) {
  return guard([&] {
    auto* saxpy = reinterpret_cast<decltype(&gpukern_saxpy)>(function);
    *seconds = time_to_issue(count, [&] { require(saxpy(a, x, y, out, exec)); });
  });
}

/// gpukern_gather, whose address is `function`.
BENCH_API int bench_cost_gather(void* function, int count, const gpukern_tensor* source,
                                const gpukern_tensor* index, int mode, const gpukern_tensor* out,
                                const gpukern_exec* exec, double* seconds) {
  return guard([&] {
    auto* gather = reinterpret_cast<decltype(&gpukern_gather)>(function);
    gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
    options.mode = mode;
    *seconds =
        time_to_issue(count, [&] { require(gather(source, index, 0, out, &options, exec)); });
  });
}

/// Loads machine code, without unloading it, and finds a kernel in it: a CUfunction.
BENCH_API int bench_load_kernel(const void* image, const char* name, void** function) {
  return guard([&] {
    using bench::driver_function;
    CUmodule loaded = nullptr;
    bench::check(cudaFree(nullptr));  // the primary context, current
    bench::check_driver(
        driver_function<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&loaded, image),
        "cuModuleLoadData");
    auto* get = driver_function<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");
    bench::check_driver(get(reinterpret_cast<CUfunction*>(function), loaded, name),
                        "cuModuleGetFunction");
  });
}

/// cuLaunchKernel of (float, const float*, float*, int): a minimal launch.
BENCH_API int bench_cost_driver(void* function, int count, const float* x, float* y, int n,
                                void* stream, double* seconds) {
  return guard([&] {
    static auto* const launch = bench::driver_function<decltype(&cuLaunchKernel)>("cuLaunchKernel");
    float a = 2;
    void* arguments[] = {&a, &x, &y, &n};
    auto* kernel = static_cast<CUfunction>(function);
    auto* on = static_cast<CUstream>(stream);
    *seconds = time_to_issue(count, [&] {
      bench::check_driver(
          launch(kernel, 1, 1, 1, static_cast<unsigned>(n), 1, 1, 0, on, arguments, nullptr),
          "cuLaunchKernel");
    });
  });
}

/// gpukern_kernel_launch, whose address is `function`, of the same kernel.
BENCH_API int bench_cost_kernel(void* function, int count, const gpukern_kernel* kernel,
                                const float* x, float* y, int n, const gpukern_exec* exec,
                                double* seconds) {
  return guard([&] {
    auto* launch = reinterpret_cast<decltype(&gpukern_kernel_launch)>(function);
    const float a = 2;
    const void* arguments[] = {&a, &x, &y, &n};
    const size_t sizes[] = {sizeof a, sizeof x, sizeof y, sizeof n};
    gpukern_launch where = GPUKERN_LAUNCH_INIT;
    where.block[0] = static_cast<std::uint32_t>(n);
    *seconds = time_to_issue(
        count, [&] { require(launch(kernel, &where, arguments, sizes, std::size(sizes), exec)); });
  });
}
