"""Other people's counters of work, each as a function from a case of the suite to a number in the counter's own unit.

This module decides how a counter is asked and nothing else: what its number means, and why it is not ours, is in `explanations`. One that is not
installed is left out; one that cannot take a case says so by an exception.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["COUNTERS", "NotExpressed", "version"]


class NotExpressed(Exception):
    """The case has no form that the counter reads."""


def version(package: str) -> str | None:
    """The installed version, `None` if there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _module(case: Any) -> tuple[Any, tuple[Any, ...]]:
    """The case as a module, which most counters want, and its inputs."""
    import torch

    if case.torch is None:
        raise NotExpressed("no torch form")
    call, arguments = case.torch()
    if isinstance(call, torch.nn.Module):
        return call.eval(), arguments

    class Wrapped(torch.nn.Module):
        def forward(self, *inputs: Any) -> Any:
            return call(*inputs)

    return Wrapped().eval(), arguments


def _torch(case: Any) -> float:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    module, arguments = _module(case)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(*arguments)
    return float(counter.get_total_flops())


def _fvcore(case: Any) -> float:
    import torch
    from fvcore.nn import FlopCountAnalysis

    module, arguments = _module(case)
    with torch.no_grad():
        analysis = FlopCountAnalysis(module, arguments)
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        return float(analysis.total())


def _thop(case: Any) -> float:
    import thop
    import torch

    module, arguments = _module(case)
    with torch.no_grad():
        macs, _ = thop.profile(module, inputs=arguments, verbose=False)
    return float(macs)


def _calflops(case: Any) -> float:
    import calflops
    import torch

    module, arguments = _module(case)
    if not list(module.parameters()):
        # It asks the first parameter for the device.
        module.register_parameter("unused", torch.nn.Parameter(torch.zeros(1)))
    with torch.no_grad():
        flops, _, _ = calflops.calculate_flops(module, args=list(arguments), print_results=False, output_as_string=False)
    return float(flops)


@contextlib.contextmanager
def _unpatched() -> Iterator[None]:
    """Put back what a counter replaced in torch, which it does not do itself where a case fails: the next case would count twice."""
    import torch

    owners = (torch, torch.nn.functional, torch.Tensor)
    before = [dict(vars(owner)) for owner in owners]
    try:
        yield
    finally:
        for owner, kept in zip(owners, before, strict=True):
            for name, value in kept.items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)


def _onnx_tool(case: Any) -> float:
    import onnx
    import onnx_tool

    if case.onnx is None:
        raise NotExpressed("no ONNX form")
    model = case.onnx()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case.onnx")
        onnx.save(model, path)
        graph = onnx_tool.Model(path).graph
        graph.shape_infer(None)
        graph.profile()
        return float(graph.macs[0])


def _xla(case: Any) -> float:
    import jax

    if case.jax is None:
        raise NotExpressed("no JAX form")
    call, arguments = case.jax(jax)
    found = jax.jit(call).lower(*arguments).compile().cost_analysis()
    return float((found[0] if isinstance(found, list) else found).get("flops", 0.0))


def _quietly(count: Callable[[Any], float]) -> Callable[[Any], float]:
    def call(case: Any) -> float:
        with _unpatched(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            return count(case)

    return call


#: Name → (package whose version counts, function).
COUNTERS: dict[str, tuple[str, Callable[[Any], float]]] = {
    "torch": ("torch", _quietly(_torch)),
    "fvcore": ("fvcore", _quietly(_fvcore)),
    "thop": ("thop", _quietly(_thop)),
    "calflops": ("calflops", _quietly(_calflops)),
    "onnx-tool": ("onnx-tool", _quietly(_onnx_tool)),
    "XLA": ("jax", _quietly(_xla)),
}
