// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the ways of scatter share. scatter.cu chooses one of them.
//
// Updates with equal keys must be combined in order, so atomic operations serve only integers, and
// calls that accept any order.
// One kernel is enough for few updates, and for lines of updates along an axis: a thread has few of
// them, or a line along another axis than the innermost, and a warp a line of fewer than a block. A
// hash table finds the updates of each key if there are not many, single values of some more are
// sorted in shared memory (tiles.cuh), and values that replace others need no more than a table of
// the last update of each key. Other calls are sorted:
//   keys     resolves the indices to keys, the numbers of target elements,
//   sort     sorts the updates by key, stably (CUB's radix sort, or tiles if there are not many),
//            unless the check of their bounds found them sorted; short values move with their keys,
//            else the numbers of updates do,
//   slices   short values are sorted by slice of the target only, see slices.cuh; what follows is
//            for the slices that have many updates,
//   reduce   combines the values of each key in blocks of kBlockValues and writes the elements,
//   join     joins the blocks of the keys that have several,
//   across   does what follows the sort for many rows updated along the innermost axis.
// A radix sort by key makes all accesses to the target sequential, and the time does not depend on
// how often keys repeat.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/common/elements.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/scratch_layout.hpp"
#include "cuda/scatter/slice_bits.hpp"
#include "src/core/operation.hpp"
#include "src/core/reduce.hpp"

namespace gpukern {
class Device;
}

namespace gpukern::gpu {

/// The elements of the target, by key.
struct TargetElements {
  std::byte* target;
  LoopOffsets<1> keys;

  [[nodiscard]] __device__ std::byte* at(std::int64_t key) const {
    return target + keys.at(key).offset[0];
  }
};

/// The elements of the target, by spread key; 64-bit keys are not spread.
struct SpreadElements {
  TargetElements elements;
  KeySpread spread;

  [[nodiscard]] __device__ std::byte* at(std::uint32_t key) const {
    return elements.at(spread.key(key));
  }
  [[nodiscard]] __device__ std::byte* at(std::uint64_t key) const {
    return elements.at(static_cast<std::int64_t>(key));
  }
};

/// The values, by the number of an update.
struct UpdateValues {
  const std::byte* values;
  LoopOffsets<1> updates;

  [[nodiscard]] __device__ const std::byte* at(std::int64_t update) const {
    return values + updates.at(update).offset[0];
  }
  /// Aligned values of updates `between` apart, together; those past `last` are its value.
  template <class T, int kCount>
  __device__ void load(std::int64_t first, std::int64_t between, std::int64_t last,
                       T (&value)[kCount]) const {
    OffsetsAt<1> at[kCount];
    updates.find(Positions<kCount>(first, between, last).of, at);
#pragma unroll
    for (int k = 0; k < kCount; ++k)
      value[k] = *reinterpret_cast<const T*>(values + at[k].offset[0]);
  }
};

/// The updates in the order of their keys, or of the slices of these; those that are skipped come
/// last, with the key `none`.
template <class Key>
struct SortedKeys {
  const Key* key;
  std::int64_t begin;
  std::int64_t end;
  Key none;
};

/// Chunk number `number` of a slice.
struct SliceChunk {
  std::uint32_t slice;
  std::uint32_t number;
};

/// The slices of the target, and where the updates of each are in an array.
struct Slices {
  int bits;               ///< of a key in its slice
  std::int64_t count;     ///< 0: the updates are sorted by key
  std::uint32_t* starts;  ///< of each slice
  std::uint32_t* ends;
  // The long slices.
  std::int64_t chunk;       ///< updates
  unsigned* number;         ///< entries of each list
  SliceChunk* chunks;       ///< those of slices with several chunks, in order
  SliceChunk* only_chunks;  ///< those of other slices
  std::uint32_t* heads;     ///< where each slice begins in `chunks`
  std::uint32_t* counts;    ///< of each key of a slice in its chunks so far, for `chunks`

  /// Indices of `number`. kMoved counts the values that tiles.cuh moves together.
  enum List { kChunks, kOnlyChunks, kHeads, kMoved, kLists };
  [[nodiscard]] __device__ std::int64_t all_chunks() const {
    return std::int64_t{number[kChunks]} + number[kOnlyChunks];
  }
  [[nodiscard]] __device__ SliceChunk chunk_at(std::int64_t at) const {
    return at < number[kChunks] ? chunks[at] : only_chunks[at - number[kChunks]];
  }
  /// Takes entries of `chunks` for a slice, and returns the first. Called by one thread.
  [[nodiscard]] __device__ unsigned take_chunks(unsigned several) const {
    const unsigned first = atomicAdd(number + kChunks, several);
    heads[atomicAdd(number + kHeads, 1)] = first;
    return first;
  }
};

/// Keys with more values than one block. `firsts` holds the sorted position of each one's first
/// update. At p / kBlockValues, first_blocks and ends hold the block that starts there and the end
/// of the key's updates, and later_blocks another block, which starts at position p. None collide:
/// blocks of one kind start at least kBlockValues positions apart. A block has an accumulator for
/// each column.
struct LongKeys {
  unsigned long long* number;
  std::int64_t* firsts;
  std::int64_t* ends;
  std::byte* first_blocks;
  std::byte* later_blocks;

