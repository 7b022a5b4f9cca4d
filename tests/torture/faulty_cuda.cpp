// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// CUDA, whose calls may fail: those of the runtime by --wrap, functions of the driver and of NVRTC
// where the library asks for their addresses.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "backend.hpp"
#include "cuda/program/driver.hpp"
#include "cuda/program/nvrtc_library.hpp"
#include "cuda/runtime/driver.hpp"
#include "cuda/runtime/virtual_memory.hpp"
#include "stub.hpp"

// Of the code that nvcc generates for a launch. It takes errors from cudaGetLastError().
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                          std::size_t shared, cudaStream_t stream);
extern "C" decltype(cudaSetDevice) __real_cudaSetDevice;

namespace gpukern_torture {

template <>
struct FailedCall<cudaError_t> {
  static cudaError_t result(const Site& site) {
    const Outside outside;
    // CUDA keeps the error of a failed call as the last error of the thread.
    static_cast<void>(__real_cudaSetDevice(-1));
    return site.kind == Kind::Memory ? cudaErrorMemoryAllocation : cudaErrorUnknown;
  }
  static bool succeeded(cudaError_t result) { return result == cudaSuccess; }
};
template <>
struct FailedCall<CUresult> {
  static CUresult result(const Site&) { return CUDA_ERROR_UNKNOWN; }
  static bool succeeded(CUresult result) { return result == CUDA_SUCCESS; }
};
template <>
struct FailedCall<gpukern::gpu::NvrtcResult> {
  using Result = gpukern::gpu::NvrtcResult;
  static Result result(const Site&) { return Result::OutOfMemory; }
  static bool succeeded(Result result) { return result == Result::Success; }
};
namespace {

/// A function that the library finds at run time.
struct Found {
  const char* name;
  void* stub;
  void** real;
};

template <auto& site, class Function>
struct FoundStub;
template <auto& site, class Result, class... Arguments>
struct FoundStub<site, Result (*)(Arguments...)> {
  static inline Result (*real)(Arguments...) = nullptr;
  static Result forward(Arguments... arguments) { return real(arguments...); }
  static Found found() {
    return {site.name, reinterpret_cast<void*>(&Stub<site, &forward, Resource::File, 0>::call),
            reinterpret_cast<void**>(&real)};
  }
};

#define GPUKERN_TORTURE_FOUND(name, member, kind)              \
  [] {                                                         \
    static constexpr Site kSite{#name, Kind::kind};            \
    return FoundStub<kSite, decltype(Table::member)>::found(); \
  }()

std::vector<Found> driver_functions() {
  using Table = gpukern::gpu::Driver;
  return {GPUKERN_TORTURE_FOUND(cuCtxGetDevice, current_device, Query),
          GPUKERN_TORTURE_FOUND(cuDeviceGet, device, Query),
          GPUKERN_TORTURE_FOUND(cuDevicePrimaryCtxRetain, retain_primary, Query),
          GPUKERN_TORTURE_FOUND(cuDevicePrimaryCtxGetState, primary_state, Query),
          GPUKERN_TORTURE_FOUND(cuPointerGetAttributes, pointer_attributes, Query),
          GPUKERN_TORTURE_FOUND(cuEventQuery, query_event, Query),
          GPUKERN_TORTURE_FOUND(cuGetErrorString, error_string, Tolerated)};
}

std::vector<Found> memory_functions() {
  using Table = gpukern::gpu::VirtualMemoryDriver;
  return {GPUKERN_TORTURE_FOUND(cuMemAddressReserve, reserve, Memory),
          GPUKERN_TORTURE_FOUND(cuMemAddressFree, free, Release),
          GPUKERN_TORTURE_FOUND(cuMemCreate, create, Query),
          GPUKERN_TORTURE_FOUND(cuMemRelease, release, Release),
          GPUKERN_TORTURE_FOUND(cuMemMap, map, Gpu),
          GPUKERN_TORTURE_FOUND(cuMemUnmap, unmap, Release),
          GPUKERN_TORTURE_FOUND(cuMemSetAccess, set_access, Absent),
          GPUKERN_TORTURE_FOUND(cuMemGetAllocationGranularity, granularity, Query),
          GPUKERN_TORTURE_FOUND(cuMemExportToShareableHandle, export_handle, Absent),
          GPUKERN_TORTURE_FOUND(cuMemImportFromShareableHandle, import_handle, Gpu)};
}

std::vector<Found> program_functions() {
  using Table = gpukern::gpu::ProgramDriver;
  return {GPUKERN_TORTURE_FOUND(cuModuleLoadDataEx, load, Gpu),
          GPUKERN_TORTURE_FOUND(cuModuleUnload, unload, Release),
          GPUKERN_TORTURE_FOUND(cuModuleGetFunction, function, Gpu),
          GPUKERN_TORTURE_FOUND(cuFuncGetAttribute, attribute, Query),
          GPUKERN_TORTURE_FOUND(cuFuncSetAttribute, set_attribute, Gpu),
          GPUKERN_TORTURE_FOUND(cuFuncGetParamInfo, parameter, Query),
          GPUKERN_TORTURE_FOUND(cuOccupancyMaxPotentialBlockSize, best_block, Query),
          GPUKERN_TORTURE_FOUND(cuStreamIsCapturing, is_capturing, Query),
          GPUKERN_TORTURE_FOUND(cuLaunchKernel, launch, Gpu),
          GPUKERN_TORTURE_FOUND(cuLaunchKernelEx, launch_with, Gpu),
          GPUKERN_TORTURE_FOUND(cuLaunchCooperativeKernel, launch_cooperative, Gpu)};
}

std::vector<Found> compiler_functions() {
  using Table = gpukern::gpu::NvrtcFunctions;
  return {GPUKERN_TORTURE_FOUND(nvrtcVersion, version, Absent),
          GPUKERN_TORTURE_FOUND(nvrtcGetNumSupportedArchs, num_supported_archs, Absent),
          GPUKERN_TORTURE_FOUND(nvrtcGetSupportedArchs, supported_archs, Tolerated),
          GPUKERN_TORTURE_FOUND(nvrtcCreateProgram, create, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcDestroyProgram, destroy, Release),
          GPUKERN_TORTURE_FOUND(nvrtcCompileProgram, compile, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetPTXSize, ptx_size, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetPTX, ptx, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetCUBINSize, cubin_size, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetCUBIN, cubin, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetProgramLogSize, log_size, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetProgramLog, log, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcAddNameExpression, add_name, Memory),
          GPUKERN_TORTURE_FOUND(nvrtcGetLoweredName, lowered_name, Memory)};
}

/// They fail only for a context that is lost or not there; the other texts of errors.
constexpr const char* kInfallible[] = {"cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent",
                                       "nvrtcGetErrorString"};

/// What the library gets as the address of a function.
void* stub_of(const char* name, void* real) {
  for (const auto& functions :
       {driver_functions(), memory_functions(), program_functions(), compiler_functions()})
    for (const Found& found : functions)
      if (std::strcmp(found.name, name) == 0) {
        *found.real = real;
        return found.stub;
      }
  for (const char* known : kInfallible)
    if (std::strcmp(known, name) == 0) return real;
  std::fprintf(stderr, "torture does not let %s fail\n", name);
  std::abort();
}

void require(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "CUDA failed: %s\n", cudaGetErrorString(result));
  std::abort();
}

/// A gather and an addition that a CUDA graph captures, and its launch.
void captured(Case& given) {
  const Outside outside;
  const gpukern_tensor* const source = given.floats({100, 64}, kGpu);
  const gpukern_tensor* const index = given.integers({5000}, -200, 300);
  const gpukern_tensor* const out = given.result({GPUKERN_FLOAT, 32, 1}, {5000, 64}, kGpu);
  const gpukern_tensor* const target = given.result({GPUKERN_FLOAT, 32, 1}, {100, 64}, kGpu);
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  given.call = [=] {
    const Outside test;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const gpukern_status status = [&] {
      const Inside library;
      gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
      options.mode = GPUKERN_INDEX_CLIP;
      gpukern_scatter_options add = GPUKERN_SCATTER_OPTIONS_INIT;
      add.mode = GPUKERN_INDEX_WRAP;
      add.reduce = GPUKERN_REDUCE_ADD;
      return in_order([&] { return gpukern_gather(source, index, 0, out, &options, &exec); },
                      [&] { return gpukern_scatter(target, index, out, 0, nullptr, &add, &exec); });
    }();
    cudaGraph_t graph = nullptr;
    require(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable = nullptr;
    require(cudaGraphInstantiate(&executable, graph, 0));
    if (status == GPUKERN_SUCCESS) require(cudaGraphLaunch(executable, stream));
    require(cudaStreamSynchronize(stream));
    require(cudaGraphExecDestroy(executable));
    require(cudaGraphDestroy(graph));
    return status;
  };
}

/// Page-locked memory that the library maps itself.
void allocate_mapped(Case& given) {
  given.call = [] {
    void* data = nullptr;
    const gpukern_status status = gpukern_allocate(kPinned, std::size_t{65} << 20, nullptr, &data);
    gpukern_release(kPinned, data, nullptr);
    return status;
  };
}

}  // namespace

bool is_present() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

const unsigned kSecondsOfChild = 300;
const int kColdStep = 3;

bool runs_cold(std::string_view scenario) {
  return scenario == "gather_raise_gpu" || scenario == "program" || scenario == "queries";
}

// Compiles four programs in each call; the limit is the host's.
bool is_known(std::string_view scenario) { return scenario != "cache_limit"; }

std::uintptr_t thread_state() {
  const Outside outside;
  static const auto get_current = [] {
    decltype(&cuCtxGetCurrent) found = nullptr;
    auto query = cudaDriverEntryPointSymbolNotFound;
    require(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", reinterpret_cast<void**>(&found),
                                             12000, cudaEnableDefault, &query));
    return found;
  }();
  CUcontext current = nullptr;
  if (get_current(&current) != CUDA_SUCCESS) std::abort();
  return reinterpret_cast<std::uintptr_t>(current) ^
         static_cast<std::uintptr_t>(cudaPeekAtLastError());
}

std::vector<Named> backend_scenarios() {
  return {{"captured", captured}, {"allocate_mapped", allocate_mapped}};
}

}  // namespace gpukern_torture

