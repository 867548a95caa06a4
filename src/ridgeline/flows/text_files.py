"""Text files that a person wrote, such as a suite or a specification: read whole, or refused in one line."""

from __future__ import annotations

import os
from pathlib import Path

from ridgeline.core import ReadError, UsageError

__all__ = ["text_of_file"]

#: A file longer than this was written by no person.
_MOST_BYTES = 4_000_000


def text_of_file(text: str, root: Path, what: str) -> str:
    """What is in a file.

    Args:
        text: its path, relative to `root` if it is; what: it should be, for messages.

    Raises:
        UsageError: no such file, a folder, or no regular file.
        ReadError: too long, or not UTF-8.
    """
    path = root / os.path.expanduser(text)
    try:
        if not (path.is_file() or path.is_dir()) and path.exists():
            raise UsageError(what, found=f"{text}, which is no regular file", remedy="check the path")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(what, found=f"{text}: {getattr(error, 'strerror', None) or error}", remedy="check the path") from error
    if len(data) > _MOST_BYTES:
        raise ReadError(what, found=f"{text}, longer than {_MOST_BYTES} bytes", remedy="give a smaller file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadError(f"{what} in UTF-8", found=f"{text}: {error}", remedy="mend the file") from error
