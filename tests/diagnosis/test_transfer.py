"""Copies between host and device, by hand: small ones, there and back, and large ones; never copies within one memory."""

from __future__ import annotations

import pytest

from ridgeline.core import Need, Site, Wait, WaitTable
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import MB, buffer, exact, facts, row

WALL_S = 0.01


def page_of(rows, **fields):
    step = next_step(facts(rows, WALL_S, **fields))
    assert not isinstance(step, Need), step
    return step


def copy(kind: str, seconds: float, size: int, calls: float = 1.0):
    return row(kind, seconds, kind=kind, group="copy", calls=calls, reads=(buffer(1, size),), writes=(buffer(2, size),))


def work(seconds: float):
    return row("kernel", seconds, group="other", kind="Kernel")


def transfer_of(page):
    return next((f for f in [page.bottleneck, *page.runners_up] if f is not None and f.cause == "transfer"), None)


def actions(page):
    return {action.action: action for action in page.actions}


def test_a_large_upload_overlaps_to_the_larger_of_the_two():
    page = page_of([copy("Memcpy HtoD", 0.004, 8 * MB), work(0.006)])
    assert transfer_of(page).share == pytest.approx(0.4)
    promised = actions(page)["overlap-transfer"]
    assert promised.metric == "period"
    assert promised.speedup[1] == pytest.approx(1 / 0.6, rel=0.01)
    assert "keep-on-device" not in actions(page)
    assert "batch-transfers" not in actions(page)


def test_many_small_copies_are_collected():
    page = page_of([copy("MemcpyFromHost", 0.006, 1000, calls=100), work(0.004)])
    promised = actions(page)["batch-transfers"]
    assert promised.speedup[0] == pytest.approx(1 / (0.4 + 0.6 / 5.75))
    assert promised.speedup[1] == pytest.approx(1 / (0.4 + 0.6 / 100))
    assert "100 copies" in promised.because


def test_where_copies_are_all_there_is_the_loop_around_them_goes_too():
    promised = actions(page_of([copy("MemcpyFromHost", 0.009, 1000, calls=100), work(0.001)]))["batch-transfers"]
    assert promised.speedup[0] == pytest.approx(1 / (0.1 + 0.9 / 5.75), rel=0.02)
    assert promised.speedup[1] > 1 / 0.1


def test_what_comes_down_and_goes_up_again_is_kept():
    page = page_of([copy("Memcpy DtoH", 0.003, 4 * MB), copy("Memcpy HtoD", 0.003, 4 * MB), work(0.004)])
    assert "keep-on-device" in actions(page)
    # One of the two copies stays somewhere: half of what they take, at the most.
    assert actions(page)["keep-on-device"].speedup[1] <= 1 / (1 - 0.3) + 1e-9


def test_different_sizes_are_different_data():
    page = page_of([copy("Memcpy DtoH", 0.003, 4 * MB), copy("Memcpy HtoD", 0.003, 5 * MB), work(0.004)])
    assert "keep-on-device" not in actions(page)


@pytest.mark.parametrize("kind", ["numpy.copy", "aten::copy_", "Memcpy DtoD"])
def test_copies_within_one_memory_are_no_transfers(kind):
    assert transfer_of(page_of([copy(kind, 0.006, 8 * MB), work(0.004)])) is None


def test_a_transfer_that_takes_little_is_not_named():
    assert transfer_of(page_of([copy("Memcpy HtoD", 0.0005, 8 * MB), work(0.009)])) is None


def test_timed_copies_of_a_queue_are_transfers_too():
    site = Site(file="net.py", line=9, function="send")
    wait = Wait(
        kind="transfer", calls=50.0, total_s=exact(0.005, "s"), caller_s=exact(0.005, "s"), on="copy to the device", site=site, moved_bytes=50_000.0
    )
    table = WaitTable(waits=(wait,), wall_s=exact(WALL_S, "s"), instrument="by hand")
    page = page_of([work(0.004)], waits=table)
    assert transfer_of(page).where.line == 9
    assert "batch-transfers" in actions(page)
