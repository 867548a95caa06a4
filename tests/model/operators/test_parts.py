"""Parts of families, and the columns of kernels' cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ridgeline.core import Workload
from ridgeline.model.design import FORMS, first, form_of
from ridgeline.model.families import FAMILIES, demand, sizes_of
from ridgeline.model.operators.cases import cases, filled
from ridgeline.model.operators.parts import part_of


def test_a_form_of_the_design_is_learned_in_few_parts() -> None:
    """What is drawn as one type of operator is learned as one, but where kernels differ within it (depthwise among the plain)."""
    parts = {form.name: {part_of(work) for _, work in itertools.islice(first(0, [form]), 200)} for form in FORMS}
    assert all(len(found) <= 2 for found in parts.values()), parts
    assert parts["blocked convolution"] == {"convolution: blocked"}
    assert parts["blocked depthwise"] == {"convolution: blocked depthwise"}
    assert parts["plain convolution"] == {"convolution", "convolution: depthwise"}
    assert parts["product"] == parts["fully connected"] == {"gemm"}
    assert parts["product of two results"] == {"gemm: of two results"}
    assert parts["two operands"] == {"elementwise: two operands"}
    assert parts["one operand"] == {"elementwise"}


@pytest.mark.parametrize(("work", "part"), [
    (Workload(kind="gemm", variant="aten::linear", sizes={"m": 1, "n": 1, "k": 1}), "gemm"),
    (Workload(kind="elementwise", variant="add", sizes={"elements": 4}), "elementwise"),
    (Workload(kind="attention", sizes={"heads": 1, "queries": 1, "keys": 1, "head_size": 1, "kv_heads": 1}), "attention"),
])  # fmt: skip
def test_runtimes_that_are_not_known_are_learned_by_family(work: Workload, part: str) -> None:
    assert part_of(work) == part


@pytest.mark.parametrize("form", [form.name for form in FORMS])
def test_columns_are_finite_and_as_long_as_the_rows(form: str) -> None:
    works = [work for _, work in itertools.islice(first(1, [form_of(form)]), 50)]
    kind = works[0].kind
    family = FAMILIES[kind]
    names = (*family.sizes, *family.defaults)
    sizes = sizes_of(kind, {name: np.array([float(work.sizes.get(name, family.defaults.get(name, 1))) for work in works]) for name in names})
    found = cases(kind, sizes, demand(kind, sizes))
    for above, below in found.logs.values():
        assert (np.broadcast_to(above, 50) > 0).all()
        assert (np.broadcast_to(below, 50) > 0).all()
    for values in found.plain.values():
        assert np.isfinite(values).all()


def test_cases_by_hand() -> None:
    sizes = sizes_of("convolution", {"c": [8, 8], "h": [14, 14], "w": [14, 15], "k": [32, 48], "p": [14, 7], "q": [14, 8], "r": [1, 3], "s": [1, 3]})
    found = cases("convolution", sizes, demand("convolution", sizes)).plain
    # 8 · 32 · 196 multiply-adds are fewer than 65,536; 9 · 8 · 48 · 56 are more. The second ends one beyond the edge: 7 · 2 + 3 − 15 = 2 of 3.
    assert np.asarray(found["threaded"]).tolist() == [0.0, 1.0]
    assert np.asarray(found["pointwise"]).tolist() == [1.0, 0.0]
    assert np.asarray(found["padded"]).tolist() == pytest.approx([0.0, 2 / 3])
    assert np.asarray(found["exact"]).tolist() == [1.0, 0.0]
    assert filled(np.array([1.0, 16.0, 17.0]), 16.0).tolist() == pytest.approx([1 / 16, 1.0, 17 / 32])
