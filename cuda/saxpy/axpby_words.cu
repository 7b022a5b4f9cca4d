// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>

#include "cuda/common/launch.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/axpby_words.hpp"
#include "cuda/saxpy/math.cuh"
#include "src/core/float16.hpp"
#include "src/core/random.hpp"

namespace gpukern::gpu {
namespace {

struct WordOperand {
  const std::byte* data;  ///< null for a number
  float number;
  bool is_float32;  ///< else of the output's type
};

struct WordProblem {
  WordOperand in[kResult];
  std::byte* out;
  std::int64_t words;  ///< of 16 bytes of the output
  int rest;            ///< elements after them
  std::int64_t first;  ///< position of the first element, for random bits
  std::uint64_t seed;
  bool stochastic;
};

/// Adjacent elements of an operand, as they are in memory. Only with kMixed may it be of float32.
template <class T, int kCount, bool kMixed>
struct OperandBits {
  std::uint32_t word[kCount];

  __device__ void load(const WordOperand& of, std::int64_t first) {
    if (kMixed && of.is_float32)
      load_as<std::uint32_t>(of.data + first * sizeof(float));
    else
      load_as<std::uint16_t>(of.data + first * sizeof(T));
  }
  [[nodiscard]] __device__ float widened(const WordOperand& of, int i) const {
    if (of.data == nullptr) return of.number;
    if (kMixed && of.is_float32) return bits_as<float>(word[i]);
    return widen(bits_as<T>(static_cast<std::uint16_t>(word[i / 2] >> 16 * (i % 2))));
  }

 private:
  template <class Bits>
  __device__ void load_as(const std::byte* from) {
    if constexpr (kCount == 1) {
      word[0] = *reinterpret_cast<const Bits*>(from);
    } else {
      constexpr int kWords = kCount * sizeof(Bits) / sizeof(std::uint32_t);
      const auto loaded = *reinterpret_cast<const Vector<std::uint32_t, kWords>*>(from);
#pragma unroll
      for (int w = 0; w < kWords; ++w) word[w] = loaded.element[w];
    }
  }
};

/// Of kCount adjacent elements. All loads come first, so that they overlap.
template <class T, int kCount, bool kMixed>
__device__ void compute(const WordProblem& problem, std::int64_t first) {
  OperandBits<T, kCount, kMixed> in[kResult];
#pragma unroll
  for (int k = 0; k < kResult; ++k)
    if (problem.in[k].data != nullptr) in[k].load(problem.in[k], first);
  const auto operand = [&](int k, int i) { return in[k].widened(problem.in[k], i); };
  float sum[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float by = rounded_product(operand(kFactorOfY, i), operand(kY, i));
    sum[i] = fused(operand(kFactorOfX, i), operand(kX, i), by);
  }
  Vector<T, kCount> out;
  if (kMixed && std::is_same_v<T, BFloat16> && problem.stochastic) {
    const std::int64_t position = problem.first + first;
    const RandomBlock block =
        random_block(problem.seed, static_cast<std::uint64_t>(position / kRandomGroup));
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if constexpr (std::is_same_v<T, BFloat16>)
        narrow_stochastic(sum[i], block.bits(kCount == 1 ? position : i), out.element[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) narrow(sum[i], out.element[i]);
  }
  *reinterpret_cast<Vector<T, kCount>*>(problem.out + first * sizeof(T)) = out;
}

/// Each thread has a word, or an element of the rest. Without kMixed, all operands in memory have
/// the output's type, and rounding is to nearest.
template <class T, bool kMixed>
__global__ void __launch_bounds__(kThreads)
    axpby_words_kernel(const __grid_constant__ WordProblem problem) {
  wait_for_previous();
  launch_next();
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  constexpr int kWord = kPerWord<T>;
  if (at < problem.words)
    compute<T, kWord, kMixed>(problem, at * kWord);
  else if (at < problem.words + problem.rest)
    compute<T, 1, kMixed>(problem, problem.words * kWord + (at - problem.words));
}

}  // namespace

bool axpby_words(const AxpbyArgs& args, cudaStream_t stream) {
  const RealType type = args.operand[kResult].type;
  if (size_of(type) != 2 || args.is_wide() || !args.contiguous()) return false;
  // The elements of a word share a block of random bits.
  if (args.stochastic && (args.first % kRandomGroup != 0 || args.loop.stride[kPosition][0] != 1))
    return false;
  WordProblem problem{};
  bool is_mixed = args.stochastic;
  for (int k = 0; k <= kResult; ++k) {
    const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
    const bool fits = of.type == type || (of.type == RealType::Float32 && k != kResult);
    if (of.in_memory && (!fits || alignment_of(of.data) < kWordBytes)) return false;
    is_mixed = is_mixed || (of.in_memory && of.type != type);
    if (k == kResult) continue;
    problem.in[k] = {of.in_memory ? of.data : nullptr, static_cast<float>(of.value),
                     of.type == RealType::Float32};
  }
  problem.first = args.first;
  problem.seed = args.seed;
  problem.stochastic = args.stochastic;
  const std::int64_t count = args.loop.count();
  problem.out = args.operand[kResult].data;
  problem.words = count / kPerWord<Half>;
  problem.rest = static_cast<int>(count % kPerWord<Half>);
  const auto run = [&]<class T>(T) {
    launch(is_mixed ? axpby_words_kernel<T, true> : axpby_words_kernel<T, false>,
           {ceil_divide(problem.words + problem.rest, kThreads), kThreads, 0, true}, stream,
           problem);
  };
  if (type == RealType::Float16)
    run(Half{});
  else
    run(BFloat16{});
  return true;
}

}  // namespace gpukern::gpu
