"""What a library did inside its operators, by its own log: primitives and the reorders between them."""

from __future__ import annotations

import msgspec

from .quantity import Quantity

__all__ = ["Primitive", "PrimitiveTable"]


class Primitive(msgspec.Struct, frozen=True, kw_only=True):
    """One primitive, all its executions in one call of the target together.

    Args:
        kind: as the library names it, such as `convolution` or `reorder`.
        implementation: the kernel it chose, such as `jit:avx512_core`.
        calls: executions in one call of the target.
        total_s: seconds in one call of the target.
        shapes: problem and layouts, for display.
        operator: index of the row of the operator table it ran inside; null if not known.
        read_bytes, write_bytes: compulsory bytes of one execution; null if not known.
    """

    kind: str
    calls: float
    total_s: Quantity
    implementation: str = ""
    shapes: str = ""
    operator: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None


class PrimitiveTable(msgspec.Struct, frozen=True, kw_only=True):
    """Primitives of one call of the target, in order of first execution, and the log they come from."""

    primitives: tuple[Primitive, ...]
    library: str
    instrument: str
    wall_s: Quantity
