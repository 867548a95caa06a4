"""`read_settings` and `tuned`: look at what decides speed, set what may be set, and put it back whatever happens.

Put back in reverse order, after an exception, a signal that asks to end, and at the next start after a kill. A setting is put back only if it is
still what we made it: a value that somebody changed since is his. Where several processes tune at once, the last one that wants a setting puts back
what the first one found. Nothing is set that could not be written down first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from ridgeline.core import RidgelineError, Setting

from .affinity import read_affinity
from .clocks import read_governor, read_turbo
from .ending import ending_deferred, ending_raised
from .gpu import read_gpu_clock
from .journal import journal_directory
from .leaving import restore_left_over
from .memory import read_huge_pages, read_layout, read_numa, read_swap
from .priority import read_priority
from .quota import read_quota
from .reading import Asked, Reading
from .session import Session
from .siblings import read_siblings
from .threads import read_threads

__all__ = ["read_settings", "tuned"]

_READERS: tuple[Callable[[Asked], Reading | None], ...] = (
    read_affinity, read_threads, read_governor, read_turbo, read_siblings, read_priority, read_swap, read_quota, read_numa, read_huge_pages,
    read_layout, read_gpu_clock,
)  # fmt: skip

Report = Callable[[str], None]


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
    return tuple(_setting(reading) for reading in readings)


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
    for entry in restore_left_over(root, place):
        say(str(entry))
    asked = Asked(root=root, threads=threads, real_time=real_time, gpu_hz=lock_gpu_hz)
    if not tune and lock_gpu_hz is None:
        yield tuple(_setting(reading) for reading in _readings(asked))
        return
    session = Session(place, root)
    with ending_raised():
        try:
            with ending_deferred():
                found = session.begin(
                    lambda: _readings(asked), lambda reading: bool(reading.changes) and (tune or reading.name == "gpu-clock"), join=tune
                )
            yield tuple(_outcome(reading, failure, session) for reading, failure in found.values())
        finally:
            with ending_deferred():
                for line in session.end():
                    say(line)


def _outcome(reading: Reading, failure: str | None, session: Session) -> Setting:
    if failure is not None:
        return _setting(Reading(name=reading.name, found=reading.found, wanted=reading.wanted, reason=failure))
    made = bool(reading.changes) and all(change in session.made for change in reading.changes)
    return _setting(reading, made)


def _readings(asked: Asked) -> tuple[Reading, ...]:
    return tuple(reading for read in _READERS if (reading := read(asked)) is not None)


def _setting(reading: Reading, made: bool = False) -> Setting:
    state: Literal["fine", "set", "not asked", "cannot"] = "fine"
    if reading.changes:
        state = "set" if made else "not asked"
    elif reading.reason:
        state = "cannot"
    used = reading.wanted if made else reading.found
    return Setting(name=reading.name, found=reading.found, wanted=reading.wanted, used=used, state=state, reason=reading.reason)
