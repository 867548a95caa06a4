"""The files that a deployment consists of, as far as it can be known: two deployments are the same where what is in these is.

Of a model its weights wherever they lie, of Python source every module of the user's own that it imports: as its text says, and, once it was prepared
and called, as the interpreter says. What a program reads beside (data, configuration, modules that are imported under conditions that did not arise)
nobody can know.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import lru_cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from ridgeline.machine import LIBRARIES
from ridgeline.targets import TargetSpec
from ridgeline.targets.onnx_external import external_files

from ..includes import modules_beside, sources_among

__all__ = ["files_of", "modules_loaded", "packages_loaded"]

_OURS = str(Path(__file__).resolve().parents[2])
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def files_of(spec: TargetSpec) -> list[Path]:
    """Source or model with what belongs to it; of a command its program and the files among its arguments. Only files that are there."""
    found: list[Path] = []
    if spec.kind == "command":
        program = shutil.which(spec.arguments[0]) if spec.arguments else None
        found += [Path(os.path.realpath(program))] if program else []
    found += sources_among(spec.arguments)
    found += _model(Path(spec.path)) if spec.path and spec.kind in ("onnx", "openvino", "tflite") else _source(spec)
    for function in (spec.inputs, spec.synchronise):
        place = Path(function.rpartition(":")[0])
        found += modules_beside(place, _own_roots()) if place.suffix == ".py" else []
    return [path for path in dict.fromkeys(found) if path.is_file()]


def modules_loaded() -> list[str]:
    """Source files of the user's own modules that this process has imported: none of the standard library, of installed packages or of ridgeline."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({os.path.abspath(file) for file in files if isinstance(file, str) and _is_own(file)})


def packages_loaded() -> dict[str, str]:
    """Name → version of the installed packages of which this process has imported something."""
    names = {name.partition(".")[0] for name in list(sys.modules)}
    found = {package for name, packages in packages_distributions().items() if name in names for package in packages}
    return {name: version(name) for name in sorted(found)}


def _is_own(file: str) -> bool:
    path = os.path.abspath(file)
    libraries = tuple(os.path.join(place, "") for place in (*LIBRARIES, _OURS))
    return os.path.isabs(file) and os.path.isfile(path) and not _INSTALLED.intersection(path.split(os.sep)) and not path.startswith(libraries)


def _model(path: Path) -> list[Path]:
    # Weights of model.xml, and where exporters put the external ones of model.onnx, for want of the package that reads their names.
    beside = [path.with_suffix(".bin"), Path(f"{path}.data")]
    return [path, *beside, *(path.parent / name for name in _external(path))]


def _external(path: Path) -> tuple[str, ...]:
    if path.suffix.lower() != ".onnx":
        return ()
    state = path.stat() if path.is_file() else None
    return () if state is None else _named(str(path), state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=64)
def _named(path: str, *state: int) -> tuple[str, ...]:
    return external_files(path)


def _source(spec: TargetSpec) -> list[Path]:
    if spec.path:
        return modules_beside(Path(spec.path), _own_roots())
    parts = (spec.module or "").split(".")
    places = [root.joinpath(*parts) for root in _own_roots()] if spec.module else []
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
    return [module for file in files[:1] for module in modules_beside(file, _own_roots())]


def _own_roots() -> list[Path]:
    """Folders that modules of the user's own are imported from: the working directory, and those of the path that hold no installed packages."""
    given = (Path(place) for place in sys.path if place and not _INSTALLED.intersection(Path(place).parts) and not place.startswith(LIBRARIES))
    return [place for place in dict.fromkeys([Path.cwd(), *given]) if place != Path(_OURS).parent]
