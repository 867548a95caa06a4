"""`partition-handoff` from facts made by hand, its look-alikes, and the summary that goes into the contract."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Diagnosis, Facts, OperatorRow, Partition, PartitionTable, Quantity
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.partitions import healthy_cut, partition_summary
from support.facts_by_hand import MB, buffer, facts, perturbed, row

S = 1e-3


def table(*pieces: tuple[str, int, str], handoff_s: tuple[float, float, float] | None = None) -> PartitionTable:
    """Pieces (provider, number of nodes, kind)."""
    found, at = [], 0
    for provider, count, kind in pieces:
        found.append(Partition(provider=provider, nodes=tuple(range(at, at + count)), kinds=(kind,) * count))
        at += count
    crossing = None
    if handoff_s is not None:
        value, low, high = handoff_s
        crossing = Quantity(value=value, low=low, high=high, confidence=0.95, unit="s", source="measured", origin="by hand")
    return PartitionTable(partitions=tuple(found), delegate="XNNPACK", handoff_s=crossing, instrument="by hand")


def node(index: int, seconds: float, provider: str, *, group: str = "convolution", **fields):
    size = fields.pop("size", MB)
    return _placed(row(f"node{index}", seconds, group=group, reads=(buffer(index, size),), writes=(buffer(index + 1, size),), **fields), provider)


def _placed(made: OperatorRow, provider: str) -> OperatorRow:
    return msgspec.structs.replace(made, placement=msgspec.structs.replace(made.placement, provider=provider))


def conv(index: int, seconds: float, provider: str = "XNNPACK"):
    return node(index, seconds, provider, engine="fma", flop=0.3 * 128e9 * seconds, kind="CONV_2D")


def refused(index: int, seconds: float):
    # 2 MB moved in much more time than either one thread or four need for it
    return node(index, seconds, "builtin", group="elementwise", engine="add", flop=MB / 4, threads=1, kind="FLOOR_MOD")


def diagnose(given_facts: Facts) -> Diagnosis:
    step = next_step(given_facts)
    assert isinstance(step, Diagnosis), step
    return step


def test_a_refused_operator_between_partitions_is_named_with_its_fix() -> None:
    given_facts = facts(
        [conv(0, 2 * S), refused(1, 6 * S), conv(2, 2 * S)],
        partitions=table(("XNNPACK", 1, "CONV_2D"), ("builtin", 1, "FLOOR_MOD"), ("XNNPACK", 1, "CONV_2D")),
    )
    found = diagnose(given_facts)
    assert found.bottleneck is not None
    assert (found.bottleneck.cause, found.bottleneck.where.operator) == ("partition-handoff", "node1")
    assert found.bottleneck.share == pytest.approx(0.6, rel=0.02)
    assert found.actions[0].action == "replace-operators"
    # Amdahl: with nothing left of 60 % the whole is at most 2.5 times faster.
    low, high = found.actions[0].speedup
    assert 1.0 < low < high <= 2.5 + 1e-9
    names = {evidence.name: evidence.quantity.value for evidence in found.bottleneck.evidence}
    assert names["partitions on the delegate"] == 2
    assert names["nodes on the delegate"] == pytest.approx(2 / 3)


def test_the_same_times_in_one_partition_are_something_else() -> None:
    whole = facts([conv(0, 2 * S), _placed(refused(1, 6 * S), "XNNPACK"), conv(2, 2 * S)], partitions=table(("XNNPACK", 3, "CONV_2D")))
    found = diagnose(whole)
    assert found.bottleneck is None or found.bottleneck.cause != "partition-handoff"
    assert "partition-handoff" not in {runner.cause for runner in found.runners_up}


def test_one_partition_with_over_95_percent_of_the_nodes_is_healthy() -> None:
    nodes = [conv(index, 0.1 * S) for index in range(39)] + [refused(39, 0.4 * S)]
    given_facts = facts(nodes, wall_s=4.3 * S, partitions=table(("XNNPACK", 39, "CONV_2D"), ("builtin", 1, "FLOOR_MOD")))
    assert "partition-handoff" not in {runner.cause for runner in diagnose(given_facts).runners_up}


def test_many_pieces_that_take_no_time_accuse_nobody() -> None:
    nodes, pieces = [], []
    for index in range(0, 12, 2):
        nodes += [conv(index, 1.6 * S), refused(index + 1, 1e-6)]
        pieces += [("XNNPACK", 1, "CONV_2D"), ("builtin", 1, "SPLIT_V")]
    found = diagnose(facts(nodes, partitions=table(*pieces)))
    assert found.bottleneck is None or found.bottleneck.cause != "partition-handoff"
    assert found.partitions is not None
    assert (found.partitions.count, found.partitions.handoffs) == (6, 5)


def test_crossing_counts_by_what_is_certain() -> None:
    cut = (("XNNPACK", 1, "CONV_2D"), ("builtin", 1, "FLOOR_MOD"), ("XNNPACK", 1, "CONV_2D"))
    nodes = [conv(0, 3 * S), refused(1, 2 * S), conv(2, 3 * S)]
    doubtful = diagnose(facts(nodes, partitions=table(*cut, handoff_s=(2 * S, 0.0, 2 * S))))
    certain = diagnose(facts(nodes, partitions=table(*cut, handoff_s=(2 * S, 1.5 * S, 2 * S))))

    def share(found: Diagnosis) -> float:
        places = [found.bottleneck, *found.runners_up]
        return next(place.share for place in places if place is not None and place.cause == "partition-handoff")

    assert share(doubtful) == pytest.approx(0.2, rel=0.05)
    assert share(certain) == pytest.approx(0.35, rel=0.05)


def test_without_a_cut_nothing_is_said() -> None:
    assert diagnose(facts([conv(0, 9 * S)])).partitions is None
    alone = facts([conv(0, 4 * S, "builtin"), refused(1, 4 * S)], partitions=table(("builtin", 2, "CONV_2D")))
    found = diagnose(alone)
    assert "partition-handoff" not in {runner.cause for runner in found.runners_up}
    assert found.bottleneck is None or found.bottleneck.cause != "partition-handoff"


def test_seven_partitions_are_six_handoffs() -> None:
    pieces: list[tuple[str, int, str]] = []
    for _ in range(6):
        pieces += [("XNNPACK", 19, "CONV_2D"), ("builtin", 1, "GATHER")]
    pieces += [("XNNPACK", 19, "CONV_2D")]
    found = partition_summary(table(*pieces))
    assert found is not None
    assert (found.count, found.nodes, found.delegated, found.handoffs) == (7, 139, 133, 6)
    assert found.fallbacks == ("GATHER × 6",)
    assert not healthy_cut(table(*pieces))


@given(sizes=st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=12))
def test_what_must_hold_of_every_cut(sizes) -> None:
    found = partition_summary(table(*[("XNNPACK" if own else "builtin", count, "K") for own, count in sizes]))
    assert found is not None
    assert found.nodes == sum(count for _, count in sizes)
    assert found.delegated <= found.nodes
    assert found.handoffs == max(0, found.count - 1)
    left = sum(count for own, count in sizes if not own)
    assert bool(found.fallbacks) == bool(left)


def test_a_hand_off_time_of_which_only_the_most_is_known_is_no_time() -> None:
    cut = (("XNNPACK", 1, "CONV_2D"), ("builtin", 1, "FLOOR_MOD"), ("XNNPACK", 1, "CONV_2D"))
    doubtful, certain = (partition_summary(table(*cut, handoff_s=(2 * S, low, 3 * S))) for low in (0.0, 1.5 * S))
    assert doubtful is not None
    assert certain is not None
    assert (doubtful.handoff_s, doubtful.handoff_at_most_s) == (None, 3 * S)
    assert (certain.handoff_s, certain.handoff_at_most_s) == (2 * S, 3 * S)


def test_operators_that_take_longer_under_the_profile_than_a_clean_call_bound_no_hand_off() -> None:
    cut = (("XNNPACK", 1, "CONV_2D"), ("builtin", 1, "FLOOR_MOD"), ("XNNPACK", 1, "CONV_2D"))
    nothing = partition_summary(table(*cut, handoff_s=(0.0, 0.0, 0.0)))
    assert nothing is not None
    assert (nothing.handoff_s, nothing.handoff_at_most_s) == (None, None)
    nodes = [conv(0, 3 * S), refused(1, 2 * S), conv(2, 3 * S)]
    changed = diagnose(facts(nodes, partitions=table(*cut, handoff_s=(2 * S, 1.5 * S, 2 * S)), levels=perturbed()))
    assert changed.partitions is not None
    assert (changed.partitions.handoff_s, changed.partitions.handoff_at_most_s) == (None, None)
