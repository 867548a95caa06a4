"""The memory hierarchy as the kernel describes it in sysfs, smallest level first.

CPUID is not asked: in a virtual machine its answer is often that of another machine. Where sysfs says nothing, nothing is returned; what to assume
then is the caller's decision. Source of the files: Documentation/ABI/testing/sysfs-devices-system-cpu of the Linux kernel.
"""

from __future__ import annotations

import re
from pathlib import Path

from ridgeline.core import MemoryLevel

__all__ = ["parse_cpu_list", "read_levels"]

_SYSFS = Path("/sys/devices/system/cpu")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,12})([KMG]?)", re.ASCII)
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)


def read_levels(cpu: int = 0, *, root: Path = _SYSFS) -> tuple[MemoryLevel, ...]:
    """Data and unified caches of one CPU, by level.

    Args:
        cpu: logical CPU number; another one's caches may differ on a hybrid processor.
        root: the directory that holds `cpu0`, …

    Returns:
        Levels named `L1`, `L2`, …; empty where the system shows none.
    """
    try:
        folders = sorted((root / f"cpu{cpu}" / "cache").glob("index*"))
    except OSError:
        return ()
    found = {level.name: level for level in map(_read_level, folders) if level is not None}
    return tuple(found[name] for name in sorted(found))


def _read_level(folder: Path) -> MemoryLevel | None:
    kind, number, size = _text(folder / "type"), _text(folder / "level"), _SIZE.fullmatch(_text(folder / "size"))
    if kind not in ("Data", "Unified") or number not in ("1", "2", "3", "4") or size is None:
        return None
    capacity = int(size[1]) * _UNITS[size[2]]
    line = _text(folder / "coherency_line_size")
    sharers = parse_cpu_list(_text(folder / "shared_cpu_list"))
    if capacity == 0:
        return None
    return MemoryLevel(
        name=f"L{number}",
        capacity_bytes=capacity,
        shared_by=len(sharers) or None,
        line_bytes=int(line) if line.isascii() and line.isdigit() and 0 < int(line[:6]) <= 4096 else 64,
    )


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """CPU numbers of a kernel list such as `0-3,8`; empty if it is not one.

    >>> parse_cpu_list("0-2,8")
    (0, 1, 2, 8)
    """
    numbers: set[int] = set()
    for part in text.split(",") if text else []:
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return ()
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(numbers))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(65536).decode("ascii", errors="replace").strip()
    except OSError:
        return ""
