"""`compare` from end to end with a harness that measures nothing, and once for each sort of sides with one that does."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec
import pytest

import ridgeline
from ridgeline.core import Action, Column, Comparison, ComparisonSet, CoreToCore, TargetFailed, UsageError
from ridgeline.core.documents import decode, encode
from ridgeline.flows.compare import compare
from ridgeline.flows.comparing import here
from ridgeline.flows.comparing.promise import action_of, experiment_of, held, speedup_found
from ridgeline.flows.promises import counted
from ridgeline.machine import read_machine
from ridgeline.notebook import Notebook
from ridgeline.reporting import comparison_page, promises_page, terminal

SOURCE = """
import numpy as np

def base():
    return np.arange(1000.0).sum()

def same():
    return np.arange(1000.0).sum()

def other():
    return np.arange(1001.0).sum()

def fails():
    raise ValueError("broken on purpose")

def long():
    return sum(range(40_000)) and None

def short():
    return sum(range(10_000)) and None
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "work.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def notebook(tmp_path):
    with Notebook.open(tmp_path / "notes.sqlite") as opened:
        yield opened


def test_a_slower_version_is_found_early_and_kept(folder, harness, notebook):
    harness.ratio = 1.2
    told = []
    found = compare("work.py:base", "work.py:same", notebook=notebook, seed=7, report=lambda text, part: told.append(text))
    assert isinstance(found, Comparison)
    assert found.verdict == "slower"
    assert found.ratio == pytest.approx(1.2, rel=0.03)
    assert not found.keep
    assert harness.seed == 7
    assert found.side_a.processes < 30
    assert (found.confidence, found.name_a, found.name_b) == (0.97, "work.py:base", "work.py:same")
    assert any("as soon as it was certain" in reason for reason in found.reasons)
    assert any("nine times of ten" in text for text in told)
    runs = [notebook.get(run) for run in (found.run_a, found.run_b)]
    assert [run.verb for run in runs] == ["compare", "compare"]
    assert [run.facts.target.name for run in runs] == ["work.py:base", "work.py:same"]
    assert [len(run.bench.samples) for run in runs] == [found.side_a.samples, found.side_b.samples]
    assert len(notebook.comparisons()) == 1
    assert notebook.experiments() == ()
    assert decode(encode(found), Comparison) == found


def test_equal_versions_use_up_what_they_are_given(folder, harness):
    harness.spread = 0.05
    found = compare("work.py:base", "work.py:same", processes=6)
    assert found.verdict == "inconclusive"
    assert found.side_a.processes == 6
    assert found.run_a is None


def test_equivalence_ends_it_early(folder, harness):
    harness.spread = 0.0005
    found = compare("work.py:base", "work.py:same", margin=0.05)
    assert (found.verdict, found.keep) == ("same", True)
    assert found.side_a.processes < 30


def test_stored_runs_of_it_compare_again(folder, harness, notebook):
    harness.ratio = 1.2
    live = compare("work.py:base", "work.py:same", notebook=notebook)
    stored = compare(live.run_a, live.run_b, notebook=notebook)
    assert (stored.verdict, stored.run_a, stored.run_b) == ("slower", live.run_a, live.run_b)
    assert stored.ratio == pytest.approx(live.ratio, rel=0.02)
    told = []
    compare("work.py:base", "work.py:same", notebook=notebook, processes=2, report=lambda text, part: told.append(text))
    assert any(text.startswith((f"note: by run {live.run_b}", f"note: by run {live.run_a}")) for text in told)
    turned = compare(live.run_b, live.run_a, notebook=notebook)
    assert turned.verdict == "faster"
    assert turned.ratio == pytest.approx(1 / stored.ratio)
    objects = compare(notebook.get(live.run_a), notebook.get(live.run_b))
    assert objects.ratio == stored.ratio
    with pytest.raises(UsageError, match="no-notebook"):
        compare(live.run_a, live.run_b)


def test_an_interrupt_keeps_what_there_is(folder, harness, notebook):
    harness.interrupted_at = 4
    with pytest.raises(KeyboardInterrupt):
        compare("work.py:base", "work.py:same", notebook=notebook)
    kept = [notebook.get(summary.id) for summary in notebook.runs()]
    assert sorted(run.facts.target.name for run in kept) == ["work.py:base", "work.py:same"]
    assert [len(run.bench.processes) for run in kept] == [4, 4]


def test_outputs_that_differ_are_said(folder, harness):
    harness.ratio = 1.2
    codes = [caution.code for caution in compare("work.py:base", "work.py:other").warnings]
    assert "outputs-differ" in codes
    codes = [caution.code for caution in compare("work.py:base", "work.py:same").warnings]
    assert "outputs-differ" not in codes
    assert "same-code" in [caution.code for caution in compare("work.py:base", "work.py:base").warnings]


