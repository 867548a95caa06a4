"""What the host alone shows: time between operators, Python on the path, waits, first iterations."""

from __future__ import annotations

from collections.abc import Iterator

from ridgeline.core import OperatorUse, PathPiece, SerialPair, TraceFinding, TraceOverhead, Where
from ridgeline.core.units import format_quantity, format_share

from ..causes.unexplained import UNKNOWN
from .blocking import blocks
from .functions import MOSTLY, PYTHON_FIXES, in_python, waiting_fixes
from .seen import LEAST, Fix, Seen, called, counted, of_all

__all__ = ["between_operators", "blocked", "blocked_s", "cold_start", "outside", "polling", "python_alone", "starting_up", "taking_turns"]

#: Under this many operators, or above this mean distance, time between operators is not what issuing them costs.
_MANY = 50
_FAR_S = 1e-3
#: Time between operators of a host without a device: part of the window that is told.
_LEAST_BETWEEN = 0.1
_LOADING = "data loading"
#: How the names of figures of polling begin.
_POLLING = "polling on "
#: First iterations are a finding only where they are this much of what was recorded.
_LEAST_COLD = 0.2
#: A first call that takes so many times what the others take does something else as well, such as loading what they all need.
_MUCH_LONGER = 10.0
#: With so many iterations after the first ones, something steady stands.
_STEADY = 3


def between_operators(seen: Seen) -> Iterator[TraceFinding]:
    """A host that spends its time between operators: window less their union, over their number."""
    overhead = seen.report.overhead
    if overhead is None or seen.report.devices or overhead.gap_s <= 0 or overhead.window_s <= 0:
        return
    gap_s, whole_s = overhead.gap_s, overhead.window_s
    if overhead.iterations:
        whole_s, gap_s = (sum(part) for part in zip(*overhead.iterations, strict=True))
    yield from _pausing(seen, overhead, whole_s)
    gap_s = max(0.0, gap_s - overhead.pauses_s)
    calls = sum(one.calls for one in seen.report.operators if one.kind == "operator") if overhead.calls is None else overhead.calls
    share = gap_s / whole_s if whole_s > 0 else 0.0
    if share < _LEAST_BETWEEN or calls < _MANY or gap_s / calls > _FAR_S:
        return
    name = max((one for one in seen.report.operators if one.kind == "operator"), key=lambda one: one.calls).name
    which = "in the iterations" if overhead.iterations else "in the trace"
    evidence = (
        *of_all("between operators", gap_s, whole_s, "window less the union of top-level operators, without longer pauses"),
        counted("operators", calls, "count", f"calls {which}"),
        counted("a call", gap_s / calls, "s", "time between operators ÷ calls"),
    )
    each = format_quantity(gap_s / calls, "s")
    said = f"{format_share(share)} of the time lies between {calls} operators, {each} for each: issuing them, not their work"
    fixes = (
        Fix(action="fuse", because="fewer operators are issued fewer times", part=(0.2, 0.7)),
        Fix(action="compile-graph", because="a compiled graph issues its operators with less work between", part=(0.3, 0.9)),
        Fix(action="batch", because="more work in each operator hides what issuing it costs", part=(0.2, 0.9), metric="period"),
    )
    yield seen.finding("dispatch", "latency", Where(operator=name), share, said, evidence, fixes)


