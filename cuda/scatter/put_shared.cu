// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Puts along rows: a table of the last update of each key of a row, or of a part of one, fits in
// shared memory.

#include <algorithm>
#include <optional>

#include "cuda/common/fast_divmod.cuh"
#include "cuda/scatter/key_of.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kMostThreads = 1024;
/// Updates that a thread has in flight.
constexpr int kInFlight = 4;

/// An update of a thread block's rows; `entry` is that in its table, -1 for none.
struct RowUpdate {
  std::int64_t row;
  std::int64_t column;
  std::int64_t position;
  int entry;
};

/// Rows of updates. The keys of a row are consecutive, from that of position 0 on the axis, and
/// differ from those of other rows.
struct UpdateRows {
  IndexReader index;
  const std::byte* values;
  std::int64_t count;    ///< rows
  std::int64_t length;   ///< updates of a row
  std::int64_t row[3];   ///< strides, by UpdateOperand
  std::int64_t step[2];  ///< strides within a row
};

/// Where a thread block works.
struct RowBlock {
  std::int64_t first_row;
  std::int64_t first_position;
  std::int64_t positions;

  [[nodiscard]] __device__ RowUpdate find(const UpdateRows& from, std::uint32_t update,
                                          const FastDivmod<std::uint32_t>& by_length) const {
    const auto at = by_length.divmod(update);
    const std::int64_t row = first_row + at.quotient;
    const std::int64_t position = from.index.resolve(
        from.index.load(row * from.row[kUpdateIndex] + at.remainder * from.step[kUpdateIndex]));
    return {row, at.remainder, position, entry(at.quotient, position)};
  }
  /// In the table; -1 for an update that is skipped, or of another thread block.
  [[nodiscard]] __device__ int entry(std::uint32_t row, std::int64_t position) const {
    const std::int64_t in_slice = position - first_position;
    const bool is_mine = position >= 0 && in_slice >= 0 && in_slice < positions;
    return is_mine ? static_cast<int>(row * positions + in_slice) : -1;
  }
};

/// Each thread block has some rows, or a slice of the positions of one.
struct TableShares {
  std::int64_t rows;
  std::int64_t slices;
  std::int64_t positions;  ///< of a slice

  [[nodiscard]] __device__ RowBlock block(std::int64_t number) const {
    return {number / slices * rows, number % slices * positions, positions};
  }
  [[nodiscard]] std::int64_t bytes() const {
    return rows * positions * static_cast<std::int64_t>(sizeof(std::uint32_t));
  }
};

__device__ void clear(std::uint32_t* table, unsigned entries) {
  for (unsigned i = threadIdx.x; i < entries; i += blockDim.x) table[i] = 0;
}

/// Updates that a thread holds, so that each is read once.
constexpr int kOnce = 8;

template <class W, class Raw>
__global__ void __launch_bounds__(kMostThreads)
    put_shared_once_kernel(const __grid_constant__ UpdateRows from,
                           const __grid_constant__ TargetElements elements,
                           const __grid_constant__ TableShares shares,
                           const __grid_constant__ FastDivmod<std::uint32_t> by_length,
                           const __grid_constant__ Bounds<Raw> bounds) {
  extern __shared__ std::uint32_t last[];  // one more than the number of the last update
  const RowBlock block = shares.block(blockIdx.x);
  const std::int64_t rows = min(shares.rows, from.count - block.first_row);
  const auto count = static_cast<std::uint32_t>(rows * from.length);
  Raw raw[kOnce];
  W word[kOnce];
  int entry[kOnce];
#pragma unroll
  for (unsigned k = 0; k < kOnce; ++k) {
    const auto at = by_length.divmod(min(threadIdx.x + k * blockDim.x, count - 1));
    const std::int64_t row = block.first_row + at.quotient;
    raw[k] = *reinterpret_cast<const Raw*>(from.index.data + row * from.row[kUpdateIndex] +
                                           at.remainder * from.step[kUpdateIndex]);
    word[k] = *reinterpret_cast<const W*>(from.values + row * from.row[kUpdateValue] +
                                          at.remainder * from.step[kUpdateValue]);
  }
  clear(last, static_cast<unsigned>(rows * shares.positions));
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < kOnce; ++k) {
    const std::uint32_t number = threadIdx.x + k * blockDim.x;
    entry[k] = number < count
                   ? block.entry(by_length.divmod(number).quotient, bounds.position(raw[k]))
                   : -1;
    if (entry[k] >= 0) atomicMax(last + entry[k], number + 1);
  }
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < kOnce; ++k) {
    const std::uint32_t number = threadIdx.x + k * blockDim.x;
    if (entry[k] < 0 || last[entry[k]] != number + 1) continue;
    const std::uint32_t row = by_length.divmod(number).quotient;
    const std::int64_t key = (block.first_row + row) * from.row[kKey] + block.first_position +
                             entry[k] - row * block.positions;
    *reinterpret_cast<W*>(elements.at(key)) = word[k];
  }
}

