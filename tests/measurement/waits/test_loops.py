"""Which loops poll and which compute, told apart on their source alone."""

import textwrap

import pytest

from ridgeline.measurement.waits.loops import poll_loops, repeated_lines

POLLS = {
    "an event": "while not done.is_set():\n    pass",
    "giving the CPU away": "while not done.is_set():\n    time.sleep(0)",
    "yielding": "while busy.locked():\n    os.sched_yield()",
    "a future": "while not future.done():\n    continue",
    "all futures": "while not all(f.done() for f in futures):\n    pass",
    "a shrinking list": "while pending:\n    pending = [f for f in pending if not f.done()]",
    "an empty queue": "while q.empty():\n    pass",
    "taking without waiting": "while True:\n    try:\n        item = q.get_nowait()\n        break\n    except Empty:\n        pass",
    "a receive that does not wait": "while True:\n    try:\n        return s.recv(4096)\n    except BlockingIOError:\n        continue",
    "a lock": "while not lock.acquire(blocking=False):\n    spins += 1",
    "a flag": "while flag[0] == 0:\n    spins += 1",
    "an attribute": "while not self.ready:\n    pass",
    "with a limit": "while not done.is_set() and spins < limit:\n    spins += 1",
    "a clock": "while time.perf_counter() < deadline:\n    pass",
    "inside": "while True:\n    if child.poll() is not None:\n        break",
}
COMPUTES = {
    "counting": "while i < n:\n    i += 1",
    "counting to a length": "while i < len(data):\n    i += 1",
    "a search": "while data[i] != wanted:\n    i += 1",
    "two conditions": "while i < n and data[i] != wanted:\n    i += 1",
    "a list that is followed": "while node.next is not None:\n    node = node.next",
    "an iteration": "while error > tolerance:\n    error = step(error)",
    "a worker that works": "while not stop.is_set():\n    total += work(item)",
    "a consumer": "while not stack.empty():\n    total += stack.get()",
    "draining": "while not q.empty():\n    q.get_nowait()",
    "draining until it is empty": "while True:\n    try:\n        item = q.get_nowait()\n    except Empty:\n        break",
    "a sleep": "while not done.is_set():\n    time.sleep(0.01)",
    "a wait": "while not done.wait(0.1):\n    pass",
    "a poll that waits": "while not connection.poll(1.0):\n    pass",
    "a lock that waits": "while not lock.acquire(True, 1.0):\n    pass",
    "products": "while self.limit > x * y:\n    pass",
    "halving": "while n != 1:\n    n = n // 2 if n % 2 == 0 else 3 * n + 1",
}


def _loops(code):
    return poll_loops("def f(done, q):\n" + textwrap.indent(code, "    "))


@pytest.mark.parametrize("code", POLLS.values(), ids=POLLS.keys())
def test_a_loop_that_only_asks_polls(code):
    (loop,) = _loops(code)
    assert (loop.first, loop.last) == (2, 1 + len(code.splitlines()))
    assert loop.asks


@pytest.mark.parametrize("code", COMPUTES.values(), ids=COMPUTES.keys())
def test_a_loop_that_computes_or_waits_does_not(code):
    assert _loops(code) == []


def test_what_is_no_python_has_no_loops():
    assert poll_loops("while (((") == []
    assert poll_loops("\0") == []


def test_the_condition_is_named():
    assert _loops("while not done.is_set() and spins < 9:\n    spins += 1")[0].asks == "not done.is_set()"


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        ("while not ready():\n    time.sleep(1)", True), ("for _ in range(9):\n    if ready():\n        break\n    time.sleep(1)", True),
        ("for _ in range(9):\n    if ready():\n        return 1\n    time.sleep(1)", True),
        ("try:\n    ask()\nexcept OSError:\n    time.sleep(1)", True),
        ("for name in names:\n    time.sleep(1)", False), ("time.sleep(1)", False), ("try:\n    time.sleep(1)\nfinally:\n    done()", False),
    ],
)  # fmt: skip
def test_a_wait_that_follows_from_what_was_found_is_told_by_its_line(code, waits):
    text = "def f(names):\n" + textwrap.indent(code, "    ")
    line = 1 + text[: text.index("time.sleep(1)")].count("\n")
    assert any(first <= line <= last for first, last in repeated_lines(text)) is waits


def test_what_is_not_python_has_no_lines():
    assert repeated_lines("while (") is None