GPUKERN_TORTURE_WRAP(__cudaLaunchKernel, Gpu, File, 0)
GPUKERN_TORTURE_WRAP(cudaDeviceGetAttribute, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaDriverGetVersion, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaEventCreateWithFlags, Query, Event, 1)
GPUKERN_TORTURE_WRAP(cudaEventDestroy, Release, Event, -1)
GPUKERN_TORTURE_WRAP(cudaEventRecord, Gpu, File, 0)
GPUKERN_TORTURE_WRAP(cudaEventSynchronize, Wait, File, 0)
GPUKERN_TORTURE_WRAP(cudaFree, Release, GpuMemory, -1)
GPUKERN_TORTURE_WRAP(cudaFreeAsync, Release, GpuMemory, -1)
GPUKERN_TORTURE_WRAP(cudaFreeHost, Release, GpuMemory, -1)
GPUKERN_TORTURE_WRAP(cudaFuncGetAttributes, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaFuncSetAttribute, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaGetDevice, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaGetDeviceProperties, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaGraphRetainUserObject, Query, File, 0)
GPUKERN_TORTURE_WRAP_AS(cudaHostAlloc, cudaError_t(void**, std::size_t, unsigned), Memory,
                        GpuMemory, 1)
GPUKERN_TORTURE_WRAP_AS(cudaHostGetDevicePointer, cudaError_t(void**, void*, unsigned), Query, File,
                        0)