def _pausing(seen: Seen, overhead: TraceOverhead, whole_s: float) -> Iterator[TraceFinding]:
    """Pauses between operators that are too long for what issuing one costs: what happened there is known only as far as something was recorded."""
    # What blocks on the path is told as such.
    told_s = blocked_s(seen)
    pauses = [pause for pause in overhead.pauses if not (told_s and blocks(pause.during))]
    pauses_s = overhead.pauses_s if len(pauses) == len(overhead.pauses) else max(0.0, overhead.pauses_s - told_s)
    share = pauses_s / whole_s if whole_s > 0 else 0.0
    if share < _LEAST_BETWEEN or not pauses:
        return
    longest = pauses[0]
    evidence = (
        *of_all("pauses between operators", pauses_s, whole_s, f"pieces of more than {format_quantity(_FAR_S, 's')}"),
        counted("the longest", longest.duration_s, "s", f"from {format_quantity(longest.start_s, 's')} on"),
    )
    during = dict.fromkeys(called(pause.during) for pause in pauses if pause.during)
    what = f"in {', '.join(list(during)[:3])}" if during else "and nothing recorded says what happened there"
    after = f" after {called(longest.after)}" if longest.after else ""
    length = f"the longest {format_quantity(longest.duration_s, 's')}{after}, from {format_quantity(longest.start_s, 's')} on"
    said = f"{format_share(share)} of the time ({format_quantity(pauses_s, 's')}) lies in pauses between operators, {length}, {what}"
    where = Where(operator=longest.after or None, function=longest.during or None)
    yield TraceFinding(where=where, bound="inconclusive", cause=UNKNOWN, share=min(1.0, share), evidence=evidence, summary=said)


def taking_turns(seen: Seen) -> Iterator[TraceFinding]:
    """Lanes or stages that never run at once though nothing that the file shows orders them: sum → max."""
    pairs = [pair for pair in seen.report.serial if _saved(seen, pair) >= 2 * LEAST and not _same_machine(seen, pair)]
    if not pairs:
        return
    pair = max(pairs, key=lambda one: _saved(seen, one))
    base_s, of = _step_of(seen, pair)
    share = min(1.0, _saved(seen, pair))
    evidence = (
        counted(pair.first, pair.first_s, "s", "in a step"),
        counted(pair.second, pair.second_s, "s", "in a step"),
        counted("both at once", pair.overlapped_s, "s", "in a step"),
        counted("turns that a dependency orders", pair.ordered, "1", "links of the file"),
        *of_all("what side by side would save", pair.saved_s, base_s, f"sum less the larger, of {of}"),
    )
    saved, whole = format_quantity(pair.saved_s, "s"), format_quantity(base_s, "s")
    said = f"two take turns, {pair.first} and {pair.second}: side by side {saved} of {of} ({whole}) would go"
    fix = Fix(action="pipeline", because="run over successive steps side by side, both take the time of the longer", part=(0.5, 1.0), metric="period")
    yield seen.finding("serialisation", "latency", Where(lane=f"{pair.first}, {pair.second}"), share, said, evidence, (fix,), base=(base_s, of))


def _step_of(seen: Seen, pair: SerialPair) -> tuple[float, str]:
    """Seconds of what the pair's times are of: an iteration, or a turn where there are no iterations."""
    steps = seen.report.iterations
    if steps is not None and steps.median_s and pair.steps == len(steps.spans_s):
        return steps.median_s, "an iteration"
    return seen.window_s / pair.steps, "a turn of both"


def _saved(seen: Seen, pair: SerialPair) -> float:
    base_s = _step_of(seen, pair)[0]
    return pair.saved_s / base_s if base_s > 0 else 0.0


def _same_machine(seen: Seen, pair: SerialPair) -> bool:
    """Whether both sides are of one machine, so that running them side by side promises nothing.

    Queues of one device share what it has; host threads and ranges beside a device issue its work, and which of them does changes nothing. What waits
    for data is told as such.
    """
    queues = {lane.name: lane.device for lane in seen.report.lanes if lane.device}
    if pair.first in queues and queues[pair.first] == queues.get(pair.second):
        return True
    if not seen.report.devices:
        return False
    on_host = [not any(name.startswith(device.name) for device in seen.report.devices) for name in (pair.first, pair.second)]
    waits_for_data = _LOADING in (pair.first, pair.second) and seen.idle_s(_LOADING) / seen.device_s >= LEAST
    return all(on_host) or waits_for_data