  /// The accumulators of the block at a position.
  template <class A>
  [[nodiscard]] __device__ A* block(bool first, std::int64_t position, std::int64_t columns) const {
    return reinterpret_cast<A*>(first ? first_blocks : later_blocks) +
           position / kBlockValues * columns;
  }
  /// Notes where a long key begins or ends, if it does so in this block of a chunk.
  template <class Chunk>
  __device__ void note(const Chunk& chunk, int block, std::int64_t begin) const {
    const auto of = chunk[block];
    if (of.first) firsts[atomicAdd(number, 1)] = begin + of.begin;
    if (of.is_last) ends[chunk.head_of(block, begin) / kBlockValues] = begin + of.end;
  }
};

/// The passes' view of a call.
struct ScatterCall {
  const ScatterArgs& args;
  std::int64_t count;    ///< updates
  std::int64_t columns;  ///< of each
  cudaStream_t stream;
};

/// Of a call with a reduction.
LongKeys lay_out_long_keys(ScratchLayout& layout, const ScatterCall& call);

/// Calls visit(TypeTag<T>{}) for a floating-point type of at most 8 bytes; returns false for
/// others. Integers need no order, and wider types are sorted.
template <class Visit>
bool visit_short_float(gpukern_dtype dtype, const Visit& visit) {
  bool found = false;
  visit_reduced_dtype(dtype, [&]<class T>(TypeTag<T> tag) {
    if constexpr (!std::is_integral_v<T> && sizeof(T) <= 8) {
      found = true;
      visit(tag);
    }
  });
  return found;
}
inline bool is_short_float(gpukern_dtype dtype) {
  return visit_short_float(dtype, [](auto) {});
}

/// Whether keys or numbers of updates take 64 bits. Kernels use the largest 32-bit number for
/// skipped updates.
bool has_wide_keys(const ScatterCall& call);

/// How the updates of a call are sorted.
struct SortPlan {
  bool wide_keys;     ///< keys and numbers of updates take 64 bits
  bool moves_values;  ///< values, not numbers of updates, move with the keys
  int payload_bytes;  ///< 4 or 8
  int bits;           ///< of the keys, including that of skipped updates
  int slice_bits;     ///< the lowest of them, by which updates are not sorted
  bool is_across;     ///< see is_across()
  bool by_tiles;      ///< see tiles.cuh
  KeySpread spread;   ///< of the keys
};

/// Resolves the indices and prepares the payload, unless that is the values themselves. Clears
/// `long_keys`.
void scatter_keys(const ScatterCall& call, const SortPlan& plan, void* keys, void* payload,
                  unsigned long long* long_keys);

template <class Key>
SortedKeys<Key> sorted_keys(const ScatterCall& call, const Key* keys) {
  return {keys, 0, call.count, static_cast<Key>(call.args.keys.count())};
}

/// The scratch memory of scatter_sort(), in bytes.
std::size_t scatter_sort_bytes(const SortPlan& plan, std::int64_t count);
struct SortArrays {
  const void* keys;
  void* sorted_keys;
  const void* payload;
  void* sorted_payload;
  void* scratch;
  std::size_t scratch_bytes;
};
void scatter_sort(const SortPlan& plan, const SortArrays& arrays, std::int64_t count,
                  cudaStream_t stream);

/// The updates are sorted by slice: finds the slices and empties their lists, then combines or puts
/// the values of all but the long ones.
void scatter_find_slices(const ScatterCall& call, const Slices& slices, const std::uint32_t* keys);
void scatter_combine_slices(const ScatterCall& call, const Slices& slices,
                            const std::uint32_t* keys, const void* values);
/// The bits of a key in its slice, at most.
int most_slice_bits(int payload_bytes);
/// Counts the keys in the chunks of slices with several; then sorts the updates of long slices by
/// key.
void scatter_count_long_slices(const ScatterCall& call, const Slices& slices,
                               const std::uint32_t* keys);
void scatter_sort_long_slices(const ScatterCall& call, const SortPlan& plan, const Slices& slices,
                              const SortArrays& arrays);

/// Combines sorted values that moved with their keys; if there are slices, only those of long ones,
/// whose updates alone are sorted.
void scatter_reduce_items(const ScatterCall& call, const Slices& slices, const std::uint32_t* keys,
                          const void* values, const LongKeys& long_keys);
/// Combines the rows of sorted updates.
void scatter_reduce_rows(const ScatterCall& call, const SortPlan& plan, const void* keys,
                         const void* updates, const LongKeys& long_keys);
/// Writes the last value of each key.
void scatter_put_items(const ScatterCall& call, const Slices& slices, const std::uint32_t* keys,
                       const void* values);
void scatter_put_rows(const ScatterCall& call, const SortPlan& plan, const void* keys,
                      const void* updates);
/// The same of many rows, all updated by one index along the innermost axis.
bool is_across(const ScatterCall& call);
void scatter_put_across(const ScatterCall& call, const void* keys, const void* updates);
/// A block of the values of a key, among sorted updates.
struct KeyBlock {
  static constexpr std::uint32_t kOnly = ~0U;

