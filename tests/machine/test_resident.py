"""Memory at most: of this process from a moment on, without what is set aside, and of processes that it starts."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ridgeline.machine import PeakMemory, most_resident_of

MIB = 2**20
#: Counts of the kernel are kept for each CPU, and brought together after so many pages.
OFF = 4 * MIB


def taken(mib: int) -> None:
    np.ones(mib * MIB, np.uint8)


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_what_was_taken_and_given_back_counts_and_what_came_before_does_not() -> None:
    taken(200)
    peak = PeakMemory()
    assert peak.exact
    taken(64)
    held = np.ones(32 * MIB, np.uint8)
    assert abs(peak.read_bytes() - 64 * MIB) < OFF
    taken(64)
    assert abs(peak.read_bytes() - 96 * MIB) < OFF
    assert held[0] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_what_is_set_aside_does_not_count_nor_what_of_it_is_kept() -> None:
    peak = PeakMemory()
    taken(40)
    with peak.aside():
        taken(200)
        kept = np.ones(60 * MIB, np.uint8)
    assert abs(peak.read_bytes() - 40 * MIB) < OFF
    taken(50)
    assert abs(peak.read_bytes() - 50 * MIB) < OFF
    assert kept[0] == 1


def kept_by_the_allocator(mib: int) -> int:
    """Take so much in pieces too small to be mapped one by one, and free them below one that stays, which is returned."""
    c = ctypes.CDLL(None)
    c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    pieces = [c.malloc(MIB // 16) for _ in range(16 * mib)]
    for piece in pieces:
        ctypes.memset(piece, 1, MIB // 16)
    pin = c.malloc(MIB // 16)
    for piece in pieces:
        c.free(piece)
    return int(pin)


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="of glibc")
def test_what_is_taken_does_not_hide_in_pages_that_were_freed_before() -> None:
    pins = [kept_by_the_allocator(64)]
    peak = PeakMemory()
    pins.append(kept_by_the_allocator(64))
    assert abs(peak.read_bytes() - 64 * MIB) < OFF
    with peak.aside():
        pins.append(kept_by_the_allocator(200))
    pins.append(kept_by_the_allocator(96))
    assert abs(peak.read_bytes() - 96 * MIB) < OFF
    for pin in pins:
        ctypes.CDLL(None).free(ctypes.c_void_p(pin))


def test_where_nothing_can_be_forgotten_only_growth_is_seen(tmp_path: Path) -> None:
    peak = PeakMemory(own=tmp_path / "none")
    assert not peak.exact
    before = peak.read_bytes()
    with peak.aside():
        pass
    taken(8)
    assert (before, peak.read_bytes()) == (0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
@pytest.mark.parametrize("mib", [30, 400])
def test_a_process_that_is_started_is_not_taken_for_this_one(mib: int) -> None:
    """Its size by rusage begins at that of the process that started it."""
    mine = np.ones(150 * MIB, np.uint8)
    text = f"x = bytes([1]) * {mib * MIB}\nimport time\ntime.sleep(0.05)"
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", text])
    found = most_resident_of(process)
    assert process.returncode == 0
    assert mib * MIB < found < (mib + 25) * MIB
    assert mine[0] == 1
