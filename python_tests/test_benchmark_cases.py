# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""What the cases of the benchmarks count, draw and write."""

import dataclasses

import numpy as np
import pytest

from benchmarks.suites.axes import AddPairs, GatherPairs, TakeAlongAxis, axes_tables
from benchmarks.suites.bag_cases import LONGEST, Bags, Segments, offsets_of
from benchmarks.suites.bags import bag_tables, segment_table
from benchmarks.suites.cases import ALONG_SHAPES, GI, KI, MI, size_text
from benchmarks.suites.scatter import checked_tables, put_tables
from benchmarks.suites.scatter_cases import Bincount, Scatter
from benchmarks.suites.selection import Compress, CountNonzero, Nonzero

pytestmark = pytest.mark.thread_unsafe(reason="replaces the peers of the whole process")


def test_a_rate_of_scatter_counts_what_it_moves():
    add = Scatter(4, 3, row_bytes=64)
    put = dataclasses.replace(add, reduce=None)
    assert add.work("GB/s") == pytest.approx(3 * 3 * 64e-9)
    assert put.work("GB/s") == pytest.approx(2 * 3 * 64e-9)
    assert put.work("Gupdate/s") == pytest.approx(3e-9)
    assert Scatter(2, 8).traffic == 8 * (8 + 4) + 2 * 2 * 4


def test_a_rate_of_bags_counts_rows_and_results():
    bags = Bags(20, "8", 16, 100, weights=True)
    assert bags.bags == 3
    assert bags.work("GB/s") == pytest.approx((20 + 3) * 64e-9)
    assert bags.traffic == (20 + 3) * 64 + 4 * 8 + 20 * (8 + 4)
    assert Segments(20, "all", 1).traffic == (20 + 1) * 4 + 2 * 8


@pytest.mark.parametrize("lengths", ["1", "10", "1 to 20", "zipf", "half", "all"])
@pytest.mark.parametrize("n", [2, 3, 50, 100_000])
def test_bags_have_all_items_and_none_is_empty(lengths, n):
    offsets = offsets_of(lengths, n)
    assert offsets.dtype == np.int64
    assert offsets[0] == 0
    assert offsets[-1] == n
    assert np.diff(offsets).min() > 0


def test_lengths_of_bags_follow_their_distribution():
    def found(lengths):
        return np.diff(offsets_of(lengths, 10**6))

    assert (found("1000") == 1000).all()
    assert found("all").tolist() == [10**6]
    assert sorted(set(found("1 to 20")[:-1])) == list(range(1, 21))
    assert np.flatnonzero(found("half") != 10).size == 1
    assert found("half").max() == 500_000
    zipf = found("zipf")
    assert zipf.max() <= LONGEST
    for least in (2, 10):
        assert np.mean(zipf >= least) == pytest.approx(1 / least, rel=0.1)


def test_a_rate_of_indexed_axes_counts_the_indices():
    along = TakeAlongAxis(10, 20, 1, taken=3)
    assert along.work("GB/s") == pytest.approx(10 * 3 * (8 + 4 + 4) * 1e-9)
    pairs = GatherPairs(10, 20, 30, row_length=5)
    assert pairs.work("GB/s") == pytest.approx(30 * (8 + 8 + 20 + 20) * 1e-9)
    add = AddPairs(2, 3, 30)
    assert add.traffic == 30 * (8 + 8 + 4) + 2 * 6 * 4
    assert add.work("Gupdate/s") == pytest.approx(30e-9)
    assert Bincount(30, 4, weights=True).traffic == 30 * (8 + 8) + 4 * 8
    assert CountNonzero(100, 50).traffic == Nonzero(100, 0).traffic == 100


def test_a_rate_of_compress_counts_what_must_be_read():
    few = Compress(10_000, 1)
    selected = np.flatnonzero(few.mask)
    sectors = np.unique(selected * 4 // 32).size
    assert sectors < 10_000 // 8 // 5
    assert few.traffic == 10_000 + 32 * sectors + 4 * selected.size
    assert Compress(1000, 100, "complex128").traffic == 1000 + 2 * 16 * 1000
    rows = Compress(100, 50, row_length=64)
    assert rows.work("GB/s") == pytest.approx((100 + 2 * 256 * rows.selected) * 1e-9)


def test_a_flat_index_has_the_items_of_the_others(rng):
    for case in (
        TakeAlongAxis(5, 7, 1, taken=3),
        TakeAlongAxis(5, 7, 0, taken=3),
        TakeAlongAxis(5, 7, 0),
    ):
        (index,), flat = case.draw(rng)
        source = rng.random(case.shape)
        taken = np.take_along_axis(source, index, case.axis)
        assert (source.reshape(-1)[flat] == taken).all()
    case = GatherPairs(5, 7, 20, row_length=2)
    indices, flat = case.draw(rng)
    source = rng.random(case.shape)
    assert (source.reshape(35, 2)[flat] == source[indices]).all()


def test_both_ways_along_an_axis_have_the_same_matrices():
    (take, *_), put = axes_tables(), put_tables()[2]
    whole = [case for case in take.cases if not case.has_flat]
    wanted = {(*shape, axis) for shape in ALONG_SHAPES for axis in (0, 1)}
    assert {(case.height, case.length, case.axis) for case in whole} == wanted
    assert {(case.height, case.length, case.axis) for case in put.cases} == wanted
    assert [case.index_shape for case in take.cases if case.has_flat] == [(8 * KI, 64)]
    for table in (take, put):
        assert sorted(case.axis for case in table.quick().cases) == [0, 1]


def test_bags_read_as_much_whatever_the_width_of_their_rows():
    sums = [case for case in bag_tables()[0].cases if case.row_length > 1]
    assert {case.n * case.row_bytes for case in sums} == {2 * GI}
    shapes = {(case.row_bytes, case.lengths) for case in sums}
    assert {(64, "1"), (64, "20"), (512, "100"), (1 * KI, "4"), (256, "half")} <= shapes


def test_segments_and_bins_have_the_sizes_of_the_targets():
    segments = {(case.n // int(case.lengths), case.row_length)
                for case in segment_table().cases if case.lengths == "64"}  # fmt: skip
    assert segments == {(MI, 1)}
    counted = {(case.n, case.bins) for case in checked_tables()[1].cases}
    assert (128 * MI, 64 * KI) in counted


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1"), (1024, "1Ki"), (128 * 2**20, "128Mi"), (320_000_000, "320M"), (1000, "1000")],
)
def test_sizes_are_written_short(number, text):
    assert size_text(number) == text
