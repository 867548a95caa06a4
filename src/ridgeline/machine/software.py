"""Which software a measurement stands on: versions from the packages' metadata, without importing any of them, and the commit of the target."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["PACKAGES", "commit_of", "software_versions"]

#: Packages whose version changes what is measured.
PACKAGES = (
    "ridgeline", "numpy", "scipy", "torch", "onnx", "onnxruntime", "onnxruntime-gpu", "openvino", "ai-edge-litert", "jax", "numba", "py-spy",
)  # fmt: skip
_GIT_LIMIT_S = 10.0


def software_versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Name → version of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit_of(path: str | os.PathLike[str]) -> str | None:
    """The commit of the repository that holds `path`, with `+dirty` where a tracked file was changed; `None` outside one, for an
    ignored file, or without git.

    Args:
        path: a file or folder; a file that does not exist is looked for in its folder.
    """
    place = Path(path).absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    head = _git(place, "rev-parse", "--verify", "HEAD")
    # A file that the repository ignores (a model inside a virtual environment, say) is not part of its history.
    if not head or _git(place, "check-ignore", "--quiet", str(Path(path).absolute())) is not None:
        return None
    changed = _git(place, "status", "--porcelain", "--untracked-files=no")
    return head + ("+dirty" if changed else "")


def _git(directory: Path, *arguments: str) -> str | None:
    # No prompts, no locks in a repository that somebody else is working in, and none of the repository's own programs (fsmonitor).
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(directory), *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_LIMIT_S, check=False, start_new_session=True
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
