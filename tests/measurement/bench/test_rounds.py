"""How many processes, in which order, and what a failure costs: with processes that only pretend."""

from __future__ import annotations

import contextlib
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from ridgeline.core import Benchmark, CoreToCore, Setting, TargetFailed, TargetInfo, UsageError
from ridgeline.core.column import MemoryBlobs
from ridgeline.core.documents import decode, encode
from ridgeline.machine.control import SoakResult
from ridgeline.measurement.bench import BenchPlan, Version, rounds, run_benchmarks
from ridgeline.measurement.bench.columns import columns_of
from ridgeline.measurement.bench.gathered import Gathered
from ridgeline.measurement.bench.plan import ProcessPlan
from ridgeline.measurement.bench.report import OverheadTimes, Piece
from ridgeline.targets import TargetSpec
from support.moved_cores import MovedCores


class Clock:
    """Time that passes only when a process is measured."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def monotonic_ns(self) -> int:
        return int(self.now * 1e9)


class Fakes:
    def __init__(self, clock: Clock) -> None:
        self.clock, self.cost_s, self.start_s = clock, 1.0, 0.0
        self.started: list[str] = []
        self.measured: list[str] = []
        self.plans: list[ProcessPlan] = []
        self.open, self.leaving = 0, 0
        self.log: list[str] = []
        self.failing: dict[str, list[BaseException | None]] = {}


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    clock = Clock()
    state = Fakes(clock)

    class Process:
        def __init__(self, version: Version) -> None:
            state.started.append(version.name)
            state.log.append("start")
            state.open += 1
            self.version, self.ended, self.left = version, False, False

        def wait_until_ready(self) -> None:
            pass

        def measure(self, plan: ProcessPlan, gathered: Gathered) -> float:
            assert not state.leaving, "another one was still ending"
            state.measured.append(self.version.name)
            state.log.append("measure")
            state.plans.append(plan)
            start = clock.monotonic_ns()
            clock.now += state.cost_s
            queue = state.failing.get(self.version.name, [])
            error = queue.pop(0) if queue else None
            if error is not None:
                if not isinstance(error, KeyboardInterrupt):
                    gathered.add(columns_of([]), start_ns=start, first_s=None, load_s=None, failure=str(error))
                raise error
            rows = array("q", [start, start + 1000, 0, 0, 0, start + 2000, start + 3000, 0, 0, 0]).tobytes()
            gathered.target = TargetInfo(spec=self.version.spec.text, kind="python", name=self.version.name)
            times = OverheadTimes(sample_s=1e-7, bare_s=2e-7, batched_iteration_s=3e-9, timer_s=5e-8)
            piece = Piece(rows=rows, counters=b"", block=1, inner=1, gc_before=(0, 0))
            gathered.add(columns_of([piece]), start_ns=start, first_s=0.5, load_s=0.1, overhead=times)
            return state.start_s

        def leave(self) -> None:
            self.left = True
            state.leaving += 1

        def close(self) -> None:
            assert self.left
            assert not self.ended
            self.ended = True
            state.leaving -= 1
            state.open -= 1

        def end(self) -> None:
            if not self.left and not self.ended:
                self.ended = True
                state.open -= 1

    monkeypatch.setattr(rounds, "FreshProcess", Process)
    monkeypatch.setattr(rounds, "time", clock)
    monkeypatch.setattr(rounds, "_cpus", lambda: 2)
    return state


def version(name: str) -> Version:
    return Version(spec=TargetSpec(text=f"m:{name}", kind="python", module="m", function=name), name=name)


def test_sides_stay_balanced_in_every_block_and_their_order_is_random(fakes: Fakes) -> None:
    found = run_benchmarks([version("a"), version("b")], BenchPlan(processes=20, budget_s=1000), seed=3)
    pairs = [tuple(fakes.measured[i : i + 2]) for i in range(0, 40, 2)]
    assert all(set(pair) == {"a", "b"} for pair in pairs)
    assert 0 < Counter(pairs)["a", "b"] < 20
    assert [len(one.processes) for one in found] == [20, 20]
    assert fakes.open == 0
    first = list(fakes.measured)
    fakes.measured.clear()
    run_benchmarks([version("a"), version("b")], BenchPlan(processes=20, budget_s=1000), seed=3)
    assert fakes.measured == first, "the seed decides the order"


def test_every_call_is_kept_with_its_process_and_its_time(fakes: Fakes) -> None:
    (found,) = run_benchmarks([version("a")], BenchPlan(processes=3, budget_s=1000))
    assert found.samples.process.values.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.samples.start_s.values.tolist() == pytest.approx([0, 2e-6, 1, 1 + 2e-6, 2, 2 + 2e-6], abs=1e-9)
    assert [record.at_s for record in found.processes] == pytest.approx([0, 1, 2])
    assert {record.first_s for record in found.processes} == {0.5}
    assert found.overhead is not None
    assert found.overhead.timer_share == pytest.approx(5e-8 / 1e-6)


@pytest.mark.parametrize(("budget_s", "expected"), [(10.0, 10), (3.0, 5), (25.0, 24)])
def test_as_many_as_fit_but_never_fewer_than_five(fakes: Fakes, budget_s: float, expected: int) -> None:
    (found,) = run_benchmarks([version("a")], BenchPlan(budget_s=budget_s))
    assert expected - 1 <= len(found.processes) <= expected + 1


def test_where_the_time_is_over_no_more_than_the_fewest_are_measured(fakes: Fakes) -> None:
    fakes.cost_s = 4.0
    (found,) = run_benchmarks([version("a")], BenchPlan(budget_s=1.0))
    assert len(found.processes) == 5


def test_as_many_as_were_asked_for_and_no_more(fakes: Fakes) -> None:
    (found,) = run_benchmarks([version("a")], BenchPlan(processes=7, budget_s=1000))
    assert len(found.processes) == 7
    assert len(fakes.started) == 7


def test_a_look_can_stop_it(fakes: Fakes) -> None:
    seen: list[int] = []

    def looked(benches: tuple[Benchmark, ...]) -> bool:
        seen.append(min(len(one.processes) for one in benches))
        return seen[-1] >= 6

    found = run_benchmarks([version("a"), version("b")], BenchPlan(budget_s=1000), looked=looked)
    assert seen == [1, 2, 3, 4, 5, 6]
    assert [len(one.processes) for one in found] == [6, 6]


def test_what_there_is_is_handed_over_after_each_process(fakes: Fakes) -> None:
    kept: list[tuple[int, int]] = []
    run_benchmarks(
        [version("a"), version("b")], BenchPlan(processes=2, budget_s=1000), keep=lambda index, one: kept.append((index, len(one.processes)))
    )
    assert sorted(kept) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_keeping_and_looking_are_done_while_the_next_processes_start(fakes: Fakes) -> None:
    def looked(benches: tuple[Benchmark, ...]) -> bool:
        fakes.log.append("look")
        return len(benches[0].processes) == 2

    run_benchmarks([version("a"), version("b")], BenchPlan(budget_s=1000), keep=lambda index, one: fakes.log.append("keep"), looked=looked)
    block, shadow = ["measure", "measure"], ["start", "start", "keep", "keep", "look"]
    assert fakes.log == ["start", "start", *block, *shadow, *block, *shadow]
    assert fakes.open == 0


def test_what_took_long_to_measure_is_kept_at_once(fakes: Fakes) -> None:
    fakes.cost_s = 2.0
    run_benchmarks([version("a"), version("b")], BenchPlan(processes=1, budget_s=1000), keep=lambda index, one: fakes.log.append("keep"))
    assert fakes.log == ["start", "start", "measure", "keep", "measure", "keep"]


def test_handing_over_takes_a_part_of_the_time_however_large_it_is(fakes: Fakes) -> None:
    kept: list[int] = []

    def keep(index: int, found: Benchmark) -> None:
        kept.append(len(found.processes))
        fakes.clock.now += 2.0

    fakes.failing["a"] = [*[None] * 59, KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        run_benchmarks([version("a")], BenchPlan(processes=100, budget_s=1000.0), keep=keep)
    # Two seconds a hand-over, one a process: some twenty processes lie between two of them, and the interrupt hands over the rest.
    assert len(kept) <= 5
    assert kept[-1] == 59


def test_a_version_that_went_well_once_is_not_wrong(fakes: Fakes) -> None:
    fakes.failing["a"] = [None, None, UsageError("a file", found="none", remedy="look")]
    (found,) = run_benchmarks([version("a")], BenchPlan(processes=5))
    assert [bool(record.failure) for record in found.processes] == [False, False, True, False, False]


def test_a_start_that_takes_all_of_the_budget_leaves_time_for_calls(fakes: Fakes) -> None:
    fakes.start_s = 2.0
    run_benchmarks([version("a")], BenchPlan(budget_s=1.0))
    assert fakes.plans[-1].most_s >= 0.5


def test_a_process_that_fails_is_written_down_and_costs_no_other(fakes: Fakes) -> None:
    fakes.failing["a"] = [None, TargetFailed("one that runs", found="it crashed", remedy="mend it")]
    said: list[str] = []
    found = run_benchmarks([version("a"), version("b")], BenchPlan(processes=4, budget_s=1000), report=lambda label, part: said.append(label))
    assert [bool(record.failure) for record in found[0].processes] == [False, True, False, False]
    assert "it crashed" in found[0].processes[1].failure
    assert set(found[0].samples.process.values.tolist()) == {0, 2, 3}
    assert sum(label.startswith("warning: ") for label in said) == 1


def test_a_target_that_never_runs_is_given_up(fakes: Fakes) -> None:
    fakes.failing["a"] = [TargetFailed("one that runs", found=f"crash {i}", remedy="mend it") for i in range(9)]
    with pytest.raises(TargetFailed, match="crash 1"):
        run_benchmarks([version("a")], BenchPlan(budget_s=1000))
    assert fakes.open == 0


def test_a_wrong_target_is_told_at_once(fakes: Fakes) -> None:
    fakes.failing["a"] = [UsageError("a function", found="none", remedy="write it")]
    with pytest.raises(UsageError):
        run_benchmarks([version("a")], BenchPlan(budget_s=1000))
    assert len(fakes.measured) == 1
    assert fakes.open == 0


def test_an_interrupt_hands_over_what_there_is_and_ends_all_that_was_started(fakes: Fakes) -> None:
    fakes.failing["a"] = [None, None, None, KeyboardInterrupt()]
    kept: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run_benchmarks([version("a")], BenchPlan(budget_s=1000), keep=lambda index, one: kept.append(len(one.processes)))
    assert kept[-1] == 3
    assert fakes.open == 0


def test_no_more_are_started_ahead_than_there_are_cpus(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []
    measure = rounds.FreshProcess.measure

    def counted(self: Any, *given: Any) -> float:
        most.append(fakes.open)
        return measure(self, *given)

    monkeypatch.setattr(rounds.FreshProcess, "measure", counted)
    run_benchmarks([version(name) for name in "abcde"], BenchPlan(processes=2, budget_s=1000))
    assert max(most) <= 2


def test_the_time_of_a_process_follows_what_it_costs_to_start(fakes: Fakes) -> None:
    run_benchmarks([version("a")], BenchPlan(processes=2, budget_s=50.0))
    assert all(0.1 <= plan.seconds <= 1.0 for plan in fakes.plans)
    assert all(plan.most_s <= 50 / 2 for plan in fakes.plans)
    fakes.plans.clear()
    run_benchmarks([version("a")], BenchPlan(processes=2, budget_s=50.0, process_s=3.0, samples=11))
    assert {(plan.seconds, plan.samples) for plan in fakes.plans} == {(3.0, 11)}


def test_what_may_be_set_is_set_around_all_and_written_down(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    setting = Setting(name="governor", found="powersave", wanted="performance", used="performance", state="set")

    @contextlib.contextmanager
    def tuned(tune: bool, **given: Any) -> Iterator[tuple[Setting, ...]]:
        asked.append({"tune": tune, "threads": given["threads"], "lock_gpu_hz": given["lock_gpu_hz"]})
        fakes.log.append("set")
        yield (setting,)
        assert fakes.open == 0, "put back while a process of ours was still there"
        fakes.log.append("put back")

    monkeypatch.setattr(rounds, "tuned", tuned)
    (found,) = run_benchmarks([version("a")], BenchPlan(processes=1, budget_s=1000, tune=True, lock_gpu_hz=1.2e9))
    assert asked == [{"tune": True, "threads": None, "lock_gpu_hz": 1.2e9}]
    assert fakes.log == ["set", "start", "measure", "put back"]
    assert found.settings == (setting,)


def test_a_soak_comes_before_all_and_is_apart_from_the_budget(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Soaking:
        def __init__(self, version: Version) -> None:
            fakes.log.append(f"load {version.name}")

        def __enter__(self) -> Soaking:
            return self

        def __exit__(self, *exc: object) -> None:
            fakes.log.append("cool")

        def round(self) -> float:
            return 1.0

    def soak(load: Any, *, report: Any) -> SoakResult:
        fakes.clock.now += 500.0
        return SoakResult(ended="levelled", seconds=500.0, because="it has levelled off")

    monkeypatch.setattr(rounds, "SoakingProcess", Soaking)
    monkeypatch.setattr(rounds, "soak", soak)
    found = run_benchmarks([version("a"), version("b")], BenchPlan(budget_s=20.0, soak=True))
    assert fakes.log[:3] == ["load a", "cool", "start"]
    assert [one.soaked_s for one in found] == [500.0, 500.0]
    assert len(found[0].processes) > 5, "the budget was left for measuring"


def test_the_cache_that_was_asked_for_reaches_every_process(fakes: Fakes) -> None:
    (found,) = run_benchmarks([version("a")], BenchPlan(processes=3, budget_s=1000, cache="cold"))
    assert {plan.cache for plan in fakes.plans} == {"cold"}
    assert found.cache == "cold"


@pytest.mark.parametrize("wrong", [{"processes": 0}, {"samples": 0}, {"budget_s": 0.0}, {"budget_s": float("nan")}, {"process_s": float("inf")}])
def test_plans_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        BenchPlan(**wrong)


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(UsageError):
        run_benchmarks([], BenchPlan())


def test_how_far_apart_the_cores_are_stands_beside_each_process(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after every process, one that fails among them."""
    monkeypatch.setattr(rounds, "CoreToCoreWatch", lambda: MovedCores(after=4))
    fakes.failing["a"] = [TargetFailed("a", found="b", remedy="c")]
    (found,) = run_benchmarks([version("a")], BenchPlan(processes=4, budget_s=1000))
    apart = [record.clock.core_to_core for record in found.processes if record.clock is not None]
    assert apart == [CoreToCore(looks_s=looks) for looks in ((4e-8, 4e-8), (4e-8, 4e-8), (2e-7, 2e-7), (2e-7, 2e-7))]
    blobs = MemoryBlobs()
    assert decode(encode(found, blobs), Benchmark, blobs) == found
