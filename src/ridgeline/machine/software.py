"""Which software a measurement stands on: versions from the packages' metadata, without importing any of them, and the commit of the target."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["PACKAGES", "commit_of", "origin_of", "software_versions"]

#: Packages whose version changes what is measured.
PACKAGES = (
    "ridgeline", "numpy", "scipy", "torch", "onnx", "onnxruntime", "onnxruntime-gpu", "openvino", "ai-edge-litert", "jax", "numba", "py-spy",
)  # fmt: skip
_GIT_LIMIT_S = 10.0
# `scheme://user:password@host/…` (RFC 3986, 3.2.1).
_USER = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^/@]*)@")


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


def origin_of(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> tuple[str, str]:
    """Where the repository that holds `path` is cloned from, without password, and `directory` relative to its root; each empty where not known.

    Args:
        path: a file or folder.
        directory: such as the present one; empty too where it lies outside the repository.
    """
    place = Path(path).absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    root = _git(place, "rev-parse", "--show-toplevel")
    if not root:
        return "", ""
    url = _git(place, "config", "--get", "remote.origin.url") or ""
    try:
        inside = Path(directory).resolve().relative_to(Path(root).resolve()).as_posix()
    except (OSError, ValueError):
        inside = ""
    return _USER.sub(_without_secret, url), "" if inside == "." else inside


def _without_secret(match: re.Match[str]) -> str:
    """A name alone is no secret for ssh, which needs it; over http a name alone is often a token."""
    name = match["user"].partition(":")[0]
    return f"{match['scheme']}{name}@" if match["scheme"].lower().endswith("ssh://") and name else match["scheme"]


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
