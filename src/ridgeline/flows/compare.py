"""`compare`: one thing held against another: two targets, commands, callables, revisions, stored runs or result files.

Joins measuring with judging: what A and B are is decided in `comparing.sides`, how they are measured beside each other in `comparing.live`,
what the numbers say in `diagnosis.comparison`, where a difference comes from in `diagnosis.attribution`. Every comparison is kept in the notebook,
and one that tested a promise or a hypothesis as an `Experiment` too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, overload

import msgspec

from ridgeline.core import Caution, Comparison, ComparisonSet, RidgelineError, Run, UsageError
from ridgeline.diagnosis.comparison import unlike
from ridgeline.machine import in_worker, read_machine

from .comparing.here import compared_here, outputs_here
from .comparing.options import changed_variables, options_of_both
from .comparing.promise import Tested, action_of, experiment_of, held
from .comparing.sides import CallableSide, FileSide, Given, LiveSide, RevisionSide, RunSide, Side, side_of, sort_of_both
from .comparing.stored import compared_stored, opened
from .comparing.worktrees import Tree, checked_out

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

    from .comparing.live import Amount

__all__ = ["DEFAULT_BUDGET_S", "Question", "compare"]

Report = Callable[[str, float | None], None]
#: Seconds for all processes of both versions when the person names no budget.
DEFAULT_BUDGET_S = 20.0
#: Part of the budget that is left for measuring, however long preparing took.
_MEASURING_PART = 0.5
#: Times the budget that looking into the difference may take.
_WHY_PART = 2.0


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a comparison.

    Attributes:
        margin: relative difference up to which two versions are the same, in [0, 1).
        confidence: of the verdict, in (0, 1): 0.97 calls three of a hundred equal pairs different.
        changing: keys whose difference is the point of the change, such as `precision`.
        why: whether to say where a difference comes from.
        hypothesis: what is expected, in words, for the record.
        tests: `ACTION@RUN` of a stored diagnosis whose promise is held against what is found.
        tail: whether to go on measuring until the tail is judged as well.
    """

    margin: float = 0.01
    confidence: float = 0.97
    changing: Collection[str] = ()
    why: bool = False
    hypothesis: str = ""
    tests: str = ""
    tail: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1 or not 0 < self.confidence < 1:
            found = f"margin {self.margin!r}, confidence {self.confidence!r}"
            raise UsageError("a margin in [0, 1) and a confidence in (0, 1)", found=found, remedy="write 1 % as 0.01 and 97 % as 0.97")


