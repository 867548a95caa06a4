"""Documents of models as files: read whole, never more than there is room for, and refused in one line that names the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import msgspec

from ridgeline.core import ReadError, RidgelineError
from ridgeline.core.documents import decode
from ridgeline.readers.source import Limits, Source

__all__ = ["ledger_file", "read_document", "schema_of"]

T = TypeVar("T", bound=msgspec.Struct)
_LIMITS = Limits(whole_bytes=2**29)
#: What a person calls them.
_NAMES = {
    "OperatorModel": "a file that `ridgeline model train` wrote", "Device": "a file that `ridgeline probe --json` wrote",
    "OperatorList": "a list of operators",
}  # fmt: skip
_SCHEMA = re.compile(r'"schema"\s*:\s*"(ridgeline\.[a-z-]{1,40}/[0-9]{1,6})"')


def ledger_file(model: str | Path) -> Path:
    """Where the calibration of a model file is kept."""
    return Path(f"{model}.calibration")


def schema_of(path: str | Path) -> str | None:
    """The schema that a file of ours begins with; `None` for a folder, and for a file of somebody else."""
    if not Path(path).is_file():
        return None
    try:
        head = Source(path).head_text
    except ReadError:
        return None
    found = _SCHEMA.search(head[:4096])
    return found.group(1) if found and head.lstrip().startswith("{") else None


def read_document(path: str | Path, kind: type[T]) -> T:
    """A document from a file, packed or not.

    Raises:
        ReadError: no such file, larger than 512 MiB, no document of that type, a newer one, or a damaged one; the file is named.
    """
    wanted = _NAMES.get(kind.__name__, f"a document of type {kind.__name__}")
    file = Path(path)
    if not file.is_file() or file.stat().st_size > _LIMITS.whole_bytes:
        found = "which is larger" if file.is_file() else "a folder" if file.is_dir() else "where nothing is"
        raise ReadError(f"{wanted} of at most {_LIMITS.whole_bytes >> 20} MiB", found=f"{path}, {found}", remedy="check the path")
    source = Source(path, _LIMITS)
    try:
        return decode(source.data, kind)
    except RidgelineError as error:
        if str(path) in error.found:
            raise
        raise ReadError(error.expected, found=f"{path}: {error.found}", remedy=error.remedy) from error
    except MemoryError as error:
        raise ReadError("a document that fits the memory", found=str(path), remedy="take it from where it was kept") from error
