"""A specification from wherever it is written: TOML, an object of a Python file, or a problem of another tuner in the T1 format."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from ridgeline.core import RidgelineError, TargetFailed, UsageError
from ridgeline.readers.tuning import read_problem
from ridgeline.targets.functions import attribute_of
from ridgeline.targets.source import load_module

from ..text_files import text_of_file
from .checks import checked
from .problems import spec_of_problem
from .spec import TuningSpec
from .toml import spec_of_toml

__all__ = ["read_spec"]

_FORMS = "write SPEC.toml, file.py:NAME, or a problem in the T1 format (.json)"
_WHAT = "a specification in TOML"


def read_spec(text: str | Path, *, root: Path | None = None) -> TuningSpec:
    """The specification that a word of the command line means.

    Args:
        text: `SPEC.toml`; `file.py:NAME`, an object or a function without arguments that returns it, of which the file is run; or `problem.json`.
        root: folder that a relative path starts from; the working directory if null.

    Raises:
        UsageError: no such file, another form, or whatever is wrong with it.
        ReadError: no TOML, no JSON, no UTF-8.
        TargetFailed: the Python file raised.
        PluginError: the runner does not load.
    """
    given, root = str(text), root or Path.cwd()
    if not given.strip() or "\0" in given:
        raise UsageError("a specification", found=repr(given), remedy=_FORMS)
    place, colon, name = given.rpartition(":")
    if colon and place.lower().endswith(".py"):
        return _of_python(_absolute(place, root), name, given)
    path, lower = _absolute(given, root), given.lower()
    if lower.endswith(".toml"):
        return spec_of_toml(text_of_file(given, root, _WHAT), given, str(path.parent))
    if lower.endswith((".json", ".json.gz")):
        return spec_of_problem(read_problem(path), str(path.parent), given)
    if lower.endswith(".py"):
        raise UsageError("the name of a specification in a Python file", found=repr(given), remedy=f"write {given}:NAME")
    raise UsageError("a specification", found=repr(given), remedy=_FORMS)


def _absolute(text: str, root: Path) -> Path:
    return Path(os.path.abspath(root / os.path.expanduser(text)))


def _of_python(path: Path, name: str, given: str) -> TuningSpec:
    if not path.is_file():
        raise UsageError("a Python file", found=f"none at {path}", remedy="check the path")
    if not name.replace(".", "_").isidentifier():
        raise UsageError("file.py:NAME", found=repr(given), remedy="name the specification in the file behind the colon")
    found = _loaded(path, name, given)
    if not isinstance(found, TuningSpec):
        remedy = "make it with ridgeline.flows.tuning.spec.tuning_spec"
        raise UsageError(f"{given} to be a specification, or a function that returns one", found=f"a {type(found).__name__}", remedy=remedy)
    return checked(found if found.folder else msgspec.structs.replace(found, folder=str(path.parent)), given)


def _loaded(path: Path, name: str, given: str) -> Any:
    """What the file has of that name; a function is called. What it prints is no data of ours."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = attribute_of(load_module(str(path)), name, given.rpartition(":")[0])
            return found() if callable(found) else found
    except RidgelineError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file may raise whatever it likes, SystemExit as well
        raise TargetFailed(f"{given} to give a specification", found=f"{type(error).__name__}: {error}", remedy="mend the file") from error
