"""What the benchmarks of a gate are held against: a revision, stored values, the history in the notebook, or a predicted time.

Which of these a word means is decided here; what the numbers say in `diagnosis.gating`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ridgeline.core import HistoryLine, LeftOut, ReadError, Run, Series, SeriesSet, UsageError
from ridgeline.diagnosis.comparison import class_of, series_of
from ridgeline.diagnosis.history import history_report

from ..history import entries_of, runs_of
from .suite import Case, defines, read_cases

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

    from ..comparing.worktrees import Tree

__all__ = ["Stored", "by_name", "exists_in", "history_of", "missing_in", "sort_of", "stored", "unfilled"]

HISTORY = "history"
_RUN = re.compile(r"last|latest|-[1-9][0-9]{0,8}|[0-9]{8}T[0-9]{6}-[0-9a-f]{1,8}")


def sort_of(baseline: str) -> Literal["history", "run", "file", "revision"]:
    """What a baseline is, from the word and from what is there.

    Raises:
        UsageError: an empty word.

    >>> sort_of("history"), sort_of("latest"), sort_of("main")
    ('history', 'run', 'revision')
    """
    if not baseline.strip() or "\0" in baseline:
        remedy = "give a branch, a run, a result file, or history"
        raise UsageError("a baseline", found=repr(baseline), remedy=remedy)
    if baseline == HISTORY:
        return "history"
    if _RUN.fullmatch(baseline):
        return "run"
    return "file" if os.path.isfile(os.path.expanduser(baseline)) else "revision"


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Values that were measured before.

    Attributes:
        name: of the file or run.
        series: by name of the benchmark.
        left_out: entries of the file that are none.
    """

    name: str
    series: Mapping[str, Series]
    left_out: tuple[LeftOut, ...] = ()
    names: tuple[str, ...] = field(default=())


def stored(baseline: str, cases: tuple[Case, ...], notebook: Notebook | None) -> Stored:
    """The values of a run or a result file.

    Raises:
        UsageError: a run without a notebook, one without samples, or one run for several benchmarks.
        ReadError: a file that holds no results.
    """
    if sort_of(baseline) == "run":
        if notebook is None:
            raise UsageError("a notebook with the run", found="--no-notebook", remedy="leave it out")
        if len(cases) != 1:
            raise UsageError("one benchmark against one run", found=f"{len(cases)}", remedy="give a result file, a branch or history as the baseline")
        run = notebook.get(baseline)
        series = _latency(run)
        if series is None:
            raise UsageError("a run that measured its target", found=f"run {run.id}, a {run.verb} without samples", remedy="see `ridgeline log`")
        return Stored(name=f"run {run.id}", series={cases[0].name: series}, names=(cases[0].name,))
    return by_name(_results(baseline))


def _results(path: str) -> SeriesSet:
    from ridgeline.readers.results import read_results

    return read_results(os.path.expanduser(path))


def by_name(found: SeriesSet) -> Stored:
    """The series of a file by name: the latency where a benchmark has several metrics, else the first.

    Raises:
        ReadError: there are none.
    """
    if not found.series:
        raise ReadError("a result file with results", found=f"none in {found.source}", remedy="give another")
    named: dict[str, Series] = {}
    for series in found.series:
        if series.name not in named or (series.metric == "latency" and named[series.name].metric != "latency"):
            named[series.name] = series
    return Stored(name=found.source, series=named, left_out=found.left_out, names=tuple(named))


def _latency(run: Run) -> Series | None:
    return next((series for series in series_of(run).series if series.metric == "latency" and len(series.values)), None)


def exists_in(case: Case, tree: Tree) -> bool:
    """Whether a revision has the benchmark, as far as can be told without running it."""
    if case.target is None:
        program = case.command[0]
        return os.sep not in program or (tree.directory / program).exists() or os.path.isabs(program)
    place, colon, function = case.target.rpartition(":")
    if colon and place.lower().endswith(".py"):
        return os.path.isabs(place) or defines(tree.directory / place, function)
    if colon:
        return _module_has(tree, place, function)
    path = Path(os.path.expanduser(case.target))
    return path.is_absolute() or (tree.directory / path).exists()


def unfilled(case: Case, tree: Tree) -> Path | None:
    """The folder on the way to a benchmark that a checkout left empty, as git leaves those of submodules and no others."""
    place, colon, _ = (case.target or case.command[0]).rpartition(":")
    if not colon:
        place = case.target or case.command[0]
    is_module = bool(colon) and not place.lower().endswith(".py")
    below = Path(*place.split(".")) if is_module else Path(place)
    for root in (tree.root, tree.root / "src") if is_module else (tree.directory,):
        for folder in reversed((root / below).parents if not is_module else [root / below, *(root / below).parents]):
            if tree.root in folder.parents and folder.is_dir() and not any(folder.iterdir()):
                return folder.relative_to(tree.root)
    return None


def _module_has(tree: Tree, module: str, function: str) -> bool:
    """A module that is in neither place of the revision may be installed: then it is taken to be there."""
    below = Path(*module.split("."))
    top = below.parts[0]
    for root in (tree.root, tree.root / "src"):
        if not ((root / top).is_dir() or (root / f"{top}.py").is_file()):
            continue
        files = [root / below.with_suffix(".py"), root / below / "__init__.py"]
        return any(defines(file, function) for file in files if file.is_file())
    return True


def missing_in(cases: tuple[Case, ...], tree: Tree) -> tuple[str, ...]:
    """Names that the same suites had in a revision and do not have now."""
    now = {case.name for case in cases}
    gone: list[str] = []
    for suite in dict.fromkeys(case.suite for case in cases if case.suite and not os.path.isabs(case.suite)):
        try:
            before = read_cases([suite], root=tree.directory)
        except (UsageError, ReadError):
            continue
        gone += [case.name for case in before if case.suite and case.name not in now]
    return tuple(dict.fromkeys(gone))


def history_of(case: Case, series: Series, notebook: Notebook, limit: int, *, leave_out: str | None = None) -> HistoryLine | None:
    """The history of a benchmark among the runs that may stand beside `series`, the run `leave_out` apart; `None` where there is no such run."""
    text = "-- " + " ".join(case.command) if case.target is None else case.target
    entries = [entry for run in runs_of(notebook, text, limit) if run.id != leave_out for entry in entries_of(run, metrics=("median",))]
    wanted = {key: value for key, value in series.keys.items() if class_of(key) == "must" and key != "workload"}
    alike = [entry for entry in entries if {key: value for key, value in entry.keys.items() if key != "workload"} == wanted]
    lines = history_report(text, alike).lines
    return lines[0] if lines else None
