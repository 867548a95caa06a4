"""What one process does: numbers of calls and samples, never times."""

from __future__ import annotations

import gc
import subprocess
import sys
import time

import numpy as np
import pytest

from ridgeline.measurement.bench.columns import columns_of
from ridgeline.measurement.bench.middle import median
from ridgeline.measurement.bench.overhead import measured_overhead, synchronising_s
from ridgeline.measurement.bench.plan import ProcessPlan
from ridgeline.measurement.bench.process import measure_process
from ridgeline.measurement.bench.report import Piece


def test_so_many_samples_as_were_asked_for_and_every_call_counted() -> None:
    calls = [0]

    def call() -> None:
        calls[0] += 1

    found = measure_process(call, ProcessPlan(seconds=0.05, samples=37))
    columns = columns_of(found.pieces, found.batches.tobytes())
    assert len(columns.wall_s) == 37
    assert calls[0] == int(columns.inner.sum()) + int(columns.batch_calls.sum())
    assert (columns.wall_s > 0).all()
    assert (columns.start_ns[1:] >= columns.start_ns[:-1]).all()


def test_a_fast_call_is_made_several_times_in_a_sample_and_in_batches() -> None:
    found = measure_process(int, ProcessPlan(seconds=0.05))
    columns = columns_of(found.pieces, found.batches.tobytes())
    assert len(columns.wall_s) <= 2000
    first = int(np.argmax(columns.inner > 1))
    assert first >= 5, "the first calls are kept one by one"
    assert (columns.inner[first:] == columns.inner[-1]).all()
    assert columns.inner[-1] > 1
    assert len(columns.batch_s) >= 1
    assert (columns.batch_calls >= 2).all()


def test_the_fewest_calls_are_made_beside_the_batches_and_where_later_ones_take_longer() -> None:
    calls = [0]

    def slower() -> None:
        calls[0] += 1
        time.sleep(0.001 if calls[0] < 6 else 0.01)

    for call in (lambda: time.sleep(0.005), slower):
        found = measure_process(call, ProcessPlan(seconds=0.001, calls=20, most_s=20.0))
        assert len(columns_of(found.pieces).wall_s) >= 20


def test_a_batch_is_long_only_where_a_wait_is_spread_over_it() -> None:
    alone = measure_process(int, ProcessPlan(seconds=0.05))
    waited = measure_process(int, ProcessPlan(seconds=0.05), synchronise=lambda result: None)
    sizes = [int(columns_of(found.pieces, found.batches.tobytes()).batch_calls.max()) for found in (alone, waited)]
    assert sizes[1] > 1.5 * sizes[0]


def test_a_slow_call_is_made_once_a_sample_at_least_once() -> None:
    calls = [0]

    def call() -> None:
        calls[0] += 1
        time.sleep(0.02)

    found = measure_process(call, ProcessPlan(seconds=0.001, most_s=0.01))
    columns = columns_of(found.pieces, found.batches.tobytes())
    assert len(columns.wall_s) >= 1
    assert (columns.inner == 1).all()
    assert calls[0] == len(columns.wall_s)


def test_inputs_and_hooks() -> None:
    seen: list[int] = []
    batches: list[int] = []
    found = measure_process(
        lambda: time.sleep(0.0002),
        ProcessPlan(seconds=0.05, samples=20),
        before=seen.append,
        before_batch=batches.append,
        input_of=lambda index: index % 3,
    )
    columns = columns_of(found.pieces, found.batches.tobytes())
    assert seen == list(range(20))
    assert columns.inputs.tolist() == [index % 3 for index in range(20)]
    assert len(batches) == len(columns.batch_s)
    assert columns.block == 1


def test_no_batches_with_cold_caches() -> None:
    found = measure_process(int, ProcessPlan(seconds=0.02, cache="cold", samples=30), before=lambda index: None)
    assert len(found.batches) == 0
    assert len(columns_of(found.pieces).wall_s) == 30


def test_pieces_are_handed_over_as_they_come_each_once() -> None:
    handed: list[Piece] = []
    found = measure_process(lambda: time.sleep(0.3), ProcessPlan(seconds=0.1, samples=6), hand_over=handed.append)
    assert len(handed) >= 2
    assert handed == found.pieces[: len(handed)]


def test_what_the_call_raises_passes_and_the_collector_is_left_as_it_was() -> None:
    before = list(gc.callbacks)
    with pytest.raises(ZeroDivisionError):
        measure_process(lambda: 1 / 0, ProcessPlan(seconds=0.01))
    assert gc.callbacks == before


def test_synchronisation_is_timed_apart() -> None:
    waited: list[object] = []
    found = measure_process(lambda: "result", ProcessPlan(seconds=0.01, samples=10), synchronise=waited.append)
    assert found.overhead.synchronise_s is not None
    assert set(waited) == {"result"}
    assert synchronising_s(lambda: 1, lambda value: time.sleep(0.001)) >= 0.001


def test_costs_are_above_nothing() -> None:
    found = measured_overhead()
    assert found.timer_s > 0
    assert found.batched_iteration_s > 0
    assert found.bare_s > 0
    assert found.sample_s >= 0


def test_a_process_that_is_measured_loads_little_of_ours_and_nothing_heavy() -> None:
    """What each fresh process imports is paid in every comparison, process by process."""
    program = (
        "import sys; from ridgeline.machine.child import main; import ridgeline.measurement.agent.bench, ridgeline.targets.python;"
        "heavy = {'numpy', 'scipy', 'asyncio', 'statistics', 'shutil', 'pathlib', 'importlib.metadata', 'subprocess', 'click', 'rich', 'sqlalchemy'};"
        "ours = {'ridgeline.core.facts', 'ridgeline.core.verdict', 'ridgeline.machine.worker', 'ridgeline.stats', 'ridgeline.flows'};"
        "editable = any('editable' in name for name in sys.modules);"
        "print(sorted(set(sys.modules) & (heavy | ours) - ({'pathlib'} if editable else set())))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_the_median_of_a_few() -> None:
    assert median([5]) == 5
    assert median([3, 1]) == 2
    assert median(iter([9, 1, 5])) == 5
