"""`run_benchmarks`: processes of all versions, interleaved in random order, until there are enough or the time is up.

A block holds every version once, in an order of its own, so that whatever drifts meets all versions alike and the sides stay of one size. A process
that fails is written down and costs nothing but itself; a target that is wrong ends the whole. What there is is kept and looked at while the next
processes start, never while one is measured.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence

from ridgeline.core import BackendUnavailable, Benchmark, ReadError, RidgelineError, Setting, UsageError
from ridgeline.core.units import format_quantity
from ridgeline.machine import read_clock
from ridgeline.machine.control import ThrottleWatch, soak, tuned

from ..core_to_core import CoreToCoreWatch
from .gathered import Gathered
from .plan import BenchPlan, ProcessPlan, Version
from .processes import CommandRuns, FreshProcess, SoakingProcess, is_command

__all__ = ["run_benchmarks"]

Report = Callable[[str, float | None], None]
#: Errors of what was asked for: trying again changes nothing.
_HOPELESS = (UsageError, ReadError, BackendUnavailable)
#: A version of which so many processes failed and none did not is given up.
_GIVE_UP_AFTER = 2
#: Seconds of calls in a process: at the least, and at the most where a process is that expensive to start.
_LEAST_S, _MOST_S = 0.1, 1.0
#: Part of what a process costs before its calls that is spent on its calls.
_PART_OF_START = 0.5
#: The same where the budget is too short for the fewest processes: what their start costs is spent in any case.
_PART_AT_LEAST = 0.25
#: Part of the time that handing over may take: what there is grows with every process.
_HANDED_OVER_PART = 0.1
#: Part of the budget over which the fewest processes are laid out.
_LAID_OUT = 0.9
_SHORTEST_S = 0.02
#: What took longer to measure is kept at once, whatever that takes.
_KEPT_AT_ONCE_S = 1.0
#: Beyond so many times the budget it is said how long it will take.
_MUCH_LONGER = 1.5


def run_benchmarks(
    versions: Sequence[Version],
    plan: BenchPlan,
    *,
    report: Report | None = None,
    keep: Callable[[int, Benchmark], None] | None = None,
    looked: Callable[[tuple[Benchmark, ...]], bool] | None = None,
    seed: int = 0,
) -> tuple[Benchmark, ...]:
    """Measure versions beside each other.

    Args:
        versions: at least one.
        plan: how many processes, how long.
        report: told a label and a fraction, for progress.
        keep: given the index of a version and what there is of it after its processes: at once where they take longer than a second, else as soon as
            the next ones have been started.
        looked: given what there is of all versions after each block; true stops the benchmark.
        seed: of the order.

    Returns:
        What each version's processes measured, in the order of `versions`.

    Raises:
        UsageError, ReadError, BackendUnavailable: a target cannot be measured.
        TargetFailed: the first processes of a version failed, all of them.
    """
    if not versions:
        raise UsageError("a version to measure", found="none", remedy="give at least one")
    say = report or _nothing
    threads = versions[0].spec.threads or None
    with (
        tuned(plan.tune, threads=threads, lock_gpu_hz=plan.lock_gpu_hz, report=lambda line: say(f"note: {line}", None)) as settings,
        _Bench(versions, plan, say, keep, seed, settings) as bench,
    ):
        bench.soak()
        while bench.goes_on() and bench.block(looked):
            pass
        return bench.finished()


class _Bench:
    """One benchmark under way."""

    def __init__(
        self,
        versions: Sequence[Version],
        plan: BenchPlan,
        report: Report,
        keep: Callable[[int, Benchmark], None] | None,
        seed: int,
        settings: tuple[Setting, ...],
    ) -> None:
        self._versions, self._plan = tuple(versions), plan
        self._report, self._keep = report, keep
        self._order = random.Random(seed)
        began_ns = time.monotonic_ns()
        self._began = time.monotonic()
        self._gathered = [Gathered(began_ns, seed=seed, cache=plan.cache, settings=settings) for _ in versions]
        self._watch, self._apart = ThrottleWatch(), CoreToCoreWatch()
        self._commands = {index: CommandRuns(version) for index, version in enumerate(versions) if is_command(version)}
        self._start_s: float | None = None
        self._hand_over_from = self._began
        self._unkept: list[int] = []
        self._leaving: FreshProcess | None = None
        self.blocks = 0

    def __enter__(self) -> _Bench:
        return self

    def __exit__(self, *exc: object) -> None:
        self._part()
        for runs in self._commands.values():
            runs.end()
        self._watch.close()

    def soak(self) -> None:
        """Load the machine with the first version until it has levelled off, where that is asked for."""
        if not self._plan.soak:
            return
        with SoakingProcess(self._versions[0]) as load:
            found = soak(load.round, report=self._report)
        self._report(f"note: soaked for {found.seconds:.0f} s: {found.because}", None)
        for gathered in self._gathered:
            gathered.soaked_s = found.seconds
        self._began = time.monotonic()  # the soak is apart from the budget

    def benchmarks(self) -> tuple[Benchmark, ...]:
        """What there is."""
        return tuple(gathered.benchmark() for gathered in self._gathered)

    def goes_on(self) -> bool:
        """Whether another block is wanted and fits."""
        least = min(gathered.processes for gathered in self._gathered)
        if least < self._plan.fewest:
            return True
        if least >= self._plan.most:
            return False
        spent = time.monotonic() - self._began
        return spent * (1 + 1 / self.blocks) <= self._plan.budget_s

    def finished(self) -> tuple[Benchmark, ...]:
        """What there is at the end, kept."""
        with self._told_on_interrupt():
            self._hand_over(now=True)
        return self.benchmarks()

    def block(self, looked: Callable[[tuple[Benchmark, ...]], bool] | None = None) -> bool:
        """Every version once, in random order, in groups of as many as there are CPUs; a lone version as often as that.

        Args:
            looked: asked for the blocks so far while the first group starts.

        Returns:
            False where `looked` has seen enough: then nothing was measured.
        """
        cpus = _cpus()
        wanted = list(range(len(self._versions)))
        if len(wanted) == 1 and not self._commands:
            # Where the time is over, only what is missing of the fewest.
            over = time.monotonic() - self._began > self._plan.budget_s
            left = (self._plan.fewest if over else self._plan.most) - self._gathered[0].processes
            wanted = wanted * max(1, min(cpus, left))
        self._order.shuffle(wanted)
        for first in range(0, len(wanted), cpus):
            if not self._group(wanted[first : first + cpus], looked if first == 0 and self.blocks else None):
                return False
        self.blocks += 1
        if self.blocks == 1:
            self._announce()
        return True

    def _announce(self) -> None:
        """Say so once, where the fewest processes take much longer than the budget."""
        done = min(gathered.processes for gathered in self._gathered)
        whole_s = (time.monotonic() - self._began) / max(1, done) * self._plan.fewest
        if done < self._plan.fewest and whole_s > _MUCH_LONGER * self._plan.budget_s:
            about, budget = format_quantity(whole_s, "s", 2), format_quantity(self._plan.budget_s, "s", 2)
            self._report(f"note: {self._plan.fewest} processes take about {about}; the time budget is {budget}", None)

    def _group(self, group: list[int], looked: Callable[[tuple[Benchmark, ...]], bool] | None) -> bool:
        started = time.monotonic()
        with contextlib.ExitStack() as ends, self._told_on_interrupt():
            clock = read_clock()
            ahead = {place: FreshProcess(self._versions[index]) for place, index in enumerate(group) if index not in self._commands}
            for process in ahead.values():
                ends.callback(process.end)
            # The shadow of their start, in which nothing is measured.
            self._part()
            self._hand_over()
            if looked is not None and looked(self.benchmarks()):
                return False
            for process in ahead.values():
                process.wait_until_ready()
            start_s = (time.monotonic() - started) / max(1, len(ahead))
            for place, index in enumerate(group):
                self._tell()
                gathered, before = self._gathered[index], self._gathered[index].processes
                self._apart.look()
                looked_s = time.monotonic()
                self._watch.look(looked_s)
                with self._failures_counted(index):
                    if place in ahead:
                        self._start_s = start_s + ahead[place].measure(self._process_plan(), gathered)
                    else:
                        self._commands[index].run(gathered)
                now_s = time.monotonic()
                self._watch.look(now_s)
                self._apart.look()
                if gathered.processes > before:
                    gathered.watched(clock, self._watch, (looked_s, now_s))
                    gathered.placed(self._apart.taken())
                self._unkept.append(index)
                if place in ahead:
                    self._let_go(ahead[place], last=place == len(group) - 1)
                if now_s - looked_s > _KEPT_AT_ONCE_S:
                    self._hand_over()
        return True

    def _let_go(self, process: FreshProcess, *, last: bool) -> None:
        """Let a process end, before another one is measured: at once, or the last one of a group while the next ones start."""
        process.leave()
        self._leaving = process
        if not last:
            self._part()

    def _part(self) -> None:
        """Wait for the end of the last process."""
        if self._leaving is not None:
            self._leaving.close()
            self._leaving = None

    def _hand_over(self, *, now: bool = False) -> None:
        """Keep what has come since the last time, unless that would take more than its part of the time and need not be `now`."""
        began = time.monotonic()
        if self._keep is None or (began < self._hand_over_from and not now):
            return
        unkept, self._unkept = self._unkept, []
        for index in dict.fromkeys(unkept):
            self._keep(index, self._gathered[index].benchmark())
        ended = time.monotonic()
        self._hand_over_from = ended + (ended - began) / _HANDED_OVER_PART

    def _process_plan(self) -> ProcessPlan:
        plan = self._plan
        start_s = self._start_s or 0.0
        longest = max(_SHORTEST_S, _PART_AT_LEAST * start_s, _LAID_OUT * plan.budget_s / plan.fewest / len(self._versions) - start_s)
        seconds = plan.process_s if plan.process_s is not None else min(longest, max(_LEAST_S, min(_MOST_S, _PART_OF_START * start_s)))
        return ProcessPlan(seconds=seconds, most_s=max(seconds, longest), samples=plan.samples, cache=plan.cache, seed=self._order.getrandbits(32))

    @contextlib.contextmanager
    def _failures_counted(self, index: int) -> Iterator[None]:
        try:
            yield
        except RidgelineError as error:
            gathered = self._gathered[index]
            # What is wrong in one process after others went well is no fault of what was asked for.
            if isinstance(error, _HOPELESS) and gathered.measured == 0:
                raise
            if gathered.measured == 0 and gathered.processes >= _GIVE_UP_AFTER:
                raise
            self._report(f"warning: a process of {self._versions[index].name} failed: {error}", None)

    @contextlib.contextmanager
    def _told_on_interrupt(self) -> Iterator[None]:
        """Hand over what there is when the person stops it."""
        try:
            yield
        except KeyboardInterrupt:
            if self._keep is not None:
                for index, gathered in enumerate(self._gathered):
                    if gathered.processes:
                        self._keep(index, gathered.benchmark())
            raise

    def _tell(self) -> None:
        done = sum(gathered.processes for gathered in self._gathered)
        fraction = (time.monotonic() - self._began) / self._plan.budget_s
        if self._plan.processes is not None:
            fraction = max(fraction, done / (self._plan.processes * len(self._versions)))
        self._report(f"process {done + 1}", min(1.0, fraction))


def _cpus() -> int:
    """CPUs that this process may run on."""
    return max(1, len(os.sched_getaffinity(0)))


def _nothing(label: str, fraction: float | None = None) -> None:
    pass