def compare(
    a: Given,
    b: Given,
    *,
    target: str | None = None,
    arguments: Sequence[str] = (),
    setup: str | None = None,
    command: bool = False,
    margin: float = 0.01,
    confidence: float = 0.97,
    changing: Collection[str] = (),
    threads: int | tuple[int | None, int | None] | None = None,
    inputs: str | None = None,
    shapes: Sequence[str] = (),
    runtime: str | tuple[str | None, str | None] | None = None,
    environment: Mapping[str, str] | tuple[Mapping[str, str] | None, Mapping[str, str] | None] | None = None,
    synchronise: str = "auto",
    use: Literal["once", "repeated"] = "repeated",
    cache: Literal["warm", "cold"] = "warm",
    soak: bool = False,
    tune: bool = False,
    lock_gpu_hz: float | None = None,
    processes: int | None = None,
    time_budget_s: float | None = None,
    samples: int | None = None,
    seed: int = 0,
    why: bool = False,
    hypothesis: str = "",
    tests: str = "",
    tail: bool = False,
    notebook: Notebook | None = None,
    report: Report | None = None,
    line: str = "",
) -> Comparison | ComparisonSet:
    """Hold b against a; ratios are b ÷ a.

    Args:
        a, b: two of a sort: TARGET texts, command lines, Python callables, git revisions, stored runs (ids, `latest`, -1, or `Run`), result files
            (paths, or `SeriesSet`); a run may stand against a file.
        target, arguments: the TARGET or the command line that a and b are revisions of.
        setup: shell command run in each checked-out revision first.
        command: a and b are command lines even where they are one word.
        margin, confidence, changing, why, hypothesis, tests, tail: see `Question`.
        threads: for the target, at least 1; its own choice if null. Of this, `runtime` and `environment` a tuple is (of a, of b): where that is
            the change, it is declared with `changing`.
        inputs: of a model: a file, a folder, or a function that returns them, as `file.py:function`; such a function for a function as well.
        shapes: `NAME=1x3x224x224` of an input, or `SYMBOL=8`, each.
        runtime: `onnxruntime` or `openvino` for `model.onnx`; the usual one if null.
        environment: variables of the processes.
        synchronise: how a function's results are waited for: `auto`, `none`, or a function as `file.py:function`.
        use: `once` compares the first calls of fresh processes.
        cache: `cold` empties the caches before every call.
        soak, tune, lock_gpu_hz: see `bench`.
        processes: of each version; as many as the budget allows, and no more than the verdict needs, if null.
        time_budget_s: seconds for the processes of both versions.
        samples: calls of a process; the harness's choice if null.
        seed: of the order of processes and of generated inputs.
        notebook: where runs, comparison and experiment are kept.
        report: told a label and, where known, a fraction, for progress.
        line: the command line, for the record.

    Returns:
        A `Comparison` of one benchmark, a `ComparisonSet` of result files with several. Unlike results are `incomparable`, with the keys.

    Raises:
        UsageError: sides of different sorts, or a word with no meaning or two.
        TargetFailed: a version does not run, or a revision's modules come from elsewhere.
        ReadError: a result file that is none.
    """
    question = Question(
        margin=margin, confidence=confidence, changing=frozenset(changing), why=why, hypothesis=hypothesis, tests=tests, tail=tail
    )  # fmt: skip
    revision = _revisions_asked(target, arguments, setup, processes)
    options = options_of_both(
        threads=threads, runtime=runtime, environment=environment, inputs=inputs, shapes=shapes, synchronise=synchronise, use=use, seed=seed
    )  # fmt: skip
    sides = (
        side_of(a, revision=revision, command=command, options=options[0]),
        side_of(b, revision=revision, command=command, options=options[1]),
    )
    sort_of_both(*sides)
    asked = action_of(tests, notebook) if tests else None
    job = _Job(question=question, asked=asked, notebook=notebook, report=report or _silent, line=line)
    _refuse_preparation(sides, {"--cold-cache": cache == "cold", "--soak": soak, "--tune": tune, "--lock-gpu-clock": lock_gpu_hz is not None})
    if isinstance(sides[0], RunSide | FileSide) and isinstance(sides[1], RunSide | FileSide):
        return job.stored(sides[0], sides[1])
    from .comparing.live import Amount

    amount = Amount(
        time_budget_s=DEFAULT_BUDGET_S if time_budget_s is None else time_budget_s, processes=processes, samples=samples, seed=seed,
        margin=margin, confidence=confidence, changing=question.changing, tail=tail, cache=cache, soak=soak, tune=tune, lock_gpu_hz=lock_gpu_hz,
    )  # fmt: skip
    if isinstance(sides[0], RevisionSide) and isinstance(sides[1], RevisionSide):
        from .comparing.revisions import side_in

        with checked_out([sides[0].name, sides[1].name], setup=setup, report=job.report) as trees:
            versions = [side_in(tree, target, arguments, options=side) for tree, side in zip(trees, options, strict=True)]
            return job.live(versions[0], versions[1], amount, trees)
    if isinstance(sides[0], LiveSide) and isinstance(sides[1], LiveSide):
        return job.live(sides[0], sides[1], amount)
    return job.here(sides, amount)


def _revisions_asked(target: str | None, arguments: Sequence[str], setup: str | None, processes: int | None) -> bool:
    """Whether a and b are revisions; refuses a call that makes no sense before anything is looked at."""
    if in_worker():
        found = "compare called while a target is imported"
        raise UsageError("a comparison outside of itself", found=found, remedy="put the call below `if __name__ == '__main__':`")
    if processes is not None and processes < 2:
        # One process of each is one draw of each, however many calls it makes.
        raise UsageError("two processes of each version or more", found=str(processes), remedy="leave --processes out, or give five or more")
    if target is not None and arguments:
        raise UsageError("one of --target and -- COMMAND", found="both", remedy="leave one out")
    revision = target is not None or bool(arguments)
    if setup is not None and not revision:
        raise UsageError("a set-up for revisions", found="no --target and no -- COMMAND", remedy="leave --setup out")
    return revision


