"""Layouts from facts made by hand: what a repetition on another layout shows, what it does not, and reorders inside operators."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.core import BufferUse, Diagnosis, Facts, Need, Primitive, PrimitiveTable, Quantity, Relayout
from ridgeline.diagnosis import blockable_rows, unfavourable_rows
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import MB, around, buffer, exact, facts, row


def strided(identity: int, size: int, step: int = 32_768) -> BufferUse:
    return BufferUse(buffer=identity, size_bytes=size, stride_bytes=step)


def jumping(seconds: float = 0.0095, **fields: Any):
    defaults: dict[str, Any] = {
        "group": "elementwise",
        "kind": "numpy.subtract",
        "engine": "add",
        "flop": 2.5e6,
        "reads": (buffer(1, 10 * MB), strided(2, 10 * MB)),
        "writes": (buffer(3, 10 * MB),),
        "threads": 1,
    }
    return row("jump", seconds, **{**defaults, **fields})


def tried(as_is_s: float, changed_s: float, operator: int = 0, layout: str = "side by side") -> Relayout:
    return Relayout(operator=operator, as_is_s=around(as_is_s, "s"), changed_s=around(changed_s, "s"), layout=layout)


def diagnose(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def test_an_operator_that_is_faster_on_the_other_layout() -> None:
    found = diagnose(facts([jumping()], relayouts=(tried(0.0095, 0.0095 / 4),)))
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.where.operator) == ("unfavourable-layout", "jump")
    action = found.actions[0]
    assert action.action == "change-layout"
    # Measured 4× on 95 % of the wall: the promise holds that gain, and lies on both sides of it.
    assert action.speedup[0] < 1 / (0.05 + 0.95 / 4) < action.speedup[1]
    steps = {evidence.name: evidence.quantity.value for evidence in found.bottleneck.evidence}
    assert steps["step between elements"] == 32_768
    assert steps["time as it is ÷ time side by side"] == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize(
    ("repeated", "why"),
    [
        (tried(0.0095, 0.0093), "the other layout is no faster"),
        (tried(0.0005, 0.0001), "the repetition takes a twentieth of the operator: it is not what the target does"),
        (tried(0.0950, 0.0100), "the repetition takes ten times the operator"),
        (tried(0.0095, 0.0095 / 4, operator=7), "a row that is not there"),
        (tried(0.0095, 0.0095 / 4, layout="in tiles"), "in tiles is no layout"),
    ],
)
def test_repetitions_that_show_nothing(repeated: Relayout, why: str) -> None:
    found = diagnose(facts([jumping()], relayouts=(repeated,)))
    assert "unfavourable-layout" not in {found.bottleneck.cause if found.bottleneck else "", *(other.cause for other in found.runners_up)}, why


def test_steps_are_asked_to_be_repeated_and_only_those() -> None:
    given = facts([jumping(0.005), row("plain", 0.004, group="elementwise", reads=(buffer(4, MB),), writes=(buffer(5, MB),))])
    assert unfavourable_rows(given) == [0]
    step = next_step(given)
    assert isinstance(step, Need)
    assert (step.level, step.instrument) == (4, "relayouts")
    for harmless in (jumping(0.0001), jumping(group="copy"), jumping(group="movement"), jumping(reads=(strided(1, 256),), writes=())):
        assert unfavourable_rows(facts([harmless])) == []
        assert isinstance(next_step(facts([harmless])), Diagnosis)


def test_what_cannot_be_repeated_is_a_suspicion_that_promises_little() -> None:
    found = diagnose(facts([jumping()], cannot={"relayouts": "no such operator here", "hot-spots": "-", "dispatch": "-"}))
    suspected = [other for other in found.runners_up if other.cause == "unfavourable-layout"]
    named = found.bottleneck is not None and found.bottleneck.cause == "unfavourable-layout"
    assert suspected or named
    assert all(action.speedup[0] < 1.1 for action in found.actions if action.action == "change-layout")


def convolution(seconds: float = 0.009, **fields: Any):
    defaults: dict[str, Any] = {
        "group": "convolution",
        "kind": "aten::convolution",
        "engine": "fma",
        "flop": 2e7,
        "reads": (buffer(1, 4 * MB), buffer(2, 1000)),
        "writes": (buffer(3, 4 * MB),),
    }
    return row("conv", seconds, **{**defaults, **fields})


def log(*primitives: Primitive, wall_s: float = 0.01) -> PrimitiveTable:
    return PrimitiveTable(primitives=primitives, library="oneDNN", instrument="by hand", wall_s=exact(wall_s, "s"))


def reorder(seconds: float, operator: int | None = 0, calls: float = 2) -> Primitive:
    return Primitive(kind="reorder", calls=calls, total_s=around(seconds, "s"), operator=operator, read_bytes=4 * MB, write_bytes=4 * MB)


def test_reorders_inside_an_operator_are_a_layout_conversion_at_that_operator() -> None:
    given = facts([convolution()], primitives=log(reorder(0.004), Primitive(kind="convolution", calls=1, total_s=around(0.004, "s"))), relayouts=())
    found = diagnose(given).bottleneck
    assert found is not None
    assert (found.cause, found.where.operator, found.share) == ("layout-conversion", "conv", pytest.approx(0.4))
    assert {evidence.name: evidence.quantity.value for evidence in found.evidence}["bytes reordered"] == 16 * MB


def test_the_promise_is_the_measured_one_where_the_other_layout_was_tried_and_there_is_one_cause() -> None:
    repeated = (tried(0.009, 0.003, layout="channels last"),)
    found = diagnose(facts([convolution()], primitives=log(reorder(0.004)), relayouts=repeated))
    assert found.bottleneck is not None
    assert found.bottleneck.cause == "layout-conversion"
    assert "unfavourable-layout" not in {other.cause for other in found.runners_up}
    first = next(action for action in found.actions if action.action == "change-layout")
    assert first.speedup[0] < 1 / (0.1 + 0.9 / 3) < first.speedup[1]


@pytest.mark.parametrize(
    "table",
    [log(reorder(0.0003)), log(), log(Primitive(kind="convolution", calls=1, total_s=around(0.009, "s"))), log(reorder(0.004), wall_s=0.0)],
)
def test_reorders_that_take_nothing_are_no_cause(table: PrimitiveTable) -> None:
    found = diagnose(facts([convolution()], primitives=table, relayouts=()))
    assert "layout-conversion" not in {found.bottleneck.cause if found.bottleneck else "", *(other.cause for other in found.runners_up)}


def test_a_reorder_of_a_conversion_is_counted_once() -> None:
    moving = row("to channels", 0.004, group="movement", kind="aten::clone", reads=(buffer(1, 10 * MB),), writes=(buffer(2, 10 * MB),))
    given = facts([convolution(0.005, calls=1.0), moving], primitives=log(reorder(0.004, operator=1)), relayouts=())
    found = diagnose(given)
    shares = [other.share for other in found.runners_up if other.cause == "layout-conversion"]
    if found.bottleneck is not None and found.bottleneck.cause == "layout-conversion":
        shares.append(found.bottleneck.share)
    assert shares == [pytest.approx(0.4, abs=0.05)]


def test_a_reorder_without_an_operator_has_no_place_and_no_crash() -> None:
    found = diagnose(facts([convolution()], primitives=log(reorder(0.006, operator=None)), relayouts=())).bottleneck
    assert found is not None
    assert (found.cause, found.where.operator) == ("layout-conversion", None)


# -- locality --


def passing(name: str, seconds: float, identity: int = 1, size: int = 100 * MB, **fields: Any):
    # 100 MB at 6 GB/s, the one-thread ceiling of the machine made by hand, are 16.7 ms.
    defaults: dict[str, Any] = {"group": "reduction", "engine": "reduce", "flop": size / 4, "reads": (buffer(identity, size),), "threads": 1}
    return row(name, seconds, **{**defaults, **fields})


def causes(found: Diagnosis) -> set[str]:
    return {found.bottleneck.cause if found.bottleneck else "healthy", *(other.cause for other in found.runners_up)}


def test_several_passes_over_one_buffer_beyond_the_cache() -> None:
    given = facts([passing(name, 0.018) for name in ("min", "max", "sum", "dot")], wall_s=0.073, relayouts=())
    assert blockable_rows(given) == dict.fromkeys(range(4), MB)
    found = diagnose(given)
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.bound) == ("poor-locality", "bandwidth")
    low, high = next(one.speedup for one in found.actions if one.action == "block")
    # Four passes become one from memory and three from the cache, whose ceiling is 40 instead of 6 GB/s: at best 1 ÷ (1/4 + 3/4 × 6/40).
    assert 1.0 < low <= high <= 1 / (0.25 + 0.75 * 0.15) * 1.05
    assert "streaming" not in causes(found)


def test_the_promise_rests_on_tiles_where_they_were_run() -> None:
    rows = [passing(name, 0.018) for name in ("min", "max", "sum", "dot")]
    repeated = tuple(tried(0.018, 0.006, operator=index, layout="in tiles") for index in range(4))
    action = next(one for one in diagnose(facts(rows, wall_s=0.073, relayouts=repeated)).actions if one.action == "block")
    # A quarter of 72 ms stays as it is, the rest takes a third: 36 of 73 ms are left with the 1 ms beside.
    assert action.speedup[0] < 73 / (1 + 18 + 18) < action.speedup[1]


def test_tiles_decide_where_the_bandwidth_is_out_of_reach_and_where_they_save_nothing() -> None:
    # Three times as slow as the bandwidth allows: without tiles nothing is said, with tiles they decide.
    rows = [passing(name, 0.054) for name in ("min", "max", "sum", "dot")]
    faster = tuple(tried(0.054, 0.018, operator=index, layout="in tiles") for index in range(4))
    as_fast = tuple(tried(0.018, 0.0178, operator=index, layout="in tiles") for index in range(4))
    assert "poor-locality" not in causes(diagnose(facts(rows, wall_s=0.22, relayouts=())))
    assert "poor-locality" in causes(diagnose(facts(rows, wall_s=0.22, relayouts=faster)))
    rows = [passing(name, 0.018) for name in ("min", "max", "sum", "dot")]
    assert "poor-locality" not in causes(diagnose(facts(rows, wall_s=0.073, relayouts=as_fast)))


def test_one_operator_in_a_loop_over_everything_and_over_tiles() -> None:
    whole = passing("scale", 0.07, calls=4.0, group="elementwise", engine="add")
    assert "poor-locality" in causes(diagnose(facts([whole], wall_s=0.072, relayouts=())))
    tile = BufferUse(buffer=1, size_bytes=25 * MB, span_bytes=100 * MB, reuse_bytes=100 * MB)
    assert "poor-locality" not in causes(diagnose(facts([passing("scale", 0.018, calls=4.0, reads=(tile,))], wall_s=0.019, relayouts=())))


def test_operators_that_find_their_tile_near_do_not_pass_over_the_whole() -> None:
    def on_tiles(name: str, seconds: float, reuse: int):
        return passing(name, seconds, calls=100.0, reads=(BufferUse(buffer=1, size_bytes=MB, span_bytes=100 * MB, reuse_bytes=reuse),))

    # The first brings each tile from afar at 6 GB/s, the others find it near and run at the near ceiling of 40 GB/s: all are bound by bandwidth.
    rows = [on_tiles("min", 0.018, 100 * MB), *(on_tiles(name, 0.003, MB) for name in ("max", "sum", "dot"))]
    given = facts(rows, wall_s=0.028, relayouts=())
    assert all(one.bound == "bandwidth" for one in diagnose(given).operators)
    assert "poor-locality" not in causes(diagnose(given))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([passing("sum", 0.018)], "one pass"),
        ([passing(name, 0.018, identity) for identity, name in enumerate(("a", "b", "c"))], "other data each time"),
        ([passing(name, 0.0001, size=MB // 10) for name in ("a", "b", "c")], "it fits the cache"),
        ([passing(name, 0.18) for name in ("a", "b", "c")], "far from the bandwidth"),
        ([passing(name, 0.018, group="matmul", engine="fma", writes=(buffer(9, 100),)) for name in ("a", "b", "c")], "weights"),
    ],
)
def test_what_is_no_poor_locality(rows: Any, why: str) -> None:
    given = facts(rows, wall_s=sum(one.total_s.value for one in rows) * 1.02, relayouts=())
    assert "poor-locality" not in causes(diagnose(given)), why


def test_consecutive_elementwise_operators_are_a_chain() -> None:
    rows = [
        row(
            f"op{i}", 0.018, group="elementwise", engine="add", flop=MB, threads=1,
            reads=(buffer(1, 50 * MB),), writes=(buffer(1, 50 * MB),), after=(i - 1,) if i else (),
        )
        for i in range(4)
    ]  # fmt: skip
    found = causes(diagnose(facts(rows, wall_s=0.073, relayouts=())))
    assert "elementwise-chain" in found
    assert "poor-locality" not in found


# -- redundant work --


def test_repeated_work_is_worth_what_the_repetitions_take() -> None:
    inverse = row("inv", 0.009, group="matmul", engine="fma", flop=1e7, calls=10.0, distinct=1.0, reads=(buffer(1, MB),), writes=(buffer(2, MB),))
    found = diagnose(facts([inverse], relayouts=()))
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.where.operator) == ("redundant-work", "inv")
    assert found.bottleneck.share == pytest.approx(0.9 * 0.9)
    action = next(action for action in found.actions if action.action == "compute-once")
    # Nine of ten executions go: 10 ms become 1.9 ms; nothing can be saved of the rest.
    assert action.speedup[0] < 10 / 1.9 <= action.speedup[1] * 1.001
    assert action.speedup[1] == pytest.approx(10 / 1.9, rel=0.01)


@pytest.mark.parametrize(
    "fields",
    [{"distinct": None}, {"distinct": 10.0}, {"distinct": 1.0, "group": "copy"}, {"distinct": 1.0, "group": "allocation"}, {"distinct": 9.9}],
)
def test_what_is_not_known_to_repeat_is_not_redundant(fields: dict[str, Any]) -> None:
    one = {"group": "reduction", "engine": "reduce", "flop": 1e5, "calls": 10.0, "reads": (buffer(1, MB),), **fields}
    assert "redundant-work" not in causes(diagnose(facts([row("r", 0.002, **one)], relayouts=())))


def test_facts_with_all_of_it_survive_the_wire() -> None:
    import msgspec

    given = facts([jumping(distinct=1.0)], relayouts=(tried(1.0, 0.5),), primitives=log(reorder(0.004)))
    assert msgspec.json.decode(msgspec.json.encode(given.relayouts), type=tuple[Relayout, ...]) == given.relayouts
    assert isinstance(given.relayouts[0].as_is_s, Quantity)
