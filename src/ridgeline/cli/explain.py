"""`ridgeline model explain MODEL --device D…`: why a prediction is what it is, without the rest of it."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ridgeline.core import Explanation
from ridgeline.reporting.prediction_page import explanation_page

from .options import check_common, colour_option, json_option, markdown_option, quiet_option
from .output import emit_document, emit_page
from .predict import predicted_report, prediction_options

__all__ = ["explain"]


class ExplainedCase(msgspec.Struct, frozen=True, kw_only=True):
    """One device and batch, and why the latency is what it is."""

    device: str
    batch: int | None
    precision: str
    explanation: Explanation


class ExplanationDocument(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.explain/1"):
    """The JSON of `ridgeline model explain`."""

    model: str
    cases: tuple[ExplainedCase, ...]


@click.command(no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("model", metavar="MODEL")
@prediction_options
@json_option
@markdown_option
@quiet_option
@colour_option
def explain(model: str, **given: Any) -> int:
    """Say which term of a predicted latency dominates, what the next ceiling is, and which input it answers to most.

    MODEL and options are those of `ridgeline predict`; every input is changed by ±10 % and everything predicted again.
    """
    check_common(given)
    report = predicted_report(model, given, explain=True)
    if given["as_json"]:
        cases = tuple(
            ExplainedCase(device=each.device, batch=each.batch, precision=each.precision, explanation=each.explanation)
            for each in report.predictions
            if each.explanation is not None
        )
        emit_document(ExplanationDocument(model=report.model, cases=cases))
    else:
        emit_page(explanation_page(report), no_colour=given["no_colour"], as_markdown=given["as_markdown"])
    return 0
