"""Peak memory by liveness: against a walk that frees tensor by tensor, and on graphs with views, branches and constants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.analytic.patient import patient
from ridgeline.core import OutOfRange, UsageError
from ridgeline.core.graph import Graph, Op, Tensor
from ridgeline.model.analytic import memory


def tensor(name, elements, **more):
    return Tensor(name=name, shape=(elements,), dtype="float32", **more)


def walked(graph, inputs_stay=True):
    """The most bytes that live at once, by allocating outputs before an op and freeing after it what nobody reads any more."""
    sizes = {one.name: one.size_bytes for one in graph.tensors if not one.constant}
    live = set(graph.inputs)
    most = 0
    for at, op in enumerate(graph.ops):
        live |= set(op.outputs)
        most = max(most, sum(sizes[name] for name in live))
        later = {name for after in graph.ops[at + 1 :] for name in after.inputs} | set(graph.outputs)
        live = {name for name in live if name in later or (inputs_stay and name in graph.inputs)}
    return most


@st.composite
def graphs(draw):
    """A random order of ops, each reading some tensors that were made before."""
    names = ["in"]
    tensors = [tensor("in", draw(st.integers(1, 50)))]
    ops = []
    for place in range(draw(st.integers(1, 12))):
        read = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        made = f"t{place}"
        tensors.append(tensor(made, draw(st.integers(1, 50))))
        ops.append(Op(name=f"op{place}", kind="Conv", inputs=tuple(read), outputs=(made,)))
        names.append(made)
    return Graph(name="random", ops=tuple(ops), tensors=tuple(tensors), inputs=("in",), outputs=(names[-1],))


@patient
@given(graphs(), st.booleans())
def test_a_walk_that_frees_agrees(graph, stay):
    # An output that nobody reads and that is no output of the graph dies with its op in both.
    assert memory.peak_memory(graph, inputs_stay=stay).peak_bytes == walked(graph, stay)


@patient
@given(graphs())
def test_peak_lies_between_the_largest_op_and_everything(graph):
    sizes = {one.name: one.size_bytes for one in graph.tensors}
    largest = max(sum(sizes[name] for name in {*op.inputs, *op.outputs}) for op in graph.ops)
    found = memory.peak_memory(graph)
    assert largest <= found.peak_bytes <= sum(sizes.values())
    assert found.live_bytes[found.at] == found.activation_bytes == found.live_bytes.max()
    assert memory.peak_memory(graph, in_place=lambda op: True).peak_bytes <= found.peak_bytes


def residual(storage=""):
    tensors = (
        tensor("x", 100),
        tensor("w", 1000, constant=True),
        tensor("a", 100),
        tensor("b", 100),
        tensor("v", 100, storage=storage),
        tensor("y", 100),
    )
    ops = (
        Op(name="first", kind="Gemm", inputs=("x", "w"), outputs=("a",)),
        Op(name="second", kind="Relu", inputs=("a",), outputs=("b",)),
        Op(name="view", kind="Reshape", inputs=("b",), outputs=("v",)),
        Op(name="add", kind="Add", inputs=("v", "x"), outputs=("y",)),
    )
    return Graph(name="residual", ops=ops, tensors=tensors, inputs=("x",), outputs=("y",))


def test_constants_count_once_and_views_share():
    found = memory.peak_memory(residual())
    assert found.constant_bytes == 4000
    assert found.live_bytes.tolist() == [800, 1200, 1200, 1200]
    shared = memory.peak_memory(residual(storage="b"))
    assert shared.live_bytes.tolist() == [800, 1200, 800, 1200]
    # In place: b takes a's place, y takes v's.
    assert memory.peak_memory(residual(storage="b"), in_place=memory.elementwise_in_place).live_bytes.tolist() == [800, 800, 800, 800]


def test_a_fork_in_two_orders():
    tensors = (tensor("x", 1), *(tensor(name, size) for name, size in (("a", 100), ("b", 1), ("c", 100), ("d", 1), ("y", 1))))
    ops = (
        Op(name="a", kind="Conv", inputs=("x",), outputs=("a",)),
        Op(name="c", kind="Conv", inputs=("x",), outputs=("c",)),
        Op(name="b", kind="Conv", inputs=("a",), outputs=("b",)),
        Op(name="d", kind="Conv", inputs=("c",), outputs=("d",)),
        Op(name="y", kind="Add", inputs=("b", "d"), outputs=("y",)),
    )
    graph = Graph(name="fork", ops=ops, tensors=tensors, inputs=("x",), outputs=("y",))
    assert memory.peak_memory(graph).peak_bytes == 4 * (1 + 100 + 100 + 1)
    assert memory.peak_memory(graph, order=[0, 2, 1, 3, 4]).peak_bytes == 4 * (1 + 1 + 100 + 1)
    with pytest.raises(UsageError, match="d reads c"):
        memory.peak_memory(graph, order=[0, 3, 1, 2, 4])
    with pytest.raises(UsageError, match="each of 5 ops once"):
        memory.peak_memory(graph, order=[0, 0, 1, 2, 3])


def test_unknown_sizes_and_names_are_refused():
    open_shape = Graph(
        name="open",
        ops=(Op(name="a", kind="Relu", inputs=("x",), outputs=("y",)),),
        tensors=(Tensor(name="x", shape=("N", 3), dtype="float32"), tensor("y", 3)),
        inputs=("x",),
        outputs=("y",),
    )
    with pytest.raises(OutOfRange, match="bind the shapes"):
        memory.peak_memory(open_shape)
    with pytest.raises(UsageError, match="nowhere"):
        memory.peak_memory(Graph(name="odd", ops=(Op(name="a", kind="Relu", inputs=("nowhere",), outputs=()),), tensors=()))
    assert memory.peak_memory(Graph(name="empty", ops=(), tensors=())).peak_bytes == 0
