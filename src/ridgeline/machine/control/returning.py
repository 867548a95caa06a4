"""Putting one change back, and what other processes have set: what a run that ends and a start after a kill have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ridgeline.core import RidgelineError

from .changes import Change
from .kept import Kept, kept

__all__ = ["Outcome", "key_of", "put_back", "set_by_others", "words_of"]

#: `as before` where it had its old value already; `not ours` where somebody has changed it since, or still needs it.
Outcome = Literal["put back", "as before", "not ours", "failed"]


def key_of(change: Change) -> tuple[str, str]:
    """Kind and key, by which changes of several processes are the same."""
    return change.lasting, change.key


def put_back(change: Change) -> tuple[Outcome, str]:
    """Put a change back if it is still ours: (outcome, reason where there is one)."""
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
        return "failed", words_of(error)
    return "put back", ""


def set_by_others(folder: Path, root: Path, ours: Path | None) -> list[Change]:
    """What other living processes have set, or have joined in."""
    found: list[Change] = []
    for journal in kept(folder, root):
        if isinstance(journal, Kept) and journal.path != ours and journal.alive and not journal.foreign:
            found += journal.changes
    return found


def words_of(error: Exception) -> str:
    """What an error says, in one line."""
    return str(error) if isinstance(error, RidgelineError) else getattr(error, "strerror", None) or str(error)
