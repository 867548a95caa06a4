"""`bench` end to end: real processes, what is kept, going on with a run, functions as targets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import ridgeline.flows.bench as flow
from ridgeline.core import Benchmark, BenchReport, ClockState, CoreToCore, Run, TargetFailed, UsageError
from ridgeline.core.column import MemoryBlobs
from ridgeline.core.documents import decode, encode
from ridgeline.diagnosis import cores
from ridgeline.flows.benching import callable_target
from ridgeline.machine import Watched
from ridgeline.measurement.bench import BenchPlan, rounds
from ridgeline.measurement.core_to_core import ALONE, CoreToCoreWatch
from ridgeline.notebook import Notebook
from ridgeline.targets import parse_target
from support.moved_cores import MovedCores


def work() -> int:
    return sum(range(200))


class Holder:
    @staticmethod
    def inside() -> int:
        return sum(range(100))


@pytest.fixture
def target(tmp_path: Path) -> str:
    file = tmp_path / "work.py"
    file.write_text("def work():\n    return sum(range(200))\n\ndef broken():\n    raise LookupError('no such thing')\n")
    return f"{file}:work"


@pytest.fixture
def book(tmp_path: Path) -> Notebook:
    return Notebook.open(tmp_path / "n.sqlite")


@pytest.mark.parametrize(("load", "said"), [(None, False), (0.04, False), (1.26, True)])
def test_neighbours_are_named(target: str, monkeypatch: pytest.MonkeyPatch, load: float | None, said: bool) -> None:
    """Whatever else ran while the processes did is in the warnings of the report and in the facts that are kept."""

    class Watch:
        def start(self) -> None:
            self.started = True

        def stop(self) -> Watched:
            assert self.started
            return Watched(clock=ClockState(), seconds=1.0, other_load=load)

    monkeypatch.setattr(flow, "ClockWatch", Watch)
    runs: list[Run] = []
    report = flow.bench(target, processes=2, samples=20, time_budget_s=20, run_to=runs.append)
    told = [each.message for each in report.warnings if each.code == "interference"]
    assert told == (["other programs kept 1.3 CPUs busy while this ran, in the mean"] if said else [])
    assert any(each.code == "interference" for each in runs[0].facts.warnings) is said


@pytest.mark.parametrize(("threads", "said"), [(1, False), (2, True)])
def test_cores_that_were_moved_are_named_where_threads_meet(
    tmp_path: Path, book: Notebook, monkeypatch: pytest.MonkeyPatch, threads: int, said: bool
) -> None:
    """The times are kept with every benchmark, and are a warning only where several threads work at once."""
    monkeypatch.setattr(rounds, "CoreToCoreWatch", lambda: MovedCores(after=3))
    monkeypatch.setattr(cores, "others_work", lambda *seconds: threads > 1)
    file = tmp_path / "work.py"
    file.write_text("def work():\n    return sum(range(200))\n")
    runs: list[Run] = []
    report = flow.bench(f"{file}:work", processes=3, samples=20, time_budget_s=20, notebook=book, run_to=runs.append)
    assert any(each.code == "cores-moved" for each in report.warnings) is said
    apart = report.clock.core_to_core
    assert apart is not None
    assert apart.looks_s == (*[4e-8] * 3, *[2e-7] * 3)
    kept = book.get(runs[0].id)
    assert kept.facts.clock.core_to_core == apart
    again = flow.bench(f"{file}:work", processes=5, samples=20, time_budget_s=20, notebook=book, resume=runs[0].id)
    assert again.clock.core_to_core is not None
    assert len(again.clock.core_to_core.looks_s) == 10, "a run that goes on keeps the looks of before"


def test_one_cpu_alone_has_a_reason_in_the_place_of_a_time(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "CoreToCoreWatch", lambda: CoreToCoreWatch(cpus=(0,)))
    report = flow.bench(target, processes=2, samples=20, time_budget_s=20)
    assert report.clock.core_to_core == CoreToCore(missing=ALONE)
    assert not any(each.code == "cores-moved" for each in report.warnings)


def test_a_run_of_before_goes_on(target: str, book: Notebook) -> None:
    """Runs that were kept when nobody looked at the cores."""
    runs: list[Run] = []
    flow.bench(target, processes=2, samples=10, run_to=runs.append)
    (run,) = runs
    assert run.bench is not None
    old = [replace(record, clock=replace(record.clock, core_to_core=None)) for record in run.bench.processes if record.clock is not None]
    facts = replace(run.facts, clock=replace(run.facts.clock, core_to_core=None))
    book.add(replace(run, facts=facts, bench=replace(run.bench, processes=tuple(old))))
    report = flow.bench(target, processes=3, samples=10, notebook=book, resume=run.id)
    assert report.ground_truth.processes == 3
    assert report.clock.core_to_core is not None


def test_a_function_in_a_file(target: str, book: Notebook) -> None:
    runs: list[Run] = []
    report = flow.bench(target, processes=3, samples=40, time_budget_s=20, notebook=book, run_to=runs.append, command="the command")
    (run,) = runs
    bench = run.bench
    assert bench is not None
    assert bench.samples.process.values.tolist() == [0] * 40 + [1] * 40 + [2] * 40
    assert len({record.at_s for record in bench.processes}) == 3
    assert all(record.first_s is not None and record.load_s is not None for record in bench.processes)
    assert (np.diff(bench.samples.start_s.values) > 0).all(), "in the order in which they were taken"
    assert run.verb == "bench"
    assert run.facts.samples is not None
    assert len(run.facts.samples) == int(bench.steady().sum())
    assert bench.overhead is not None
    assert bench.batched_s is not None
    assert report.run == run.id
    assert report.command == "the command"
    assert report.ground_truth.processes == 3
    assert report.throughput_per_s is not None
    assert {one.q for one in report.quantiles} >= {0.0, 0.5, 0.9, 0.99, 0.999}
    assert book.get(run.id).bench == bench
    blobs = MemoryBlobs()
    assert decode(encode(report, blobs), BenchReport, blobs) == report


def test_the_same_seed_measures_in_the_same_way(target: str) -> None:
    runs: list[Run] = []
    for _ in range(2):
        flow.bench(target, processes=2, samples=10, seed=7, run_to=runs.append)
    assert {run.bench.seed for run in runs if run.bench} == {7}


def test_a_run_that_was_interrupted_is_kept_and_goes_on(target: str, book: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    real = flow.run_benchmarks

    def interrupted(versions: object, plan: BenchPlan, *, keep: Callable[[int, Benchmark], None], **options: object) -> object:
        def kept(index: int, found: Benchmark) -> None:
            keep(index, found)
            if len(found.processes) == 2:
                raise KeyboardInterrupt

        return real(versions, plan, keep=kept, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(flow, "run_benchmarks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        flow.bench(target, processes=5, samples=10, notebook=book)
    assert book.last_saved is not None
    before = book.get(book.last_saved)
    assert before.bench is not None
    assert len(before.bench.processes) == 2
    monkeypatch.setattr(flow, "run_benchmarks", real)
    report = flow.bench(target, processes=5, samples=10, notebook=book, resume=before.id)
    after = book.get(before.id)
    assert report.run == before.id
    assert after.bench is not None
    assert [record.index for record in after.bench.processes] == list(range(5))
    assert after.bench.samples.process.values.tolist() == [index for index in range(5) for _ in range(10)]
    assert after.bench.samples.wall_s.values[:20].tolist() == before.bench.samples.wall_s.values.tolist()
    assert (np.diff(after.bench.samples.start_s.values) > 0).all()
    assert "2 fresh processes" in str(after.method)
    assert "later 3 fresh processes" in str(after.method)
    with pytest.raises(UsageError, match="all of them there"):
        flow.bench(target, processes=5, samples=10, notebook=book, resume=before.id)


def test_only_a_benchmark_of_the_same_target_goes_on(target: str, book: Notebook, stored_run: Run) -> None:
    book.add(stored_run)
    with pytest.raises(UsageError, match="ridgeline bench"):
        flow.bench(target, resume=stored_run.id, notebook=book)
    with pytest.raises(UsageError, match="a notebook"):
        flow.bench(target, resume="latest")
    report = flow.bench(target, processes=1, samples=5, notebook=book)
    with pytest.raises(UsageError, match="broken"):
        flow.bench(target.replace(":work", ":broken"), resume=report.run, notebook=book)


@pytest.mark.parametrize("change", ["file", "threads", "cache", "software"])
def test_a_run_of_something_else_does_not_go_on(tmp_path: Path, book: Notebook, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    file = tmp_path / "changing.py"
    file.write_text("def work():\n    return sum(range(1000))\n")
    before = flow.bench(f"{file}:work", processes=1, samples=5, notebook=book)
    options: dict[str, Any] = {"threads": 2} if change == "threads" else {"cache": "cold"} if change == "cache" else {}
    if change == "file":
        file.write_text("def work():\n    return sum(range(9000))\n")
    if change == "software":
        monkeypatch.setattr("ridgeline.flows.benching.earlier.software_versions", lambda: {"python": "2.7"})
    with pytest.raises(UsageError, match="one run"):
        flow.bench(f"{file}:work", processes=2, samples=5, notebook=book, resume=before.run, **options)
    assert before.run is not None
    kept = book.get(before.run).bench
    assert kept is not None
    assert len(kept.processes) == 1


def test_what_can_be_found_is_said_beforehand_once_there_is_an_earlier_run(target: str, book: Notebook) -> None:
    said: list[str] = []
    first = flow.bench(target, processes=6, samples=20, notebook=book, report=lambda label, part: said.append(label))
    assert not [label for label in said if "told apart" in label]
    flow.bench(target, processes=1, samples=5, notebook=book, report=lambda label, part: said.append(label))
    notes = [label for label in said if "told apart" in label]
    assert len(notes) == (first.detectable_ratio is not None)
    assert all(str(first.run) in note for note in notes)


def test_a_function_that_can_be_imported_is_measured_in_fresh_processes(tmp_path: Path) -> None:
    file = tmp_path / "some_module_of_a_test.py"
    file.write_text("import os\nSEEN = []\ndef work():\n    return os.getpid()\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import some_module_of_a_test as m, ridgeline\n"
        "def own():\n    return 1\n"
        "if __name__ == '__main__':\n"
        "    for function in (m.work, own):\n"
        "        report = ridgeline.bench(function, processes=2, samples=5)\n"
        "        print(report.ground_truth.processes, report.target.rpartition(':')[2])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["2 work", "2 own"], done.stderr


def test_a_script_that_measures_when_it_is_imported_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import ridgeline\ndef own():\n    return 1\nridgeline.bench(own, processes=2, samples=5)\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert "below `if __name__ == '__main__':`" in done.stderr


def test_a_lambda_is_measured_here_and_that_is_said() -> None:
    seen: list[int] = []
    report = flow.bench(lambda: seen.append(1), samples=50, time_budget_s=1)
    assert len(seen) > 50
    assert "in-this-process" in {caution.code for caution in report.warnings}
    assert report.ground_truth.processes == 1
    with pytest.raises(UsageError, match="several processes"):
        flow.bench(lambda: 1, processes=3)


def test_which_functions_a_fresh_process_finds() -> None:
    def local() -> None: ...

    assert callable_target(Path.cwd)[1] is not None, "a bound method of a class is another object each time"
    assert callable_target(local)[1] is local
    version, here = callable_target(Holder.inside)
    assert here is None
    assert version.spec.function == "Holder.inside"
    with pytest.raises(UsageError):
        callable_target(3)  # type: ignore[arg-type]


def test_a_command_is_a_process_each_time() -> None:
    runs: list[Run] = []
    report = flow.bench(parse_target(None, [sys.executable, "-c", "pass"]), processes=6, run_to=runs.append)
    assert runs[0].bench is not None
    assert runs[0].bench.samples.process.values.tolist() == list(range(6))
    assert runs[0].bench.overhead is None
    assert report.throughput_per_s is None
    assert report.ground_truth.samples == 6


def test_a_target_that_raises_is_one_line(target: str) -> None:
    with pytest.raises(TargetFailed, match="no such thing"):
        flow.bench(target.replace(":work", ":broken"))
    with pytest.raises(UsageError, match="nothing_here"):
        flow.bench(target.replace(":work", ":nothing_here"))


def test_a_target_that_sometimes_dies_is_measured_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mortal.py"
    file.write_text(
        "import os, pathlib\nplace = pathlib.Path(__file__).with_name('count')\n"
        "number = int(place.read_text()) if place.exists() else 0\nplace.write_text(str(number + 1))\ncalls = 0\n"
        "def work():\n    global calls\n    calls += 1\n    if number == 2 and calls == 5:\n        os._exit(3)\n"
    )
    report = flow.bench(f"{file}:work", processes=4, samples=20)
    assert report.ground_truth.processes == 3
    assert "failed-processes" in {caution.code for caution in report.warnings}


def test_inputs_are_gone_over_and_reported(tmp_path: Path) -> None:
    file = tmp_path / "over.py"
    file.write_text("def make():\n    return {'small': 10, 'large': 4000}\n\ndef work(size):\n    return sum(range(size))\n")
    runs: list[Run] = []
    report = flow.bench(parse_target(f"{file}:work", input=f"{file}:make"), processes=3, samples=40, run_to=runs.append)
    bench = runs[0].bench
    assert bench is not None
    assert bench.input_names == ("small", "large")
    assert bench.samples.input_id is not None
    assert np.bincount(bench.samples.input_id.values).tolist() == [60, 60], "each input equally often"
    assert {one.name: one.samples for one in report.inputs}.keys() == {"small", "large"}
    times = {one.name: one.median_s for one in report.inputs}
    assert times["large"] > times["small"]


def test_cold_caches(target: str) -> None:
    report = flow.bench(target, processes=1, samples=10, cache="cold")
    assert report.cache == "cold"
    assert report.throughput_per_s is None


def test_marked_stages_stand_beside_the_latency(tmp_path: Path) -> None:
    file = tmp_path / "staged.py"
    file.write_text(
        "import time, ridgeline\n"
        "def work():\n"
        "    with ridgeline.stage('short'):\n        time.sleep(0.001)\n"
        "    for _ in range(2):\n        with ridgeline.stage('long'):\n            time.sleep(0.002)\n"
    )
    runs: list[Run] = []
    report = flow.bench(f"{file}:work", processes=2, samples=5, run_to=runs.append)
    assert set(report.stages) == {"short", "long"}
    assert report.stages["short"][1] >= 0.001
    assert report.stages["long"][1] >= 0.004, "both entries of a call together"
    assert runs[0].bench is not None
    assert {len(medians) for medians in runs[0].bench.stages.values()} == {2}
