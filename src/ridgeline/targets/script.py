"""Targets `file.py ARGUMENTS`: a script is what it is only in a process of its own, so every call starts one.

For the profilers that must see inside, `in_process` runs the same source here.
"""

from __future__ import annotations

import sys

from .command import prepare_argv
from .in_process import as_main
from .prepared import Prepared, ProcessFlavour
from .source import Transform
from .spec import TargetSpec

__all__ = ["prepare_script"]


def prepare_script(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """A script; every call is one fresh process of this interpreter, as it is: `transform` is for what `load` makes."""
    path = spec.path or ""
    argv = (sys.executable, path, *spec.arguments)
    return prepare_argv(spec, argv, "script", ProcessFlavour(argv=argv, load=lambda rewrite: as_main(path, spec.arguments, rewrite)))
