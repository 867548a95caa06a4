"""Partitions: counts, the cost of boundaries, what one partition would give, from each of the three things a file can tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import (
    EVENT_KINDS,
    Column,
    Partition,
    PartitionReport,
    PartitionTable,
    Profile,
    ProfileRow,
    ProfileTable,
    Quantity,
    Timeline,
    Track,
)
from ridgeline.timeline.partitions import partition_report, without_boundaries

GPU, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
#: (provider or "", kind, start, end); "" is a run of the session, `copy` a copy that the runtime inserted.
Event = tuple[str, str, int, int]


def nodes(events: list[Event], threads: list[int] | None = None) -> Profile:
    strings = [*dict.fromkeys(text for event in events for text in event[:2] if text), "copy"]

    def interned(values: list[str]) -> Column:
        return Column(np.array([strings.index(value) if value else -1 for value in values]), "count", "int32")

    tracks = threads or [0] * len(events)
    timeline = Timeline(
        tick_s=1e-3,
        start_tick=Column([event[2] for event in events], "count", "int64"),
        duration_tick=Column([event[3] - event[2] for event in events], "count", "int64"),
        name=interned([event[1] for event in events]),
        track=Column(tracks, "count", "int32"),
        strings=tuple(strings),
        tracks=tuple(Track(name=f"thread {at}", role="thread") for at in range(max(tracks) + 1)),
        kind=Column([EVENT_KINDS.index("operator" if event[0] else "iteration") for event in events], "count", "uint8"),
        texts={
            "provider": interned([event[0] for event in events]),
            "operator": interned([event[1] if event[0] else "" for event in events]),
            "purpose": interned(["copy" if event[1].startswith("Memcpy") else "" for event in events]),
        },
    )
    return Profile(format="onnxruntime", files=("f",), timeline=timeline)


def report(profile: Profile) -> PartitionReport:
    found = partition_report(profile)
    assert found is not None
    return found


#: 0–10 GPU, 10–14 copy, 15–20 CPU, 21–23 copy, 25–35 GPU, 36–46 GPU: gaps of 5 (copy included) and 5, an ordinary one of 1.
CUT: list[Event] = [
    (GPU, "Conv", 0, 10), (GPU, "MemcpyToHost", 10, 14), (CPU, "ArgMax", 15, 20),
    (GPU, "MemcpyFromHost", 21, 23), (GPU, "Gemm", 25, 35), (GPU, "Relu", 36, 46),
]  # fmt: skip


def test_a_graph_that_is_handed_over_twice() -> None:
    found = report(nodes([*CUT, ("", "model_run", 0, 50)]))
    assert (found.count, found.runs, found.handoffs) == (2, 3, 1)
    assert (found.nodes, found.delegated, found.largest, found.healthy) == (4, 3, 2, False)
    assert found.fallbacks == {"ArgMax": 1}
    assert found.handoff_s == pytest.approx(8e-3)
    assert [(b.source, b.target, b.crossings, b.after, b.before) for b in found.boundaries] == [
        (GPU, CPU, 1, "Conv", "ArgMax"), (CPU, GPU, 1, "ArgMax", "Gemm"),
    ]  # fmt: skip
    assert [b.total_s for b in found.boundaries] == pytest.approx([4e-3, 4e-3])
    assert found.without_s == pytest.approx((50e-3 - 8e-3 - 5e-3, 50e-3 - 8e-3))
    assert found.run_s == pytest.approx(50e-3)
    assert found.providers == pytest.approx({GPU: 30e-3, CPU: 5e-3})


@given(st.integers(1, 5))
def test_times_are_means_over_runs_and_counts_those_of_one(runs: int) -> None:
    events = [(name, kind, start + 1000 * at, end + 1000 * at) for at in range(runs) for name, kind, start, end in [*CUT, ("", "model_run", 0, 50)]]
    found, one = report(nodes(events)), report(nodes([*CUT, ("", "model_run", 0, 50)]))
    assert (found.count, found.runs, found.nodes, found.fallbacks) == (one.count, one.runs, one.nodes, one.fallbacks)
    assert found.handoff_s == pytest.approx(one.handoff_s)
    assert found.without_s == pytest.approx(one.without_s)
    assert [boundary.crossings for boundary in found.boundaries] == [1, 1]


def test_no_boundary_leads_from_one_run_to_the_next() -> None:
    events = [
        (CPU, "Cast", 0, 2),
        (GPU, "Gemm", 3, 9),
        ("", "model_run", 0, 10),
        (CPU, "Cast", 100, 102),
        (GPU, "Gemm", 103, 109),
        ("", "model_run", 100, 110),
    ]
    found = report(nodes(events))
    assert (found.runs, found.count, found.handoffs) == (2, 1, 0)
    assert [(boundary.source, boundary.target) for boundary in found.boundaries] == [(CPU, GPU)]


def test_the_body_of_a_node_is_a_part_of_it() -> None:
    found = report(nodes([(GPU, "Loop", 0, 40), (CPU, "Add", 5, 10), (CPU, "Mul", 20, 41), (GPU, "Gemm", 50, 60), ("", "model_run", 0, 60)]))
    assert (found.nodes, found.runs, found.healthy) == (2, 1, True)


def test_runs_at_once_on_two_threads_do_not_mix() -> None:
    one: list[Event] = [(GPU, "Conv", 0, 10), (GPU, "Gemm", 11, 30), ("", "model_run", 0, 31)]
    two: list[Event] = [(CPU, "Conv", 5, 8), (CPU, "Gemm", 12, 20), ("", "model_run", 4, 25), ("", "model_run", 100, 101)]
    found = report(nodes([*one, *two], [0, 0, 0, 1, 1, 1, 1]))
    assert (found.runs, found.providers) == (1, {CPU: pytest.approx(5.5e-3)})


def test_one_provider_is_one_healthy_partition() -> None:
    found = report(nodes([(CPU, "Conv", 0, 10), (CPU, "Gemm", 11, 20)]))
    assert (found.count, found.runs, found.handoffs, found.handoff_s, found.healthy, found.without_s) == (1, 1, 0, None, True, None)


@given(st.lists(st.sampled_from([GPU, CPU]), min_size=1, max_size=40))
def test_counts_agree_with_a_plain_walk(providers: list[str]) -> None:
    from itertools import groupby

    found = report(nodes([(name, f"op{at}", 10 * at, 10 * at + 5) for at, name in enumerate(providers)]))
    main = GPU if GPU in providers else CPU
    stretches = [(name, len(list(group))) for name, group in groupby(providers)]
    assert found.runs == len(stretches)
    assert found.count == sum(name == main for name, _ in stretches)
    assert found.largest == max(size for name, size in stretches if name == main)
    assert sum(found.fallbacks.values()) == found.nodes - found.delegated == sum(name != main for name in providers)
    assert sum(boundary.crossings for boundary in found.boundaries) == found.runs - 1
    # Every gap is 5: no boundary costs more than an ordinary step, unless there is none to compare with.
    assert (found.handoff_s or 0.0) == pytest.approx(0.0 if found.runs < len(providers) or found.runs == 1 else 5e-3 * (found.runs - 1))


def seconds(value: float) -> Quantity:
    return Quantity.exact(value, "s", source="measured")


def part(provider: str, kinds: tuple[str, ...], total: float, first: int) -> Partition:
    return Partition(provider=provider, nodes=tuple(range(first, first + len(kinds))), kinds=kinds, total_s=seconds(total))


def test_seven_partitions_are_six_handoffs() -> None:
    """The second case of the method: 8 ms on the accelerator, three kinds refused, 21 ms in all."""
    parts = []
    for at in range(7):
        parts.append(part("NPU", ("CONV_2D",) * 19, 8e-3 / 7, 20 * at))
        if at < 6:
            parts.append(part("builtin", (("CONCATENATION", "RESIZE_NEAREST_NEIGHBOR", "ARG_MAX")[at % 3],), 0.5e-3, 20 * at + 19))
    rows = tuple(ProfileRow(name=name, kind=name, total_s=time) for name, time in (("CONCATENATION", 5e-4), ("ARG_MAX", 2e-3), ("CONV_2D", 8e-3)))
    wall = ProfileTable(rows=rows, per_call=True, wall_s=21e-3)
    found = report(Profile(format="tflite", files=("f",), partitions=PartitionTable(partitions=tuple(parts), delegate="NPU"), tables=(wall,)))
    assert (found.count, found.runs, found.handoffs, found.nodes, found.delegated) == (7, 13, 6, 139, 133)
    assert (found.largest, found.healthy) == (19, False)
    assert found.fallbacks == {"ARG_MAX": 2, "CONCATENATION": 2, "RESIZE_NEAREST_NEIGHBOR": 2}
    assert next(iter(found.fallbacks)) == "ARG_MAX"
    assert found.without_s == pytest.approx((8e-3, 21e-3))
    assert found.run_s == 21e-3
    assert found.handoff_s is None
    assert len(found.boundaries) == 12


@pytest.mark.parametrize(("taken", "healthy"), [(96, True), (95, False), (100, True)])
def test_one_partition_over_95_percent_is_healthy(taken: int, healthy: bool) -> None:
    parts = [part("XNNPACK", ("CONV_2D",) * taken, 1e-3, 0)]
    if taken < 100:
        parts.append(part("builtin", ("CUSTOM",) * (100 - taken), 1e-3, taken))
    found = report(Profile(format="tflite", files=("f",), partitions=PartitionTable(partitions=tuple(parts), delegate="XNNPACK")))
    assert found.healthy is healthy


def test_the_largest_that_there_could_be_decides_where_sizes_are_not_known() -> None:
    """98 of 100 nodes in two kernels: 97 of them may be in one; in five kernels, at most 94."""
    for count, healthy in ((2, None), (5, False)):
        said = PartitionTable(partitions=(), delegate="GPU", count=count, runs=2 * count, nodes=100, delegated=98)
        assert report(Profile(format="tflite", files=("f",), partitions=said)).healthy is healthy


def test_of_partitions_that_were_compiled_nobody_knows_the_nodes() -> None:
    compiled = "TensorrtExecutionProvider"
    found = report(nodes([(compiled, "TRTKernel_0", 0, 9), (CPU, "NonMaxSuppression", 10, 20), (CPU, "Gather", 21, 25)]))
    assert (found.count, found.largest, found.healthy) == (1, None, None)
    assert report(nodes([(compiled, "TRTKernel_0", 0, 9)])).healthy is True


def test_what_a_runtime_says_without_a_profile() -> None:
    said = PartitionTable(partitions=(), delegate="GPU", count=5, runs=9, nodes=21, delegated=17, refused={"SQUEEZE": "not supported"})
    found = report(Profile(format="tflite", files=("f",), partitions=said))
    assert (found.count, found.runs, found.nodes, found.delegated, found.handoffs) == (5, 9, 21, 17, 4)
    assert (found.healthy, found.largest, found.without_s, found.refused) == (False, None, None, {"SQUEEZE": "not supported"})


def test_layers_between_reformats() -> None:
    """Two layers, a reformat, one layer, and reformats at the ends: two stretches, whose boundary costs what the one between them takes."""
    rows = [
        ("in", "reformat", 1.0),
        ("a", "conv", 4.0),
        ("b", "conv", 5.0),
        ("middle", "reformat", 2.0),
        ("c", "pool", 3.0),
        ("out", "reformat", 0.5),
    ]
    table = ProfileTable(
        rows=tuple(ProfileRow(name=name, kind=kind, total_s=time) for name, kind, time in rows), of="layers", per_call=True, wall_s=14.0
    )
    found = report(Profile(format="tensorrt", files=("f",), tables=(table,)))
    assert (found.count, found.runs, found.handoffs, found.nodes) == (2, 2, 1, 3)
    assert found.handoff_s == pytest.approx(2.0)
    assert [(b.after, b.before, b.total_s) for b in found.boundaries] == [("b", "c", 2.0)]
    # The reformats of the network's input and output stay.
    assert found.run_s == pytest.approx(15.5)
    assert found.without_s == pytest.approx((13.5, 13.5))
    assert found.healthy is None


def test_layers_on_several_devices() -> None:
    places = ["ANE", "ANE", "CPU", "ANE", "GPU"]
    rows = tuple(ProfileRow(name=f"l{at}", kind=f"k{at}", total_s=1.0, device=place) for at, place in enumerate(places))
    found = report(Profile(format="coreml", files=("f",), tables=(ProfileTable(rows=rows, of="layers"),)))
    assert (found.count, found.runs, found.delegated, found.fallbacks) == (2, 4, 3, {"k2": 1, "k4": 1})
    assert found.without_s == pytest.approx((3.0, 5.0))
    assert (found.handoff_s, found.healthy) == (None, False)


def test_layers_of_one_provider_are_one_partition() -> None:
    rows = tuple(ProfileRow(name=name, total_s=1.0, provider="TensorRT") for name in "abc")
    found = report(Profile(format="tensorrt", files=("f",), tables=(ProfileTable(rows=rows, of="layers"),)))
    assert (found.count, found.runs, found.nodes, found.handoffs, found.healthy) == (1, 1, 3, 0, True)


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert partition_report(Profile(format="x", files=("f",))) is None
    rows = tuple(ProfileRow(name=name, total_s=1.0, device="CPU") for name in "ab")
    assert partition_report(Profile(format="x", files=("f",), tables=(ProfileTable(rows=rows),))) is None


@given(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1e3), st.booleans())
def test_one_partition_is_never_promised_to_be_slower(delegated: float, fallback: float, boundary: float, rest: float, known: bool) -> None:
    whole = delegated + fallback + boundary + rest
    low, high = without_boundaries(whole, fallback, boundary if known else None, delegated)
    assert 0 <= low <= high <= whole
    assert low <= whole - fallback + 1e-9 * whole
