"""A graph that rules rewrite: operators that are merged, dropped and added, and what that makes of their work.

This module knows how a graph is changed and keeps every operator's origin; which change a runtime makes is in `rules`, `blocked` and `fusion`. Work
of a merged operator is that of the one that leads it, its bytes what it reads and writes once it is one: each distinct operand once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ridgeline.core import Engine, Graph, Op, Tensor

__all__ = ["Net", "Part"]

Shape = tuple[int, ...]

# Before the kind of an operator that has fewer operands than its kind: no rule may look at it.
_ODD = "\0"
_FEWEST = {
    "Conv": 2, "Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Pow": 2, "Sum": 2, "MatMul": 2, "Gemm": 2, "MatMulInteger": 2, "QuantizeLinear": 2,
    "DequantizeLinear": 2, "Expand": 2, "Slice": 2, "LayerNormalization": 2, "BatchNormalization": 5, "Constant": 0,
    "com.microsoft:FusedConv": 2, "com.microsoft:FusedMatMul": 2,
}  # fmt: skip


class Part:
    """An operator while it is rewritten.

    `op`: the one that leads it; `members`: names of all operators of the original graph in it, in their order; `work`: group, engine and
    operations for each element of the result, where the whole does other work than the one that leads it.
    """

    __slots__ = ("attributes", "inputs", "kind", "members", "op", "outputs", "place", "work")

    def __init__(self, op: Op, place: float = 0.0) -> None:
        odd = sum(map(bool, op.inputs[: _FEWEST.get(op.kind, 1)])) < _FEWEST.get(op.kind, 1) or not all(op.outputs[:1]) or not op.outputs
        self.op, self.kind, self.place = op, _ODD * odd + op.kind, place
        self.inputs, self.outputs = list(op.inputs), list(op.outputs)
        self.attributes = dict(op.attributes)
        self.members = [op.name]
        self.work: tuple[str, Engine, float] | None = None

    @property
    def result(self) -> str:
        """The first output."""
        return self.outputs[0] if self.outputs else ""


class Net:
    """A graph in the making."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.tensors = {tensor.name: tensor for tensor in graph.tensors}
        for name in {name for op in graph.ops for name in (*op.inputs, *op.outputs)} - self.tensors.keys():
            self.tensors[name] = Tensor(name=name, shape=None, dtype="")
        self._ends = set(graph.outputs)
        self._parts = {id(part): part for place, op in enumerate(graph.ops) for part in (Part(op, place),)}
        self._maker: dict[str, Part] = {}
        self._readers: dict[str, list[Part]] = {}
        self._inserted = 0
        for part in self.parts:
            self._enter(part)

    @property
    def parts(self) -> Iterator[Part]:
        """Parts in order, less those that are gone when their turn comes."""
        return (part for part in sorted(self._parts.values(), key=lambda part: part.place) if id(part) in self._parts)

    def _enter(self, part: Part) -> None:
        self._maker.update({name: part for name in part.outputs if name})
        for name in dict.fromkeys(part.inputs):
            self._readers.setdefault(name, []).append(part)

    def _leave(self, part: Part) -> None:
        for name in part.outputs:
            if self._maker.get(name) is part:
                del self._maker[name]
        for name in dict.fromkeys(part.inputs):
            self._readers[name] = [each for each in self._readers[name] if each is not part]

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def maker(self, name: str) -> Part | None:
        """The part that makes a value."""
        return self._maker.get(name)

    def readers(self, name: str) -> list[Part]:
        """Parts that read a value."""
        return self._readers.get(name, [])

    def only_reader(self, part: Part) -> Part | None:
        """The one part that reads the first output, if no other does and nobody outside."""
        readers = self.readers(part.result)
        return readers[0] if len(readers) == 1 and part.result not in self._ends else None

    def is_end(self, name: str) -> bool:
        """Whether it is a result of the graph."""
        return name in self._ends

    def shape(self, name: str) -> Shape | None:
        """A shape of numbers, `None` where one is not known."""
        tensor = self.tensors.get(name)
        if tensor is None or tensor.shape is None or not all(isinstance(dim, int) for dim in tensor.shape):
            return None
        return tuple(int(dim) for dim in tensor.shape)

    def constant(self, name: str) -> bool:
        """Whether it is there before the run."""
        tensor = self.tensors.get(name)
        return tensor is not None and tensor.constant

    def single(self, name: str) -> bool:
        """Whether it is a constant of one number."""
        return self.constant(name) and self.shape(name) in ((), (1,))

    # ── changing ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def absorb(self, part: Part, others: Sequence[Part], inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Make one part of several; it stands where the last of them stood."""
        involved = sorted([part, *others], key=lambda each: each.place)
        for each in involved:
            self._leave(each)
            del self._parts[id(each)]
        part.members = [name for each in involved for name in each.members]
        part.inputs, part.outputs, part.place = list(inputs), list(outputs), involved[-1].place
        self._parts[id(part)] = part
        self._enter(part)

    def follow(self, part: Part, follower: Part, extra: Sequence[str] = ()) -> None:
        """Merge a part with the one behind it, which may bring operands of its own."""
        self.absorb(part, [follower], [*part.inputs, *extra], follower.outputs)

    def drop(self, part: Part, instead: str | None = None) -> None:
        """Take a part away; those who read its result read `instead`, if that is given."""
        self._leave(part)
        del self._parts[id(part)]
        if instead is None:
            return
        for reader in list(self.readers(part.result)):
            self.reread(reader, part.result, instead)
        if part.result in self._ends and (maker := self.maker(instead)) is not None:
            self._rename(maker, instead, part.result)

    def reread(self, reader: Part, before: str, after: str) -> None:
        """Let a part read another value in the place of one."""
        self._leave(reader)
        reader.inputs = [after if name == before else name for name in reader.inputs]
        self._enter(reader)

    def _rename(self, maker: Part, before: str, after: str) -> None:
        """A result of the graph keeps its name."""
        readers = list(self.readers(before))
        self._leave(maker)
        maker.outputs = [after if name == before else name for name in maker.outputs]
        self._enter(maker)
        for reader in readers:
            self.reread(reader, before, after)

    def fix(self, name: str) -> None:
        """Take a value as there before the run."""
        if name in self.tensors:
            self.tensors[name] = msgspec.structs.replace(self.tensors[name], constant=True)

    def insert(self, part: Part, beside: Part, *, after: bool) -> None:
        """Put a new part before or after another."""
        # Places are whole numbers at first; those of one gap keep the order in which they come.
        self._inserted += 1
        part.place = beside.place + (0.25 if after else -0.25) + self._inserted * 1e-9
        self._parts[id(part)] = part
        self._enter(part)

    def tensor(self, like: str, name: str, shape: Sequence[int], layout: str = "") -> str:
        """A new value of the same element type; its name."""
        self.tensors[name] = msgspec.structs.replace(self.tensors[like], name=name, shape=tuple(shape), storage="", layout=layout)
        return name

    # ── what it has become ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

    def graph(self) -> Graph:
        """The graph as it is now."""
        ops = tuple(self._op(part) for part in self.parts)
        used = {name for op in ops for name in (*op.inputs, *op.outputs)} | {*self._graph.inputs, *self._graph.outputs}
        tensors = tuple(tensor for tensor in self.tensors.values() if tensor.name in used)
        unknown = tuple(op.name for op in ops if op.flop is None)
        return msgspec.structs.replace(self._graph, ops=ops, tensors=tensors, unknown=unknown)

    def _op(self, part: Part) -> Op:
        op = part.op
        part.kind = part.kind.removeprefix(_ODD)
        if part.members == [op.name] and part.kind == op.kind and tuple(part.inputs) == op.inputs and tuple(part.outputs) == op.outputs:
            return msgspec.structs.replace(op, attributes=part.attributes)
        flop, engine, reason = op.flop, op.engine, op.reason
        view = part.attributes.get("group") == "view"
        if "+" in part.kind:
            part.attributes["lead"] = op.kind
        if part.work is not None:
            part.attributes["group"], engine, each = part.work
            elements = self._elements(part.result)
            flop, reason = (None, "the shape of its result is not known") if elements is None else (each * elements, "")
        return msgspec.structs.replace(
            op, kind=part.kind, inputs=tuple(part.inputs), outputs=tuple(part.outputs), attributes=part.attributes, flop=flop, engine=engine,
            reason=reason, read_bytes=0 if view else self._bytes(part.inputs), write_bytes=0 if view else self._bytes(part.outputs),
        )  # fmt: skip

    def _elements(self, name: str) -> float | None:
        shape = self.shape(name)
        if shape is None:
            return None
        elements = 1.0
        for dim in shape:
            elements *= dim
        return elements

    def _bytes(self, names: Sequence[str]) -> int | None:
        sizes = [self._size(name) for name in dict.fromkeys(names) if name]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def _size(self, name: str) -> int | None:
        tensor: Tensor | None = self.tensors.get(name)
        return tensor.size_bytes if tensor is not None else None
