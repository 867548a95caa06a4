"""The page of a prediction: what stands first, what is said of null, and that intervals decide whether a device is called faster."""

from __future__ import annotations

import pytest

from ridgeline.core import Caution, PredictionReport, SystemState
from ridgeline.model.graphs.predicting import Question, predicted
from ridgeline.model.graphs.tasks import plan_of_graph
from ridgeline.reporting import markdown, terminal
from ridgeline.reporting.prediction_page import prediction_page
from support.predicted import chain, cpu


def report(*speeds: float, batch: int | None = None) -> PredictionReport:
    plan = plan_of_graph(chain(3, rows=512, columns=512), "onnxruntime", block=0, batch=1)
    made = [predicted(plan, cpu(name=f"cpu {number}", fma=speed, dram=speed / 10), Question(batch=batch)) for number, speed in enumerate(speeds)]
    return PredictionReport(model="net.onnx", predictions=tuple(made), warnings=(Caution(code="analytic", message="by formulas"),))


def test_the_headline_is_the_fastest_with_its_interval() -> None:
    page = prediction_page(report(1e9, 1e12))
    assert page.headline.startswith("fastest of 2 by item: net.onnx on cpu 1: ")
    assert page.headline.endswith("faster than all others")
    assert prediction_page(report(1e11)).headline.startswith("net.onnx on cpu 0: ")


def test_devices_whose_intervals_meet_are_not_told_apart() -> None:
    assert prediction_page(report(1e11, 1.1e11)).headline.endswith("not told from 1 of the 1 others")


@pytest.mark.parametrize("width", [40, 80, 160])
def test_it_fits_any_terminal(width: int) -> None:
    text = terminal(prediction_page(report(1e10, 1e11)), width, False)
    assert all(len(line) <= width for line in text.splitlines())
    assert "WHERE THE TIME GOES" in text


def test_how_far_apart_the_cores_are_stands_under_the_devices() -> None:
    """Once for each device of which it is known; nothing where it is not."""
    plan = plan_of_graph(chain(3), "onnxruntime", block=0, batch=1)
    found = predicted(plan, cpu(threads=2), Question(state=SystemState(core_to_core_s=2e-7)))
    text = terminal(prediction_page(PredictionReport(model="net.onnx", predictions=(found,))), 100, False)
    assert "core to core" in text
    assert "200 ns" in text
    assert "core to core" not in terminal(prediction_page(report(1e11)), 100, False)


def test_many_devices_are_a_table_without_their_operators() -> None:
    page = prediction_page(report(*(1e10 * number for number in range(1, 7))))
    assert not [section for section in page.sections if section.title.startswith("Operators")]
    assert "cpu 5" in markdown(page)
