"""Reading /proc and /sys below a root that tests can set: a file that is missing, unreadable or not text is `None`, never an error.

What the texts mean is decided by `host`, `cgroup` and `clock`.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["cpu_list", "number", "read"]


def read(root: Path, path: str) -> str | None:
    """The text of `root`/`path` without its last line break, `None` if it cannot be read.

    Args:
        root: `/`, or the folder of a recorded tree.
        path: such as `proc/stat`, with or without a leading slash.
    """
    try:
        return (root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except (OSError, ValueError):
        return None


def number(text: str | None) -> int | None:
    """The whole number in a text, `None` for anything else (`max`, nothing, words)."""
    try:
        return None if text is None else int(text.strip())
    except ValueError:
        return None


def cpu_list(text: str | None) -> tuple[int, ...]:
    """CPU numbers of the kernel's list format (cpuset(7)); empty for what is not one.

    >>> cpu_list("0-2,7")
    (0, 1, 2, 7)
    """
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        try:
            low, high = int(first), int(last or first)
        except ValueError:
            continue
        if 0 <= low <= high < 1 << 16:
            found.update(range(low, high + 1))
    return tuple(sorted(found))
