// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy_many beside a loop of saxpy, bit by bit, its errors, and lists that are checked once.

#include <vector>

#include "gpukern/explain.h"
#include "gpukern/saxpy_list.h"
#include "saxpy_oracle.hpp"

namespace gpukern_test {
namespace {

/// Views of one memory, and calls on them.
struct Lists {
  Lists(Placement where, const SaxpyType& its_type, std::int64_t elements)
      : placement(where),
        type(its_type),
        memory(where, static_cast<std::size_t>(2 * kGuard + elements * item_bytes(type.dtype))),
        a(static_cast<std::size_t>(item_bytes(type.dtype))) {}

  [[nodiscard]] View view(std::int64_t begin, const Shape& shape, Shape strides = {}) {
    if (strides.empty()) {
      strides.assign(shape.size(), 1);
      for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
    }
    return {&memory, type.dtype, shape, std::move(strides), kGuard + begin * type_bytes()};
  }
  /// The next part of the memory, after a gap.
  [[nodiscard]] View next(const Shape& shape, std::int64_t gap = 0, std::int64_t bytes = 0) {
    used += gap;
    View made = view(used, shape);
    made.offset += bytes;
    used += count_of(shape) + (bytes > 0 ? 1 : 0);
    return made;
  }
  void add(const View& x_k, const View& y_k, const View& out_k) {
    x.push_back(x_k);
    y.push_back(y_k);
    out.push_back(out_k);
  }
  [[nodiscard]] std::int64_t type_bytes() const { return item_bytes(type.dtype); }

  /// The memory after a loop of saxpy.
  [[nodiscard]] Bytes expected() const {
    Bytes bytes = memory.host;
    const auto item = static_cast<std::size_t>(type_bytes());
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto from_x = x[k].offsets();
      const auto from_y = y[k].offsets();
      const auto to = out[k].offsets();
      Bytes result(to.size() * item);
      for (std::size_t p = 0; p < to.size(); ++p)
        type.oracle(a.data(), bytes.data() + from_x[p], bytes.data() + from_y[p],
                    result.data() + p * item);
      for (std::size_t p = 0; p < to.size(); ++p)
        std::memcpy(bytes.data() + to[p], result.data() + p * item, item);
    }
    return bytes;
  }

  /// Calls function(x, y, out) with lists of tensors.
  template <class Function>
  gpukern_status with_tensors(const Function& function) const {
    std::vector<gpukern_tensor> tensors;
    std::vector<const gpukern_tensor*> lists[3];
    tensors.reserve(3 * out.size());
    for (std::size_t k = 0; k < out.size(); ++k)
      for (const auto& [list, views] : {std::pair{0, &x}, std::pair{1, &y}, std::pair{2, &out}}) {
        tensors.push_back((*views)[k].tensor());
        lists[list].push_back(&tensors.back());
      }
    return function(lists[0].data(), lists[1].data(), lists[2].data());
  }

  [[nodiscard]] gpukern_status run(const gpukern_exec& exec) const {
    return with_tensors([&](auto* xs, auto* ys, auto* outs) {
      return gpukern_saxpy_many(a.data(), xs, ys, outs, out.size(), &exec);
    });
  }

  void expect_loop(Random& random) {
    fill_random(memory.host, random);
    fill_random(a, random);
    const Bytes wanted = expected();
    memory.commit();
    ASSERT_EQ(run(exec_at(placement)), GPUKERN_SUCCESS) << gpukern_last_error();
    memory.fetch();
    EXPECT_TRUE(same_bytes(wanted, memory.host));
  }

  /// Expects an error, and no write.
  void expect_refused(gpukern_status status, const std::string& message, Random& random) {
    fill_random(memory.host, random);
    const Bytes before = memory.host;
    memory.commit();
    expect_error(run(exec_at(placement)), status, message);
    memory.fetch();
    EXPECT_TRUE(same_bytes(before, memory.host));
  }

