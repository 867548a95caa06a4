"""Changes of the precision of an ONNX model: a converted copy in a folder of its own, run beside the original.

This module decides when a model is a place for a conversion; how an int8 copy is made is `quantise`'s. The person's file is never touched. Sources:
documentation of onnxruntime ("Quantize ONNX Models", "Float16 models", session configuration key `mlas.enable_gemm_fastmath_arm64_bfloat16`).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ridgeline.core import NotComparable, Precision
from ridgeline.machine import read_machine, scratch_folder

from ..prepared import OnnxFlavour, Prepared
from .base import Applied, Situation
from .onnx import SessionChange, flavour_of
from .precision import INT8, not_allowed, nothing_to_gain
from .quantise import Amounts, amounts, dynamic_copy, needs_reduced_range, simplified, static_copy

__all__ = ["FastMathBf16", "Fp16Copy", "Int8Dynamic", "Int8Static"]

#: Part of the multiply-adds that must have integer kernels of a kind for that conversion to be the one to try.
_MOST = 0.5


class _Copy(SessionChange):
    applying = "converting the model"
    precision: Precision = "any"

    def why_not(self, situation: Situation) -> str:
        """Only where the person allows it, and where the processor is known to be faster at it."""
        return nothing_to_gain(self.precision, situation.device) or not_allowed(self.precision, situation)

    def copy(self, flavour: OnnxFlavour, folder: Path) -> Path:
        """Write the converted model into `folder`."""
        raise NotImplementedError

    def apply(self, prepared: Prepared) -> Applied:
        """A session of the copy on the same inputs; the copy is gone once the session has read it.

        Raises:
            NotComparable: the model is no place for the conversion.
        """
        flavour, runtime = flavour_of(prepared), import_module("onnxruntime")
        with scratch_folder("model") as folder:
            path = self.copy(flavour, folder)
            session = runtime.InferenceSession(str(path), flavour.session_options(), providers=list(flavour.providers))
        run, feeds = session.run, flavour.feeds
        return Applied(call=lambda: run(list(flavour.outputs), feeds))


class _Int8(_Copy):
    precision: Precision = "int8"
    carries_out = ("lower-precision", "quantise-weights")
    tolerance = INT8

    def why_not(self, situation: Situation) -> str:
        """Only where the person allows it: even without fast multiply-adds of int8 there are fewer bytes to read."""
        return not_allowed(self.precision, situation)

    def suited(self, found: Amounts) -> tuple[float, str]:
        """(multiply-adds that this conversion is for, their name)."""
        raise NotImplementedError

    def convert(self, model: Any, flavour: OnnxFlavour, path: Path, *, reduce_range: bool) -> Path:
        """Write the int8 copy."""
        raise NotImplementedError

    def place(self, prepared: Prepared) -> None:
        """Most of the arithmetic has integer kernels of this kind.

        Raises:
            NotComparable: it has not, or it is in int8 already.
        """
        self._refuse(flavour_of(prepared))

    def _refuse(self, flavour: OnnxFlavour) -> None:
        found = amounts(flavour.model_path, flavour.feeds)
        part, name = self.suited(found)
        if part < _MOST * found.all or part == 0:
            share = part / found.all if found.all else 0.0
            raise NotComparable(f"a model of which most multiply-adds are {name}", found=f"{share:.0%} of them", remedy="try the other conversion")

    def copy(self, flavour: OnnxFlavour, folder: Path) -> Path:
        """Write the int8 copy.

        Raises:
            NotComparable: as `place`.
        """
        self._refuse(flavour)
        model = simplified(flavour.session_options(), flavour.model_path, flavour.providers, flavour.feeds, folder)
        return self.convert(model, flavour, folder / "int8.onnx", reduce_range=needs_reduced_range(read_machine()))


class Int8Static(_Int8):
    """Convolutions, and products between them, in int8 with ranges from a calibration (QDQ)."""

    name = "ort-int8-static"
    caveat = (
        "onnxruntime.quantization.quantize_static, per channel, calibrated here on the inputs of this diagnosis alone: calibrate on data of your own "
        "and check the results against what they are for"
    )

    def suited(self, found: Amounts) -> tuple[float, str]:
        """Convolutions."""
        return found.convolutions, "convolutions with a fast integer kernel (fp32, constant weights, one group or a channel a group)"

    def convert(self, model: Any, flavour: OnnxFlavour, path: Path, *, reduce_range: bool) -> Path:
        """Calibrated on the inputs of the target."""
        return static_copy(model, path, flavour.feeds, reduce_range=reduce_range)


class Int8Dynamic(_Int8):
    """Products with a constant matrix, and LSTM, in int8 with ranges found in every call."""

    name = "ort-int8-dynamic"
    caveat = "onnxruntime.quantization.quantize_dynamic, per channel; check the results against what they are for"

    def suited(self, found: Amounts) -> tuple[float, str]:
        """Products and LSTM."""
        return found.products, "products with a constant matrix or LSTM, in fp32"

    def convert(self, model: Any, flavour: OnnxFlavour, path: Path, *, reduce_range: bool) -> Path:
        """Nothing to calibrate."""
        return dynamic_copy(model, path, reduce_range=reduce_range)


class Fp16Copy(_Copy):
    """The whole model in half precision; inputs and outputs stay as they are."""

    name = "ort-fp16"
    carries_out = ("lower-precision",)
    precision: Precision = "fp16"
    tolerance = 5e-3
    caveat = "onnxruntime.transformers.float16; results carry about three digits and overflow above 65504"

    def copy(self, flavour: OnnxFlavour, folder: Path) -> Path:
        """Convert every operator that has a form in half precision."""
        onnx, float16 = import_module("onnx"), import_module("onnxruntime.transformers.float16")
        path = folder / "fp16.onnx"
        onnx.save(float16.convert_float_to_float16(onnx.load(flavour.model_path), keep_io_types=True), path)
        return path


class FastMathBf16(SessionChange):
    """Products of fp32 computed by bfloat16 instructions."""

    name = "ort-bf16"
    carries_out = ("lower-precision",)
    precision = "bf16"
    tolerance = 2e-2
    caveat = "add_session_config_entry('mlas.enable_gemm_fastmath_arm64_bfloat16', '1'); results carry about two digits"

    def why_not(self, situation: Situation) -> str:
        """The runtime has such products on Arm alone."""
        if situation.machine.architecture not in ("aarch64", "arm64"):
            return "onnxruntime has bfloat16 products for Arm processors alone"
        return nothing_to_gain("bf16", situation.device) or not_allowed("bf16", situation)

    def configure(self, runtime: Any, options: Any) -> None:
        """Let products fall to bfloat16."""
        options.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
