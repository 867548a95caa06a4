"""The report as data and markup: scales, bins, what is drawn where, what is left out and said, and that nothing breaks out or breaks it."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ridgeline.core import (
    BudgetReport,
    Ceiling,
    Column,
    Diagnosis,
    Facts,
    GroundTruth,
    OperatorSummary,
    Quantity,
    Run,
    Samples,
    Shrink,
    StageSummary,
    Where,
)
from ridgeline.reporting import html_report, run_report
from ridgeline.reporting.measured import operator_table
from ridgeline.reporting.report import MOST_BYTES
from ridgeline.reporting.report.bars import Interval, IntervalRow, interval_scale
from ridgeline.reporting.report.labels import Places, short_name
from ridgeline.reporting.report.latency import distribution
from ridgeline.reporting.report.limits import LIMITS, bounded, by_kind, ranked
from ridgeline.reporting.report.markup import tag, text
from ridgeline.reporting.report.roofline import limiting_roof, plotted
from ridgeline.reporting.report.roofs import memory_roofs, peak_roofs
from ridgeline.reporting.report.scale import Scale, linear_scale, log_scale
from support.facts_by_hand import device

_HOSTILE = "</script><script>alert('x')</script>\"'<img src=x onerror=alert(1)>\x1b[31m\u202e]]>-->"


def _quantity(value: float, unit: str) -> Quantity:
    return Quantity(value=value, low=value * 0.95, high=value * 1.05, confidence=0.95, unit=unit, source="measured")


def operator(name: str, **fields: Any) -> OperatorSummary:
    """An operator of 1 GFLOP/s at 2 FLOP/B; its ceilings are 8 GFLOP/s of arithmetic and 2 GFLOP/s at its bandwidth."""
    defaults: dict[str, Any] = {
        "kind": "MatMul", "calls": 1.0, "total_s": 1e-3, "share": 0.1, "flop": 1e6, "bytes": 500_000, "achieved_flop_per_s": _quantity(1e9, "FLOP/s"),
        "achieved_byte_per_s": _quantity(5e8, "B/s"), "f_c": _quantity(0.125, "1"), "f_b": _quantity(0.5, "1"), "intensity": 2.0,
        "bound": "bandwidth", "ran_on": "CPU", "precision": "fp32", "threads": 4,
    }  # fmt: skip
    return OperatorSummary(name=name, **{**defaults, **fields})


class _Reader(HTMLParser):
    """Elements with attributes and text; every element must be closed."""

    VOID = {"meta", "link"}

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text.append(data)

    def all(self, name: str, kind: str = "") -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name and kind in [*(attributes.get("class") or "").split(" "), ""]]


def _spoiled(plain: object, key: str = "") -> object:
    fixed = {"schema", "bound", "unit", "source", "metric", "budget", "output", "promise", "verdict", "basis"}
    if isinstance(plain, dict):
        return {name: _spoiled(value, name) for name, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_spoiled(value, key) for value in plain]
    return _HOSTILE if isinstance(plain, str) and key not in fixed else plain


# ---- scales ----------------------------------------------------------------------------------------------------------------------------


@given(st.floats(1e-30, 1e30), st.floats(1.5, 1e6), st.floats(0, 1))
def test_a_scale_puts_its_ends_at_its_ends_and_keeps_order(low: float, factor: float, part: float) -> None:
    for logarithmic in (False, True):
        scale = Scale(low=low, high=low * factor, start=100.0, end=900.0, logarithmic=logarithmic)
        assert scale.at(low) == pytest.approx(100.0)
        assert scale.at(low * factor) == pytest.approx(900.0)
        between = low * factor**part
        assert 100.0 - 1e-6 <= scale.at(between) <= 900.0 + 1e-6
        assert all(scale.low * (1 - 1e-9) <= value <= scale.high * (1 + 1e-9) for value in scale.ticks())
    # Equal factors take equal room.
    assert scale.at(between) == pytest.approx(100.0 + 800.0 * part, abs=1e-6)


def test_ticks_are_round() -> None:
    assert Scale(low=0.0, high=10.0, start=0, end=1).ticks(5) == (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    assert Scale(low=0.05, high=2000.0, start=0, end=1, logarithmic=True).ticks(9) == (0.1, 1.0, 10.0, 100.0, 1000.0)
    assert len(Scale(low=1e-10, high=1e30, start=0, end=1, logarithmic=True).ticks(6)) <= 7


@pytest.mark.parametrize("values", [(), (math.nan,), (5.0,), (0.0,), (-1.0, math.inf), (1e-300, 1e300)])
def test_any_values_make_a_scale(values: tuple[float, ...]) -> None:
    for scale in (linear_scale(values, 0, 1), log_scale(values, 0, 1, margin=2)):
        assert scale.low < scale.high
        assert all(math.isfinite(scale.at(value)) for value in (scale.low, scale.high))


def test_a_gain_and_its_inverse_lie_equally_far_from_no_change() -> None:
    row = IntervalRow(label="x", intervals=(Interval(low=0.5, high=2.0, kind="found"),), value="")
    scale = interval_scale([row])
    assert scale.at(1.0) - scale.at(0.5) == pytest.approx(scale.at(2.0) - scale.at(1.0))
    assert scale.holds(0.5)
    assert scale.holds(2.0)


# ---- markup ----------------------------------------------------------------------------------------------------------------------------


def test_markup_escapes_texts_and_attributes_and_refuses_what_is_no_coordinate() -> None:
    assert tag("p", text('<b>&"'), title='"<', hidden=True, id=None) == '<p title="&quot;&lt;" hidden>&lt;b&gt;&amp;&quot;</p>'
    with pytest.raises(ValueError, match="not finite"):
        tag("circle", cx=math.nan)


# ---- samples ---------------------------------------------------------------------------------------------------------------------------


def _samples(wall_s: Any) -> Samples:
    wall = np.asarray(wall_s, float)
    n = len(wall)
    return Samples(
        wall_s=Column(wall, "s"), start_s=Column(np.arange(n), "s"), process=Column(np.zeros(n, int), "count"), inner=Column(np.ones(n, int), "count")
    )


@given(st.lists(st.floats(1e-9, 10.0), min_size=2, max_size=300))
@example([1.0000000000000003e-09, 1e-09])
@settings(max_examples=60, deadline=None)
def test_every_sample_is_in_a_bin_or_counted_beyond(wall_s: list[float]) -> None:
    found = distribution(_samples(wall_s))
    assert found is not None
    assert sum(found.counts) + found.beyond == len(wall_s)
    assert found.slowest_s == max(wall_s)
    assert found.shares[-1] == pytest.approx(1 - found.beyond / len(wall_s))
    # The ECDF against its definition, at each of its own steps.
    ranked_s = np.sort(wall_s)
    for seconds, share in zip(found.steps_s, found.shares, strict=True):
        assert share <= np.searchsorted(ranked_s, seconds, side="right") / len(wall_s) + 1e-12


@pytest.mark.parametrize("count", [2, 2_000, 1_000_000])
def test_a_million_samples_are_drawn_as_few_bins_and_steps(count: int) -> None:
    found = distribution(_samples(0.01 + 1e-4 * np.random.default_rng(0).gamma(2.0, size=count)))
    assert found is not None
    assert len(found.counts) <= 80
    assert len(found.steps_s) <= 400
    assert found.samples == count


def test_one_slow_call_does_not_press_the_others_into_one_bin() -> None:
    found = distribution(_samples([*np.linspace(1e-3, 1.2e-3, 999), 1.0]))
    assert found is not None
    assert found.beyond == 1
    assert sum(count > 0 for count in found.counts) >= 8


def test_no_samples_no_chart() -> None:
    assert distribution(None) is None
    assert distribution(_samples([0.1])) is None


# ---- roofline --------------------------------------------------------------------------------------------------------------------------


def test_the_limiting_roof_is_the_lower_of_its_own_ceilings() -> None:
    # 1 GFLOP/s is an eighth of its arithmetic and half of what its bandwidth allows.
    assert limiting_roof(operator("a")) == pytest.approx(2e9)
    assert limiting_roof(operator("a", f_b=None)) == pytest.approx(8e9)
    assert limiting_roof(operator("a", f_c=None, f_b=None)) is None
    assert limiting_roof(operator("a", achieved_flop_per_s=None)) is None


def test_roofs_are_of_the_fewest_and_the_most_threads_and_of_what_ran() -> None:
    peaks = peak_roofs(device(), [operator("a"), operator("b", precision="int8", share=0.001)])
    assert [(peak.rate, peak.threads, peak.fewest) for peak in peaks] == [(128e9, 4, False), (32e9, 1, True)]
    both = peak_roofs(device(), [operator("a"), operator("b", precision="int8", share=0.4)])
    assert [peak.rate for peak in both] == [128e9, 32e9, 512e9, 128e9]
    memories = memory_roofs(device())
    assert [(memory.rate, memory.threads) for memory in memories] == [(160e9, 4), (40e9, 1)]
    assert all("DRAM triad" in memory.label for memory in memories)


def test_a_device_of_specifications_has_one_roof_each() -> None:
    spec = msgspec.structs.replace(device(), ceilings=(Ceiling(engine="fma", precision="fp16", threads=0, rate=_quantity(1e14, "FLOP/s")),))
    (peak,) = peak_roofs(spec, [])
    assert peak.label == "fp16: 100 TFLOP/s"
    assert not peak.fewest
    assert memory_roofs(spec) == ()


def test_operators_without_a_place_on_logarithmic_axes_are_left_out() -> None:
    wrong = [operator("w", intensity=value) for value in (None, 0.0, -1.0, math.nan, math.inf)]
    assert [point.operator.name for point in plotted([*wrong, operator("a", share=None), operator("b")])] == ["b", "a"]


def test_names_keep_their_ends() -> None:
    assert short_name("short", 10) == "short"
    assert short_name("a/b/c/Conv_0/Conv2D", 15) == "…/Conv_0/Conv2D"
    assert len(short_name("x" * 100, 20)) == 20
    assert len(short_name("a/" + "y" * 100, 20)) == 20


def test_labels_never_cover_one_another() -> None:
    places = Places(left=0, top=0, right=100, bottom=100)
    spot = (10.0, 50.0, "start")
    assert places.find("abc", [spot], 6.6)
    assert places.find("abc", [spot], 6.6) == ""
    assert places.find("abc", [spot, (10.0, 80.0, "start")], 6.6)
    assert places.find("abc", [(99.0, 50.0, "start")], 6.6) == ""  # out of the plot
    assert places.along("x" * 100, (0, 100), (100, 0)) == ""  # longer than its line


# ---- limits ----------------------------------------------------------------------------------------------------------------------------


def test_what_gets_no_line_of_its_own_is_summed_without_loss() -> None:
    operators = [operator(f"o{index}", kind=f"k{index % 3}", total_s=index * 1e-6, share=index * 1e-7) for index in range(1000)]
    first, rest = ranked(operators, 300)
    assert len(first) == 300
    assert min(one.total_s or 0 for one in first) >= max(one.total_s or 0 for one in rest)
    table = by_kind(rest)
    assert sum(row[1].value for row in table.rows if isinstance(row[1].value, int)) == len(rest)
    assert sum(float(row[3].value or 0) for row in table.rows) == pytest.approx(sum(one.total_s or 0 for one in rest))


def test_long_texts_and_lists_are_cut_and_counted(full_diagnosis: Diagnosis) -> None:
    unchanged, said = bounded(full_diagnosis)
    assert unchanged == full_diagnosis
    assert said == ()
    huge = msgspec.structs.replace(full_diagnosis, warnings=full_diagnosis.warnings * 1000, target="t" * 100_000)
    short, said = bounded(huge)
    assert len(short.warnings) == 300
    assert len(short.target) < 700
    assert said == ("1 text of more than 600 characters shortened", "700 more under warnings")


# ---- the document ----------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def charted(full_diagnosis: Diagnosis) -> Diagnosis:
    """Operators that have a place on the roofline, the first of them the bottleneck."""
    operators = (operator("main", share=0.4, total_s=4e-3), operator("fast", intensity=200.0, achieved_flop_per_s=_quantity(5e10, "FLOP/s")))
    found = full_diagnosis.bottleneck
    assert found is not None
    where = msgspec.structs.replace(found.where, operator="main")
    return msgspec.structs.replace(full_diagnosis, operators=operators, bottleneck=msgspec.structs.replace(found, where=where))


def test_the_report_may_run_only_its_own_script_and_asks_for_nothing(charted: Diagnosis, facts: Facts) -> None:
    document = html_report(charted, facts)
    read = _Reader(document)
    (script,) = re.findall(r"<script>(.*?)</script>", document, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(attributes["content"] for attributes in read.all("meta") if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe-eval" not in policy
    assert policy.count("unsafe-inline") == 1
    assert all((attributes.get("href") or "#").startswith(("#", "data:,")) for _, attributes in read.elements)
    assert not {"src", "srcset", "data", "action"} & {name for _, attributes in read.elements for name in attributes}
    assert not [name for _, attributes in read.elements for name in attributes if name.startswith("on")]
    assert "http:" not in document
    assert "url(" not in document


def test_the_verdict_comes_first_and_every_chart_has_its_numbers(charted: Diagnosis, facts: Facts) -> None:
    document = html_report(charted, facts)
    read = _Reader(document)
    assert "main: bandwidth bound" in "".join(read.text)
    assert (
        document.index('class="headline"')
        < document.index("What to do")
        < document.index('class="chart latency"')
        < document.index('class="chart roofline"')
    )
    # Verdict, actions, tried, latency, where the time goes, operators.
    assert len(read.all("details")) == len(read.all("summary")) == 6
    assert len(read.all("ul", "bars")) == 6
    assert len(read.all("rect", "promised")) == 4
    assert len(read.all("rect", "found")) == 1
    assert {attributes.get("lang") for attributes in read.all("html")} == {"en"}
    assert all(attributes.get("aria-label") for attributes in read.all("svg", "chart"))


def test_the_arrow_leads_from_the_operator_to_its_roof(charted: Diagnosis, facts: Facts) -> None:
    document = html_report(charted, msgspec.structs.replace(facts, device=device()))
    group = document[document.index('class="op main"') :]
    circle = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)"', group)
    arrow = re.search(r'class="arrow"><line x1="([\d.]+)" x2="[\d.]+" y1="([\d.]+)" y2="([\d.]+)"', group)
    assert circle is not None
    assert arrow is not None
    assert arrow[1] == circle[1]
    assert arrow[2] == circle[2]
    # The limit is twice what it achieves: log10(2) of a decade above, less the 8 units of the head.
    decade = _decade_height(document)
    assert float(arrow[2]) - float(arrow[3]) == pytest.approx(decade * math.log10(2) - 8, abs=0.3)


def _decade_height(document: str) -> float:
    ticks = {name: float(y) for y, name in re.findall(r'y="([\d.]+)" text-anchor="end" class="tick">([\d.]+ ?[GM]?)</text>', document)}
    return abs(ticks["10 G"] - ticks["1 G"])


@pytest.mark.parametrize("with_facts", [False, True])
def test_nothing_known_still_makes_a_report(empty_diagnosis: Diagnosis, facts: Facts, with_facts: bool) -> None:
    read = _Reader(html_report(empty_diagnosis, facts if with_facts else None))
    assert "Inconclusive" in "".join(read.text)
    assert not read.all("svg", "roofline")


def test_a_healthy_report_is_said_to_be(full_diagnosis: Diagnosis) -> None:
    healthy = msgspec.structs.replace(full_diagnosis, bottleneck=None, actions=(), tried=(), bound="none")
    text_ = "".join(_Reader(html_report(healthy)).text)
    assert "✓ Healthy" in text_
    assert "Bottleneck found" not in text_


def test_a_run_without_a_diagnosis_gets_the_plain_page(stored_run: Run) -> None:
    assert "No diagnosis was drawn" in run_report(msgspec.structs.replace(stored_run, diagnosis=None))
    assert run_report(stored_run) == html_report(stored_run.diagnosis, stored_run.facts, at=stored_run.at) if stored_run.diagnosis else False


def test_hostile_names_stay_text(charted: Diagnosis, facts: Facts) -> None:
    hostile = msgspec.convert(_spoiled(msgspec.to_builtins(charted)), Diagnosis)
    document = html_report(hostile, facts)
    read = _Reader(document)
    assert len(read.all("script")) == 1
    assert not read.all("img")
    assert "\x1b" not in document
    assert "\u202e" not in document
    assert "<script>alert('x')</script>" in "".join(read.text)


def test_five_thousand_operators_stay_small_and_it_is_said(charted: Diagnosis, facts: Facts) -> None:
    many = tuple(
        operator(f"{_HOSTILE}{'n' * 900}{index}", kind=f"kind {index}", share=1 / 5000, total_s=(5001 - index) * 1e-7) for index in range(5000)
    )
    document = html_report(msgspec.structs.replace(charted, operators=many), facts)
    assert len(document.encode()) < MOST_BYTES
    said = "".join(_Reader(document).text)
    assert f"{5000 - LIMITS[0].operators} operators summed by kind" in said
    assert "5000 texts of more than 600 characters shortened" in said


def _replaced(value: Any, number: float) -> Any:
    """Every plain float of a struct replaced; Quantities refuse what is not finite and are kept."""
    if isinstance(value, (Quantity, bool)):
        return value
    if isinstance(value, float):
        return number
    if isinstance(value, tuple):
        return tuple(_replaced(item, number) for item in value)
    if isinstance(value, msgspec.Struct):
        fields = {name: _replaced(getattr(value, name), number) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 0.0, -1.0, 1e300, 5e-324])
def test_numbers_that_are_none_break_no_chart(charted: Diagnosis, facts: Facts, number: float) -> None:
    broken = _replaced(charted, number)
    assert isinstance(broken.ground_truth, GroundTruth)
    read = _Reader(html_report(broken, msgspec.structs.replace(facts, device=device())))
    drawn = " ".join(
        str(value) for name, attributes in read.elements if name in {"rect", "line", "circle", "path", "text"} for value in attributes.values()
    )
    assert not re.search(r"\b(nan|inf)\b", drawn, re.IGNORECASE)


def test_a_budget_that_nobody_can_read_is_not_judged(full_diagnosis: Diagnosis) -> None:
    # An older version took a number without a unit.
    said = "".join(_Reader(html_report(msgspec.structs.replace(full_diagnosis, budget="3"))).text)
    assert "a budget with its unit" in said
    assert "undecided" in said


def test_a_missed_budget_shows_what_must_go(full_diagnosis: Diagnosis) -> None:
    ways = (
        Shrink(name="the whole call", kind="call", now_s=0.010, target_s=0.008, part=0.2),
        Shrink(name="model", kind="stage", now_s=0.005, target_s=0.003, part=0.4),
        Shrink(name="load", kind="stage", now_s=0.001, target_s=None, part=None),
    )
    state = BudgetReport(
        limit_s=0.008,
        at="median",
        state="missed",
        value_s=0.010,
        interval_s=(0.009, 0.011),
        samples=500,
        samples_needed=1,
        excess_s=0.002,
        shrink=ways,
    )
    document = html_report(msgspec.structs.replace(full_diagnosis, budget="8ms", budget_state=state))
    chart = document[document.index('aria-label="What must shrink"') :]
    drawn = [(float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" y="0" width="([\d.]+)"', chart)[:3]]
    # On an axis as long as the longest: from what may stay to what is there now.
    assert drawn == [(800, 200), (300, 200), (0, 100)]
    said = "".join(_Reader(document).text)
    assert "8.00 ms at median, 2.00 ms to lose" in said
    assert "1.00 ms: even nothing is not enough" in said


def test_nested_stages_are_set_in_and_a_circle_ends(full_diagnosis: Diagnosis) -> None:
    stages = tuple(
        StageSummary(name=name, median_s=0.001, share=0.1, parent=parent, overlapped_s=overlapped)
        for name, parent, overlapped in (("top", None, None), ("inner", "top", 0.0005), ("a", "b", None), ("b", "a", None))
    )
    document = html_report(msgspec.structs.replace(full_diagnosis, stages=stages))
    chart = document[document.index('aria-label="Stages"') :]
    assert [int(depth) for depth in re.findall(r'title="\w+" style="padding-left:(\d)em"', chart)[:3]] == [1, 8, 8]
    assert "500 µs of it beside others" in chart


def test_a_record_made_to_be_large_still_makes_a_small_report(charted: Diagnosis, facts: Facts) -> None:
    # Every character takes six in HTML, every list is as long as it may be, and the lists are lists of such texts.
    quotes = '"' * 5000
    many = tuple(operator(f"{quotes}{index}", kind=quotes, ran_on=quotes, reason=quotes, f_c=None) for index in range(2000))
    warning = msgspec.structs.replace(charted.warnings[0], message=quotes, effect=quotes)
    software = {f"{index}{quotes}": quotes for index in range(999)}
    lists = {"warnings": (warning,) * 2000, "missing": (quotes,) * 2000}
    large = msgspec.structs.replace(charted, operators=many, target=quotes, software=software, **lists)
    document = html_report(large, facts)
    assert len(document.encode()) < MOST_BYTES
    # The first limits were not enough, and what the stricter ones took is said.
    assert f"of more than {LIMITS[0].text} characters" not in document
    assert "characters shortened" in document
    assert "operators summed by kind" in document


def test_the_roofs_and_the_curve_have_their_numbers(charted: Diagnosis, facts: Facts) -> None:
    said = " ".join(_Reader(html_report(charted, msgspec.structs.replace(facts, device=device()))).text)
    for number in ("DRAM triad", "128 GFLOP/s", "32.0 GFLOP/s", "160 GB/s", "40.0 GB/s", "order statistics of 1000 samples"):
        assert number in said
    # 1000 samples evenly from 12 to 13 ms.
    assert "12.5 ms" in said
    assert "13.0 ms" in said


def test_a_bottleneck_without_a_place_on_the_roofline_is_said_to_have_none(charted: Diagnosis, facts: Facts) -> None:
    moved = tuple(msgspec.structs.replace(one, intensity=0.0) if one.name == "main" else one for one in charted.operators)
    said = "".join(_Reader(html_report(msgspec.structs.replace(charted, operators=moved), facts)).text)
    assert "1 of 2 operators have no place here" in said
    assert "among them the one that the verdict names" in said
    assert "among them" not in "".join(_Reader(html_report(charted, facts)).text)


def test_no_two_operators_of_a_table_have_one_name() -> None:
    def convolution(line: int | None) -> OperatorSummary:
        return operator("aten::convolution", shapes="f32[8,64,56,56]", where=Where(file="net.py", line=line) if line else None)

    names = [str(cells[0].value) for cells in operator_table([convolution(None), convolution(None), operator("relu")], 9).rows]
    assert names == ["#1 aten::convolution f32[8,64,56,56]", "#2 aten::convolution f32[8,64,56,56]", "relu"]
    names = [str(cells[0].value) for cells in operator_table([convolution(7), convolution(8)], 9).rows]
    assert names == [":7 aten::convolution f32[8,64,56,56]", ":8 aten::convolution f32[8,64,56,56]"]
