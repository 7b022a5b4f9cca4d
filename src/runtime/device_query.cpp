// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>

#include "src/core/environment.hpp"
#include "src/runtime/device.hpp"

using gpukern::cuda_status;
using gpukern::guard;
using gpukern::require;
using gpukern::require_struct_size;

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
    require_struct_size("cuda_query: info", info->struct_size, kFirstCudaInfo);
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
    require_struct_size("device_query: info", info->struct_size, kFirstDeviceInfo);
    gpukern::query_device(device_id, *info);
  });
}
