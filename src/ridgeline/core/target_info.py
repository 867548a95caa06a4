"""`TargetInfo`: what was measured, as the process that ran it saw it."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["TargetInfo"]


class TargetInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured.

    Args:
        spec: as the person wrote it.
        kind: `onnx`, `openvino`, `tflite`, `torch`, `python`, `script`, `command`, or `kernel` where one was tuned.
        name: short name for the page.
        digest: SHA-256 of the model or source file, empty for a command.
        inputs: description of the inputs, such as `input: float32[1,3,224,224] (synthetic)`.
        threads: threads that the target was given, 0 if it decides itself.
        allocator: such as `glibc malloc`.
        precision: precision that was asked for, `default` if none.
        providers: execution providers.
        environment: variables that change speed (OMP_NUM_THREADS, …).
        use: whether the result is used from a cold start once or again and again.
        budget: such as `33.3ms@p99`, or empty.
        loaded: libraries whose version changes what is measured (`numpy`, `torch`, …) that its process had imported after the first call; null
            where that is not known, as of a command.
        marks: what may tell its stages apart: `ridgeline.stage` where it enters one, and the libraries whose models it may call.
    """

    spec: str
    kind: Literal["onnx", "openvino", "tflite", "torch", "python", "script", "command", "kernel"]
    name: str
    digest: str = ""
    inputs: tuple[str, ...] = ()
    threads: int = 0
    allocator: str = ""
    precision: str = "default"
    providers: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    use: Literal["once", "repeated"] = "repeated"
    budget: str = ""
    marks: tuple[str, ...] = ()
    loaded: tuple[str, ...] | None = None
