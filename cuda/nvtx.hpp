// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Named ranges in Nsight Systems' timeline, in the domain "gpukern".
#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GPUKERN_HAVE_NVTX 1
#endif

namespace gpukern::gpu {

/// Marks the work of the host between its construction and its end, on the calling thread. Without
/// a profiler there is no domain, and a range costs a comparison.
#ifdef GPUKERN_HAVE_NVTX
class Range {
 public:
  explicit Range(const char* name) {
    if (domain() != nullptr) push(name);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (domain() != nullptr) static_cast<void>(nvtxDomainRangePop(domain()));
  }

 private:
  static nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t handle = nvtxDomainCreateA("gpukern");
    return handle;
  }
  static void push(const char* name) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    static_cast<void>(nvtxDomainRangePushEx(domain(), &attributes));
  }
};
#else
class Range {
 public:
  explicit Range(const char*) {}
};
#endif

}  // namespace gpukern::gpu
