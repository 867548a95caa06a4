"""The log: what was measured and compared so far, newest first."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ridgeline.notebook import ComparisonSummary, Notebook, RunFilter, RunSummary, default_location, exists

__all__ = ["comparisons", "log"]

_ALL = RunFilter()


def log(
    location: str | Path | None = None,
    *,
    limit: int | None = 20,
    verb: str | None = None,
    target: str | None = None,
    wanted: RunFilter = _ALL,
) -> tuple[str, tuple[RunSummary, ...]]:
    """Summaries of runs and the notebook they are from; the default notebook may not exist yet and then has none.

    Args:
        location: path or URL; the default notebook if not given.
        limit: at most so many runs; all if null.
        verb, target: in place of those of `wanted`.
        wanted: only these runs.

    Raises:
        UsageError: a notebook that was named does not exist or cannot be opened, or a time that cannot be read.
        ReadError: it is none.
    """
    given = {name: value for name, value in (("verb", verb), ("target", target)) if value is not None}
    wanted = msgspec.structs.replace(wanted, **given)
    # A filter that means nothing is said even where there is nothing to filter.
    wanted.where()
    if location is None and not exists(default_location()):
        return default_location(), ()
    with Notebook.open(location, create=False) as notebook:
        return notebook.place, notebook.runs(limit, wanted=wanted)


def comparisons(
    location: str | Path | None = None, *, limit: int | None = 20, target: str | None = None
) -> tuple[str, tuple[ComparisonSummary, ...]]:
    """Summaries of comparisons and the notebook they are from, as `log` has them of runs.

    Args:
        location: path or URL; the default notebook if not given.
        limit: at most so many; all if null.
        target: only those whose target contains this text.

    Raises:
        UsageError, ReadError: as `log`.
    """
    if location is None and not exists(default_location()):
        return default_location(), ()
    with Notebook.open(location, create=False) as notebook:
        return notebook.place, notebook.comparisons(limit, target=target)
