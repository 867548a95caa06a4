"""Findings from counters of kernels: what is told, what is kept quiet, and how far promises go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import KernelCounts, KernelTable, TraceFinding
from ridgeline.diagnosis.traces.kernels import kernel_findings

_HEALTHY = {"compute_share": 0.3, "memory_share": 0.5, "dram_share": 0.5, "occupancy": 0.9, "active_lanes": 31.0, "sectors_per_request": 4.0}


def _table(figures: dict[str, float], *, block: tuple[int, ...] = (256, 1, 1), duration_s: float | None = 1e-3) -> KernelTable:
    return KernelTable(kernels=(KernelCounts(name="k", duration_s=duration_s, block=block, grid=(64, 1, 1), figures=figures),))


def _only(**figures: float) -> TraceFinding:
    (finding,) = kernel_findings(_table({**_HEALTHY, **figures}))
    return finding


def test_a_healthy_kernel_below_every_ceiling_is_kept_quiet() -> None:
    assert kernel_findings(_table(_HEALTHY)) == ()


def test_every_lane_in_a_sector_of_its_own() -> None:
    finding = _only(sectors_per_request=32.0, memory_share=0.9)
    assert (finding.cause, finding.bound, finding.where.operator) == ("uncoalesced-access", "bandwidth", "k")
    (action,) = finding.actions
    assert action.action == "coalesce"
    # Half of the sectors at the least are too many, in the 0.6 of the time for which memory alone is busy; seven eighths at the most, in all of it.
    assert action.speedup == (pytest.approx(1 / (1 - 0.5 * 0.6)), pytest.approx(8.0))
    assert action.median_after_s == (pytest.approx(1e-3 / 8), pytest.approx(1e-3 * (1 - 0.3)))
    assert "not known" in finding.summary


@pytest.mark.parametrize("sectors", [1.0, 4.0, 8.0, 16.0])
def test_sectors_that_some_width_of_access_needs_are_kept_quiet(sectors: float) -> None:
    assert kernel_findings(_table({**_HEALTHY, "sectors_per_request": sectors})) == ()


def test_bytes_that_were_asked_for_tell_where_sectors_do_not() -> None:
    finding = _only(sectors_per_request=8.0, coalesced_share=0.5)
    assert finding.cause == "uncoalesced-access"
    assert finding.actions[0].speedup[1] == pytest.approx(2.0)
    assert kernel_findings(_table({**_HEALTHY, "sectors_per_request": 16.0, "coalesced_share": 1.0})) == ()


def test_lanes_that_are_not_active() -> None:
    finding = _only(active_lanes=16.0, compute_share=0.8, memory_share=0.2, dram_share=0.1)
    assert finding.cause == "divergence"
    assert finding.actions[0].action == "uniform-branches"
    assert finding.actions[0].speedup == (pytest.approx(1 / (1 - 0.5 * 0.6)), pytest.approx(2.0))


def test_blocks_that_fill_part_of_a_warp_are_no_divergence() -> None:
    (finding,) = kernel_findings(_table({**_HEALTHY, "active_lanes": 16.0}, block=(16, 1, 1)))
    assert (finding.cause, finding.actions[0].action) == ("low-parallelism", "rebalance")


def test_split_branches_cost_nothing_where_lanes_are_active() -> None:
    assert kernel_findings(_table({**_HEALTHY, "branch_efficiency": 0.5})) == ()
    figures = {name: value for name, value in _HEALTHY.items() if name != "active_lanes"}
    (finding,) = kernel_findings(_table({**figures, "branch_efficiency": 0.5}))
    assert (finding.cause, finding.actions[0].speedup) == ("divergence", (1.0, 2.0))


def test_wavefronts_of_64_lanes() -> None:
    (finding,) = kernel_findings(_table({**_HEALTHY, "active_lanes": 40.0}))
    assert finding.cause == "divergence"
    assert finding.actions[0].speedup[1] == pytest.approx(1.6)


def test_lanes_as_a_share() -> None:
    (finding,) = kernel_findings(_table({**_HEALTHY, "active_lanes": 0.5}))
    assert (finding.cause, finding.actions[0].speedup[1]) == ("divergence", pytest.approx(2.0))
    assert finding.summary.startswith("50.0% of the lanes")


def test_occupancy_names_its_limit() -> None:
    finding = _only(
        occupancy=0.25, occupancy_limit=0.25, blocks_by_registers=2, blocks_by_shared_memory=6, blocks_by_warps=8, registers_per_thread=128
    )
    assert (finding.cause, finding.bound) == ("low-parallelism", "latency")
    assert "limited by registers" in finding.summary
    # A quarter of the warps, but the memory is at half of its peak already.
    assert finding.actions[0].speedup == (1.0, pytest.approx(2.0))


def test_occupancy_does_not_matter_at_a_ceiling() -> None:
    finding = _only(occupancy=0.25, compute_share=0.95, arithmetic_share=0.9, memory_share=0.2, dram_share=0.1)
    assert finding.cause == "near-peak"


def test_occupancy_is_not_blamed_where_the_memory_was_not_counted() -> None:
    assert kernel_findings(_table({"compute_share": 0.2, "occupancy": 0.3})) == ()


def test_a_grid_that_does_not_fill_the_device() -> None:
    finding = _only(waves_per_sm=0.25)
    assert finding.actions[0].action == "parallelise"
    assert finding.actions[0].speedup == (1.0, pytest.approx(2.0))


def test_streaming_halves_its_bytes() -> None:
    finding = _only(dram_share=0.9, memory_share=0.9, compute_share=0.1)
    assert (finding.cause, finding.bound) == ("streaming", "bandwidth")
    assert finding.actions[0].speedup == (pytest.approx(1 / 0.6), 2.0)


def test_a_rate_above_the_ceiling_is_told() -> None:
    table = _table({"compute_share": 0.223, "dram_byte_per_s": 607.15e9})
    assert kernel_findings(table) == ()
    (finding,) = kernel_findings(table, dram_peak_byte_per_s=590.06e9)
    assert finding.cause == "streaming"
    evidence = {one.name: one.quantity for one in finding.evidence}
    assert evidence["dram_share"].value == pytest.approx(607.15 / 590.06)
    assert "above its ceiling" in evidence["dram_share"].origin


def test_a_busy_multiprocessor_without_its_units_promises_nothing() -> None:
    (finding,) = kernel_findings(_table({"compute_share": 0.97, "occupancy": 0.66, "active_lanes": 32.0}))
    assert (finding.cause, finding.bound, finding.actions) == ("near-peak", "inconclusive", ())
    assert "does not tell" in finding.summary


def test_loads_and_stores_at_their_peak_are_no_arithmetic() -> None:
    finding = _only(compute_share=0.97, load_store_share=0.97, arithmetic_share=0.25, memory_share=0.5)
    assert (finding.cause, finding.actions[0].action) == ("poor-locality", "block")
    assert finding.actions[0].speedup == (1.0, pytest.approx(2.0))


def test_kernels_that_hardly_take_time_are_passed_over() -> None:
    long = KernelCounts(name="long", duration_s=1.0, figures=_HEALTHY)
    short = KernelCounts(name="short", duration_s=1e-3, figures={**_HEALTHY, "sectors_per_request": 32.0})
    assert kernel_findings(KernelTable(kernels=(long, short))) == ()


def test_launches_are_weighted_by_their_time() -> None:
    one = KernelCounts(name="k", duration_s=3.0, figures={"compute_share": 0.2, "dram_share": 1.0})
    other = KernelCounts(name="k", duration_s=1.0, figures={"compute_share": 0.2, "dram_share": 0.2})
    (finding,) = kernel_findings(KernelTable(kernels=(one, other)))
    assert {each.name: each.quantity.value for each in finding.evidence}["dram_share"] == pytest.approx(0.8)


_SHARE = st.floats(0.0, 1.3)
_FIGURES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            ("compute_share", "memory_share", "dram_share", "l1_share", "arithmetic_share", "load_store_share", "branch_efficiency"), _SHARE
        ),
        **dict.fromkeys(("occupancy", "occupancy_limit", "coalesced_share"), _SHARE),
        **dict.fromkeys(("sectors_per_request", "active_lanes"), st.floats(0.0, 64.0)),
        "waves_per_sm": st.floats(0.0, 10.0),
        "dram_byte_per_s": st.floats(0.0, 1e13),
    },
)


@given(figures=_FIGURES, threads=st.integers(1, 1024), seconds=st.one_of(st.none(), st.floats(1e-9, 10.0)), peak=st.sampled_from([None, 1e12]))
def test_promises_are_bounded_whatever_was_counted(figures: dict[str, float], threads: int, seconds: float | None, peak: float | None) -> None:
    for finding in kernel_findings(_table(figures, block=(threads, 1, 1), duration_s=seconds), dram_peak_byte_per_s=peak):
        assert 0.0 <= finding.share <= 1.0
        for action in finding.actions:
            assert 1.0 <= action.speedup[0] <= action.speedup[1] <= 100.0
            # Without a duration nobody knows what is left of it.
            assert (action.median_after_s is None) == (seconds is None)
            if action.median_after_s is not None and seconds is not None:
                assert action.median_after_s[0] <= action.median_after_s[1] <= seconds