GPUKERN_TORTURE_WRAP(cudaHostRegister, Memory, GpuMemory, 1)
GPUKERN_TORTURE_WRAP(cudaHostUnregister, Release, GpuMemory, -1)
GPUKERN_TORTURE_WRAP(cudaLaunchHostFunc, Gpu, File, 0)
GPUKERN_TORTURE_WRAP(cudaLaunchKernelExC, Gpu, File, 0)
GPUKERN_TORTURE_WRAP_AS(cudaMalloc, cudaError_t(void**, std::size_t), Memory, GpuMemory, 1)
GPUKERN_TORTURE_WRAP_AS(cudaMallocFromPoolAsync,
                        cudaError_t(void**, std::size_t, cudaMemPool_t, cudaStream_t), Memory,
                        GpuMemory, 1)
GPUKERN_TORTURE_WRAP(cudaMemGetInfo, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaMemPoolCreate, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaMemPoolDestroy, Release, File, 0)
GPUKERN_TORTURE_WRAP(cudaMemPoolSetAttribute, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaMemcpyAsync, Gpu, File, 0)
GPUKERN_TORTURE_WRAP(cudaMemsetAsync, Gpu, File, 0)
GPUKERN_TORTURE_WRAP_AS(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                        cudaError_t(int*, const void*, int, std::size_t, unsigned), Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaRuntimeGetVersion, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaSetDevice, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaStreamCreateWithFlags, Query, Stream, 1)
GPUKERN_TORTURE_WRAP(cudaStreamDestroy, Release, Stream, -1)
GPUKERN_TORTURE_WRAP(cudaStreamGetDevice, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaStreamGetId, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaStreamSynchronize, Wait, File, 0)
GPUKERN_TORTURE_WRAP(cudaStreamWaitEvent, Gpu, File, 0)
GPUKERN_TORTURE_WRAP(cudaUserObjectCreate, Query, File, 0)
GPUKERN_TORTURE_WRAP(cudaUserObjectRelease, Release, File, 0)
GPUKERN_TORTURE_WRAP(madvise, Tolerated, File, 0)
GPUKERN_TORTURE_WRAP(munmap, Release, File, 0)

