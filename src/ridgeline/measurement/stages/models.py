"""The outermost calls of models as stages of their own kind, so that one can say which part of the time is the model.

While the block runs, the methods through which models are called are wrapped in a stage `model: NAME`; a model inside a model is part of the outer
one. Only libraries that the program has loaded are touched, and everything is put back at the end. A method that the program took from its object
before (`run = session.run`) is the original, and not seen.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from .recorder import MODEL, recording
from .stage import stage

__all__ = ["Watched", "loaded_model_libraries", "model_stages", "watching_cost_s"]

_inside: ContextVar[bool] = ContextVar("ridgeline-inside-model", default=False)
_COST_CALLS = 1000


@dataclass
class Watched:
    """Calls that went through the wrappers: the outermost ones, each a stage, and those inside them. Of threads at once a few may be missed."""

    outer: int = 0
    inner: int = 0


def _session_name(session: Any) -> str:
    path = getattr(session, "_model_path", None)
    return os.path.basename(str(path)) if path else type(session).__name__


def _class_name(model: Any) -> str:
    return type(model).__name__


#: Module → class and method through which a model is called, and how it is named.
_CALLS: dict[str, tuple[tuple[str, str, Callable[[Any], str]], ...]] = {
    "onnxruntime": (("InferenceSession", "run", _session_name), ("InferenceSession", "run_with_iobinding", _session_name)),
    "torch.nn": (("Module", "__call__", _class_name),),
    "torch.jit": (("ScriptModule", "__call__", _class_name),),
    "ai_edge_litert.interpreter": (("Interpreter", "invoke", _session_name),),
    "openvino": (("CompiledModel", "__call__", _class_name), ("InferRequest", "infer", _class_name)),
}


def loaded_model_libraries() -> tuple[str, ...]:
    """Libraries of this process whose models can be told apart."""
    return tuple(sorted({name.split(".")[0] for name in _CALLS if name in sys.modules}))


@contextmanager
def model_stages() -> Iterator[Watched]:
    """Wrap the outermost calls of models while the block runs; yields how many calls there were."""
    watched = Watched()
    undo: list[tuple[type, str, Any]] = []
    try:
        for module, calls in _CALLS.items():
            for owner, method, name_of in calls:
                found = getattr(sys.modules.get(module), owner, None)
                original = getattr(found, method, None)
                if isinstance(found, type) and callable(original):
                    undo.append((found, method, vars(found).get(method)))
                    setattr(found, method, _wrapped(original, name_of, watched))
        yield watched
    finally:
        for found, method, own in reversed(undo):
            # What it had inherited it inherits again.
            delattr(found, method) if own is None else setattr(found, method, own)


def _wrapped(original: Callable[..., Any], name_of: Callable[[Any], str], watched: Watched) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _inside.get():
            watched.inner += 1
            return original(self, *args, **kwargs)
        watched.outer += 1
        mark = stage(f"{MODEL}model: {name_of(self)}")
        caller = sys._getframe(1)
        # The place that calls the model, not this one.
        mark.site = (caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_qualname)
        token = _inside.set(True)
        try:
            with mark:
                return original(self, *args, **kwargs)
        finally:
            _inside.reset(token)

    return call


def watching_cost_s(calls: int = _COST_CALLS) -> tuple[float, float]:
    """Seconds that the wrapper adds here and now to an outermost call, recorded, and to one inside it: the least of five loops of each."""

    def nothing(_: Any) -> None: ...

    wrapped = _wrapped(nothing, _class_name, Watched())
    with recording():
        outer = _least(wrapped, calls)
        token = _inside.set(True)
        try:
            inner = _least(wrapped, calls)
        finally:
            _inside.reset(token)
    plain = _least(nothing, calls)
    return max(0.0, outer - plain), max(0.0, inner - plain)


def _least(function: Callable[[Any], Any], calls: int) -> float:
    taken = []
    for _ in range(5):
        before = perf_counter()
        for _ in range(calls):
            function(None)
        taken.append(perf_counter() - before)
    return min(taken) / calls
