"""`read_settings`, `tuned` and `restore_left_over`: look at what decides speed, set what may be set, and put it back whatever happens.

Put back in reverse order, after an exception, a signal that asks to end, and at the next start after a kill. A setting is put back only if it is
still what we made it: a value that somebody changed since is his. Where several processes tune at once, the last one that wants a setting puts back
what the first one found. Nothing is set that could not be written down first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ridgeline.core import RidgelineError, Setting

from .affinity import read_affinity
from .changes import Change
from .clocks import read_governor, read_turbo
from .ending import ending_deferred, ending_raised
from .gpu import read_gpu_clock
from .journal import Journal, Kept, journal_directory, kept, locked
from .memory import read_huge_pages, read_layout, read_numa, read_swap
from .priority import read_priority
from .quota import read_quota
from .reading import Asked, Reading
from .siblings import read_siblings
from .threads import read_threads

__all__ = ["LeftOver", "left_over", "read_settings", "restore_left_over", "tuned"]

_READERS: tuple[Callable[[Asked], Reading | None], ...] = (
    read_affinity, read_threads, read_governor, read_turbo, read_siblings, read_priority, read_swap, read_quota, read_numa, read_huge_pages,
    read_layout, read_gpu_clock,
)  # fmt: skip

Report = Callable[[str], None]


class LeftOver(msgspec.Struct, frozen=True, kw_only=True):
    """What a killed process left, or what became of it.

    Args:
        path: the journal.
        key: the setting, empty where the journal cannot be read.
        found, wanted: its value before, and the one that was set.
        outcome: `left` (nothing done yet), `put back`, `not ours` (somebody has changed it since, or still uses it), `failed`, `unreadable`.
        reason: why, in one sentence, where there is one.
    """

    path: str
    key: str = ""
    found: str = ""
    wanted: str = ""
    outcome: str = "left"
    reason: str = ""

    def __str__(self) -> str:
        if self.outcome == "unreadable":
            return f"the journal of settings {self.path} cannot be trusted and is left alone: {self.reason}; look at the settings and delete it"
        said = {
            "left": f"{self.key} was left at {self.wanted} instead of {self.found}",
            "put back": f"{self.key} put back from {self.wanted} to {self.found}, as a killed run had left it",
            "not ours": f"{self.key} left as it is",
            "failed": f"{self.key} could not be put back from {self.wanted} to {self.found}",
        }[self.outcome]
        return f"{said}: {self.reason}" if self.reason else said


def read_settings(
    root: Path = Path("/"), *, threads: int | None = None, real_time: bool = False, lock_gpu_hz: float | None = None
) -> tuple[Setting, ...]:
    """What decides speed here, and what `tuned` would do about it.

    Args:
        root: `/`, or a tree of /proc and /sys.
        threads: of the target; null where it chooses itself.
        real_time: whether the calling thread should go before all others.
        lock_gpu_hz: clock that the GPUs should be locked to, in Hz.

    Raises:
        UsageError: a clock that no GPU has.
    """
    readings = _readings(Asked(root=root, threads=threads, real_time=real_time, gpu_hz=lock_gpu_hz))
    return tuple(_setting(reading, "not asked" if reading.changes else None) for reading in readings)


@contextlib.contextmanager
def tuned(
    tune: bool,
    *,
    threads: int | None = None,
    real_time: bool = False,
    lock_gpu_hz: float | None = None,
    root: Path = Path("/"),
    folder: Path | None = None,
    report: Report | None = None,
) -> Iterator[tuple[Setting, ...]]:
    """Set what may be set for the time of a `with`, and put it back; what a killed run left is put back first.

    What belongs to the process (affinity, nice, thread variables) is inherited by processes that are started inside.

    Args:
        tune: whether to set anything but what is named on its own (`lock_gpu_hz`); without it the settings are only read.
        threads, real_time, lock_gpu_hz, root: as for `read_settings`.
        folder: where the journal is kept, `journal_directory()` if not given.
        report: told in one line what could not be put back, or what was put back for a killed run.

    Yields:
        The settings as used.

    Raises:
        UsageError: a clock that no GPU has.
    """
    say = report or (lambda line: None)
    # A home that cannot be found out costs the changes that need a journal, never the measurement.
    place = folder
    with contextlib.suppress(RidgelineError):
        place = folder or journal_directory()
    for found in restore_left_over(root, place):
        say(str(found))
    readings = _readings(Asked(root=root, threads=threads, real_time=real_time, gpu_hz=lock_gpu_hz))
    wanted = [reading for reading in readings if reading.changes and (tune or reading.name == "gpu-clock")]
    session = _Session(place, root)
    with ending_raised() if tune or wanted else contextlib.nullcontext():
        try:
            with ending_deferred():
                outcomes = {reading.name: session.set(reading) for reading in wanted}
                if tune:
                    session.join()
            yield tuple(_after(reading, outcomes) for reading in readings)
        finally:
            with ending_deferred():
                for line in session.put_back():
                    say(line)


def _after(reading: Reading, outcomes: dict[str, str | None]) -> Setting:
    if reading.name not in outcomes:
        return _setting(reading, "not asked" if reading.changes else None)
    failure = outcomes[reading.name]
    if failure is None:
        return _setting(reading, "set")
    return _setting(_failed(reading, failure), None)


def _failed(reading: Reading, reason: str) -> Reading:
    """The reading of a setting that could not be set after all."""
    return Reading(name=reading.name, found=reading.found, wanted=reading.wanted, reason=reason)


def _readings(asked: Asked) -> tuple[Reading, ...]:
    return tuple(reading for read in _READERS if (reading := read(asked)) is not None)


def _setting(reading: Reading, state: str | None) -> Setting:
    if state is None:
        state = "cannot" if reading.reason else "fine"
    used = reading.wanted if state == "set" else reading.found
    return msgspec.convert(
        {"name": reading.name, "found": reading.found, "wanted": reading.wanted, "used": used, "state": state, "reason": reading.reason}, Setting
    )


@dataclass
class _Session:
    """The changes of one `tuned`."""

    folder: Path | None
    root: Path
    made: list[Change] = field(default_factory=list)
    journal: Journal | None = None

    @property
    def _path(self) -> Path | None:
        return self.journal.path if self.journal is not None else None

    def set(self, reading: Reading) -> str | None:
        """Make the changes of a setting, all or none; why not, where it fails."""
        before = len(self.made)
        lasting = any(change.lasting for change in reading.changes)
        try:
            if lasting and self.folder is None:
                return "there is no home folder for a journal, so it could not be put back after a kill"
            with locked(self.folder) if lasting and self.folder is not None else contextlib.nullcontext():
                self._refuse_conflicts(reading.changes)
                for change in reading.changes:
                    self._make(change)
        except (OSError, RidgelineError) as error:
            self._undo(before)
            return _words(error)
        return None

    def _refuse_conflicts(self, changes: tuple[Change, ...]) -> None:
        """Refuse to set what has changed since it was looked at, or what another process needs otherwise."""
        lasting = [change for change in changes if change.lasting]
        others = _set_by_others(self.folder, self.root, self._path) if lasting and self.folder is not None else []
        needed = {_key(change): change.wanted for change in others}
        for change in lasting:
            other = needed.get(_key(change), change.wanted)
            if other != change.wanted:
                raise OSError(f"another run of ridgeline needs it at {other}")
            if change.now() not in (change.found, change.wanted):
                raise OSError(f"somebody has just set it to {change.now()}")

    def _make(self, change: Change) -> None:
        if change.lasting and self.folder is not None:
            self._announce(change, self.folder)
        self.made.append(change)
        change.put(change.wanted)
        if change.now() != change.wanted:
            raise OSError(f"the system takes {change.wanted} and stays at {change.now()}")

    def _announce(self, change: Change, folder: Path) -> None:
        if self.journal is None:
            self.journal = Journal(folder, self.root)
        self.journal.announce(change)

    def join(self) -> None:
        """Keep what other processes have set as wanted for as long as we measure, even if they end before us: the last one puts back."""
        if self.folder is None or not any(self.folder.glob("*.journal")):
            return
        ours = {_key(change) for change in self.made}
        # What cannot be joined is as it would be without us.
        with contextlib.suppress(RidgelineError), locked(self.folder):
            for change in _set_by_others(self.folder, self.root, self._path):
                if change.lasting == "file" and _key(change) not in ours and change.now() == change.wanted:
                    self._announce(change, self.folder)
                    self.made.append(change)
                    ours.add(_key(change))

    def _undo(self, before: int) -> None:
        """Take back what a setting that failed half-way has changed."""
        undone, self.made = self.made[before:], self.made[:before]
        for change in reversed(undone):
            with contextlib.suppress(OSError):
                if change.now() == change.wanted:
                    change.put(change.found)
                if self.journal is not None and change.lasting:
                    self.journal.put_back(change)

    def put_back(self) -> list[str]:
        """Put everything back in reverse order; a line for each that could not be."""
        said = []
        for change in reversed([change for change in self.made if not change.lasting]):
            said += _words_of(change, _put_back(change))
        if self.journal is not None and self.folder is not None:
            said += self._put_back_lasting(self.journal, self.folder)
        self.made, self.journal = [], None
        return said

    def _put_back_lasting(self, journal: Journal, folder: Path) -> list[str]:
        said = []
        failed = False
        try:
            with locked(folder):
                others = {_key(change) for change in _set_by_others(folder, self.root, journal.path)}
                for change in reversed([change for change in self.made if change.lasting]):
                    outcome, reason = ("not ours", "") if _key(change) in others else _put_back(change)
                    said += _words_of(change, (outcome, reason))
                    failed = failed or outcome == "failed"
                    if outcome != "failed":
                        journal.put_back(change)
                journal.close(keep=failed)
        except RidgelineError as error:
            journal.close(keep=True)
            said.append(f"settings are not put back yet: {error}; the next start of ridgeline does it")
        return said


def _key(change: Change) -> tuple[str, str]:
    return change.lasting, change.key


def _put_back(change: Change) -> tuple[str, str]:
    """(outcome, reason) of putting one change back."""
    now = change.now()
    if now is None:
        return "failed", "it cannot be read any more"
    if now == change.found:
        return "as before", ""
    if now != change.wanted:
        return "not ours", f"somebody has set it to {now} since"
    try:
        change.put(change.found)
    except OSError as error:
        return "failed", _words(error)
    return "put back", ""


def _words_of(change: Change, result: tuple[str, str]) -> list[str]:
    outcome, reason = result
    if outcome == "failed":
        return [f"{change.key} could not be put back from {change.wanted} to {change.found}: {reason}; the next start of ridgeline tries again"]
    return [f"{change.key} is left as it is: {reason}"] if reason else []


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, RidgelineError) else getattr(error, "strerror", None) or str(error)


def _set_by_others(folder: Path, root: Path, ours: Path | None) -> list[Change]:
    """What other living processes have set, or have joined in."""
    found: list[Change] = []
    for journal in kept(folder, root):
        if isinstance(journal, Kept) and journal.path != ours and journal.alive and not journal.foreign:
            found += journal.changes
    return found


def left_over(root: Path = Path("/"), folder: Path | None = None) -> tuple[LeftOver, ...]:
    """What killed runs have left set, without doing anything about it."""
    try:
        place = folder or journal_directory()
        if not any(place.glob("*.journal")):
            return ()
        with locked(place):
            return tuple(entry for journal in kept(place, root) for entry in _looked(journal))
    except (RidgelineError, OSError) as error:
        return (_unreadable(folder, error),)


def _unreadable(folder: Path | None, error: Exception) -> LeftOver:
    return LeftOver(path=str(folder or ""), outcome="unreadable", reason=_words(error))


def restore_left_over(root: Path = Path("/"), folder: Path | None = None) -> tuple[LeftOver, ...]:
    """Put back what killed runs have left set, each setting once, by whoever comes first.

    Never raises for what it finds: a journal that cannot be trusted is told and left alone.

    Args:
        root: `/`, or a tree like it.
        folder: where the journals are, `journal_directory()` if not given.

    Returns:
        What became of each.
    """
    try:
        place = folder or journal_directory()
        if not any(place.glob("*.journal")):
            return ()
        with locked(place):
            others = {_key(change) for change in _set_by_others(place, root, None)}
            return tuple(entry for journal in kept(place, root) for entry in _restored(journal, others))
    except (RidgelineError, OSError) as error:
        return (_unreadable(folder, error),)


def _looked(journal: Kept | tuple[Path, str]) -> Iterator[LeftOver]:
    if isinstance(journal, tuple):
        yield LeftOver(path=str(journal[0]), outcome="unreadable", reason=journal[1])
    elif not journal.alive and not journal.foreign:
        for change in journal.changes:
            yield LeftOver(path=str(journal.path), key=change.key, found=change.found, wanted=change.wanted)


def _restored(journal: Kept | tuple[Path, str], others: set[tuple[str, str]]) -> Iterator[LeftOver]:
    if isinstance(journal, tuple) or journal.alive:
        yield from _looked(journal)
        return
    if journal.foreign:
        # Of this machine before its restart: the kernel has values of its own again. Of another machine: not ours to decide about.
        if journal.same_host:
            journal.remove()
        return
    outcomes = []
    for change in reversed(journal.changes):
        outcome, reason = ("not ours", "another process that tunes still uses it") if _key(change) in others else _put_back(change)
        outcomes.append(outcome)
        if outcome != "failed":
            journal.put_back(change)
        if outcome != "as before":
            yield LeftOver(path=str(journal.path), key=change.key, found=change.found, wanted=change.wanted, outcome=outcome, reason=reason)
    if "failed" not in outcomes:
        journal.remove()
