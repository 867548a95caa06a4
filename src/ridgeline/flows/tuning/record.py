"""The record of a tuning: one line a trial, written when the trial has ended, so that a kill loses none but those in flight.

The first line (`Head`) says what the times belong to. A record is gone on with only where all of it is as it was: the differences are named, and no
time of it is used. A line is one write to the end of the file, which a kill of the process cannot take back; it is brought to the disk at most once a
second and at the end, so that a machine that loses its power loses a second of trials. Only one process writes a record: it holds a lock on the file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ridgeline.core import Parameter, ReadError, Space, Trial, UsageError
from ridgeline.tuning.space import Configurations

from .believable import not_believed, outside, values_of

__all__ = ["Head", "Record", "Recorded", "differences", "read_record"]

_SYNC_S = 1.0
#: Characters of a value in a difference: enough of a digest to tell two apart.
_SHOWN = 48
_ABSENT = "none"


class Head(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.trials/1"):
    """What the times of a record belong to.

    Args:
        name: of what is tuned, for a person; it may change.
        space: parameters in their order, with their values, and constraints.
        identity: what else a time depends on, by name: digests of sources, flags, toolchain, driver, device, inputs.
        software: name → version of packages that take part; machine: its name; fingerprint: what of it decides about times.
        unit: of the objective; objectives: what is made small.
        started: date and time, ISO 8601.
    """

    name: str
    space: Space
    identity: dict[str, str] = {}
    software: dict[str, str] = {}
    machine: str = ""
    fingerprint: str = ""
    unit: str = "s"
    objectives: tuple[str, ...] = ("time",)
    started: str = ""


class Recorded(NamedTuple):
    """A record as read: its head, its trials in the order of their ends with their lines, and a word on each line that could not be read."""

    head: Head
    trials: list[Trial]
    remarks: list[str]
    lines: list[int]


def differences(before: Head, now: Head) -> tuple[str, ...]:
    """What of two heads makes the times of one no times of the other, each with both values; empty where nothing does."""
    found = [*_of_space(before.space, now.space)]
    if before.objectives != now.objectives:
        found.append(_changed("objective", ", ".join(before.objectives), ", ".join(now.objectives)))
    elif before.unit != now.unit:
        found.append(_changed("unit", before.unit, now.unit))
    if before.fingerprint != now.fingerprint:
        found.append(_changed("machine", f"{before.machine} ({before.fingerprint})", f"{now.machine} ({now.fingerprint})"))
    found += _of_mapping("", before.identity, now.identity)
    found += _of_mapping("software ", before.software, now.software)
    return tuple(found)


def _of_space(before: Space, now: Space) -> Iterator[str]:
    names, other = [each.name for each in before.parameters], [each.name for each in now.parameters]
    if set(names) == set(other) and names != other:
        yield _changed("order of parameters", ", ".join(names), ", ".join(other))
    by_name: dict[str, Parameter] = {each.name: each for each in before.parameters}
    for name in dict.fromkeys([*names, *other]):
        yield from _of_parameter(name, by_name.get(name), next((each for each in now.parameters if each.name == name), None))
    for text in before.constraints:
        if text not in now.constraints:
            yield _changed("constraint", text, _ABSENT)
    for text in now.constraints:
        if text not in before.constraints:
            yield _changed("constraint", _ABSENT, text)


def _of_parameter(name: str, before: Parameter | None, now: Parameter | None) -> Iterator[str]:
    if before is None or now is None:
        yield _changed(f"parameter {name}", _ABSENT if before is None else _listed(before), _ABSENT if now is None else _listed(now))
        return
    # true is 1 for Python, and another value here.
    if [(type(each), each) for each in before.values] != [(type(each), each) for each in now.values]:
        yield _changed(f"values of {name}", _listed(before), _listed(now))
    if before.kind != now.kind:
        yield _changed(f"kind of {name}", before.kind or _ABSENT, now.kind or _ABSENT)
    if before.when != now.when:
        yield _changed(f"condition of {name}", before.when or _ABSENT, now.when or _ABSENT)


def _listed(parameter: Parameter) -> str:
    return ", ".join(repr(each) for each in parameter.values)


def _of_mapping(what: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            yield _changed(f"{what}{name}", before.get(name, _ABSENT), now.get(name, _ABSENT))


def _changed(what: str, before: str, now: str) -> str:
    one, other = _around_difference(before, now)
    return f"{what} was {one}, now {other}"


def _around_difference(before: str, now: str) -> tuple[str, str]:
    """Both texts, short, from a little before where they begin to differ."""
    pairs = zip(before, now, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now)))
    first = max(0, same - _SHOWN // 3) if max(len(before), len(now)) > _SHOWN else 0
    return _cut(before, first), _cut(now, first)


def _cut(text: str, first: int) -> str:
    part = text[first : first + _SHOWN]
    return f"{'…' if first else ''}{part}{'…' if first + _SHOWN < len(text) else ''}"


class Record:
    """An open record; use it as a context manager.

    Args:
        path: its file.
        head: of what is tuned now.
        resume: go on with the trials that stand there.
        configurations: of the space, to tell trials of others; what is not given is not held against constraints.

    Attributes:
        trials: all of it, those of earlier sessions first; earlier: how many those are.
        remarks: what was found broken and mended, a sentence each.

    Raises:
        UsageError: a file that cannot be written or that another process writes, trials without `resume`, or another head.
        ReadError: the file is no record.
    """

    def __init__(
        self, path: str | os.PathLike[str], head: Head, *, resume: bool = False, configurations: Configurations | None = None
    ) -> None:  # fmt: skip
        self.path, self.head, self._configurations = os.fspath(path), head, configurations
        self.trials, self.remarks = list[Trial](), list[str]()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except (OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise UsageError("a file to write trials to", found=f"{self.path}: {what}", remedy="name another") from error
        try:
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                # A pipe or a device has no end that could be read up to.
                raise UsageError("an ordinary file to write trials to", found=f"{self.path}, which is none", remedy="name another")
            self._begin(resume)
        except BaseException:
            os.close(self._file)
            raise
        self.earlier = len(self.trials)
        self._synced = time.monotonic()

    def _begin(self, resume: bool) -> None:
        try:
            # Before anything is read: another process may be in the middle of a line.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError("a record that no other process writes", found=self.path, remedy="wait for the other, or name another record") from error
        data = Path(self.path).read_bytes()
        whole = data.rfind(b"\n") + 1
        if not whole:
            # Nothing, or the beginning of a head: whoever wrote it was ended before its first trial.
            self._mend(data, 0)
            self._write(self.head)
            return
        if not resume:
            raise UsageError("a tuning that is not begun", found=self.path, remedy="go on with --resume, name another record, or remove the file")
        found = _read(self.path, data[:whole])
        changed = differences(found.head, self.head)
        if changed:
            what = f"{self.path}: {'; '.join(changed)}"
            raise UsageError("a record of the same space, kernel, machine and software", found=what, remedy="begin another record")
        self._mend(data, whole)
        self.remarks += found.remarks
        self.head, self.trials = found.head, self._of_the_space(found)

    def _of_the_space(self, found: Recorded) -> list[Trial]:
        if self._configurations is None:
            return found.trials
        strange = outside(self._configurations, found.trials)
        self.remarks += [
            f"line {line} of {self.path} was passed over: its configuration is none of the space"
            for line, none in zip(found.lines, strange, strict=True) if none
        ]  # fmt: skip
        return [trial for trial, none in zip(found.trials, strange, strict=True) if not none]

    def _mend(self, data: bytes, whole: int) -> None:
        """Take off what stands behind the last whole line."""
        if whole < len(data):
            os.ftruncate(self._file, whole)
            self.remarks.append(f"the last line of {self.path}, which was cut short, was taken off: its trial is lost")

    def add(self, trial: Trial) -> None:
        """Write one line at once.

        Raises:
            UsageError: no space, or the file cannot be written any more; nothing of the line stands in it then.
        """
        self._write(trial)
        self.trials.append(trial)

    def _write(self, line: msgspec.Struct) -> None:
        data = memoryview(msgspec.json.encode(line) + b"\n")
        before = os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            # Half a line would be taken for one that was cut short by a kill.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            remedy = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "check the disk"
            raise UsageError("a record that can be written", found=f"{self.path}: {error.strerror}", remedy=f"{remedy}, then --resume") from error
        if time.monotonic() - getattr(self, "_synced", 0.0) > _SYNC_S:
            self._sync()

    def _sync(self) -> None:
        # What cannot be synchronised (a pipe, some network file systems) is written all the same.
        with contextlib.suppress(OSError):
            os.fdatasync(self._file)
        self._synced = time.monotonic()

    def close(self) -> None:
        """Bring everything to the disk; no more lines."""
        self._sync()
        os.close(self._file)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_record(path: str | os.PathLike[str]) -> Recorded:
    """A record that may be being written; it is not changed, and a line that is cut short is passed over.

    Raises:
        ReadError: the file cannot be read, or is no record.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        raise ReadError("a record of trials", found=f"{os.fspath(path)}: {what}", remedy="check the path") from error
    return _read(os.fspath(path), data[: data.rfind(b"\n") + 1])


