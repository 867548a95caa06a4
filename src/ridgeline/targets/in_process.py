"""A Python script as a call of this process, for instruments that must see inside.

Its times are not those of the script (the interpreter is started and modules stay imported), so they never become a ground truth.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from ridgeline.core import TargetFailed

from .forks import kept_to_its_process
from .source import Transform, compiled_file, put_first_on_path

__all__ = ["Inside", "as_main", "inside_of"]

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
#: Options of the interpreter that change nothing of what is looked at here.
_HARMLESS = ("-u", "-B", "-I", "-E", "-s")
#: File name that the interpreter gives to the text behind `-c`.
_TEXT_FILE = "<string>"


@dataclass(frozen=True, kw_only=True)
class Inside:
    """What a command line runs with this very interpreter.

    Attributes:
        load: makes a call that runs it here, from source that went through a transform or not.
        user_files: source files of it, as code objects name them.
    """

    load: Callable[[Transform | None], Callable[[], Any]]
    user_files: tuple[str, ...]


def inside_of(argv: Sequence[str]) -> Inside | None:
    """`python script.py ARGUMENTS` and `python -c TEXT` of this interpreter; `None` for anything else.

    >>> inside_of(["sleep", "1"]) is None
    True
    """
    if not argv or not _PYTHON.fullmatch(os.path.basename(argv[0])):
        return None
    found = shutil.which(argv[0])
    if found is None or os.path.realpath(found) != os.path.realpath(sys.executable):
        return None
    rest = list(argv[1:])
    while rest and rest[0] in _HARMLESS:
        rest.pop(0)
    if len(rest) >= 2 and rest[0] == "-c":
        text, arguments = rest[1], tuple(rest[2:])
        return Inside(load=lambda transform: _as_text(text, arguments), user_files=(_TEXT_FILE,))
    if rest and rest[0].endswith(".py"):
        path, arguments = os.path.abspath(rest[0]), tuple(rest[1:])
        return Inside(load=lambda transform: as_main(path, arguments, transform), user_files=(path,))
    return None


def as_main(path: str, arguments: tuple[str, ...], transform: Transform | None) -> Callable[[], Any]:
    """A call that runs the file as `__main__` with those arguments; `transform` rewrites its source."""

    def prepared() -> CodeType:
        put_first_on_path(os.path.dirname(path), transform)
        return compiled_file(path, transform)

    return _main_call(prepared, path, arguments)


def _as_text(text: str, arguments: tuple[str, ...]) -> Callable[[], Any]:
    """The text behind `-c` as a call; no transform reaches it, since it has no file."""
    return _main_call(lambda: compile(text, _TEXT_FILE, "exec"), "-c", arguments)


def _main_call(prepared: Callable[[], CodeType], name: str, arguments: tuple[str, ...]) -> Callable[[], Any]:
    def run() -> None:
        sys.argv[:] = [name, *arguments]
        code = prepared()
        main, module = sys.modules["__main__"], ModuleType("__main__")
        module.__file__ = name
        module.__builtins__ = __builtins__  # type: ignore[attr-defined]
        sys.modules["__main__"] = module
        try:
            exec(code, module.__dict__)
        except SystemExit as error:
            if error.code not in (None, 0):
                found = f"it called sys.exit({error.code})"
                raise TargetFailed("a script that ends with exit code 0", found=found, remedy="run it on its own") from error
        finally:
            sys.modules["__main__"] = main

    return kept_to_its_process(run)