  std::uint32_t key;
  std::uint32_t begin;  ///< updates
  std::uint32_t end;
  std::uint32_t values;  ///< of the key, with the element
  /// Where its sums are in KeyBlocks::combined. kOnly: the key has no other, or the lists are full,
  /// as of indices that have changed since they were checked.
  std::uint32_t part;
  bool has_element;  ///< which is its first value
};

struct KeyBlocks {
  struct Numbers {
    unsigned blocks;
    unsigned parts;
    unsigned long_keys;
  };

  Numbers most;  ///< of sorted updates
  Numbers* numbers;
  KeyBlock* blocks;          ///< those of a key follow each other
  std::uint32_t* long_keys;  ///< the first block of each key that has several
  std::byte* combined;       ///< an accumulator for each row, by part
};
KeyBlocks lay_out_key_blocks(ScratchLayout& layout, const ScatterCall& call);
void scatter_reduce_across(const ScatterCall& call, const void* keys, const void* updates,
                           const KeyBlocks& blocks);
/// Writes or combines without sorting: for unique indices, and, with `atomic`, for any.
void scatter_direct(const ScatterCall& call, bool atomic);
/// The place of an update that is skipped.
inline constexpr std::uint32_t kNoSlot = ~0U;

/// The last update of each key.
struct LastUpdates {
  const std::uint32_t* table = nullptr;  ///< one more than its number; nullptr: keys do not repeat
  std::int64_t step = 1;                 ///< from one place of the table to the next
  const std::uint32_t* place = nullptr;  ///< of the key of each update; nullptr: that is the key

  [[nodiscard]] __device__ bool is_last(std::int64_t update, std::int64_t key) const {
    if (table == nullptr) return true;
    const std::int64_t at = place == nullptr ? key : place[update];
    return at != kNoSlot && table[at * step] == static_cast<std::uint32_t>(update) + 1;
  }
};
/// Without a reduction: whether a table of the last update of each key is faster than a sort.
bool prefers_table(const ScatterCall& call);
/// Without a reduction: only the last updates.
void scatter_put_direct(const ScatterCall& call, const LastUpdates& last);
/// Fills in a table by key: one more than the number of the key's last update, 0 without any.
void scatter_find_last(const ScatterCall& call, std::uint32_t* last);
/// Writes the value of the last update of each key in such a table.
void scatter_put_last(const ScatterCall& call, const std::uint32_t* last);
/// Short values along rows whose tables of the last updates fit in shared memory.
bool has_shared_rows(const ScatterArgs& args);
void scatter_put_shared(const ScatterCall& call);
/// The bytes that atomic operations take at least.
inline constexpr std::int64_t kAtomicBytes = 4;
/// Whether atomic operations implement the reduction.
bool has_atomic(const ScatterArgs& args);
void scatter_atomically(Device& device, const ScatterCall& call);

/// The most updates that one kernel takes, of rows of any length and of short ones.
inline constexpr std::int64_t kScatterFewRows = 1 << 10;
inline constexpr std::int64_t kScatterFew = 1 << 14;
/// Whether it does: as a thread block combines all values of a key, short rows have up to 256 Ki
/// values. A GPU with less than 170 KB of shared memory takes fewer updates.
bool has_few(const ScatterCall& call);
void scatter_few(const ScatterCall& call);

/// Up to here, a hash table of the keys is faster than a radix sort; for puts and long rows up to
/// half. Tiles are faster before: from 32 Ki single values and 96 Ki rows on.
inline constexpr std::int64_t kScatterHashed = 1 << 17;
bool has_hashed(const ScatterArgs& args);
void scatter_hashed(Device& device, const ScatterCall& call);

/// 32 Ki to 2 Mi single floating-point values for up to 2 Mi elements, on average at most 256 for
/// each number below the next power of two.
bool has_tiled(const ScatterCall& call);
void scatter_tiled(Device& device, const ScatterCall& call);

/// Joins the blocks of long keys.
void scatter_join(const ScatterCall& call, const SortPlan& plan, const void* keys,
                  const LongKeys& long_keys);

TargetElements target_elements(const ScatterArgs& args);
UpdateValues update_values(const ScatterArgs& args);

/// Whether the target's elements and the values are aligned to `bytes`: with the strides of their
/// columns, or, for contiguous columns, without.
bool is_aligned(const ScatterArgs& args, std::int64_t bytes, bool with_columns = true);

}  // namespace gpukern::gpu
