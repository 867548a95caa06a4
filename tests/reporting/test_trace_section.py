"""The section about recorded calls: what recording did to them stands first, what it took away stands nowhere."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, EventCount, Quantity, ReadReport, Recording
from ridgeline.flows.read import report_of
from ridgeline.flows.reading.untimed import untimed
from ridgeline.reporting import html_report, page, terminal
from ridgeline.reporting.page import Page, Section
from ridgeline.reporting.trace_section import trace_section
from timeline.building import HOST, stream, timeline_of

GPU = stream(7)
TIMELINE = timeline_of(
    [(HOST, "operator", "aten::mm", 0, 400_000), (GPU, "compute", "gemm", 0, 300_000), (GPU, "compute", "gemm", 400_000, 900_000)],
)


def _quantity(value: float, low: float, high: float, unit: str) -> Quantity:
    return Quantity(value=value, low=low, high=high, confidence=0.95, unit=unit, source="measured", origin="by hand")


def _report(perturbed: bool | None, *, calls: int = 10, **more: object) -> ReadReport:
    from ridgeline.core import Profile

    found = report_of(Profile(format="chrome", files=(), timeline=TIMELINE))
    recording = Recording(
        instrument="torch.profiler", calls=calls, asked=10, wall_s=_quantity(0.012, 0.011, 0.013, "s"), clean_s=_quantity(0.010, 0.0099, 0.0101, "s"),
        ratio_to_ground_truth=_quantity(1.2, 1.1, 1.3, "1"), perturbed=perturbed, **more,
    )  # fmt: skip
    return msgspec.structs.replace(untimed(found, TIMELINE) if perturbed else found, recording=recording)


def _text(section: Section) -> str:
    return " ".join(terminal(Page(title="", sections=(section,)), 160).split())


def test_a_trace_that_was_not_changed_gives_its_answers_and_how_it_was_recorded() -> None:
    text = _text(trace_section(_report(False, stacks=True, shapes=True, file="kept.json")))
    assert "torch.profiler, with shapes and stacks" in text
    assert "12.0 ms [11.0 ms, 13.0 ms] clean calls around them 10.0 ms" in text
    assert "did not change the calls by more than 10 %" in text
    assert "kept.json" in text
    # 800 µs of work in a window of 900 µs.
    assert "GPU 0 800 µs 100 µs 11.1%" in text


def test_a_changed_one_shows_counts_and_no_time_of_the_trace() -> None:
    section = trace_section(_report(True))
    text = _text(section)
    assert text.startswith("TRACE Recording changed the calls, so only counts and order of the trace hold.")
    assert "--trace-out FILE keeps it" in text
    assert "aten::mm operator 1" in text
    assert "gemm compute 2" in text
    assert "µs" not in text
    assert "GPU 0" not in text


def test_what_nobody_asked_for_shows_what_was_found_and_no_tables() -> None:
    text = _text(trace_section(_report(False, unasked=True)))
    assert text.startswith("TRACE")
    assert "12.0 ms [11.0 ms, 13.0 ms]" in text
    assert "--trace shows them, and the JSON has them." in text
    assert "GPU 0 800 µs" not in text
    changed = _text(trace_section(_report(True, unasked=True)))
    assert "aten::mm" not in changed
    assert "--trace lists it" in changed
    assert "what faster ones would give" not in changed


def test_doubt_and_fewer_calls_are_said() -> None:
    text = _text(trace_section(_report(None, calls=3)))
    assert "As far as recording did not change it:" in text
    assert "3 torch.profiler; 10 were asked for" in text


def test_long_lists_are_cut_and_say_so() -> None:
    counts = tuple(EventCount(name=f"op {number}", kind="operator", calls=1) for number in range(25))
    text = _text(trace_section(msgspec.structs.replace(_report(True), counts=counts)))
    assert "op 9" in text
    assert "op 10" not in text
    assert "15 more in the JSON." in text


@pytest.mark.parametrize("perturbed", [True, False, None])
def test_the_page_and_the_html_report_have_the_section_only_with_a_trace(full_diagnosis: Diagnosis, perturbed: bool | None) -> None:
    assert "Trace" not in [section.title for section in page(full_diagnosis).sections]
    traced = msgspec.structs.replace(full_diagnosis, trace=_report(perturbed))
    titles = [section.title for section in page(traced).sections]
    assert titles.index("Trace") > titles.index("Operators")
    assert ">Trace</h2>" in html_report(traced)
    assert ">Trace</h2>" not in html_report(full_diagnosis)
