"""What is promised of a lower precision: from which ceilings, for which conversion, and that what was found on nine models lies in it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ridgeline.core import Action, Ceiling, Device, Diagnosis, Facts
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import FMA, MB, READ, buffer, device, exact, facts, row

#: The int8 ceiling of the machine made by hand over its fp32 one.
RATIO = FMA["int8", 4] / FMA["fp32", 4]
#: What a kernel at 0.8 of its ceiling may gain besides: the whole of the other ceiling is the bound.
LEFT = 1 / 0.8


def dense(share: float, **fields: Any) -> Facts:
    """An operator at 0.8 of its ceiling that takes `share` of a call of 10 ms; the rest copies at 0.8 of what memory gives."""
    peak = FMA[fields.get("precision", "fp32"), 4]
    shaped: dict[str, Any] = {"kind": "Conv", "group": "convolution", **fields}
    work = {"engine": "fma", "flop": 0.8 * peak * 0.01 * share, "reads": (buffer(1, MB), buffer(2, MB)), "writes": (buffer(3, MB),)}
    half = int(0.4 * READ[100 * MB][1] * 0.01 * (1 - share))
    rest = row("rest", 0.01 * (1 - share), group="copy", reads=(buffer(4, half),), writes=(buffer(5, half),), after=(0,))
    return facts([row("heavy", 0.01 * share, **shaped, **work), rest])


def promised(given: Facts) -> Action:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return next(action for action in step.actions if action.action == "lower-precision" and "ceiling" in action.because)


def with_bf16(rate: float) -> Device:
    found = device()
    added = tuple(Ceiling(engine="fma", precision="bf16", threads=threads, rate=exact(rate * threads / 4, "FLOP/s")) for threads in (1, 4))
    return msgspec.structs.replace(found, ceilings=(*found.ceilings, *added))


@pytest.mark.parametrize("share", [0.95, 0.6, 0.3])
def test_int8_is_promised_half_of_its_ceiling_less_what_stays_in_float(share):
    low, high = promised(dense(share)).speedup
    careful = max(1.0, 0.5 * RATIO * share)
    assert high == pytest.approx(1 / (1 - share + share / (RATIO * LEFT)), rel=0.02)
    assert low == pytest.approx(1 / (1 - share + share / careful), rel=0.02)


def test_the_promise_says_for_which_conversion_it_holds():
    assert "static quantisation" in promised(dense(0.9)).because
    assert "constant matrix" in promised(dense(0.9, kind="Gemm", group="matmul")).because


def test_single_precision_for_double_is_lower_throughout():
    action = promised(dense(0.95, precision="fp64"))
    assert action.speedup[0] == pytest.approx(1 / (0.05 + 0.95 / 1.2), rel=0.02)
    assert action.speedup[1] == pytest.approx(1 / (0.05 + 0.95 / (2.0 * LEFT)), rel=0.02)
    assert "int8" not in action.because
    assert "constant matrix" not in action.because


def test_the_careful_end_is_that_of_the_least_lower_precision():
    given = msgspec.structs.replace(dense(0.95), device=with_bf16(1.5 * FMA["fp32", 4]))
    action = promised(given)
    assert "bf16 1.5×" in action.because
    # Half of 1.5 is less than nothing gained.
    assert action.speedup[0] == pytest.approx(1.0, abs=0.01)
    assert action.speedup[1] == pytest.approx(1 / (0.05 + 0.95 / (RATIO * LEFT)), rel=0.02)


#: docs/int8.md: share of the operators at the fp32 ceiling, and the speedup of the int8 copy; two threads, a ratio of 3.9.
FOUND = {
    "convolutions": (0.99, 3.20), "resnet50": (0.99, 2.82), "mlp": (0.97, 2.39), "block": (0.85, 1.99), "squeezenet": (0.78, 1.64),
    "densenet121": (0.68, 1.23), "magika": (0.60, 1.73), "recognition": (0.39, 1.14), "detection": (0.29, 1.02),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_lies_in_the_promise(name):
    share, found = FOUND[name]
    low, high = promised(dense(share)).speedup
    assert low <= found <= high, f"{name}: {found} outside {low:.2f}–{high:.2f}"
