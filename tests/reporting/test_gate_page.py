"""The page, the comment and the JUnit file of a gate, and the page of a history: what is told first, and what hostile names can do: nothing."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Caution, GateCheck, GateReport, HistoryEntry, LeftOut
from ridgeline.diagnosis.gating import closed
from ridgeline.diagnosis.history import history_report
from ridgeline.reporting import gate_comment, gate_page, history_page, junit_xml, markdown, terminal
from ridgeline.reporting.history_page import sparkline


def _report(**verdicts: str) -> GateReport:
    checks = [
        GateCheck(name=name, verdict=verdict.replace("_", " "), against="main", ratio=1.05, ratio_ci=(1.02, None), now=0.00105, before=0.001,  # type: ignore[arg-type]
                  because="5 % more", warnings=(Caution(code="c", message="the clock moved"),), suspected=verdict == "regression")
        for name, verdict in verdicts.items()
    ]  # fmt: skip
    return closed(
        checks, baseline="main (01234567)", version="now", confidence=0.97, fail_on=["slower"], left_out=[LeftOut(reason="an error", count=2)]
    )


def test_the_page_tells_what_to_look_at_first() -> None:
    text = terminal(gate_page(_report(a="fine", b="regression", c="inconclusive")), 120, False)
    assert "red: 3 benchmarks against main (01234567): 1 regression, 1 inconclusive, 1 fine" in text
    lines = text.splitlines()
    rows = [next(at for at, line in enumerate(lines) if line.split()[:2] == [name, verdict]) for name, verdict in
            (("b", "regression"), ("c", "inconclusive"), ("a", "fine"))]  # fmt: skip
    assert rows == sorted(rows)
    assert "1.020–∞" in text
    assert "1 looked slower" in text
    assert "the clock moved" in text
    assert "left out: 2 × an error" in text


def test_the_comment_shows_only_what_is_red_unfolded() -> None:
    comment = gate_comment(_report(good="fine", bad="regression"))
    head, _, folded = comment.partition("<details>")
    assert "bad | regression" in head
    assert "good" not in head
    assert "good | fine" in folded
    assert comment.rstrip().endswith("</details>")
    assert "good" not in gate_comment(_report(good="fine")).partition("<details>")[0]


def test_a_comment_says_why_before_anything_is_unfolded() -> None:
    check = GateCheck(name="parse", verdict="failed", against="main", because="it ended with exit code 3")
    comment = gate_comment(closed([check], baseline="main", version="now", confidence=0.97, fail_on=["slower"]))
    assert "it ended with exit code 3" in comment.partition("<details>")[0]


def test_a_ratio_that_is_nearly_nothing_is_not_shown_as_nothing() -> None:
    check = GateCheck(name="parse", verdict="faster", against="the prediction", ratio=9.6e-7, ratio_ci=(9.1e-7, 2e4), before=30.0, now=28.9e-6)
    page = terminal(gate_page(closed([check], baseline="the prediction", version="now", confidence=0.97, fail_on=["slower"])), 160, False)
    assert "9.6e-07" in page
    assert "9.1e-07–2e+04" in page


def test_a_comment_fits_into_github() -> None:
    many = {f"benchmark_{at}_{'x' * 60}": "fine" for at in range(2000)}
    assert len(gate_comment(_report(**many))) < 65_536
    assert len(gate_comment(_report(**dict.fromkeys(many, "regression")))) < 65_536


def test_junit_counts_what_ci_servers_count() -> None:
    report = _report(a="fine", b="regression", c="tail_regression", d="failed", e="incomparable", f="inconclusive", g="new", h="missing", i="faster")
    root = ElementTree.fromstring(junit_xml(report))
    (suite,) = root
    counts = {"tests": "9", "failures": "2", "errors": "2", "skipped": "3"}
    # The schema that Jenkins reads by knows no such attribute there.
    assert dict(root.attrib) == {name: count for name, count in counts.items() if name != "skipped"}
    assert dict(suite.attrib) == {"name": "ridgeline gate", **counts}
    assert {case.attrib["name"]: [child.tag for child in case] for case in suite} == {
        "a": [], "b": ["failure"], "c": ["failure"], "d": ["error"], "e": ["error"], "f": ["skipped"], "g": ["skipped"], "h": ["skipped"], "i": [],
    }  # fmt: skip
    assert {case.attrib["time"] for case in suite} == {"0.001050000"}


@given(st.text())
@settings(max_examples=100, deadline=None)
def test_a_name_cannot_break_a_file(name: str) -> None:
    check = GateCheck(name=name, verdict="regression", against=name, because=name)
    report = closed([check], baseline=name, version="now", confidence=0.97, fail_on=["slower"])
    root = ElementTree.fromstring(junit_xml(report))
    assert len(root[0]) == 1
    comment = gate_comment(report)
    assert comment.count("<details>") == comment.count("</details>") == 1
    assert terminal(gate_page(report), 80, False).isprintable() is False  # line breaks of ours, and no others:
    assert all(line.isprintable() for line in terminal(gate_page(report), 80, False).split("\n"))


def _history(values: list[float | None], keys: dict[str, str] | None = None, first: int = 0) -> list[HistoryEntry]:
    return [
        HistoryEntry(run=f"r{at:03}", at=f"2026-01-{at:03}", commit=f"{at:040x}+dirty", name="f", metric="median", value=value, keys=keys or {})
        for at, value in enumerate(values, start=first)
    ]


def test_a_history_is_drawn_and_its_change_is_bracketed() -> None:
    noise = [1 + 0.001 * ((at * 7) % 5) for at in range(40)]
    report = history_report("f.py:f", _history([(1.0 if at < 20 else 1.2) * level for at, level in enumerate(noise)]))
    (line,) = report.lines
    drawn = sparkline(line)
    assert len(drawn) == 41
    assert drawn[20] == "│"
    assert set(drawn[:20]) <= set("▁▂")
    assert set(drawn[21:]) <= set("▇█")
    text = terminal(history_page(report), 140, False)
    assert drawn in text
    assert "slower +20 %" in text
    assert f"{19:040x}"[:10] + "+dirty" in text
    assert "the last made it slower by +20 %" in text


def test_runs_without_a_value_are_seen_and_many_runs_are_drawn_together() -> None:
    (line,) = history_report("f", _history([1.0, None, math.inf, *[1.0 + at % 2 for at in range(12)]])).lines
    assert sparkline(line)[:3].count("·") == 2
    (long,) = history_report("f", _history([1.0 + at % 3 for at in range(500)])).lines
    assert len(sparkline(long)) == 80
    assert len(sparkline(long, 10)) == 10
    (nothing,) = history_report("f", _history([None] * 4)).lines
    assert sparkline(nothing) == "····"


def test_runs_that_stand_apart_are_called_by_what_differs() -> None:
    entries = _history([1.0] * 9, {"threads": "1", "workload": "f"}) + _history([2.0] * 9, {"threads": "2", "workload": "f"}, 20)
    text = markdown(history_page(history_report("f", entries)))
    assert "## median, 2" in text
    assert "## median, 1" in text
    assert "split-history" in text


@pytest.mark.parametrize("values", [[], [None], [1.0], [0.0] * 20])
def test_a_history_of_little_has_a_page(values: list[float | None]) -> None:
    assert terminal(history_page(history_report("f", _history(values))), 80, False)
