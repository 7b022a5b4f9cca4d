// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/runtime/driver.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "cuda/program/driver.hpp"
#include "cuda/runtime/capture.hpp"
#include "src/core/make_once.hpp"

namespace gpukern::gpu {
namespace {

ProgramDriver find_all() {
  constexpr unsigned kWithParameters = 12040;
  ProgramDriver found;
  find("cuModuleLoadDataEx", found.load);
  find("cuModuleUnload", found.unload);
  find("cuModuleGetFunction", found.function);
  find("cuFuncGetAttribute", found.attribute);
  find("cuFuncSetAttribute", found.set_attribute);
  find("cuFuncGetParamInfo", found.parameter, kWithParameters);
  find("cuOccupancyMaxPotentialBlockSize", found.best_block);
  find("cuStreamIsCapturing", found.is_capturing);
  find("cuLaunchKernel", found.launch);
  find("cuLaunchKernelEx", found.launch_with);
  find("cuLaunchCooperativeKernel", found.launch_cooperative);
  return found;
}

/// Load errors which mean that the device or its driver does not support the code.
bool is_unsupported(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return true;
    default:
      return false;
  }
}

int attribute(CUfunction function, CUfunction_attribute name) {
  int value = 0;
  check(program_driver().attribute(&value, name, function), "cuFuncGetAttribute");
  return value;
}

std::vector<KernelParameter> parameters_of(CUfunction function) {
  std::vector<KernelParameter> found;
  for (;;) {
    KernelParameter next;
    const CUresult result =
        program_driver().parameter(function, found.size(), &next.offset, &next.bytes);
    // The driver's result for an index after the last parameter.
    if (result == CUDA_ERROR_INVALID_VALUE) return found;
    check(result, "cuFuncGetParamInfo");
    found.push_back(next);
  }
}

/// Launches a kernel that calls cudaGridDependencySynchronize() itself.
void launch_programmatic(CUfunction function, const gpukern_launch& launch, void** arguments,
                         CUstream stream) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  const auto& [x, y, z] = launch.grid;
  const auto& [u, v, w] = launch.block;
  const CUlaunchConfig config{.gridDimX = x,
                              .gridDimY = y,
                              .gridDimZ = z,
                              .blockDimX = u,
                              .blockDimY = v,
                              .blockDimZ = w,
                              .sharedMemBytes = static_cast<unsigned>(launch.shared_bytes),
                              .hStream = stream,
                              .attrs = &attribute,
                              .numAttrs = 1};
  check(program_driver().launch_with(&config, function, arguments, nullptr), "cuLaunchKernelEx");
}

constinit std::atomic<const ProgramDriver*> functions{nullptr};

}  // namespace

const ProgramDriver& program_driver() {
  return make_once(functions, [] { return std::make_unique<const ProgramDriver>(find_all()); });
}

CUmodule load_module(const Compiled& compiled, int device) {
  std::array<char, 4096> log{};
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers in void pointers
  void* values[] = {log.data(), reinterpret_cast<void*>(std::uintptr_t{log.size()})};
  const std::string& image = compiled.cubin.empty() ? compiled.ptx : compiled.cubin;
  CUmodule module = nullptr;
  // The JIT compiler's options apply to PTX only.
  const auto options = static_cast<unsigned>(compiled.cubin.empty() ? std::size(names) : 0);
  const CUresult result = program_driver().load(&module, image.c_str(), options, names, values);
  require(!is_unsupported(result), GPUKERN_VALUE_ERROR,
          "program_kernel: the program was compiled for ", compiled.architecture,
          ", which cuda:", device, " or its driver does not run", log[0] != '\0' ? ": " : "",
          log.data());
  check(result, "cuModuleLoadDataEx");
  return module;
}

KernelFacts facts_of(CUfunction function, int device) {
  KernelFacts facts;
  facts.device = device;
  facts.max_threads_per_block = attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  const int declared = attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  facts.static_shared_bytes = static_cast<std::uint64_t>(declared);
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "cudaDeviceGetAttribute");
  facts.max_dynamic_shared_bytes =
      static_cast<std::uint64_t>(most > declared ? most - declared : 0);
  facts.compute_capability = attribute(function, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  facts.parameters = parameters_of(function);
  return facts;
}

KernelProperties properties_of(CUfunction function) {
  KernelProperties properties;
  properties.registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  properties.local_bytes =
      static_cast<std::uint64_t>(attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  int blocks = 0;
  check(program_driver().best_block(&blocks, &properties.preferred_block, function, nullptr, 0, 0),
        "cuOccupancyMaxPotentialBlockSize");
  return properties;
}

bool is_captured(CUstream stream) {
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = program_driver().is_capturing(stream, &status);
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) require_not_blocked({.blocked = true});
  check(result, "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void launch_kernel(CUfunction function, const KernelFacts& facts, const gpukern_launch& launch,
                   const void* const* arguments, CUstream stream) {
  const ProgramDriver& driver = program_driver();
  const auto& [x, y, z] = launch.grid;
  const auto& [u, v, w] = launch.block;
  const auto shared = static_cast<unsigned>(launch.shared_bytes);
  // The driver takes a pointer to non-const but only reads the arguments.
  auto** values = const_cast<void**>(arguments);
  // Code for compute capabilities below 9.0 cannot wait, on any device.
  if (launch.programmatic_launch != 0 && facts.compute_capability >= 90)
    return launch_programmatic(function, launch, values, stream);
  if (launch.cooperative == 0) {
    check(driver.launch(function, x, y, z, u, v, w, shared, stream, values, nullptr),
          "cuLaunchKernel");
    return;
  }
  const CUresult result =
      driver.launch_cooperative(function, x, y, z, u, v, w, shared, stream, values);
  require(
      result != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, GPUKERN_VALUE_ERROR,
      "kernel_launch: all blocks of a cooperative grid must fit on the device at the same time, "
      "got ",
      x, " x ", y, " x ", z);
  check(result, "cuLaunchCooperativeKernel");
}

}  // namespace gpukern::gpu