  Placement placement;
  const SaxpyType& type;
  Memory memory;
  Bytes a;
  std::int64_t used = 0;
  std::vector<View> x;
  std::vector<View> y;
  std::vector<View> out;
};

class SaxpyManyTest : public SaxpyTypeTest {
 protected:
  [[nodiscard]] Lists lists(std::int64_t elements) const { return {placement(), type(), elements}; }

  Random random_{11};
};

GPUKERN_INSTANTIATE_SAXPY_TYPES(SaxpyManyTest, kSaxpyTypes);

TEST_P(SaxpyManyTest, EverySize) {
  // A tile of the GPU has 1024 words of 16 bytes.
  const std::int64_t tile = 16384 / item_bytes(type().dtype);
  const Shape sizes{0,  1,   2,   3,    7,        8,    9,        15,       16,
                    17, 31,  33,  4095, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 5,
                    0,  100, 257, 1};
  for (const bool in_place : {false, true}) {
    Lists all = lists(300000);
    for (const std::int64_t size : sizes) {
      const View x = all.next({size}, size % 3);
      const View y = all.next({size}, size % 5);
      all.add(x, y, in_place ? y : all.next({size}, size % 7));
    }
    all.expect_loop(random_);
  }
}

TEST_P(SaxpyManyTest, ArraysMayStartAnywhere) {
  Lists all = lists(200000);
  for (std::int64_t gap = 0; gap < 17; ++gap)
    for (const std::int64_t size : {1, 5, 40, 1030}) {
      const View same = all.next({size}, gap);
      all.add(same, same, same);
      const View x = all.next({size}, gap);
      const View y = all.next({size}, gap);
      all.add(x, y, all.next({size}, gap));
      const View apart = all.next({size}, 0, gap % 8);  // within an element
      all.add(x, all.next({size}), apart);
    }
  all.expect_loop(random_);
}

TEST_P(SaxpyManyTest, ManyArrays) {
  for (const std::int64_t count : {1, 2, 119, 120, 121, 1019, 1020, 1021, 2100}) {
    SCOPED_TRACE(count);
    Lists all = lists(40 * count);
    for (std::int64_t k = 0; k < count; ++k) {
      const View x = all.next({k % 13});
      all.add(x, all.next({k % 13}), all.next({k % 13}));
    }
    all.expect_loop(random_);
  }
}

TEST_P(SaxpyManyTest, OtherLayoutsAmongContiguousOnes) {
  Lists all = lists(20000);
  for (int round = 0; round < 5; ++round) {
    all.add(all.next({30, 20}), all.next({30, 20}), all.next({30, 20}));
    const View row = all.view(all.used, {30, 20}, {0, 1});
    all.used += 20;
    const View column = all.view(all.used, {30, 20}, {1, 0});
    all.used += 30;
    all.add(row, column, all.next({30, 20}));
    const View square = all.next({20, 20});
    all.add(all.view(all.used, {20, 20}, {1, 20}), square, square);
    all.used += 400;
    all.add(all.next({}), all.next({}), all.next({}));
  }
  all.expect_loop(random_);
}

TEST_P(SaxpyManyTest, OverlapsAreThoseOfTheLoop) {
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    Lists all = lists(4000);
    for (int k = 0; k < 6; ++k) {
      const std::int64_t size = between(random_, 0, 300);
      const auto anywhere = [&] { return all.view(between(random_, 0, 3000), {size}); };
      const View y = anywhere();
      all.add(anywhere(), y, round % 2 == 0 ? y : anywhere());
    }
    all.expect_loop(random_);
  }
}

TEST_P(SaxpyManyTest, AChainWhoseArraysReadThePreviousOutput) {
  Lists all = lists(8000);
  View previous = all.next({700});
  for (int k = 0; k < 8; ++k) {
    const View out = all.next({700});
    all.add(previous, out, out);
    previous = out;
  }
  all.expect_loop(random_);
}

