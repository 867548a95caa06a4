"""The user's home folder and what lies in it by the XDG Base Directory Specification, for rooms that keep files there and do not know each other."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from .errors import UsageError

__all__ = ["home_directory", "state_directory"]


def home_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """`$HOME` if it is an absolute path, else what the password database says; never `/` by way of an empty HOME.

    Raises:
        UsageError: neither names a folder.
    """
    named = environment.get("HOME", "")
    if os.path.isabs(named):
        return Path(named)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise UsageError(
            "a home folder", found=f"HOME={named!r} and no entry for user {os.getuid()}", remedy="set HOME to an absolute path"
        ) from None


def state_directory(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder `name` in `$RIDGELINE_STATE`, else in `$XDG_STATE_HOME/ridgeline`, else in `~/.local/state/ridgeline`; not made here.

    Raises:
        UsageError: there is no home folder.
    """
    own, shared = environment.get("RIDGELINE_STATE"), environment.get("XDG_STATE_HOME", "")
    # The specification says to ignore a relative path there.
    base = Path(own) if own else (Path(shared) if os.path.isabs(shared) else home_directory(environment) / ".local" / "state") / "ridgeline"
    return base / name
