"""The wheel carries all it needs: the native module, data files, migrations, the typing marker; and no sources of C."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "ridgeline"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the sources with build isolation, as on a fresh machine; the build folder is not the developer's."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(folder),
        "-C",
        f"build-dir={folder / 'build'}",
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("ridgeline-*.whl")
    return built


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_python_and_data_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    found = {
        str(Path("ridgeline") / path.relative_to(SOURCES))
        for path in SOURCES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in {".so", ".pyc"}
    }
    assert {"ridgeline/py.typed", "ridgeline/device/data/nvidia_t4.toml"} <= found
    missing = found - members(wheel)
    assert not missing, missing


def test_the_native_module_is_in_the_wheel_and_no_c(wheel: Path) -> None:
    names = members(wheel)
    assert len([name for name in names if re.fullmatch(r"ridgeline/_native\..*\.so", name)]) == 1
    assert not [name for name in names if name.endswith((".c", ".h", "CMakeLists.txt"))]


def test_the_metadata_names_licence_commands_and_extras(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name)
        metadata = archive.read(f"{info}/METADATA").decode()
        points = archive.read(f"{info}/entry_points.txt").decode()
        assert f"{info}/licenses/LICENSE" in archive.namelist()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE)) == {
        "onnx", "torch", "tflite", "openvino", "opencl", "numba", "optuna", "sampling", "learn", "serve", "postgres", "parquet", "profiles", "ray",
        "all",
    }  # fmt: skip
    assert "ridgeline = ridgeline.__main__:main" in points.replace("=", " = ").replace("  ", " ")
    assert "[ridgeline.devices]" in points


def test_the_installed_wheel_works_away_from_the_sources(wheel: Path, tmp_path: Path) -> None:
    """From the archive unpacked into an empty folder, with the editable install out of the way."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = f"""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
sys.modules.pop("ridgeline", None)
sys.path.insert(0, {str(tmp_path / "site")!r})
import ridgeline, ridgeline._native
from ridgeline.device import shipped
print(ridgeline.__file__, ridgeline._native.__file__, len(shipped()), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    face, native, devices = done.stdout.splitlines()
    assert face.startswith(str(tmp_path))
    assert native.startswith(str(tmp_path))
    assert int(devices) >= 7
