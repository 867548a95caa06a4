"""How fast predictions are: a graph of 500 operators on 30 devices, operators in arrays, and one operator at a time.

The graph is made up of what networks have: products, convolutions, functions, normalisations, copies. Wall time, of one call thread time; one
thread. The aims are 1 s for the graph on all devices, 10⁶ operators a second in arrays, and a 99th percentile of 1 ms for one call: of a new operator
each time, by formulas, with a trained model (of made-up rows, of the mean of all its methods), and as a whole prediction with that model.

    python benchmarks/model/predict_speed.py [--repetitions R] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from ridgeline.core import Device, LatencyTable, OperatorList, PlannedOperator, Workload
from ridgeline.device.catalogue import catalogue
from ridgeline.model.graphs.predicting import Knowledge, predicted
from ridgeline.model.graphs.tasks import Plan, plan_of_list
from ridgeline.model.operators.estimates import estimates, of_kind
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.pricing import priced
from ridgeline.model.operators.roofs import roofs
from ridgeline.model.operators.training import Settings, train_operator_model

T = TypeVar("T")
OPERATORS, DEVICES, ARRAY = 500, 30, 1 << 13
TRAINED_ROWS, WARM = 1200, 100
AIM_GRAPH_S, AIM_RATE, AIM_CALL_S = 1.0, 1e6, 1e-3


def made_up(draw: np.random.Generator) -> Workload:
    """One operator of a network."""
    side, channels = int(draw.choice([7, 14, 28, 56])), int(draw.choice([32, 64, 128, 256]))
    made = (
        Workload(kind="convolution", sizes={"c": channels, "h": side, "w": side, "k": channels, "p": side, "q": side, "r": 3, "s": 3}),
        Workload(
            kind="convolution", sizes=dict.fromkeys(("c", "k", "groups"), channels) | {"h": side, "w": side, "p": side, "q": side, "r": 3, "s": 3}
        ),
        Workload(kind="gemm", sizes={"m": int(draw.integers(1, 512)), "n": channels, "k": channels}),
        Workload(kind="elementwise", sizes={"elements": side * side * channels}, variant=str(draw.choice(["Relu", "Add", "Sigmoid"]))),
        Workload(kind="normalisation", sizes={"rows": side, "columns": channels}),
        Workload(kind="softmax", sizes={"rows": side, "columns": channels}),
        Workload(kind="copy", sizes={"elements": side * side * channels, "run": side}),
        Workload(kind="pooling", sizes={"c": channels, "h": side, "w": side, "p": side, "q": side, "r": 3, "s": 3}),
    )
    return made[int(draw.integers(0, len(made)))]


def network() -> Plan:
    """A plan of so many operators."""
    draw = np.random.default_rng(1)
    operators = tuple(PlannedOperator(name=f"operator {number}", workload=made_up(draw)) for number in range(OPERATORS))
    return plan_of_list(OperatorList(name="made up", operators=operators))


def median_s(call: Callable[[], object], repetitions: int) -> float:
    """Median wall seconds after one call that warms up."""
    call()
    taken = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def graph_on_devices(repetitions: int) -> tuple[float, int]:
    """(Seconds for all devices, how many there are), devices of every kind."""
    devices = catalogue()
    chosen = devices[:: max(1, len(devices) // DEVICES)][:DEVICES]
    plan = network()
    return median_s(lambda: [predicted(plan, device) for device in chosen], repetitions), len(chosen)


def rates(repetitions: int) -> dict[str, float]:
    """Operators a second in arrays, by family and device."""
    draw = np.random.default_rng(2)
    image = {name: draw.integers(8, 256, ARRAY) for name in ("c", "h", "w", "k", "p", "q")}
    sizes = {
        "gemm": {name: draw.integers(1, 4096, ARRAY) for name in "mnk"},
        "convolution": image | {name: np.full(ARRAY, 3) for name in "rs"},
        "elementwise": {"elements": draw.integers(1, 10**7, ARRAY)},
        "softmax": {name: draw.integers(1, 4096, ARRAY) for name in ("rows", "columns")},
    }
    found = {}
    for device in (each for each in catalogue() if each.name in ("AWS Graviton3", "NVIDIA A100 SXM 80GB")):
        for kind, given in sizes.items():
            taken = median_s(partial(of_kind, kind, given, roofs(device)), repetitions)
            found[f"{kind}, {device.name}"] = ARRAY / taken
    return found


def trained(device: Device) -> OperatorModel:
    """A model of rows that take the estimate times a factor, of every family that the graph has."""
    draw = np.random.default_rng(3)
    works = [made_up(draw) for _ in range(TRAINED_ROWS)]
    seconds = estimates(works, device).latency_s
    seconds = seconds * np.exp(0.2 * np.sin(np.log(seconds)) + 0.03 * draw.standard_normal(len(works)))
    rows = LatencyTable.of_workloads(works, latency_s=seconds, device=device.name, source="made up")
    return train_operator_model(rows, {device.name: device}, Settings(methods=("mean",), folds=2))


def one_call(calls: int = 1000) -> dict[str, tuple[float, float]]:
    """What is called → (median, 99th percentile) of its seconds, of another operator each time, on a device whose roofs are at hand."""
    device, gpu = (next(each for each in catalogue() if each.name == name) for name in ("AMD EPYC 7763", "NVIDIA A100 SXM 80GB"))
    model, under, under_gpu = trained(device), roofs(device), roofs(gpu)
    draw = np.random.default_rng(4)
    works = [made_up(draw) for _ in range(calls + WARM)]
    plans = [plan_of_list(OperatorList(name="one", operators=(PlannedOperator(name="one", workload=work),))) for work in works]
    known = Knowledge(operators=model)
    return {
        "one operator by formulas, GPU": _each(lambda work: estimates([work], under_gpu), works),
        "one operator by formulas, CPU": _each(lambda work: estimates([work], under), works),
        "one operator with a trained model, CPU": _each(lambda work: priced([work], under, corrector=model), works),
        "one whole prediction with a trained model, CPU": _each(lambda plan: predicted(plan, device, None, known), plans),
    }


def _each(call: Callable[[T], object], asked: Sequence[T]) -> tuple[float, float]:
    taken = []
    for each in asked:
        # Thread time: what others do to the clock of one call is not the model's.
        start = time.thread_time()
        call(each)
        taken.append(time.thread_time() - start)
    return float(np.median(taken[WARM:])), float(np.quantile(taken[WARM:], 0.99))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path, help="write the table here as well")
    arguments = parser.parse_args()
    graph_s, count = graph_on_devices(arguments.repetitions)
    lines = ["| what | aim | found | reached |", "|---|---:|---:|---|"]
    lines.append(f"| {OPERATORS} operators on {count} devices | {AIM_GRAPH_S:g} s | {graph_s:.2f} s | {_yes(graph_s <= AIM_GRAPH_S)} |")
    for name, rate in rates(arguments.repetitions).items():
        lines.append(f"| {name}, in arrays of {ARRAY} | 1.0 million/s | {rate / 1e6:.2f} million/s | {_yes(rate >= AIM_RATE)} |")
    for name, (middle, p99) in one_call().items():
        lines.append(f"| {name}, median and p99 | 1 ms | {middle * 1e3:.2f} ms, {p99 * 1e3:.2f} ms | {_yes(p99 <= AIM_CALL_S)} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text("## Speed of predictions\n\n" + text, encoding="utf-8")
    return 0


def _yes(reached: bool) -> str:
    return "yes" if reached else "no"


if __name__ == "__main__":
    sys.exit(main())
