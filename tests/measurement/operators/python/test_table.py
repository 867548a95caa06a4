"""Rows from events made by hand: exclusive time, union, threads, edges, limits; and what is waiting or the interpreter's."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import UsageError
from ridgeline.measurement.operators.python.capture import Seen
from ridgeline.measurement.operators.python.classify import Cpu, classify
from ridgeline.measurement.operators.python.iteration import Iteration, Track, lend, same_way
from ridgeline.measurement.operators.python.sites import Place
from ridgeline.measurement.operators.python.table import ROW_LIMIT, tabulate
from ridgeline.measurement.operators.python.tape import LIMIT, Event, Tape
from ridgeline.work.numpy import ArrayFacts

MS = 1_000_000
PLACES = [Place("a.py", line, 0, "call", "main") for line in range(1, 10)]


def array(buffer: int, *shape: int, fresh: bool = False) -> ArrayFacts:
    return ArrayFacts(shape=shape or (1000,), buffer=buffer, fresh=fresh)


def seen(kind: str, inputs: tuple[int, ...], output: int, **more: Any) -> Seen:
    return Seen(kind=kind, inputs=tuple(array(buffer) for buffer in inputs), outputs=(array(output, fresh=True),), **more)


def event(site: int, start: float, end: float, what: Seen | None, *, inner: float = 0, thread: float = -1, process: float = -1) -> Event:
    cpu = [int(value * MS) if value >= 0 else -1 for value in (thread, process)]
    return Event(site, int(start * MS), int(end * MS), int(inner * MS), cpu[0], cpu[1], what)


def call(*events: Event, wall: float = 10, main: bool = True, beyond: Any = None) -> Iteration:
    return Iteration(wall_ns=int(wall * MS), check_ns=int(wall * MS), tracks=(Track(main=main, events=list(events), beyond=beyond or {}),))


def test_rows_times_edges_and_persistence() -> None:
    first = [event(0, 0, 2, seen("numpy.multiply", (5,), 6)), event(1, 3, 4, seen("numpy.add", (6, 5), 7))]
    second = [event(0, 0, 4, seen("numpy.multiply", (5,), 6)), event(1, 5, 6, seen("numpy.add", (6, 5), 7))]
    table = tabulate([call(*first), call(*second), call(*first)], PLACES)
    multiply, add = table.rows
    assert (multiply.total_s.value, multiply.total_s.low, multiply.total_s.high) == pytest.approx((2e-3, 2e-3, 4e-3))
    assert (multiply.calls, multiply.flop, multiply.name) == (1, 1000, "numpy.multiply@a.py:1")
    assert add.after == (0,)
    assert [(use.buffer, use.persistent) for use in add.reads or ()] == [(6, False), (5, True)]
    assert table.operators_s.value == pytest.approx(3e-3)
    assert table.wall_s.value == pytest.approx(10e-3)


def test_a_product_with_itself_is_a_row_beside_those_with_others() -> None:
    """A table of products of three blocks: 3 of the 9 are of a block with its own transpose, and half a product each."""
    blocks = [ArrayFacts(shape=(4, 4), strides=(32, 8), buffer=1, offset=128 * place) for place in range(3)]
    turned = [msgspec.structs.replace(block, strides=(8, 32)) for block in blocks]
    products = [Seen(kind="numpy.matmul", inputs=(one, other), outputs=(array(9, 4, 4, fresh=True),)) for one in blocks for other in turned]
    events = [event(0, number, number + 1, product) for number, product in enumerate(products)]
    own, others = tabulate([call(*events)], PLACES).rows
    assert (own.calls, own.flop) == (3, 3 * 2 * 4 * 10)
    assert (others.calls, others.flop) == (6, 6 * 2 * 4 * 16)


def test_a_callback_is_the_interpreters_and_inside_the_union_as_its_row_is_in_the_table() -> None:
    inside = event(0, 1, 2, seen("numpy.exp", (1,), 2))
    outer = event(1, 0, 5, Seen(kind="scipy.optimize.minimize", calls_back=True), inner=1)
    table = tabulate([call(inside, outer)], PLACES)
    minimize, exp = table.rows
    assert (minimize.group, minimize.total_s.value, minimize.flop) == ("python", pytest.approx(4e-3), None)
    assert exp.total_s.value == pytest.approx(1e-3)
    # One truth: on one thread the union is what the rows add up to.
    assert table.operators_s.value == pytest.approx(5e-3) == sum(row.total_s.value for row in table.rows)


def test_other_threads_have_rows_but_do_not_lengthen_the_union() -> None:
    main = Track(main=True, events=[event(0, 0, 3, seen("numpy.exp", (1,), 2))])
    worker = Track(main=False, events=[event(1, 0, 9, seen("numpy.tanh", (1,), 3))])
    table = tabulate([Iteration(wall_ns=10 * MS, check_ns=10 * MS, tracks=(main, worker))], PLACES)
    assert {row.kind for row in table.rows} == {"numpy.exp", "numpy.tanh"}
    assert table.operators_s.value == pytest.approx(3e-3)


@pytest.mark.parametrize(
    ("kind", "size", "process", "pool", "threads"),
    [("numpy.matmul", 500, 9, 4, 2), ("numpy.matmul", 500, 30, 4, 4), ("numpy.matmul", 500, 2, 4, 1),
     ("numpy.matmul", 20, 9, 4, 1), ("numpy.add", 500, 9, 4, 1)],
)  # fmt: skip
def test_threads_are_cpu_time_over_wall_where_a_library_has_threads(kind: str, size: int, process: float, pool: int, threads: int) -> None:
    what = Seen(kind=kind, inputs=(array(0, size, size), array(1, size, size)), outputs=(array(2, size, size, fresh=True),))
    table = tabulate([call(event(0, 0, 4.5, what, thread=4.5, process=process))], PLACES, pool=pool)
    assert table.rows[0].placement.threads == threads


def test_threads_of_a_product_are_unknown_where_no_clock_was_read() -> None:
    what = Seen(kind="numpy.matmul", inputs=(array(0, 500, 500), array(1, 500, 500)), outputs=(array(2, 500, 500),))
    assert tabulate([call(event(0, 0, 1, what))], PLACES).rows[0].placement.threads is None


def test_rows_beyond_the_limit_go_by_kind_and_keep_their_time() -> None:
    events = [event(0, i, i + 1, Seen(kind="numpy.exp", inputs=(array(0, i + 1),), outputs=())) for i in range(ROW_LIMIT + 50)]
    table = tabulate([call(*events)], PLACES)
    assert len(table.rows) == ROW_LIMIT + 1
    assert sum(row.total_s.value for row in table.rows) == pytest.approx((ROW_LIMIT + 50) * 1e-3)
    assert sum(row.calls for row in table.rows) == ROW_LIMIT + 50


def test_events_beyond_the_limit_are_summed_by_site() -> None:
    tape = Tape()
    for i in range(LIMIT + 5):
        tape.add(3, i, i + 2, 1, -1, -1, None)
    assert len(tape.events) == LIMIT
    assert tape.beyond == {3: (5, 5)}
    table = tabulate([call(event(0, 0, 1, seen("numpy.exp", (1,), 2)), beyond={0: (4, 8 * MS), 7: (2, MS)})], PLACES)
    assert [(row.calls, row.total_s.value) for row in table.rows] == [(5, pytest.approx(9e-3)), (2, pytest.approx(1e-3))]


def test_no_calls_is_an_error() -> None:
    with pytest.raises(UsageError):
        tabulate([], PLACES)


def test_details_are_lent_only_along_the_same_way() -> None:
    what = seen("numpy.exp", (1,), 2)
    detailed, plain, other = call(event(0, 0, 1, what)), call(event(0, 5, 9, None)), call(event(1, 0, 1, None))
    assert same_way(detailed, plain)
    assert not same_way(detailed, other)
    (lent,) = lend(detailed, plain).tracks[0].events
    assert (lent.seen, lent.start_ns, lent.end_ns) == (what, 5 * MS, 9 * MS)


@given(st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=4), max_leaves=20))
def test_exclusive_times_of_any_nesting_add_up_to_the_outermost_spans(tree: list[Any]) -> None:
    events: list[Event] = []
    clock = 0

    def visit(children: list[Any]) -> int:
        nonlocal clock
        start = clock
        clock += 1
        inner = sum(visit(child) for child in children)
        clock += 1
        events.append(Event(0, start, clock, inner, -1, -1, Seen(kind="numpy.exp")))
        return clock - start

    whole = visit(tree)
    assert sum(one.exclusive_ns for one in events) == whole
    table = tabulate([Iteration(wall_ns=whole, check_ns=whole, tracks=(Track(main=True, events=events),))], PLACES)
    assert table.operators_s.value == pytest.approx(whole * 1e-9)


@pytest.mark.parametrize(
    ("kind", "cpu", "group"),
    [
        ("time.sleep", Cpu(10, 0, 0), "blocking"),
        ("time.sleep", Cpu(), "blocking"),
        ("json.loads", Cpu(10, 10, 10), "python"),
        ("json.loads", Cpu(), "python"),
        ("io.BufferedReader.read", Cpu(10, 1, 1), "blocking"),
        ("threading.Thread.join", Cpu(10, 1, 10), "other"),
        ("queue.Queue.get", Cpu(10, 0, 1), "blocking"),
    ],
)
def test_what_works_on_no_array_waits_or_interprets(kind: str, cpu: Cpu, group: str) -> None:
    work = classify(Seen(kind=kind, arrays=False), cpu)
    assert (work.group, work.flop, work.reads) == (group, None, None)
    assert work.reason


def test_an_array_operation_that_was_held_up_is_not_blocking() -> None:
    """A thread that is runnable but waits for a CPU uses no CPU time either."""
    assert classify(seen("numpy.add", (1,), 2), Cpu(10, 1, 1)).group == "elementwise"
    assert classify(seen("numpy.load", (), 2), Cpu(10, 1, 1)).group == "blocking"
