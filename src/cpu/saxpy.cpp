// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "../parallel.hpp"
#include "backend.hpp"
#include "cache.hpp"
#include "rounding.hpp"
#include "runs.hpp"
#include "saxpy_kernels.hpp"
#include "thread_limit.hpp"

namespace gpukern::cpu {
namespace {

/// The kernels of the widest instruction set that this CPU has. $GPUKERN_CPU_ISA (baseline, avx2,
/// avx512) bounds it from above, so that tests reach them all on one machine.
const SaxpyKernels& best_kernels() {
#ifdef GPUKERN_X86
  const char* bound = std::getenv("GPUKERN_CPU_ISA");
  const std::string_view widest = bound != nullptr && *bound != '\0' ? bound : "avx512";
  require(widest == "avx512" || widest == "avx2" || widest == "baseline", GPUKERN_VALUE_ERROR,
          "GPUKERN_CPU_ISA must be baseline, avx2 or avx512, got ", widest);
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512 && widest == "avx512") return saxpy_kernels_avx512();
  if (avx2 && widest != "baseline") return saxpy_kernels_avx2();
#endif
  return saxpy_kernels_baseline();
}

SaxpyKernel kernel_for(gpukern_dtype dtype) {
  static const SaxpyKernels& kernels = best_kernels();
  std::size_t row = 0;
#define GPUKERN_ROW(name, type, code, bits)             \
  if (is_dtype(dtype, code, bits)) return kernels[row]; \
  ++row;
  GPUKERN_SAXPY_DTYPES(GPUKERN_ROW)
#undef GPUKERN_ROW
  fail(GPUKERN_INTERNAL_ERROR, "saxpy: no kernel for ", dtype_name(dtype));
}

/// Results that are worth a thread of their own, if it is awake.
constexpr std::int64_t kGrainBytes = std::int64_t{64} << 10;

/// A strided or misaligned operand passes through a buffer in the first-level cache.
constexpr std::int64_t kBufferBytes = 4096;
struct alignas(64) LineBuffer {
  std::array<std::byte, kBufferBytes> bytes;
};

bool direct(const std::byte* data, std::int64_t step, std::int64_t item, std::int64_t alignment) {
  return step == item &&
         reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0;
}

void pack(const std::byte* from, std::int64_t step, std::byte* to, std::int64_t item,
          std::int64_t count) {
  visit_width(item, [&](auto width) {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * item, from + i * step, width);
  });
}

void unpack(const std::byte* from, std::byte* to, std::int64_t step, std::int64_t item,
            std::int64_t count) {
  visit_width(item, [&](auto width) {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * step, from + i * item, width);
  });
}

struct Span {
  const std::byte* x;
  const std::byte* y;
  std::byte* out;
  std::int64_t count;
};

void saxpy_buffered(const SaxpyArgs& args, SaxpyKernel kernel, Span run) {
  LineBuffer x;
  LineBuffer y;
  const std::int64_t x_step = run_stride(args.loop, 0);
  const std::int64_t y_step = run_stride(args.loop, 1);
  const std::int64_t out_step = run_stride(args.loop, 2);
  const std::int64_t block = kBufferBytes / args.item;
  for (std::int64_t done = 0; done < run.count; done += block) {
    const std::int64_t count = std::min(block, run.count - done);
    pack(run.x + done * x_step, x_step, x.bytes.data(), args.item, count);
    pack(run.y + done * y_step, y_step, y.bytes.data(), args.item, count);
    kernel(args.a, x.bytes.data(), y.bytes.data(), y.bytes.data(), count);
    unpack(y.bytes.data(), run.out + done * out_step, out_step, args.item, count);
  }
}

/// Runs shorter than this do not repay the fence at their end.
constexpr std::int64_t kStreamedBytes = std::int64_t{16} << 10;

/// Whether the results are better written past the caches: where what a thread moves does not stay
/// in its core's cache anyway, an ordinary store would read each line of `out` first.
bool streams(const SaxpyArgs& args) {
  if (!kHasStreamingStores || args.out == args.x || args.out == args.y) return false;
  const std::int64_t kept = 2 * core_cache_bytes() * thread_limit();
  return args.loop.count() > kept / (3 * args.item);
}

/// Computes in the first-level cache, block by block, and writes whole lines past the others.
void saxpy_streaming(const SaxpyArgs& args, SaxpyKernel kernel, Span run) {
  constexpr std::int64_t kBlockBytes = 1024;
  struct alignas(kCacheLine) Block {
    std::byte bytes[kBlockBytes];
  } block;
  auto plain = [&](std::int64_t begin, std::int64_t count) {
    const std::int64_t at = begin * args.item;
    kernel(args.a, run.x + at, run.y + at, run.out + at, count);
  };
  const auto misaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(run.out) % kCacheLine);
  const std::int64_t length = kBlockBytes / args.item;
  // An element never straddles the boundary of a line: it is aligned, to its halves if complex.
  std::int64_t done = (kCacheLine - misaligned) % kCacheLine / args.item;
  if (misaligned % args.item != 0) done = run.count;
  plain(0, std::min(done, run.count));
  for (; done + length <= run.count; done += length) {
    const std::int64_t at = done * args.item;
    // The hardware's prefetchers stop at the end of a page.
    for (std::int64_t line = kBlockBytes; line < 2 * kBlockBytes; line += kCacheLine) {
      prefetch(run.x + at + line);
      prefetch(run.y + at + line);
    }
    kernel(args.a, run.x + at, run.y + at, block.bytes, length);
    store_lines(run.out + at, block.bytes, kBlockBytes);
  }
  store_fence();
  if (done < run.count) plain(done, run.count - done);
}

}  // namespace

void saxpy(const SaxpyArgs& args) {
  const SaxpyKernel kernel = kernel_for(args.dtype);
  const std::int64_t x_step = run_stride(args.loop, 0);
  const std::int64_t y_step = run_stride(args.loop, 1);
  const std::int64_t out_step = run_stride(args.loop, 2);
  const bool is_complex = args.dtype.code == GPUKERN_COMPLEX;
  const std::int64_t alignment = is_complex ? args.item / 2 : args.item;
  const bool streaming = streams(args);
  parallel_for(
      args.loop.count(), kGrainBytes / args.item, [&](std::int64_t begin, std::int64_t end) {
        const DefaultFloatingPoint environment;
        for_each_run(args.loop, begin, end, [&](const auto& offset, std::int64_t length) {
          const Span run{args.x + offset[0], args.y + offset[1], args.out + offset[2], length};
          if (!direct(run.x, x_step, args.item, alignment) ||
              !direct(run.y, y_step, args.item, alignment) ||
              !direct(run.out, out_step, args.item, alignment))
            saxpy_buffered(args, kernel, run);
          else if (streaming && length >= kStreamedBytes / args.item)
            saxpy_streaming(args, kernel, run);
          else
            kernel(args.a, run.x, run.y, run.out, length);
        });
      });
}

int saxpy_threads(const SaxpyArgs& args) {
  return threads_for(args.loop.count(), kGrainBytes / args.item);
}

}  // namespace gpukern::cpu
