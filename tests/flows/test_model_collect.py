"""Collecting: rows are kept as they come, gone on with, cleaned of a neighbour, and add up to what was measured."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ridgeline.core import BackendUnavailable, LatencyTable, ReadError, RidgelineError, TargetFailed, UsageError, Workload
from ridgeline.core.documents import decode
from ridgeline.core.executor import Outcome, Piece
from ridgeline.flows.collecting.journal import Head, Journal, Measured
from ridgeline.flows.collecting.planning import asked, errors_left_out, plan
from ridgeline.flows.collecting.rows import Around, around, blurred, disturbed, operator_s, table
from ridgeline.flows.model_collect import collect
from ridgeline.machine import read_machine
from ridgeline.measurement.onnx_blocks import BlockTime
from ridgeline.model.design import first
from ridgeline.targets.onnx_blocks import block

CALL_S, IDLE_S, USUAL = 4e-6, 2e-7, 3e11


def seconds_of(work: Workload) -> float:
    """A machine that moves 10 GB/s and does nothing else."""
    return 1e-9 * float(work.reuse_bytes or 1.0) ** 0.5 + 1e-6


class Machine:
    """An executor that answers `most` pieces from the formula; `busy` says for which one a neighbour runs, `fails` which one does not run."""

    def __init__(
        self, busy: Callable[[int], bool] = lambda number: False, fails: Callable[[int], bool] = lambda number: False, most: int = 150
    ) -> None:
        self.busy, self.fails, self.most, self.asked = busy, fails, most, 0

    def run(self, pieces: Iterable[Piece], returns: type[Any]) -> Iterator[Outcome[Any]]:
        for number, piece in enumerate(pieces):
            if number >= self.most:
                return
            self.asked += 1
            if self.fails(number):
                failure: RidgelineError = TargetFailed("an operator that runs", found="one that does not", remedy="none")
                yield Outcome(number, None, failure)
                continue
            yield Outcome(number, answer(piece, self.busy(number)), None)


def answer(piece: Piece, busy: bool = False) -> BlockTime:
    work, copies = piece.arguments["work"], piece.arguments["copies"]
    if work.kind == "call":
        total = CALL_S + 2 * copies * IDLE_S
        return timed(work, copies, copies, total, busy)
    placed = msgspec.structs.replace(work, reuse_bytes=1e6 * copies, age_bytes=1e6)
    return timed(placed, copies, copies, CALL_S + copies * (IDLE_S + seconds_of(placed)), busy)


def timed(work: Workload, copies: int, idle: int, total: float, busy: bool) -> BlockTime:
    total *= 2.0 if busy else 1.0
    return BlockTime(
        work=work, copies=copies, idle=idle, least_s=total, lower_s=total, median_s=total, upper_s=total, samples=9,
        quiet_flop_per_s=USUAL * (0.5 if busy else 1.0),
    )  # fmt: skip


def head(**changed: Any) -> Head:
    return Head(**{"machine": "m", "fingerprint": "f", "software": {"onnxruntime": "1"}, "threads": 0, "seed": 0, "started": "2026-01-01", **changed})


def test_the_operator_is_what_calls_and_idle_operators_leave(tmp_path: Path) -> None:
    """Every row of the table is the formula's latency, though blocks hold calls, idle operators and copies."""
    found = collect(str(tmp_path / "t.json"), seconds=600.0, executor=Machine())
    assert len(found) > 50
    for index in range(len(found)):
        work = found.workload(index)
        if work.kind == "call":
            assert found.latency_s.values[index] == pytest.approx(CALL_S + work.sizes["nodes"] * IDLE_S)
        else:
            assert found.latency_s.values[index] == pytest.approx(seconds_of(work), rel=1e-6)


def test_a_call_in_the_table_is_one_with_arrays() -> None:
    """What is taken off blocks is the call with bound operands; what a user pays is the one with arrays."""
    block_time = timed(Workload(kind="call", sizes={"nodes": 4}), 2, 2, CALL_S, False)
    with_arrays = msgspec.structs.replace(block_time, run_s=3 * CALL_S)
    rows = [Measured(form="call", number=-1, spent_s=0.1, block=each) for each in (with_arrays, msgspec.structs.replace(with_arrays, idle=6))]
    assert table(head(), rows, "t").latency_s.values.tolist() == [3 * CALL_S, 3 * CALL_S]
    assert around(rows) == Around(CALL_S, 0.0)


def test_rows_whose_threads_waited_for_processors_are_measured_again() -> None:
    quiet = timed(Workload(kind="elementwise", variant="Erf", sizes={"elements": 8}), 2, 2, 1e-5, False)
    rows = [
        Measured(form="one operand", number=place, spent_s=0.1, block=msgspec.structs.replace(quiet, waited_share=share))
        for place, share in enumerate((0.0, 0.04, 0.3))
    ]
    assert disturbed(rows) == [False, False, True]


def test_the_file_is_the_table(tmp_path: Path) -> None:
    found = collect(str(tmp_path / "t.json"), seconds=600.0, executor=Machine())
    kept = decode((tmp_path / "t.json").read_bytes(), LatencyTable)
    assert kept == found
    assert len(kept.devices) == 1


