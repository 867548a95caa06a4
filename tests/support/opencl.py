"""An OpenCL program for the processor at hand, or a test that is skipped with the compiler's word."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["built"]


def built(context: Any, source: str) -> Any:
    """The program; pocl's compiler knows no processor that is newer than itself."""
    import pyopencl

    try:
        return pyopencl.Program(context, source).build()
    except pyopencl.RuntimeError as error:
        said = next((line for line in str(error).splitlines() if line.startswith("error")), str(error)[:200])
        pytest.skip(f"OpenCL builds no program for this processor: {said}")
