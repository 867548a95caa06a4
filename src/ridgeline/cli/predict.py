"""`ridgeline predict MODEL --device D…`: what a model takes on machines that one may not own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from ridgeline.core import KernelParameters, Neighbour, Precision, PredictionReport, SystemState, UsageError
from ridgeline.core.units import parse
from ridgeline.reporting.prediction_page import MOST_OPERATORS, prediction_page

from .options import check_common, colour_option, json_option, markdown_option, quiet_option, shape_option
from .output import emit_document, emit_page
from .progress import progress

__all__ = ["emit_report", "kernel_of", "predict", "predicted_report", "prediction_options", "state_of"]

F = TypeVar("F", bound=Callable[..., Any])
_RUNTIMES = ("onnxruntime", "torch", "torch.compile", "tflite", "npu")
_PRECISIONS = tuple(each for each in get_args(Precision) if each != "any")
#: Option, name in `SystemState`, unit, example, help.
_STATE = (
    ("--core-clock", "core_clock_hz", "Hz", "1.2GHz", "Clock of the execution units that is set."),
    ("--memory-clock", "memory_clock_hz", "Hz", "1.2GHz", "Clock of the memory that is set."),
    ("--power-cap", "power_cap_w", "W", "200W", "The most power that the device may take."),
    ("--temperature", "temperature_k", "K", "340K", "Of the die."),
    ("--memory-contention", "memory_contention", "1", "30%", "Share of the memory's bandwidth that others take; what lives in caches is not slowed."),
    ("--core-to-core", "core_to_core_s", "s", "100ns", "For a cache line between two cores of a CPU. [default: measured now of `host`]"),
    ("--dispatch", "dispatch_s", "s", "5us", "Time that the host needs to start one kernel; 0 where a recorded graph is replayed."),
)
_COUNTS = (
    ("--unroll", "unroll", "How often the inner loop is unrolled."),
    ("--vector-width", "vector_width", "Elements that one instruction takes."),
    ("--padding", "padding_bytes", "Bytes added to rows in local memory."),
    ("--prefetch", "prefetch_distance", "Iterations that loads run ahead."),
    ("--stages", "stages", "Buffers of a software pipeline."),
    ("--split", "split", "Parts that the reduction of a product is split into."),
)


def prediction_options(function: F) -> F:
    """Add the options that say what is asked."""
    for option in reversed(_options()):
        function = option(function)
    return function


def _options() -> list[Callable[[F], F]]:
    return [
        click.option(
            "--device", "devices", metavar="NAME|FILE|host", multiple=True, required=True,
            help="A device of the catalogue (`ridgeline devices`), a file of one, or `host`: this machine as probed; repeatable.",
        ),
        click.option("--batch", "batches", metavar="N", type=click.IntRange(1, 2**53 - 1), multiple=True, help="Items of a call; repeatable."),
        shape_option,
        click.option("--precision", type=click.Choice(_PRECISIONS), help="Take the model as converted to this. [default: as it is]"),
        click.option("--runtime", type=click.Choice(_RUNTIMES), help="What runs it. [default: by device]"),
        click.option("--threads", type=click.IntRange(1, 1_000_000), help="Cores that may work. [default: all]"),
        click.option("--model", "trained", metavar="FILE", multiple=True, help="A trained model that corrects the formulas; repeatable."),
        click.option(
            "--no-calibration", "uncalibrated", is_flag=True, help="Leave out what `ridgeline model calibrate` keeps beside a trained model."
        ),
        click.option("--price", metavar="USD/h", help="Price of each device, such as 2.5USD/h. [default: the catalogue's]"),
        click.option("--electricity", metavar="USD", help="Price of a kilowatt-hour, where energy is paid for apart, such as 0.30USD."),
        *(click.option(name, field, metavar=example, help=text) for name, field, _, example, text in _STATE),
        click.option(
            "--neighbour", "neighbours", metavar="NAME:CORES:GB/s[:CACHE]", multiple=True,
            help="What else runs: its name, the cores it keeps busy, what it takes of the memory alone, and what it fills of the shared cache, "
            "such as db:2:10GB/s:8MiB; repeatable.",
        ),
        click.option("--tile", metavar="MxNxK", help="Tile of matrix products, such as 128x64x32."),
        click.option("--work-group", "work_group", metavar="XxYxZ", help="Threads of a work-group."),
        *(click.option(name, field, type=click.IntRange(0, 2**31), help=text) for name, field, text in _COUNTS),
    ]  # fmt: skip


@click.command(no_args_is_help=True, options_metavar="[OPTIONS]")
@click.argument("model", metavar="MODEL")
@prediction_options
@click.option("--explain", is_flag=True, help="Say which term dominates, what the next ceiling is, and what the latency answers to most.")
@click.option("--top", type=click.IntRange(1, 100_000), default=MOST_OPERATORS, show_default=True, help="Operators of each device on the page.")
@json_option
@markdown_option
@quiet_option
@colour_option
def predict(model: str, **given: Any) -> int:
    """Say what a call of MODEL takes on devices that need not be here: time and its parts, rates, power, memory, cost.

    MODEL is model.onnx, model.tflite, a list of operators (operators.json, see docs/predict.md), or file.py:function, which runs a model of PyTorch
    and is called twice to record it. Nothing is timed: the numbers come from data sheets or a probe, formulas, and trained models where they are
    given. Each has an interval, where it comes from, and why it may be wrong.
    """
    check_common(given)
    emit_report(predicted_report(model, given, explain=given["explain"]), given)
    return 0


def emit_report(report: PredictionReport, given: dict[str, Any]) -> None:
    """Write the report to stdout, in the form that was asked for."""
    if given["as_json"]:
        emit_document(report)
    else:
        emit_page(prediction_page(report, most=given["top"]), no_colour=given["no_colour"], as_markdown=given["as_markdown"])


def predicted_report(model: str, given: dict[str, Any], *, explain: bool) -> PredictionReport:
    """The answer to the options of `prediction_options`, by their names.

    Raises:
        RidgelineError: as `flows.predict.predict`, and options that cannot be read.
    """
    from ridgeline.flows.predict import predict as flow
    from ridgeline.targets.spec import parse_shapes

    state, kernel = state_of(given), kernel_of(given)
    prices = {name: None if given[name] is None else parse(given[name], unit) for name, unit in (("price", "USD/h"), ("electricity", "USD"))}
    with progress(given["quiet"]) as say:
        return flow(
            model, given["devices"], batches=given["batches"], shapes=parse_shapes(given["shapes"]), precision=given["precision"], state=state,
            kernel=kernel, runtime=given["runtime"], price_per_hour=prices["price"], price_per_kwh=prices["electricity"], trained=given["trained"],
            calibrated=not given["uncalibrated"], explain=explain, report=say,
        )  # fmt: skip


def state_of(given: dict[str, Any]) -> SystemState | None:
    """The state that the options name, null if they name none.

    Raises:
        UsageError: a number without or with another unit, or one that cannot be.
    """
    numbers = {field: parse(given[field], unit) for _, field, unit, _, _ in _STATE if given[field] is not None}
    neighbours = tuple(_neighbour(text) for text in given["neighbours"])
    if not numbers and not neighbours and given["threads"] is None:
        return None
    return SystemState(**numbers, neighbours=neighbours, threads=given["threads"])


def _neighbour(text: str) -> Neighbour:
    parts = text.split(":")
    if len(parts) not in (3, 4) or not parts[0]:
        raise UsageError("a neighbour NAME:CORES:GB/s or NAME:CORES:GB/s:CACHE", found=repr(text), remedy="write it like db:2:10GB/s:8MiB")
    cores, rate, cache = (part or "0" for part in (*parts[1:], "")[:3])
    return Neighbour(name=parts[0], cores=parse(cores, "count"), byte_per_s=parse(rate, "B/s"), cache_bytes=parse(cache, "B"))


def kernel_of(given: dict[str, Any]) -> KernelParameters | None:
    """What the options set of the kernels, null if nothing.

    Raises:
        UsageError: sizes that are none.
    """
    sizes: dict[str, Any] = {name: _sizes(given[name], name) for name in ("tile", "work_group") if given[name] is not None}
    sizes |= {field: given[field] for _, field, _ in _COUNTS if given[field] is not None}
    return KernelParameters(**sizes) if sizes else None


def _sizes(text: str, name: str) -> tuple[int, ...]:
    words = text.replace("×", "x").split("x")
    if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
        raise UsageError(f"sizes of --{name.replace('_', '-')}, such as 128x64x32", found=repr(text), remedy="write whole numbers with x between")
    return tuple(int(word) for word in words)
