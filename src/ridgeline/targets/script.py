"""Targets `file.py ARGUMENTS`: a script is what it is only in a process of its own, so every call starts one.

For the profilers that must see inside there is `in_process`: the same source run here as `__main__`. Its times are not those of the script (the
interpreter is started and modules stay imported), so they never become a ground truth.
"""

from __future__ import annotations

import sys

from .command import prepare_argv
from .in_process import as_main
from .prepared import Prepared, ScriptFlavour
from .source import Transform
from .spec import TargetSpec

__all__ = ["prepare_script"]


def prepare_script(spec: TargetSpec, transform: Transform | None = None) -> Prepared:
    """A script; every call is one fresh process of this interpreter. `transform` applies to `in_process`."""
    path = spec.path or ""
    argv = (sys.executable, path, *spec.arguments)
    flavour = ScriptFlavour(argv=argv, in_process=as_main(path, spec.arguments, transform))
    return prepare_argv(spec, argv, "script", flavour)
