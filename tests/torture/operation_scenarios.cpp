// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Operations, at each placement of their arrays.
#include <array>
#include <cstring>

#include "case.hpp"
#include "gpukern/explain.h"
#include "gpukern/saxpy_list.h"

namespace gpukern_torture {
namespace {

constexpr std::int64_t kRows = 500;
constexpr std::int64_t kWidth = 4;
constexpr std::int64_t kCount = 10'000;

void gather(Case& given, const gpukern_tensor* index, gpukern_index_mode mode,
            bool out_may_change = false) {
  const gpukern_tensor* const source = given.floats({kRows, kWidth});
  const gpukern_tensor* const out = given.result(kFloat, {kCount, kWidth});
  given.call = [=, &given] {
    gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
    options.mode = mode;
    options.out_may_change = out_may_change ? 1 : 0;
    return gpukern_gather(source, index, 0, out, &options, &given.exec);
  };
}

const gpukern_tensor* any_index(Case& given) {
  return given.integers({kCount}, -2 * kRows, 3 * kRows);
}
const gpukern_tensor* valid_index(Case& given) { return given.integers({kCount}, -kRows, kRows); }

void gather_raise(Case& given) { gather(given, valid_index(given), GPUKERN_INDEX_RAISE); }
void gather_bad_index(Case& given) { gather(given, any_index(given), GPUKERN_INDEX_RAISE); }
void gather_in_place(Case& given) { gather(given, valid_index(given), GPUKERN_INDEX_RAISE, true); }
void gather_wrap(Case& given) { gather(given, any_index(given), GPUKERN_INDEX_WRAP); }
void gather_clip(Case& given) { gather(given, any_index(given), GPUKERN_INDEX_CLIP); }
void gather_fill(Case& given) { gather(given, any_index(given), GPUKERN_INDEX_FILL); }

/// With several indices and an axis in the middle.
void gather_tuple(Case& given) {
  const gpukern_tensor* const source = given.floats({3, 50, 40, 2});
  const gpukern_tensor* const index = given.integers({2000}, -50, 50);
  const gpukern_tensor* const further = given.integers({2000}, -40, 40);
  const gpukern_tensor* const out = given.result(kFloat, {3, 2000, 2});
  given.call = [=, &given] {
    gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
    options.further_index_count = 1;
    options.further_indices = &further;
    return gpukern_gather(source, index, 1, out, &options, &given.exec);
  };
}

/// The result overlaps the source, and the source has gaps.
void gather_overlap(Case& given) {
  const gpukern_tensor* const memory = given.result(kFloat, {kCount});
  const gpukern_tensor* const source = given.view(memory, {kCount / 4}, {2});
  const gpukern_tensor* const index = given.integers({kCount / 2}, 0, kCount / 4);
  const gpukern_tensor* const out = given.view(memory, {kCount / 2}, {1}, kCount / 3);
  given.call = [=, &given] { return gpukern_gather(source, index, 0, out, nullptr, &given.exec); };
}

void gather_explained(Case& given) {
  gather(given, valid_index(given), GPUKERN_INDEX_RAISE);
  given.call = [call = given.call, &given] {
    gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
    given.exec.explanation = &explanation;
    const gpukern_status status = call();
    given.exec.explanation = nullptr;
    return status;
  };
}

void take_along_axis(Case& given) {
  const gpukern_tensor* const source = given.floats({20, 300});
  const gpukern_tensor* const index = given.integers({20, 500}, -300, 300);
  const gpukern_tensor* const out = given.result(kFloat, {20, 500});
  given.call = [=, &given] {
    return gpukern_take_along_axis(source, index, 1, out, nullptr, &given.exec);
  };
}

/// Through a GPU, some chunks: the number of calls grows with that of chunks, the time with its
/// square.
constexpr std::int64_t kUpdates = 3'000;

void scatter(Case& given, gpukern_reduce reduce, std::int64_t beyond = 0) {
  const gpukern_tensor* const target = given.floats({kRows, kWidth});
  const gpukern_tensor* const index = given.integers({kUpdates}, -kRows - beyond, kRows + beyond);
  const gpukern_tensor* const values = given.floats({kUpdates, kWidth});
  const gpukern_tensor* const out = given.result(kFloat, {kRows, kWidth});
  given.call = [=, &given] {
    gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
    options.reduce = reduce;
    return gpukern_scatter(target, index, values, 0, out, &options, &given.exec);
  };
}

void scatter_last(Case& given) { scatter(given, GPUKERN_REDUCE_NONE); }
void scatter_add(Case& given) { scatter(given, GPUKERN_REDUCE_ADD); }
void scatter_mean(Case& given) { scatter(given, GPUKERN_REDUCE_MEAN); }
void scatter_bad_index(Case& given) { scatter(given, GPUKERN_REDUCE_ADD, kRows); }

/// Of integers, whose order does not matter.
void scatter_integers(Case& given) {
  const gpukern_tensor* const target = given.integers({kRows, kWidth}, -9, 9);
  const gpukern_tensor* const index = given.integers({kUpdates}, -kRows, kRows);
  const gpukern_tensor* const values = given.integers({kUpdates, kWidth}, -9, 9);
  const gpukern_tensor* const out = given.result(kInt64, {kRows, kWidth});
  given.call = [=, &given] {
    gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
    options.reduce = GPUKERN_REDUCE_ADD;
    return gpukern_scatter(target, index, values, 0, out, &options, &given.exec);
  };
}

/// One target larger than a chunk.
void scatter_large(Case& given) {
  const gpukern_tensor* const target = given.floats({kCount, kWidth});
  const gpukern_tensor* const index = given.integers({kUpdates}, 0, kCount);
  const gpukern_tensor* const values = given.floats({kUpdates, kWidth});
  const gpukern_tensor* const out = given.result(kFloat, {kCount, kWidth});
  given.call = [=, &given] {
    return gpukern_scatter(target, index, values, 0, out, nullptr, &given.exec);
  };
}

/// Threads of the CPU share the keys.
void scatter_shared(Case& given) {
  const std::int64_t count = given.exec.device.device_type == GPUKERN_CPU ? 1 << 17 : kCount;
  const gpukern_tensor* const target = given.floats({4096});
  const gpukern_tensor* const index = given.integers({count}, 0, 4096);
  const gpukern_tensor* const values = given.floats({count});
  const gpukern_tensor* const out = given.result(kFloat, {4096});
  given.call = [=, &given] {
    gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
    options.reduce = GPUKERN_REDUCE_ADD;
    return gpukern_scatter(target, index, values, 0, out, &options, &given.exec);
  };
}

void put_along_axis(Case& given) {
  const gpukern_tensor* const target = given.floats({20, 300});
  const gpukern_tensor* const index = given.integers({20, 100}, -300, 300);
  const gpukern_tensor* const values = given.floats({20, 100});
  const gpukern_tensor* const out = given.result(kFloat, {20, 300});
  given.call = [=, &given] {
    return gpukern_put_along_axis(target, index, values, 1, out, nullptr, &given.exec);
  };
}

const gpukern_tensor* offsets(Case& given, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t bag = 0; bag <= 100; ++bag) values.push_back(bag * last / 100);
  return given.numbers(values);
}

void gather_reduce(Case& given) {
  const gpukern_tensor* const source = given.floats({kRows, kWidth});
  const gpukern_tensor* const index = valid_index(given);
  const gpukern_tensor* const bags = offsets(given, kCount);
  const gpukern_tensor* const weights = given.floats({kCount});
  const gpukern_tensor* const out = given.result(kFloat, {100, kWidth});
  given.call = [=, &given] {
    return gpukern_gather_reduce(source, index, bags, weights, 0, out, nullptr, &given.exec);
  };
}

void segment_reduce(Case& given) {
  const gpukern_tensor* const x = given.floats({kCount, kWidth});
  const gpukern_tensor* const bags = offsets(given, kCount);
  const gpukern_tensor* const out = given.result(kFloat, {100, kWidth});
  given.call = [=, &given] {
    return gpukern_segment_reduce(x, bags, 0, out, nullptr, &given.exec);
  };
}

void compress(Case& given) {
  const gpukern_tensor* const mask = given.mask(kCount);
  const gpukern_tensor* const x = given.floats({kCount, kWidth});
  const gpukern_tensor* const out = given.result(kFloat, {kCount, kWidth});
  given.call = [=, &given] { return gpukern_compress(mask, x, 0, out, nullptr, &given.exec); };
}

void nonzero(Case& given) {
  const gpukern_tensor* const mask = given.mask(2 * kCount);
  const gpukern_tensor* const out = given.result(kInt64, {1, 2 * kCount});
  given.call = [=, &given] { return gpukern_nonzero(mask, out, nullptr, &given.exec); };
}

void count_nonzero(Case& given) {
  const gpukern_tensor* const mask = given.mask(20 * kCount);
  const gpukern_tensor* const count = given.result(kInt64, {1}, kCpu);
  given.call = [=, &given] {
    auto* const out =
        reinterpret_cast<std::int64_t*>(static_cast<std::byte*>(count->data) + count->byte_offset);
    return gpukern_count_nonzero(mask, out, &given.exec);
  };
}

void saxpy(Case& given) {
  const gpukern_tensor* const x = given.floats({8 * kCount});
  const gpukern_tensor* const y = given.floats({8 * kCount});
  const gpukern_tensor* const out = given.result(kFloat, {8 * kCount});
  given.call = [=, &given] {
    const float a = 3;
    return gpukern_saxpy(&a, x, y, out, &given.exec);
  };
}

void saxpy_wrong_shape(Case& given) {
  const gpukern_tensor* const x = given.floats({30});
  const gpukern_tensor* const y = given.floats({31});
  const gpukern_tensor* const out = given.result(kFloat, {30});
  given.call = [=, &given] {
    const float a = 3;
    return gpukern_saxpy(&a, x, y, out, &given.exec);
  };
}

void saxpy_many(Case& given) {
  const gpukern_tensor* const x = given.floats({kCount});
  const gpukern_tensor* const y = given.floats({kCount});
  const gpukern_tensor* const both = given.result(kFloat, {2, kCount});
  const gpukern_tensor* const first = given.view(both, {kCount}, {1});
  const gpukern_tensor* const second = given.view(both, {kCount}, {1}, kCount);
  given.call = [=, &given] {
    const float a = 3;
    const std::array xs{x, y};
    const std::array ys{y, x};
    const std::array outs{first, second};
    return gpukern_saxpy_many(&a, xs.data(), ys.data(), outs.data(), 2, &given.exec);
  };
}

/// Each array reads the output before.
void saxpy_list(Case& given) {
  const gpukern_tensor* const x = given.floats({kCount});
  const gpukern_tensor* const out = given.result(kFloat, {kCount});
  given.call = [=, &given] {
    const float a = 3;
    const std::array xs{x, out};
    const std::array ys{x, x};
    const std::array outs{out, out};
    gpukern_saxpy_list* list = nullptr;
    gpukern_status status = gpukern_saxpy_list_create(xs.data(), ys.data(), outs.data(), 2, &list);
    if (status == GPUKERN_SUCCESS) status = gpukern_saxpy_list_run(list, &a, &given.exec);
    gpukern_saxpy_list_destroy(list);
    return status;
  };
}

/// A factor for each row, in the memory of the device.
void axpby(Case& given) {
  const gpukern_tensor* const a = given.floats({kRows, 1});
  const gpukern_tensor* const x = given.floats({kRows, 20});
  const gpukern_tensor* const y = given.floats({kRows, 20});
  const gpukern_tensor* const out = given.result(kFloat, {kRows, 20});
  given.call = [=, &given] { return gpukern_axpby(a, x, a, y, out, nullptr, &given.exec); };
}

void fma(Case& given) {
  const gpukern_tensor* const x = given.floats({kRows, 20});
  const gpukern_tensor* const y = given.floats({20});
  const gpukern_tensor* const out = given.result(kFloat, {kRows, 20});
  given.call = [=, &given] { return gpukern_fma(x, y, x, out, nullptr, &given.exec); };
}

void copy_strided(Case& given) {
  const gpukern_tensor* const source = given.floats({200, 100});
  const gpukern_tensor* const transposed = given.view(source, {100, 200}, {1, 100});
  const gpukern_tensor* const out = given.result(kFloat, {100, 200});
  given.call = [=, &given] { return gpukern_copy(transposed, out, &given.exec); };
}

}  // namespace

