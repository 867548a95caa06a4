"""Traces of programs whose bottleneck is known: cause, share and promise are right, and the promise is kept by the program without the bottleneck."""

from __future__ import annotations

import pytest

from ridgeline.core import Profile, ReadReport, Timeline, Track
from ridgeline.flows.read import report_of
from timeline.building import HOST, timeline_of

from .machine import Machine
from .programs import US, Program, communicating, copying, full, interpreting, launch_bound, loading, waiting

SMALL, MIDDLE, LARGE = (5, 10), (12, 30), (40, 40)
SIZES = (SMALL, MIDDLE, LARGE)


def answered(machine: Machine) -> ReadReport:
    return report_of(Profile(format="chrome", files=("trace.json",), timeline=machine.timeline()))


def device_ticks(machine: Machine) -> int:
    """From the first work of a device to the end of its last."""
    work = [(int(row[3]), int(row[4])) for row in machine.rows if row[0].device]  # type: ignore[attr-defined]
    return max(end for _, end in work) - min(start for start, _ in work)


CASES = [
    *(("dispatch", "capture-graph", launch_bound(kernel, marks=marks)) for kernel, marks in ((4 * US, True), (4 * US, False), (15 * US, True))),
    *(("synchronisation", "remove-sync", waiting(*times)) for times in ((60 * US, 15 * US), (100 * US, 5 * US), (30 * US, 30 * US))),
    ("synchronisation", "remove-sync", waiting(60 * US, 15 * US, marks=False)),
    ("synchronisation", "remove-sync", waiting(40 * US, 10 * US, each=False, python=400 * US)),
    *(("input-output", "prefetch", loading(part)) for part in (0.3, 0.6, 3.0)),
    ("input-output", "prefetch", loading(0.6, marks=False)),
    *(("transfer", "overlap-transfer", copying(part)) for part in (0.4, 1.5)),
    *(("transfer", "overlap-transfer", communicating(0.4, marks=marks)) for marks in (True, False)),
    *(("interpreter", "compile", interpreting(python)) for python in (15 * US, 40 * US)),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("cause", "name", "program"), CASES)
def test_the_bottleneck_is_found_and_its_promise_is_kept(cause: str, name: str, program: Program, size: tuple[int, int]) -> None:
    slow, fast = program(False, *size), program(True, *size)
    report = answered(slow)
    found = report.findings[0]
    assert (found.cause, report.healthy) == (cause, False)
    assert 0.05 <= found.share <= 1.0
    action = next(one for one in found.actions if one.action == name)
    gain = device_ticks(slow) / device_ticks(fast)
    assert 1.0 <= action.speedup[0] <= 1.01 * gain
    assert gain <= 1.01 * action.speedup[1]


def turns(count: int, *, marks: bool, pipelined: bool) -> Timeline:
    """Two threads: the second takes up what the first has made; pipelined, the first goes on meanwhile."""
    first, second = (Track(name=name, role="thread", process="1", thread=name) for name in ("decode", "infer"))
    events, longer, shorter = [], 14_000 * US, 9_000 * US
    for number in range(count):
        start = number * (longer if pipelined else longer + shorter)
        events += [(first, "operator", "decode", start, start + longer), (second, "operator", "infer", start + longer, start + longer + shorter)]
        if marks:
            events.append((HOST, "iteration", f"frame#{number}", start, start + longer + shorter))
    return timeline_of(events)


@pytest.mark.parametrize("count", [5, 20, 60])
@pytest.mark.parametrize("marks", [False, True])
def test_lanes_that_take_turns_are_found_with_and_without_marks(count: int, *, marks: bool) -> None:
    report = report_of(Profile(format="chrome", files=("trace.json",), timeline=turns(count, marks=marks, pipelined=False)))
    found = next(one for one in report.findings if one.cause == "serialisation")
    assert found.share == pytest.approx(9 / 23)
    (action,) = found.actions
    assert action.metric == "period"
    # Between results: 23 ms one after the other, 14 ms side by side.
    assert action.speedup[0] <= 23 / 14 <= action.speedup[1] + 1e-9
    assert action.median_after_s[0] == pytest.approx(0.014)
    after = report_of(Profile(format="chrome", files=("trace.json",), timeline=turns(count, marks=False, pipelined=True)))
    assert not [one for one in after.findings if one.cause == "serialisation"]


