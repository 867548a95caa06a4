"""The import contracts hold, and would fail: each planted violation in a copy of the sources must be found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The editable install answers for `ridgeline` before the path does; without its finder the copy in the current folder is the one analysed.
LINT = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
sys.modules.pop("ridgeline", None)
sys.path.insert(0, "src")
from importlinter.cli import lint_imports_command
lint_imports_command(["--no-cache", "--no-logo"])
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as far as the contracts see it."""
    folder = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "src" / "ridgeline", folder / "src" / "ridgeline", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True, timeout=120)


def test_the_contracts_hold(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("room", "line", "says"),
    [
        ("core", "from ..stats import __name__ as planted", "ridgeline.core -> ridgeline.stats"),
        ("laws", "import ridgeline.stats", "laws is not allowed to import ridgeline.stats"),
        ("readers", "import ridgeline.notebook", "readers is not allowed to import ridgeline.notebook"),
        ("timeline", "import ridgeline.machine", "timeline is not allowed to import ridgeline.machine"),
        ("reporting", "import ridgeline.flows", "reporting is not allowed to import ridgeline.flows"),
        ("diagnosis", "import ridgeline.targets", "diagnosis is not allowed to import ridgeline.targets"),
        ("model", "import ridgeline.measurement", "model is not allowed to import ridgeline.measurement"),
        ("tuning", "import ridgeline.backends", "tuning is not allowed to import ridgeline.backends"),
        ("measurement", "def late():\n    import ridgeline.flows", "measurement is not allowed to import ridgeline.flows"),
    ],
)
def test_a_planted_violation_is_found(copy: Path, room: str, line: str, says: str) -> None:
    planted = copy / "src" / "ridgeline" / room / "planted.py"
    planted.write_text(f"{line}\n")
    try:
        done = lint(copy)
    finally:
        planted.unlink()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "planted" in done.stdout
    flat = " ".join(done.stdout.split())
    assert says in flat or f"ridgeline.{room}.planted" in flat


def test_a_room_without_a_floor_is_found(copy: Path) -> None:
    """The ladder is exhaustive: a new package must be given its place."""
    room = copy / "src" / "ridgeline" / "attic"
    room.mkdir()
    (room / "__init__.py").write_text("")
    try:
        done = lint(copy)
    finally:
        shutil.rmtree(room)
    assert done.returncode == 1
    assert "attic" in done.stdout
