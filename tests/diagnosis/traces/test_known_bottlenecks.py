"""Traces of programs whose bottleneck is known: cause, share and promise are right, and the promise is kept by the program without the bottleneck."""

from __future__ import annotations

import pytest

from ridgeline.core import Profile, ReadReport, Timeline, Track
from ridgeline.flows.read import report_of
from ridgeline.timeline.replay import what_if
from timeline.building import HOST, stream, timeline_of

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


def prepared(machine: Machine, ticks: int) -> Machine:
    """The same after so long a preparation of the host, with no work for the device."""
    later = Machine()
    later.host("operator", "prepare", ticks)
    later.rows += [[row[0], row[1], row[2], int(row[3]) + ticks, int(row[4]) + ticks] for row in machine.rows]  # type: ignore[call-overload]
    later.links = [(source + 1, target + 1, kind) for source, target, kind in machine.links]
    later.now = machine.end + ticks
    return later


def test_a_promise_is_of_the_whole_and_not_of_what_begins_with_the_first_work() -> None:
    slow, fast = (launch_bound(4 * US, marks=False)(fixed, 1, 20) for fixed in (False, True))
    ticks = 2 * slow.end
    later, alone = (answered(each) for each in (prepared(slow, ticks), slow))
    found = next(one for one in later.findings if one.cause == "dispatch")
    # The share is of the device's window, which is the same.
    assert found.share == pytest.approx(alone.findings[0].share)
    (action,) = (one for one in found.actions if one.action == "capture-graph")
    gain = prepared(slow, ticks).end / prepared(fast, ticks).end
    assert action.median_after_s[1] * action.speedup[0] == pytest.approx(later.window_s)
    assert action.speedup[0] <= 1.01 * gain
    # What the first launch takes lies before the device's window, and in no share of it.
    assert gain <= 1.02 * action.speedup[1]
    # Two thirds of the time are left whatever is done.
    assert action.speedup[1] <= 1.5


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


def started(calls: tuple[tuple[str, str, int], ...], count: int = 20) -> Machine:
    """Host calls (kind, name, ticks), then so many operators with a kernel each."""
    machine = Machine()
    for kind, name, ticks in calls:
        machine.host(kind, name, ticks)
    for number in range(count):
        machine.op("op", 20 * US, f"kernel {number}", 4 * US)
    machine.sync()
    return machine


def test_one_call_that_starts_the_runtime_is_told_and_its_promise_is_kept() -> None:
    slow, fast = started((("runtime", "createContext", 3_000 * US),)), started(())
    report = answered(slow)
    found = report.findings[0]
    assert (found.cause, found.where.function, report.healthy) == ("cold-start", "createContext", False)
    assert found.share == pytest.approx(3_000 * US / slow.end)
    (action,) = found.actions
    assert action.speedup[0] <= slow.end / fast.end <= 1.01 * action.speedup[1]
    # What comes after it is still told, and promises no more than its part of the whole.
    dispatch = next(one for one in report.findings if one.cause == "dispatch")
    assert max(one.speedup[1] for one in dispatch.actions) <= slow.end / (3_000 * US)


def test_a_first_call_much_longer_than_the_others_is_a_start_and_a_long_operator_is_not() -> None:
    first = (("operator", "op", 3_000 * US),)
    assert answered(started(first)).findings[0].cause == "cold-start"
    # Of an operator that is called once nothing tells whether it does so again: it is named, and nothing promised.
    alone = answered(started((("operator", "prepare", 3_000 * US),))).findings
    assert (alone[0].cause, alone[0].where.function, alone[0].actions) == ("unknown", "prepare", ())
    assert "cold-start" not in {one.cause for one in alone}
    # A program that goes on is judged by its iterations.
    marked = full(warm_up=50_000 * US)(False, 8, 10)
    assert not answered(marked).findings


def freeing(count: int, free: int, other: int) -> Machine:
    """Long gaps, of which freeing memory fills a part and an operator the rest, after a long preparation of the host."""
    machine = Machine()
    machine.host("operator", "prepare", 30_000 * US)
    for _ in range(count):
        machine.launch("kernel", 100 * US)
        machine.sync()
        with machine.inside("operator", "op"):
            machine.host("runtime", "cudaFree", free)
            machine.now += other
            machine.launch("kernel", 100 * US)
    machine.sync()
    return machine


