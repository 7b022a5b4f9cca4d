// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <vector>

#include "src/cpu/cache.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/long_runs.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/runs.hpp"
#include "src/cpu/saxpy_kernels.hpp"
#include "src/threading/thread_limit.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

const SaxpyKernels& best_kernels() {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx512) return saxpy_kernels_avx512();
  if (widest_isa() >= Isa::Avx2) return saxpy_kernels_avx2();
#endif
  return saxpy_kernels_baseline();
}

const SaxpyKernel& kernel_for(gpukern_dtype dtype) {
  const SaxpyKernels& kernels = best_kernels();
  std::size_t row = 0;
#define GPUKERN_ROW(name, type, code, bits)             \
  if (is_dtype(dtype, code, bits)) return kernels[row]; \
  ++row;
  GPUKERN_SAXPY_DTYPES(GPUKERN_ROW)
#undef GPUKERN_ROW
  fail(GPUKERN_INTERNAL_ERROR, "saxpy: no kernel for ", dtype_name(dtype));
}

/// The size of results that justifies an awake thread.
constexpr std::int64_t kGrainBytes = std::int64_t{64} << 10;

struct Span {
  const std::byte* x;
  const std::byte* y;
  std::byte* out;
  std::int64_t count;
};

/// Elements that are not contiguous are copied through a buffer in the first-level cache.
constexpr std::int64_t kBufferBytes = 4096;

/// An operand of a run, in blocks of contiguous elements.
class Blocks {
 public:
  Blocks(std::int64_t step, std::int64_t item) : step_(step), item_(item) {}

  /// The block at `run + done * step`. No block is longer than the first one, whose copies of an
  /// element serve all of them if the step is 0.
  const std::byte* load(const std::byte* run, std::int64_t done, std::int64_t count) {
    if (step_ == item_) return run + done * step_;
    if (step_ != 0 || done == 0)
      visit_width(item_, [&](auto width) {
        copy_items(run + done * step_, step_, buffer_.data(), item_, count, width);
      });
    return buffer_.data();
  }
  /// Where to write a block before it is stored.
  std::byte* begin(std::byte* run, std::int64_t done) {
    return step_ == item_ ? run + done * step_ : buffer_.data();
  }
  void store(std::byte* run, std::int64_t done, std::int64_t count) const {
    if (step_ == item_) return;
    visit_width(item_, [&](auto width) {
      copy_items(buffer_.data(), item_, run + done * step_, step_, count, width);
    });
  }

 private:
  std::int64_t step_;
  std::int64_t item_;
  alignas(kCacheLine) std::array<std::byte, kBufferBytes> buffer_;  // written before it is read
};

void saxpy_strided(const SaxpyArgs& args, SaxpyLoop loop, const Span& run) {
  Blocks x(run_stride(args.loop, 0), args.item);
  Blocks y(run_stride(args.loop, 1), args.item);
  Blocks out(run_stride(args.loop, 2), args.item);
  const std::int64_t block = kBufferBytes / args.item;
  for (std::int64_t done = 0; done < run.count; done += block) {
    const std::int64_t count = std::min(block, run.count - done);
    loop(args.a, x.load(run.x, done, count), y.load(run.y, done, count), out.begin(run.out, done),
         count);
    out.store(run.out, done, count);
  }
}

/// Shorter runs gain less than the fence and the separate first part cost.
constexpr std::int64_t kLongBytes = std::int64_t{16} << 10;

/// Whether streaming stores are faster: where the operands exceed the threads' caches, an ordinary
/// store would first read each line of `out`.
bool exceeds_caches(std::int64_t count, std::int64_t item) {
  return kHasStreamingStores && count > kept_cache_bytes(thread_limit()) / (3 * item);
}

/// Whether no element straddles two cache lines.
bool meets_lines(const std::byte* data, std::int64_t item) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(item) == 0;
}

