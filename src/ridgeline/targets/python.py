"""Targets `file.py:function` and `package.module:function`: the function is the workload, or returns the workload as a callable.

Which of the two is known only after one call. If it turns out to be the workload, that call was its first and its time is kept; it is not called
again to find out. A coroutine function is driven to its end on one event loop that lives as long as the target, so that every call waits for its
work.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ridgeline.core import Caution, TargetInfo, UsageError

from .forks import Forks, kept_to_its_process
from .preparation import first_call, settle
from .prepared import Prepared, PythonFlavour
from .source import Transform, import_module, load_module, own_files
from .spec import TargetSpec
from .surroundings import digest

__all__ = ["load_workload", "prepare_python"]

if TYPE_CHECKING:
    import asyncio

Call = Callable[[], Any]


def prepare_python(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """Load the function, find out whether it is the workload or makes it, and make the first call of the workload.

    Raises:
        UsageError: no such module or function, a function that needs arguments, or returns something that does.
        Exception: whatever the user's code raises.
    """
    module, function = _load(spec, transform)
    loop = _Loop()
    flavour = PythonFlavour(module=module, function=function, workload=function, factory=False, load=lambda other: load_workload(spec, other))
    bare, forks = loop.driven(function), Forks()
    prepared = Prepared(call=kept_to_its_process(bare), info=_info(spec, module), flavour=flavour, close=loop.close)
    before = time.perf_counter()
    result = prepared.call()
    if _is_workload(result, prepared, spec.name):
        flavour.workload, flavour.factory = result, True
        bare, forks = loop.driven(result), Forks()
        prepared.call = kept_to_its_process(bare)
        first_call(prepared)
    else:
        settle(prepared, result)
        prepared.first_s = time.perf_counter() - before
    if not forks.any:
        prepared.call = bare
    flavour.torch = "torch" in sys.modules
    prepared.user_files = own_files(_root(spec, module), _file(module))
    prepared.describe(kind="torch" if flavour.torch else "python")
    return prepared


def load_workload(spec: TargetSpec, transform: Transform | None = None) -> Call:
    """The workload made anew from source that went through `transform`; its first call may have been made to learn what it is."""
    workload: Call = prepare_python(spec, transform).call
    return workload


def _load(spec: TargetSpec, transform: Transform | None) -> tuple[ModuleType, Callable[..., Any]]:
    sys.argv[:] = [spec.path or spec.module or ""]
    module = load_module(spec.path, transform) if spec.path else import_module(spec.module or "", transform)
    found: Any = module
    for part in (spec.function or "").split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UsageError(f"a function {spec.function} in {_file(module)}", found=_near(found, part), remedy="check the name") from None
    if not callable(found):
        raise UsageError(f"{spec.text} to be a function", found=f"a {type(found).__name__}", remedy="name a function of no arguments")
    missing = _required(found)
    if missing:
        remedy = "write a function of none that makes its own inputs"
        raise UsageError("a function of no arguments", found=f"{spec.text} needs {', '.join(missing)}", remedy=remedy)
    return module, found


def _near(holder: Any, name: str) -> str:
    import difflib

    names = [other for other in dir(holder) if not other.startswith("_") and callable(getattr(holder, other, None))]
    near = difflib.get_close_matches(name, names, 3, 0.6)
    return f"no {name}; there is {', '.join(near)}" if near else f"no {name}; there is {', '.join(names[:8]) or 'no function at all'}"


def _required(function: Any) -> list[str]:
    """Names of the parameters that a call must give; none where the signature is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty and parameter.kind not in variable]


def _is_workload(result: Any, prepared: Prepared, name: str) -> bool:
    """Whether a function's result is the callable to measure.

    Raises:
        UsageError: it returned a torch module that needs an input, which is nearly certainly meant to be measured and cannot be.
    """
    if not callable(result) or isinstance(result, type):
        return False
    module = getattr(sys.modules.get("torch"), "nn", None)
    is_module = module is not None and isinstance(result, module.Module)
    missing = _required(result.forward if is_module else result)
    if not missing:
        return True
    what = f"{name} returned a {type(result).__name__} that needs {', '.join(missing)}"
    if is_module:
        raise UsageError("a workload of no arguments", found=what, remedy="return a function of none that calls it with its input")
    message = f"{what}; so {name} itself is measured"
    prepared.warnings.append(Caution(code="returns-callable", message=message, effect="the time is that of making it, not of calling it"))
    return False


class _Loop:
    """One event loop for a coroutine function, made when it is needed."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def driven(self, function: Callable[..., Any]) -> Call:
        """The function itself, or for a coroutine function one that runs its coroutine to the end."""
        if not (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))):  # noqa: B004
            return function
        import asyncio  # late: it takes as long to import as everything else here

        self._loop = self._loop or asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        run = self._loop.run_until_complete
        return lambda: run(function())

    def close(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.close()


def _file(module: ModuleType) -> str:
    return os.path.abspath(getattr(module, "__file__", None) or module.__name__)


def _root(spec: TargetSpec, module: ModuleType) -> str:
    """The folder whose modules are the user's: that of the file, or the one that holds the module's top package."""
    folder = os.path.dirname(_file(module))
    for _ in range((spec.module or "").count(".")):
        folder = os.path.dirname(folder)
    return folder


def _info(spec: TargetSpec, module: ModuleType) -> TargetInfo:
    return TargetInfo(
        spec=spec.text, kind="python", name=spec.name, digest=digest(_file(module)), threads=spec.threads, use=spec.use, budget=spec.budget
    )
