"""`model collect`: measure operators of this machine's runtime and keep them as a table that a model can be trained on.

What to measure is decided in `model.design`, how in `measurement.onnx_blocks`; this module decides how long, in which process, and what is written
when. Rows are kept as they come; the table is written at the end, also when the time is cut short.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from ridgeline.core import BackendUnavailable, LatencyTable, UsageError
from ridgeline.core.documents import encode
from ridgeline.core.executor import Executor, Piece
from ridgeline.machine import Limits, OneWorker, read_machine, software_versions, write_atomic
from ridgeline.measurement.onnx_blocks import BlockTime

from .collecting.journal import Head, Journal, Measured
from .collecting.planning import Asked, plan
from .collecting.rows import table
from .probe import probe

__all__ = ["collect"]

Report = Callable[[str, float | None], None]

_BLOCK_BUDGET_S = 0.012
_LIMIT_S = 120.0
_SHARE_OF_MEMORY = 0.5
_LIBRARIES = ("numpy", "onnx", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino")


def collect(
    out: str, *, seconds: float = 1200.0, seed: int = 0, threads: int = 0, resume: bool = False, again: bool = False,
    report: Report | None = None, executor: Executor | None = None,
) -> LatencyTable:  # fmt: skip
    """Measure for so long, all sessions together.

    Args:
        out: file of the table; rows stand beside it in `out` + ".rows" while they come.
        seconds: wall time in all; seed: of the design; threads: of the runtime, 0 for its own choice.
        resume: go on with the rows that there are; again: begin anew although there are some.
        report: told what is going on and the part done.
        executor: that runs the blocks, one after the other; a process of this machine if not given.

    Returns:
        The table, which has been written.

    Raises:
        UsageError: rows that there are already without `resume`, or of another machine, software or seed; a file that cannot be written.
        BackendUnavailable: onnx or onnxruntime is not installed.
    """
    if not 0 < seconds < 1e7:
        raise UsageError("seconds to measure for, up to 1e7", found=f"{seconds:g}", remedy="give twenty minutes")
    if os.path.isdir(out) or not os.path.isdir(os.path.dirname(os.path.abspath(out))):
        raise UsageError("a file to write the table to, in a folder that exists", found=out, remedy="name another")
    say, machine = report or (lambda label, fraction: None), read_machine()
    name = f"{machine.cpu_model or machine.architecture} ({machine.cpus_usable} CPUs)"
    head = Head(
        machine=name, fingerprint=machine.fingerprint, software=software_versions(_LIBRARIES), threads=threads, seed=seed,
        started=datetime.now(UTC).isoformat(timespec="seconds"), peak_flop_per_s=0.0 if executor is not None else _peak(say),
    )  # fmt: skip
    if again and os.path.isfile(f"{out}.rows"):
        os.unlink(f"{out}.rows")
    with Journal(f"{out}.rows", head, resume=resume) as journal:
        try:
            if executor is not None:
                _fill(journal, executor, seconds, threads, say)
            else:
                limits = Limits(wall_s=_LIMIT_S, memory_bytes=int(_SHARE_OF_MEMORY * machine.memory_bytes))
                with OneWorker(limits=limits, preload="ridgeline.measurement.onnx_blocks") as worker:
                    _fill(journal, worker, seconds, threads, say)
        finally:
            made = table(journal.head, journal.rows, os.path.basename(out))
            write_atomic(out, encode(made))
    return made


def _peak(say: Report) -> float:
    """Of multiply-adds on all processors: what each block is held against, so that a machine that is busy throughout is told from a slow one."""
    rates = [each.rate.value for each in probe(report=say).ceilings if each.engine == "fma" and each.precision == "fp32"]
    return max(rates, default=0.0)


def _fill(journal: Journal, executor: Executor, seconds: float, threads: int, say: Report) -> None:
    spent = sum(row.spent_s for row in journal.rows)
    started = time.monotonic()
    waiting: list[Asked] = []

    def part_done() -> float:
        return (spent + time.monotonic() - started) / seconds

    def pieces() -> Iterator[Piece]:
        for each in plan(journal.rows, journal.head.seed, part_done, journal.head.peak_flop_per_s):
            if part_done() >= 1.0:
                return
            waiting.append(each)
            arguments = {
                "work": each.work, "copies": each.copies, "order": each.order, "budget_s": _BLOCK_BUDGET_S, "threads": threads,
                "swept_bytes": each.swept_bytes,
            }  # fmt: skip
            yield Piece("ridgeline.measurement.onnx_blocks:time_block", arguments)

    before = started
    for outcome in executor.run(pieces(), BlockTime):
        each, now = waiting[outcome.number], time.monotonic()
        if isinstance(outcome.failure, BackendUnavailable):
            raise outcome.failure
        failure = "" if outcome.failure is None else str(outcome.failure)[:300]
        journal.add(Measured(form=each.form, number=each.number, spent_s=now - before, block=outcome.value, failure=failure))
        before = now
        say(f"measuring operators: {len(journal.rows)} rows, {each.form}", min(1.0, part_done()))
