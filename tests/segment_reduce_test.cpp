// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Results of segment_reduce, and the errors of both reductions of bags.

#include "bag_oracle.hpp"

namespace gpukern_test {
namespace {

class SegmentReduceTest : public PlacementTest {
 protected:
  void check(gpukern_dtype dtype, const Shape& shape, const std::vector<std::int64_t>& lengths,
             std::int32_t axis, gpukern_gather_reduce_options options,
             Layout layout = Layout::Contiguous) {
    const auto segments = static_cast<std::int64_t>(lengths.size());
    Array x(placement(), dtype, shape, layout);
    Array offsets(placement(), kInt32.dtype, {segments + 1});
    Array out(placement(), dtype, gather_shape(shape, {segments}, axis));
    fill_numbers(x, random_, random_() % 2 == 0);
    fill_random(out.storage.host, random_);
    store_offsets(offsets, lengths, 1);
    expect_bags({x, nullptr, offsets, nullptr, axis, options, out}, placement());
  }

  Random random_{20260502};
};

TEST_P(SegmentReduceTest, EveryReductionOfEveryDtype) {
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const gpukern_reduce reduce : kBagReductions) {
      if (!has_reduction(dtype, reduce)) continue;
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                   " bits, reduce " + std::to_string(reduce));
      for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_CLIP}) {
        check(dtype, {40000}, {39000, 700}, 0, bag_options(mode, reduce));
        check(dtype, {3, 2000}, {0, 1, 300, 64, 1500}, 1, bag_options(mode, reduce));
        check(dtype, {2000}, {0, 1, 300, 0, 1100, 64, 64, 7}, 0, bag_options(mode, reduce));
        check(dtype, {2000, 3}, {0, 1, 300, 0, 1100, 64, 64, 7}, 0, bag_options(mode, reduce));
        check(dtype, {3, 400, 8}, {0, 1, 300, 64}, 1, bag_options(mode, reduce));
      }
    }
}

TEST_P(SegmentReduceTest, EveryAxisAndLayout) {
  for (const Layout layout : kInputLayouts)
    for (const std::int32_t axis : {0, 1, 2, -1, GPUKERN_AXIS_NONE})
      check(kFloat32, {6, 5, 7}, {2, 0, 1}, axis, bag_options(GPUKERN_INDEX_RAISE), layout);
}

TEST_P(SegmentReduceTest, ManySegments) {
  std::vector<std::int64_t> lengths(30000);
  for (auto& length : lengths) length = between(random_, 0, 30);
  lengths[100] = 200000;
  const std::int64_t items = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{2});
  for (const gpukern_dtype dtype : {kReducedDtypes[1], kFloat32, kFloat64, kReducedDtypes[6]})
    for (const Layout layout : {Layout::Contiguous, Layout::Unaligned})
      check(dtype, {items}, lengths, 0, bag_options(GPUKERN_INDEX_CLIP), layout);
}

TEST_P(SegmentReduceTest, LengthsAroundThoseOfVectorsAndBlocks) {
  std::vector<std::int64_t> lengths(140);
  std::iota(lengths.begin(), lengths.end(), std::int64_t{0});
  for (const std::int64_t length : {255, 256, 257, 511, 512, 513, 768, 1000, 1024, 1025, 1300, 2047,
                                    2048, 2049, 3000, 16384, 16385})
    lengths.push_back(length);
  std::vector<std::int64_t> more = lengths;  // than a GPU reduces in one launch
  more.resize(5000);
  const std::int64_t items = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{2});
  for (const gpukern_dtype dtype : kReducedDtypes)
    for (const gpukern_reduce reduce : kBagReductions) {
      if (!has_reduction(dtype, reduce)) continue;
      SCOPED_TRACE("dtype " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) +
                   " bits, reduce " + std::to_string(reduce));
      for (const Layout layout : {Layout::Contiguous, Layout::Unaligned})
        check(dtype, {items}, lengths, 0, bag_options(GPUKERN_INDEX_RAISE, reduce), layout);
      check(dtype, {items}, more, 0, bag_options(GPUKERN_INDEX_CLIP, reduce));
    }
}

TEST_P(SegmentReduceTest, EmptySourceWithSizesWhoseProductOverflows) {
  Array offsets(placement(), kInt64.dtype, {3});
  Array out(placement(), kFloat32, {2});
  store_offsets(offsets, {0, 0, 0});
  fill_random(out.storage.host, random_);
  for (Memory* memory : {&offsets.storage, &out.storage}) memory->commit();
  Shape shape{std::int64_t{1} << 33, std::int64_t{1} << 33, 0};
  gpukern_tensor x = out.tensor();
  x.data = nullptr;
  x.ndim = 3;
  x.shape = shape.data();
  x.strides = nullptr;
  const gpukern_tensor bounds = offsets.tensor();
  const gpukern_tensor to = out.tensor();
  const gpukern_exec exec = exec_at(placement());
  ASSERT_EQ(gpukern_segment_reduce(&x, &bounds, GPUKERN_AXIS_NONE, &to, nullptr, &exec),
            GPUKERN_SUCCESS)
      << gpukern_last_error();
  out.storage.fetch();
  for (const std::int64_t at : out.offsets()) EXPECT_EQ(load<float>(out.storage.host, at), 0);
}

