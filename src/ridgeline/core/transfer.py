"""`Exported` and `Imported`: what left a notebook as a file, and what became of what a file brought."""

from __future__ import annotations

import msgspec

__all__ = ["Exported", "Imported", "NotTaken"]


class NotTaken(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was left behind: its id or place in the file, and why."""

    id: str
    reason: str


class Exported(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.export/1"):
    """What was written.

    Args:
        notebook: from where; file: to where.
        runs, experiments, comparisons: how many of each.
        size_bytes: of the file; null on stdout.
        left_out: what could not be read, at most the first hundred; left_out_count: how many there were.
    """

    notebook: str
    file: str
    runs: int = 0
    experiments: int = 0
    comparisons: int = 0
    size_bytes: int | None = None
    left_out: tuple[NotTaken, ...] = ()
    left_out_count: int = 0


class Imported(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.import/1"):
    """What became of the entries of a file.

    Args:
        notebook: to where; file: from where.
        added: entries that are new here; present: that were here already, with the same content.
        conflicts: ids that are here with another content, which stays; at most the first hundred, conflict_count: how many there were.
        left_out: what could not be read or kept, at most the first hundred; left_out_count: how many there were.
    """

    notebook: str
    file: str
    added: int = 0
    present: int = 0
    conflicts: tuple[str, ...] = ()
    conflict_count: int = 0
    left_out: tuple[NotTaken, ...] = ()
    left_out_count: int = 0