// Functions that fail in another way. The linker sets the names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

decltype(cudaGetDriverEntryPointByVersion) __real_cudaGetDriverEntryPointByVersion;
cudaError_t __wrap_cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                    unsigned version, unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult* found) {
  using gpukern_torture::Outside;
  static constexpr gpukern_torture::Site kSite{"cudaGetDriverEntryPointByVersion",
                                               gpukern_torture::Kind::Query};
  if (gpukern_torture::fails(kSite)) return gpukern_torture::FailedCall<cudaError_t>::result(kSite);
  const bool is_test = Outside::active();
  const Outside outside;
  const cudaError_t result =
      __real_cudaGetDriverEntryPointByVersion(name, function, version, flags, found);
  if (!is_test && result == cudaSuccess && *found == cudaDriverEntryPointSuccess)
    *function = gpukern_torture::stub_of(name, *function);
  return result;
}

decltype(dlopen) __real_dlopen;
void* __wrap_dlopen(const char* path, int mode) {
  static constexpr gpukern_torture::Site kSite{"dlopen", gpukern_torture::Kind::Absent};
  const bool failed = gpukern_torture::fails(kSite);
  const gpukern_torture::Outside outside;
  return __real_dlopen(failed ? "/no/such/library" : path, mode);
}

decltype(dlsym) __real_dlsym;
void* __wrap_dlsym(void* library, const char* name) noexcept {
  static constexpr gpukern_torture::Site kSite{"dlsym", gpukern_torture::Kind::Absent};
  const bool is_test = gpukern_torture::Outside::active();
  const bool failed = gpukern_torture::fails(kSite);
  const gpukern_torture::Outside outside;
  void* const found = __real_dlsym(library, failed ? "no_such_function" : name);
  const bool is_compiler = std::strncmp(name, "nvrtc", 5) == 0;
  return found != nullptr && !is_test && is_compiler ? gpukern_torture::stub_of(name, found)
                                                     : found;
}

decltype(mmap) __real_mmap;
void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset) {
  static constexpr gpukern_torture::Site kSite{"mmap", gpukern_torture::Kind::Tolerated};
  if (!gpukern_torture::fails(kSite)) return __real_mmap(at, bytes, access, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
