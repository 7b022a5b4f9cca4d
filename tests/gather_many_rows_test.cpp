// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Items and rows on a GPU around the thresholds of the strategies: items_small_to,
// items_small_sparse_to, pairs_to and rows_small_to in cuda/gather/tuning.cpp.

#include "cuda_driver.hpp"
#include "device_memory.hpp"
#include "gather_oracle.hpp"

namespace gpukern_test {
namespace {

/// The largest power of two, at most 16, that divides both.
std::int64_t word_of(std::int64_t width, std::int64_t offset) {
  const std::int64_t bits = width | offset | 16;
  return bits & -bits;
}

/// The maximum number of rows with a thread for each word.
std::int64_t small_rows(std::int64_t width, std::int64_t offset = 0) {
  const std::int64_t word = word_of(width, offset);
  const std::int64_t words = word <= 2   ? 640 << 10
                             : word == 4 ? 3 << 19
                             : word == 8 ? 4 << 20
                                         : 2 << 20;
  return words * word / width;
}

class GatherManyRowsTest : public GpuTest {
 protected:
  struct Call {
    gpukern_dtype dtype;
    Shape source;
    gpukern_dtype index;
    std::int64_t count;
    gpukern_index_mode mode;
    std::int64_t source_at = 0;  ///< bytes between the start of the memory and the view
    std::int64_t out_at = 0;
    bool fills = true;  ///< false: fills with zeros
  };

  void check(const Call& call, std::int32_t axis = 0) {
    Tight source(Placement::Cuda, call.dtype, call.source, call.source_at);
    Tight index(Placement::Cuda, call.index, {call.count}, 0);
    Tight out(Placement::Cuda, call.dtype, gather_shape(call.source, {call.count}, axis),
              call.out_at);
    Array fill(Placement::Cpu, call.dtype, {});
    for (Bytes* bytes : {&source.storage.host, &out.storage.host, &fill.storage.host})
      fill_random(*bytes, random_);
    const std::int64_t size = split_at(call.source, axis).size;
    fill_indices(index, random_, size, call.mode == GPUKERN_INDEX_RAISE ? 0 : size / 4);
    expect_gather({source, index, axis, call.mode, out,
                   call.mode == GPUKERN_INDEX_FILL && call.fills ? &fill : nullptr},
                  Placement::Cuda);
  }

