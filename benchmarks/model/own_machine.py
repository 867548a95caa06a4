"""This machine first: operators that were measured here, held out by shape, and whole models that were never seen, against the stopwatch.

    python benchmarks/model/own_machine.py [--seconds 1200 | --table FILE] [--models NAME…]

`ridgeline model collect` runs for so long (or its file is given), `ridgeline model train` learns from it, and every real model that installed
packages carry is predicted by `ridgeline predict --device host --model FILE` right before it is timed, in rounds that go round all models: sessions
of onnxruntime as anyone makes them. What counts is the round of the median ratio; noise is the half range of the rounds' ratios by their median, so
that a host that moves the CPUs, which the prediction sees, is no excuse. Aims: 12 % mean and 25 % p90 over operators; five of six models within the
larger of 15 % and twice the noise, with 90 % intervals that hold them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from made_models import made_models, with_weights

from ridgeline.flows.model_collect import collect
from ridgeline.flows.model_train import train
from ridgeline.flows.predict import predict
from ridgeline.flows.probe import probe
from ridgeline.measurement.harness import Plan, measure

Shapes = dict[str, tuple[int, ...]]
_SPEECH: Shapes = {"input": (1, 576), "state": (2, 1, 128)}
#: (package, files, shapes of free inputs, what it is).
MODELS: list[tuple[str, str, Shapes, str]] = [
    ("onnx", "backend/test/data/light/light_*.onnx", {}, "vision"),
    ("rapidocr_onnxruntime", "models/*det*.onnx", {"x": (1, 3, 320, 320)}, "OCR"),
    ("rapidocr_onnxruntime", "models/*rec*.onnx", {"x": (1, 3, 48, 320)}, "OCR"),
    ("rapidocr_onnxruntime", "models/*cls*.onnx", {"x": (1, 3, 48, 192)}, "OCR"),
    ("magika", "models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}, "file types"),
    ("silero_vad", "data/silero_vad_op18_ifless.onnx", _SPEECH, "audio"),
    ("silero_vad", "data/silero_vad_16k_op15.onnx", _SPEECH, "audio"),
    ("ddddocr", "common*.onnx", {"input1": (1, 1, 64, 200)}, "OCR, also in eight bits"),
]
_KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
_ROUNDS, _ROUND_S = 5, 0.5


class Case(NamedTuple):
    """A model: its file, shapes of its free inputs, and what it is for."""

    name: str
    path: str
    shapes: Shapes
    what: str


class Round(NamedTuple):
    """One prediction and the measurement right behind it, in seconds; `near_s`: for a cache line from one core to another at that time."""

    predicted: float
    low: float
    high: float
    actual: float
    near_s: float

    @property
    def ratio(self) -> float:
        """Predicted by measured."""
        return self.predicted / self.actual


class Found(NamedTuple):
    """One model."""

    case: Case
    rounds: list[Round]
    reasons: tuple[str, ...]

    @property
    def middle(self) -> Round:
        """The round of the median ratio."""
        return sorted(self.rounds, key=lambda each: each.ratio)[len(self.rounds) // 2]

    @property
    def noise(self) -> float:
        """Half range of what the rounds took by what was said of them: what the prediction knows of the machine is no noise."""
        ratios = [1 / each.ratio for each in self.rounds]
        return (max(ratios) - min(ratios)) / 2 * self.middle.ratio

    @property
    def error(self) -> float:
        """Predicted by measured, less 1."""
        return self.middle.ratio - 1

    @property
    def good(self) -> bool:
        """Whether the error is within the aim."""
        return abs(self.error) <= max(0.15, 2 * self.noise)

    @property
    def inside(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.middle.low <= self.middle.actual <= self.middle.high


def cases(wanted: Sequence[str], further: Sequence[str], folder: str) -> Iterator[Case]:
    for package, pattern, shapes, what in MODELS:
        spec = find_spec(package)
        places = spec.submodule_search_locations if spec is not None else None
        files = sorted(Path(next(iter(places))).glob(pattern)) if places else []
        if not files:
            print(f"skipped: {pattern}: the package {package} is not installed", file=sys.stderr)
        for file in files:
            name = file.stem if file.stem != "model" else package
            if not wanted or any(part in name for part in wanted):
                yield Case(name, with_weights(str(file), folder) if package == "onnx" else str(file), shapes, what)
    for name, path, shapes, what in made_models(folder):
        if not wanted or any(part in name for part in wanted):
            yield Case(name, path, shapes, what)
    for path in further:
        yield Case(Path(path).stem, path, {}, "given")


def session(case: Case) -> tuple[Any, dict[str, Any]]:
    """A session as anyone makes it, with inputs of the shapes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    made = onnxruntime.InferenceSession(case.path, options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    feeds: dict[str, Any] = {}
    for given in made.get_inputs():
        if given.name == "sr":
            feeds["sr"] = np.array(16000, np.int64)
            continue
        shape = case.shapes.get(given.name) or tuple(size if isinstance(size, int) else 1 for size in given.shape)
        kind = _KINDS[given.type]
        feeds[given.name] = generator.standard_normal(shape).astype(kind) if kind is np.float32 else generator.integers(0, 200, shape).astype(kind)
    return made, feeds


def timed(case: Case) -> float:
    """Median seconds of one call, by level 1."""
    made, feeds = session(case)
    made.run(None, feeds)
    result = measure(lambda: made.run(None, feeds), plan=Plan(budget_s=_ROUND_S, at_least=5, batched=False))
    return float(np.median(result.samples.wall_s.values))


def asked(case: Case, model: str) -> tuple[Round, tuple[str, ...]]:
    """Predict, then measure."""
    made, _ = session(case)
    shapes = {given.name: case.shapes[given.name] for given in made.get_inputs() if given.name in case.shapes}
    del made
    found = predict(case.path, ["host"], shapes=shapes, trained=[model]).predictions[0]
    near_s = (found.state.core_to_core_s if found.state is not None else None) or 0.0
    said = found.latency_s
    return Round(said.value, said.low or 0.0, said.high or 0.0, timed(case), near_s), found.out_of_range


def by_part(model: Any) -> list[str]:
    lines = [
        "| operators | rows | method | mean error | median | p90 | largest | formulas alone | 90 % intervals hold |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in model.card.families:
        covered = "" if each.coverage is None else f"{100 * each.coverage:.0f} %"
        cells = [f"{100 * value:.1f} %" for value in (each.mape, each.median, each.p90, each.largest, each.formula_mape)]
        lines.append(f"| {each.kind} | {each.rows} | {each.method} | {' | '.join(cells)} | {covered} |")
    return lines


def report(model: Any, found: Sequence[Found], started: float) -> list[str]:
    families = model.card.families
    weights = [each.rows for each in families]
    mean, p90 = (float(np.average([getattr(each, name) for each in families], weights=weights)) for name in ("mape", "p90"))
    lines = [
        f"Operators held out by shape, {sum(weights)} rows: {100 * mean:.1f} % mean (aim 12), p90 {100 * p90:.1f} % in the mean of kinds (aim 25).",
        "",
    ]
    lines += by_part(model)
    lines += [
        "",
        "| model | what | measured | core to core | noise | predicted | 90 % interval | error | within | interval holds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in found:
        at = each.middle
        ends = f"{at.low * 1e3:.3f} to {at.high * 1e3:.3f}"
        yes = ("yes" if each.good else "no", "yes" if each.inside else "no")
        numbers = f"{at.actual * 1e3:.3f} ms | {at.near_s * 1e9:.0f} ns | {100 * each.noise:.0f} % | {at.predicted * 1e3:.3f} ms"
        lines.append(f"| {each.case.name} | {each.case.what} | {numbers} | {ends} | {100 * each.error:+.1f} % | {yes[0]} | {yes[1]} |")
    good, inside = sum(each.good for each in found), sum(each.inside for each in found)
    lines += [
        "",
        f"{good} of {len(found)} models within the larger of 15 % and twice the noise; intervals hold {inside}. {time.monotonic() - started:.0f} s.",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--table")
    parser.add_argument("--model")
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--further", nargs="*", default=[], help="files of further models")
    parser.add_argument("--operators", action="store_true", help="no whole models")
    parser.add_argument("--out")
    given = parser.parse_args()
    started = time.monotonic()

    def said(label: str, fraction: float | None) -> None:
        if fraction is None or int(1000 * fraction) % 50 == 0:
            print(f"{time.monotonic() - started:6.0f} s  {label}", file=sys.stderr)

    probe(report=said)
    with tempfile.TemporaryDirectory() as folder:
        table, file = given.table or f"{folder}/table.json", given.model or f"{folder}/operators.model"
        if given.table is None and given.model is None:
            collect(table, seconds=given.seconds, report=said)
        if given.model is None:
            model: Any = train([table], out=file, report=said)
        else:
            from ridgeline.flows.modelling.documents import read_document
            from ridgeline.model.operators.model import OperatorModel

            model = read_document(file, OperatorModel)
        listed = [] if given.operators else list(cases(given.models, given.further, folder))
        rounds: list[list[Round]] = [[] for _ in listed]
        reasons: list[tuple[str, ...]] = [() for _ in listed]
        for number in range(_ROUNDS if listed else 0):
            for place, case in enumerate(listed):
                each, reasons[place] = asked(case, file)
                rounds[place].append(each)
            said(f"round {number + 1} of {_ROUNDS}", None)
        found = [Found(*each) for each in zip(listed, rounds, reasons, strict=True)]
        lines = report(model, found, started)
        print("\n".join(lines))
        for each in found:
            if not each.good or not each.inside:
                print(f"{each.case.name}: {'; '.join(each.reasons)[:600]}", file=sys.stderr)
    if given.out:
        Path(given.out).write_text("\n".join(["## This machine", "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
