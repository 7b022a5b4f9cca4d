// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Puts along rows: a table of the last update of each key of a row, or of a part of one, fits in
// shared memory.

#include <algorithm>
#include <optional>

#include "cuda/common/fast_divmod.cuh"
#include "cuda/common/indexing.cuh"
#include "cuda/scatter/words.cuh"

namespace gpukern::gpu {
namespace {

constexpr int kMostThreads = 1024;
/// Updates that a thread has in flight.
constexpr int kInFlight = 4;

/// Rows of updates, whose keys differ from those of other rows: positions on the axis.
struct UpdateRows {
  const std::byte* index;
  const std::byte* values;
  std::int64_t count;   ///< rows
  std::int64_t length;  ///< updates of a row
  std::int64_t row[3];  ///< strides, by UpdateOperand
  std::int64_t step[2];
  std::int64_t n;
  std::int64_t key_step;
  IndexType index_type;
  gpukern_index_mode mode;
  bool index_aligned;
};

/// Each thread block has some rows, or a slice of the positions of one.
struct TableShares {
  std::int64_t rows;
  std::int64_t slices;
  std::int64_t positions;  ///< of a slice

  [[nodiscard]] std::int64_t bytes() const {
    return rows * positions * static_cast<std::int64_t>(sizeof(std::uint32_t));
  }
};

/// An update of a thread block's rows; `entry` is that in its table, -1 for none.
struct RowUpdate {
  std::int64_t row;
  std::int64_t column;
  std::int64_t position;
  int entry;
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
    const std::byte* const index =
        from.index + row * from.row[kUpdateIndex] + at.remainder * from.step[kUpdateIndex];
    const std::int64_t position =
        resolve_index(from.mode, load_index(index, from.index_type, from.index_aligned),
                      from.index_type.is_signed, from.n);
    const std::int64_t in_slice = position - first_position;
    const bool is_mine = position >= 0 && in_slice >= 0 && in_slice < positions;
    return {row, at.remainder, position,
            is_mine ? static_cast<int>(at.quotient * positions + in_slice) : -1};
  }
};

template <class W>
__global__ void __launch_bounds__(kMostThreads)
    put_shared_kernel(const __grid_constant__ UpdateRows from,
                      const __grid_constant__ TargetElements elements,
                      const __grid_constant__ TableShares shares,
                      const __grid_constant__ FastDivmod<std::uint32_t> by_length) {
  extern __shared__ std::uint32_t last[];  // one more than the number of the last update
  const std::int64_t first_row = std::int64_t{blockIdx.x} / shares.slices * shares.rows;
  const std::int64_t rows = min(shares.rows, from.count - first_row);
  const RowBlock block{first_row, std::int64_t{blockIdx.x} % shares.slices * shares.positions,
                       shares.positions};
  const auto count = static_cast<std::uint32_t>(rows * from.length);
  const auto entries = static_cast<unsigned>(rows * shares.positions);
  const unsigned threads = blockDim.x;
  for (unsigned i = threadIdx.x; i < entries; i += threads) last[i] = 0;
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
            update[k].row * from.row[kKey] + update[k].position * from.key_step))) = word[k];
  }
}

/// The rows of a call; none if its updates have no such structure.
std::optional<UpdateRows> update_rows(const ScatterCall& call) {
  const ScatterArgs& args = call.args;
  const Loop<3>& updates = args.updates;
  const ScatterWords words = scatter_words(args);
  if (updates.ndim != 2 || updates.stride[kKey][1] != 0 ||
      updates.stride[kKey][0] < args.n * args.key_step || words.columns.count() != 1)
    return std::nullopt;
  UpdateRows rows{
      .index = args.index,
      .values = args.values,
      .count = updates.extent[0],
      .length = updates.extent[1],
      .row = {},
      .step = {updates.stride[kUpdateIndex][1], updates.stride[kUpdateValue][1]},
      .n = args.n,
      .key_step = args.key_step,
      .index_type = args.index_type,
      .mode = args.mode,
      .index_aligned = index_aligned(args.index, updates, kUpdateIndex, args.index_type)};
  for (int k = 0; k < 3; ++k) rows.row[k] = updates.stride[k][0];
  return rows;
}

/// Tables of short rows are small, so that a multiprocessor has several thread blocks.
std::optional<TableShares> table_shares(const UpdateRows& from) {
  constexpr std::int64_t kSmallTable = std::int64_t{8} << 10;  // entries
  constexpr std::int64_t kMostSlices = 4;
  constexpr std::int64_t kMostUpdates = std::int64_t{1} << 30;
  const std::int64_t most = (device_facts().shared_bytes - kDeclaredSharedBytes) /
                            static_cast<std::int64_t>(sizeof(std::uint32_t));
  const std::int64_t slices = ceil_divide(from.n, most);
  if (slices > kMostSlices || from.length > kMostUpdates) return std::nullopt;
  const std::int64_t multiprocessors = device_facts().multiprocessors;
  const std::int64_t rows = std::max<std::int64_t>(
      std::min({kSmallTable / from.n, kSmallTable / from.length, from.count / multiprocessors}), 1);
  const TableShares shares{rows, slices, ceil_divide(from.n, slices)};
  if (ceil_divide(from.count, rows) * slices < multiprocessors) return std::nullopt;
  return shares;
}

}  // namespace

bool scatter_put_shared(const ScatterCall& call) {
  const auto rows = update_rows(call);
  const auto shares = rows ? table_shares(*rows) : std::nullopt;
  if (!shares) return false;
  constexpr std::int64_t kManyBytes = std::int64_t{64} << 10;
  const Grid grid{ceil_divide(rows->count, shares->rows) * shares->slices,
                  shares->bytes() > kManyBytes ? kMostThreads : kThreads,
                  static_cast<std::size_t>(shares->bytes())};
  visit_word(scatter_words(call.args).bytes, [&](auto word) {
    launch(put_shared_kernel<decltype(word)>, grid, call.stream, *rows, target_elements(call.args),
           *shares, FastDivmod<std::uint32_t>(static_cast<std::uint32_t>(rows->length)));
  });
  return true;
}

}  // namespace gpukern::gpu