  /// The grid of a gather of `count` rows, up to 33 MiB.
  static Graph::Grid grid_of(std::int64_t width, std::int64_t count, std::int64_t source_at = 0) {
    const DeviceMemory<int> memory(36 << 18);
    std::int64_t n = 3;
    const gpukern_tensor source{memory.data(),
                                kCuda,
                                1,
                                bytes_dtype(static_cast<int>(width)),
                                &n,
                                nullptr,
                                static_cast<std::uint64_t>(source_at)};
    const gpukern_tensor index{
        memory.data() + (1 << 14), kCuda, 1, kInt32.dtype, &count, nullptr, 0};
    const gpukern_tensor out{memory.data() + (1 << 18), kCuda, 1, source.dtype, &count, nullptr, 0};
    const StreamHandle stream;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    stream.begin_capture();
    EXPECT_EQ(call_gather(&source, &index, 0, &out, gather_options(GPUKERN_INDEX_WRAP), &exec),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    return Graph(stream).only_kernel();
  }

  static void expect_grid(Graph::Grid grid, std::int64_t blocks, unsigned threads) {
    EXPECT_EQ(grid.blocks, blocks);
    EXPECT_EQ(grid.threads, threads);
  }

  Random random_{9};
};

// Around the lengths that shared memory holds, 224 KiB, and twice as long.
TEST_F(GatherManyRowsTest, LongRowsOnTheLastAxis) {
  constexpr std::int64_t kHeld = 224 << 10;
  struct Rows {
    int width;
    std::int64_t bytes;
  };
  int mode = 0;
  for (const auto& [width, bytes] :
       {Rows{1, 70001}, Rows{2, 114690}, Rows{4, kHeld}, Rows{4, kHeld + 4}, Rows{8, 300008},
        Rows{16, 400000}, Rows{4, 2 * kHeld}, Rows{4, 2 * kHeld + 4}}) {
    const std::int64_t n = bytes / width;
    // Aligned rows of out, too.
    for (const auto& [count, out_at] :
         {std::pair{bytes / 16 + 1, width}, {n + n % 4, width}, {(n + 15) / 16 * 16, 0}}) {
      SCOPED_TRACE("width " + std::to_string(width) + ", " + std::to_string(n) + " items, " +
                   std::to_string(count) + " indices");
      const gpukern_dtype index = mode % 2 == 0 ? kInt32.dtype : kInt64.dtype;
      check({bytes_dtype(width), {264, n}, index, count, kModes[mode++ % 4], width, out_at}, 1);
    }
  }
}

TEST_F(GatherManyRowsTest, SmallRowsHaveAWordAThread) {
  expect_grid(grid_of(1024, 16), 4, 256);
  expect_grid(grid_of(100, 16), 2, 256);
  expect_grid(grid_of(100, 16, 1), 7, 256);
  expect_grid(grid_of(1024, small_rows(1024)), (2 << 20) / 256, 256);
  expect_grid(grid_of(1024, small_rows(1024) + 1), (2 << 20) / 1024 + 1, 256);  // four a thread
  expect_grid(grid_of(128, small_rows(128, 4), 4), (3 << 19) / 256, 256);
  expect_grid(grid_of(128, small_rows(128, 4) + 1, 4), (6 << 20) / (16 << 10) + 1, 128);  // tiles
  expect_grid(grid_of(32, small_rows(32, 2), 2), (640 << 10) / 256, 256);
  expect_grid(grid_of(32, small_rows(32, 2) + 1, 2), (1280 << 10) / (4 << 10) + 1, 128);
}

TEST_F(GatherManyRowsTest, ItemsOfEveryWidthAroundTheThresholds) {
  constexpr std::int64_t kFew = 384 << 10;
  constexpr std::int64_t kFewSparse = 2 << 20;
  constexpr std::int64_t kPairs = 8 << 20;
  for (const int item : {1, 2, 4, 8, 16}) {
    const auto check_items = [&](std::int64_t size, gpukern_dtype index, std::int64_t count) {
      SCOPED_TRACE("item " + std::to_string(item) + ", count " + std::to_string(count));
      check({bytes_dtype(item), {size}, index, count, kModes[(item + count) % 4]});
    };
    for (const std::int64_t count : {kFew - 1, kFew, kFew + 1}) {
      for (const std::int64_t size : {100, 7 << 20}) {
        check_items(size, kInt32.dtype, count);
        check_items(size, kInt64.dtype, count);
      }
    }
    for (const std::int64_t count : {kPairs - 1, kPairs + 1}) check_items(100, kInt32.dtype, count);
    if (item != 4) continue;
    for (const std::int64_t count : {kFewSparse - 1, kFewSparse})
      check_items(32 * kFewSparse, kInt32.dtype, count);
  }
}

TEST_F(GatherManyRowsTest, RowsOfEveryWidthAroundTheThresholds) {
  int trial = 0;
  for (const std::int64_t width : {7, 12, 24, 48, 50, 60, 100, 104, 255, 256, 300, 1001, 1024}) {
    for (const std::int64_t at : {0, 1, 2, 4}) {
      for (const std::int64_t more : {0, 1}) {
        const std::int64_t count = small_rows(width, at) + more;
        SCOPED_TRACE("width " + std::to_string(width) + ", source at " + std::to_string(at) +
                     ", count " + std::to_string(count));
        const auto& type = kIndexTypes[trial % static_cast<int>(std::size(kIndexTypes))];
        check({bytes_dtype(static_cast<int>(width)),
               {120},
               type.dtype,
               count,
               kModes[trial / 8 % 4],
               at,
               trial % 3 * at});
        ++trial;
      }
    }
  }
}

// Whole words around rows are read if they are within the memory; out begins and ends inside words.
TEST_F(GatherManyRowsTest, ManyRowsAtEveryAddress) {
  for (const std::int64_t width : {7, 14, 31, 33, 48, 49, 63, 64, 127, 1001, 9001, 20001}) {
    for (int trial = 0; trial < 8; ++trial) {
      const auto from = between(random_, 0, 17);
      const auto to = between(random_, 0, 17);
      const auto count = small_rows(width, from | to) + between(random_, 1, 40);
      SCOPED_TRACE("width " + std::to_string(width) + ", source at " + std::to_string(from) +
                   ", out at " + std::to_string(to) + ", count " + std::to_string(count));
      check({bytes_dtype(static_cast<int>(width)),
             {trial < 4 ? 1 : 37},
             kInt32.dtype,
             count,
             kModes[trial % 4],
             from,
             to});
    }
  }
}

TEST_F(GatherManyRowsTest, OuterPositions) {
  for (const std::int64_t width : {8, 16, 12, 100, 1001, 1024}) {
    for (const std::int64_t more : {-1, 0, 1}) {
      const std::int64_t count = small_rows(width) / 3 + more;
      SCOPED_TRACE("width " + std::to_string(width) + ", count " + std::to_string(count));
      check({bytes_dtype(static_cast<int>(width)),
             {3, 41},
             kIndexTypes[width % 2 + 2].dtype,
             count,
             kModes[(more + width / 4) & 3]},
            1);
    }
  }
}

TEST_F(GatherManyRowsTest, FillValuesOfAnElement) {
  for (const int element : {1, 3, 4})
    for (const bool fills : {false, true})
      for (const std::int64_t more : {0, 1})
        check({bytes_dtype(element),
               {41, 35},
               kInt32.dtype,
               small_rows(std::int64_t{element} * 35) + more,
               GPUKERN_INDEX_FILL,
               0,
               0,
               fills});
}

TEST_F(GatherManyRowsTest, StridedRows) {
  for (const std::int64_t count : {5, 2000, 5000, 70000}) {
    for (const std::int64_t skip : {0, 4, 31}) {
      Tight source(Placement::Cuda, bytes_dtype(4), {50, 60}, 0);
      fill_random(source.storage.host, random_);
      source.shape[1] = 60 - skip;
      Tight index(Placement::Cuda, kInt64.dtype, {count}, 0);
      fill_indices(index, random_, 50);
      Tight out(Placement::Cuda, bytes_dtype(4), {count, 60 - skip}, 0);
      expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, Placement::Cuda);
      source.offset = 49 * source.strides[0] * source.item();  // from the last row up
      source.strides[0] *= -1;
      expect_gather({source, index, 0, GPUKERN_INDEX_WRAP, out}, Placement::Cuda);
    }
  }
}

TEST_F(GatherManyRowsTest, BadIndicesAreNamed) {
  for (const std::int64_t width : {12, 100, 1024}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{16}, small_rows(width) + 1}) {
      Tight source(Placement::Cuda, bytes_dtype(static_cast<int>(width)), {120}, 0);
      Tight index(Placement::Cuda, kInt32.dtype, {count}, 0);
      Tight out(Placement::Cuda, source.dtype, {count}, 0);
      for (const std::int64_t bad : {120, -121}) {
        fill_indices(index, random_, 120);
        store_index(index.storage.host, between(random_, 0, count - 1) * 4, kInt32.dtype, bad);
        const Gather call{source, index, 0, GPUKERN_INDEX_RAISE, out};
        expect_gather(call, Placement::Cuda);
        gpukern_gather_options options = gather_options(GPUKERN_INDEX_RAISE);
        options.out_may_change = 1;
        const gpukern_tensor tensors[] = {source.tensor(), index.tensor(), out.tensor()};
        expect_error(gpukern_gather(&tensors[0], &tensors[1], 0, &tensors[2], &options, nullptr),
                     GPUKERN_INDEX_ERROR,
                     "index " + std::to_string(bad) + " is out of bounds for axis 0 with size 120");
      }
    }
  }
}

}  // namespace
}  // namespace gpukern_test