HEALTHY = [full(), full(marks=False), full(10 * US), full(30 * US), full(warm_up=50_000 * US)]


@pytest.mark.parametrize("size", [(10, 10), (12, 30), (40, 40)])
@pytest.mark.parametrize("program", HEALTHY)
def test_a_device_that_works_is_left_in_peace(program: Program, size: tuple[int, int]) -> None:
    report = answered(program(False, *size))
    assert (report.findings, report.healthy) == ((), True)


def test_the_first_iteration_is_not_what_a_program_that_goes_on_is_judged_by() -> None:
    report = answered(full(warm_up=50_000 * US)(False, 8, 10))
    assert report.iterations is not None
    assert report.iterations.first == 1
    assert report.judged.startswith("iterations 2 to 8")
    # What the devices did in all is still told as it was.
    assert report.devices[0].idle_share > 0.8


def test_one_kernel_at_the_end_of_a_long_trace_does_not_make_it_healthy() -> None:
    machine = Machine()
    machine.host("operator", "prepare", 100_000 * US)
    machine.op("op", 10 * US, "kernel", 50 * US)
    machine.sync()
    report = answered(machine)
    assert report.devices[0].idle_s == 0
    assert (report.findings, report.healthy) == ((), None)


def test_a_promise_is_of_the_window_that_its_share_is_of() -> None:
    # Without iterations: as long before the first kernel as from there on.
    machine = launch_bound(4 * US, marks=False)(False, 1, 20)
    later = Machine()
    later.host("operator", "prepare", 2 * machine.end)
    offset = later.now
    later.rows += [[row[0], row[1], row[2], int(row[3]) + offset, int(row[4]) + offset] for row in machine.rows]  # type: ignore[call-overload]
    later.links = [(source + 1, target + 1, kind) for source, target, kind in machine.links]
    found, same = (answered(each).findings[0] for each in (later, machine))
    assert found.share == pytest.approx(same.share)
    (action,) = (one for one in found.actions if one.action == "capture-graph")
    assert action.median_after_s[1] * action.speedup[0] == pytest.approx(device_ticks(machine) * 1e-9)


def test_python_before_the_first_work_of_a_device_is_told() -> None:
    slow, fast = Machine(), Machine()
    for machine, python in ((slow, 60_000 * US), (fast, 6_000 * US)):
        machine.host("python", "resize", python)
        for number in range(40):
            machine.op("op", 2 * US, f"kernel {number}", 1_000 * US)
        machine.sync()
    report = answered(slow)
    (found,) = report.findings
    assert (found.cause, found.where.function, report.healthy) == ("interpreter", "resize", False)
    assert found.share == pytest.approx(0.6, abs=0.01)
    assert found.actions[0].speedup[0] <= slow.end / fast.end <= found.actions[0].speedup[1]


def test_a_call_that_copies_for_much_longer_than_the_device_does_is_not_promised_away() -> None:
    machine = Machine()
    for _ in range(3):
        machine.launch("kernel", 50 * US)
        machine.sync()
        with machine.inside("runtime", "copy call"):
            machine.now += 20_000 * US
            machine.launch("copy", 5 * US, kind="copy")
    outer = [at for at, row in enumerate(machine.rows) if row[2] == "copy call"]
    links = [(outer[index], at, "launch") for index, at in enumerate(at for at, row in enumerate(machine.rows) if row[2] == "copy")]
    machine.links = [link for link in machine.links if link[1] not in {target for _, target, _ in links}] + links
    found = answered(machine).findings[0]
    assert (found.cause, found.bound, found.actions) == ("unknown", "inconclusive", ())
