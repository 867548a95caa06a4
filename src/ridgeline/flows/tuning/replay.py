"""A recorded space in place of a device: a search is held against what was measured before, and nothing is measured.

Each configuration answers with one of its recorded runs, drawn evenly, or with its failure; what was not recorded cannot be tried. What was found is
held against the best that was recorded, which only a replay knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

from ridgeline.core import Caution, RecordedSpace, TunedReplay, TuneReport, UsageError
from ridgeline.core.executor import Outcome, Piece
from ridgeline.readers.tuning import kind_of_file

from .recordings import is_record, read_recording
from .subjects import Recording, key_of

__all__ = ["Nobody", "Replay", "replay_of", "replayed", "subject_of"]

_OF_OTHER_TUNERS = (".json", ".json.gz", ".json.zst")


class Replay(NamedTuple):
    """`recorded`: what answers; `file`: it was read from."""

    recorded: RecordedSpace
    file: str


class Nobody:
    """An executor for what asks for no work."""

    def run(self, pieces: Iterable[Piece], returns: type[Any]) -> Iterator[Outcome[Any]]:
        """Nothing, once nothing was asked."""
        for piece in pieces:
            raise AssertionError(piece.function)
        yield from ()


def replay_of(text: str) -> Replay | None:
    """The recording that a text names: a record of ours, a cache of Kernel Tuner, T4 results; null where it names something else.

    Raises:
        ReadError: a file of JSON that is none, or damaged.
    """
    lower = text.lower()
    if is_record(text) or lower.endswith(".jsonl") or (lower.endswith(_OF_OTHER_TUNERS) and kind_of_file(text) in ("cache", "t4")):
        return Replay(read_recording(text), text)
    return None


def subject_of(replay: Replay, seed: int) -> Recording:
    """What is tuned.

    Raises:
        UsageError: nothing was recorded.
    """
    recorded = replay.recorded
    if not recorded.trials:
        raise UsageError("a recording with trials", found=f"none in {replay.file}", remedy="give another")
    name = recorded.kernel or Path(replay.file).name.partition(".")[0]
    return Recording(name, recorded.space, recorded.trials, unit=recorded.unit, seed=seed, listed=True)


def replayed(replay: Replay, subject: Recording) -> Callable[[TuneReport], TuneReport]:
    """What makes of a report that of a replay: where it was recorded, and how far from the best of the recording it ended."""
    runs = subject.runs()
    medians = {key: median(found) for key, found in runs.items() if found}

    def of(report: TuneReport) -> TuneReport:
        device = replay.recorded.device
        regret = medians[key_of(report.best.config)] / min(medians.values()) if report.best is not None else None
        found = TunedReplay(file=replay.file, device=device, configurations=len(runs), regret=regret)
        where = f" on {device}" if device else ""
        message = f"nothing was measured: the times are those that were recorded in {replay.file}{where}"
        caution = Caution(code="replayed", message=message, effect="they say nothing of this machine")
        warnings = (caution, *report.warnings)
        return msgspec.structs.replace(report, replay=found, machine=device, fingerprint="", record=None, resumed_from=None, warnings=warnings)

    return of
