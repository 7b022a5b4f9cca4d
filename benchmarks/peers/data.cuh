// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// The benchmark's data, as functions of a position: random bits, and indices by distribution.
#pragma once

#include <cmath>
#include <cstdint>

namespace bench {

/// Distributions of indices, numbered as in benchmarks/native.py.
enum Distribution : int {
  kUniform = 0,
  kSorted = 1,     ///< one uniform draw from each of n equal slices of the source: ascending
  kBlocked = 2,    ///< runs of 64 neighbours, each from a random start
  kZipf = 3,       ///< small indices are frequent, with exponent 1.05
  kScattered = 4,  ///< the same, with the ranks scattered over the source
  kEqual = 5,
  kSkewed = 6,  ///< n u^8 for a uniform u: a tenth of 2^27 indices is 0
  kHalf = 7,    ///< half of them are one index, the others are uniform
};

constexpr double kZipfExponent = 1.05;
constexpr std::uint64_t kRun = 64;

/// Random bits of a counter: the output function of Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators" (OOPSLA 2014), with Stafford's constants ("mix 13").
__host__ __device__ inline std::uint64_t random_bits(std::uint64_t counter, std::uint64_t seed) {
  std::uint64_t z = (counter + seed * 0xD1342543DE82EF95U + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Random bits scaled to [0, n): the high half of the product (Lemire, "Fast random integer
/// generation in an interval", 2019, without its rejection, whose bias is below n / 2^64).
__host__ __device__ inline std::uint64_t below(std::uint64_t bits, std::uint64_t n) {
#ifdef __CUDA_ARCH__
  return __umul64hi(bits, n);
#else
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * n) >> 64);
#endif
}

/// A random number in [0, 1) of 53 bits.
__host__ __device__ inline double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// A rank in [0, n), rank k with a probability close to (k + 1)^-s: the density x^-s on [1, n + 1),
/// by the inverse of its distribution function, rounded down.
__host__ __device__ inline std::uint64_t zipf_rank(double u, std::uint64_t n) {
  constexpr double power = 1 - kZipfExponent;
  const double end = pow(static_cast<double>(n) + 1, power);
  const double x = pow(1 + u * (end - 1), 1 / power);
  const auto rank = static_cast<std::uint64_t>(x < 1 ? 0 : x - 1);
  return rank < n ? rank : n - 1;
}

/// A fixed permutation of [0, n): multiplications and shifts that are invertible on the bits that
/// n takes, repeated until the result is below n (Black and Rogaway's cycle walking).
__host__ __device__ inline std::uint64_t scatter(std::uint64_t rank, std::uint64_t n) {
  int bits = 1;
  while (bits < 63 && (std::uint64_t{1} << bits) < n) ++bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const int shift = bits / 2 + 1;
  std::uint64_t x = rank;
  do {
    x = (x * 0x9E3779B97F4A7C15U + 0x7F4A7C15U) & mask;
    x ^= x >> shift;
    x = (x * 0xD1342543DE82EF95U) & mask;
    x ^= x >> shift;
    x = (x * 0xBF58476D1CE4E5B9U) & mask;
    x ^= x >> shift;
  } while (x >= n);
  return x;
}

/// Index `i` of `count` into a source of `n` items.
__host__ __device__ inline std::uint64_t index_at(int distribution, std::uint64_t i,
                                                  std::uint64_t count, std::uint64_t n,
                                                  std::uint64_t seed) {
  switch (distribution) {
    case kSorted: {
      const double slice = static_cast<double>(n) / static_cast<double>(count);
      const double at = (static_cast<double>(i) + unit(random_bits(i, seed))) * slice;
      const auto position = static_cast<std::uint64_t>(at);
      return position < n ? position : n - 1;
    }
    case kBlocked: {
      const std::uint64_t starts = n > kRun ? n - kRun + 1 : 1;
      return (below(random_bits(i / kRun, seed), starts) + i % kRun) % n;
    }
    case kZipf:
      return zipf_rank(unit(random_bits(i, seed)), n);
    case kScattered:
      return scatter(zipf_rank(unit(random_bits(i, seed)), n), n);
    case kEqual:
      return n / 3;
    case kSkewed: {
      const double u = unit(random_bits(i, seed));
      const double squared = u * u;
      const double fourth = squared * squared;
      const auto position = static_cast<std::uint64_t>(fourth * fourth * static_cast<double>(n));
      return position < n ? position : n - 1;
    }
    case kHalf: {
      const std::uint64_t bits = random_bits(i, seed);
      return (bits & 1) != 0 ? n / 3 : below(bits, n);
    }
    default:
      return below(random_bits(i, seed), n);
  }
}

}  // namespace bench
