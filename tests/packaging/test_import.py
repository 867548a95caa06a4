"""`import ridgeline` loads no optional package, in a process of its own; the face gives what it promises."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import ridgeline

OPTIONAL = {
    "torch", "onnx", "onnxruntime", "sqlalchemy", "rich", "click", "scipy", "psycopg", "ai_edge_litert", "openvino", "pyopencl", "jax", "lightgbm",
    "litestar", "uvicorn", "ray", "psutil", "threadpoolctl", "optuna",
}  # fmt: skip


def loaded_after(code: str) -> set[str]:
    """Top-level modules in a fresh process after `code`."""
    tail = "\nimport json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, timeout=120, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "code",
    [
        "import ridgeline",
        "import ridgeline; ridgeline.Quantity",
        "import ridgeline.core, ridgeline.laws, ridgeline.diagnosis, ridgeline.timeline",
        "from ridgeline.device import find; find('h200')",
    ],
)
def test_no_optional_package_is_loaded(code: str) -> None:
    before = loaded_after("pass")  # what the interpreter's own start-up files load is not ours
    loaded = loaded_after(code) - before
    assert "ridgeline" in loaded
    assert not loaded & OPTIONAL


def test_the_check_sees_an_optional_package() -> None:
    assert "rich" in loaded_after("import ridgeline, rich")


def test_every_name_of_the_face_is_there() -> None:
    assert set(ridgeline.__all__) <= set(dir(ridgeline))
    for name in ridgeline.__all__:
        assert getattr(ridgeline, name) is not None, name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ridgeline.nonsense  # noqa: B018


def test_the_types_of_the_face_are_those_of_the_face() -> None:
    stub = ast.parse(Path(ridgeline.__file__).with_suffix(".pyi").read_text())
    named = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    named |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    assert named == set(ridgeline.__all__)


def test_verbs_are_functions_also_after_their_modules_were_imported() -> None:
    code = """
import ridgeline, ridgeline.flows, types
for verb in ("diagnose", "probe", "doctor"):
    assert isinstance(getattr(ridgeline, verb), types.FunctionType), verb
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
