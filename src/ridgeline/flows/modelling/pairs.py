"""Pairs of prediction and measurement from the runs of a notebook: what a trained model says of their models, and what was measured.

This module decides which runs are pairs: of an ONNX or TFLite model that is still the one that was measured, on a device that is known, and not
beside other work. A pair belongs to its model and device, and has the circumstances that a cause may be proposed from.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ridgeline.core import Device, Prediction, RidgelineError, Run, SystemState
from ridgeline.model.calibration import Context, Pair
from ridgeline.notebook import Notebook, RunSummary, default_location, exists

from .devices import kept_probes
from .input_shapes import shapes_of_inputs

__all__ = ["Found", "pairs_of_notebook"]

Report = Callable[[str, float | None], None]
_VERBS = ("bench", "diagnose")
_KINDS = ("onnx", "tflite")
#: What a run is warned of where its times are not those of the model alone.
_DISTURBED = frozenset(("interference",))


class Found(NamedTuple):
    """`pairs`, oldest first; reason → runs that are none; id of the newest run that was looked at."""

    pairs: list[Pair]
    passed_over: dict[str, int]
    last_run: str


class _Passed(Exception):
    """A run that is no pair, and why."""


def pairs_of_notebook(model: str | Path, notebook: str | None, *, after: str, report: Report) -> Found:
    """Pairs of the runs that are newer than one.

    Args:
        model: a trained file.
        notebook: path or URL; the default one, which need not be there, if not given.
        after: id of a run; those up to it are not looked at.

    Raises:
        UsageError, ReadError: as `Notebook.open`.
    """
    if notebook is None and not exists(default_location()):
        return Found([], {}, after)
    pairs: list[Pair] = []
    passed: Counter[str] = Counter()
    with Notebook.open(notebook, create=False) as book:
        fresh = sorted((each for each in book.runs() if each.verb in _VERBS and each.id > after), key=lambda each: each.id)
        predictions = _Predictions(model)
        for number, summary in enumerate(fresh):
            report(f"predicting run {summary.id}", number / len(fresh))
            try:
                pairs.append(_pair(summary, book.get(summary.id), predictions))
            except _Passed as why:
                passed[str(why)] += 1
    return Found(pairs, dict(passed), fresh[-1].id if fresh else after)


def _pair(summary: RunSummary, run: Run, predictions: _Predictions) -> Pair:
    facts = run.facts
    if facts.target.kind not in _KINDS:
        raise _Passed(f"no model that can be predicted: a {facts.target.kind}")
    if summary.median_s is None:
        raise _Passed("nothing was timed")
    if any(warning.code in _DISTURBED for warning in facts.warnings):
        raise _Passed("measured beside other work")
    found = predictions.of(run)
    clock = facts.clock
    context = Context(
        runtime=run.software.get("onnxruntime", "") if facts.target.kind == "onnx" else "",
        core_clock_hz=clock.hz if clock.hz and clock.hz > 0 else None,
        throttled=bool(clock.throttled),
    )
    return Pair(
        predicted_s=found.latency_s.value,
        actual_s=summary.median_s,
        group=f"{facts.target.name} @ {found.device}",
        context=context,
        out_of_range=bool(found.out_of_range),
    )


class _Predictions:
    """What a trained file says of runs, asked once of each model, device, shape and number of threads."""

    def __init__(self, model: str | Path) -> None:
        self._model = str(model)
        self._known: dict[tuple[str, str, tuple[str, ...], int], Prediction] = {}
        self._probes: Mapping[str, Device] | None = None

    def of(self, run: Run) -> Prediction:
        """The prediction of a run; `_Passed` where there is none."""
        target = run.facts.target
        if not Path(target.spec).is_file():
            raise _Passed("its model file is not there any more")
        if target.digest and hashlib.sha256(Path(target.spec).read_bytes()).hexdigest() != target.digest:
            raise _Passed("its model file has changed since")
        device = run.facts.device or self._probe(run.facts.machine.fingerprint)
        if device is None:
            raise _Passed("of a machine that was not probed: ridgeline probe")
        key = (target.digest or target.spec, device.name, target.inputs, target.threads)
        if key not in self._known:
            self._known[key] = self._asked(run, device)
        return self._known[key]

    def _probe(self, fingerprint: str) -> Device | None:
        if self._probes is None:
            self._probes = {device.fingerprint: device for device in kept_probes()}
        return self._probes.get(fingerprint)

    def _asked(self, run: Run, device: Device) -> Prediction:
        from ..predict import predict

        target = run.facts.target
        state = SystemState(threads=target.threads) if target.threads > 0 else None
        try:
            # A correction is of what the model alone says: pairs of corrected predictions would correct it twice.
            report = predict(target.spec, [device], shapes=shapes_of_inputs(target.inputs), state=state, trained=[self._model], calibrated=False)
        except RidgelineError as error:
            raise _Passed(f"cannot be predicted: {error}") from error
        return report.predictions[0]
