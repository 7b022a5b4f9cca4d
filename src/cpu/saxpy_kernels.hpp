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

/// Of contiguous elements, which may be misaligned; out is x or y, or overlaps neither.
using SaxpyLoop = void (*)(const std::byte* a, const std::byte* x, const std::byte* y,
                           std::byte* out, std::int64_t count);

/// Cache lines that a streaming loop computes per step: enough for vectors of every dtype, and few
/// enough that stores alternate with loads.
constexpr std::int64_t kStreamedLines = 4;

/// The loops of one dtype.
struct SaxpyKernel {
  SaxpyLoop ordinary;
  /// With streaming stores: `out` is aligned to a line, and its size is a multiple of
  /// kStreamedLines lines. Other threads see the results after store_fence(). Null without such
  /// stores.
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
