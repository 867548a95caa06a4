"""`predict`: what a model takes on devices that one may not own: latency and its parts, rates, power, memory and cost, each with its interval.

This module decides which runtime is taken on which device, reads what is read from files, and puts the questions to `ridgeline.model`. On this
machine's CPU onnxruntime itself says which operators it runs; elsewhere rules do. A device that cannot run the model at all is left out of the
answer with its reason, unless it is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from ridgeline.core import (
    BackendUnavailable,
    Caution,
    Device,
    KernelParameters,
    OutOfRange,
    Precision,
    Prediction,
    PredictionReport,
    ReadError,
    SystemState,
    TargetFailed,
    UsageError,
)
from ridgeline.model.explaining import explained
from ridgeline.model.graphs.fusion import RUNTIMES
from ridgeline.model.graphs.indicators import Prices
from ridgeline.model.graphs.predicting import Knowledge, Question, predicted
from ridgeline.model.graphs.tasks import Plan, plan_of_graph, plan_of_list

from .predicting.calibrations import kept_calibration
from .predicting.devices import devices_of
from .predicting.loading import FORMATS, Loaded, load_model, read_operators, record_call
from .predicting.trained import knowledge_of

__all__ = ["predict"]

Report = Callable[[str, float | None], None]
#: Channels that onnxruntime keeps together, by the CPU's vector width in bits.
_BLOCKS = {512: 16, 256: 8}


def predict(
    model: str, devices: Sequence[str | Device], *, batches: Sequence[int] = (), shapes: Mapping[str, tuple[int, ...]] | None = None,
    precision: Precision | None = None, state: SystemState | None = None, kernel: KernelParameters | None = None, runtime: str | None = None,
    price_per_hour: float | None = None, price_per_kwh: float | None = None, trained: Sequence[str] = (), calibrated: bool = True,
    explain: bool = False, report: Report | None = None,
) -> PredictionReport:  # fmt: skip
    """What one call of a model takes on each device, in SI units.

    Args:
        model: path of an ONNX or TFLite model or of a list of operators (`ridgeline.operators/1`), or `file.py:function`, which is run to record what
            it asks of PyTorch.
        devices: names of the catalogue, files, `host` for this machine, or devices.
        batches: items of a call, one prediction each; the model's own if none is given.
        shapes: input → shape, or open axis → (size,).
        precision: to which the model is taken as converted; state: of the machine; kernel: what is set of the kernels.
        runtime: a key of `ridgeline.model.graphs.fusion.RUNTIMES`; by device if not given.
        price_per_hour: USD of the device, the catalogue's if not given; price_per_kwh: USD, where energy is paid for apart.
        trained: files of trained models; without them all numbers are by formulas.
        calibrated: whether the calibration that is kept beside one of them is applied.
        explain: whether each prediction says why.

    Raises:
        UsageError, ReadError, BackendUnavailable, TargetFailed: as reading devices, model and trained models.
        OutOfRange: no device can run the model, or nothing of it is known.
    """
    say = report or (lambda label, fraction: None)
    _check(runtime, batches, price_per_hour, price_per_kwh)
    known = knowledge_of(trained)
    kept = kept_calibration(trained if calibrated else (), known)
    found = devices_of(devices, say)
    say(f"reading {model}", None)
    plans = _Plans(model, shapes, runtime)
    cautions = [*plans.cautions, *_without_training(known), *_of_another_kind(known, found), *kept.cautions]
    prices = Prices(price_per_hour, price_per_kwh)
    predictions: list[Prediction] = []
    refused: list[OutOfRange] = []
    for number, device in enumerate(found):
        say(f"predicting on {device.name}", number / len(found))
        try:
            plan = plans.of(device)
            for batch in batches or (None,):
                question = Question(batch=batch, precision=precision, state=state, kernel=kernel, prices=prices)
                predictions.append(kept.applied(_one(plan, device, question, known, explain), plans.name, question))
        except OutOfRange as error:
            refused.append(error)
            cautions.append(Caution(code="left-out", message=f"{device.name}: {error}", effect="it is not among the predictions"))
    if not predictions:
        raise refused[0]
    return PredictionReport(model=plans.name, predictions=tuple(predictions), warnings=(*cautions, *plans.later))


def _one(plan: Plan, device: Device, question: Question, known: Knowledge, explain: bool) -> Prediction:
    found = predicted(plan, device, question, known)
    return msgspec.structs.replace(found, explanation=explained(plan, device, question, found)) if explain else found


def _check(runtime: str | None, batches: Sequence[int], *prices: float | None) -> None:
    if runtime is not None and runtime not in RUNTIMES:
        raise UsageError(f"a runtime: {', '.join(RUNTIMES)}", found=repr(runtime), remedy="name one of them")
    wrong = next((batch for batch in batches if not 0 < batch < 2**53), None)
    if wrong is not None:
        raise UsageError("a batch of at least one item", found=str(wrong), remedy="give a positive whole number")
    bad = next((price for price in prices if price is not None and not 0 <= price < 1e12), None)
    if bad is not None:
        raise UsageError("a price that is not negative", found=str(bad), remedy="give USD")


def _without_training(known: Knowledge) -> tuple[Caution, ...]:
    if known.operators is not None or known.gpus is not None:
        return ()
    message = "no trained model was given: all numbers are by formulas, and their intervals are wide because nothing was held out for them"
    return (Caution(code="analytic", message=message, effect="differences under a factor of two between devices are not told apart"),)


def _of_another_kind(known: Knowledge, devices: Sequence[Device]) -> tuple[Caution, ...]:
    others = [device.name for device in devices if device.kind != "gpu"]
    if known.gpus is None or not others:
        return ()
    message = f"the trained model of GPU operators knows nothing of {', '.join(others)}"
    return (Caution(code="another-kind", message=message, effect="formulas alone answer there, unless another model was given"),)


class _Plans:
    """Plans of one model by runtime, each made once."""

    def __init__(self, model: str, shapes: Mapping[str, tuple[int, ...]] | None, runtime: str | None) -> None:
        self._path, self._runtime = model, runtime
        self._made: dict[tuple[str, int, bool], Plan] = {}
        self.later: list[Caution] = []
        self._listed: Plan | None = None
        self._loaded: Loaded | None = None
        if Path(model).suffix.lower() == ".json":
            if shapes:
                raise UsageError("no --shape beside a list of operators", found=", ".join(shapes), remedy="write the sizes into the list")
            self._listed = plan_of_list(read_operators(model))
        elif _is_function(model):
            if shapes or runtime not in (None, "torch"):
                found = f"--runtime {runtime}" if runtime not in (None, "torch") else "--shape"
                raise UsageError("neither --shape nor another runtime beside a function", found=found, remedy="export it, and give model.onnx")
            self._listed = record_call(model)
        else:
            self._loaded = load_model(model, shapes)
        self.cautions = self._loaded.cautions if self._loaded is not None else ()

    @property
    def name(self) -> str:
        """Of the file."""
        return Path(self._path).name

    def of(self, device: Device) -> Plan:
        """The plan on a device.

        Raises:
            OutOfRange: nothing in the model does anything.
        """
        if self._listed is not None:
            return self._listed
        assert self._loaded is not None
        runtime = self._runtime or ("npu" if device.kind == "npu" else "tflite" if self._loaded.format == "tflite" else "onnxruntime")
        block = _BLOCKS.get(device.vector_bits or 0, 0) if device.kind == "cpu" and runtime == "onnxruntime" else 0
        # Only of the machine where it runs can the runtime itself be asked.
        here = bool(device.fingerprint) and runtime == "onnxruntime" and self._loaded.format == "onnx" and device.kind == "cpu" and _is_here(device)
        key = (runtime, block, here)
        if key not in self._made:
            self._made[key] = (self._optimised(self._loaded) if here else None) or plan_of_graph(
                self._loaded.graph, runtime, block=block, batch=self._loaded.batch
            )
        return self._made[key]

    def _optimised(self, loaded: Loaded) -> Plan | None:
        """The plan of what onnxruntime says that it runs; null where it cannot be asked."""
        from ridgeline.targets.onnx_optimised import optimised_onnx

        bound = {name: tuple(size) if isinstance(size, list) else size for name, size in loaded.shapes.items()}
        try:
            graph = optimised_onnx(self._path, bound)
        except (BackendUnavailable, ReadError, TargetFailed) as error:
            message = f"onnxruntime was not asked which operators it runs: {error}"
            self.later.append(Caution(code="rules", message=message, effect="they are told by rules instead"))
            return None
        return plan_of_graph(graph, "onnxruntime", made=True, batch=loaded.batch)


def _is_function(text: str) -> bool:
    """`file.py:function` or `package.module:function`; a file is never one."""
    return ":" in text and not Path(text).exists() and Path(text).suffix.lower() not in FORMATS


def _is_here(device: Device) -> bool:
    from ridgeline.machine import read_machine

    return device.fingerprint == read_machine().fingerprint
