"""A recording of a space from whatever wrote it: a record of ours, a cache of Kernel Tuner, T4 results."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ridgeline.core import RecordedSpace
from ridgeline.readers.tuning import read_recorded_space

from .record import read_record

__all__ = ["is_record", "read_recording"]

#: How the first line of a record of ours begins.
_OURS = b'{"schema":"ridgeline.trials/'


def read_recording(path: str | os.PathLike[str]) -> RecordedSpace:
    """What was recorded; `kernel` is its name, `device` where it was.

    Raises:
        ReadError: no such file, none of these, or damaged.
    """
    if not is_record(path):
        return read_recorded_space(Path(path))
    found = read_record(path)
    head = found.head
    return RecordedSpace(
        space=head.space, trials=tuple(found.trials), kernel=head.name, device=head.machine, unit=head.unit, remarks=tuple(found.remarks)
    )


def is_record(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a record of ours, by how it begins; a file that cannot be read is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            # A pipe would be waited for, and what was read of it is gone.
            return False
        with open(path, "rb") as file:
            return file.read(len(_OURS)) == _OURS
    except (OSError, ValueError):
        return False