def test_a_version_that_fails_is_named(folder, harness):
    with pytest.raises(TargetFailed, match=r"broken on purpose.*work\.py:fails"):
        compare("work.py:base", "work.py:fails")
    assert harness.versions == []


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        ("work.py:base", "latest", {}, "one sort"),
        ("work.py:base", "sort work.py", {}, "process of their own"),
        ("work.py:base", "work.py:same", {"setup": "make"}, "leave --setup out"),
        ("HEAD", "HEAD", {"target": "x.py:f", "arguments": ("true",)}, "one of --target"),
        ("work.py:base", "work.py:same", {"margin": 1.5}, "margin"),
        ("work.py:base", "work.py:same", {"processes": 1}, "two processes"),
        ("work.py:base", "work.py:same", {"confidence": float("nan")}, "confidence"),
        ("work.py:base", "work.py:same", {"tests": "a1@latest"}, "no-notebook"),
    ],
)
def test_refused_in_one_line(folder, harness, a, b, options, words):
    with pytest.raises(UsageError) as caught:
        compare(a, b, **options)
    assert words in str(caught.value)
    assert harness.versions == []


# ---- promises ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def promised(notebook, stored_run):
    """A diagnosis of this machine that promised 1.15 to 1.30."""
    action = msgspec.structs.replace(stored_run.diagnosis.actions[0], speedup=(1.15, 1.30), metric="latency")
    diagnosis = msgspec.structs.replace(stored_run.diagnosis, actions=(action,))
    run = msgspec.structs.replace(stored_run, diagnosis=diagnosis, facts=msgspec.structs.replace(stored_run.facts, machine=read_machine()))
    notebook.add(run)
    return run


@pytest.mark.parametrize(("ratio", "promise"), [(1 / 1.2, "kept"), (1 / 1.6, "refuted"), (1.1, "refuted")])
def test_a_promise_is_held_against_what_is_found(folder, harness, notebook, promised, ratio, promise):
    harness.ratio = ratio
    found = compare("work.py:base", "work.py:same", notebook=notebook, tests="a1@latest", hypothesis="fewer bytes, less time")
    assert (found.promise, found.promised, found.tests) == (promise, (1.15, 1.30), f"a1@{promised.id}")
    (made,) = notebook.experiments()
    assert (made.diagnosis, made.action.id, made.promise) == (promised.id, "a1", promise)
    assert made.runs == (found.run_a, found.run_b)
    assert made.hypothesis == "fewer bytes, less time"
    assert len(made.commits) == len(made.clock) == 2
    assert made.found == pytest.approx(speedup_found(found))
    report = counted("here", notebook.experiments())
    assert (report.total.kept, report.total.refuted) == ((1, 0) if promise == "kept" else (0, 1))


def test_a_hypothesis_alone_is_kept_beside_the_controls(folder, harness, notebook):
    harness.ratio = 0.8
    compare("work.py:base", "work.py:same", notebook=notebook, hypothesis="shorter is faster")
    (made,) = notebook.experiments()
    assert (made.action, made.hypothesis, made.verdict, made.kept) == (None, "shorter is faster", "faster", True)


def test_promises_of_another_machine_or_of_the_period_stay_open(folder, harness, notebook, promised):
    harness.ratio = 1 / 1.2
    found = compare("work.py:base", "work.py:same", notebook=notebook)
    asked = action_of("a1@latest", notebook)
    assert held(found, asked, ["another"]).promise == "open"
    action = msgspec.structs.replace(asked.action, metric="period")
    later = held(found, msgspec.structs.replace(asked, action=action), [])
    assert later.promise == "open"
    assert later.warnings[-1].code == "promise-open"
    assert held(found, msgspec.structs.replace(asked, action=action), [], batched=found).promise == "kept"


@pytest.mark.parametrize(
    ("text", "words"), [("a1", "ACTION@RUN"), ("a9@latest", "it has a1"), ("a1@2099", "none whose id"), ("@latest", "ACTION@RUN")]
)
def test_actions_that_are_not_there(notebook, promised, text, words):
    with pytest.raises(UsageError, match=words):
        action_of(text, notebook)


def test_an_action_by_its_name(notebook, promised):
    assert isinstance(action_of("quantise-weights@latest", notebook).action, Action)


# ---- with the real harness: each sort once, differences far beyond any noise -----------------------------------------------------------


def test_real_targets(folder):
    found = compare("work.py:short", "work.py:long", processes=5, samples=20)
    assert found.ratio > 1.5
    assert (found.side_a.processes, found.side_b.processes) == (5, 5)


def test_real_callables_of_this_process():
    scale = [10_000, 60_000]
    found = ridgeline.compare(lambda: sum(range(scale[0])), lambda: sum(range(scale[1])), processes=9, time_budget_s=2.0)
    assert found.ratio > 2
    assert {"one-process", "outputs-differ"} <= {caution.code for caution in found.warnings}
    assert found.side_a.processes_known is False


