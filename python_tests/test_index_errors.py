# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""deferred_errors(): a bad index on a GPU raises at the end of a block, not in its call."""

import asyncio
import gc
import threading

import numpy as np
import pytest

import gpukern

SOURCE = np.arange(4.0)
FIRST = r"^index 4 is out of bounds for axis 0 with size 4 \(call 0, gather, index 1 in C order\)$"


# ---- host arrays ----


def test_host_arrays_raise_at_once():
    out = np.full(2, 7.0)
    with gpukern.deferred_errors() as errors:
        with pytest.raises(IndexError, match=r"^index 4 is out of bounds for axis 0 with size 4$"):
            gpukern.gather(SOURCE, [0, 4], out=out)
        errors.check()
        assert gpukern.gather(SOURCE, [3]).tolist() == [3]
    assert out.tolist() == [7, 7]


def test_a_block_is_open_in_one_thread():
    raised = []

    def enter(errors):
        try:
            with errors:
                pass
        except ValueError as error:
            raised.append(str(error))

    with gpukern.deferred_errors() as errors:
        other = threading.Thread(target=enter, args=(errors,))
        other.start()
        other.join()
    assert raised == ["deferred_errors: the block is open in another thread"]


def test_tasks_may_share_a_block():
    async def enter(errors):
        with errors:
            await asyncio.sleep(0.01)

    async def enter_twice():
        errors = gpukern.deferred_errors()
        await asyncio.gather(enter(errors), enter(errors))
        with pytest.raises(ValueError, match=r"^deferred_errors: the block is not open$"):
            errors.__exit__(None, None, None)

    asyncio.run(enter_twice())


def test_blocks_nest_and_let_exceptions_pass():
    with gpukern.deferred_errors() as outer:
        with pytest.raises(KeyError, match="mine"), gpukern.deferred_errors():
            raise KeyError("mine")
        with outer:
            outer.check()
    outer.check()


# ---- arrays on a GPU ----

gpu = pytest.mark.gpu


@pytest.fixture
def on_gpu():
    """The source, and a good and a bad index."""
    return tuple(map(gpukern.to_device, (SOURCE, np.array([3, 0, -4]), np.array([3, 4, 9]))))


@gpu
def test_the_end_of_the_block_raises(on_gpu):
    source, good, bad = on_gpu
    found = []
    with pytest.raises(IndexError, match=FIRST), gpukern.deferred_errors():
        found = [gpukern.gather(source, index) for index in (bad, good)]
    assert found[0].numpy().tolist() == [3, 0, 0]
    assert found[1].numpy().tolist() == [3, 0, 0]
    with pytest.raises(IndexError, match=r"^index 4 is out of bounds for axis 0 with size 4$"):
        gpukern.gather(source, bad)  # outside the block


@gpu
def test_check_raises_in_the_middle(on_gpu):
    source, good, bad = on_gpu
    with gpukern.deferred_errors() as errors:
        gpukern.gather(source, good)
        errors.check()
        gpukern.gather(source, bad)
        with pytest.raises(IndexError, match=r"\(call 1, gather, index 1 in C order\)"):
            errors.check()
        errors.check()


@gpu
def test_targets_are_written_where_indices_are_good(on_gpu):
    _, _, bad = on_gpu
    target = gpukern.to_device(np.zeros(4))
    with pytest.raises(IndexError, match=r"\(call 0, scatter, index 1"), gpukern.deferred_errors():
        gpukern.scatter(target, bad, gpukern.to_device(np.array([1.0, 2, 3])), reduce="add")
    assert target.numpy().tolist() == [0, 0, 0, 1]


@gpu
def test_a_call_with_other_bad_arguments_records_nothing():
    target = gpukern.to_device(np.zeros((4, 4)))
    rows = gpukern.to_device(np.array([9]))
    values = gpukern.to_device(np.zeros(3))
    with gpukern.deferred_errors() as errors:
        with pytest.raises(ValueError, match="values must broadcast to shape"):
            gpukern.scatter(target, (rows, rows), values)
        errors.check()


@gpu
def test_compress_raises_at_once():
    x = gpukern.to_device(np.arange(3.0))
    out = gpukern.to_device(np.full(5, 7.0))
    mask = gpukern.to_device(np.ones(5, bool))
    with gpukern.deferred_errors():
        for given in (None, out):
            with pytest.raises(IndexError, match="mask must be zero beyond the 3 items of x"):
                gpukern.compress(mask, x, out=given)
    assert out.numpy().tolist() == [7] * 5


