"""What killed runs have left set: told by `left_over`, put back by `restore_left_over`, each setting once, by whoever comes first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from ridgeline.core import RidgelineError

from .journal import journal_directory, locked
from .kept import Kept, kept
from .returning import Outcome, key_of, put_back, set_by_others, words_of

__all__ = ["LeftOver", "left_over", "restore_left_over"]

_IN_USE: tuple[Outcome, str] = ("not ours", "another process that tunes still uses it")


class LeftOver(msgspec.Struct, frozen=True, kw_only=True):
    """What a killed process left, or what became of it.

    Args:
        path: the journal.
        key: the setting, empty where the journal cannot be read.
        found, wanted: its value before, and the one that was set.
        outcome: `left` (nothing done yet), `put back`, `as before` (it had its old value already), `not ours` (somebody has changed it since, or
            still uses it), `failed`, `unreadable`.
        reason: why, in one sentence, where there is one.
    """

    path: str
    key: str = ""
    found: str = ""
    wanted: str = ""
    outcome: Outcome | Literal["left", "unreadable"] = "left"
    reason: str = ""

    def __str__(self) -> str:
        if self.outcome == "unreadable":
            return f"the journal of settings {self.path} cannot be trusted and is left alone: {self.reason}; look at the settings and delete it"
        said = {
            "left": f"{self.key} was left at {self.wanted} instead of {self.found}",
            "as before": f"{self.key} is at {self.found} as before",
            "put back": f"{self.key} put back from {self.wanted} to {self.found}, as a killed run had left it",
            "not ours": f"{self.key} left as it is",
            "failed": f"{self.key} could not be put back from {self.wanted} to {self.found}",
        }[self.outcome]
        return f"{said}: {self.reason}" if self.reason else said


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
    return LeftOver(path=str(folder or ""), outcome="unreadable", reason=words_of(error))


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
            others = {key_of(change) for change in set_by_others(place, root, None)}
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
        outcome, reason = _IN_USE if key_of(change) in others else put_back(change)
        outcomes.append(outcome)
        if outcome != "failed":
            journal.put_back(change)
        if outcome != "as before":
            yield LeftOver(path=str(journal.path), key=change.key, found=change.found, wanted=change.wanted, outcome=outcome, reason=reason)
    if "failed" not in outcomes:
        journal.remove()