@pytest.mark.parametrize("threads", [0, 1])
def test_the_table_says_with_how_many_threads(tmp_path: Path, threads: int) -> None:
    found = collect(str(tmp_path / "t.json"), seconds=600.0, threads=threads, executor=Machine())
    assert found.threads(found.devices[0]) == threads
    assert found.machine(found.devices[0]) == read_machine().fingerprint
    assert f"threads: {threads or 'its own choice'}" in found.source


def test_rows_beside_a_neighbour_are_left_out_and_said(tmp_path: Path) -> None:
    found = collect(str(tmp_path / "t.json"), seconds=600.0, executor=Machine(busy=lambda number: number % 4 == 1))
    for index in range(len(found)):
        work = found.workload(index)
        if work.kind != "call":
            assert found.latency_s.values[index] == pytest.approx(seconds_of(work), rel=1e-6)
    (why,) = found.excluded
    assert "another process" in why.reason
    assert why.events > 10
    assert why.first.startswith("t.json row ")


def test_a_machine_that_is_busy_throughout_is_told_by_its_probe() -> None:
    piece = Piece("", {"work": Workload(kind="call", sizes={"nodes": 2}), "copies": 1})
    rows = [Measured(form="x", number=place, spent_s=0.0, block=answer(piece, True)) for place in range(20)]
    assert not any(disturbed(rows))
    assert all(disturbed(rows, USUAL))
    assert len(table(head(peak_flop_per_s=USUAL), rows, "t")) == 0


def test_what_does_not_run_is_said(tmp_path: Path) -> None:
    found = collect(str(tmp_path / "t.json"), seconds=600.0, executor=Machine(fails=lambda number: number % 5 == 2))
    assert any("did not run" in each.reason for each in found.excluded)


def test_going_on_measures_nothing_twice(tmp_path: Path) -> None:
    """Interrupted in the middle, cut in the last line: what stood stays, the design goes on behind it."""
    out = tmp_path / "t.json"
    machine = Machine(busy=interrupting(60))
    with pytest.raises(KeyboardInterrupt):
        collect(str(out), seconds=600.0, executor=machine)
    rows = out.with_name("t.json.rows")
    before = rows.read_bytes()
    assert before.count(b"\n") == 61
    assert len(decode(out.read_bytes(), LatencyTable)) == 60
    rows.write_bytes(before + b'{"form":"soft')
    spent = sum(msgspec.json.decode(line)["spent_s"] for line in before.splitlines()[1:])
    collect(str(out), seconds=spent + 600.0, resume=True, executor=Machine())
    after = rows.read_bytes()
    assert after.startswith(before)
    numbers = [row["number"] for row in map(msgspec.json.decode, after.splitlines()[1:]) if row["form"] != "call"]
    assert len(numbers) > 60
    assert len(set(numbers[:120])) == len(numbers[:120])


def test_a_runtime_that_is_not_there_ends_it(tmp_path: Path) -> None:
    class Without(Machine):
        def run(self, pieces: Iterable[Piece], returns: type[Any]) -> Iterator[Outcome[Any]]:
            for number, _ in enumerate(pieces):
                yield Outcome(number, None, BackendUnavailable("onnxruntime", found="not installed", remedy="install it"))

    with pytest.raises(BackendUnavailable):
        collect(str(tmp_path / "t.json"), seconds=600.0, executor=Without())


def interrupting(at: int) -> Callable[[int], bool]:
    def busy(number: int) -> bool:
        if number == at:
            raise KeyboardInterrupt
        return False

    return busy


def test_rows_that_are_there_are_not_begun_again(tmp_path: Path) -> None:
    out = str(tmp_path / "t.json")
    collect(out, seconds=600.0, executor=Machine())
    with pytest.raises(UsageError, match="--resume"):
        collect(out, seconds=600.0, executor=Machine())