std::vector<Named> operation_scenarios() {
  return {{"gather_raise", gather_raise},
          {"gather_bad_index", gather_bad_index},
          {"gather_in_place", gather_in_place},
          {"gather_wrap", gather_wrap},
          {"gather_clip", gather_clip},
          {"gather_fill", gather_fill},
          {"gather_tuple", gather_tuple},
          {"gather_overlap", gather_overlap},
          {"gather_explained", gather_explained},
          {"take_along_axis", take_along_axis},
          {"scatter_last", scatter_last},
          {"scatter_add", scatter_add},
          {"scatter_mean", scatter_mean},
          {"scatter_bad_index", scatter_bad_index},
          {"scatter_integers", scatter_integers},
          {"scatter_large", scatter_large},
          {"scatter_shared", scatter_shared},
          {"put_along_axis", put_along_axis},
          {"gather_reduce", gather_reduce},
          {"segment_reduce", segment_reduce},
          {"compress", compress},
          {"nonzero", nonzero},
          {"count_nonzero", count_nonzero},
          {"saxpy", saxpy},
          {"saxpy_wrong_shape", saxpy_wrong_shape},
          {"saxpy_many", saxpy_many},
          {"saxpy_list", saxpy_list},
          {"axpby", axpby},
          {"fma", fma},
          {"copy_strided", copy_strided}};
}

}  // namespace gpukern_torture