def polling(seen: Seen) -> Iterator[TraceFinding]:
    """A thread that asks again and again whether a device is done, on the path: busy without progress."""
    for figure in seen.report.figures:
        if not figure.name.startswith(_POLLING) or figure.value < 2 * LEAST:
            continue
        lane, _, name = figure.name.removeprefix(_POLLING).rpartition(": ")
        evidence = of_all(figure.name, figure.numerator, figure.denominator, figure.numerator_of)
        said = f"{lane} asks for {format_share(figure.value)} of the time whether work is done ({name})"
        fix = Fix(action="block-instead", because="a thread that sleeps until it is woken leaves the CPU to others", part=(0.0, 0.5), metric="period")
        where = Where(lane=lane, function=name)
        yield seen.finding("spin-wait", "latency", where, figure.value, said, evidence, (fix,), path=seen.path_share(("runtime", "synchronisation")))


def cold_start(seen: Seen) -> Iterator[TraceFinding]:
    """First iterations that are unlike the rest, where hardly any other stands: a program that goes on is judged by its steady ones."""
    steps = seen.report.iterations
    if steps is None or not steps.first or seen.window_s <= 0:
        return
    steady = sorted(span[1] for span in steps.spans_s[steps.first :])
    if not 1 <= len(steady) < _STEADY:
        return
    excess_s = sum(span[1] for span in steps.spans_s[: steps.first]) - steps.first * steady[0]
    share = excess_s / seen.window_s
    if share < _LEAST_COLD:
        return
    evidence = (
        *of_all("first iterations above the others", excess_s, seen.window_s, f"{steps.first} first ones less as many of the least, window"),
        counted("the least of the others", steady[0], "s", f"found by {steps.how}"),
    )
    which = "The first iteration takes" if steps.first == 1 else f"The first {steps.first} iterations take"
    said = f"{which} {format_quantity(excess_s, 's')} more than what follows"
    fix = Fix(action="pre-warm", because="done before the first request, warm-up delays none", part=(0.8, 1.0))
    where = Where(stage="first iterations")
    # The promise is of all that was recorded, not of a steady iteration, which gets no shorter.
    yield seen.finding("cold-start", "latency", where, share, said, evidence, (fix,), base=(seen.window_s, "the window"))


def starting_up(seen: Seen) -> Iterator[TraceFinding]:
    """One call before any work of a device that takes much of the window: a context that is created, code that is loaded.

    A program that goes on does so once, and is judged by its iterations.
    """
    path = seen.report.critical_path
    if path is None or not seen.knows_path or not seen.report.devices or seen.steady_s or seen.window_s <= 0:
        return
    first_s = min(device.start_s for device in seen.report.devices)
    calls = [piece for piece in path.pieces if piece.start_s < first_s and _begins(seen, piece)]
    if not calls:
        return
    longest = max(calls, key=lambda piece: piece.duration_s)
    took_s = min(longest.duration_s, first_s - longest.start_s)
    share = took_s / seen.window_s
    if share < _LEAST_COLD:
        return
    evidence = (
        *of_all(longest.name, took_s, seen.window_s, "one call on the critical path, before a device has work, the window"),
        counted("first work of a device", first_s, "s", "from the start of the window"),
    )
    took = f"{format_share(share)} of the window ({format_quantity(took_s, 's')})"
    said = f"Before devices have work one call of {called(longest.name)} takes {took}: starting up, not the work itself"
    fix = Fix(action="pre-warm", because="done before the first request, what is only done once delays none", part=(0.8, 1.0))
    yield seen.finding("cold-start", "latency", Where(function=longest.name), share, said, evidence, (fix,), base=(seen.window_s, "the window"))


def _begins(seen: Seen, piece: PathPiece) -> bool:
    """Whether a piece of the path is of a kind that happens once: a call of the runtime, or an operator whose other calls are much shorter."""
    if piece.label != "operator":
        return piece.label == "runtime" and not blocks(piece.name)
    use = next((one for one in seen.report.operators if one.name == piece.name and one.kind == "operator"), None)
    return use is not None and use.calls >= _STEADY and 0 < _MUCH_LONGER * use.median_s <= piece.duration_s


