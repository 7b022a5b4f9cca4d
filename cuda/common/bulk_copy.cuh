// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Asynchronous bulk copies from global to shared memory and the barrier that counts their bytes
// (PTX ISA: mbarrier, cp.async.bulk), and bulk prefetches into the L2 cache. Compute capability 9.0
// and later.
#pragma once

#include <cstdint>

namespace gpukern::gpu {

/// Prefetches global memory into the L2 cache. Address and size are multiples of 16 bytes.
__device__ inline void prefetch_l2(const void* global, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(global)),
               "r"(bytes)
               : "memory");
}

/// A barrier in shared memory. One thread initializes it, announces the bytes and starts the
/// copies; after __syncthreads(), all threads wait.
class BulkBarrier {
 public:
  __device__ void initialise() {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&state_)));
    // Makes the barrier visible to the unit that copies.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  /// Lets later bulk copies overwrite what this thread has written to shared memory.
  __device__ static void order_writes() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }

  /// Announces the bytes of all copies of a phase; must be called once for each phase.
  __device__ void expect(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(&state_)),
                 "r"(bytes)
                 : "memory");
  }

  /// Both addresses and the size are multiples of 16 bytes.
  __device__ void copy(void* to_shared, const void* from_global, unsigned bytes) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to_shared)),
        "l"(__cvta_generic_to_global(from_global)), "r"(bytes), "r"(shared_address(&state_))
        : "memory");
  }

  /// Waits until all bytes of the phase have arrived. Phases are numbered from 0.
  __device__ void wait(unsigned phase) {
    unsigned done = 0;
    while (done == 0) {
      asm volatile(
          "{\n"
          ".reg .pred done;\n"
          "mbarrier.try_wait.parity.shared.b64 done, [%1], %2;\n"
          "selp.u32 %0, 1, 0, done;\n"
          "}"
          : "=r"(done)
          : "r"(shared_address(&state_)), "r"(phase & 1U)
          : "memory");
    }
  }

 private:
  __device__ static unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
  }

  std::uint64_t state_;
};

}  // namespace gpukern::gpu