TEST_P(SaxpyManyTest, ErrorsNameTheArrayAndComeBeforeAnyWrite) {
  const SaxpyType& other = kSaxpyTypes[type().dtype.bits == 16 ? 2 : 0];
  const std::string name = type().name;
  for (const auto& [list, argument] : {std::pair{0, "x"}, std::pair{1, "y"}, std::pair{2, "out"}}) {
    Lists all = lists(1000);
    for (int k = 0; k < 4; ++k) all.add(all.next({9}), all.next({9}), all.next({9}));
    View& bad = (list == 0 ? all.x : list == 1 ? all.y : all.out)[3];
    bad.dtype = other.dtype;
    const bool first = list == 0;
    all.expect_refused(GPUKERN_TYPE_ERROR,
                       std::string("saxpy_many: ") + (first ? "y" : argument) +
                           "[3] must have the dtype of x, " + (first ? other.name : name) +
                           ", got " + (first ? name : other.name),
                       random_);
    if (first) {
      all.y[3].dtype = all.out[3].dtype = other.dtype;
      all.expect_refused(
          GPUKERN_TYPE_ERROR,
          "saxpy_many: x[3] must have the dtype of x[0], " + name + ", got " + other.name, random_);
    }
  }
  Lists all = lists(1000);
  for (int k = 0; k < 4; ++k) all.add(all.next({9}), all.next({9}), all.next({9}));
  all.y[2] = all.view(0, {8});
  all.expect_refused(GPUKERN_VALUE_ERROR, "saxpy_many: y[2] must broadcast to shape (9,), got (8,)",
                     random_);
  all.y[2] = all.view(0, {9});
  all.out[1] = all.view(0, {9}, {0});
  all.expect_refused(GPUKERN_VALUE_ERROR, "saxpy_many: out[1] must not have overlapping elements",
                     random_);
}

