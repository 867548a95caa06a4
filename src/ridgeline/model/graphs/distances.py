"""How much a call touches between the writing of an operator's inputs and their reading, and since the memory of its results was last used.

Operators run one after the other. What stands between producer and consumer pushes the inputs outwards by the bytes that it reads and writes; weights
of the whole call stand between two uses of a weight. Results are written to memory that is free again, the smallest that holds them and of that the
one used last, or over an input that nothing else needs; that is how arenas of runtimes give it out, in the main. Source: R. Mattson et al.,
"Evaluation techniques for storage hierarchies", IBM Systems Journal 9 (1970) (stack distance; here in bytes touched, which bounds it from above).
"""

from __future__ import annotations

from typing import NamedTuple

from ridgeline.core import Graph, Op

__all__ = ["ages", "result_ages"]


def ages(graph: Graph) -> list[float]:
    """For each operator, in its order, bytes touched since its inputs were written, those of the operator itself among them.

    Of several inputs the mean, by their bytes; what a caller hands in was written before the call. An operator whose bytes are not known counts as
    none.
    """
    sizes = {tensor.name: float(tensor.size_bytes or 0) for tensor in graph.tensors}
    constant = {tensor.name for tensor in graph.tensors if tensor.constant}
    touched, before = 0.0, dict[str, float]()
    found = []
    for op in graph.ops:
        own = float((op.read_bytes or 0) + (op.write_bytes or 0))
        inputs = [(sizes.get(name, 0.0), touched - before.get(name, 0.0)) for name in op.inputs if name and name not in constant]
        weight = sum(size for size, _ in inputs)
        found.append(own + (sum(size * distance for size, distance in inputs) / weight if weight else 0.0))
        touched += own
        before.update(dict.fromkeys(op.outputs, touched))
    return found


class _Memory(NamedTuple):
    """A piece of memory: its bytes, and how much had been touched when it was last used."""

    size: float
    used: float


def result_ages(graph: Graph) -> list[float]:
    """For each operator, in its order, bytes touched since the memory of its results was last used, those of the operator itself among them.

    Of several results the mean, by their bytes. Calls follow each other: at the beginning of one all memory is free that the one before had.
    """
    sizes = {tensor.name: float(tensor.size_bytes or 0) for tensor in graph.tensors}
    arena, found = _Arena(graph, sizes), list[float]()
    for _ in range(2):
        found = [arena.run(place, op) for place, op in enumerate(graph.ops)]
        arena.end()
    return found


class _Arena:
    """Memory of a runtime: what is free, what holds a tensor, and how much has been touched."""

    def __init__(self, graph: Graph, sizes: dict[str, float]) -> None:
        self._sizes, self._homes = sizes, _homes(graph)
        self._last = {self._home(name): place for place, op in enumerate(graph.ops) for name in op.inputs if name}
        self._kept = {self._home(name) for name in graph.outputs}
        self._free: list[_Memory] = []
        self._live: dict[str, _Memory] = {}
        self._touched = 0.0

    def _home(self, name: str) -> str:
        return self._homes.get(name, name)

    def run(self, place: int, op: Op) -> float:
        """Run one operator: bytes touched since the memory of its results was last used."""
        own = float((op.read_bytes or 0) + (op.write_bytes or 0))
        inputs = [name for name in dict.fromkeys(self._home(name) for name in op.inputs if name) if name in self._live]
        ended = [name for name in inputs if self._last[name] == place and name not in self._kept]
        made = [name for name in op.outputs if name and name not in self._homes]
        over = list(ended) if op.attributes.get("group") == "elementwise" else []
        ages_ = [self._place(name, over) for name in made]
        self._touched += own
        for name in (*inputs, *made):
            if name in self._live:
                self._live[name] = self._live[name]._replace(used=self._touched)
        for name in (*ended, *made):
            if name in self._live and self._last.get(name, place) <= place and name not in self._kept:
                self._free.append(self._live.pop(name))
        weight = sum(self._sizes.get(name, 0.0) for name in made)
        return own + (sum(self._sizes.get(name, 0.0) * age for name, age in zip(made, ages_, strict=True)) / weight if weight else 0.0)

    def _place(self, name: str, over: list[str]) -> float:
        """Give a result memory: over an input that ends and is as large, else the smallest that holds it and was used last, else new."""
        size = self._sizes.get(name, 0.0)
        input_ = next((each for each in over if self._sizes.get(each, 0.0) == size), None)
        if input_ is not None:
            over.remove(input_)
            memory = self._live.pop(input_)
        else:
            fitting = [place for place, each in enumerate(self._free) if each.size >= size]
            best = min(fitting, key=lambda place: (self._free[place].size, -self._free[place].used), default=None)
            memory = _Memory(size, 0.0) if best is None else self._free.pop(best)
        self._live[name] = memory
        return self._touched - memory.used

    def end(self) -> None:
        """The call is over: all memory is free."""
        self._free += self._live.values()
        self._live.clear()


def _homes(graph: Graph) -> dict[str, str]:
    """Of what only sees another tensor's memory, that tensor."""
    found: dict[str, str] = {}
    for op in graph.ops:
        if op.attributes.get("group") == "view" and op.inputs:
            found |= {name: found.get(op.inputs[0], op.inputs[0]) for name in op.outputs}
    return found
