"""What a formula of an ONNX operator takes and gives, and where it registers; the traffic that is compulsory where a formula says nothing else.

A model file shows operands and no storages, so traffic is by position of the operand: each distinct input once, each output once.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ridgeline.core import Engine, Precision
from ridgeline.work.registry import Registry

from .node import Node, Unknown, Value

__all__ = ["FORMULAS", "Bytes", "Formula", "Work", "bytes_read", "bytes_written", "formula", "formula_for"]

Bytes = tuple[int | None, ...]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What one execution must do at the least.

    Args:
        group: as in `ridgeline.core.OperatorRow`.
        flop: multiply-adds × 2 on `fma`, elements on any other engine, 0 for pure movement; `None` if unknown.
        engine: what limits its arithmetic; `None` for pure movement or unknown work.
        precision: number format of the arithmetic.
        reads: bytes of each input, aligned with the node's inputs; 0 for an absent or repeated one, `None` if unknown.
        writes: bytes of each output likewise.
        reason: why something is unknown, or how it was counted where that is not plain.
    """

    group: str
    flop: float | None = 0.0
    engine: Engine | None = None
    precision: Precision = "any"
    reads: Bytes | None = None
    writes: Bytes | None = None
    reason: str = ""

    @property
    def read_bytes(self) -> int | None:
        """Sum over `reads`; `None` if one is unknown."""
        return _sum(self.reads)

    @property
    def write_bytes(self) -> int | None:
        """Sum over `writes`; `None` if one is unknown."""
        return _sum(self.writes)


def _sum(parts: Bytes | None) -> int | None:
    if parts is None:
        return None
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


Formula = Callable[[Node], Work]
#: By `domain:kind`; the standard domain is empty.
FORMULAS: Registry[Formula] = Registry()
_DOMAINS = {"ms": "com.microsoft", "nchwc": "com.microsoft.nchwc", "nhwc": "com.ms.internal.nhwc", "ml": "ai.onnx.ml", "preview": "ai.onnx.preview"}


def formula(*kinds: str) -> Callable[[Formula], Formula]:
    """Register a formula under operator types, several to a text; a prefix such as `ms:` stands for a domain of `_DOMAINS`."""
    words = (word.rpartition(":") for word in " ".join(kinds).split())
    return FORMULAS.register(*(f"{_DOMAINS[prefix] if prefix else ''}:{kind}" for prefix, _, kind in words))


def formula_for(node: Node) -> Formula | None:
    """The formula of a node's kind, `None` if there is none."""
    return FORMULAS.get(f"{'' if node.domain == 'ai.onnx' else node.domain}:{node.kind}")


def bytes_read(node: Node) -> Bytes:
    """Each distinct input once, in full."""
    return _each(node.inputs)


def bytes_written(node: Node) -> Bytes:
    """Each output once, in full."""
    return _each(node.outputs)


def _each(values: tuple[Value | None, ...]) -> Bytes:
    seen: set[str] = set()
    sizes: list[int | None] = []
    for value in values:
        if value is None or (value.name and value.name in seen):
            sizes.append(0)
            continue
        seen.add(value.name)
        sizes.append(_size(value))
    return tuple(sizes)


def _size(value: Value) -> int | None:
    try:
        return value.size_bytes
    except Unknown:
        return None