def _refuse_preparation(sides: tuple[Side, Side], asked: Mapping[str, bool]) -> None:
    """Refuse what prepares the machine where a side is measured by nobody now, or in this process."""
    words = [word for word, given in asked.items() if given]
    if words and not all(isinstance(side, LiveSide | RevisionSide) for side in sides):
        found = f"{', '.join(words)} with {sides[0].name!r} and {sides[1].name!r}"
        raise UsageError("versions that fresh processes run, for what prepares the machine", found=found, remedy="leave it out")


def _silent(label: str, fraction: float | None) -> None:
    """Where nobody wants progress."""


@dataclass(kw_only=True)
class _Job:
    """One comparison: its question, and where it is kept."""

    question: Question
    asked: Tested | None
    notebook: Notebook | None
    report: Report
    line: str

    def live(self, a: LiveSide, b: LiveSide, amount: Amount, trees: tuple[Tree, ...] = ()) -> Comparison:
        """Measure two versions and compare them."""
        from .comparing.earlier import earlier_words
        from .comparing.first_look import first_look
        from .comparing.live import Live, compared_live
        from .comparing.why import attributed, views_of

        _refuse_unlike(a, b)
        began = time.monotonic()
        words = earlier_words(self.notebook, a, read_machine(), amount.confidence)
        if words:
            self.report(words, None)
        seen = first_look(a, b, trees=trees, changing=frozenset(self.question.changing), report=self.report)
        refused = unlike(*seen.infos, self.question.changing, changed_variables(a.spec.environment, b.spec.environment))
        if refused is not None:
            return self.closed(msgspec.structs.replace(refused, name_a=a.name, name_b=b.name, command=self.line), ())
        live = Live(sides=(a, b), infos=seen.infos, notebook=self.notebook, command=self.line, one_code=_one_code(a, b, trees))
        # The person's seconds are all seconds: what preparing took is not there for measuring.
        left_s = max(_MEASURING_PART * amount.time_budget_s, amount.time_budget_s - (time.monotonic() - began))
        found, runs = compared_live(live, replace(amount, time_budget_s=left_s), self.report)
        same = _same_code(a, b, trees)
        found = msgspec.structs.replace(found, warnings=(*found.warnings, *seen.warnings, *same))
        if self.question.why:
            found = attributed(found, views_of(found, (a, b), _WHY_PART * amount.time_budget_s, amount.seed, self.report))
        return self.closed(found, runs)

    def here(self, sides: Sequence[object], amount: Amount) -> Comparison:
        """Compare two callables of which one is only in this process."""
        calls = [side.call if isinstance(side, CallableSide) else _loaded(side) for side in sides]
        names = [side.name for side in sides if isinstance(side, CallableSide | LiveSide)]
        output = outputs_here((calls[0], calls[1]), 1e-5)
        found = compared_here((calls[0], calls[1]), names[0], amount, self.report)
        from .comparing.first_look import output_cautions

        warnings = (*found.warnings, *output_cautions(output))
        if self.question.why:
            reason = "a callable of this process cannot be looked into; give file.py:function"
            warnings = (*warnings, Caution(code="not-attributed", message=f"nothing is attributed: {reason}"))
        found = msgspec.structs.replace(found, name_a=names[0], name_b=names[-1], confidence=amount.confidence, warnings=warnings)
        return self.closed(found, ())

    def stored(self, a: RunSide | FileSide, b: RunSide | FileSide) -> Comparison | ComparisonSet:
        """Compare what was measured before."""
        question = self.question
        sides = opened(a, self.notebook), opened(b, self.notebook)
        found = compared_stored(*sides, margin=question.margin, confidence=question.confidence, changing=question.changing)
        if isinstance(found, ComparisonSet):
            if question.tests or question.hypothesis or question.why:
                remedy = "give files with one benchmark each"
                raise UsageError("one benchmark for --why, --tests and --hypothesis", found=f"{len(found.comparisons)}", remedy=remedy)
            return self.kept(msgspec.structs.replace(found, command=self.line))
        runs = tuple(side.run for side in sides if side.run is not None)
        if question.why:
            from .comparing.why import Views, attributed

            facts = [(side.run.facts,) if side.run is not None else () for side in sides]
            found = attributed(found, Views(a=facts[0], b=facts[1]))
        return self.closed(msgspec.structs.replace(found, command=self.line), runs)

    def closed(self, found: Comparison, runs: Sequence[Run]) -> Comparison:
        """The comparison with its hypothesis and promise, kept in the notebook."""
        found = msgspec.structs.replace(found, hypothesis=self.question.hypothesis)
        if self.asked is not None:
            machines = [run.facts.machine.fingerprint for run in runs] or [read_machine().fingerprint]
            found = held(found, self.asked, machines, self._batched(runs) if self.asked.action.metric == "period" else None)
        found = self.kept(found)
        experiment = experiment_of(found, runs, self.asked)
        if self.notebook is not None and experiment is not None:
            from ridgeline.notebook import new_run_id

            try:
                self.notebook.add_experiment(experiment, new_run_id())
            except RidgelineError as error:
                found = _not_kept(found, error)
        return found

    @overload
    def kept(self, found: Comparison) -> Comparison: ...

    @overload
    def kept(self, found: ComparisonSet) -> ComparisonSet: ...

    def kept(self, found: Comparison | ComparisonSet) -> Comparison | ComparisonSet:
        """Keep a comparison; a notebook that cannot take it never costs the verdict."""
        if self.notebook is None:
            return found
        from ridgeline.notebook import new_run_id

        try:
            self.notebook.add_comparison(found, new_run_id())
        except RidgelineError as error:
            return _not_kept(found, error)
        return found

    def _batched(self, runs: Sequence[Run]) -> Comparison | None:
        """The same runs by their batches, where both have some."""
        if len(runs) != 2:
            return None
        sides = [opened(RunSide(name=run.id, run=run), None) for run in runs]
        if not all(any(series.metric == "batched" for series in side.series.series) for side in sides):
            return None
        question = self.question
        found = compared_stored(
            sides[0], sides[1], margin=question.margin, confidence=question.confidence, changing={*question.changing, "workload"}, metric="batched"
        )
        return found if isinstance(found, Comparison) else None


