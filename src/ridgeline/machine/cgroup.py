"""Control groups, versions 1 and 2: CPU quota, memory limit and throttling of the group this process is in.

A limit of a parent group binds as well, so every group up to the mount is asked and the tightest answer taken. Formats: cgroups(7) and the kernel's
admin-guide/cgroup-v2 (`cpu.max`, `memory.max`, `cpu.stat`) and cgroup-v1 (`cpu.cfs_quota_us`, `memory.limit_in_bytes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from .system_files import number, read

__all__ = ["Throttling", "memory_limit_bytes", "quota_cpus", "stat_files", "swap_limit_bytes", "throttling"]

# Version 1 writes "no limit" as the largest multiple of a page.
_NO_LIMIT = 2**60


class Throttling(msgspec.Struct, frozen=True, kw_only=True):
    """How often and for how many seconds the quota has stopped this group so far."""

    periods: int
    seconds: float


def quota_cpus(root: Path = Path("/")) -> float | None:
    """CPU quota in CPUs (quota ÷ period), the tightest of all groups above; `None` if there is none."""
    found = []
    for group in _groups(root, "cpu"):
        quota, period = _quota(root, group)
        if quota is not None and period and quota > 0:
            found.append(quota / period)
    return min(found, default=None)


def _quota(root: Path, group: PurePosixPath) -> tuple[int | None, int | None]:
    second = (read(root, f"{group}/cpu.max") or "").split()
    if second:
        return number(second[0]), number(second[1]) if len(second) > 1 else 100_000
    return number(read(root, f"{group}/cpu.cfs_quota_us")), number(read(root, f"{group}/cpu.cfs_period_us"))


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """Memory limit in bytes, the tightest of all groups above; `None` if there is none."""
    found = []
    for group in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = number(read(root, f"{group}/{name}"))
            if limit is not None and 0 < limit < _NO_LIMIT:
                found.append(limit)
    return min(found, default=None)


def swap_limit_bytes(root: Path = Path("/")) -> int | None:
    """How much of this group may be swapped out, in bytes, the tightest of all groups above; `None` where nothing says so (version 1)."""
    found = [number(read(root, f"{group}/memory.swap.max")) for group in _groups(root, "memory")]
    return min((limit for limit in found if limit is not None and limit >= 0), default=None)


def stat_files(root: Path = Path("/")) -> tuple[Path, ...]:
    """The `cpu.stat` files of all groups above that are there, for who reads them often."""
    files = (root / str(group).lstrip("/") / "cpu.stat" for group in _groups(root, "cpu"))
    return tuple(dict.fromkeys(file for file in files if file.is_file()))


def throttling(root: Path = Path("/")) -> Throttling | None:
    """Throttling so far, of the group that was throttled most; `None` where no group counts it."""
    found = []
    for group in _groups(root, "cpu"):
        lines = (line.split() for line in (read(root, f"{group}/cpu.stat") or "").splitlines())
        counts = {words[0]: number(words[1]) for words in lines if len(words) == 2}
        periods = counts.get("nr_throttled")
        if periods is not None:
            # Microseconds in version 2, nanoseconds in version 1.
            seconds = (counts.get("throttled_usec") or 0) / 1e6 or (counts.get("throttled_time") or 0) / 1e9
            found.append(Throttling(periods=periods, seconds=seconds))
    return max(found, key=lambda entry: entry.periods, default=None)


def _groups(root: Path, controller: str) -> Iterator[PurePosixPath]:
    """Folders of the groups this process is in that could carry `controller`, from its own up to the mount."""
    own = _own_groups(root)
    for mount_root, mount_point, controllers in _mounts(root):
        if controllers is not None and controller not in controllers:
            continue
        path = own.get(None if controllers is None else controller)
        if path is None:
            continue
        # Without a namespace of its own a container sees a path from outside that does not exist below its mount.
        try:
            inside = PurePosixPath(path).relative_to(mount_root)
        except ValueError:
            inside = PurePosixPath(path).relative_to("/") if path.startswith("/") else PurePosixPath()
        for group in (inside, *inside.parents):
            yield mount_point / group


def _own_groups(root: Path) -> dict[str | None, str]:
    """Controller → path in /proc/self/cgroup; `None` is the unified hierarchy of version 2."""
    found: dict[str | None, str] = {}
    for line in (read(root, "proc/self/cgroup") or "").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and ".." not in parts[2]:
            for controller in parts[1].split(","):
                found[controller or None] = parts[2]
    return found


def _mounts(root: Path) -> Iterator[tuple[str, PurePosixPath, set[str] | None]]:
    """(root inside the hierarchy, mount point, controllers) of every cgroup mount in mountinfo (proc(5)); controllers are `None` for version 2."""
    for line in (read(root, "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) >= 5 and len(kind) >= 3 and kind[0] in {"cgroup", "cgroup2"}:
            yield fields[3], PurePosixPath(fields[4]), None if kind[0] == "cgroup2" else set(kind[2].split(","))
