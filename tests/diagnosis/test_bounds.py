"""Upper ends of promises against rewrites worked out by hand on a machine with round ceilings: what was found must lie within what was promised."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.core import Action, Diagnosis, Facts, Primitive, PrimitiveTable
from ridgeline.diagnosis import next as next_step
from ridgeline.diagnosis.bounds import gain_at_best, remaining, vanishing
from ridgeline.diagnosis.case import Case
from support.facts_by_hand import MB, around, buffer, dispatch, exact, facts, row, samples, split


def found(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def promised(given: Facts, action: str) -> Action:
    return next(one for one in found(given).actions if one.action == action)


def chain(k: int, seconds_each: float, size: int, *, fresh: bool):
    return [
        row(
            f"op{i}", seconds_each, group="elementwise", engine="add", flop=size / 4, reads=(buffer(i, size),),
            writes=(buffer(i + 1, size, fresh=fresh),), after=(i - 1,) if i else (),
        )
        for i in range(k)
    ]  # fmt: skip


def mlp(**fields: Any) -> Facts:
    """25 ms: four elementwise operators on fresh results take 20, 7.5 of them in the kernel of the system, and 5 are a product's."""
    product = row("mm", 0.0049, group="matmul", engine="fma", flop=0.9 * 128e9 * 0.0049, reads=(buffer(90, MB),), writes=(buffer(91, MB),))
    given: dict[str, Any] = {"wall_split": split(system=0.3), "samples": samples(0.025, minor_faults=30_000.0), **fields}
    return facts([*chain(4, 0.005, 15 * MB, fresh=True), product], wall_s=0.025, **given)


def test_a_chain_takes_its_page_faults_with_it():
    # By hand: one kernel reads 15 MB and writes 15 MB into a buffer that is kept, at 13 GB/s; the product stays. 25 ms become 7.3 ms.
    by_hand = 0.025 / (0.005 + 30e6 / 13e9)
    low, high = promised(mlp(), "fuse").speedup
    assert by_hand == pytest.approx(3.42, abs=0.01)
    assert low < by_hand <= high * 1.001
    assert high == pytest.approx(by_hand, rel=0.02)
    # The careful end counts on the kernels alone: 12.5 of 25 ms, of which 0.6 of the saved traffic goes.
    assert low == pytest.approx(1 / (0.5 + 0.5 * (1 - 0.75 * 0.6)), rel=0.02)


def test_the_interpreter_goes_with_the_operators_that_it_issues_and_its_own_loops_stay():
    tiny = facts(chain(10, 50e-6, MB, fresh=False), wall_s=0.001, wall_split=split(interpreter=0.4))
    case = Case.of(tiny)
    # Ten operators of 50 µs, and at most 10 µs of Python for each.
    assert vanishing(case, case.judged) == pytest.approx(0.5 + 10 * 10e-6 / 0.001, rel=0.01)
    looping = Case.of(facts(chain(10, 500e-6, MB, fresh=False), wall_s=0.01, wall_split=split(interpreter=0.4)))
    assert vanishing(looping, looping.judged) == pytest.approx(0.5 + 10 * 10e-6 / 0.01, rel=0.01)


def test_what_remains_is_at_its_ceilings():
    # 30 MB in 5 ms are 6 of 13 GB/s; half of the bytes at the ceiling take 1.15 ms.
    case = Case.of(facts(chain(1, 0.005, 15 * MB, fresh=False)))
    assert remaining(case, case.judged, fewer_bytes=2.0) == pytest.approx(15e6 / 13e9 / 0.01, rel=0.01)
    # Arithmetic does not get less by moving less.
    dense = Case.of(facts([row("mm", 0.01, group="matmul", engine="fma", flop=0.5 * 128e9 * 0.01, reads=(buffer(1, MB),), writes=(buffer(2, MB),))]))
    assert remaining(dense, dense.judged, fewer_bytes=100.0) == pytest.approx(0.5)
    assert gain_at_best(dense, dense.judged, fewer_bytes=100.0) == pytest.approx(2.0)


def test_a_time_asleep_never_vanishes():
    case = Case.of(facts(chain(2, 0.004, MB, fresh=False), wall_split=split(blocked=0.5)))
    assert vanishing(case, case.judged) <= 0.5


def small_products(f_c: float) -> Facts:
    """A call of 1 ms that issues a hundred products: 0.52 ms dispatch, 0.43 ms kernels at f_c of their ceiling."""
    rows = [
        row("mm", 0.00095, calls=100.0, group="matmul", engine="fma", flop=f_c * 128e9 * 0.00043, reads=(buffer(1, 64),), writes=(buffer(2, 64),))
    ]
    return facts(rows, wall_s=0.001, dispatch=dispatch(100, 5.2e-6))


def test_a_batch_spares_dispatch_and_lets_the_arithmetic_run():
    low, high = promised(small_products(0.3), "batch").speedup
    # By hand, 32 items at once: dispatch ÷ 32, the arithmetic at 0.6 of its ceiling, 0.05 ms beside it.
    by_hand = 0.001 / (0.00052 / 32 + 0.00043 * 0.3 / 0.6 + 0.00005)
    assert low < by_hand < high
    assert low == pytest.approx(1 / (0.48 + 0.26), rel=0.02)


def test_a_batch_of_arithmetic_at_its_ceiling_gains_no_more_than_its_dispatch():
    _, high = promised(small_products(1.0), "batch").speedup
    assert high <= 1 / (0.43 + 0.05) * 1.03


def test_a_layout_change_takes_more_with_it_than_the_reorders_that_the_log_times():
    # 8 ms of convolution: 5.2 in reorders, 1.6 in the primitives themselves, 1.2 in memory that the reorders turn into.
    conv = row(
        "conv", 0.008, group="convolution", kind="aten::convolution", engine="fma", flop=2e7, reads=(buffer(1, 4 * MB),), writes=(buffer(2, MB),)
    )
    parts = (
        Primitive(kind="reorder", calls=12, total_s=around(0.0052, "s"), operator=0),
        Primitive(kind="convolution", calls=6, total_s=around(0.0016, "s"), operator=0),
    )
    table = PrimitiveTable(primitives=parts, library="oneDNN", instrument="by hand", wall_s=exact(0.01, "s"))
    low, high = promised(facts([conv], primitives=table, relayouts=()), "change-layout").speedup
    # By hand: 2 ms beside it and 1.6 ms of kernels are left.
    assert low < 0.01 / 0.0036 < high
    assert high == pytest.approx(0.01 / (0.002 + 0.0016 / 1.35), rel=0.02)


def test_together_is_worth_at_least_the_best_alone():
    page = found(mlp())
    together = [action for action in page.actions if action.combines]
    assert together
    alone = {action.id: action.speedup[1] for action in page.actions}
    assert all(action.speedup[1] >= max(alone[part] for part in action.combines) for action in together)
