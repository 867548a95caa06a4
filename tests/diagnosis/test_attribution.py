"""Differences made by hand, part by part: what is put in must come out, and nothing that is noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import (
    Column,
    Facts,
    LevelRecord,
    Machine,
    OperatorRow,
    OpTable,
    Primitive,
    PrimitiveTable,
    Quantity,
    Samples,
    Stage,
    StageTable,
    TargetInfo,
    WallSplit,
)
from ridgeline.diagnosis.attribution import attribute
from ridgeline.diagnosis.matching import matched
from ridgeline.diagnosis.parts import PartKey, parts_of

MACHINE = Machine(
    cpu_model="x", architecture="x86_64", kernel="6", isa=(), cpus_online=2, cpus_allowed=(0, 1), memory_bytes=1, fingerprint="f"
)  # fmt: skip
TARGET = TargetInfo(spec="f.py:f", kind="python", name="f")


def seconds(value, half=0.0):
    return Quantity(value=value, low=max(0.0, value - half), high=value + half, confidence=0.95, unit="s", source="measured")


def row(name, total_s, *, kind=None, calls=1.0, shapes="", half=0.0, **more):
    return OperatorRow(name=name, kind=kind or name, calls=calls, total_s=seconds(total_s, half), shapes=shapes, **more)


def facts(rows=(), *, stages=(), split=None, wall_s=1.0, perturbed=False, primitives=(), faults=None):
    table = OpTable(rows=tuple(rows), instrument="profile", wall_s=seconds(wall_s), operators_s=seconds(0.0), iterations=10) if rows else None
    stage_table = (
        StageTable(stages=tuple(stages), wall_s=seconds(wall_s), covered_s=seconds(0.0), instrument="timers", iterations=9) if stages else None
    )
    samples = Samples(
        wall_s=Column([wall_s] * 3, "s"), start_s=Column([0.0, 1.0, 2.0], "s"), process=Column([0, 0, 0], "count"), inner=Column([1, 1, 1], "count"),
        minor_faults=Column([faults] * 3, "count") if faults is not None else None,
    )  # fmt: skip
    wall = None
    if split is not None:
        names = ("blocked", "waiting", "system", "interpreter", "kernels")
        shares = {
            name: Quantity(value=share, low=share, high=share, confidence=0.9, unit="1", source="measured")
            for name, share in zip(names, split, strict=True)
        }
        wall = WallSplit(**shares, how="samplers")
    logs = PrimitiveTable(primitives=tuple(primitives), library="onednn", instrument="log", wall_s=seconds(wall_s)) if primitives else None
    levels = tuple(LevelRecord(level=2, instrument=name, perturbed=perturbed) for name in ("profile", "timers", "samplers"))
    return Facts(
        target=TARGET, machine=MACHINE, samples=samples, operators=table, stages=stage_table, wall_split=wall, primitives=logs, levels=levels
    )


def whole(value, half=0.001):
    return Quantity(value=value, low=value - half, high=value + half, confidence=0.97, unit="s", source="measured")


def named(found):
    return {(part.level, part.name): part for part in found.why}


def test_an_inserted_conversion_is_the_difference():
    a = [facts([row("conv", 0.1 + noise), row("relu", 0.05)]) for noise in (0.0, 0.001, -0.001)]
    b = [
        facts([row("conv", 0.1 + noise), row("reorder", 0.03, inserted=True, group="movement"), row("relu", 0.05)]) for noise in (0.001, 0.0, -0.001)
    ]
    found = named(attribute(a, b, whole(0.03)))
    part = found["operators", "reorder"]
    assert (part.kind, part.a_s, part.b_s) == ("layout", None, pytest.approx(0.03))
    assert part.share == pytest.approx(1.0)
    assert "only B has it" in part.because
    assert "put in by the framework" in part.because
    rest = found["operators", "the rest, by the operators"]
    assert rest.difference_s == pytest.approx(0.0, abs=1e-12)
    assert set(found) == {("operators", "reorder"), ("operators", "the rest, by the operators")}


def test_the_parts_and_the_rest_are_the_whole():
    a = [facts([row("m", 0.2, calls=4.0), row("s", 0.1)], stages=[stage("one", 0.15), stage("two", 0.15)], split=(0, 0, 0.1, 0.2, 0.7))] * 3
    b = [facts([row("m", 0.3, calls=6.0), row("t", 0.1)], stages=[stage("one", 0.25), stage("two", 0.15)], split=(0, 0, 0.3, 0.2, 0.5), faults=9)] * 3
    found = attribute(a, b, whole(0.12))
    for view in ("stages", "operators", "wall"):
        parts = [part for part in found.why if part.level == view]
        assert sum(part.difference_s for part in parts) == pytest.approx(0.12)
        assert sum(part.share for part in parts) == pytest.approx(1.0)
    by_name = named(found)
    assert by_name["operators", "m"].because.startswith("4 calls in A, 6 in B")
    assert by_name["wall", "system"].difference_s == pytest.approx(0.2)
    assert "9 page faults" in by_name["wall", "system"].because
    assert by_name["stages", "one"].difference_s == pytest.approx(0.1)
    assert ("stages", "two") not in by_name
    sizes = [abs(part.difference_s) for part in found.why if part.kind != "unexplained"]
    assert sizes == sorted(sizes, reverse=True)


def stage(name, own_s, parent=None):
    return Stage(name=name, calls=1.0, total_s=seconds(own_s), own_s=seconds(own_s), parent=parent)


def test_nested_stages_are_known_by_their_path():
    table = [stage("outer", 0.1), stage("inner", 0.2, 0), stage("inner", 0.3)]
    assert [part.key.name for part in parts_of(facts(stages=table), "stages")] == ["outer", "outer / inner", "inner"]


def test_kernels_of_a_library_are_parts():
    def log(reorder_s):
        return [
            Primitive(kind="convolution", implementation="jit:avx512", calls=1.0, total_s=seconds(0.1)),
            Primitive(kind="reorder", implementation="simple:any", calls=2.0, total_s=seconds(reorder_s)),
        ]

    found = named(attribute([facts(primitives=log(0.01))] * 3, [facts(primitives=log(0.04))] * 3, whole(0.03)))
    assert found["kernels", "simple:any"].kind == "layout"


def test_a_kind_of_which_no_part_is_told_alone():
    random = np.random.default_rng(3)

    def process(each_s):
        return facts([row(f"layer.{index}", each_s + 0.0012 * random.standard_normal(), kind="MatMul") for index in range(40)])

    found = attribute([process(0.01) for _ in range(4)], [process(0.0115) for _ in range(4)], whole(0.06))
    together = [part for part in found.why if part.name.endswith("× MatMul")]
    assert len(together) == 1
    assert sum(part.share for part in found.why if part.kind != "unexplained") == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(
    "difference", [whole(0.0), whole(0.0005), Quantity(value=0.01, low=-0.01, high=0.03, confidence=0.9, unit="s", source="measured")]
)
def test_noise_is_not_divided(difference):
    a, b = [facts([row("x", 0.1)])] * 3, [facts([row("x", 0.2)])] * 3
    found = attribute(a, b, difference)
    assert found.why == ()
    assert [caution.code for caution in found.warnings] == ["not-attributed"]


def test_a_perturbed_view_says_nothing():
    a = [facts([row("x", 0.1)], stages=[stage("s", 0.1)], perturbed=True)] * 3
    b = [facts([row("x", 0.2)], stages=[stage("s", 0.2)])] * 3
    found = attribute(a, b, whole(0.1))
    assert found.why == ()
    assert len(found.warnings) == 2
    assert all("10 %" in caution.message for caution in found.warnings)


def test_views_of_one_side_only_are_left():
    found = attribute([facts([row("x", 0.1)])] * 3, [facts(split=(0, 0, 0.1, 0.2, 0.7))] * 3, whole(0.1))
    assert found.why == ()
    assert "no view" in found.warnings[0].message
    assert attribute([], [], whole(0.1)).why == ()


def test_single_processes_use_their_own_intervals():
    a, b = [facts([row("x", 0.10, half=0.01)])], [facts([row("x", 0.15, half=0.01)])]
    part = named(attribute(a, b, whole(0.05)))["operators", "x"]
    assert part.difference_ci_s == pytest.approx((0.03, 0.07))
    assert "lacks what differs between processes" in part.because
    wide = [facts([row("x", 0.15, half=0.06)])]
    assert ("operators", "x") not in named(attribute(a, wide, whole(0.05)))


@pytest.mark.parametrize("after_s", [0.9, 0.02])
def test_parts_of_another_moment_are_not_used(after_s):
    a, b = [facts([row("x", 0.1 + noise)]) for noise in (0.0, 1e-3, -1e-3)], [facts([row("x", after_s + noise)]) for noise in (0.0, 1e-3, -1e-3)]
    found = attribute(a, b, whole(0.1))
    assert found.why == ()
    assert "another moment" in found.warnings[0].message


def test_equal_parts_are_hardly_ever_named():
    """100 tables of 30 operators with noise and no difference but one outside them: at 95 % a table at most, five may name something."""
    random = np.random.default_rng(11)
    wrong = 0
    for _ in range(100):
        sides = [[facts([row(f"op{i}", 0.01 * np.exp(0.1 * random.standard_normal())) for i in range(30)]) for _ in range(5)] for _ in range(2)]
        found = attribute(sides[0], sides[1], whole(0.02))
        wrong += any(part.kind != "unexplained" for part in found.why)
    assert wrong <= 5 + 3 * 2.2


NAMES = st.sampled_from(["add@f.py:1", "add@f.py:9", "mul", "conv"])
KEYS = st.lists(st.builds(PartKey, name=NAMES, kind=st.sampled_from(["add", "mul", ""]), shapes=st.sampled_from(["", "f32[2]"])), max_size=8)


def numbered(keys):
    seen = {}
    found = []
    for key in keys:
        number = seen[key] = seen.get(key, -1) + 1
        found.append(PartKey(name=key.name, kind=key.kind, shapes=key.shapes, nth=number))
    return found


@given(KEYS, KEYS)
def test_every_part_is_in_one_pair(a, b):
    a, b = numbered(a), numbered(b)
    pairs = matched(a, b)
    assert [ours for ours, _ in pairs if ours is not None] == a
    assert sorted((theirs for _, theirs in pairs if theirs is not None), key=repr) == sorted(b, key=repr)


@given(KEYS)
def test_a_version_matches_itself(a):
    a = numbered(a)
    assert matched(a, a) == tuple((key, key) for key in a)


def test_lines_that_moved_are_matched_and_a_new_one_is_new():
    a = [PartKey(name="add@f.py:10", kind="add", shapes="f[2]"), PartKey(name="mul@f.py:11", kind="mul", shapes="f[2]")]
    b = [
        PartKey(name="add@f.py:20", kind="add", shapes="f[2]"),
        PartKey(name="sort@f.py:21", kind="sort"),
        PartKey(name="mul@f.py:22", kind="mul", shapes="f[2]"),
    ]
    assert matched(a, b) == ((a[0], b[0]), (a[1], b[2]), (None, b[1]))


def test_waiting_of_single_processes_is_what_others_did():
    a, b = facts(split=(0.0, 0.0, 0.1, 0.4, 0.5), wall_s=1.0), facts(split=(0.0, 0.5, 0.05, 0.2, 0.25), wall_s=2.0)
    assert not any(part.kind == "waiting" for part in attribute([a], [b], whole(1.0, 0.1)).why)
    assert any(part.kind == "waiting" for part in attribute([a] * 3, [b] * 3, whole(1.0, 0.1)).why)


def test_no_shares_of_a_whole_that_is_hardly_known():
    a, b = [facts([row("x", 0.1)])] * 3, [facts([row("x", 0.2)])] * 3
    unsure = Quantity(value=0.1, low=0.01, high=0.9, confidence=0.97, unit="s", source="measured")
    for known, shares in ((whole(0.1), {1.0, 0.0}), (unsure, {None})):
        found = attribute(a, b, known).why
        assert [part.difference_s for part in found] == pytest.approx([0.1, 0.0])
        assert {part.share if part.share is None else round(part.share, 6) for part in found} == shares
    assert "10.0 ms to 900 ms" in found[-1].because


def test_what_only_one_version_has_is_said_of_a_view_that_is_not_used():
    a, b = facts([row("x@f.py:1", 0.1, kind="x")], perturbed=True), facts([row("x@f.py:4", 0.1, kind="x"), row("s@f.py:5", 0.5)], perturbed=True)
    found = attribute([a], [b], whole(0.4))
    assert found.why == ()
    assert "over 10 % longer or shorter; only B has s" in found.warnings[0].message
    back = attribute([b], [a], whole(-0.4))
    assert "only A has s" in back.warnings[0].message


def test_where_nothing_is_named_the_wall_split_of_both_is_said():
    a, b = facts([row("x", 0.1)], split=(0.0, 0.0, 0.3, 0.01, 0.69)), facts([row("x", 0.1)], split=(0.0, 0.0, 0.3, 0.01, 0.69))
    found = attribute([a], [b], whole(0.4))
    assert all(part.kind == "unexplained" for part in found.why)
    said = {caution.code: caution.message for caution in found.warnings}
    assert said["wall-split"] == "A: native code 69%, system time 30%; B: native code 69%, system time 30%"


@pytest.mark.parametrize(
    ("kind", "group", "sort"),
    [
        ("aten::clone", "movement", "layout"), ("aten::clone", "copy", "copy"), ("Transpose", "movement", "layout"),
        ("Gather", "movement", "operator"), ("numpy.ascontiguousarray", "movement", "layout"),
        ("aten::_to_copy", "movement", "conversion"), ("Cast", "movement", "conversion"),
    ],
)  # fmt: skip
def test_a_copy_into_another_order_is_layout(kind, group, sort):
    (part,) = parts_of(facts([row("x", 0.1, kind=kind, group=group)]), "operators")
    assert part.sort == sort
