// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include "src/core/environment.hpp"
#include "src/runtime/device.hpp"

using gpukern::cuda_status;
using gpukern::guard;
using gpukern::require;

// The sizes in ABI 1: callers compiled against it must remain supported. Write a later field only
// if struct_size covers it.
static constexpr std::size_t kFirstCudaInfo =
    offsetof(gpukern_cuda_info, reason) + sizeof(gpukern_cuda_info::reason);
static constexpr std::size_t kFirstDeviceInfo = offsetof(gpukern_device_info, total_memory_bytes) +
                                                sizeof(gpukern_device_info::total_memory_bytes);

extern "C" int32_t gpukern_version(void) { return GPUKERN_VERSION; }

extern "C" int32_t gpukern_abi_version(void) { return GPUKERN_ABI_VERSION; }

extern "C" gpukern_status gpukern_reload_environment(void) {
  return guard([] { gpukern::reload_environment(); });
}

extern "C" gpukern_status gpukern_cuda_query(gpukern_cuda_info* info) {
  return guard([&] {
    require(info != nullptr, GPUKERN_VALUE_ERROR, "cuda_query: info must not be NULL");
    require(info->struct_size >= kFirstCudaInfo, GPUKERN_VALUE_ERROR,
            "cuda_query: info must have struct_size = ", kFirstCudaInfo, " or more, got ",
            info->struct_size);
    const gpukern::CudaStatus& status = cuda_status();
    info->built = status.built ? 1 : 0;
    info->runtime_version = status.runtime_version;
    info->driver_version = status.driver_version;
    info->device_count = status.device_count;
    info->reason = status.reason.c_str();
  });
}

extern "C" int32_t gpukern_device_count(void) {
  int32_t count = 0;
  guard([&] { count = cuda_status().device_count; });
  return count;
}

extern "C" gpukern_status gpukern_device_query(int32_t device_id, gpukern_device_info* info) {
  return guard([&] {
    require(info != nullptr, GPUKERN_VALUE_ERROR, "device_query: info must not be NULL");
    require(info->struct_size >= kFirstDeviceInfo, GPUKERN_VALUE_ERROR,
            "device_query: info must have struct_size = ", kFirstDeviceInfo, " or more, got ",
            info->struct_size);
    gpukern::query_device(device_id, *info);
  });
}
