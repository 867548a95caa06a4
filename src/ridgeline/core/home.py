"""The user's home folder, for rooms that keep files there and do not know each other."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from .errors import UsageError

__all__ = ["home_directory"]


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
