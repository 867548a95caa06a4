"""Targets `file.py:function` and `package.module:function`: the function is the workload, or returns the workload as a callable.

Which of the two is known only after one call. If it turns out to be the workload, that call was its first and its time is kept; it is not called
again to find out. With inputs, a function of one argument is the workload, and one of none returns it. A coroutine function is driven to its end on
one event loop that lives as long as the target, so that every call waits for its work.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard

from ridgeline.core import Caution, TargetInfo, UsageError

from .forks import Forks, kept_to_its_process
from .functions import attribute_of, load_function
from .preparation import first_call, settle
from .prepared import Prepared, PythonFlavour
from .source import Transform, import_module, load_module, own_files
from .spec import TargetSpec
from .surroundings import digest

__all__ = ["load_workload", "prepare_python"]

if TYPE_CHECKING:
    import asyncio

    from .inputs import Chosen

Call = Callable[[], Any]
#: Flag in the code of a coroutine function (`inspect.CO_COROUTINE`).
_COROUTINE = 0x80


def prepare_python(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """Load the function, find out whether it is the workload or makes it, and make the first call of the workload.

    Raises:
        UsageError: no such module or function, a function that needs arguments, or returns something that does.
        Exception: whatever the user's code raises.
    """
    module, function = _load(spec, transform)
    loop, chosen = _Loop(), _chosen(spec, module)
    flavour = PythonFlavour(module=module, function=function, workload=function, factory=False, load=lambda other: load_workload(spec, other))
    prepared = Prepared(call=function, info=_info(spec, module), flavour=flavour, close=loop.close)
    _wait_as_asked(spec, prepared, module)
    if chosen is not None:
        _bind(prepared, flavour, chosen, spec)
    bare, forks = loop.driven(flavour.workload), Forks()
    prepared.call = kept_to_its_process(bare)
    before = time.perf_counter()
    result = prepared.call()
    if chosen is None and _is_workload(result, prepared, spec.name):
        flavour.workload, flavour.factory = result, True
        bare, forks = loop.driven(result), Forks()
        prepared.call = kept_to_its_process(bare)
        first_call(prepared)
    else:
        settle(prepared, result, before)
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
    found: Any = attribute_of(module, spec.function or "", _file(module))
    if not callable(found):
        raise UsageError(f"{spec.text} to be a function", found=f"a {type(found).__name__}", remedy="name a function of no arguments")
    missing = _required(found)
    if missing and not spec.inputs:
        remedy = "write a function of none that makes its own inputs" + (", or give --input file.py:function" if len(missing) == 1 else "")
        raise UsageError("a function of no arguments", found=f"{spec.text} needs {', '.join(missing)}", remedy=remedy)
    if missing and not _takes_input(found):
        raise UsageError("a function of one argument, the input", found=f"{spec.text} needs {', '.join(missing)}", remedy="take one input")
    return module, found


def _chosen(spec: TargetSpec, module: ModuleType) -> Chosen | None:
    """The inputs that were asked for; `None` for none."""
    if not spec.inputs:
        return None
    from .inputs import gathered

    make = load_function(spec.inputs, module)
    missing = _required(make)
    if missing:
        found = f"{_short(spec.inputs)} needs {', '.join(missing)}"
        raise UsageError("a function of no arguments that returns inputs", found=found, remedy="write one of none")
    return gathered(make(), _short(spec.inputs))


def _short(text: str) -> str:
    return os.path.basename(text)


def _takes_input(function: Any) -> bool:
    from .inputs import takes_input

    return takes_input(function)


def _bind(prepared: Prepared, flavour: PythonFlavour, chosen: Chosen, spec: TargetSpec) -> None:
    """Make the workload one that takes the selected input; a function of no arguments is called once, for it must return it."""
    from .inputs import bound_to

    if not _required(flavour.function) and not _takes_input(flavour.function):
        result = flavour.function()
        if not callable(result) or not _takes_input(result):
            found = f"{spec.name} takes none and returns a {type(result).__name__}"
            raise UsageError("a function of one argument, or one that returns such a function", found=found, remedy="take the input as an argument")
        flavour.workload, flavour.factory = result, True
    flavour.workload, prepared.inputs = bound_to(flavour.workload, chosen)
    prepared.warnings += chosen.cautions
    prepared.describe(inputs=(f"{len(chosen.items)} from {_short(spec.inputs)}",))


def _wait_as_asked(spec: TargetSpec, prepared: Prepared, module: ModuleType) -> None:
    if spec.synchronise == "none":
        prepared.never_waits = True
    elif spec.synchronise != "auto":
        prepared.waits_by = load_function(spec.synchronise, module)


def _required(function: Any) -> list[str]:
    """Names of the parameters that a call must give; none where the signature is not known."""
    if _bare(function) and not (function.__code__.co_argcount or function.__code__.co_kwonlyargcount):
        return []
    import inspect  # late: it takes as long to load as a short call is measured

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
        if _bare(function) and not function.__code__.co_flags & _COROUTINE:
            return function
        import inspect

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


def _bare(function: object) -> TypeGuard[FunctionType]:
    """Whether it is a function of Python as `def` makes it, nothing wrapped or marked: then its code says all about it."""
    return type(function) is FunctionType and not vars(function)


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
