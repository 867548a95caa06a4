"""Times of a graph's nodes, against the same in Python; what no graph can be is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline import _native


def edges(seed: int, nodes: int, count: int):
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, nodes, (count, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    pairs = pairs[np.argsort(pairs[:, 1], kind="stable")].astype(np.int32)
    return pairs[:, 0].copy(), pairs[:, 1].copy(), rng.integers(0, 100, len(pairs))


@pytest.mark.parametrize("seed", range(20))
def test_each_node_as_early_and_as_late_as_its_edges_let_it(seed):
    source, target, weight = edges(seed, 40, 120)
    early = [0] * 40
    for a, b, after in zip(source.tolist(), target.tolist(), weight.tolist(), strict=True):
        early[b] = max(early[b], early[a] + after)
    late = [max(early)] * 40
    for a, b, after in reversed(list(zip(source.tolist(), target.tolist(), weight.tolist(), strict=True))):
        late[a] = min(late[a], late[b] - after)
    times = np.zeros(40, np.int64)
    _native.earliest(times, source, target, weight)
    assert times.tolist() == early
    times = np.full(40, max(early))
    _native.latest(times, source, target, weight)
    assert times.tolist() == late


def test_no_edges():
    times = np.array([5])
    _native.earliest(times, np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))
    assert times.tolist() == [5]


@pytest.mark.parametrize("relax", [_native.earliest, _native.latest])
@pytest.mark.parametrize(
    ("times", "source", "target", "weight"),
    [
        ([0, 0], [2], [1], [1]),
        ([0, 0], [0], [-1], [1]),
        ([2**62, -(2**62) - 1], [0], [1], [2**62]),
        ([0, 0], [0, 1], [1], [1]),
        ([0, 0], [0], [1], [1, 2]),
    ],
)
def test_what_is_no_graph(relax, times, source, target, weight):
    with pytest.raises(ValueError, match=r"edge 0: a node that is not there|as many sources and targets"):
        relax(np.array(times, np.int64), np.array(source, np.int32), np.array(target, np.int32), np.array(weight, np.int64))


def test_what_can_not_be_written_is_refused():
    times = np.zeros(2, np.int64)
    times.flags.writeable = False
    one = np.zeros(1, np.int32)
    with pytest.raises((BufferError, TypeError, ValueError)):
        _native.earliest(times, one, one, np.zeros(1, np.int64))
