// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>

#include "cuda/gather/tuning.hpp"
#include "cuda/runtime/device_facts.hpp"

namespace gpukern::gpu {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The figures are of an H200, uniform int32 indices. Rows: the fraction of a device copy's
// bandwidth, with 16 GiB of source and 2 GiB of out. Inner axes: GB/s written, float32.
constexpr GatherTuning kFirst{
    .compute_capability = 0,
    .threads = 256,       // five blocks or more at 48 registers a thread
    .item_threads = 128,  // as with 256, 8-byte items, sorted, 642 us against 652
    // Items/ns, one a thread against a pair: 256 Ki of 1 Mi 87, 84; of 8 Mi 63.6, 64.1; 512 Ki 106,
    // 105 and 78, 83. Blocks of 256 threads: with 64 they come too slowly from 64 Ki on, 40 a
    // thread to 26; 1 Ki are 0.98 us with either.
    .few_items = 384 << 10,
    // 1 Mi of 128 Mi, sorted, 37.0 against 35.1 by pairs; blocked 159, 193, by CuPy's kernel, the
    // best peer's, 151. 16 Mi of 1 Gi blocked 198, 267, and JAX is better than the former.
    .few_sparse_items = 2 << 20,
    .sparse_bytes = 128,  // sorted, by a thread each, by pairs: 256 B 45, 43; 128 B 54.2, 54.0
    // Pairs against two vectors of four: random, 2 Mi of 1 Mi 130, 124; of 8 Mi 104, 100; 8 Mi 140,
    // 138 and 111, 110. Sorted ones lose: 2 Mi of 1 Mi 325, 367; of 32 Mi 58, 58.
    .pairs_below = 8 << 20,
    // The less is in flight out of order, the better DRAM likes sorted indices far apart. 16 Mi of
    // 1 Gi 39.0 by pairs, 36.8 by vectors, of 8 Gi 38.1, 35.8; blocked ones lose, 267 against 308.
    .pairs_bytes = 64,
    .pair_threads = 256,  // pairs of 16 Mi of 1 Mi, sorted: 429; with 128 402, with 512 407
    .rising_from = kNever,
    // Steps of 2 KiB 40.2, single items 38.3, pairs 37.7: by pairs, random ones lose nothing
    // either.
    .rising_below = 1 << 10,
    // Steps of 256 bytes 53.8 against 40.0 by vectors, of 128 54.4 and 53.1, of 64 56.1 and 60.6.
    .rising_step = 160,
    .stays_from = 0,  // not measured on other GPUs: evict-first, as streams usually are
    .stays_to = kNever,
    // us, against gather_staged_rows() or, 16 bytes, gather_rows(). 512 Ki chunks and 1 Mi: of 33
    // bytes 4.1, 4.4 and 6.7, 5.0; of 1001 3.7, 6.1 and 6.2, 6.2; of 50 4.3, 4.7 and 6.9, 5.6. 1 Mi
    // and 2 Mi: of 36 8.3, 8.8 and 14.6, 13.4; of 300 7.0, 7.7 and 12.1, 10.1. 2 Mi and 4 Mi: of
    // 104 16.2, 18.1 and 30.0, 31.3; of 1024 19.5, 19.4 and 36.5, 35.6.
    .few_chunks = {640 << 10, 640 << 10, 3 << 19, 4 << 20, 2 << 20},
    // From seven chunks on: 7 B 0.109 against 0.098 chunk by chunk, 36 B 0.411 against 0.375; not
    // 3 B, 0.043 against 0.049, nor 20 B, 0.274 against 0.275. Chunks of 8 bytes, 24 B: 0.320
    // against 0.322, 200 B: 0.777 against 0.723. Of 16 bytes, 1 KiB: 0.946 against 0.968. The
    // lengths 14, 28 and 96 lie between measured ones.
    .staged_from = {7, 14, 28, 96, kNever},
    // 4 KiB a tile against 16 KiB: 33 B 0.384, 0.350; 64 B 0.690, 0.692; 300 B 0.641, 0.816.
    .staged_long = 64,
    .staged_threads = 128,  // 16 KiB a tile with 256 threads: 300 B 0.719, 1001 B 0.808, not 0.892
    .inner_staged_from = 32,      // 64 B 1933 against 894 singly; no shorter ones measured
    .inner_staged_to = 32 << 10,  // a block has no more than 64 KiB of shared memory
    // A row of which every fourth float32 is asked for: 828 against 801 singly.
    .inner_staged_sparse = 16,
    .inner_staged_blocks = 264,             // two for each of 132 multiprocessors
    .inner_staged_bytes = 16 << 10,         // 1 KiB rows 2032; with 8 KiB 1720, with 32 KiB 1989
    .inner_staged_narrow_bytes = 32 << 10,  // 3000 B rows of bytes 1438; with 16 KiB 1307
    // Few blocks with such rows fit a multiprocessor: 64 KB 1953, with 256 threads 1484. 16 KiB
    // 1513 with 512 threads, with 256 2049.
    .inner_staged_long = 32 << 10,
    .inner_staged_long_threads = 512,
    .inner_per_block = 8,     // 16,000 indices 618, for 16 rows 599; sorted 2092, 2044
    .inner_from = 4,          // a group of kInnerRows
    .inner_count_from = 256,  // 997 against 929 singly; 128 indices 499 against 898
    .inner_sparse = 2,        // one of two positions, sorted: 1440 against 998 singly
    // The rows at work fit the L2. 256 KiB 566 against 581 singly, 4 MiB 436 against 539; but
    // sorted, 64 KB, 2092 against 1026.
    .inner_row_to = 2 << 20,
    .partition = {},
};

/// Shared memory of 100 KiB a block and more.
constexpr GatherTuning large_shared_memory() {
  GatherTuning tuning = kFirst;
  tuning.compute_capability = 80;
  // 64 KB rows 1953 against 663 singly.
  tuning.inner_staged_to = 64 << 10;
  return tuning;
}

/// The bulk copies and the 227 KiB of shared memory that the partitioned gather needs.
constexpr GatherTuning hopper() {
  GatherTuning tuning = large_shared_memory();
  tuning.compute_capability = 90;
  // What the sample costs, 7 us, is a quarter of 8 Mi blocked indices; vectors of four gain most of
  // it against pairs, which are left to the indices that no sample is asked about.
  tuning.rising_from = 8 << 20;
  tuning.pairs_bytes = tuning.rising_below;
  // 128 Mi of 1 Mi items behind a copy, us, evict-first and not: equal 259 and 254, zipf 347 and
  // 339; of 4 Mi equal 259 and 253, but zipf 402 and 416, blocked 301 and 311.
  tuning.stays_from = 8 << 20;
  // 1 Gi of 8 Gi: equal 3213 and 2918, blocked 4260 and 4197; sorted 10.65 and 10.71 ms, zipf 9.76
  // and 9.88.
  tuning.stays_to = std::int64_t{16} << 30;
  tuning.partition = {
      .direct_items = 37,     // any direct kernel, 128 Mi of 4 bytes
      .source_bytes = 4000,   // a stream
      .staged_items_4 = 112,  // 24 bytes an item at 4 TB/s are 167; short runs cost
      .staged_items_8 = 80,
      .cached_items = 66,  // the L2 cache answers 110 to 140 sectors a nanosecond
      .fixed = 30000,
      .staged_buckets = 5500,   // runs of 9 items; 18 are a third faster
      .source_from = 44 << 20,  // three quarters of 60 MB
      .count_from = 32 << 20,   // 0.2 ms or more: the sample costs 0.016
      .window = 16 << 20,       // a quarter of 60 MB, whose halves mirror each other
      .cached_hot = 16 << 20,   // 8-byte items, 128 Mi: half 1.5, twice as much 5 percent slower
      .cached_slice = 8 << 20,
  };
  return tuning;
}

/// By rising compute capability.
constexpr GatherTuning kTunings[] = {kFirst, large_shared_memory(), hopper()};

}  // namespace

const GatherTuning& gather_tuning() {
  return line_for(kTunings, device_facts().compute_capability);
}

}  // namespace gpukern::gpu
