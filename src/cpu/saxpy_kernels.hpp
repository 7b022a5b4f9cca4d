// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The saxpy kernels for contiguous memory, one table per instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/core/dtype.hpp"

namespace gpukern::cpu {

#define GPUKERN_COUNT(name, type, code, bits) +1
inline constexpr std::size_t kSaxpyDtypes = 0 GPUKERN_SAXPY_DTYPES(GPUKERN_COUNT);
#undef GPUKERN_COUNT

/// All pointers aligned to the element; out is x or y or overlaps neither.
using SaxpyLoop = void (*)(const std::byte* a, const std::byte* x, const std::byte* y,
                           std::byte* out, std::int64_t count);

/// Cache lines that a streaming loop computes at once: enough for vectors of every dtype, and so
/// few that stores begin soon, between the loads.
constexpr std::int64_t kStreamedLines = 4;

/// The loops of one dtype.
struct SaxpyKernel {
  SaxpyLoop ordinary;
  /// Past the caches: `out` begins a line, and is a multiple of kStreamedLines long. Other threads
  /// see it after store_fence(). Null where there are no such stores.
  SaxpyLoop streaming;
};

/// In the order of GPUKERN_SAXPY_DTYPES.
using SaxpyKernels = std::array<SaxpyKernel, kSaxpyDtypes>;

const SaxpyKernels& saxpy_kernels_baseline();
#ifdef GPUKERN_X86
const SaxpyKernels& saxpy_kernels_avx2();
const SaxpyKernels& saxpy_kernels_avx512();
#endif

}  // namespace gpukern::cpu
