"""`Run`: one dated record of what was measured, from which every verdict can be replayed."""

from __future__ import annotations

import msgspec

from .benchmark import Benchmark
from .diagnosis import Diagnosis
from .display import shown_inline
from .facts import Facts
from .space import Trial
from .tuned import TuneReport
from .verdict import GroundTruth

__all__ = ["Run"]


class Run(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.run/1"):
    """One record of the notebook.

    Args:
        id: unique, sortable by time (`YYYYMMDDTHHMMSS-xxxxxxxx`).
        verb: the flow that wrote it, such as `diagnose` or `probe`.
        at: ISO 8601 time with zone.
        software: versions of Python, ridgeline and the frameworks in use.
        commit: commit of the target's repository, null outside one; `+dirty` is appended when the tree is changed.
        method: the recipe: warm-up, samples, processes, instruments.
        command: the command line that made it, empty for a call of the library.
        repository: where the target's repository is cloned from, without a password; empty where that is not known.
        directory: where the command was given, relative to the root of that repository; empty at its root and where there is none.
        truth: the ground truth that was concluded from `bench`, so that all who show it show the same.
        bench: every call of every process, where a benchmark was run; `facts.samples` are its steady ones.
        facts: what was measured.
        tuned, trials: what a tuning found, and all that it tried.
        diagnosis: what was concluded then; a replay must reach the same.
    """

    id: str
    verb: str
    at: str
    software: dict[str, str]
    commit: str | None
    method: str
    facts: Facts
    diagnosis: Diagnosis | None = None
    command: str = ""
    bench: Benchmark | None = None
    repository: str = ""
    directory: str = ""
    truth: GroundTruth | None = None
    tuned: TuneReport | None = None
    trials: tuple[Trial, ...] = ()

    def _repr_html_(self) -> str | None:
        """Its fragment for a notebook."""
        return shown_inline(self)