@overload
def _not_kept(found: Comparison, error: RidgelineError) -> Comparison: ...


@overload
def _not_kept(found: ComparisonSet, error: RidgelineError) -> ComparisonSet: ...


def _not_kept(found: Comparison | ComparisonSet, error: RidgelineError) -> Comparison | ComparisonSet:
    caution = Caution(code="not-kept", message=str(error), effect="this comparison is in no notebook")
    return msgspec.structs.replace(found, warnings=(*found.warnings, caution))


def _refuse_unlike(a: LiveSide, b: LiveSide) -> None:
    """Refuse a call inside a process beside a process of its own: one holds the start of a program, the other does not."""
    outside = [side.spec.kind in ("script", "command") for side in (a, b)]
    if outside[0] != outside[1]:
        found = f"{a.name!r}, a {a.spec.kind}, and {b.name!r}, a {b.spec.kind}"
        remedy = "write both as functions, or both as commands"
        raise UsageError("two calls that both are a process of their own, or neither", found=found, remedy=remedy)


def _one_code(a: LiveSide, b: LiveSide, trees: tuple[Tree, ...]) -> bool:
    """Whether both versions are the same code, however it is run."""
    if trees:
        return trees[0].commit == trees[1].commit
    codes = [(side.spec.path, side.spec.module, side.spec.function, side.spec.arguments, side.directory) for side in (a, b)]
    return codes[0] == codes[1]


def _same_code(a: LiveSide, b: LiveSide, trees: tuple[Tree, ...]) -> tuple[Caution, ...]:
    """A word where both versions are one, run in one way: it is a check of the method then, and no comparison."""
    ways = [msgspec.structs.replace(side.spec, text="", environment={}) for side in (a, b)]
    if not _one_code(a, b, trees) or (not trees and ways[0] != ways[1]) or changed_variables(a.spec.environment, b.spec.environment):
        return ()
    message = "both versions are the same code"
    return (Caution(code="same-code", message=message, effect="a difference that is found is noise, or the machine's"),)


def _loaded(side: object) -> Callable[[], object]:
    """The function of a target, in this process."""
    if not isinstance(side, LiveSide) or side.spec.kind != "python":
        raise UsageError("two callables", found="a callable and something else", remedy="give two callables, or two targets")
    from ridgeline.targets import prepare

    with contextlib.suppress(AttributeError):
        return prepare(side.spec).call
    raise UsageError("a function to call", found=side.name, remedy="give two callables, or two targets")
