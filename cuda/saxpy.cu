// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "../src/dtype.hpp"
#include "kernels.hpp"
#include "launch.cuh"
#include "saxpy_kernels.cuh"
#include "saxpy_tuning.hpp"

namespace gpukern::gpu {
namespace {

// Whole cache lines of out for each warp.
constexpr std::int64_t kLineBytes = 128;

static_assert(std::all_of(std::begin(kSaxpyTunings), std::end(kSaxpyTunings),
                          [](const SaxpyTuning& line) {
                            const bool bulk = line.bulk_from != kNever;
                            return line.threads >= kMaxEdges && line.threads % 32 == 0 &&
                                   (!bulk || (line.capability >= 90 && line.bulk_packs > 0 &&
                                              line.bulk_threads >= kMaxEdges));
                          }));

/// The tuning of the current device, which has this number. Asks CUDA once: not for the device's
/// capability but for the compiled code's, since code for an older GPU has no bulk copies.
const SaxpyTuning& tuning_of(int device) {
  static std::array<std::atomic<const SaxpyTuning*>, 64> known{};
  const auto slot = static_cast<std::size_t>(device);
  const SaxpyTuning* tuning = slot < known.size() ? known[slot].load() : nullptr;
  if (tuning == nullptr) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, saxpy_bulk_kernel<float>), "cudaFuncGetAttributes");
    tuning = &saxpy_tuning(attributes.ptxVersion);
    if (slot < known.size()) known[slot].store(tuning);
  }
  return *tuning;
}

std::int64_t shift_of(const std::byte* address, std::int64_t bytes) {
  return reinterpret_cast<std::intptr_t>(address) & (bytes - 1);
}

/// How the items are parted. `shifted`: some operand lies on no pack behind the head. Packs of it
/// are then joined from the two around, so the span keeps a pack away from both ends.
struct Parting {
  SaxpySpan span;
  bool shifted;
  bool out_shifted;
};

Parting part(const SaxpyArgs& args, std::int64_t count) {
  const std::int64_t bytes = count * args.item;
  const bool out_shifted = shift_of(args.out, std::min<std::int64_t>(args.item, kPackBytes)) != 0;
  const std::int64_t out_at = shift_of(args.out, kPackBytes);
  const bool shifted = out_shifted || shift_of(args.x, kPackBytes) != out_at ||
                       shift_of(args.y, kPackBytes) != out_at;
  std::int64_t skip =
      out_shifted ? 0 : -reinterpret_cast<std::intptr_t>(args.out) & (kLineBytes - 1);
  if (shifted && skip < kPackBytes) skip += kLineBytes;
  const std::int64_t packs = (bytes - skip) / kPackBytes - (shifted ? 1 : 0);
  if (packs <= 0) return {{args.x, args.y, args.out, count, 0, 0}, shifted, out_shifted};
  return {{args.x, args.y, args.out, count, packs, static_cast<int>(skip / args.item)},
          shifted,
          out_shifted};
}

/// Calls visit(std::integral_constant<int, packs>{}) for 1, 2 or 4 packs.
template <class Visit>
void visit_packs(int packs, const Visit& visit) {
  if (packs == 1) return visit(std::integral_constant<int, 1>{});
  if (packs == 2) return visit(std::integral_constant<int, 2>{});
  visit(std::integral_constant<int, 4>{});
}

Grid grid_of(const SaxpySpan& span, int threads, int packs, std::size_t shared_bytes = 0) {
  const std::int64_t blocks = ceil_divide(span.packs, std::int64_t{threads} * packs);
  return {std::max<std::int64_t>(blocks, 1), threads, shared_bytes};
}

template <class T>
void saxpy_contiguous(const SaxpyTuning& tuning, const SaxpyArgs& args, T a, std::int64_t count,
                      cudaStream_t stream) {
  const auto [span, shifted, out_shifted] = part(args, count);
  const std::int64_t bytes = count * args.item;
  if (bytes >= tuning.bulk_from && !out_shifted) {
    const int tile = tuning.bulk_threads * tuning.bulk_packs;
    launch(saxpy_bulk_kernel<T>,
           grid_of(span, tuning.bulk_threads, tuning.bulk_packs, bulk_shared_bytes(tile)), stream,
           span, a, tile);
    return;
  }
  const int packs = shifted ? tuning.shifted_packs : tuning.packs;
  visit_packs(bytes < tuning.packs_from ? 1 : packs, [&](auto constant) {
    constexpr int kPacks = decltype(constant)::value;
    launch(shifted ? saxpy_shifted_kernel<T, kPacks> : saxpy_kernel<T, kPacks>,
           grid_of(span, tuning.threads, kPacks), stream, span, a);
  });
}

template <class T>
void saxpy_strided(const SaxpyArgs& args, T a, std::int64_t count, cudaStream_t stream) {
  std::intptr_t bits = 0;
  for (const void* address : {static_cast<const void*>(args.x), static_cast<const void*>(args.y),
                              static_cast<const void*>(args.out)})
    bits |= reinterpret_cast<std::intptr_t>(address);
  for (int d = 0; d < args.loop.ndim; ++d)
    for (const auto& strides : args.loop.stride) bits |= strides[d];
  const bool aligned = bits % static_cast<std::intptr_t>(alignof(T)) == 0;
  visit_offset(count, [&](auto offset) {
    using Offset = decltype(offset);
    launch(saxpy_strided_kernel<T, Offset>, ceil_divide(count, kThreads), stream, args, a, aligned,
           static_cast<Offset>(count));
  });
}

template <class T>
void saxpy_typed(int device, const SaxpyArgs& args, cudaStream_t stream) {
  T a;
  std::memcpy(&a, args.a, sizeof(T));
  const std::int64_t count = args.loop.count();
  bool contiguous = true;
  for (int k = 0; k < 3; ++k) contiguous = contiguous && args.loop.contiguous(k, args.item);
  if (contiguous)
    saxpy_contiguous(tuning_of(device), args, a, count, stream);
  else
    saxpy_strided(args, a, count, stream);
}

}  // namespace

void saxpy(int device, const SaxpyArgs& args, cudaStream_t stream) {
  visit_saxpy_dtype(args.dtype, [&](auto tag) {
    saxpy_typed<typename decltype(tag)::type>(device, args, stream);
  });
}

}  // namespace gpukern::gpu
