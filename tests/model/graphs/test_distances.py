"""Bytes between the writing of inputs and their reading, by hand."""

from __future__ import annotations

from ridgeline.core import Graph, Op, Tensor
from ridgeline.model.graphs.distances import ages, result_ages


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


def chain(group: str, *sizes: int, outputs: tuple[str, ...] = ("t3",)) -> Graph:
    """Three operators one after the other, t0 → t1 → t2 → t3, of so many elements each."""
    names = [f"t{number}" for number in range(len(sizes))]
    ops = tuple(
        Op(name=f"o{number}", kind="K", inputs=(names[number],), outputs=(names[number + 1],), attributes={"group": group},
           read_bytes=4 * sizes[number], write_bytes=4 * sizes[number + 1])
        for number in range(len(sizes) - 1)
    )  # fmt: skip
    tensors = tuple(tensor(name, size) for name, size in zip(names, sizes, strict=True))
    return Graph(name="g", tensors=tensors, ops=ops, outputs=outputs)


def test_results_take_memory_that_is_free_again() -> None:
    """By hand: the first takes one of the two that the call before left, the second the other, the third that of the first."""
    assert result_ages(chain("matmul", 10, 10, 10, 10)) == [80.0, 160.0, 80.0]


def test_an_elementwise_result_is_written_over_its_input() -> None:
    assert result_ages(chain("elementwise", 10, 10, 10, 10)) == [80.0, 80.0, 80.0]


def test_an_input_that_is_needed_later_is_not_written_over() -> None:
    """t1 is a result of the model: the second operator takes other memory, that of t1 in the call before, which it read itself then."""
    assert result_ages(chain("elementwise", 10, 10, 10, 10, outputs=("t1", "t3"))) == [80.0, 160.0 + 80.0, 80.0]


def test_a_result_takes_the_smallest_memory_that_holds_it() -> None:
    """By hand: 40 and 400 bytes; t3, of 40, takes the small memory again, and t1 of the next call does, and t2 always the large one."""
    assert result_ages(chain("matmul", 10, 10, 100, 10)) == [80.0, 440.0 + 80.0, 440.0]


def test_what_only_sees_another_tensor_has_no_memory() -> None:
    graph = Graph(
        name="g", tensors=(tensor("x", 10), tensor("a", 10), tensor("v", 10), tensor("b", 10)), outputs=("b",),
        ops=(Op(name="one", kind="K", inputs=("x",), outputs=("a",), attributes={"group": "matmul"}, read_bytes=40, write_bytes=40),
             Op(name="see", kind="Reshape", inputs=("a",), outputs=("v",), attributes={"group": "view"}, read_bytes=0, write_bytes=0),
             Op(name="two", kind="K", inputs=("v",), outputs=("b",), attributes={"group": "elementwise"}, read_bytes=40, write_bytes=40)),
    )  # fmt: skip
    assert result_ages(graph) == [80.0, 0.0, 80.0]
