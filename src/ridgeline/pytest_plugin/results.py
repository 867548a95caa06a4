"""What a session found: as series, process by process, in a file that `ridgeline compare` reads, and as lines of pytest's summary."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ridgeline.core import Caution, Column, LeftOut, RidgelineError, Series, SeriesSet
from ridgeline.core.documents import encode
from ridgeline.core.units import format_quantity
from ridgeline.machine import read_machine, scratch_folder, software_versions, write_atomic
from ridgeline.stats import median_interval

from .plugin import State
from .processes import Process, run_processes

__all__ = ["finish", "refuse_unwritable", "series_set", "summary"]

_SCHEMA = b'{"schema":"ridgeline.series/1"'
#: The most that the median of five processes has.
_CONFIDENCE = 0.93


class _Found(msgspec.Struct, kw_only=True):
    """What the summary tells."""

    series: SeriesSet | None = None
    processes: tuple[Process, ...] = ()
    error: str = ""
    written: str = ""


_FOUND = pytest.StashKey[_Found]()


def refuse_unwritable(path: str) -> None:
    """Check before the tests that a file can be written, and that nothing of somebody else's is there.

    Raises:
        pytest.UsageError: a folder, a folder that is not there, no permission, or a file that this plugin did not write.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise pytest.UsageError(f"--ridgeline-json a file to write; found: {path}, a folder")
        if target.exists():
            with target.open("rb") as file:
                head = file.read(len(_SCHEMA))
            if head not in (_SCHEMA, b""):
                raise pytest.UsageError(f"--ridgeline-json a new file; found: {path}, which holds something else; to do: give another name")
        with tempfile.TemporaryFile(dir=target.absolute().parent):
            pass
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"--ridgeline-json a file that can be written; found: {path}: {error}") from error


def finish(session: pytest.Session, state: State) -> None:
    """Time what passed in fresh processes where these are wanted, and write the file."""
    found = _Found()
    session.config.stash[_FOUND] = found
    if state.spawns and state.passed:
        found.processes = _spawned(session.config, state)
    elif state.timings:
        found.processes = (Process(timings=tuple(state.timings)),)
    if any(process.interrupted for process in found.processes):
        session.exitstatus = pytest.ExitCode.INTERRUPTED
    elif any(process.failure for process in found.processes) and session.exitstatus == pytest.ExitCode.OK:
        # It passed once and not again: nobody should have to read the summary to find out.
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    found.series = series_set(found.processes, failed=state.failed, source=str(session.config.rootpath))
    if state.json:
        try:
            write_atomic(state.json, encode(found.series) + b"\n")
            found.written = state.json
        except RidgelineError as error:
            found.error = str(error)
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def _spawned(config: pytest.Config, state: State) -> tuple[Process, ...]:
    terminal = config.pluginmanager.get_plugin("terminalreporter")

    def progress(index: int) -> None:
        if terminal is not None and terminal.isatty:
            terminal.rewrite(f"ridgeline: process {index + 1} of {state.processes}", erase=True)

    with scratch_folder("pytest") as folder:
        return run_processes(config, state.passed, state.processes, Path(folder), progress)


def series_set(processes: Sequence[Process], *, failed: Sequence[str] = (), source: str = "pytest") -> SeriesSet:
    """The timings of processes, one series for each name.

    Args:
        processes: in the order in which they ran.
        failed: tests that did not pass, and so are in no series.
        source: where they are from.
    """
    names = list(dict.fromkeys(timing.name for process in processes for timing in process.timings))
    keys, at = _keys(), datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    left_out = (LeftOut(reason="the test did not pass", count=len(failed), first=failed[0]),) if failed else ()
    return SeriesSet(
        source=source,
        tool="ridgeline",
        series=tuple(series for name in names for series in _series(name, processes, keys, at)),
        left_out=left_out,
        cautions=_failures(processes),
    )


def _failures(processes: Sequence[Process]) -> tuple[Caution, ...]:
    """One caution for each thing that went wrong, with the processes that it went wrong in."""
    where: dict[str, list[str]] = {}
    for number, process in enumerate(processes, start=1):
        if process.failure:
            where.setdefault(process.failure, []).append(str(number))
    return tuple(
        Caution(code="process-failed", message=f"in process {', '.join(numbers)}: {failure}", effect="its other results are kept")
        for failure, numbers in where.items()
    )


def _series(name: str, processes: Sequence[Process], keys: dict[str, str], at: str) -> list[Series]:
    """The latency of a call, and its batches where every process has some."""
    timed = [(index, timing) for index, process in enumerate(processes) for timing in process.timings if timing.name == name]
    cautions = list(dict.fromkeys(caution for _, timing in timed for caution in timing.cautions))
    if len(timed) == 1:
        message = "all its values are from one process"
        effect = "what differs from process to process is not in them; to do: --ridgeline-processes 5 or more"
        cautions.append(Caution(code="one-process", message=message, effect=effect))
    missing = len(processes) - len(timed)
    left_out = (LeftOut(reason="no result in a process", count=missing, first=name),) if missing else ()

    def series(metric: str, values: list[tuple[int, list[float]]]) -> Series:
        return Series(
            name=name, metric=metric, values=Column(np.concatenate([taken for _, taken in values]), "s", np.float64),
            process=Column(np.concatenate([np.full(len(taken), index, np.int32) for index, taken in values]), "count"), keys=keys,
            left_out=left_out, cautions=tuple(cautions), at=at,
        )  # fmt: skip

    found = [series("latency", [(index, timing.wall_s) for index, timing in timed])]
    if all(timing.batched_s for _, timing in timed):
        found.append(series("batched", [(index, timing.batched_s) for index, timing in timed]))
    return found


def _keys() -> dict[str, str]:
    machine = read_machine()
    return {
        "machine.cpu": machine.cpu_model,
        "machine.architecture": machine.architecture,
        "machine.fingerprint": machine.fingerprint,
        "machine.kernel": machine.kernel,
        **({"machine.governor": machine.governor} if machine.governor else {}),
        **{f"software.{name}": version for name, version in software_versions().items()},
    }


def summary(config: pytest.Config) -> list[str]:
    """Lines for a person: each median with its interval over processes, and what went wrong."""
    found = config.stash.get(_FOUND, None)
    if found is None or found.series is None:
        return ["nothing was timed: the session ended before"]
    lines = [_line(series) for series in found.series.series if series.metric == "latency"] or [
        "nothing was timed: no test that uses the fixture `ridgeline` passed"
    ]
    lines += [f"{caution.code}: {caution.message}; {caution.effect}" for caution in found.series.cautions]
    shared = dict.fromkeys(caution for series in found.series.series for caution in series.cautions)
    lines += [f"{caution.code}: {caution.message}; {caution.effect}" for caution in shared]
    lines += [f"left out: {entry.count} × {entry.reason}, the first {entry.first}" for entry in found.series.left_out]
    if found.written:
        lines.append(f"written to {found.written}")
    return [*lines, f"not written: {found.error}"] if found.error else lines


def _line(series: Series) -> str:
    medians = [float(np.median(values)) for values in series.by_process()]
    middle = format_quantity(float(np.median(medians)), "s")
    interval = median_interval(medians, _CONFIDENCE) if len(medians) > 1 else None
    if interval is not None:
        middle += f" [{format_quantity(interval.low, 's')}, {format_quantity(interval.high, 's')}]"
    count = len(medians)
    return f"{series.name}  {middle}  ({len(series.values)} calls, {count} process{'es' * (count != 1)})"
