"""Waits by hand: a lock that is contended and one that is not, loops that ask, pools and devices drained at every step, children in a row."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import LevelRecord, Need, Placement, Site, Wait, WaitTable
from ridgeline.core.waits import BusyLine
from ridgeline.diagnosis import next as next_step
from support.facts_by_hand import around, exact, facts, lines, row, samples, split

WALL_S = 0.01


def at(line: int, function: str = "work") -> Site:
    return Site(file="net.py", line=line, function=function)


def wait(kind: str, total_s: float, *, caller: float = 0.0, **fields) -> Wait:
    given = {"calls": 4.0, "site": at(7), "native": 1.0, "asleep": 0.0, "interpreted": 0.0, **fields}
    return Wait(kind=kind, total_s=exact(total_s, "s"), caller_s=exact(caller, "s"), **given)


def case_of(*waits: Wait, cpu: float = 1.0, own: float = 0.0, rows=(), shares=None, **fields):
    """Facts of a 10 ms call on four CPUs: `cpu` CPUs busy, `own` of them by the caller; native time of other threads unless told otherwise."""
    table = WaitTable(waits=waits, wall_s=exact(WALL_S, "s"), instrument="by hand", interpreted_threads=fields.pop("wanting", 0.0), **fields)
    operators = facts(list(rows), WALL_S).operators if rows else None
    cannot = dict.fromkeys(("hot-spots", "dispatch", "operators"), "not here")
    seen = samples(WALL_S, process_cpu_s=cpu * WALL_S, thread_cpu_s=own * WALL_S)
    return facts([], WALL_S, waits=table, samples=seen, wall_split=shares or split(), operators=operators, cannot=cannot)


def locked(held_s: float, waited_s: float, **fields) -> tuple[Wait, Wait]:
    lock = wait(
        "lock", waited_s, on="threading.Lock made at net.py:3", held_s=exact(held_s, "s"), holder=at(8), threads=4, acquisitions=4.0, **fields
    )
    return lock, wait("future", 0.0095, caller=0.0095, native=lock.native, asleep=lock.asleep, interpreted=lock.interpreted, site=at(20, "main"))


def found(given):
    step = next_step(given)
    assert not isinstance(step, Need), step
    return step


def cause(given) -> str | None:
    bottleneck = found(given).bottleneck
    return bottleneck.cause if bottleneck else None


def test_a_lock_around_native_work_is_contended_and_its_removal_is_bounded_by_cpus_and_amdahl():
    given = case_of(*locked(0.009, 0.0135), cpu=0.95)
    page = found(given)
    assert (page.bottleneck.cause, page.bottleneck.bound) == ("lock-contention", "latency")
    assert (page.bottleneck.where.line, page.bottleneck.where.function) == (7, "work")
    assert page.bottleneck.share == pytest.approx(0.95)
    action = page.actions[0]
    assert action.action == "remove-lock"
    # 1 + 13.5 ÷ 9 = 2.5 threads are at the lock on average: half of that gain on 95 % of the wall is sure. Four of them want it at the most.
    assert action.speedup[1] == pytest.approx(1 / (0.05 + 0.95 / 4))
    assert action.speedup[0] == pytest.approx(1 / (0.05 + 0.95 / 1.75))
    assert "net.py:8" in page.bottleneck.summary


def test_more_threads_than_cpus_gain_no_more_than_cpus():
    given = case_of(*locked(0.009, 0.009 * 15), cpu=0.95)
    # sixteen threads, four CPUs
    assert found(given).actions[0].speedup[1] == pytest.approx(1 / (0.05 + 0.95 / 4))


def test_threads_that_sleep_inside_the_lock_gain_beyond_the_cpus():
    lock, future = locked(0.009, 0.009 * 7, native=0.0, asleep=1.0)
    given = case_of(lock, future, cpu=0.02, shares=split(blocked=0.95))
    page = found(given)
    assert page.bottleneck.cause == "lock-contention"
    assert page.actions[0].speedup[1] == pytest.approx(1 / (0.05 + 0.95 / 8))


def test_work_outside_the_lock_stays():
    page = found(case_of(*locked(0.005, 0.0075), cpu=0.95))
    assert page.bottleneck.share == pytest.approx(0.5)
    assert page.actions[0].speedup[1] == pytest.approx(1 / (0.5 + 0.5 / 4))


def test_busy_cpus_bound_what_the_lock_is_worth():
    # Of four CPUs 3.5 are busy with other work of the same call: an eighth of the wall is all that is left.
    given = case_of(*locked(0.009, 0.0135), cpu=3.5)
    assert all(action.speedup[1] <= 1 / (1 - 0.125) + 1e-9 for action in found(given).actions if action.action == "remove-lock")


def test_a_lock_around_python_promises_nothing_and_the_interpreter_is_named():
    lock, future = locked(0.009, 0.0135, native=0.02, interpreted=0.95)
    given = case_of(lock, future, cpu=1.0, wanting=1.1, python_lines=(BusyLine(site=at(9), seconds=0.009),))
    page = found(given)
    assert page.bottleneck.cause == "interpreter"
    assert page.bottleneck.where.line == 9
    assert "remove-lock" not in [action.action for action in page.actions]
    beside = next(runner for runner in page.runners_up if runner.cause == "lock-contention")
    assert "removing it gains nothing" in beside.summary


def test_a_lock_held_for_a_moment_is_healthy():
    lock, future = locked(0.0001, 0.0002)
    assert cause(case_of(lock, future, cpu=3.9)) != "lock-contention"


def test_a_lock_that_only_background_threads_want_is_not_on_the_path():
    lock, _ = locked(0.009, 0.0135)
    assert cause(case_of(lock, cpu=1.9, own=0.95)) != "lock-contention"


def test_uneven_work_without_a_lock_stays_low_parallelism():
    given = case_of(wait("future", 0.0095, caller=0.0095, in_flight=3.0, capacity=4), cpu=1.2)
    assert cause(given) == "low-parallelism"


def test_a_disturbed_look_promises_nothing():
    given = case_of(*locked(0.009, 0.0135), cpu=0.95)
    level = LevelRecord(level=5, instrument="by hand", ratio_to_ground_truth=around(1.6, "1"), perturbed=True)
    page = found(msgspec.structs.replace(given, levels=(level,)))
    assert page.bottleneck.cause == "lock-contention"
    assert "remove-lock" not in [action.action for action in page.actions]


def spin(total_s: float, **fields) -> Wait:
    return wait("spin", total_s, caller=total_s, calls=1.0, on="not flag.is_set()", site=at(30, "watch"), **fields)


def test_a_loop_that_asks_while_another_thread_wants_the_interpreter():
    given = case_of(spin(0.0095, native=0.0, interpreted=1.0), cpu=1.0, own=0.6, shares=split(interpreter=0.99))
    page = found(given)
    assert (page.bottleneck.cause, page.bottleneck.where.line) == ("spin-wait", 30)
    action = page.actions[0]
    assert (action.action, action.metric) == ("block-instead", "latency")
    # The others had 0.4 of 0.95 of the lock: with all of it, 95 % of the wall becomes 40 %.
    assert action.speedup[0] < 1 / (0.05 + 0.4) < action.speedup[1]


def test_a_loop_that_asks_while_native_code_works_frees_a_cpu_and_no_time():
    given = case_of(spin(0.0095), cpu=1.95, own=0.98, shares=split(interpreter=0.99))
    page = found(given)
    assert page.bottleneck.cause == "spin-wait"
    assert [action.metric for action in page.actions if action.action == "block-instead"] == ["period"]
    assert page.actions[0].speedup[1] == pytest.approx(1.95 / (1.95 - 0.95), rel=0.01)
    # The thread that ends the wait has to get the interpreter's lock from the loop first: blocking may shorten the call too.
    assert "Whether one call gets shorter is not known" in page.actions[0].because
    assert "vectorise" not in [action.action for action in page.actions]


def test_a_loop_that_computes_is_the_interpreter():
    given = case_of(cpu=1.0, own=1.0, shares=split(interpreter=0.99))
    assert cause(given) == "interpreter"


def serial(calls: float, caller: float, **fields) -> Wait:
    given = {"in_flight": 1.0, "capacity": 8, "on": "a future of a ThreadPoolExecutor", "site": at(40, "serve"), **fields}
    return wait("future", caller, caller=caller, calls=calls, **given)


def test_a_pool_that_gets_one_task_at_a_time():
    page = found(case_of(serial(16.0, 0.009), cpu=0.95))
    assert (page.bottleneck.cause, page.bottleneck.where.line) == ("synchronisation", 40)
    assert page.actions[0].action == "remove-sync"
    assert page.actions[0].speedup[1] == pytest.approx(1 / (0.1 + 0.9 / 4))


@pytest.mark.parametrize(
    "healthy",
    [serial(16.0, 0.009, in_flight=5.0), serial(1.0, 0.009), serial(16.0, 0.009, capacity=1), serial(16.0, 0.0005)],
    ids=["all submitted first", "one task", "one worker", "hardly a wait"],
)
def test_a_pool_that_is_kept_busy_is_not_drained(healthy):
    assert cause(case_of(healthy, cpu=3.2)) != "synchronisation"


def test_tasks_of_python_gain_nothing_from_a_pool():
    page = found(case_of(serial(16.0, 0.009, native=0.0, interpreted=1.0), cpu=1.0, wanting=1.0))
    assert page.bottleneck.cause == "interpreter"
    assert "remove-sync" not in [action.action for action in page.actions]


def test_processes_that_are_asleep_from_here_need_cpus_all_the_same():
    given = serial(16.0, 0.009, native=0.0, asleep=1.0, on="a future of a ProcessPoolExecutor")
    page = found(case_of(given, cpu=0.02, shares=split(blocked=0.9)))
    promised = next(action for action in page.actions if action.action == "remove-sync")
    assert promised.speedup[1] <= 1 / (0.1 + 0.9 / 4) + 1e-9


def device_rows(sync_calls: float, sync_s: float, host_s: float):
    on_device = Placement(device="cuda:0")
    kernel = msgspec.structs.replace(row("kernel", 0.0001, kind="aten::mm", group="matmul"), placement=on_device)
    waits = row("sync", sync_s, kind="cudaDeviceSynchronize", group="blocking", calls=sync_calls, site=at(50, "step"))
    return [kernel, waits, row("host", host_s, kind="aten::empty", group="allocation")]


def test_a_device_that_is_drained_at_every_step():
    page = found(case_of(rows=device_rows(10, 0.006, 0.0035), cpu=1.0, own=1.0, shares=split(blocked=0.6)))
    sync = next(f for f in [page.bottleneck, *page.runners_up] if f.cause == "synchronisation")
    assert sync.where.line == 50
    action = next(action for action in page.actions if action.action == "remove-sync")
    # 6 ms of the device and 4 ms of the host become the larger; one wait of ten stays: 10 ÷ (10 − 4 × 0.9).
    assert action.speedup[1] == pytest.approx(1 / (1 - 0.4 * 0.9), rel=0.01)


def test_one_wait_at_the_end_is_as_it_should_be():
    page = found(case_of(rows=device_rows(1, 0.006, 0.0035), cpu=1.0, own=1.0, shares=split(blocked=0.6)))
    assert "synchronisation" not in [f.cause for f in [page.bottleneck, *page.runners_up] if f]


@pytest.mark.parametrize(
    ("count", "cpu", "best"),
    [(4, None, 4.0), (16, None, 4.0), (16, 0.0, 16.0), (16, 0.0096, 4.0), (16, 0.0048, 8.0)],
    ids=["as many as CPUs", "CPU time not known", "asleep", "busy", "half busy"],
)
def test_children_one_after_another_are_started_together(count, cpu, best):
    children = wait(
        "process", 0.0096, caller=0.0096, calls=count, longest_s=0.0096 / count, child_cpu_s=cpu, native=0.0, asleep=1.0, site=at(60, "make")
    )
    page = found(case_of(children, cpu=0.02, shares=split(blocked=0.96)))
    assert (page.bottleneck.cause, page.bottleneck.where.line) == ("input-output", 60)
    assert page.actions[0].action == "parallelise"
    assert page.actions[0].speedup[1] == pytest.approx(1 / (0.04 + 0.96 / best))
    assert f"{count} child processes" in page.bottleneck.summary


@pytest.mark.parametrize(("calls", "longest"), [(1.0, 0.0096), (4.0, 0.0095)], ids=["one child", "one long child"])
def test_one_child_cannot_be_run_beside_itself(calls, longest):
    child = wait("process", 0.0096, caller=0.0096, calls=calls, longest_s=longest, native=0.0, asleep=1.0)
    page = found(case_of(child, cpu=0.02, shares=split(blocked=0.96)))
    assert page.bottleneck.cause == "input-output"
    assert "parallelise" not in [action.action for action in page.actions]


def asked(given) -> list[str]:
    names, step = [], next_step(given)
    while isinstance(step, Need):
        names.append(step.instrument)
        step = next_step(msgspec.structs.replace(given, cannot={**given.cannot, **dict.fromkeys(names, "not here")}))
    return names


def test_waits_are_asked_for_only_where_somebody_waits_or_perhaps_asks():
    def given(own, shares, spots=None):
        seen = samples(WALL_S, process_cpu_s=WALL_S, thread_cpu_s=own * WALL_S)
        return facts([], WALL_S, samples=seen, wall_split=shares, hot_spots=spots, cannot=dict.fromkeys(("dispatch", "operators"), "no"))

    assert "waits" in asked(given(0.05, split()))
    assert "waits" in asked(given(0.1, split(blocked=0.9)))
    assert "waits" in asked(given(1.0, split(interpreter=0.9), lines(3)))
    assert "waits" not in asked(given(1.0, split()))
    assert "waits" not in asked(given(1.0, split(interpreter=0.9)))


def test_a_verdict_on_waits_replays_from_its_encoding():
    given = case_of(*locked(0.009, 0.0135), cpu=0.95)
    table = msgspec.json.decode(msgspec.json.encode(given.waits), type=WaitTable)
    assert found(msgspec.structs.replace(given, waits=table)) == found(given)


def test_cpus_that_a_neighbour_has_are_not_idle():
    future = wait("future", 0.0095, caller=0.0095, in_flight=3.0, capacity=4)
    quiet = case_of(future, cpu=2.5)
    assert cause(quiet) == "low-parallelism"
    beside = msgspec.structs.replace(quiet.sentinels, other_load=1.0)
    assert cause(msgspec.structs.replace(quiet, sentinels=beside)) != "low-parallelism"


@pytest.mark.parametrize(
    "states",
    [
        {"native": None, "asleep": None, "interpreted": None},
        {"native": 0.3, "asleep": 0.0, "interpreted": 0.2},
        {"native": 0.02, "asleep": 0.02, "interpreted": 0.95},
    ],
    ids=["not seen", "half seen", "in turn"],
)
@pytest.mark.parametrize("shares", [split(blocked=0.6), split(blocked=0.3, waiting=0.3)], ids=["asleep", "beside other work"])
def test_threads_that_queue_for_a_lock_get_no_advice_about_input_and_output(states, shares):
    page = found(case_of(*locked(0.009, 0.0135, **states), cpu=0.95, shares=shares))
    assert not {"cache", "prefetch"} & {action.action for action in page.actions}
    assert "input-output" not in [page.bottleneck.cause, *(other.cause for other in page.runners_up)]


def test_threads_that_sleep_for_the_disk_are_still_input_output():
    future = wait("future", 0.009, caller=0.009, native=0.0, asleep=1.0, in_flight=4.0, capacity=4)
    assert cause(case_of(future, cpu=0.05, shares=split(blocked=0.9))) == "input-output"


@pytest.mark.parametrize("changed", [{"native": None, "asleep": None}, {"native": 1.0, "asleep": 0.0}], ids=["not seen", "disturbed"])
def test_an_undecided_lock_is_named_and_nothing_is_promised(changed):
    given = case_of(*locked(0.009, 0.0135, **changed), cpu=0.95, shares=split(blocked=0.4))
    if changed["native"] is not None:
        given = msgspec.structs.replace(given, levels=(LevelRecord(level=5, instrument="by hand", perturbed=True),))
    page = found(given)
    assert (page.bottleneck.cause, page.actions) == ("lock-contention", ())
    assert "gains nothing" not in page.bottleneck.summary


def test_turns_without_a_sampled_line_speak_of_no_function():
    page = found(case_of(*locked(0.009, 0.0135, native=0.02, asleep=0.02, interpreted=0.95), cpu=0.9, wanting=1.1))
    assert page.bottleneck.cause == "interpreter"
    assert "of it in this function" not in [evidence.name for evidence in page.bottleneck.evidence]
    # Half of the share is promised at the least, since nobody knows whether one function holds all of it.
    assert page.actions[0].speedup[0] == pytest.approx(1 / (1 - page.bottleneck.share / 2 * 0.75), rel=0.01)
