"""SIMD of a CPU by its instruction sets: how wide a vector is, and how many registers hold one.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapters 10, 14 and 15; Arm Architecture Reference Manual for
A-profile, B1.2.
"""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["vector_bits", "vector_registers"]

_BITS = (("avx512f", 512), ("avx2", 256), ("sse2", 128), ("asimd", 128))
_REGISTERS = (("avx512f", 32), ("avx2", 16), ("sse2", 16), ("asimd", 32))


def vector_bits(isa: Collection[str]) -> int | None:
    """Bits of the widest vector; null where no set of these is there."""
    return next((bits for name, bits in _BITS if name in isa), None)


def vector_registers(isa: Collection[str]) -> int | None:
    """Vector registers that a program sees."""
    return next((count for name, count in _REGISTERS if name in isa), None)
