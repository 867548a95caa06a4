"""`op_work`: operations, engine, compulsory bytes and group of one ONNX operator, from its shapes alone.

This module decides which formula applies and what traffic is compulsory where a formula says nothing else: each distinct input once, each output
once. The formulas are in `formulas`, one small function a kind. An operator without one, or whose shapes are not known, has `flop=None` and a
reason: unknown, which is not zero.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ridgeline.core import Engine, Precision

from .node import LARGEST, Node, Unknown, Value, precision_of

__all__ = ["Bytes", "Formula", "Work", "bytes_read", "bytes_written", "formula", "known_kinds", "op_work"]

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
_FORMULAS: dict[tuple[str, str], Formula] = {}
_DOMAINS = {"ms": "com.microsoft", "nchwc": "com.microsoft.nchwc", "nhwc": "com.ms.internal.nhwc", "ml": "ai.onnx.ml", "preview": "ai.onnx.preview"}


def formula(*kinds: str) -> Callable[[Formula], Formula]:
    """Register a formula under operator types, several to a text; a prefix such as `ms:` stands for a domain of `_DOMAINS`."""

    def register(function: Formula) -> Formula:
        for word in " ".join(kinds).split():
            prefix, _, kind = word.rpartition(":")
            key = (_DOMAINS[prefix] if prefix else "", kind)
            if key in _FORMULAS:
                raise AssertionError(f"two formulas for {word}")
            _FORMULAS[key] = function
        return function

    return register


def known_kinds() -> frozenset[tuple[str, str]]:
    """(domain, operator type) of everything that has a formula."""
    _load()
    return frozenset(_FORMULAS)


def op_work(node: Node) -> Work:
    """The work of one execution of `node`: bytes and, where there is a formula and the shapes are known, operations.

    Never raises for what a file may contain: what cannot be counted is `None`, with a reason.
    """
    _load()
    found = _FORMULAS.get(("" if node.domain == "ai.onnx" else node.domain, node.kind))
    if found is None:
        kind = f"{node.domain}:{node.kind}" if node.domain else node.kind
        return _complete(Work(group="other", flop=None, reason=f"no formula for {kind}"), node)
    try:
        return _complete(found(node), node)
    except Unknown as unknown:
        reason = str(unknown)
    except (IndexError, ZeroDivisionError, TypeError, ValueError, OverflowError) as error:
        # A formula trusts the definition of its operator; a node that does not keep to it is not an error of ours.
        reason = f"shapes or attributes that do not fit {node.kind}: {error}"
    return _complete(Work(group=_group(found, node.kind), flop=None, reason=reason), node)


def _complete(work: Work, node: Node) -> Work:
    """Fill in the traffic and precision that the formula left open; refuse counts that no machine could do."""
    if work.flop is not None and not 0 <= work.flop < float(LARGEST) ** 2:
        work = msgspec.structs.replace(work, flop=None, engine=None, reason="more operations than any machine can do")
    return msgspec.structs.replace(
        work,
        reads=bytes_read(node) if work.reads is None else work.reads,
        writes=bytes_written(node) if work.writes is None else work.writes,
        precision=precision_of(node) if work.precision == "any" else work.precision,
    )


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


def _group(function: Formula, kind: str) -> str:
    """The group that the module of a formula stands for, for a node whose shapes are not known."""
    module = function.__module__.rpartition(".")[2]
    if module == "quantised":
        return "convolution" if "Conv" in kind else "matmul" if "MatMul" in kind or "Gemm" in kind else "elementwise"
    return {"recurrent": "matmul", "control": "other", "signal": "other"}.get(module, module)


def _load() -> None:
    from . import formulas  # registers; here because every formula imports this module

    formulas.load()
