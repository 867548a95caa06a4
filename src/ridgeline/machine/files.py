"""Where ridgeline keeps what it can make again, and how a file is written so that no one ever sees half of it.

The cache follows the XDG Base Directory Specification; what is cached, and for how long, is decided by the flows.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ridgeline.core import UsageError
from ridgeline.core.home import home_directory

__all__ = ["cache_directory", "write_atomic", "written_whole"]


def cache_directory(name: str = "") -> Path:
    """The folder `$RIDGELINE_CACHE`, else `$XDG_CACHE_HOME/ridgeline`, else `~/.cache/ridgeline`; with `name` below it. Made if missing.

    Raises:
        UsageError: it cannot be made.
    """
    own = os.environ.get("RIDGELINE_CACHE")
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says to ignore a relative path there.
    base = Path(own) if own else (Path(shared) if os.path.isabs(shared) else home_directory() / ".cache") / "ridgeline"
    directory = base / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "set RIDGELINE_CACHE to a folder that you may write to"
        raise UsageError("a folder for the cache", found=f"{directory}: {error.strerror or error}", remedy=remedy) from error
    return directory


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        UsageError: as `written_whole`.
    """
    with written_whole(path) as file:
        file.write(data)


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` when the block ends well, and leaves no trace otherwise: a temporary beside it, flushed to
    the disk, then renamed.

    Raises:
        UsageError: no permission, no space, a folder in its place, or a folder that does not exist.
    """
    target = Path(path)
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
        temporary = None
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise UsageError("a file that can be written", found=f"{target}: {what}", remedy="check the folder, its permissions and its space") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _mode(target: Path) -> int:
    """The mode of the file that is replaced, else what a plain `open` would give under the umask in force."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    # There is no way to read the umask but to set it; a thread's own is in /proc without that risk.
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return 0o666 & ~int(line.partition(":")[2], 8)
    return 0o644