@pytest.mark.parametrize("changed", [{"fingerprint": "other"}, {"seed": 3}, {"threads": 1}, {"software": {"onnxruntime": "2"}}])
def test_another_machine_does_not_go_on(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = str(tmp_path / "rows")
    Journal(path, head(), resume=False).close()
    with pytest.raises(UsageError, match=next(iter(changed))):
        Journal(path, head(**changed), resume=True)


def test_two_collections_do_not_write_one_journal(tmp_path: Path) -> None:
    path = str(tmp_path / "rows")
    with Journal(path, head(), resume=False), pytest.raises(UsageError, match="no other process"):
        Journal(path, head(), resume=True)
    Journal(path, head(), resume=True).close()


@pytest.mark.parametrize("content", [b"\x00\x01\n", b"[]\n", b'{"schema":"ridgeline.collecting/9"}\n', b"\xff\xfe\n", b"{}\n{}\n", b"no line"])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(ReadError):
        Journal(str(path), head(), resume=True)
    assert path.read_bytes() == content


@pytest.mark.parametrize("out", ["", "missing/t.json", "."])
def test_a_table_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path, out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    machine = Machine()
    with pytest.raises(UsageError):
        collect(out or str(tmp_path), seconds=600.0, executor=machine)
    assert machine.asked == 0


def test_calls_by_hand() -> None:
    def call(copies: int, total: float) -> Measured:
        return Measured(form="call", number=0, spent_s=0.0, block=timed(Workload(kind="call", sizes={"nodes": 2}), copies, copies, total, False))

    rows = [call(1, 5e-6), call(10, 14e-6), call(20, 24e-6)]
    found = around(rows)
    assert found.idle_s == pytest.approx(0.5e-6)
    assert found.call_s == pytest.approx(4e-6)
    relu = timed(Workload(kind="elementwise", variant="Relu", sizes={"elements": 4}), 10, 10, 39e-6, False)
    assert operator_s(Measured(form="", number=0, spent_s=0.0, block=relu), found) == pytest.approx(3e-6)


def test_writers_are_taken_off_with_their_call() -> None:
    """39 µs of ten operators and ten that do nothing, behind writers that take 14 µs alone: 25 µs less 10 × 0.5, by hand."""
    relu = timed(Workload(kind="elementwise", variant="Relu", sizes={"elements": 4}), 10, 10, 39e-6, False)
    row = Measured(form="", number=0, spent_s=0.0, block=msgspec.structs.replace(relu, writers_s=14e-6))
    assert operator_s(row, Around(call_s=4e-6, idle_s=0.5e-6)) == pytest.approx(2e-6)


@pytest.mark.parametrize(("spread_s", "lost"), [(1e-6, False), (20e-6, True)])
def test_an_operator_that_is_lost_in_its_writers_is_left_out(spread_s: float, lost: bool) -> None:
    """Medians of nine calls each with quartiles 20 µs apart are sure to 6 µs: more than a tenth of ten operators of 2 µs."""
    relu = timed(Workload(kind="elementwise", variant="Relu", sizes={"elements": 4}), 10, 10, 220e-6, False)
    row = Measured(form="", number=0, spent_s=0.0, block=msgspec.structs.replace(relu, writers_s=200e-6, writers_spread_s=spread_s))
    assert blurred(row, Around(call_s=0.0, idle_s=0.0)) == lost
    found = table(head(), [row], "t")
    assert len(found) == (0 if lost else 1)
    assert [each.events for each in found.excluded] == ([1] if lost else [])


def test_where_it_errs_is_asked_after_the_even_part() -> None:
    """Beyond the even part of the time the plan draws from forms by their errors, from what was measured by then."""
    rows: list[Measured] = []
    part = [0.0]
    forms: list[str] = []
    for number, each in enumerate(itertools.islice(plan(rows, 0, lambda: part[0]), 1700)):
        piece = Piece("", {"work": each.work, "copies": each.copies})
        time = answer(piece)
        noise = 1.0 + (3.0 * ((number * 7) % 5) if each.form == "softmax" else 0.0)
        rows.append(Measured(form=each.form, number=each.number, spent_s=0.0, block=msgspec.structs.replace(time, median_s=time.median_s * noise)))
        forms.append(each.form)
        if number == 1300:
            part[0] = 0.7
    errors = {form: float(np.mean([error for _, error in known])) for form, known in errors_left_out(rows[:1300]).items() if len(known) > 8}
    assert max(errors, key=errors.__getitem__) == "softmax"
    assert forms[1302:].count("softmax") / 398 > 3 * forms[:1300].count("softmax") / 1300


def test_blocks_differ_in_what_they_touch() -> None:
    """Weights and inputs come from near and far, so that a model can tell what that costs; the same number gives the same block."""
    blocks = [asked(form, number, work, 0) for number, (form, work) in enumerate(itertools.islice(first(0), 600))]
    found = [each for each in blocks if each is not None and each.form == "product"]
    assert asked(found[0].form, found[0].number, found[0].work, 0) == found[0]
    assert {each.order for each in found} == {"turn", "first"}
    assert {each.order for each in blocks if each is not None and each.form == "one operand"} == {"turn", "first", "kept"}
    assert len({each.copies for each in found}) > 5
    assert all(2 <= each.copies <= 64 for each in found)


def test_weights_that_no_cache_keeps_stand_alone() -> None:
    """A layer of 400 MB is measured without a second one beside it."""
    work = Workload(kind="gemm", variant="Gemm", sizes={"m": 1, "n": 4096, "k": 25088})
    found = asked("fully connected", 3, work, 0)
    assert found is not None
    assert found.copies == 1


def test_a_row_of_a_table_is_a_block_s_operator() -> None:
    """From a real block to a row and back, with the distances that it has there."""
    pytest.importorskip("onnx", reason="onnx, which makes the models, is not installed")
    work = Workload(kind="pooling", variant="MaxPool", layout="NCHWc", sizes={"n": 1, "c": 16, "h": 8, "w": 8, "p": 4, "q": 4, "r": 2, "s": 2})
    made = block(work, 4)
    rows = [Measured(form="pooling", number=0, spent_s=0.0, block=timed(made.work, 4, 4, 1e-4, False))]
    found = table(head(), rows, "t")
    assert found.workload(0) == made.work
