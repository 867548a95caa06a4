"""The report of a validation: its figures, its page, its drawing, and that hostile names stay text."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from ridgeline.core import LatencyTable, UsageError, ValidationReport
from ridgeline.core.documents import decode, encode
from ridgeline.model.validation import HeldOut, folds, hold_out, validation_report
from ridgeline.reporting import markdown, terminal, validation_page, validation_report_html


def made(count: int = 500, *, device: str = "A100", narrow: bool = False, level: float | None = 0.9) -> tuple[LatencyTable, ValidationReport]:
    draw = np.random.default_rng(0)
    table = LatencyTable.of(
        latency_s=np.exp(draw.normal(-7, 2, count)), kind=draw.choice(["gemm", "softmax"], count).tolist(), device=[device, "V100"] * (count // 2),
        precision="fp16", file="f.csv", sizes={"m": draw.integers(1, 10**6, count)}, flop=np.exp(draw.normal(20, 2, count)),
    )  # fmt: skip
    parts = []
    for split in folds(table, "shape", 5):
        measured = table.latency_s.values[split.test]
        predicted = measured * np.exp(0.1 * draw.normal(size=len(measured)))
        half = 1.05 if narrow else 1.18
        parts.append(HeldOut(split=split, predicted_s=predicted, low_s=predicted / half, high_s=predicted * half))
    return table, validation_report(table, parts, model="trees", data_version="7", level=level)


def test_the_report_says_what_its_rows_say() -> None:
    table, report = made()
    assert (report.held_out, report.folds, report.test_rows, report.train_rows) == ("shape", 5, 500, 400)
    assert report.overall.mape == pytest.approx(float(np.mean(np.abs(report.predicted_s.values / report.measured_s.values - 1))))
    by = {group.by for group in report.groups}
    assert by == {"kind", "device", "size decile", "fold"}
    for name in by:
        assert sum(group.errors.rows for group in report.groups if group.by == name) == 500
    assert report.worst[0].ratio == pytest.approx(report.worst[0].predicted_s / report.worst[0].measured_s)
    assert report.worst[0].place.startswith("f.csv row ")
    assert decode(encode(report), ValidationReport) == report
    assert report.warnings == ()
    assert len(table) == 500


def test_many_points_are_thinned_evenly_and_the_figures_are_of_all() -> None:
    _, report = made(5000)
    assert len(report.measured_s) == 2000
    assert report.overall.rows == 5000
    assert (np.diff(report.measured_s.values) >= 0).all()


def test_intervals_that_cover_too_little_are_warned_of() -> None:
    _, report = made(narrow=True)
    assert {caution.code for caution in report.warnings} == {"coverage", "group-coverage"}
    text = terminal(validation_page(report), 160, False)
    assert "too narrow" in text
    assert "promised 90.0%" in text


def test_predictions_without_intervals() -> None:
    table, _ = made()
    split = hold_out(table, "device", 0.5)
    report = validation_report(table, [HeldOut(split=split, predicted_s=table.latency_s.values[split.test] * 2)], model="twice")
    assert report.overall.coverage is None
    assert report.overall.mape == pytest.approx(1.0)
    text = terminal(validation_page(report), 160, False)
    assert "off by 100 % in the mean" in text
    assert "the predictions had no intervals" in text
    assert "it says too much" in text


def test_splits_that_leak_or_overlap_are_refused() -> None:
    table, _ = made()
    split = hold_out(table, "shape", 0.2)
    part = HeldOut(split=split, predicted_s=table.latency_s.values[split.test])
    with pytest.raises(UsageError, match="once"):
        validation_report(table, [part, part], model="m")
    leaking = msgspec.structs.replace(split, train=np.arange(len(table)))
    with pytest.raises(UsageError, match="rows stand on both sides"):
        validation_report(table, [HeldOut(split=leaking, predicted_s=part.predicted_s)], model="m")
    with pytest.raises(UsageError, match="one claim"):
        validation_report(table, [part, HeldOut(split=msgspec.structs.replace(split, by="row"), predicted_s=part.predicted_s)], model="m")
    with pytest.raises(UsageError):
        validation_report(table, [HeldOut(split=split, predicted_s=part.predicted_s[:-1])], model="m")


def test_the_page_leads_with_what_matters() -> None:
    _, report = made()
    text = terminal(validation_page(report), 160, False)
    assert re.search(r"trees, held out by shape: off by [\d.]+ % in the mean, [\d.]+ % at the 90th percentile, [\d.]+ % at worst \(500 rows\)", text)
    for words in ("BY KIND", "BY DEVICE", "BY SIZE DECILE", "WORST CASES", "f.csv row", "Spearman"):
        assert words in text
    assert "## Worst cases" in markdown(validation_page(report))


def test_the_file_draws_every_point_and_requests_nothing() -> None:
    _, report = made()
    written = validation_report_html(report)
    drawing = written[written.index("<svg") : written.index("</svg>")]
    assert drawing.count('class="bin"') == 500
    assert drawing.count('class="op main"') == len(report.worst) == 10
    assert not re.search(r"\ssrc=|<link rel=\"stylesheet|https?://(?!www\.w3\.org)", written)
    assert report.worst[0].what in written
    assert len(written) < 1_000_000


def test_hostile_names_stay_text() -> None:
    _, report = made(device="<script>alert(1)</script>")
    for written in (validation_report_html(report), report._repr_html_() or ""):
        assert "<script>alert" not in written
        assert "&lt;script&gt;alert" in written


def test_a_report_of_one_row() -> None:
    table = LatencyTable.of(latency_s=[1.0, 2.0], kind="gemm", device="a", sizes={"m": [1, 2]})
    split = hold_out(table, "shape", 0.5)
    report = validation_report(table, [HeldOut(split=split, predicted_s=np.array([3.0]))], model="m")
    assert "too few rows" in terminal(validation_page(report), 120, False)
    assert "<svg" in validation_report_html(report)
