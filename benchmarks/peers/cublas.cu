// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS, opened at first use: neither the build nor loading needs it.

#include <dlfcn.h>
#include <library_types.h>

#include "api.cuh"

namespace bench {
namespace {

using Handle = void*;
// cuBLAS's C functions; the enums are ints there.
using Create = int (*)(Handle*);
using SetStream = int (*)(Handle, cudaStream_t);
using AxpyEx = int (*)(Handle, std::int64_t, const void*, cudaDataType, const void*, cudaDataType,
                       std::int64_t, void*, cudaDataType, std::int64_t, cudaDataType);

template <class Function>
Function symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("cuBLAS has no ") + name);
  return reinterpret_cast<Function>(found);
}

void require(int status, const char* what) {
  if (status != 0)
    throw std::runtime_error(std::string(what) + ": status " + std::to_string(status));
}

struct Cublas {
  Handle handle = nullptr;
  SetStream set_stream = nullptr;
  AxpyEx axpy = nullptr;

  Cublas() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
    if (library == nullptr) throw std::runtime_error("no libcublas.so");
    set_stream = symbol<SetStream>(library, "cublasSetStream_v2");
    axpy = symbol<AxpyEx>(library, "cublasAxpyEx_64");
    require(symbol<Create>(library, "cublasCreate_v2")(&handle), "cublasCreate");
  }
};

struct Types {
  cudaDataType data;
  cudaDataType compute;
};

Types types_of(int dtype) {
  switch (dtype) {
    case 0:
      return {CUDA_R_16F, CUDA_R_32F};
    case 1:
      return {CUDA_R_16BF, CUDA_R_32F};
    case 2:
      return {CUDA_R_32F, CUDA_R_32F};
    case 3:
      return {CUDA_R_64F, CUDA_R_64F};
    case 4:
      return {CUDA_C_32F, CUDA_C_32F};
    case 5:
      return {CUDA_C_64F, CUDA_C_64F};
    default:
      throw std::invalid_argument("cuBLAS has no axpy of integers");
  }
}

}  // namespace
}  // namespace bench

/// y = 2 x + y by cublasAxpyEx, in place.
BENCH_API int bench_saxpy_cublas(int dtype, const void* x, void* y, std::int64_t n, void* stream) {
  return bench::guard([&] {
    static const bench::Cublas cublas;
    const bench::Types types = bench::types_of(dtype);
    const float single[2] = {2, 0};
    const double twofold[2] = {2, 0};
    const bool wide = types.compute == CUDA_R_64F || types.compute == CUDA_C_64F;
    const void* a = wide ? static_cast<const void*>(twofold) : single;
    bench::require(cublas.set_stream(cublas.handle, static_cast<cudaStream_t>(stream)),
                   "cublasSetStream");
    bench::require(cublas.axpy(cublas.handle, n, a, types.compute, x, types.data, 1, y, types.data,
                               1, types.compute),
                   "cublasAxpyEx");
  });
}
