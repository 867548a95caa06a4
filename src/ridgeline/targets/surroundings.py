"""What is recorded of a target and its surroundings: allocator, thread variables, digest of its file. Never judged here."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from typing import Literal

from ridgeline.core import TargetInfo

from .spec import TargetSpec

__all__ = ["allocator", "digest", "leave_out_digests", "loaded", "model_info", "speed_variables"]

_PREFIXES = ("OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "NUMEXPR_", "NUMBA_", "XLA_", "TORCHINDUCTOR_")
_NAMES = (
    "LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "PYTHONMALLOC",
    "MIMALLOC_ALLOW_LARGE_OS_PAGES", "CUDA_VISIBLE_DEVICES", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES", "JAX_PLATFORMS", "PYTHONOPTIMIZE",
)  # fmt: skip
_LONGEST = 500
#: Of `machine.PACKAGES` those that a target imports, by the name it imports them by.
_LIBRARIES = ("ai_edge_litert", "jax", "numba", "numpy", "onnx", "onnxruntime", "openvino", "scipy", "torch")


def model_info(
    spec: TargetSpec, kind: Literal["onnx", "openvino", "tflite"], *, threads: int, inputs: tuple[str, ...], providers: tuple[str, ...]
) -> TargetInfo:
    """What is measured where the target is a model file."""
    return TargetInfo(
        spec=spec.text,
        kind=kind,
        name=spec.name,
        digest=digest(spec.path or ""),
        inputs=inputs,
        threads=threads,
        providers=providers,
        use=spec.use,
        budget=spec.budget,
    )


def speed_variables(given: Collection[str] = ()) -> dict[str, str]:
    """Environment variables of this process that change speed, sorted by name; those that a person gave among them, whatever they do.

    Where code is found is no matter of speed: of the interpreter's own only those that are.
    """
    own = {name for name in given if name in os.environ and not name.startswith("PYTHON")}
    names = sorted(name for name in os.environ if name in _NAMES or name in own or name.startswith(_PREFIXES))
    return {name: os.environ[name].encode("utf-8", "backslashreplace").decode()[:_LONGEST] for name in names}


def loaded() -> tuple[str, ...]:
    """Libraries that this process has imported so far and whose version changes what is measured."""
    return tuple(name for name in _LIBRARIES if name in sys.modules)


def allocator(maps: str = "/proc/self/maps") -> str:
    """The C allocator of this process, by the libraries that are mapped: one that was preloaded goes before the C library's own.

    Args:
        maps: file in the format of /proc/PID/maps (proc(5)).
    """
    try:
        with open(maps, encoding="utf-8", errors="replace") as file:
            mapped = file.read()
    except OSError:
        return "unknown"
    for name in ("jemalloc", "tcmalloc", "mimalloc"):
        if f"lib{name}" in mapped:
            return name
    if "ld-musl" in mapped:
        return "musl malloc"
    return "glibc malloc" if "libc.so" in mapped or "libc-" in mapped else "unknown"


class _Digests:
    wanted = True


def leave_out_digests() -> None:
    """From now on `digest` returns nothing: of the same target another process has told them."""
    _Digests.wanted = False


def digest(path: str) -> str:
    """SHA-256 of a file in hexadecimal, empty if it cannot be read."""
    if not _Digests.wanted:
        return ""
    import hashlib  # late: its library takes long to load

    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
