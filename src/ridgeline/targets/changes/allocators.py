"""Changes of the allocator: memory that is freed stays with the process, or comes in huge pages. They change no arithmetic.

Sources: mallopt(3) (M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD and their variables); the glibc manual, "Memory Allocation Tunables"
(glibc.malloc.hugetlb, since 2.35).
"""

from __future__ import annotations

import platform

import msgspec

from ridgeline.core import Machine

from ..spec import TargetSpec
from .base import Change, Situation

__all__ = ["KeepFreedMemory", "MallocHugePages"]

_GLIBC = "glibc malloc"
#: Variables by which a person may have tuned the allocator already.
_TUNED = ("LD_PRELOAD", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "GLIBC_TUNABLES")
#: Large blocks from the heap, whose top is never trimmed and grows by 64 MiB.
_KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**46), "MALLOC_TOP_PAD_": str(64 * 2**20)}


class _Glibc(Change):
    def why_not(self, situation: Situation) -> str:
        """Only glibc's allocator has these options."""
        if situation.info.kind not in ("script", "command") and situation.info.allocator != _GLIBC:
            return f"it is an option of glibc's allocator, and this is {situation.info.allocator or 'not known'}"
        tuned = [name for name in _TUNED if name in situation.info.environment or name in situation.spec.environment]
        return f"the allocator is tuned already ({', '.join(tuned)})" if tuned else ""


class KeepFreedMemory(_Glibc):
    """glibc's allocator keeps what is freed instead of giving it back to the kernel, so that pages are cleared once."""

    name = "keep-freed-memory"
    carries_out = ("change-allocator",)
    control = True
    caveat = f"memory that was once used stays with the process; set {' '.join(f'{name}={value}' for name, value in _KEEP.items())} before it starts"

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """Large blocks come from the heap, and its top is never trimmed."""
        return msgspec.structs.replace(spec, environment={**spec.environment, **_KEEP})


class MallocHugePages(_Glibc):
    """glibc's allocator asks for transparent huge pages."""

    name = "malloc-huge-pages"
    carries_out = ("huge-pages",)
    caveat = "set GLIBC_TUNABLES=glibc.malloc.hugetlb=1 before it starts"

    def why_not(self, situation: Situation) -> str:
        """The option is there since glibc 2.35."""
        library, version = platform.libc_ver()
        if library == "glibc" and tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < (2, 35):
            return f"it needs glibc 2.35 or newer, and this is {version}"
        return super().why_not(situation)

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """The tunable is read when the process starts."""
        return msgspec.structs.replace(spec, environment={**spec.environment, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})
