"""Emptying caches: how large the buffer is, and, on this machine, that pages of a file are gone afterwards. How cold is cold is benchmarked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine.control.trees import tree
from ridgeline.core import UsageError
from ridgeline.machine.control import CacheEmptier, forget_files
from ridgeline.machine.control import cold as module

MIB = 1 << 20
CACHE = "sys/devices/system/cpu/cpu0/cache"


def caches(root: Path, last: str = "4096K", available_kib: int = 1 << 20) -> Path:
    files = {"proc/meminfo": f"MemTotal: 9999999 kB\nMemAvailable: {available_kib} kB\n"}
    for index, (level, size) in enumerate([("1", "32K"), ("2", "1024K"), ("3", last)]):
        files |= {f"{CACHE}/index{index}/level": level, f"{CACHE}/index{index}/type": "Unified", f"{CACHE}/index{index}/size": size}
    return tree(root, files)


def test_twice_the_last_level(tmp_path: Path) -> None:
    emptier = CacheEmptier(root=caches(tmp_path))
    assert (emptier.size_bytes, emptier.assumed) == (8 * MIB, False)
    emptier()


def test_as_much_as_memory_allows_but_more_than_the_cache(tmp_path: Path) -> None:
    assert CacheEmptier(root=caches(tmp_path / "tight", available_kib=24 << 10)).size_bytes == 6 * MIB
    with pytest.raises(UsageError, match="memory"):
        CacheEmptier(root=caches(tmp_path / "none", available_kib=8 << 10))


def test_where_the_caches_are_hidden_the_size_is_assumed_and_said(tmp_path: Path) -> None:
    emptier = CacheEmptier(root=tree(tmp_path, {"proc/meminfo": "MemAvailable: 9999999 kB\n"}))
    assert (emptier.size_bytes, emptier.assumed) == (64 * MIB, True)


@pytest.mark.parametrize("size", [0, -1, 1 << 60])
def test_sizes_that_are_none(size: int) -> None:
    with pytest.raises(UsageError):
        CacheEmptier(size)


def test_the_buffer_is_memory_of_its_own_and_left_clean() -> None:
    """Pages that were never written would all be the one page of zeros, which empties nothing."""
    before = _resident()
    emptier = CacheEmptier(64 * MIB)
    assert _resident() - before > 60 * MIB
    emptier()
    assert (emptier._buffer == 1).all()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_other_cpus_are_visited_and_the_affinity_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed, visited = os.sched_getaffinity(0), list[set[int]]()
    really = os.sched_setaffinity

    def noted(pid: int, cpus: set[int]) -> None:
        visited.append(set(cpus))
        really(pid, cpus)

    monkeypatch.setattr(module.os, "sched_setaffinity", noted)
    emptier = CacheEmptier(MIB, cpus=[*allowed, 4000])
    visited.clear()
    emptier()
    assert visited == [*({cpu} for cpu in allowed), {4000}, allowed]
    assert os.sched_getaffinity(0) == allowed


def test_pages_of_a_file_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(os.urandom(4 * MIB))
    file.read_bytes()
    assert forget_files([file]) == ()
    if _on_memory(tmp_path):
        pytest.skip("the temporary folder lies in memory, whose files have no other place")
    assert _cached(file) == 0
    file.read_bytes()
    assert _cached(file) > 0


def _on_memory(folder: Path) -> bool:
    kinds = {line.split()[1]: line.split()[2] for line in Path("/proc/mounts").read_text().splitlines()}
    best = max((mount for mount in kinds if folder.is_relative_to(mount)), key=len)
    return kinds[best] in {"tmpfs", "ramfs", "overlay", "9p", "virtiofs", "fuse"}


def _cached(file: Path) -> int:
    """Pages of a file in the page cache, by mincore(2)."""
    import ctypes
    import mmap

    import numpy as np

    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        pages = -(-len(mapped) // mmap.PAGESIZE)
        there = (ctypes.c_ubyte * pages)()
        address = np.frombuffer(mapped, np.uint8).ctypes.data
        assert ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(mapped)), there) == 0
        return sum(page & 1 for page in there)


def test_what_cannot_be_forgotten_is_named(tmp_path: Path) -> None:
    missing, bad = tmp_path / "missing", "a\0b"
    failed = forget_files([missing, bad, tmp_path])
    assert failed[0] == f"{missing}: No such file or directory"
    assert "null" in failed[1]
