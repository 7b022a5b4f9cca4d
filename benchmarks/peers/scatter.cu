// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// scatter by plain stores and atomic operations without any check of the indices: peers, and the
// reference results. Values are small integers, whose sums are exact in every order.

#include "api.cuh"
#include "data.cuh"
#include "types.cuh"

namespace bench {
namespace {

constexpr int kMostValue = 8;

template <class T>
struct Convert {
  static __device__ T from(int number) { return static_cast<T>(number); }
};
template <class Real>
struct Convert<Complex<Real>> {
  static __device__ Complex<Real> from(int number) { return {static_cast<Real>(number), Real{0}}; }
};

template <class T>
__global__ void integers_kernel(T* data, std::int64_t count, std::uint64_t seed) {
  const std::int64_t i = item();
  if (i >= count) return;
  const std::uint64_t bits = random_bits(static_cast<std::uint64_t>(i), seed);
  data[i] = Convert<T>::from(static_cast<int>(below(bits, 2 * kMostValue + 1)) - kMostValue);
}

struct Put {
  template <class T>
  __device__ void operator()(T* at, T value) const {
    *at = value;
  }
};

struct Add {
  template <class T>
  __device__ void operator()(T* at, T value) const {
    atomicAdd(at, value);
  }
  template <class Real>
  __device__ void operator()(Complex<Real>* at, Complex<Real> value) const {
    atomicAdd(&at->re, value.re);
    atomicAdd(&at->im, value.im);
  }
  __device__ void operator()(std::int64_t* at, std::int64_t value) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
  }
};

/// The bits of non-negative floats ascend as signed integers, those of negative ones descend as
/// unsigned integers.
struct Max {
  __device__ void operator()(float* at, float value) const {
    if (value >= 0)
      atomicMax(reinterpret_cast<int*>(at), __float_as_int(value));
    else
      atomicMin(reinterpret_cast<unsigned*>(at), __float_as_uint(value));
  }
};

struct Min {
  __device__ void operator()(float* at, float value) const {
    if (value >= 0)
      atomicMin(reinterpret_cast<int*>(at), __float_as_int(value));
    else
      atomicMax(reinterpret_cast<unsigned*>(at), __float_as_uint(value));
  }
};

/// Rows of `width` elements; one element per thread.
template <class Combine, class T, class Index>
__global__ void scatter_kernel(T* target, const Index* index, const T* values, std::int64_t count,
                               std::int64_t width) {
  const std::int64_t t = item();
  if (t >= count) return;
  const std::int64_t row = width == 1 ? t : t / width;
  Combine{}(target + static_cast<std::int64_t>(index[row]) * width + (t - row * width), values[t]);
}

template <class Combine, class T>
void launch_scatter(int index_bytes, void* target, const void* index, const void* values,
                    std::int64_t rows, std::int64_t width, void* stream) {
  with_index(index_bytes, [&](auto index_type) {
    using Index = decltype(index_type);
    launch(scatter_kernel<Combine, T, Index>, rows * width, stream, static_cast<T*>(target),
           static_cast<const Index*>(index), static_cast<const T*>(values), rows * width, width);
  });
}

/// Elements (row, column) of a matrix whose index is into the rows (axis 0) or the columns.
template <bool kTake, class Index>
__global__ void along_axis_kernel(std::uint32_t* target, const Index* index, std::uint32_t* values,
                                  std::int64_t count, std::int64_t columns, int axis) {
  const std::int64_t t = item();
  if (t >= count) return;
  const std::int64_t row = t / columns;
  const auto at = static_cast<std::int64_t>(index[t]);
  std::uint32_t* place =
      target + (axis == 0 ? at * columns + (t - row * columns) : row * columns + at);
  if constexpr (kTake)
    values[t] = *place;
  else
    *place = values[t];
}

template <bool kTake>
void launch_along_axis(int index_bytes, void* target, const void* index, void* values,
                       std::int64_t rows, std::int64_t columns, int axis, void* stream) {
  with_index(index_bytes, [&](auto index_type) {
    using Index = decltype(index_type);
    launch(along_axis_kernel<kTake, Index>, rows * columns, stream,
           static_cast<std::uint32_t*>(target), static_cast<const Index*>(index),
           static_cast<std::uint32_t*>(values), rows * columns, columns, axis);
  });
}

}  // namespace
}  // namespace bench

using bench::guard;
using bench::with_dtype;

/// Fills `count` elements with random integers from -8 to 8.
BENCH_API int bench_fill_integers(int dtype, void* data, std::int64_t count, std::uint64_t seed,
                                  void* stream) {
  return guard([&] {
    with_dtype(dtype, [&](auto type) {
      using T = decltype(type);
      bench::launch(bench::integers_kernel<T>, count, stream, static_cast<T*>(data), count, seed);
    });
  });
}

/// target[index[i]] += values[i] for rows of `width` elements, by atomicAdd.
BENCH_API int bench_scatter_add(int dtype, int index_bytes, void* target, const void* index,
                                const void* values, std::int64_t rows, std::int64_t width,
                                void* stream) {
  return guard([&] {
    with_dtype(dtype, [&](auto type) {
      bench::launch_scatter<bench::Add, decltype(type)>(index_bytes, target, index, values, rows,
                                                        width, stream);
    });
  });
}

/// target[index[i]] = max(target[index[i]], values[i]) for rows of `width` float32, by atomics.
BENCH_API int bench_scatter_max(int index_bytes, void* target, const void* index,
                                const void* values, std::int64_t rows, std::int64_t width,
                                void* stream) {
  return guard([&] {
    bench::launch_scatter<bench::Max, float>(index_bytes, target, index, values, rows, width,
                                             stream);
  });
}

/// The same with the minimum.
BENCH_API int bench_scatter_min(int index_bytes, void* target, const void* index,
                                const void* values, std::int64_t rows, std::int64_t width,
                                void* stream) {
  return guard([&] {
    bench::launch_scatter<bench::Min, float>(index_bytes, target, index, values, rows, width,
                                             stream);
  });
}

/// target[index[i]] = values[i] for rows of `width` words of 4 bytes; of several values for one row
/// any may remain.
BENCH_API int bench_scatter_put(int index_bytes, void* target, const void* index,
                                const void* values, std::int64_t rows, std::int64_t width,
                                void* stream) {
  return guard([&] {
    bench::launch_scatter<bench::Put, std::uint32_t>(index_bytes, target, index, values, rows,
                                                     width, stream);
  });
}

/// The same along an axis of a matrix (rows, columns) of words of 4 bytes.
BENCH_API int bench_put_along_axis(int index_bytes, void* target, const void* index, void* values,
                                   std::int64_t rows, std::int64_t columns, int axis,
                                   void* stream) {
  return guard([&] {
    bench::launch_along_axis<false>(index_bytes, target, index, values, rows, columns, axis,
                                    stream);
  });
}

/// Its inverse: values become the words of the target that the index refers to.
BENCH_API int bench_take_along_axis(int index_bytes, void* target, const void* index, void* values,
                                    std::int64_t rows, std::int64_t columns, int axis,
                                    void* stream) {
  return guard([&] {
    bench::launch_along_axis<true>(index_bytes, target, index, values, rows, columns, axis, stream);
  });
}