/// Splits a run into whole cache lines of `out` and the parts before and after them. Vectors of
/// operands with the alignment of `out`, as fresh arrays have, then cross no line.
void saxpy_by_lines(const std::byte* a, std::int64_t item, const SaxpyKernel& kernel,
                    bool streaming, const Span& run) {
  const auto misaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.out) % kCacheLine);
  const std::int64_t length = kStreamedLines * kCacheLine / item;
  const std::int64_t before = std::min((kCacheLine - misaligned) % kCacheLine / item, run.count);
  const std::int64_t lines = (run.count - before) / length * length;
  auto part = [&](SaxpyLoop loop, std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * item;
    loop(a, run.x + at, run.y + at, run.out + at, end - begin);
  };
  part(kernel.ordinary, 0, before);
  part(streaming ? kernel.streaming : kernel.ordinary, before, before + lines);
  if (streaming) store_fence();
  part(kernel.ordinary, before + lines, run.count);
}

/// A run whose operands are contiguous. `large`: the operands of the call exceed the caches.
void saxpy_contiguous(const std::byte* a, std::int64_t item, const SaxpyKernel& kernel, bool large,
                      const Span& run) {
  if (run.count >= kLongBytes / item && meets_lines(run.out, item))
    saxpy_by_lines(a, item, kernel, large && run.out != run.x && run.out != run.y, run);
  else
    kernel.ordinary(a, run.x, run.y, run.out, run.count);
}

}  // namespace

void saxpy(const SaxpyArgs& args) {
  const SaxpyKernel& kernel = kernel_for(args.dtype);
  const std::int64_t grain = kGrainBytes / args.item;
  bool contiguous = !has_long_runs(args.loop);
  for (int k = 0; k < 3; ++k) contiguous = contiguous && run_stride(args.loop, k) == args.item;
  const bool large = exceeds_caches(args.loop.count(), args.item);
  parallel_runs(args, grain, [&](const SaxpyArgs& ordered, const auto& each_run) {
    const DefaultFloatingPoint environment;
    each_run([&](const auto& offset, std::int64_t length) {
      const Span run{args.x + offset[0], args.y + offset[1], args.out + offset[2], length};
      if (contiguous)
        saxpy_contiguous(args.a, args.item, kernel, large, run);
      else
        saxpy_strided(ordered, kernel.ordinary, run);
    });
  });
}

Strategy saxpy_strategy(const SaxpyArgs& args) {
  return {.path = args.contiguous() ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED,
          .threads = threads_for(args.loop.count(), kGrainBytes / args.item)};
}

void saxpy_many(const SaxpyManyArgs& args) {
  const SaxpyKernel& kernel = kernel_for(args.dtype);
  const bool large = exceeds_caches(args.count, args.item);
  std::vector<std::int64_t> ends;  // of the entries, among the elements of all
  ends.reserve(args.entries.size());
  for (const SaxpyEntry& entry : args.entries)
    ends.push_back((ends.empty() ? 0 : ends.back()) + entry.count);
  parallel_for(args.count, kGrainBytes / args.item, [&](std::int64_t begin, std::int64_t end) {
    const DefaultFloatingPoint environment;
    for (auto of = std::ranges::upper_bound(ends, begin); begin < end; ++of) {
      const SaxpyEntry& entry = args.entries[static_cast<std::size_t>(of - ends.begin())];
      const std::int64_t at = (begin - (*of - entry.count)) * args.item;
      const std::int64_t length = std::min(end, *of) - begin;
      saxpy_contiguous(args.a, args.item, kernel, large,
                       {entry.x + at, entry.y + at, entry.out + at, length});
      begin += length;
    }
  });
}

Strategy saxpy_many_strategy(const SaxpyManyArgs& args) {
  return {.path = GPUKERN_PATH_CONTIGUOUS,
          .threads = threads_for(args.count, kGrainBytes / args.item)};
}

}  // namespace gpukern::cpu