def _read(path: str, data: bytes) -> Recorded:
    lines = data.splitlines()
    try:
        head = msgspec.json.decode(lines[0] if lines else b"", type=Head)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReadError("a record of trials, ridgeline.trials/1", found=f"{path}: {error}", remedy="name another file") from error
    trials, remarks, places, numbers = list[Trial](), list[str](), list[int](), set[int]()
    values = values_of(head.space)
    for place, line in enumerate(lines[1:], 2):
        found = _trial(line)
        if not isinstance(found, Trial):
            remarks.append(f"line {place} of {path} is no trial and was passed over: {found}")
            continue
        wrong = not_believed(found, head.unit, values) or (f"its number, {found.number}, was there before" if found.number in numbers else "")
        if wrong:
            remarks.append(f"line {place} of {path} was passed over: {wrong}")
            continue
        trials.append(found)
        places.append(place)
        numbers.add(found.number)
    return Recorded(head, trials, remarks, places)


def _trial(line: bytes) -> Trial | Exception:
    try:
        found: Any = msgspec.json.decode(line, type=Trial)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return error
    except UsageError as error:
        # A quantity whose ends are not around its value.
        return ValueError(f"{error.expected} expected, {error.found} found")
    return found if isinstance(found, Trial) else ValueError("no trial")