template <class W>
__global__ void __launch_bounds__(kMostThreads)
    put_shared_kernel(const __grid_constant__ UpdateRows from,
                      const __grid_constant__ TargetElements elements,
                      const __grid_constant__ TableShares shares,
                      const __grid_constant__ FastDivmod<std::uint32_t> by_length) {
  extern __shared__ std::uint32_t last[];  // one more than the number of the last update
  const RowBlock block = shares.block(blockIdx.x);
  const std::int64_t rows = min(shares.rows, from.count - block.first_row);
  const auto count = static_cast<std::uint32_t>(rows * from.length);
  const unsigned threads = blockDim.x;
  clear(last, static_cast<unsigned>(rows * shares.positions));
  __syncthreads();
  for (std::uint32_t first = threadIdx.x; first < count; first += threads * kInFlight) {
    int entry[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const std::uint32_t update = first + k * threads;
      entry[k] = update < count ? block.find(from, update, by_length).entry : -1;
    }
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      if (entry[k] >= 0) atomicMax(last + entry[k], first + k * threads + 1);
  }
  __syncthreads();
  for (std::uint32_t first = threadIdx.x; first < count; first += threads * kInFlight) {
    RowUpdate update[kInFlight];
    W word[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) {
      const std::uint32_t number = first + k * threads;
      update[k].entry = -1;
      if (number < count) update[k] = block.find(from, number, by_length);
      if (update[k].entry >= 0 && last[update[k].entry] != number + 1) update[k].entry = -1;
      if (update[k].entry >= 0)
        word[k] = *reinterpret_cast<const W*>(from.values + update[k].row * from.row[kUpdateValue] +
                                              update[k].column * from.step[kUpdateValue]);
    }
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      if (update[k].entry >= 0)
        *reinterpret_cast<W*>(elements.at(static_cast<std::uint64_t>(
            update[k].row * from.row[kKey] + update[k].position))) = word[k];
  }
}

/// The rows of a call; none if its updates have no such structure.
std::optional<UpdateRows> update_rows(const ScatterArgs& args) {
  const Loop<3>& updates = args.updates;
  if (updates.ndim != 2 || args.key_step != 1 || updates.stride[kKey][1] != 0 ||
      updates.stride[kKey][0] < args.n)
    return std::nullopt;
  UpdateRows rows{.index = index_reader(args),
                  .values = args.values,
                  .count = updates.extent[0],
                  .length = updates.extent[1],
                  .row = {},
                  .step = {updates.stride[kUpdateIndex][1], updates.stride[kUpdateValue][1]}};
  for (int k = 0; k < 3; ++k) rows.row[k] = updates.stride[k][0];
  return rows;
}

/// Tables of short rows are small, so that a multiprocessor has several thread blocks. None if too
/// few multiprocessors had work, or if each index were read too often.
std::optional<TableShares> table_shares(const UpdateRows& from) {
  constexpr std::int64_t kSmallTable = std::int64_t{8} << 10;           // entries
  constexpr std::int64_t kRowUpdates = std::int64_t{kThreads} * kOnce;  // of several rows
  constexpr std::int64_t kMostSlices = 4;
  constexpr std::int64_t kMostUpdates = std::int64_t{1} << 30;
  const DeviceFacts facts = device_facts();
  const std::int64_t n = from.index.n;
  const std::int64_t most = (facts.shared_bytes - kDeclaredSharedBytes) /
                            static_cast<std::int64_t>(sizeof(std::uint32_t));
  const std::int64_t slices = ceil_divide(n, most);
  if (slices > kMostSlices || from.length > kMostUpdates) return std::nullopt;
  const std::int64_t rows = std::max<std::int64_t>(
      std::min({kSmallTable / n, kRowUpdates / from.length, from.count / facts.multiprocessors}),
      1);
  const TableShares shares{rows, slices, ceil_divide(n, slices)};
  if (ceil_divide(from.count, rows) * slices < facts.multiprocessors) return std::nullopt;
  return shares;
}

struct SharedPut {
  UpdateRows rows;
  TableShares shares;
  std::int64_t word;  ///< bytes
};

std::optional<SharedPut> shared_put(const ScatterArgs& args) {
  const auto rows = update_rows(args);
  const auto shares = rows ? table_shares(*rows) : std::nullopt;
  if (!shares) return std::nullopt;
  const ScatterWords words = scatter_words(args);
  if (words.columns.count() != 1) return std::nullopt;
  return SharedPut{*rows, *shares, words.bytes};
}

/// Many threads where few tables fit the shared memory of a multiprocessor, which is that of a
/// block or a little more.
int block_threads(std::int64_t table_bytes) {
  constexpr std::int64_t kManyTables = 4;
  return device_facts().shared_bytes / table_bytes < kManyTables ? kMostThreads : kThreads;
}

}  // namespace

bool has_shared_rows(const ScatterArgs& args) { return shared_put(args).has_value(); }

void scatter_put_shared(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const SharedPut put = shared_put(args).value();
  const std::int64_t bytes = put.shares.bytes();
  const std::int64_t updates = put.shares.rows * put.rows.length;
  const bool once = updates <= std::int64_t{kMostThreads} * kOnce && put.rows.index.aligned;
  const int threads =
      once ? static_cast<int>(ceil_divide(updates, 32 * kOnce)) * 32 : block_threads(bytes);
  const Grid grid{ceil_divide(put.rows.count, put.shares.rows) * put.shares.slices, threads,
                  static_cast<std::size_t>(bytes)};
  const FastDivmod<std::uint32_t> by_length(static_cast<std::uint32_t>(put.rows.length));
  visit_word(put.word, [&](auto word) {
    using W = decltype(word);
    if (!once)
      return launch(put_shared_kernel<W>, grid, call.stream, put.rows, target_elements(args),
                    put.shares, by_length);
    visit_index_width(args.index_type.bytes, [&]<class Raw>(Raw) {
      launch(put_shared_once_kernel<W, Raw>, grid, call.stream, put.rows, target_elements(args),
             put.shares, by_length, Bounds<Raw>(args.index_type, args.mode, args.n, nullptr));
    });
  });
}

}  // namespace gpukern::gpu