def end_by_an_exception(errors, *calls):
    with errors:
        for source, index in calls:
            gpukern.gather(source, index)
        raise KeyError("mine")


@gpu
def test_an_exception_of_the_block_passes(on_gpu):
    source, _, bad = on_gpu
    with pytest.raises(KeyError, match="mine"):
        end_by_an_exception(gpukern.deferred_errors(), (source, bad))


@gpu
def test_a_block_belongs_to_its_thread(on_gpu):
    source, _, bad = on_gpu
    raised = []

    def call():
        try:
            gpukern.gather(source, bad)
        except IndexError as error:
            raised.append(str(error))

    with gpukern.deferred_errors():
        other = threading.Thread(target=call)
        other.start()
        other.join()
    assert raised == ["index 4 is out of bounds for axis 0 with size 4"]


@gpu
def test_a_closed_block_takes_no_calls(on_gpu):
    source, _, bad = on_gpu

    async def later(entered):
        await entered.wait()
        with gpukern.deferred_errors():  # another block is open meanwhile
            pass
        gpukern.gather(source, bad)

    async def enter():
        entered = asyncio.Event()
        with gpukern.deferred_errors():
            task = asyncio.create_task(later(entered))
            await asyncio.sleep(0)
        other = gpukern.deferred_errors()
        with other:
            entered.set()
            with pytest.raises(IndexError, match=r"^index 4 is out of bounds .* size 4$"):
                await task

    asyncio.run(enter())


@gpu
def test_a_graph_outlives_its_block():
    torch = pytest.importorskip("torch")
    source = torch.arange(4.0, device="cuda")
    index = torch.tensor([3, 0], device="cuda")
    out = torch.empty(2, device="cuda")
    gpukern.gather(source, index, out=out)  # loads the kernels
    graph = torch.cuda.CUDAGraph()
    with gpukern.deferred_errors(), torch.cuda.graph(graph):
        gpukern.gather(source, index, out=out)
    gc.collect()
    index[0] = 9
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert out.tolist() == [0, 0]


@gpu
def test_the_first_bad_index_of_a_tuple():
    source = gpukern.to_device(np.arange(12.0).reshape(3, 4) + 1)
    rows = gpukern.to_device(np.array([[0], [2]]))
    columns = gpukern.to_device(np.array([3, 4, 1]))
    words = (
        r"^index 4 is out of bounds for axis 1 with size 4 \(call 0, gather, index 1 in C order\)"
    )
    with pytest.raises(IndexError, match=words), gpukern.deferred_errors():
        found = gpukern.gather(source, (rows, columns))
    assert found.numpy().tolist() == [[4, 0, 2], [12, 0, 10]]


@gpu
def test_bincount_names_the_number():
    with (
        gpukern.deferred_errors(),
        pytest.raises(IndexError, match=r"^bincount: index must be in \[0, 3\)$"),
    ):
        gpukern.bincount(gpukern.to_device(np.array([1, -1])), size=3)


@gpu
def test_a_dropped_block_waits_for_its_calls(on_gpu):
    source, good, bad = on_gpu
    large = gpukern.to_device(np.zeros(1 << 22, np.int64))
    for _ in range(50):
        with pytest.raises(KeyError):
            end_by_an_exception(gpukern.deferred_errors(), (source, large), (source, bad))
        gc.collect()
    assert gpukern.gather(source, good).numpy().tolist() == [3, 0, 0]


@gpu
def test_torch_streams_and_graphs():
    torch = pytest.importorskip("torch")
    source = torch.arange(4.0, device="cuda")
    index = torch.tensor([3, 0, 1], device="cuda")
    out = torch.empty(3, device="cuda")
    errors = gpukern.deferred_errors()
    with errors:
        gpukern.gather(source, index, out=out)  # loads the kernels
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gpukern.gather(source, index, out=out)
    for value in (1, 4, 2):
        index[2] = value
        graph.replay()
        torch.cuda.synchronize()
        if value < 4:
            errors.check()
        else:
            with pytest.raises(IndexError, match=r"^index 4 .* \(call 1, gather, index 2"):
                errors.check()
    stream = torch.cuda.Stream()
    with pytest.raises(IndexError, match=r"^index 7"), errors, torch.cuda.stream(stream):
        gpukern.gather(source, torch.tensor([7], device="cuda"))
