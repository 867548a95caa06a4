"""Changes of a model that OpenVINO runs: the precision that it is compiled for.

Needs openvino, which has prepared the target. Source: documentation of OpenVINO ("Precision Control", property `INFERENCE_PRECISION_HINT`).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ridgeline.core import NotComparable, Precision

from ..openvino import OpenvinoFlavour, caller
from ..prepared import Prepared
from .base import Applied, Change, Situation
from .precision import not_allowed, nothing_to_gain

__all__ = ["HintBf16", "HintFp16"]


class _Hint(Change):
    kinds = ("openvino",)
    carries_out = ("lower-precision",)
    precision: Precision = "any"
    hint = ""
    capability = ""

    def why_not(self, situation: Situation) -> str:
        """Only where the person allows it, and where the processor is known to be faster at it."""
        return nothing_to_gain(self.precision, situation.device) or not_allowed(self.precision, situation)

    def place(self, prepared: Prepared) -> None:
        """A processor that has it.

        Raises:
            NotComparable: OpenVINO does not name the precision among what this processor has; a hint would be ignored, or emulated.
        """
        has = _capabilities()
        if self.capability not in has:
            found = f"{', '.join(has) or 'nothing'} by OpenVINO's own list"
            raise NotComparable(f"a processor with {self.capability}", found=found, remedy="leave the precision as it is")

    def apply(self, prepared: Prepared) -> Applied:
        """The model compiled with another hint, on the same inputs.

        Raises:
            NotComparable: as `place`, or another kind of target.
        """
        flavour = prepared.flavour
        if not isinstance(flavour, OpenvinoFlavour):
            raise NotComparable("a model that OpenVINO runs", found=f"a {prepared.info.kind} target", remedy="give it a model.xml")
        self.place(prepared)
        return Applied(call=caller(flavour.compile({"INFERENCE_PRECISION_HINT": self.hint}), flavour.feeds))


def _capabilities() -> tuple[str, ...]:
    runtime: Any = import_module("openvino")
    return tuple(str(name) for name in runtime.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))


class HintBf16(_Hint):
    """Compiled for bfloat16, which is OpenVINO's own choice where the processor has it."""

    name = "openvino-bf16"
    precision: Precision = "bf16"
    hint, capability = "bf16", "BF16"
    tolerance = 2e-2
    caveat = "INFERENCE_PRECISION_HINT=bf16: results carry about two digits; check them against what they are for"


class HintFp16(_Hint):
    """Compiled for half precision."""

    name = "openvino-fp16"
    precision: Precision = "fp16"
    hint, capability = "f16", "FP16"
    tolerance = 5e-3
    caveat = "INFERENCE_PRECISION_HINT=f16: results carry about three digits; check them against what they are for"
