// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstring>

#include "cuda/common/launch.cuh"
#include "cuda/runtime/kernels.hpp"
#include "cuda/saxpy/many.cuh"
#include "src/core/dtype.hpp"

namespace gpukern::gpu {
namespace {

// Parameters of up to 4 KiB cost less to launch. 32,764 bytes are the most (CUDA C++ Programming
// Guide, function parameters).
constexpr int kFew = 120;
constexpr int kMany = 1020;
template <class T>
using SmallTable = SaxpyTable<T, kFew>;
template <class T>
using LargeTable = SaxpyTable<T, kMany>;
static_assert(sizeof(SmallTable<double>) <= 4096 && sizeof(LargeTable<double>) <= 32764 &&
              sizeof(SmallTable<Complex<double>>) <= 4096 &&
              sizeof(LargeTable<Complex<double>>) <= 32764);

/// Elements of an entry: positions in it have 32 bits. A multiple of a word, which keeps the
/// alignment of the next entry of the same arrays.
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;

bool aligned_to_elements(const SaxpyEntry& entry, std::int64_t item) {
  return std::min({alignment_of(entry.x), alignment_of(entry.y), alignment_of(entry.out)}) >= item;
}

/// An entry that the kernel cannot access by elements.
void saxpy_alone(const SaxpyManyArgs& args, const SaxpyEntry& entry, cudaStream_t stream) {
  SaxpyArgs alone;
  alone.dtype = args.dtype;
  std::memcpy(alone.a, args.a, sizeof alone.a);
  alone.x = entry.x;
  alone.y = entry.y;
  alone.out = entry.out;
  alone.item = args.item;
  alone.loop.push(entry.count, {args.item, args.item, args.item});
  saxpy(alone, stream);
}

/// Collects entries, and launches them when a table is full.
template <class T>
class Launches {
 public:
  Launches(const Scale<T>& scale, cudaStream_t stream) : stream_(stream) { table_.scale = scale; }

  void add(const SaxpyEntry& entry) {
    for (std::int64_t begin = 0; begin < entry.count; begin += kMostElements) {
      const std::int64_t at = begin * static_cast<std::int64_t>(sizeof(T));
      add_part({entry.x + at, entry.y + at, entry.out + at,
                std::min(entry.count - begin, kMostElements)});
    }
  }
  void finish() {
    if (table_.entries > kFew)
      launch_table(table_);
    else if (table_.entries > 0)
      launch_few();
    table_.entries = 0;
    tiles_ = 0;
  }

 private:
  static std::int64_t tiles_of(const SaxpyEntry& part) {
    const std::int64_t before = reinterpret_cast<std::intptr_t>(part.out) & (kWordBytes - 1);
    const std::int64_t bytes = before + part.count * static_cast<std::int64_t>(sizeof(T));
    return ceil_divide(bytes, std::int64_t{kTileWords} * kWordBytes);
  }
  void add_part(const SaxpyEntry& part) {
    constexpr std::int64_t kMostTiles = std::int64_t{1} << 30;
    if (table_.entries == kMany || tiles_ > kMostTiles) finish();
    const int k = table_.entries++;
    table_.first[k] = static_cast<std::uint32_t>(tiles_);
    table_.count[k] = static_cast<std::uint32_t>(part.count);
    table_.x[k] = part.x;
    table_.y[k] = part.y;
    table_.out[k] = part.out;
    tiles_ += tiles_of(part);
  }
  void launch_few() const {
    SmallTable<T> few;
    few.scale = table_.scale;
    few.entries = table_.entries;
    std::copy_n(table_.first, few.entries, few.first);
    std::copy_n(table_.count, few.entries, few.count);
    std::copy_n(table_.x, few.entries, few.x);
    std::copy_n(table_.y, few.entries, few.y);
    std::copy_n(table_.out, few.entries, few.out);
    launch_table(few);
  }
  template <class Table>
  void launch_table(const Table& table) const {
    launch(saxpy_many_kernel<T, Table::kSize>, {tiles_, kSaxpyManyThreads, 0, true}, stream_,
           table);
  }

  cudaStream_t stream_;
  std::int64_t tiles_ = 0;
  LargeTable<T> table_;
};

template <class T>
void saxpy_tables(const SaxpyManyArgs& args, cudaStream_t stream) {
  Launches<T> launches(Scale<T>::of(args.a, nullptr), stream);
  for (const SaxpyEntry& entry : args.entries) {
    if (aligned_to_elements(entry, args.item))
      launches.add(entry);
    else
      saxpy_alone(args, entry, stream);
  }
  launches.finish();
}

}  // namespace

void saxpy_many(const SaxpyManyArgs& args, cudaStream_t stream) {
  visit_saxpy_dtype(args.dtype,
                    [&](auto tag) { saxpy_tables<typename decltype(tag)::type>(args, stream); });
}

}  // namespace gpukern::gpu