/// Arguments of a call that succeeds, for one change each.
struct Arguments {
  explicit Arguments(Placement placement)
      : source(placement, kFloat32, {4, 3}),
        index(placement, kInt32.dtype, {2}),
        offsets(placement, kInt64.dtype, {3}),
        weights(placement, kFloat32, {2}),
        out(placement, kFloat32, {2, 3}) {
    store_offsets(offsets, {1, 1});
    for (Memory* memory :
         {&source.storage, &index.storage, &offsets.storage, &weights.storage, &out.storage})
      memory->commit();
  }

  void expect(gpukern_status status, const std::string& beginning) {
    expect_error(BagCall{source, &index, offsets, &weights, axis, options, out}.run(exec), status,
                 "gather_reduce: " + beginning);
  }

  Array source, index, offsets, weights, out;
  std::int32_t axis = 0;
  gpukern_gather_reduce_options options = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  gpukern_exec exec = GPUKERN_EXEC_INIT;
};

TEST_P(SegmentReduceTest, ErrorsNameTheArgument) {
  const auto expect = [&](gpukern_status status, const std::string& beginning, auto&& change) {
    Arguments arguments(placement());
    arguments.exec = exec_at(placement());
    change(arguments);
    arguments.expect(status, beginning);
  };
  expect(GPUKERN_TYPE_ERROR, "index must be of an integer dtype, got float32",
         [](Arguments& a) { a.index.dtype = kFloat32; });
  expect(GPUKERN_TYPE_ERROR, "offsets must be of an integer dtype, got float64",
         [](Arguments& a) { a.offsets.dtype = kFloat64; });
  expect(GPUKERN_TYPE_ERROR, "source must be of a dtype that reduce 'sum' takes, got bool",
         [](Arguments& a) { a.source.dtype = {GPUKERN_BOOL, 8, 1}; });
  expect(GPUKERN_TYPE_ERROR, "source must be of a dtype that reduce 'mean' takes, got int32",
         [](Arguments& a) {
           a.source.dtype = kInt32.dtype;
           a.options.reduce = GPUKERN_REDUCE_MEAN;
         });
  expect(GPUKERN_TYPE_ERROR, "weights must have the source's dtype float32, got int32",
         [](Arguments& a) { a.weights.dtype = kInt32.dtype; });
  expect(GPUKERN_TYPE_ERROR, "out must have the source's dtype float32, got int32",
         [](Arguments& a) { a.out.dtype = kInt32.dtype; });
  expect(GPUKERN_VALUE_ERROR, "weights must have the index's shape (2,), got (1,)",
         [](Arguments& a) { a.weights.shape = {1}; });
  expect(GPUKERN_VALUE_ERROR, "weights must be left out unless reduce is sum",
         [](Arguments& a) { a.options.reduce = GPUKERN_REDUCE_MAX; });
  expect(GPUKERN_VALUE_ERROR, "index must have one dimension, got shape (1, 2)",
         [](Arguments& a) { a.index.shape = {1, 2}, a.index.strides = {2, 1}; });
  expect(GPUKERN_VALUE_ERROR, "offsets must have one dimension and one element or more, got shape",
         [](Arguments& a) { a.offsets.shape = {0}; });
  expect(GPUKERN_VALUE_ERROR, "offsets must have one dimension and one element or more, got shape",
         [](Arguments& a) { a.offsets.shape = {}, a.offsets.strides = {}; });
  expect(GPUKERN_VALUE_ERROR, "out must have shape (2, 3), got (2, 2)",
         [](Arguments& a) { a.out.shape = {2, 2}; });
  expect(GPUKERN_VALUE_ERROR, "reduce must be one of add (1), min (3), max (4), mean (5), got 2",
         [](Arguments& a) { a.options.reduce = GPUKERN_REDUCE_MULTIPLY; });
  expect(GPUKERN_VALUE_ERROR, "mode must be one of raise (0), wrap (1), clip (2), fill (3), got 4",
         [](Arguments& a) { a.options.mode = 4; });
  expect(GPUKERN_VALUE_ERROR, "options must have struct_size",
         [](Arguments& a) { a.options.struct_size = 4; });
  expect(GPUKERN_VALUE_ERROR, "offsets must be in [0, 2] and not fall, got offsets[1] = 3",
         [](Arguments& a) {
           store_offsets(a.offsets, {3, 0});
           a.offsets.storage.commit();
         });
}

TEST_P(SegmentReduceTest, SegmentsTakeRaiseAndClip) {
  for (const int mode : {1, 3, 4}) {
    Arguments a(placement());
    a.options.mode = mode;
    expect_error(BagCall{a.source, nullptr, a.offsets, nullptr, 0, a.options, a.out}.run(a.exec),
                 GPUKERN_VALUE_ERROR, "segment_reduce: mode must be raise (0) or clip (2), got ");
  }
}

GPUKERN_INSTANTIATE_PLACEMENTS(SegmentReduceTest);

}  // namespace
}  // namespace gpukern_test
