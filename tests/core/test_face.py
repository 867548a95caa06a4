"""Faces that import late: what type checkers are told is what is found, and nothing is imported before it is asked for."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PACKAGES = ("ridgeline.core", "ridgeline.machine", "ridgeline.targets", "ridgeline.measurement.agent", "ridgeline.measurement.bench")


def told(package: ModuleType) -> dict[str, str]:
    """Name → module, as the imports in the source say."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
    return {alias.name: str(node.module) for node in imports for alias in node.names if alias.name != "lazy_names"}


@pytest.mark.parametrize("name", PACKAGES)
def test_type_checkers_are_told_what_is_found(name: str) -> None:
    package = importlib.import_module(name)
    late = {each: module for module, names in package._HOMES.items() for each in names.split()}
    written = told(package)
    assert late.items() <= written.items()
    assert set(package.__all__) == set(written)
    for each in package.__all__:
        found = getattr(package, each)
        assert not isinstance(found, ModuleType)
        assert each in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_heavy_is_imported_before_it_is_asked_for(name: str) -> None:
    program = f"import sys, {name}; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
