"""Targets `file.py ARGUMENTS`: a script is what it is only in a process of its own, so every call starts one.

For the profilers that must see inside there is `in_process`: the same source run here as `__main__`. Its times are not those of the script (the
interpreter is started and modules stay imported), so they never become a ground truth.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ridgeline.core import TargetFailed

from .command import prepare_argv
from .prepared import Prepared, ScriptFlavour
from .source import Transform, compiled_file, put_first_on_path
from .spec import TargetSpec

__all__ = ["prepare_script"]


def prepare_script(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """A script; every call is one fresh process of this interpreter. `transform` applies to `in_process`."""
    path = spec.path or ""
    argv = (sys.executable, path, *spec.arguments)
    flavour = ScriptFlavour(argv=argv, in_process=_in_process(path, spec.arguments, transform))
    return prepare_argv(spec, argv, "script", flavour)


def _in_process(path: str, arguments: tuple[str, ...], transform: Transform | None) -> Callable[[], Any]:
    def run() -> None:
        sys.argv[:] = [path, *arguments]
        put_first_on_path(os.path.dirname(path), transform)
        main, module = sys.modules["__main__"], ModuleType("__main__")
        module.__file__ = path
        module.__builtins__ = __builtins__  # type: ignore[attr-defined]
        code = compiled_file(path, transform)
        sys.modules["__main__"] = module
        try:
            exec(code, module.__dict__)
        except SystemExit as error:
            if error.code not in (None, 0):
                found = f"it called sys.exit({error.code})"
                raise TargetFailed("a script that ends with exit code 0", found=found, remedy="run it on its own") from error
        finally:
            sys.modules["__main__"] = main

    return run
