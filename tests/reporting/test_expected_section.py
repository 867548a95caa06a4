"""The section of predicted against actual, on the terminal and in the report."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import AgainstExpected, Diagnosis, ExpectedSummary, OperatorSummary, Quantity
from ridgeline.reporting import html_report
from ridgeline.reporting.expected_section import expected_sections
from ridgeline.reporting.page import Page
from ridgeline.reporting.terminal import terminal


def quantity(value: float, unit: str = "s", spread: float = 0.1) -> Quantity:
    return Quantity(value=value, low=value * (1 - spread), high=value * (1 + spread), confidence=0.9, unit=unit, source="learned", origin="by hand")


def held(op: OperatorSummary, factor: float, *missing: str) -> OperatorSummary:
    assert op.total_s is not None
    predicted = op.total_s / factor
    verdict = "slower" if factor > 1 else "faster"
    against = AgainstExpected(verdict=verdict, ratio=quantity(factor, "1"), lost_s=(op.total_s - 1.1 * predicted, op.total_s - 0.9 * predicted))
    return msgspec.structs.replace(op, predicted_s=quantity(predicted), against=against, missing=missing)


@pytest.fixture
def compared(full_diagnosis: Diagnosis) -> Diagnosis:
    ops = list(full_diagnosis.operators)
    ops[0] = held(ops[0], 4.0, "one thread")
    ops[1] = held(ops[1], 2.0, "weights from DRAM", "lower clock")
    ops[2] = held(ops[2], 3.0)
    ops[4] = held(ops[4], 0.5)
    summary = ExpectedSummary(
        predicted_s=quantity(0.004), actual_s=quantity(0.008), operators=12, slower=3, faster=1, lost_s=(0.002, 0.003), unmatched=2, unmatched_s=1e-4,
        by={"learned": 11, "analytic": 1}, device="Test CPU", data_version="formulas 1 + rows 2", trained=True,
    )  # fmt: skip
    return msgspec.structs.replace(full_diagnosis, operators=tuple(ops), expected=summary)


def text(diagnosis: Diagnosis, columns: int = 200) -> str:
    return " ".join(terminal(Page(title="", sections=expected_sections(diagnosis)), columns).split())


def test_the_sums_and_the_worst_are_said(compared: Diagnosis) -> None:
    said = text(compared)
    assert said.startswith("PREDICTED AGAINST ACTUAL 3 of 12 operators are slower than the model says they could be, 1 faster.")
    assert "model calibrate" in said
    assert "11 learned, 1 analytic" in said
    assert "Formulas answer for 1 of them" in said
    assert "2.00 ms – 3.00 ms" in said
    assert "one thread" in said
    assert "several would explain it: weights from DRAM, lower clock" in said
    assert "none that is known" in said
    assert "the model is wrong here" in said
    # What costs most of a call stands first, and faster ones last.
    places = [said.index(f"layer.{index}/MatMul") for index in (0, 2, 1, 4)]
    assert places == sorted(places)


def test_only_five_are_shown(compared: Diagnosis) -> None:
    many = tuple(held(op, 2.0) for op in compared.operators)
    assert "9 more in the JSON" in text(msgspec.structs.replace(compared, operators=many))


def test_the_report_has_it_too(compared: Diagnosis) -> None:
    assert "Predicted against actual" in html_report(compared)


def test_why_nothing_was_compared_is_said(compared: Diagnosis) -> None:
    found = msgspec.structs.replace(compared, expected=ExpectedSummary(because="measured beside other work"))
    assert text(found) == "PREDICTED AGAINST ACTUAL Not compared: measured beside other work."


def test_without_a_model_there_is_no_section(full_diagnosis: Diagnosis) -> None:
    assert expected_sections(full_diagnosis) == ()


def test_formulas_alone_say_that_their_intervals_are_wide(compared: Diagnosis) -> None:
    assert compared.expected is not None
    summary = msgspec.structs.replace(compared.expected, trained=False, slower=0, faster=0)
    said = text(msgspec.structs.replace(compared, expected=summary, operators=()))
    assert "None of 12 operators lies outside" in said
    assert "--model FILE" in said