TEST_P(SaxpyManyTest, AListRunsManyTimes) {
  Lists all = lists(20000);
  for (std::int64_t size = 0; size < 60; ++size) {
    const View y = all.next({size});
    all.add(all.next({size}), y, y);
  }
  fill_random(all.memory.host, random_);
  all.memory.commit();
  gpukern_saxpy_list* list = nullptr;
  ASSERT_EQ(all.with_tensors([&](auto* xs, auto* ys, auto* outs) {
    return gpukern_saxpy_list_create(xs, ys, outs, all.out.size(), &list);
  }),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  const gpukern_exec exec = exec_at(placement());
  for (int round = 0; round < 3; ++round) {
    fill_random(all.a, random_);
    const Bytes wanted = all.expected();
    ASSERT_EQ(gpukern_saxpy_list_run(list, all.a.data(), &exec), GPUKERN_SUCCESS)
        << gpukern_last_error();
    all.memory.fetch();
    EXPECT_TRUE(same_bytes(wanted, all.memory.host));
  }
  EXPECT_EQ(gpukern_saxpy_list_destroy(list), GPUKERN_SUCCESS);
}

class SaxpyManyPlacementTest : public PlacementTest {
 protected:
  Random random_{12};
};
GPUKERN_INSTANTIATE_PLACEMENTS(SaxpyManyPlacementTest);

TEST_P(SaxpyManyPlacementTest, NothingOfNoArrays) {
  const gpukern_exec exec = exec_at(placement());
  const float a = 2;
  EXPECT_EQ(gpukern_saxpy_many(&a, nullptr, nullptr, nullptr, 0, &exec), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_saxpy_many(&a, nullptr, nullptr, nullptr, 0, nullptr), GPUKERN_SUCCESS);
  gpukern_saxpy_list* list = nullptr;
  ASSERT_EQ(gpukern_saxpy_list_create(nullptr, nullptr, nullptr, 0, &list), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_saxpy_list_run(list, &a, &exec), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_saxpy_list_destroy(list), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_saxpy_list_destroy(nullptr), GPUKERN_SUCCESS);
}

TEST_P(SaxpyManyPlacementTest, RefusesNull) {
  Lists all(placement(), kSaxpyTypes[2], 100);
  all.add(all.next({9}), all.next({9}), all.next({9}));
  const gpukern_exec exec = exec_at(placement());
  static_cast<void>(all.with_tensors([&](auto* xs, auto* ys, auto* outs) {
    expect_error(gpukern_saxpy_many(nullptr, xs, ys, outs, 1, &exec), GPUKERN_VALUE_ERROR,
                 "saxpy_many: a must not be NULL");
    expect_error(gpukern_saxpy_many(all.a.data(), nullptr, ys, outs, 1, &exec), GPUKERN_VALUE_ERROR,
                 "saxpy_many: x must not be NULL");
    const gpukern_tensor* none = nullptr;
    expect_error(gpukern_saxpy_many(all.a.data(), xs, &none, outs, 1, &exec), GPUKERN_VALUE_ERROR,
                 "saxpy_many: y[0] must not be NULL");
    expect_error(gpukern_saxpy_list_create(xs, ys, &none, 1, nullptr), GPUKERN_VALUE_ERROR,
                 "saxpy_list: list must not be NULL");
    auto* list = reinterpret_cast<gpukern_saxpy_list*>(&none);
    expect_error(gpukern_saxpy_list_create(xs, ys, &none, 1, &list), GPUKERN_VALUE_ERROR,
                 "saxpy_list: out[0] must not be NULL");
    EXPECT_EQ(list, nullptr);
    return GPUKERN_SUCCESS;
  }));
  expect_error(gpukern_saxpy_list_run(nullptr, all.a.data(), &exec), GPUKERN_VALUE_ERROR,
               "saxpy_list: list must not be NULL");
}

TEST_P(SaxpyManyPlacementTest, RefusesMoreArraysThanMemoryHolds) {
  const gpukern_exec exec = exec_at(placement());
  const float a = 2;
  const gpukern_tensor* none = nullptr;
  expect_error(gpukern_saxpy_many(&a, &none, &none, &none, SIZE_MAX, &exec), GPUKERN_MEMORY_ERROR,
               "out of host memory");
}

TEST_P(SaxpyManyPlacementTest, RefusesArraysOnSeveralDevices) {
  if (placement() != Placement::Cuda) GTEST_SKIP() << "on the host all arrays are on one device";
  Lists all(placement(), kSaxpyTypes[2], 100);
  all.add(all.next({9}), all.next({9}), all.next({9}));
  Memory host(Placement::Cpu, 1000);
  const View view{&host, all.type.dtype, {9}, {1}, 0};
  all.add(all.next({9}), view, view);
  all.expect_refused(GPUKERN_VALUE_ERROR, "saxpy_many: y[1] must be on cuda:0 like x[0], got cpu",
                     random_);
}

TEST_P(SaxpyManyPlacementTest, IsExplained) {
  Lists all(placement(), kSaxpyTypes[2], 30000);
  for (int k = 0; k < 5; ++k) all.add(all.next({1000}), all.next({1000}), all.next({1000}));
  fill_random(all.memory.host, random_);
  const Bytes before = all.memory.host;
  all.memory.commit();
  gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
  gpukern_exec exec = exec_at(placement());
  exec.explanation = &explanation;
  ASSERT_EQ(all.run(exec), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(explanation.path, GPUKERN_PATH_CONTIGUOUS);
  EXPECT_EQ(explanation.bytes_read, 40000);
  EXPECT_EQ(explanation.bytes_written, 20000);
  all.memory.fetch();
  EXPECT_TRUE(same_bytes(before, all.memory.host));
}

TEST_P(SaxpyManyPlacementTest, ReportsProgressOfAllArrays) {
  if (placement() == Placement::Cuda) GTEST_SKIP() << "of host arrays";
  Lists all(placement(), kSaxpyTypes[2], 3000000);
  for (int k = 0; k < 9; ++k) all.add(all.next({100000}), all.next({100000}), all.next({100000}));
  gpukern_exec exec = exec_at(placement());
  std::uint64_t last[2] = {0, 0};
  exec.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    static_cast<std::uint64_t*>(user)[0] = done;
    static_cast<std::uint64_t*>(user)[1] = total;
    return 0;
  };
  exec.progress_user = last;
  ASSERT_EQ(all.run(exec), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(last[0], 9U * 400000U);
  EXPECT_EQ(last[1], 9U * 400000U);
}

}  // namespace
}  // namespace gpukern_test
