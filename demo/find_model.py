"""Print the path of the demo's model: the trained network that the package `magika` carries to tell file types apart.

A person would have the file at hand; this only finds where the installer put it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def find_model() -> Path:
    """The newest ONNX file inside the installed package; nothing of the package is imported."""
    spec = find_spec("magika")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("find_model: the package magika is needed; to do: make demo, or pip install -r requirements/demo.txt")
    models = sorted(Path(spec.submodule_search_locations[0]).glob("models/*/model.onnx"))
    if not models:
        sys.exit(f"find_model: no models/*/model.onnx in {spec.submodule_search_locations[0]}; to do: install the version in requirements/demo.txt")
    return models[-1]


if __name__ == "__main__":
    path = find_model()
    print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
