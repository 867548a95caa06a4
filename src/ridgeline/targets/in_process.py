"""A Python script as a call of this process, for instruments that must see inside.

Its times are not those of the script (the interpreter is started and modules stay imported), so they never become a ground truth.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from ridgeline.core import TargetFailed

from .source import Transform, compiled_file, put_first_on_path

__all__ = ["as_main", "script_of"]

_PYTHON = re.compile(r"python(3(\.\d+)?)?")


def script_of(argv: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """(absolute path, arguments) where a command line runs a script with this very interpreter; `None` for anything else, options of Python included.

    >>> script_of(["sleep", "1"]) is None
    True
    """
    import shutil

    if len(argv) < 2 or not _PYTHON.fullmatch(os.path.basename(argv[0])) or not argv[1].endswith(".py"):
        return None
    found = shutil.which(argv[0])
    if found is None or os.path.realpath(found) != os.path.realpath(sys.executable):
        return None
    return os.path.abspath(argv[1]), tuple(argv[2:])


def as_main(path: str, arguments: tuple[str, ...], transform: Transform | None) -> Callable[[], Any]:
    """A call that runs the file as `__main__` with those arguments; `transform` rewrites its source."""

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
