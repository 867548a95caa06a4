"""Changes of a torch program: inference mode, compilation, memory format, a lower precision, pinned memory.

Needs torch, which the target has imported by the time a change is applied; a program without it is no torch target. Sources: the documentation of
torch (`torch.inference_mode`, `torch.compile`, `torch.autocast`, channels-last memory format, `Tensor.pin_memory`).
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from ridgeline.core import NotComparable, Precision

from ..prepared import Prepared
from .base import REORDERED, Applied, Change, Situation
from .precision import INT8, not_allowed, nothing_to_gain
from .reach import reachable

__all__ = ["AutocastBf16", "AutocastFp16", "ChannelsLast", "InferenceMode", "Int8Linear", "PinnedMemory", "TorchCompile"]

_COMPILERS = ("g++", "clang++", "c++")


def _within(context: Callable[[], AbstractContextManager[Any]], call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with context():
            return call()

    return run


class _Torch(Change):
    kinds = ("torch",)

    def torch(self) -> Any:
        """The package, as the target imported it."""
        return import_module("torch")


class InferenceMode(_Torch):
    """No gradients, no version counters."""

    name = "inference-mode"
    control = True
    caveat = "call it within torch.inference_mode(); nothing of it can be trained"

    def apply(self, prepared: Prepared) -> Applied:
        """Every call within the context."""
        return Applied(call=_within(self.torch().inference_mode, prepared.call), synchronise=prepared.synchronise)


class TorchCompile(_Torch):
    """The workload compiled: operators fused, fewer of them issued.

    Attributes:
        mode: of `torch.compile`.
    """

    name = "torch-compile"
    carries_out = ("compile-graph", "fuse")
    tolerance = REORDERED
    applying = "compiling"
    caveat = "torch.compile(workload); the first call compiles for seconds, and so does every new shape"
    mode = "default"

    def why_not(self, situation: Situation) -> str:
        """The CPU back end needs a C++ compiler."""
        if any(shutil.which(name) for name in _COMPILERS):
            return ""
        return f"its CPU back end needs a C++ compiler, one of {', '.join(_COMPILERS)}"

    def apply(self, prepared: Prepared) -> Applied:
        """Compile the workload and make its first call, which does the work."""
        call = self.torch().compile(prepared.call, mode=self.mode)
        result = call()
        if prepared.synchronise is not None:
            prepared.synchronise(result)
        return Applied(call=call, synchronise=prepared.synchronise)


class ChannelsLast(_Torch):
    """Convolutions and their images with channels last in memory."""

    name = "channels-last"
    carries_out = ("change-layout",)
    tolerance = REORDERED
    caveat = "module.to(memory_format=torch.channels_last), and the same for its images"

    def place(self, prepared: Prepared) -> None:
        """A module with a two-dimensional convolution.

        Raises:
            NotComparable: there is none.
        """
        if not self._modules(prepared):
            raise NotComparable("a module with two-dimensional convolutions in reach", found="none", remedy="convert the layout in the code")

    def _modules(self, prepared: Prepared) -> list[Any]:
        torch = self.torch()
        layers = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
        return [module for module in reachable(prepared, torch.nn.Module) if any(isinstance(part, layers) for part in module.modules())]

    def apply(self, prepared: Prepared) -> Applied:
        """Convert every module with a two-dimensional convolution and every image that the workload can reach.

        Raises:
            NotComparable: as `place`.
        """
        self.place(prepared)
        torch = self.torch()
        for module in self._modules(prepared):
            module.to(memory_format=torch.channels_last)
        for image in reachable(prepared, torch.Tensor):
            if image.dim() == 4 and image.layout == torch.strided and not image.requires_grad:
                image.data = image.data.contiguous(memory_format=torch.channels_last)
        return super().apply(prepared)


class _Autocast(_Torch):
    precision: Precision = "any"
    any_float = True

    def why_not(self, situation: Situation) -> str:
        """Only where the person allows it, and where the processor is known to be faster at it."""
        return nothing_to_gain(self.precision, situation.device) or not_allowed(self.precision, situation)

    def apply(self, prepared: Prepared) -> Applied:
        """Every call under autocast; weights are cast anew in each, as torch does without a cache across contexts."""
        torch = self.torch()
        dtype = torch.bfloat16 if self.precision == "bf16" else torch.float16
        return Applied(call=_within(lambda: torch.autocast("cpu", dtype=dtype), prepared.call), synchronise=prepared.synchronise)


class AutocastBf16(_Autocast):
    """Matrix products and convolutions in bfloat16."""

    name = "autocast-bf16"
    carries_out = ("lower-precision",)
    precision: Precision = "bf16"
    tolerance = 2e-2
    caveat = "results carry about two digits; check them against what they are for"


class AutocastFp16(_Autocast):
    """Matrix products and convolutions in half precision."""

    name = "autocast-fp16"
    carries_out = ("lower-precision",)
    precision: Precision = "fp16"
    tolerance = 5e-3
    caveat = "results carry about three digits and overflow above 65504; check them against what they are for"


class Int8Linear(_Torch):
    """Linear layers and LSTM with int8 weights, ranges of activations found in every call."""

    name = "torch-int8-dynamic"
    carries_out = ("lower-precision", "quantise-weights")
    precision = "int8"
    tolerance = INT8
    caveat = "torch.ao.quantization.quantize_dynamic (to move to torchao in a later torch); check the results against what they are for"

    def why_not(self, situation: Situation) -> str:
        """Only where the person allows it: even without fast multiply-adds of int8 there are fewer bytes to read."""
        return not_allowed("int8", situation)

    def place(self, prepared: Prepared) -> None:
        """A module that holds such layers, and a torch that converts them.

        Raises:
            NotComparable: there is none, or this torch has no such conversion.
        """
        if self._conversion() is None:
            found = f"torch {self.torch().__version__} without it"
            raise NotComparable("torch.ao.quantization.quantize_dynamic", found=found, remedy="convert the model with torchao")
        if not self._modules(prepared):
            raise NotComparable("a module that holds linear layers or LSTM, in reach", found="none", remedy="convert the layers in the code")

    def _conversion(self) -> Any:
        return getattr(getattr(getattr(self.torch(), "ao", None), "quantization", None), "quantize_dynamic", None)

    def _layers(self) -> tuple[Any, ...]:
        return (self.torch().nn.Linear, self.torch().nn.LSTM)

    def _modules(self, prepared: Prepared) -> list[Any]:
        """Those that hold one; a layer that stands alone has no place to be put back to."""
        found = reachable(prepared, self.torch().nn.Module)
        return [module for module in found if any(isinstance(part, self._layers()) for part in list(module.modules())[1:])]

    def apply(self, prepared: Prepared) -> Applied:
        """Convert the layers of every module that the workload can reach.

        Raises:
            NotComparable: as `place`.
        """
        self.place(prepared)
        torch, convert = self.torch(), self._conversion()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is deprecated stands in the caveat
            for module in self._modules(prepared):
                convert(module, set(self._layers()), dtype=torch.qint8, inplace=True)
        # Integer kernels have no gradients, and refuse inputs that want some.
        return Applied(call=_within(torch.no_grad, prepared.call), synchronise=prepared.synchronise)


class PinnedMemory(_Torch):
    """Tensors of the host in pinned memory, which a device reads without an extra copy."""

    name = "pinned-memory"
    carries_out = ("batch-transfers", "overlap-transfer")
    caveat = "tensor.pin_memory(), and .to(device, non_blocking=True)"

    def place(self, prepared: Prepared) -> None:
        """A device.

        Raises:
            NotComparable: there is no device to transfer to.
        """
        if not self.torch().cuda.is_available():
            raise NotComparable("a device to transfer to", found="none here", remedy="run it where there is one")

    def apply(self, prepared: Prepared) -> Applied:
        """Pin every tensor of the host that the workload can reach.

        Raises:
            NotComparable: as `place`.
        """
        self.place(prepared)
        torch = self.torch()
        for tensor in reachable(prepared, torch.Tensor):
            if tensor.device.type == "cpu" and not tensor.is_pinned():
                tensor.data = tensor.data.pin_memory()
        return super().apply(prepared)
