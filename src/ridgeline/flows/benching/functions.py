"""A Python function as a target: by its module and name where a fresh process finds it there too, else only in this process."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ridgeline.core import UsageError
from ridgeline.machine import in_worker
from ridgeline.measurement.bench import Version
from ridgeline.targets import TargetSpec, parse_target

__all__ = ["callable_target"]


def callable_target(
    function: Callable[..., Any], threads: int = 0, inputs: Any = None, synchronise: str | Callable[..., Any] = "auto"
) -> tuple[Version, Callable[..., Any] | None]:
    """The version to spawn, and the function where it can only be called here.

    Args:
        inputs, synchronise: as in `flows.bench.bench`; inputs that are objects, and a function that only exists here, keep all of it here.

    Raises:
        UsageError: it is no function, or this is a process that measures already: a script that benchmarks when it is imported.
    """
    if not callable(function):
        raise UsageError("a function, a target or a spec", found=type(function).__name__, remedy="give a function of no arguments")
    if in_worker():
        found = "bench called while a target is imported"
        raise UsageError("a benchmark outside of itself", found=found, remedy="put the call below `if __name__ == '__main__':`")
    name = str(getattr(function, "__qualname__", type(function).__name__))
    module = str(getattr(function, "__module__", ""))
    waits = synchronise if isinstance(synchronise, str) else _text(synchronise)
    if not _is_found(module, name, function) or waits is None or not (inputs is None or isinstance(inputs, str)):
        return Version(spec=TargetSpec(text=name, kind="python", module=module or "builtins", function=name, threads=threads), name=name), function
    path = _main_file() if module == "__main__" else None
    text = f"{path}:{name}" if path else f"{module}:{name}"
    # What is allowed is decided where texts are taken apart, once for functions and for the command line.
    beside = parse_target(f"{__name__}:callable_target", input=inputs, synchronise=waits)
    spec = TargetSpec(
        text=text,
        kind="python",
        path=path,
        module=None if path else module,
        function=name,
        threads=threads,
        inputs=beside.inputs,
        synchronise=beside.synchronise,
    )
    return Version(spec=spec, name=name, environment=_search_path()), None


def _text(function: Any) -> str | None:
    """How a fresh process finds a function; `None` where it cannot."""
    if not callable(function):
        found = type(function).__name__
        raise UsageError("synchronise as auto, none, a text or a function", found=found, remedy="give a function that waits for a result")
    name, module = str(getattr(function, "__qualname__", "")), str(getattr(function, "__module__", ""))
    if not name or not _is_found(module, name, function):
        return None
    return f"{_main_file()}:{name}" if module == "__main__" else f"{module}:{name}"


def _is_found(module: str, name: str, function: Any) -> bool:
    """Whether a fresh process finds this very function under its module and name."""
    if "<" in name or (module == "__main__" and _main_file() is None):
        return False
    try:
        found: Any = sys.modules["__main__"] if module == "__main__" else import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        return False
    return found is function


def _main_file() -> str | None:
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.abspath(file) if file and file.endswith(".py") and os.path.isfile(file) else None


def _search_path() -> dict[str, str]:
    """Where this process finds modules and a fresh one would not look by itself."""
    usual = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    own = [os.path.abspath(entry) for entry in sys.path if entry not in usual and os.path.isdir(entry or ".")]
    given = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys([*given, *own]))}