def outside(seen: Seen) -> Iterator[TraceFinding]:
    """One call on the path that takes much of the window before devices have work or after it: whether it must, nothing tells."""
    path = seen.report.critical_path
    if path is None or not seen.knows_path or not seen.report.devices or seen.steady_s or seen.window_s <= 0:
        return
    first_s = min(device.start_s for device in seen.report.devices)
    last_s = max(device.start_s + device.window_s for device in seen.report.devices)
    before = [
        piece for piece in path.pieces if piece.label == "operator" and piece.start_s + piece.duration_s <= first_s and not _begins(seen, piece)
    ]
    after = [piece for piece in path.pieces if piece.label in ("operator", "runtime") and piece.start_s >= last_s]
    longest = max((*before, *after), key=lambda piece: piece.duration_s, default=None)
    if longest is None or longest.duration_s / seen.window_s < _LEAST_COLD:
        return
    share = longest.duration_s / seen.window_s
    when = "Before devices have work" if longest in before else "After the last work of the devices"
    took = f"{format_share(share)} of the window ({format_quantity(longest.duration_s, 's')})"
    said = f"{when} one call of {called(longest.name)} takes {took}; what it does then the file does not tell"
    evidence = of_all(longest.name, longest.duration_s, seen.window_s, "one call on the critical path, the window")
    where = Where(function=longest.name)
    yield TraceFinding(where=where, bound="inconclusive", cause=UNKNOWN, share=min(1.0, share), evidence=evidence, summary=said)


def _blocking(seen: Seen) -> list[OperatorUse]:
    """Calls on the path that wait for something outside the program, the one with most time there first; none where no path is known."""
    if not seen.knows_path or seen.window_s <= 0:
        return []
    found = [use for use in seen.report.operators if use.on_path_s > 0 and use.kind not in ("operator", "input") and blocks(use.name)]
    return sorted(found, key=lambda use: -use.on_path_s)


def blocked_s(seen: Seen) -> float:
    """Seconds of the path in calls that block."""
    return sum(use.on_path_s for use in _blocking(seen))


def blocked(seen: Seen) -> Iterator[TraceFinding]:
    """Calls on the path that sleep, or wait for a disk, the network or another process."""
    found, took_s = _blocking(seen), blocked_s(seen)
    if not found or took_s / seen.window_s < 2 * LEAST:
        return
    share, top = min(1.0, took_s / seen.window_s), found[0]
    by = f", called by {called(top.caller)}" if top.caller else ""
    names = ", ".join(called(use.name) for use in found[:3])
    evidence = (
        *of_all("waiting for something outside", took_s, seen.window_s, f"{names} on the critical path, the window"),
        counted(called(top.name), top.calls, "count", "calls"),
    )
    said = f"{format_share(share)} of the window ({format_quantity(took_s, 's')}) goes to waiting in {called(top.name)}{by}"
    where = Where(function=top.caller or top.name)
    # Whatever is not waited for, devices still have their work to do.
    most = 1.0 - max((device.busy_s for device in seen.report.devices), default=0.0) / seen.window_s
    fixes = waiting_fixes({use.name: use.on_path_s for use in found}, share)
    yield seen.finding("input-output", "latency", where, share, said, evidence, fixes, path=most)


def python_alone(seen: Seen) -> Iterator[TraceFinding]:
    """A trace of function calls, with no operator and no device: the part of the path that Python functions take themselves."""
    report = seen.report
    if report.devices or not seen.knows_path or seen.window_s <= 0 or any(use.kind == "operator" for use in report.operators):
        return
    found = [use for use in report.operators if use.kind == "python" and ".py" in use.name and use.on_path_s > 0]
    took_s = sum(use.on_path_s for use in found)
    if not found or took_s / seen.window_s < MOSTLY:
        return
    top, share = max(found, key=lambda use: use.on_path_s), min(1.0, took_s / seen.window_s)
    evidence = (
        *of_all("Python functions themselves", took_s, seen.window_s, "own time on the critical path, the window"),
        counted(called(top.name), top.on_path_s, "s", f"{top.calls} calls"),
    )
    said = in_python(share, took_s, called(top.name), top.on_path_s / seen.window_s)
    yield seen.finding("interpreter", "latency", Where(function=top.name), share, said, evidence, PYTHON_FIXES)