class Placed:
    """Stands in for the watch: the host moves the cores after two looks."""

    def __init__(self):
        self.looked, self.fresh = 0, []

    def look(self):
        self.looked += 1
        self.fresh.append(4e-8 if self.looked <= 2 else 2e-7)

    def taken(self):
        looks, self.fresh = tuple(self.fresh), []
        return CoreToCore(looks_s=looks)


@pytest.mark.parametrize("several", [False, True])
def test_cores_that_were_moved_under_callables_of_this_process(monkeypatch, several):
    monkeypatch.setattr(here, "CoreToCoreWatch", Placed)
    monkeypatch.setattr(here, "others_work", lambda *seconds: several)
    found = ridgeline.compare(lambda: sum(range(1000)), lambda: sum(range(1000)), processes=6, samples=5, time_budget_s=2.0)
    assert found.side_a.core_to_core == found.side_b.core_to_core
    assert found.side_a.core_to_core.looks_s[:4] == (4e-8, 4e-8, 2e-7, 2e-7)
    told = [caution for caution in found.warnings if caution.code == "cores-moved"]
    assert [" A and B: " in caution.message for caution in told] == ([True] if several else [])


def test_stored_runs_between_which_the_cores_were_moved(folder, harness, notebook):
    """Two runs of one program that differ by where the host had put the cores; a run of before, that knows nothing of it, compares as it did."""
    runs = []
    live = compare("work.py:base", "work.py:same", notebook=notebook)
    for looks_s, identity in (((4e-8,), live.run_a), ((2e-7,), live.run_b)):
        run = notebook.get(identity)
        cpu = Column(run.facts.samples.wall_s.values * 1.9, "s")
        samples = msgspec.structs.replace(run.facts.samples, process_cpu_s=cpu)
        clock = msgspec.structs.replace(run.facts.clock, core_to_core=CoreToCore(looks_s=looks_s))
        runs.append(msgspec.structs.replace(run, facts=msgspec.structs.replace(run.facts, samples=samples, clock=clock)))
    found = compare(*runs)
    assert [caution.message for caution in found.warnings if caution.code == "cores-moved"] == [
        "the cores were not equally far apart: a cache line took 40 ns beside A and 200 ns beside B from one to the other"
    ]
    assert found.side_b.core_to_core.looks_s == (2e-7,)
    for other in (compare(notebook.get(live.run_a), runs[1]), compare(live.run_a, live.run_b, notebook=notebook)):
        assert not any(caution.code == "cores-moved" for caution in other.warnings)
        assert other.ratio == pytest.approx(found.ratio)


def test_a_script_that_compares_when_it_is_imported_does_not_start_itself_again(folder):
    text = "import ridgeline\n\ndef f():\n    return None\n\nridgeline.compare('script.py:f', 'script.py:f', processes=2)\n"
    (folder / "script.py").write_text(text)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "__main__" in done.stderr


