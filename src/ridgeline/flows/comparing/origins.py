"""Where the modules of a process were imported from, and whether a checked-out revision was really what ran.

A package that is installed in editable form, or a working directory that comes first, makes both versions run the same code: then every comparison
says `same` with the best of intervals. So what was imported is looked at, and whatever should have come from the revision and did not is named.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

__all__ = ["found_origins", "loaded_origins", "own_names", "strangers"]

_INSTALLED = frozenset({"site-packages", "dist-packages"})


def loaded_origins() -> dict[str, str]:
    """Name → absolute file of every module that this process has loaded from a file."""
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.isabs(file):
            found[name] = os.path.realpath(file)
    return found


def found_origins(names: Sequence[str]) -> dict[str, str]:
    """Name → absolute file that this process would import each top-level module from, without importing any."""
    found = {}
    for name in names:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError, AttributeError):
            continue
        places = list(spec.submodule_search_locations or []) if spec is not None else []
        origin = spec.origin if spec is not None and spec.origin and os.path.isabs(spec.origin) else next(iter(places), None)
        if origin is not None:
            found[name] = os.path.realpath(origin)
    return found


def own_names(root: Path) -> tuple[str, ...]:
    """Top-level modules and packages that a revision holds, in its top folder and in `src`."""
    names = set()
    for folder in (root, root / "src"):
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if entry.suffix == ".py" and entry.stem.isidentifier():
                names.add(entry.stem)
            elif entry.name.isidentifier() and entry.is_dir() and (entry / "__init__.py").is_file():
                names.add(entry.name)
    return tuple(sorted(names))


def strangers(origins: Mapping[str, str], root: Path, repository: Path) -> tuple[str, ...]:
    """Modules that belong to the revision at `root` and were imported from elsewhere, each as `name from file`; pure but for the names in `root`.

    Args:
        origins: name → file, as `loaded_origins` gives them.
        root: top folder of the checked-out revision.
        repository: top folder of the working tree that it is a revision of; where both are one, nothing can be a stranger to it.
    """
    real, tree = os.path.realpath(root), os.path.realpath(repository)
    if real == tree:
        return ()
    own = frozenset(own_names(root))
    found = []
    for name, file in sorted(origins.items()):
        if _below(file, real) or name.partition(".")[0] in sys.stdlib_module_names:
            continue
        inside_tree = _below(file, tree) and not _INSTALLED & set(Path(file).parts)
        if name.partition(".")[0] in own or inside_tree:
            found.append(f"{name} from {file}")
    return tuple(found)


def _below(file: str, folder: str) -> bool:
    return file == folder or file.startswith(os.path.join(folder, ""))
