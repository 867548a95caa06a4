"""Looking into two versions for real: what each view saw of each, without a word on times."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Comparison, GroundTruth, TailComparison
from ridgeline.diagnosis.matching import matched
from ridgeline.diagnosis.parts import parts_of
from ridgeline.flows.comparing.sides import side_of
from ridgeline.flows.comparing.why import Views, attributed, views_of

SOURCE = """
import numpy as np

VALUES = np.arange(200_000.0)[::-1].copy()

def a():
    return np.add(VALUES, 1.0)

def b():
    return np.sort(np.add(VALUES, 1.0))

def fails():
    raise ValueError("broken on purpose")

BUFFER = np.empty(4_000_000)

def reused():
    BUFFER.fill(1.0)

def fresh():
    np.empty(4_000_000).fill(1.0)
"""
STAGES = """
import ridgeline

def spin(count):
    return sum(range(count))

def pipeline(count):
    with ridgeline.stage("decode"):
        spin(10_000)
    with ridgeline.stage("infer"):
        spin(count)

def a():
    pipeline(10_000)

def b():
    pipeline(200_000)
"""
TORCH = """
import torch

VALUES = torch.ones(128, 128)

def turned():
    return torch.relu(VALUES.t().contiguous())

def copied():
    return torch.relu(VALUES.clone())
"""


@pytest.fixture
def slower():
    truth = GroundTruth(
        samples=100, processes=5, warmup=0, first_s=None, median_s=1e-3, median_ci_s=(9e-4, 1.1e-3), p99_s=None, p99_ci_s=None, min_s=9e-4,
        batched_s=None, noise_floor=None, overhead_s=None,
    )  # fmt: skip
    return Comparison(
        verdict="slower", ratio=2.0, ratio_ci=(1.9, 2.1), confidence=0.97, tail=TailComparison(verdict="inconclusive"), keep=False,
        detectable_ratio=1.01, a=truth, b=truth,
    )  # fmt: skip


@pytest.fixture
def sides(tmp_path):
    (tmp_path / "work.py").write_text(SOURCE)
    return lambda *names: tuple(side_of(f"{tmp_path}/work.py:{name}") for name in names)


def test_every_view_of_both_versions(slower, sides):
    views = views_of(slower, sides("a", "b"), 1.0, 0, lambda label, fraction: None)
    assert len(views.a) == len(views.b) >= 1
    kinds = [{row.kind for row in facts.operators.rows} for facts in (views.a[0], views.b[0])]
    assert "numpy.sort" not in kinds[0]
    assert "numpy.sort" in kinds[1]
    assert all(facts.wall_split is not None and facts.samples is not None for facts in (*views.a, *views.b))
    assert attributed(slower, views).warnings or attributed(slower, views).why


def test_a_version_that_fails_costs_only_the_reasons(slower, sides):
    views = views_of(slower, sides("a", "fails"), 0.5, 0, lambda label, fraction: None)
    assert (views.a, views.b) == ((), ())
    found = attributed(slower, views)
    assert (found.verdict, found.why) == ("slower", ())
    assert "broken on purpose" in found.warnings[-1].message


@pytest.mark.parametrize("changes", [{"verdict": "inconclusive"}, {"verdict": "same"}, {"unit": "B"}, {"ratio_ci": (1.2, None)}, {"a": None}])
def test_nothing_is_looked_into_without_a_difference(slower, changes):
    found = msgspec.structs.replace(slower, **changes)
    assert views_of(found, (None, None), 1.0, 0, None) == Views()
    assert attributed(found, Views()).warnings[-1].code == "not-attributed"


def looked_into(slower, a, b):
    views = views_of(slower, (side_of(a), side_of(b)), 0.5, 0, lambda label, fraction: None)
    assert views.failure == ""
    return views.a[0], views.b[0]


def only_in_one(a, b, view):
    """Sort and kind of the parts that only one version has."""
    sides = [{part.key: part for part in parts_of(facts, view)} for facts in (a, b)]
    pairs = matched(tuple(sides[0]), tuple(sides[1]))
    ours = {(sides[0][key].sort, key.kind) for key, other in pairs if other is None}
    theirs = {(sides[1][key].sort, key.kind) for other, key in pairs if other is None}
    return ours, theirs


def test_the_stage_that_does_more_is_the_one(slower, tmp_path):
    (tmp_path / "stages.py").write_text(STAGES)
    a, b = looked_into(slower, f"{tmp_path}/stages.py:a", f"{tmp_path}/stages.py:b")
    stages = [{part.key.name: part.seconds.value for part in parts_of(facts, "stages")} for facts in (a, b)]
    assert [list(names) for names in stages] == [["decode", "infer"]] * 2
    # By what it is beside the other stage of the same call: what slows the machine down slows both.
    assert stages[1]["infer"] / stages[1]["decode"] > stages[0]["infer"] / stages[0]["decode"]
    assert only_in_one(a, b, "stages") == (set(), set())


def test_fresh_memory_is_pages_asked_of_the_kernel(slower, sides):
    a, b = looked_into(slower, *(side.spec for side in sides("reused", "fresh")))
    assert b.samples.mean("minor_faults") > a.samples.mean("minor_faults")
    system = [next(part for part in parts_of(facts, "wall") if part.sort == "system time") for facts in (a, b)]
    assert all("page faults a call" in part.says for part in system)
    assert only_in_one(a, b, "operators") == (set(), {("allocation", "numpy.empty")})


def test_transposed_nodes_of_a_model_are_layout(slower, tmp_path):
    onnx = pytest.importorskip("onnx")

    def saved(name, turns):
        from support.onnx_models import model, tensor, zeros

        make = onnx.helper.make_node
        around = [make("Transpose", ["x"], ["t"], perm=[1, 0]), make("Relu", ["t"], ["s"]), make("Transpose", ["s"], ["z"], perm=[1, 0])]
        plain = [make("Relu", ["x"], ["z"])]
        nodes = [*(around if turns else plain), make("Gemm", ["z", "w"], ["y"])]
        onnx.save(model(nodes, [tensor("x", 64, 64)], ["y"], {"w": zeros(64, 64)}), tmp_path / name)
        return str(tmp_path / name)

    a, b = looked_into(slower, saved("a.onnx", False), saved("b.onnx", True))
    ours, theirs = only_in_one(a, b, "operators")
    assert ("layout", "Transpose") in theirs
    assert not any(sort == "layout" for sort, _ in ours)


def test_a_copy_of_a_module_is_one_into_the_same_order_or_into_another(slower, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "module.py").write_text(TORCH)
    path = f"{tmp_path}/module.py"
    found = looked_into(slower, f"{path}:turned", f"{path}:copied")
    sorts = [{part.key.kind: part.sort for part in parts_of(facts, "operators")} for facts in found]
    assert sorts[0]["aten::clone"] == "layout"
    assert sorts[1]["aten::clone"] == "copy"
