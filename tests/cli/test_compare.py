"""`ridgeline compare` as a person types it, with a flow that measures nothing."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import msgspec
import pytest

from ridgeline.core import (
    Caution,
    ChangedKey,
    Comparison,
    ComparisonSet,
    Contribution,
    GroundTruth,
    LeftOut,
    SideSummary,
    TailComparison,
)


def truth(median_s: float) -> GroundTruth:
    return GroundTruth(
        samples=600, processes=15, warmup=30, first_s=0.1, median_s=median_s, median_ci_s=(0.99 * median_s, 1.01 * median_s), p99_s=2 * median_s,
        p99_ci_s=(1.8 * median_s, 2.2 * median_s), min_s=0.9 * median_s, batched_s=None, noise_floor=0.01, overhead_s=None,
    )  # fmt: skip


def side(median: float) -> SideSummary:
    return SideSummary(
        name="f", unit="s", samples=600, processes=15, processes_known=True, median=median, lower_quartile=0.97 * median, minimum=0.9 * median,
        p99=2 * median,
    )  # fmt: skip


@pytest.fixture
def slower() -> Comparison:
    return Comparison(
        verdict="slower",
        ratio=1.048,
        ratio_ci=(1.032, 1.061),
        confidence=0.97,
        tail=TailComparison(verdict="slower", ratio=1.2, ratio_ci=(1.1, 1.3), reason="the p99 is 1.2 times as long (1.1–1.3)"),
        keep=False,
        detectable_ratio=1.02,
        a=truth(0.010),
        b=truth(0.01048),
        changed_keys=(ChangedKey(key="machine.governor", a="powersave", b="performance", kind="warn"),),
        reasons=("b is 4.8% slower: 1.048 (1.032–1.061), 15 processes each", "the p99 is 1.2 times as long (1.1–1.3)"),
        why=(
            Contribution(
                kind="layout", name="reorder", a_s=None, b_s=4e-4, difference_s=4e-4, difference_ci_s=(3e-4, 5e-4), share=0.83, level="operators"
            ),
            Contribution(kind="unexplained", name="the rest", a_s=None, b_s=None, difference_s=8e-5, share=0.17, level="operators"),
        ),
        name="f",
        name_a="old",
        name_b="new",
        statistic="median",
        side_a=side(0.010),
        side_b=side(0.01048),
        warnings=(Caution(code="outputs-differ", message="the versions return different results", effect="what is faster may do something else"),),
        hypothesis="it is shorter",
        tests="a1@20260102T030405-00000abc",
        promised=(1.1, 1.2),
        promise="refuted",
        gained=(1 / 1.061, 1 / 1.032),
        run_a="20260102T030405-00000aaa",
        run_b="20260102T030405-00000bbb",
        command="ridgeline compare old new",
    )


class Flow:
    def __init__(self, outcome: Any) -> None:
        self.outcome, self.sides, self.options = outcome, (), {}

    def compare(self, a: Any, b: Any, **options: Any) -> Any:
        self.sides, self.options = (a, b), options
        options["report"]("comparing", 0.5)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def compared(monkeypatch, slower, tmp_path):
    fake, module = Flow(slower), ModuleType("ridgeline.flows.compare")
    module.compare = fake.compare  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ridgeline.flows.compare", module)
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))
    monkeypatch.setenv("COLUMNS", "120")
    return fake


def test_the_page_says_it_all(compared, run):
    code, out, err = run("compare", "a.py:f", "b.py:f")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "▶ B is 4.8% slower: 1.048 (1.032–1.061), 15 processes each."
    for words in (
        "1.048 (1.032–1.061)", "97 % confidence, margin 1 %", "p99 is 1.2 times as long", "keep B", "2 %", "machine.governor", "powersave", "reorder",
        "+83 %", "outputs-differ", "it is shorter", "1.10–1.20×", "0.94–0.97×", "refuted", "20260102T030405-00000aaa", "10.0 ms [9.90 ms, 10.1 ms]",
    ):  # fmt: skip
        assert words in out
    assert "\x1b" not in out


def test_everything_reaches_the_flow(compared, run):
    words = [
        "--target", "x.py:f", "--setup", "make", "--margin", "0.02", "--confidence", "0.99", "--changing", "precision", "--changing", "threads",
        "--threads", "2", "--processes", "7", "--time-budget", "3", "--samples", "11", "--seed", "5", "--why", "--hypothesis", "h", "--tests",
        "a1@-1", "--fail-on", "tail", "--b-threads", "1", "--a-runtime", "openvino", "--env", "X=1", "--b-env", "X=2=", "--shape", "x=1x2",
        "--input", "in.npy", "--cold-cache", "--tune", "--soak", "--lock-gpu-clock", "1.2GHz", "--use", "once", "--synchronise", "none",
    ]  # fmt: skip
    code, _, _ = run("compare", *words, "HEAD~1", "HEAD")
    assert code == 1
    assert compared.sides == ("HEAD~1", "HEAD")
    expected = {
        "target": "x.py:f", "arguments": (), "setup": "make", "margin": 0.02, "confidence": 0.99, "changing": ("precision", "threads"),
        "threads": (2, 1), "runtime": ("openvino", None), "environment": ({"X": "1"}, {"X": "2="}), "shapes": ("x=1x2",),
        "inputs": "in.npy",
        "cache": "cold", "tune": True, "soak": True, "lock_gpu_hz": 1.2e9, "use": "once", "synchronise": "none",
        "processes": 7, "time_budget_s": 3.0, "samples": 11, "seed": 5, "why": True, "hypothesis": "h", "tests": "a1@-1", "tail": True,
        "command": False,
    }  # fmt: skip
    assert {name: compared.options[name] for name in expected} == expected
    assert compared.options["line"].startswith("ridgeline compare --target x.py:f")


@pytest.mark.parametrize("text", ["X", "=1", ""])
def test_a_variable_has_a_name_and_a_value(compared, run, text):
    code, out, err = run("compare", "--b-env", text, "a", "b")
    assert (code, out) == (2, "")
    assert "NAME=VALUE" in err
    assert compared.sides == ()


def test_a_command_stands_behind_dashes(compared, run):
    run("compare", "HEAD~1", "HEAD", "--why", "--", "./prog", "--json", "-v")
    assert compared.options["arguments"] == ("./prog", "--json", "-v")
    assert compared.options["why"]
    code, _, err = run("compare", "HEAD~1", "HEAD", "--")
    assert code == 2
    assert "nothing stands behind --" in err


def test_runs_by_age_are_no_options_and_typos_are_no_runs(compared, run):
    assert run("compare", "-2", "-1")[0] == 0
    assert compared.sides == ("-2", "-1")
    code, out, err = run("compare", "--wyh", "a", "b")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    code, _, err = run("compare", "-x", "b")
    assert code == 2
    assert "-x" in err


@pytest.mark.parametrize(
    ("fail_on", "changes", "code"),
    [
        ((), {}, 0),
        (("slower",), {}, 1),
        (("tail",), {}, 1),
        (("inconclusive",), {}, 0),
        (("inconclusive",), {"verdict": "inconclusive"}, 1),
        (("slower",), {"verdict": "faster"}, 0),
        (("slower", "tail"), {"verdict": "faster"}, 1),
        (("slower",), {"verdict": "same", "tail": TailComparison(verdict="inconclusive")}, 0),
        ((), {"verdict": "incomparable"}, 2),
    ],
)
def test_exit_codes(compared, run, slower, fail_on, changes, code):
    compared.outcome = msgspec.structs.replace(slower, **changes)
    options = [word for name in fail_on for word in ("--fail-on", name)]
    assert run("compare", *options, "a", "b")[0] == code


def test_json_is_the_contract(compared, run, slower):
    code, out, _ = run("compare", "--json", "a", "b")
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "ridgeline.compare/1"
    fields = {"verdict", "ratio", "ratio_ci", "confidence", "tail", "keep", "detectable_ratio", "a", "b", "changed_keys", "reasons", "why"}
    assert fields <= document.keys()
    assert document["tail"].keys() >= {"verdict", "ratio", "ratio_ci"}
    assert document["a"].keys() >= {"samples", "processes", "median_s", "median_ci_s", "p99_s", "p99_ci_s", "min_s", "noise_floor"}
    compared.outcome = ComparisonSet(a="x.json", b="y.json", comparisons=(slower,))
    assert json.loads(run("compare", "--json", "a", "b")[1])["schema"] == "ridgeline.comparisons/1"


def test_a_set_is_a_table_with_what_is_missing(compared, run, slower):
    compared.outcome = ComparisonSet(
        a="x.json",
        b="y.json",
        comparisons=(msgspec.structs.replace(slower, verdict="same", name="still"), slower),
        missing=("gone",),
        new=("fresh",),
        left_out_a=(LeftOut(reason="it failed", count=2, first="bad"),),
    )
    code, out, _ = run("compare", "x.json", "y.json")
    assert code == 0
    assert out.startswith("▶ 2 benchmarks: 1 slower, 1 same, 2 with a worse tail; at most 3 in 100")
    for words in ("MISSING IN B", "gone", "NEW IN B", "fresh", "A: 2 entries, the first is bad", "it failed"):
        assert words in out
    assert out.index("slower  ") < out.index("still")
    assert run("compare", "--fail-on", "slower", "x.json", "y.json")[0] == 1
    compared.outcome = ComparisonSet(a="x.json", b="y.json", comparisons=())
    code, out, _ = run("compare", "x.json", "y.json")
    assert code == 0
    assert "none in common" in out


def test_markdown(compared, run):
    code, out, _ = run("compare", "--markdown", "a", "b")
    assert code == 0
    assert out.startswith("# ridgeline compare: old and new")
    assert run("compare", "--markdown", "--json", "a", "b")[0] == 2


def test_nothing_known_is_said(compared, run):
    compared.outcome = Comparison(
        verdict="inconclusive", ratio=None, ratio_ci=None, confidence=0.97, tail=TailComparison(verdict="inconclusive", reason="no samples"),
        keep=False, detectable_ratio=None, a=None, b=None,
    )  # fmt: skip
    code, out, _ = run("compare", "a", "b")
    assert code == 0
    assert "too few processes, or they differ too much" in out
    assert "no samples" in out


def test_hostile_names_stay_on_their_line(compared, run, slower):
    compared.outcome = msgspec.structs.replace(slower, name_a="x\x1b[31m\n" + "y" * 500, hypothesis="‮evil")
    out = run("compare", "a", "b")[1]
    assert "\x1b" not in out
    assert "‮" not in out
    assert max(map(len, out.splitlines())) <= 120


def test_an_interrupt_says_what_is_kept(compared, run):
    compared.outcome = KeyboardInterrupt()
    code, out, err = run("compare", "a", "b")
    assert (code, out) == (130, "")
    assert err.count("\n") == 1


def test_a_notebook_shows_it(slower):
    fragment = slower._repr_html_()
    assert fragment is not None
    assert "4.8% slower" in fragment
    assert "Verdict" in fragment
