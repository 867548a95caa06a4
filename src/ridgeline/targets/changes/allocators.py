"""Changes of the allocator: memory that is freed stays with the process, or comes in huge pages. They change no arithmetic.

Sources: mallopt(3) (M_MMAP_MAX, M_TRIM_THRESHOLD, M_TOP_PAD and their variables); the glibc manual, "Memory Allocation Tunables"
(glibc.malloc.hugetlb, since 2.35); ld.so(8) (LD_PRELOAD).
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ridgeline.core import Machine

from ..spec import TargetSpec
from .base import Change, Situation

__all__ = ["KeepFreedMemory", "MallocHugePages", "PreloadJemalloc", "PreloadMimalloc", "PreloadTcmalloc"]

#: Where distributions put shared libraries.
_FOLDERS = ("/usr/local/lib", "/usr/lib", "/usr/lib64", "/lib", "/lib64")
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


class _Preload(_Glibc):
    """Another allocator, loaded before the C library's."""

    carries_out = ("change-allocator",)
    library = ""

    def why_not(self, situation: Situation) -> str:
        """The library must be installed."""
        return super().why_not(situation) or ("" if self._path() else f"no {self.library}.so in {', '.join(_FOLDERS)}")

    def before(self, spec: TargetSpec, machine: Machine) -> TargetSpec:
        """The variable is read by the dynamic linker when the process starts."""
        path = self._path()
        return msgspec.structs.replace(spec, environment={**spec.environment, "LD_PRELOAD": path}) if path else spec

    def _path(self) -> str:
        """The first of its libraries that is there, by the order of folders and of names; empty where none is."""
        return next((str(path) for folder in _FOLDERS for path in _libraries(Path(folder), self.library)), "")


def _libraries(folder: Path, name: str) -> Iterator[Path]:
    """In a folder and in that of its architecture below it."""
    yield from sorted(folder.glob(f"{name}.so*"))
    yield from sorted(folder.glob(f"{platform.machine()}-*/{name}.so*"))


class PreloadJemalloc(_Preload):
    """jemalloc instead of glibc's allocator."""

    name = "preload-jemalloc"
    library = "libjemalloc"
    caveat = "start it with LD_PRELOAD=libjemalloc.so.2 (Debian: libjemalloc2)"


class PreloadTcmalloc(_Preload):
    """The allocator of gperftools instead of glibc's."""

    name = "preload-tcmalloc"
    library = "libtcmalloc_minimal"
    caveat = "start it with LD_PRELOAD=libtcmalloc_minimal.so.4 (Debian: libtcmalloc-minimal4)"


class PreloadMimalloc(_Preload):
    """mimalloc instead of glibc's allocator."""

    name = "preload-mimalloc"
    library = "libmimalloc"
    caveat = "start it with LD_PRELOAD=libmimalloc.so (Debian: libmimalloc2.0)"
