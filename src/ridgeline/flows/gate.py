"""`gate`: may this version go in? Every benchmark looked at cheaply, what looks slower confirmed on fresh processes, the family's error rate kept.

Joins measuring with judging: which benchmarks there are is decided in `gating.suite`, what they are held against in `gating.baselines`, how one is
measured in `gating.measuring`, the rule in `diagnosis.gating`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ridgeline.core import Caution, GateCheck, GateReport, Predicted, RidgelineError, Series, SeriesSet, UsageError
from ridgeline.diagnosis import gating as rule
from ridgeline.targets import parse_target

from .comparing.first_look import first_look
from .comparing.revisions import side_in
from .comparing.sides import LiveSide
from .comparing.worktrees import Tree, checked_out
from .gating.baselines import Stored, by_name, exists_in, history_of, missing_in, sort_of, stored, unfilled
from .gating.measuring import Effort, Measured, Measurer
from .gating.suite import Case, read_cases

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["DEFAULT_MARGIN", "Efforts", "gate"]

Report = Callable[[str, float | None], None]
DEFAULT_MARGIN = 0.02
_MOST_RUNS = 200
_PREDICTION = "the prediction"
_FILES = (".json", ".jsonl", ".csv", ".xml")


@dataclass(frozen=True, kw_only=True)
class Efforts:
    """What a looking costs.

    Attributes:
        first_s, second_s: seconds for one benchmark, both versions together.
        first, second: processes of each version.
        samples: calls of a process; the harness's choice if null.
        seed: of the order of processes.
    """

    first_s: float = 4.0
    second_s: float = 12.0
    first: int = 5
    second: int = 12
    samples: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("first_s", "second_s"):
            if not 0 < getattr(self, name) < 1e6:
                raise UsageError("seconds for a looking, above 0 and below 1e6", found=f"{name} = {getattr(self, name)!r}", remedy="give a time")
        if not 3 <= self.first <= 1000 or not 5 <= self.second <= 1000:
            remedy = "leave them out"
            raise UsageError("3 to 1000 processes at first and 5 to 1000 after", found=f"{self.first} and {self.second}", remedy=remedy)


def gate(
    targets: Sequence[str],
    *,
    baseline: str | None = None,
    predicted: Predicted | None = None,
    command: Sequence[str] = (),
    setup: str | None = None,
    margin: float = DEFAULT_MARGIN,
    confidence: float = 0.97,
    changing: Collection[str] = (),
    tail: bool = False,
    efforts: Efforts | None = None,
    notebook: Notebook | None = None,
    report: Report | None = None,
    line: str = "",
    measured_to: Callable[[SeriesSet], None] | None = None,
) -> GateReport:
    """Hold this version against a baseline.

    Args:
        targets: TARGETs, suites in TOML, Python files with functions `bench_…`, or one result file.
        baseline: a revision (checked out and measured beside this version), a stored run, a result file, or `history`; the history if null.
        predicted: what the one target should take, in place of a baseline.
        command: one benchmark that is a command line, in place of targets.
        setup: shell command run in the checked-out revision first.
        margin: relative slowdown that is let pass where a suite says nothing else, in [0, 1).
        confidence: that no benchmark of an unchanged version makes it red, in (0, 1).
        changing: keys whose difference is the point of the change.
        tail: whether a worse p99 alone makes it red.
        efforts: what the lookings cost.
        notebook: where this version's runs are kept, and the history is from.
        report: told a label and, where known, a fraction, for progress.
        line: the command line, for the record.
        measured_to: told what was measured of this version in the first looking, all benchmarks together.

    Raises:
        UsageError: nothing to check, a baseline that is none, or options that contradict each other.
        ReadError: a suite or result file that is none.
    """
    if not 0 <= margin < 1 or not 0 < confidence < 1:
        found = f"margin {margin!r}, confidence {confidence!r}"
        raise UsageError("a margin in [0, 1) and a confidence in (0, 1)", found=found, remedy="write 2 % as 0.02")
    job = _Job(margin=margin, confidence=confidence, changing=frozenset(changing), tail=tail, efforts=efforts or Efforts(), notebook=notebook,
               report=report or _silent, line=line)  # fmt: skip
    if len(targets) == 1 and targets[0].lower().endswith(_FILES):
        return job.of_files(targets[0], baseline)
    cases = _asked(targets, command, predicted)
    if baseline is not None and all(case.predicted is not None for case in cases):
        raise UsageError("a baseline or predictions", found="both for every benchmark", remedy="leave one out")
    with job.prepared(cases, baseline, setup):
        closed = job.run(cases)
    if measured_to is not None and job.measured:
        measured_to(SeriesSet(source=line or "ridgeline gate", tool="ridgeline", series=tuple(job.measured.values())))
    return closed


def _short(commit: str) -> str:
    """Eight digits of a commit, and whether the tree was changed."""
    digits, plus, changed = commit.partition("+")
    return f"{digits[:8]}{plus}{changed}"


def _silent(label: str, fraction: float | None) -> None:
    """Where nobody wants progress."""


def _asked(targets: Sequence[str], command: Sequence[str], predicted: Predicted | None) -> tuple[Case, ...]:
    if command and targets:
        raise UsageError("targets or -- COMMAND", found="both", remedy="name the command in a suite")
    cases = (Case(name=" ".join(command), command=tuple(command)),) if command else read_cases(targets)
    if not cases:
        raise UsageError("a benchmark to check", found="none", remedy="give TARGET, suite.toml, or file.py with functions bench_…")
    if predicted is None:
        return cases
    if len(cases) != 1:
        raise UsageError("--predicted for one benchmark", found=f"{len(cases)}", remedy="write predicted = … into the suite")
    return (msgspec.structs.replace(cases[0], predicted=predicted),)


@dataclass(kw_only=True)
class _First:
    """The first looking at one benchmark, and how to measure it again."""

    case: Case
    against: str
    look: rule.Look
    measured: Measured
    sides: tuple[LiveSide, ...]
    again: Callable[[Measured, float], rule.Look]
    independent: bool
    warnings: tuple[Caution, ...] = ()

    @property
    def series(self) -> Series:
        return self.measured.series[-1]


@dataclass(kw_only=True)
class _Job:
    """One gate."""

    margin: float
    confidence: float
    changing: frozenset[str]
    tail: bool
    efforts: Efforts
    notebook: Notebook | None
    report: Report
    line: str
    baseline: str = ""
    sort: str = ""
    trees: tuple[Tree, ...] = ()
    stored: Stored | None = None
    measured: dict[str, Series] = field(default_factory=dict)

    @contextlib.contextmanager
    def prepared(self, cases: tuple[Case, ...], baseline: str | None, setup: str | None) -> Iterator[None]:
        """Find the baseline, and have it checked out for the time of a `with`."""
        self.sort = "prediction" if all(case.predicted for case in cases) else sort_of("history" if baseline is None else baseline)
        self.baseline = {"prediction": _PREDICTION, "history": "the history"}.get(self.sort, baseline or "")
        if setup is not None and self.sort != "revision":
            raise UsageError("--setup for a revision as the baseline", found=f"a baseline that is {self.baseline}", remedy="leave it out")
        if self.sort == "history" and self.notebook is None:
            raise UsageError("a notebook with the history", found="--no-notebook", remedy="leave it out, or give --baseline")
        if self.sort in ("run", "file"):
            self.stored = stored(baseline or "", cases, self.notebook)
            self.baseline = self.stored.name
        with contextlib.ExitStack() as stack:
            if self.sort == "revision":
                self.trees = stack.enter_context(checked_out([baseline or "", "worktree"], setup=setup, report=self.report))
                self.baseline = f"{baseline} ({_short(self.trees[0].commit)})"
            yield

    def run(self, cases: tuple[Case, ...]) -> GateReport:
        """Both lookings."""
        measurer = Measurer(self.notebook, self.report, self.line, self.efforts.samples, self.efforts.seed)
        found: dict[str, _First | GateCheck] = {}
        for number, case in enumerate(cases):
            self.report(f"benchmark {number + 1} of {len(cases)}: {case.name}", number / len(cases))
            try:
                found[case.name] = self._first(case, measurer)
            except RidgelineError as error:
                found[case.name] = self._plain(case, "failed", str(error))
        firsts = [first for first in found.values() if isinstance(first, _First)]
        suspects = [first for first in firsts if rule.suspicious(first.look, tail=self.tail)]
        for first in suspects:
            found[first.case.name] = self._second(first, measurer, len(suspects), len(firsts))
        checks = [self._check(each, None) if isinstance(each, _First) else each for each in found.values()]
        checks += [GateCheck(name=name, verdict="missing", against=self.baseline, because="it was there before") for name in self._missing(cases)]
        warnings = [Caution(code="not-kept", message=measurer.failure, effect="these runs are in no notebook")] if measurer.failure else []
        left_out = self.stored.left_out if self.stored else ()
        closed = rule.closed(
            checks, baseline=self.baseline, version=_short(self.trees[1].commit) if self.trees else "this version", confidence=self.confidence,
            fail_on=("slower", "tail") if self.tail else ("slower",), left_out=left_out,
        )  # fmt: skip
        return msgspec.structs.replace(closed, warnings=tuple(warnings), command=self.line)

    def _missing(self, cases: tuple[Case, ...]) -> tuple[str, ...]:
        if self.trees:
            return missing_in(cases, self.trees[0])
        if self.stored is not None:
            names = {case.name for case in cases}
            return tuple(name for name in self.stored.names if name not in names)
        return ()

    def _first(self, case: Case, measurer: Measurer) -> _First | GateCheck:
        effort = Effort(processes=self.efforts.first, budget_s=self.efforts.first_s)
        margin = self._margin(case)
        if case.predicted is None and self.trees:
            return self._beside(case, measurer, effort, margin)
        side = self._here(case)
        measured = measurer.measured(case.name, (side,), effort)
        self.measured[case.name] = measured.series[-1]
        if case.predicted is not None:
            predicted = case.predicted
            return self._made(
                case, _PREDICTION, measured, (side,), lambda new, error: rule.at_prediction(predicted, new.series[-1], error=error), True
            )
        if self.stored is not None:
            before = self.stored.series.get(case.name)
            if before is None:
                return self._plain(case, "new", "the baseline does not have it")
            before = msgspec.structs.replace(before, keys={**before.keys, "workload": case.name} if "workload" in before.keys else before.keys)
            return self._made(
                case, self.baseline, measured, (side,),
                lambda new, error: rule.at_baseline(before, new.series[-1], margin=margin, error=error, changing=self.changing), False,
            )  # fmt: skip
        if self.notebook is None:
            raise UsageError("a notebook with the history", found="none", remedy="give --baseline")
        line = history_of(case, measured.series[-1], self.notebook, _MOST_RUNS, leave_out=measured.run)
        if line is None or line.level is None:
            return self._plain(case, "new", "the notebook has no runs of it that this one can be held against")
        against = f"{line.level_runs} run{'s' * (line.level_runs != 1)} of its history"
        return self._made(
            case, against, measured, (side,), lambda new, error: rule.at_history(line, new.series[-1], margin=margin, error=error), False
        )  # fmt: skip

    def _beside(self, case: Case, measurer: Measurer, effort: Effort, margin: float) -> _First | GateCheck:
        """Both revisions of a benchmark, interleaved."""
        now = side_in(self.trees[1], case.target, case.command, threads=case.threads, seed=self.efforts.seed)
        if not exists_in(case, self.trees[0]):
            self.measured[case.name] = measurer.measured(case.name, (now,), effort).series[-1]
            empty = unfilled(case, self.trees[0])
            if empty is not None:
                because = f"whether {self.baseline} has it is not known: {empty} is a submodule; to do: --setup 'git submodule update --init'"
                return self._plain(case, "inconclusive", because)
            return self._plain(case, "new", f"{self.baseline} does not have it")
        before = side_in(self.trees[0], case.target, case.command, threads=case.threads, seed=self.efforts.seed)
        try:
            seen = first_look(before, now, trees=self.trees, changing=self.changing, report=lambda label, fraction: None)
            measured = measurer.measured(case.name, (before, now), effort)
        except RidgelineError as problem:
            # A version that mends what did not run must not be red for it; where this one does not run either, that is raised.
            self.measured[case.name] = measurer.measured(case.name, (now,), effort).series[-1]
            return self._plain(case, "inconclusive", f"this version runs; with {self.baseline} beside it: {problem}")
        self.measured[case.name] = measured.series[-1]
        return self._made(
            case, self.baseline, measured, (before, now),
            lambda new, error: rule.at_baseline(*new.series, margin=margin, error=error, changing=self.changing), True, seen.warnings,
        )  # fmt: skip

    def _here(self, case: Case) -> LiveSide:
        spec = parse_target(case.target, case.command, threads=case.threads, seed=self.efforts.seed)
        return LiveSide(spec=spec, name=case.name)

    def _made(
        self,
        case: Case,
        against: str,
        measured: Measured,
        sides: tuple[LiveSide, ...],
        look: Callable[[Measured, float], rule.Look],
        independent: bool,
        warnings: tuple[Caution, ...] = (),
    ) -> _First:
        return _First(
            case=case, against=against, look=look(measured, rule.FIRST_ERROR), measured=measured, sides=sides, again=look, independent=independent,
            warnings=warnings,
        )  # fmt: skip

    def _second(self, first: _First, measurer: Measurer, suspects: int, family: int) -> GateCheck:
        self.report(f"{first.case.name} looks slower: measuring it again", None)
        error = rule.error_of_each(suspects, family, confidence=self.confidence, tail=self.tail, independent=first.independent)
        try:
            effort = Effort(processes=self.efforts.second, budget_s=self.efforts.second_s)
            measured = measurer.measured(first.case.name, first.sides, effort)
        except RidgelineError as problem:
            return self._plain(first.case, "failed", f"it ran once and not again: {problem}")
        look = first.again(measured, error)
        return self._check(first, look, measured)

    def _check(self, first: _First, second: rule.Look | None, measured: Measured | None = None) -> GateCheck:
        case = first.case
        runs = [found.run for found in (first.measured, measured) if found is not None and found.run is not None]
        check = rule.check_of(
            case.name, case.target or " ".join(case.command), first.against, first.look, second, margin=self._margin(case), tail=self.tail,
            series=first.series, runs=runs,
        )  # fmt: skip
        return msgspec.structs.replace(check, warnings=(*check.warnings, *first.warnings))

    def _margin(self, case: Case) -> float:
        if case.predicted is not None:
            return case.predicted.tolerance
        return self.margin if case.margin is None else case.margin

    def _plain(self, case: Case, verdict: str, because: str) -> GateCheck:
        known = {"name": case.name, "verdict": verdict, "against": self.baseline, "target": case.target or " ".join(case.command), "because": because}
        return msgspec.convert({**known, "margin": self._margin(case)}, GateCheck)

    def of_files(self, path: str, baseline: str | None) -> GateReport:
        """One result file against another: no process can be started, so that one looking decides, at the strict rate."""
        from ridgeline.readers.results import read_results

        if baseline is None or sort_of(baseline) == "history":
            raise UsageError("--baseline FILE|RUN for a result file", found="none", remedy="give the file that it is held against")
        now = by_name(read_results(path))
        cases = tuple(Case(name=name) for name in now.names)
        before = stored(baseline, cases, self.notebook)
        common = [name for name in now.names if name in before.series]
        checks = [GateCheck(name=name, verdict="new", against=before.name, because="the baseline does not have it") for name in now.names
                  if name not in before.series]  # fmt: skip
        error = rule.error_of_each(max(1, len(common)), max(1, len(common)), confidence=self.confidence, tail=self.tail, independent=False)
        for name in common:
            look = rule.at_baseline(before.series[name], now.series[name], margin=self.margin, error=error, changing=self.changing)
            checks.append(rule.check_of(name, "", before.name, look, None, margin=self.margin, tail=self.tail, series=now.series[name], stored=True))
        checks += [GateCheck(name=name, verdict="missing", against=before.name, because="it was there before") for name in before.names
                   if name not in now.series]  # fmt: skip
        closed = rule.closed(
            checks, baseline=before.name, version=now.name, confidence=self.confidence, fail_on=("slower", "tail") if self.tail else ("slower",),
            left_out=(*before.left_out, *now.left_out),
        )  # fmt: skip
        return msgspec.structs.replace(closed, command=self.line)
