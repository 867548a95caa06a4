"""Stages for a program that marks none: the outermost calls of its models, so that one can say which part of the time is the model.

While the block runs, the methods through which models are called are wrapped in a stage `model: NAME`; a model inside a model is part of the outer
one. Only libraries that the program has loaded are touched, and everything is put back at the end.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .stage import stage

__all__ = ["loaded_model_libraries", "model_stages"]

_inside: ContextVar[bool] = ContextVar("ridgeline-inside-model", default=False)


def _session_name(session: Any) -> str:
    path = getattr(session, "_model_path", None)
    return os.path.basename(str(path)) if path else type(session).__name__


def _class_name(model: Any) -> str:
    return type(model).__name__


def _interpreter_name(interpreter: Any) -> str:
    path = getattr(interpreter, "_model_path", None)
    return os.path.basename(str(path)) if path else type(interpreter).__name__


#: Module → class and method through which a model is called, and how it is named.
_CALLS: dict[str, tuple[tuple[str, str, Callable[[Any], str]], ...]] = {
    "onnxruntime": (("InferenceSession", "run", _session_name), ("InferenceSession", "run_with_iobinding", _session_name)),
    "torch.nn": (("Module", "__call__", _class_name),),
    "torch.jit": (("ScriptModule", "__call__", _class_name),),
    "ai_edge_litert.interpreter": (("Interpreter", "invoke", _interpreter_name),),
    "openvino": (("CompiledModel", "__call__", _class_name),),
}


def loaded_model_libraries() -> tuple[str, ...]:
    """Libraries of this process whose models can be told apart."""
    return tuple(sorted({name.split(".")[0] for name in _CALLS if name in sys.modules}))


@contextmanager
def model_stages() -> Iterator[None]:
    """Wrap the outermost calls of models while the block runs."""
    undo: list[tuple[type, str, Any]] = []
    try:
        for module, calls in _CALLS.items():
            for owner, method, name_of in calls:
                found = getattr(sys.modules.get(module), owner, None)
                original = getattr(found, method, None)
                if isinstance(found, type) and callable(original):
                    undo.append((found, method, vars(found).get(method)))
                    setattr(found, method, _wrapped(original, name_of))
        yield
    finally:
        for found, method, own in reversed(undo):
            # What it had inherited it inherits again.
            delattr(found, method) if own is None else setattr(found, method, own)


def _wrapped(original: Callable[..., Any], name_of: Callable[[Any], str]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _inside.get():
            return original(self, *args, **kwargs)
        token = _inside.set(True)
        try:
            with stage(f"model: {name_of(self)}"):
                return original(self, *args, **kwargs)
        finally:
            _inside.reset(token)

    return call
