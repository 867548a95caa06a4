"""Bytes between the writing of inputs and their reading, by hand."""

from __future__ import annotations

from ridgeline.core import Graph, Op, Tensor
from ridgeline.model.graphs.distances import ages


def tensor(name: str, elements: int, *, constant: bool = False) -> Tensor:
    return Tensor(name=name, shape=(elements,), dtype="float32", constant=constant)


def op(name: str, inputs: tuple[str, ...], output: str, read: int, written: int) -> Op:
    return Op(name=name, kind="Add", inputs=inputs, outputs=(output,), read_bytes=read, write_bytes=written)


def test_a_chain_reads_what_was_just_written_and_a_branch_what_is_older() -> None:
    graph = Graph(
        name="g", tensors=(tensor("x", 10), tensor("w", 1000, constant=True), tensor("a", 10), tensor("b", 10), tensor("c", 10), tensor("d", 10)),
        ops=(op("one", ("x",), "a", 40, 40), op("two", ("a", "w"), "b", 4040, 40), op("three", ("b",), "c", 40, 40),
             op("four", ("c", "a"), "d", 80, 40)),
    )  # fmt: skip
    # The first reads what was there before; then each what its neighbour wrote; the last one of two inputs past 4,160 bytes, mean of 0 and those.
    assert ages(graph) == [80.0, 4080.0, 80.0, 120.0 + 4160.0 / 2]


def test_what_a_caller_hands_in_late_is_old() -> None:
    graph = Graph(name="g", tensors=(tensor("x", 10), tensor("y", 10), tensor("a", 10), tensor("b", 10)),
                  ops=(op("one", ("x",), "a", 40, 40), op("two", ("y",), "b", 40, 40)))  # fmt: skip
    assert ages(graph) == [80.0, 160.0]


def test_nothing_known_counts_as_nothing() -> None:
    graph = Graph(
        name="g", tensors=(Tensor(name="x", shape=None, dtype="float32"),), ops=(Op(name="one", kind="Add", inputs=("x",), outputs=("y",)),)
    )
    assert ages(graph) == [0.0]
