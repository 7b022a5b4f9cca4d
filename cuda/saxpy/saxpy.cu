// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/runtime/kernels.hpp"
#include "cuda/saxpy/axpby_numbers.hpp"
#include "cuda/saxpy/kernels.cuh"
#include "cuda/saxpy/strided.hpp"
#include "cuda/saxpy/tuning.hpp"
#include "src/core/dtype.hpp"

namespace gpukern::gpu {
namespace {

// Whole cache lines of out for each warp.
constexpr std::int64_t kLineBytes = 128;

std::int64_t shift_of(const std::byte* address, std::int64_t bytes) {
  return reinterpret_cast<std::intptr_t>(address) & (bytes - 1);
}

/// Divides the items into words and edges. Words begin at a cache line of out, if an item does.
struct WordSplit {
  SaxpySpan span;
  bool shifted;  ///< some operand is aligned to words differently
};

WordSplit split(const SaxpyArgs& args, std::int64_t count) {
  const std::int64_t bytes = count * args.item;
  const bool meets_lines = shift_of(args.out, std::min<std::int64_t>(args.item, kWordBytes)) == 0;
  std::int64_t skip =
      meets_lines ? -reinterpret_cast<std::intptr_t>(args.out) & (kLineBytes - 1) : 0;
  const bool shifted = shift_of(args.x + skip, kWordBytes) != 0 ||
                       shift_of(args.y + skip, kWordBytes) != 0 ||
                       shift_of(args.out + skip, kWordBytes) != 0;
  // A shifted word is loaded from the two aligned words that contain it: the span excludes a word
  // at each end.
  if (shifted && skip < kWordBytes) skip += kLineBytes;
  skip = std::min(skip, bytes);
  const std::int64_t words =
      std::max<std::int64_t>((bytes - skip) / kWordBytes - (shifted ? 1 : 0), 0);
  const std::int64_t edges = count - words * (kWordBytes / args.item);
  return {{args.x + skip, args.y + skip, args.out + skip, words, static_cast<int>(skip / args.item),
           static_cast<int>(edges)},
          shifted};
}

bool aligned_to(const SaxpyArgs& args, std::size_t bytes) {
  return std::min({alignment_of(args.x), alignment_of(args.y), alignment_of(args.out)}) >=
         static_cast<std::int64_t>(bytes);
}

template <class T>
void saxpy_contiguous(const SaxpyArgs& args, const Factors* factors, std::int64_t count,
                      cudaStream_t stream) {
  const auto scale = Scale<T>::of(args.a, factors);
  const SaxpyTuning& tuning = line_for(kSaxpyTunings, device_facts().compute_capability);
  if constexpr (sizeof(T) <= 4) {
    if (count <= tuning.small_to && aligned_to(args, alignof(T))) {
      return launch(saxpy_small_kernel<T>,
                    {ceil_divide(count, kSaxpySmallThreads), kSaxpySmallThreads, 0, true}, stream,
                    scale, reinterpret_cast<const T*>(args.x), reinterpret_cast<const T*>(args.y),
                    reinterpret_cast<T*>(args.out), count);
    }
  }
  const auto [span, shifted] = split(args, count);
  launch(shifted ? saxpy_shifted_kernel<T> : saxpy_kernel<T>,
         {ceil_divide(span.words + span.edges, tuning.threads), tuning.threads, 0, true}, stream,
         span, scale);
}

void saxpy(const SaxpyArgs& args, const Factors* factors, cudaStream_t stream) {
  if (!args.contiguous()) return saxpy_strided(args, factors, stream);
  visit_saxpy_dtype(args.dtype, [&](auto tag) {
    saxpy_contiguous<typename decltype(tag)::type>(args, factors, args.loop.count(), stream);
  });
}

gpukern_dtype dtype_of(RealType type) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(type));
  return {static_cast<std::uint8_t>(type == RealType::BFloat16 ? GPUKERN_BFLOAT : GPUKERN_FLOAT),
          bits, 1};
}

}  // namespace

void saxpy(const SaxpyArgs& args, cudaStream_t stream) { saxpy(args, nullptr, stream); }

bool axpby_of_numbers(const AxpbyArgs& args, cudaStream_t stream) {
  const auto& [a, x, b, y, result] = args.operand;
  if (a.in_memory || b.in_memory || !x.in_memory || !y.in_memory || x.type != result.type ||
      y.type != result.type || args.is_wide() != (result.type == RealType::Float64) ||
      args.stochastic)
    return false;
  SaxpyArgs same;
  same.dtype = dtype_of(result.type);
  same.x = x.data;
  same.y = y.data;
  same.out = result.data;
  same.item = size_of(result.type);
  for (int d = 0; d < args.loop.ndim; ++d) {
    const auto& stride = args.loop.stride;
    same.loop.push(args.loop.extent[d], {stride[kX][d], stride[kY][d], stride[kResult][d]});
  }
  const Factors factors{a.value, b.value};
  saxpy(same, &factors, stream);
  return true;
}

Strategy saxpy_strategy(const SaxpyArgs& args) {
  return {.path = args.contiguous() ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED};
}

}  // namespace gpukern::gpu
