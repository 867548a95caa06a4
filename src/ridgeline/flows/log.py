"""The log: what was measured so far, newest first."""

from __future__ import annotations

from pathlib import Path

from ridgeline.notebook import Notebook, RunSummary, default_location, exists

__all__ = ["log"]


def log(
    location: str | Path | None = None, *, limit: int | None = 20, verb: str | None = None, target: str | None = None
) -> tuple[str, tuple[RunSummary, ...]]:
    """Summaries of runs and the notebook they are from; the default notebook may not exist yet and then has none.

    Args:
        location: path or URL; the default notebook if not given.
        limit: at most so many runs; all if null.
        verb: only runs of this flow.
        target: only runs whose target contains this text.

    Raises:
        UsageError: a notebook that was named does not exist or cannot be opened.
        ReadError: it is none.
    """
    if location is None:
        place = default_location()
        if not exists(place):
            return place, ()
    with Notebook.open(location, create=False) as notebook:
        return notebook.place, notebook.runs(limit, verb=verb, target=target)
