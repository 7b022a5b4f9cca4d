// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Named ranges in Nsight Systems' timeline, in the domain "gpukern".
#include "cuda/runtime/backend.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GPUKERN_HAVE_NVTX 1
#endif

namespace gpukern::gpu {

#ifdef GPUKERN_HAVE_NVTX
namespace {

// nullptr without a profiler. Created when the library is loaded: NVTX holds a lock while it
// initializes, which a fork() during the first call would copy.
const nvtxDomainHandle_t kDomain = nvtxDomainCreateA("gpukern");

}  // namespace

void begin_range(const char* name) {
  if (kDomain == nullptr) return;
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  static_cast<void>(nvtxDomainRangePushEx(kDomain, &attributes));
}

void end_range() {
  if (kDomain != nullptr) static_cast<void>(nvtxDomainRangePop(kDomain));
}
#else
void begin_range(const char* /*name*/) {}
void end_range() {}
#endif

}  // namespace gpukern::gpu
