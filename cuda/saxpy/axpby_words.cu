// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/launch.cuh"
#include "cuda/common/vector_access.cuh"
#include "cuda/saxpy/axpby_words.hpp"
#include "cuda/saxpy/math.cuh"
#include "src/core/float16.hpp"

namespace gpukern::gpu {
namespace {

struct WordProblem {
  const std::byte* data[kResult];  ///< null for a number
  float number[kResult];
  std::byte* out;
  std::int64_t words;  ///< of 16 bytes
  int rest;            ///< elements after them
};

/// Of kCount adjacent elements. All loads come first, so that they overlap.
template <class T, int kCount>
__device__ void compute(const WordProblem& problem, std::int64_t offset) {
  using Elements = Vector<T, kCount>;
  Elements in[kResult];
#pragma unroll
  for (int k = 0; k < kResult; ++k)
    if (problem.data[k] != nullptr)
      in[k] = *reinterpret_cast<const Elements*>(problem.data[k] + offset);
  const auto operand = [&](int k, int i) {
    return problem.data[k] != nullptr ? widen(in[k].element[i]) : problem.number[k];
  };
  Elements out;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float by = rounded_product(operand(kFactorOfY, i), operand(kY, i));
    narrow(fused(operand(kFactorOfX, i), operand(kX, i), by), out.element[i]);
  }
  *reinterpret_cast<Elements*>(problem.out + offset) = out;
}

/// Each thread has a word, or an element of the rest.
template <class T>
__global__ void __launch_bounds__(kThreads)
    axpby_words_kernel(const __grid_constant__ WordProblem problem) {
  wait_for_previous();
  launch_next();
  const std::int64_t at = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < problem.words)
    compute<T, kPerWord<T>>(problem, at * kWordBytes);
  else if (at < problem.words + problem.rest)
    compute<T, 1>(problem, problem.words * kWordBytes + (at - problem.words) * sizeof(T));
}

}  // namespace

bool axpby_words(const AxpbyArgs& args, cudaStream_t stream) {
  const RealType type = args.operand[kResult].type;
  if (size_of(type) != 2 || args.is_wide() || args.stochastic || !args.contiguous()) return false;
  WordProblem problem{};
  for (int k = 0; k <= kResult; ++k) {
    const AxpbyArgs::Operand& of = args.operand[static_cast<std::size_t>(k)];
    if (of.in_memory && (of.type != type || alignment_of(of.data) < kWordBytes)) return false;
    if (k == kResult) continue;
    problem.data[k] = of.in_memory ? of.data : nullptr;
    problem.number[k] = static_cast<float>(of.value);
  }
  const std::int64_t count = args.loop.count();
  problem.out = args.operand[kResult].data;
  problem.words = count / kPerWord<Half>;
  problem.rest = static_cast<int>(count % kPerWord<Half>);
  launch(type == RealType::Float16 ? axpby_words_kernel<Half> : axpby_words_kernel<BFloat16>,
         {ceil_divide(problem.words + problem.rest, kThreads), kThreads, 0, true}, stream, problem);
  return true;
}

}  // namespace gpukern::gpu