def test_only_what_calls_for_memory_fill_is_promised_of_long_gaps() -> None:
    slow, fast = freeing(4, 3_000 * US, 2_000 * US), freeing(4, 0, 2_000 * US)
    report = answered(slow)
    found = next(one for one in report.findings if one.cause == "allocation")
    assert found.share == pytest.approx(4 * 3_000 * US / device_ticks(slow), rel=0.01)
    (action,) = found.actions
    gain = slow.end / fast.end
    assert action.speedup[0] <= gain <= 1.01 * action.speedup[1]
    # The replay of the graph promises the same: nothing above it.
    replayed = what_if(slow.timeline(), "cudaFree")
    assert action.speedup[1] <= 1.001 * replayed.before_s / replayed.after_s
    assert "cudaFree" in found.summary


def test_every_promise_is_of_the_whole_that_was_recorded() -> None:
    machine = launch_bound(4 * US, marks=False)(False, 1, 20)
    report = answered(prepared(machine, 10 * machine.end))
    for found in report.findings:
        for action in found.actions:
            assert action.median_after_s[1] * action.speedup[0] == pytest.approx(report.window_s)
            assert action.speedup[1] <= 1.1


@pytest.mark.parametrize("devices", [1, 2])
def test_seconds_of_all_devices_are_not_said_of_one(devices: int) -> None:
    machine = Machine(devices=devices)
    for _ in range(20):
        for device in range(devices):
            machine.launch("copy", 200 * US, kind="copy", device=device)
            machine.launch("kernel", 50 * US, device=device)
        machine.sync()
    found = answered(machine).findings[0]
    assert found.cause == "transfer"
    if devices == 1:
        assert found.summary.startswith("GPU 0 only moves data")
    else:
        assert found.summary.startswith("2 devices only move data")
        assert "GPU 0" not in found.summary


def test_idle_time_without_a_reason_is_said_beside_what_has_one() -> None:
    events, now = [], 0
    for _ in range(20):
        events += [(stream(7), "communication", "all-reduce", now, now + 26 * US), (stream(7), "compute", "kernel", now + 26 * US, now + 30 * US)]
        now += 100 * US
    report = report_of(Profile(format="chrome", files=("trace.json",), timeline=timeline_of(events)))
    causes = [one.cause for one in report.findings]
    assert sorted(causes) == ["transfer", "unknown"]
    # The largest share is what the page begins with.
    assert causes[0] == "unknown"
    assert "the file does not show why" in report.findings[0].summary
    assert report.findings[0].share == pytest.approx(0.7, abs=0.02)


def sleeping(sleep: int, *, device: bool) -> Machine:
    """Each step a function sleeps before the work: a part of the work on the host alone, or of that of a device."""
    machine = Machine()
    for number in range(12):
        with machine.inside("python", "train.py(3): main"):
            with machine.inside("python", "train.py(9): load_batch"):
                machine.host("python", "<built-in function sleep>", sleep)
            for each in range(10):
                if device:
                    machine.op("op", 5 * US, f"kernel {number * 10 + each}", 300 * US)
                else:
                    machine.host("operator", f"op {number * 10 + each}", 300 * US)
    if device:
        machine.sync()
    return machine


@pytest.mark.parametrize("device", [False, True])
def test_a_sleep_is_told_with_who_called_it_and_its_promise_is_kept(*, device: bool) -> None:
    slow, fast = sleeping(5_000 * US, device=device), sleeping(0, device=device)
    report = answered(slow)
    found = report.findings[0]
    assert (found.cause, found.where.function) == ("input-output", "train.py(9): load_batch")
    assert "<built-in function sleep>" in found.summary
    assert "interpreter" not in {one.cause for one in report.findings}
    action = next(one for one in found.actions if one.action == "block-instead")
    gain = slow.end / fast.end
    assert action.speedup[0] <= gain <= 1.01 * action.speedup[1]
    # Nothing is promised beyond the work that is left.
    assert action.speedup[1] <= 1.05 * gain
    use = next(one for one in report.operators if one.name == "<built-in function sleep>")
    assert use.caller == "train.py(9): load_batch"
    assert not answered(fast).findings


def test_a_trace_of_python_functions_is_headed_by_the_one_that_takes_most() -> None:
    events = [
        (HOST, "python", "main (app.py:8)", 0, 1_000 * US), (HOST, "python", "work (app.py:2)", 10 * US, 610 * US),
        (HOST, "python", "wait (app.py:6)", 620 * US, 990 * US), (HOST, "python", "time.sleep", 625 * US, 985 * US),
    ]  # fmt: skip
    report = report_of(Profile(format="chrome", files=("trace.json",), timeline=timeline_of(events)))
    assert [(one.cause, one.where.function, round(one.share, 2)) for one in report.findings] == [
        ("interpreter", "work (app.py:2)", 0.64), ("input-output", "wait (app.py:6)", 0.36),
    ]  # fmt: skip