def test_real_revisions(folder):
    def git(*arguments):
        identity = ["-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    (folder / "pack.py").write_text("def run():\n    return sum(range(10_000)) and None\n")
    git("init", "-q")
    git("add", "pack.py")
    git("commit", "-qm", "one")
    (folder / "pack.py").write_text("def run():\n    return sum(range(60_000)) and None\n")
    git("commit", "-qam", "two")
    found = compare("HEAD~1", "HEAD", target="pack:run", processes=5, samples=20)
    assert found.ratio > 2
    assert found.name_a.startswith("HEAD~1 (")
    # A benchmark outside the repository that puts the working tree's own folder first.
    outside = folder.parent / "outside.py"
    (folder / "helper.py").write_text("")
    outside.write_text(f"import sys\nsys.path.insert(0, {str(folder)!r})\nimport helper\n\ndef run():\n    return None\n")
    with pytest.raises(TargetFailed, match=r"imported from its worktree.*helper"):
        compare("HEAD~1", "HEAD", target=f"{outside}:run", processes=5, samples=5)


def test_result_files(folder):
    document = '{"results": [{"command": "x", "times": [%s]}]}'
    for name, level in (("a.json", 1.0), ("b.json", 2.0)):
        times = ", ".join(str(level * (1 + 0.001 * index)) for index in range(12))
        (folder / name).write_text(document % times)
    found = compare("a.json", "b.json")
    assert found.ratio == pytest.approx(2.0, rel=0.02)
    assert isinstance(found, Comparison)


def test_files_with_nothing_in_common_are_no_comparison(folder):
    for name, kinds in (("a.json", ("one", "two")), ("b.json", ("three", "four", "five"))):
        entries = [
            {"name": kind, "run_name": kind, "run_type": "iteration", "iterations": 9, "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ms"}
            for kind in kinds
        ]
        (folder / name).write_text(json.dumps({"context": {"host_name": "h", "num_cpus": 2}, "benchmarks": entries}))
    with pytest.raises(UsageError, match=r"a\.json has one .*two.*b\.json has three"):
        compare("a.json", "b.json")


def test_files_with_several_benchmarks(folder):
    for name, level in (("a.json", 1.0), ("b.json", 2.0)):
        entries = [
            {
                "name": f"BM_{kind}",
                "run_name": f"BM_{kind}",
                "run_type": "iteration",
                "iterations": 9,
                "real_time": level,
                "cpu_time": level,
                "time_unit": "ms",
            }
            for kind in ("one", "two", name)
        ]
        (folder / name).write_text(json.dumps({"context": {"host_name": "h", "num_cpus": 2}, "benchmarks": entries}))
    found = compare("a.json", "b.json", changing=["machine"])
    assert isinstance(found, ComparisonSet)
    assert {one.name for one in found.comparisons} == {"BM_one", "BM_two"}
    assert any("BM_a.json" in name for name in found.missing)
    assert any("BM_b.json" in name for name in found.new)
    with pytest.raises(UsageError, match="one benchmark for --why"):
        compare("a.json", "b.json", why=True)


def test_a_run_against_a_file(folder, harness, notebook):
    live = compare("work.py:base", "work.py:same", notebook=notebook)
    times = ", ".join(str(0.02 * (1 + 0.001 * index)) for index in range(12))
    (folder / "a.json").write_text(f'{{"results": [{{"command": "x", "times": [{times}]}}]}}')
    found = compare(live.run_a, "a.json", notebook=notebook, changing=["workload"])
    assert found.verdict == "slower"
    assert found.ratio == pytest.approx(2.0, rel=0.02)
    assert "metric-assumed" in [caution.code for caution in found.warnings]
    assert (found.run_a, found.run_b) == (live.run_a, None)


def test_stored_diagnoses_say_why_of_what_they_saw(stored_run):
    found = compare(stored_run, stored_run, why=True)
    assert found.why == ()
    assert "not-attributed" in [caution.code for caution in found.warnings]


def _of_period(asked):
    return msgspec.structs.replace(asked, action=msgspec.structs.replace(asked.action, metric="period"))


@pytest.mark.parametrize(
    ("latency", "between", "promise", "word"),
    [
        # Four waits in one call made at once: between results it gains as much, which nobody promised.
        (1 / 3.9, 1 / 3.9, "open", "another change"),
        # The next item is asked for early: a call is as long as before, or seems shorter since its item is there already.
        (1.0, 1 / 1.2, "kept", ""), (1 / 1.2, 1 / 1.2, "kept", ""),
        (1.0, 1.0, "refuted", ""), (1.0, 1 / 1.6, "refuted", ""), (1 / 1.05, 1 / 1.05, "refuted", ""),
    ],
)  # fmt: skip
def test_a_promise_on_the_time_between_results_is_held_against_the_throughput(notebook, promised, harness, folder, latency, between, promise, word):
    found = compare("work.py:base", "work.py:same", notebook=notebook, processes=3)

    def of(ratio):
        return msgspec.structs.replace(found, ratio=ratio, ratio_ci=(ratio * 0.99, ratio * 1.01))

    judged = held(of(latency), _of_period(action_of("a1@latest", notebook)), [], batched=of(between))
    assert (judged.promise, judged.promised_metric) == (promise, "period")
    assert [word in caution.message for caution in judged.warnings if caution.code == "promise-open"] == ([True] if word else [])
    assert judged.gained == (None if word else pytest.approx((1 / (1.01 * between), 1 / (0.99 * between))))
    page = terminal(comparison_page(judged))
    assert ("of the time between results" in page, "is not what was promised" in page) == (True, bool(word))


def test_a_promise_that_nothing_was_held_against_is_in_no_rate(folder, harness, notebook, promised):
    harness.ratio = 1 / 3.9
    asked = _of_period(action_of("a1@latest", notebook))
    found = held(compare("work.py:base", "work.py:same", notebook=notebook), asked, [])
    report = counted("here", [experiment_of(found, [], asked)])
    assert (report.total.open, report.total.untested, report.total.refuted, report.total.rate, report.trends) == (1, 1, 0, None, ())
    assert "not in the rates: 1." in terminal(promises_page(report)).replace("\n  ", " ")
    both = counted("here", [*report.experiments, msgspec.structs.replace(report.experiments[0], promise="kept", found=(1.2, 1.3))])
    assert (both.total.open, both.total.kept, both.total.rate.value) == (1, 1, 1.0)
    assert "1 of 1 (" in terminal(promises_page(both))
