// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Many concurrent threads: each gets the right results and its error messages.

#include <thread>

#include "bag_oracle.hpp"
#include "gather_oracle.hpp"
#include "saxpy_oracle.hpp"
#include "scatter_oracle.hpp"

namespace gpukern_test {
namespace {

constexpr int kThreads = 16;
constexpr int kRounds = 20;

class ThreadsTest : public PlacementTest {
 protected:
  template <class Body>
  static void on_every_thread(Body body) {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int id = 0; id < kThreads; ++id) threads.emplace_back([=] { body(id); });
    for (auto& thread : threads) thread.join();
  }
};

TEST_P(ThreadsTest, GatherIsCorrect) {
  on_every_thread([where = placement()](int id) {
    Random random(static_cast<std::uint64_t>(id));
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t size = between(random, 1, 3000);
      Array source(where, {GPUKERN_FLOAT, 32, 1}, {size});
      Array index(where, kInt32.dtype, {between(random, 1, 20000)});
      Array out(where, source.dtype, index.shape);
      fill_random(source.storage.host, random);
      for (const auto at : index.offsets())
        store_index(index.storage.host, at, kInt32.dtype, between(random, -size, size - 1));
      expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, where);
    }
  });
}

TEST_P(ThreadsTest, ErrorsArePerThread) {
  on_every_thread([where = placement()](int id) {
    for (int round = 0; round < kRounds; ++round) {
      Array source(where, {GPUKERN_INT, 16, 1}, {4});
      Array index(where, kInt64.dtype, {100});
      Array out(where, source.dtype, {100});
      store_index(index.storage.host, index.offsets()[50], kInt64.dtype, 1000 * id + round + 4);
      expect_gather({source, index, 0, GPUKERN_INDEX_RAISE, out}, where);
    }
  });
}

TEST_P(ThreadsTest, SaxpyIsCorrect) {
  on_every_thread([where = placement()](int id) {
    Random random(static_cast<std::uint64_t>(id));
    const SaxpyType& type = kSaxpyTypes[static_cast<std::size_t>(id) % std::size(kSaxpyTypes)];
    for (int round = 0; round < kRounds; ++round) {
      const Shape shape{between(random, 1, 20000)};
      const Array x(where, type.dtype, shape);
      const Array y(where, type.dtype, shape);
      Bytes a(16);
      for (Bytes* bytes : {&a, &x.memory->host, &y.memory->host}) fill_random(*bytes, random);
      expect_saxpy({type, a, x, y, y}, where);
    }
  });
}

/// Each call is long enough for several threads of the pool.
TEST_P(ThreadsTest, ReductionsAreCorrect) {
  on_every_thread([where = placement()](int id) {
    Random random(static_cast<std::uint64_t>(id));
    const std::int64_t size = between(random, 1, 3000);
    const std::int64_t count = between(random, 100'000, 200'000);
    Array target(where, kFloat32, {size});
    Array index(where, kInt32.dtype, {count});
    Array values(where, kFloat32, {count});
    fill_numbers(target, random, true);
    fill_numbers(values, random, true);
    fill_indices(index, random, size, 0);
    const auto mode = GPUKERN_INDEX_CLIP;
    expect_scatter({false, target, index, values, 0, scatter_options(mode, GPUKERN_REDUCE_ADD)},
                   where);
    Array offsets(where, kInt64.dtype, {4});  // one bag has most items
    store_offsets(offsets, {100, count - 200, 100});
    Array out(where, kFloat32, {3});
    expect_bags({target, &index, offsets, nullptr, 0, bag_options(mode, GPUKERN_REDUCE_ADD), out},
                where);
  });
}

GPUKERN_INSTANTIATE_PLACEMENTS(ThreadsTest);

}  // namespace
}  // namespace gpukern_test
