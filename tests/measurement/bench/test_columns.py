"""Raw rows as columns: every number by hand."""

from __future__ import annotations

from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.measurement.bench.columns import columns_of, columns_of_run
from ridgeline.measurement.bench.report import Piece
from ridgeline.targets import CommandSample

NAMES = ("mono", "thread", "process", "queue", "system", "involuntary", "voluntary", "minor", "major", "process_system")


def rows(*samples: tuple[int, ...]) -> bytes:
    """Rows of start, end, collections, nanoseconds in them; behind each the sentinel, 0 where none is given."""
    return array("q", [value for sample in samples for value in (*sample, 0)[:5]]).tobytes()


def readings(*each: dict[str, int]) -> bytes:
    return array("q", [one.get(name, 0) for one in each for name in NAMES]).tobytes()


def test_samples_of_one_each() -> None:
    piece = Piece(
        rows=rows((1000, 3000, 5, 70), (4000, 5000, 6, 100)),
        counters=readings(
            {"thread": 10}, {"thread": 1910, "involuntary": 1}, {"thread": 2000, "involuntary": 1}, {"thread": 2900, "involuntary": 1, "minor": 3}
        ),
        block=1,
        inner=2,
        gc_before=(5, 60),
    )
    found = columns_of([piece], array("q", [100, 1100, 10]).tobytes())
    assert found.start_ns.tolist() == [1000, 4000]
    assert np.allclose(found.wall_s, [1e-6, 0.5e-6], rtol=1e-12)
    assert found.inner.tolist() == [2, 2]
    assert np.allclose(found.counters["thread_cpu_s"], [1900e-9, 900e-9], rtol=1e-12)
    assert found.counters["involuntary_switches"].tolist() == [1, 0]  # type: ignore[union-attr]
    assert found.counters["minor_faults"].tolist() == [0, 3]  # type: ignore[union-attr]
    assert found.counters["gc_collections"].tolist() == [0, 1]  # type: ignore[union-attr]
    assert np.allclose(found.counters["gc_s"], [10e-9, 30e-9], rtol=1e-12)
    assert np.allclose(found.batch_s, [100e-9], rtol=1e-12)
    assert found.batch_calls.tolist() == [10]


def test_a_block_spreads_what_flows_and_lays_what_happens_on_its_slowest_sample() -> None:
    piece = Piece(
        rows=rows((0 + 1, 101, 0, 0), (201, 501, 0, 0), (601, 701, 0, 0), (801, 901, 0, 0)),
        counters=readings(
            {},
            {"thread": 1000, "queue": 77, "involuntary": 2},
            {"thread": 1000, "queue": 77, "involuntary": 2},
            {"thread": 1400, "queue": 77, "involuntary": 2},
        ),
        block=3,
        inner=1,
        gc_before=(0, 0),
    )
    found = columns_of([piece])
    assert np.allclose(found.counters["thread_cpu_s"], np.array([200, 600, 200, 400]) * 1e-9, rtol=1e-12)
    assert found.counters["involuntary_switches"].tolist() == [0, 2, 0, 0]  # type: ignore[union-attr]
    assert np.allclose(found.counters["run_queue_s"], np.array([0, 77, 0, 0]) * 1e-9, rtol=1e-12)
    assert found.block == 3


def test_what_the_kernel_does_not_tell_is_null_and_rows_not_reached_are_no_samples() -> None:
    piece = Piece(
        rows=rows((10, 20, 0, 0), (0, 0, 0, 0)), counters=readings({"queue": -1}, {"queue": -1, "thread": 5}), block=1, inner=1, gc_before=(0, 0)
    )
    found = columns_of([piece])
    assert len(found.wall_s) == 1
    assert found.counters["run_queue_s"] is None
    assert found.counters["thread_cpu_s"] is not None


def test_a_process_that_took_nothing_has_empty_columns() -> None:
    found = columns_of([])
    assert len(found.wall_s) == 0
    assert found.warmup == 0
    assert set(found.counters.values()) == {None}


@given(
    spans=st.lists(st.integers(1, 10**9), min_size=1, max_size=40),
    block=st.integers(1, 9),
    totals=st.lists(st.integers(0, 10**6), min_size=40, max_size=40),
)
def test_nothing_is_lost_or_made_up_when_blocks_are_laid_out(spans: list[int], block: int, totals: list[int]) -> None:
    starts = np.concatenate([[1], 1 + np.cumsum(spans)[:-1]])
    taken = [(int(start), int(start) + span, 0, 0) for start, span in zip(starts, spans, strict=True)]
    blocks = -(-len(spans) // block)
    counted = [reading for total in totals[:blocks] for reading in ({}, {"thread": total, "minor": total})]
    found = columns_of([Piece(rows=rows(*taken), counters=readings(*counted), block=block, inner=1, gc_before=(0, 0))])
    assert found.counters["minor_faults"].sum() == sum(totals[:blocks])  # type: ignore[union-attr]
    assert np.isclose(found.counters["thread_cpu_s"].sum(), sum(totals[:blocks]) * 1e-9, rtol=1e-9)  # type: ignore[union-attr]


def test_warm_up_is_found_in_the_whole_series_of_a_process() -> None:
    spans = [9000] * 10 + [1000 + i % 3 for i in range(90)]
    starts = np.cumsum([0, *spans[:-1]]) + 1
    taken = [(int(start), int(start) + span, 0, 0) for start, span in zip(starts, spans, strict=True)]
    pieces = [Piece(rows=rows(*part), counters=b"", block=1, inner=1, gc_before=(0, 0)) for part in (taken[:5], taken[5:60], taken[60:])]
    assert columns_of(pieces).warmup == 10


def test_a_run_of_a_command() -> None:
    run = CommandSample(
        wall_s=0.5, user_s=0.3, system_s=0.1, minor_faults=7, major_faults=1, voluntary_switches=2, involuntary_switches=3, run_queue_s=None
    )
    found = columns_of_run(77, run)
    assert found.start_ns.tolist() == [77]
    assert found.wall_s.tolist() == [0.5]
    assert np.allclose(found.counters["process_cpu_s"], [0.4])
    assert found.counters["run_queue_s"] is None
    assert found.counters["major_faults"].tolist() == [1]  # type: ignore[union-attr]


def test_a_sample_has_the_longer_of_the_sentinels_around_it() -> None:
    behind = (0, 20, 0, 0, 10, 0)
    taken = [(10 * at + 1, 10 * at + 5, 0, 0, sentinel) for at, sentinel in enumerate(behind)]
    found = columns_of([Piece(rows=rows(*taken), counters=b"", block=1, inner=1, gc_before=(0, 0))])
    assert found.sentinel_s is not None
    assert np.allclose(found.sentinel_s, np.array([20, 20, 20, 20, 20, 10]) * 1e-9, rtol=1e-12)
    without = columns_of([Piece(rows=rows((1, 5, 0, 0)), counters=b"", block=1, inner=1, gc_before=(0, 0))])
    assert without.sentinel_s is None
