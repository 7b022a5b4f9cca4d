// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <type_traits>

#include "src/core/cache_line.hpp"
#include "src/cpu/axpby_kernels.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/kernels.hpp"
#include "src/cpu/long_runs.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/runs.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {
namespace {

const AxpbyKernels& best_kernels() {
#ifdef GPUKERN_X86
  if (widest_isa() >= Isa::Avx512) return axpby_kernels_avx512();
  if (widest_isa() >= Isa::Avx2) return axpby_kernels_avx2();
#endif
  return axpby_kernels_baseline();
}

/// The elements of a block: the buffers of all operands fit into the first-level cache.
constexpr std::int64_t kBlock = 512;
/// The elements that justify an awake thread.
constexpr std::int64_t kGrain = std::int64_t{16} << 10;

template <class Compute>
const AxpbyLoops<Compute>& loops_of(const AxpbyKernels& kernels) {
  if constexpr (std::is_same_v<Compute, float>)
    return kernels.in_float;
  else
    return kernels.in_double;
}

template <class Compute>
constexpr RealType kRealType =
    std::is_same_v<Compute, float> ? RealType::Float32 : RealType::Float64;

/// An operand of a run as blocks of type Compute.
template <class Compute>
class Block {
 public:
  Block(const AxpbyArgs& args, int operand, const std::array<std::int64_t, 6>& offset)
      : of_(args.operand[static_cast<std::size_t>(operand)]),
        step_(run_stride(args.loop, operand)),
        run_(!of_.in_memory ? nullptr : of_.data + offset[static_cast<std::size_t>(operand)]) {}

  /// One number in place of all elements.
  [[nodiscard]] bool is_value() const { return !of_.in_memory; }
  [[nodiscard]] Compute value() const { return static_cast<Compute>(of_.value); }

  /// Elements [done, done + count) of the run. No block is longer than the first one, whose copies
  /// of an element serve all of them if it is repeated.
  const Compute* load(const AxpbyLoops<Compute>& loops, std::int64_t done, std::int64_t count) {
    if (is_in_place()) return reinterpret_cast<const Compute*>(run_ + done * step_);
    if (is_value()) {
      if (done == 0) std::fill_n(buffer_.data(), count, value());
    } else if (step_ != 0 || done == 0) {
      loops.widen[static_cast<std::size_t>(of_.type)](run_ + done * step_, step_, buffer_.data(),
                                                      count);
    }
    return buffer_.data();
  }
  /// Where to write a block before it is stored.
  Compute* begin(std::int64_t done) {
    return is_in_place() ? reinterpret_cast<Compute*>(run_ + done * step_) : buffer_.data();
  }
  void store(const AxpbyLoops<Compute>& loops, std::int64_t done, std::int64_t count) const {
    if (!is_in_place())
      loops.narrow[static_cast<std::size_t>(of_.type)](buffer_.data(), run_ + done * step_, step_,
                                                       count);
  }
  [[nodiscard]] std::byte* at(std::int64_t done) const { return run_ + done * step_; }
  [[nodiscard]] std::int64_t step() const { return step_; }

 private:
  [[nodiscard]] bool is_in_place() const {
    return run_ != nullptr && of_.type == kRealType<Compute> &&
           step_ == static_cast<std::int64_t>(sizeof(Compute)) &&
           reinterpret_cast<std::uintptr_t>(run_) % alignof(Compute) == 0;
  }

  const AxpbyArgs::Operand& of_;
  std::int64_t step_;
  std::byte* run_;
  alignas(kCacheLine) std::array<Compute, kBlock> buffer_;  // written before it is read
};

template <class Compute>
void compute_run(const AxpbyArgs& args, const AxpbyKernels& kernels,
                 const std::array<std::int64_t, 6>& offset, std::int64_t length) {
  const AxpbyLoops<Compute>& loops = loops_of<Compute>(kernels);
  Block<Compute> a(args, kFactorOfX, offset);
  Block<Compute> x(args, kX, offset);
  Block<Compute> b(args, kFactorOfY, offset);
  Block<Compute> y(args, kY, offset);
  Block<Compute> result(args, kResult, offset);
  for (std::int64_t done = 0; done < length; done += kBlock) {
    const std::int64_t count = std::min(kBlock, length - done);
    Compute* const to = result.begin(done);
    const Compute* const x_block = x.load(loops, done, count);
    const Compute* const y_block = y.load(loops, done, count);
    if (a.is_value() && b.is_value())
      loops.combine_scaled(a.value(), x_block, b.value(), y_block, to, count);
    else
      loops.combine(a.load(loops, done, count), x_block, b.load(loops, done, count), y_block, to,
                    count);
    if constexpr (std::is_same_v<Compute, float>) {
      if (args.stochastic) {
        const std::int64_t step = run_stride(args.loop, kPosition);
        kernels.narrow_stochastic(to, result.at(done), result.step(), count,
                                  {args.seed, args.first + offset[kPosition] + done * step, step});
        continue;
      }
    }
    result.store(loops, done, count);
  }
}

}  // namespace

void axpby(const AxpbyArgs& args) {
  const AxpbyKernels& kernels = best_kernels();
  parallel_runs(args, kGrain, [&](const AxpbyArgs& ordered, const auto& each_run) {
    const DefaultFloatingPoint environment;
    each_run([&](const auto& offset, std::int64_t length) {
      if (ordered.is_wide())
        compute_run<double>(ordered, kernels, offset, length);
      else
        compute_run<float>(ordered, kernels, offset, length);
    });
  });
}

Strategy axpby_strategy(const AxpbyArgs& args) {
  return {.path = args.contiguous() ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED,
          .threads = threads_for(args.loop.count(), kGrain)};
}

}  // namespace gpukern::cpu
