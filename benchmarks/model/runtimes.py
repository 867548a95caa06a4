"""Whole models of PyTorch and LiteRT on this machine, predicted by formulas alone, against the stopwatch.

    python benchmarks/model/runtimes.py

No trained model helps here: operators of these runtimes are not collected. Each model is predicted by `ridgeline predict --device host` right before
it is timed, in three rounds; the round of the median ratio counts. The functions are models of PyTorch with drawn weights, run in eager mode as
`file.py:function`; the LiteRT models are those that installed packages carry. What is missing is left out with a word.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ridgeline.flows.predict import predict
from ridgeline.flows.probe import probe
from ridgeline.measurement.harness import Plan, measure

_PACKAGES = (("pymicro_wakeword", "models/*.tflite"),)
_ROUNDS, _ROUND_S = 3, 0.5


@cache
def _models() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def stage(channels: int, filters: int) -> list[Any]:
        return [nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU(), nn.MaxPool2d(2)]

    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, activation="gelu")
    torch.backends.mha.set_fastpath_enabled(False)
    made = {
        "dense": (nn.Sequential(nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 10)), (torch.rand(32, 784),)),
        "convolutions": (
            nn.Sequential(*stage(3, 32), *stage(32, 64), *stage(64, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
            (torch.rand(1, 3, 128, 128),),
        ),
        "encoder": (nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (torch.rand(1, 128, 256),)),
        "recurrent": (nn.LSTM(64, 128, batch_first=True), (torch.rand(1, 50, 64),)),
        "small_steps": (nn.Sequential(*[part for _ in range(30) for part in (nn.Linear(32, 32), nn.Tanh())]), (torch.rand(1, 32),)),
    }
    return {name: (model.eval(), inputs) for name, (model, inputs) in made.items()}


def _called(name: str) -> Any:
    import torch

    model, inputs = _models()[name]
    with torch.no_grad():
        return model(*inputs)


def dense() -> Any:
    return _called("dense")


def convolutions() -> Any:
    return _called("convolutions")


def encoder() -> Any:
    return _called("encoder")


def recurrent() -> Any:
    return _called("recurrent")


def small_steps() -> Any:
    return _called("small_steps")


class Round(NamedTuple):
    """Predicted with its interval, and measured right behind it, s."""

    predicted: float
    low: float
    high: float
    actual: float


def cases() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """(What it is, what is predicted, what is timed)."""
    if find_spec("torch") is None:
        print("skipped: PyTorch is not installed", file=sys.stderr)
    else:
        for each in (dense, convolutions, encoder, recurrent, small_steps):
            yield f"PyTorch: {each.__name__}", f"{Path(__file__).resolve()}:{each.__name__}", each
    if find_spec("ai_edge_litert") is None:
        print("skipped: LiteRT is not installed", file=sys.stderr)
        return
    for package, pattern in _PACKAGES:
        spec = find_spec(package)
        places = spec.submodule_search_locations if spec is not None else None
        if not places:
            print(f"skipped: {package} is not installed", file=sys.stderr)
            continue
        for path in sorted(Path(next(iter(places))).glob(pattern)):
            yield f"LiteRT: {package}/{path.stem}", str(path), _interpreter(path)


def _interpreter(path: Path) -> Callable[[], None]:
    from ai_edge_litert.interpreter import Interpreter

    made = Interpreter(str(path))
    made.allocate_tensors()
    for given in made.get_input_details():
        made.set_tensor(given["index"], np.zeros(given["shape"], given["dtype"]))
    return lambda: made.invoke()


def one(target: str, call: Callable[[], Any]) -> Round:
    said = predict(target, ["host"]).predictions[0].latency_s
    call()
    found = measure(call, plan=Plan(budget_s=_ROUND_S, at_least=5, batched=False))
    return Round(said.value, said.low or 0.0, said.high or 0.0, float(np.median(found.samples.wall_s.values)))


def main() -> None:
    probe()
    rows = [(what, [one(target, call) for _ in range(_ROUNDS)]) for what, target, call in cases()]
    print("| model | measured | predicted | 90 % interval | predicted ÷ measured | interval holds |\n|---|---|---|---|---|---|")
    ratios, inside = [], 0
    for what, rounds in rows:
        at = sorted(rounds, key=lambda each: each.predicted / each.actual)[len(rounds) // 2]
        holds = at.low <= at.actual <= at.high
        ratios.append(at.predicted / at.actual)
        inside += holds
        ends = f"{at.low * 1e6:.4g} to {at.high * 1e6:.4g}"
        print(f"| {what} | {at.actual * 1e6:.4g} µs | {at.predicted * 1e6:.4g} µs | {ends} | {ratios[-1]:.2f} | {'yes' if holds else 'no'} |")
    print(f"\n{len(rows)} models: {min(ratios):.2f} to {max(ratios):.2f} times the measured; intervals hold {inside}.")


if __name__ == "__main__":
    main()
