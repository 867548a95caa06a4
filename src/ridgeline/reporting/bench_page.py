"""The page of a benchmark on one screen: how long a call takes and how sure that is, how many a second, whether it is steady, and what to doubt.

Latency is of one call that is waited for, throughput of many that are waited for once; each is always named so. Nothing is computed here that the
report does not say.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import BenchReport, Mode, QuantileReport, Setting
from ridgeline.core.units import format_quantity, format_share

from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, count, missing, seconds, share, words
from .recipe import apart_pairs

__all__ = ["bench_page"]

#: Inputs on the page; the JSON has all of them.
_INPUTS_SHOWN = 10
_NAMES = {0.0: "minimum", 0.5: "median", 0.9: "p90", 0.99: "p99", 0.999: "p99.9"}
_TIMER_PART = 0.01
#: States of which there is nothing to warn.
_FINE = ("steady", "does not apply")


def bench_page(report: BenchReport) -> Page:
    """The page of `report` as plain data, in the order in which it is read."""
    return Page(
        title=f"ridgeline bench: {report.target}",
        headline=_headline(report),
        tone="good" if report.steadiness.state in _FINE and not report.warnings else "unsure",
        sections=(
            Section(title="How long it takes", blocks=_times(report)),
            Section(title="How sure that is", blocks=_certainty(report)),
            *_tail(report),
            *_inputs(report),
            *_stages(report),
            *_doubts(report),
            Section(title="How it was measured", blocks=_measuring(report)),
            Section(title="How to reproduce", blocks=_recipe(report)),
        ),
    )


def _headline(report: BenchReport) -> str:
    truth = report.ground_truth
    low, high = truth.median_ci_s
    processes = f"{truth.processes} process{'es' if truth.processes != 1 else ''}"
    said = f"{format_quantity(truth.median_s, 's')} a call ({format_quantity(low, 's')} to {format_quantity(high, 's')}, {processes})"
    if report.steadiness.state in _FINE:
        return f"{said}."
    reason = report.steadiness.because.rstrip(".")
    return f"{said}, but {report.steadiness.state}{f': {reason}' if reason else ''}."


def _times(report: BenchReport) -> tuple[Block, ...]:
    latency = Pairs(caption="latency: seconds of one call, each waited for", rows=tuple(_quantile(one) for one in report.quantiles))
    rows = [_first(report), _throughput(report)]
    if report.device_s is not None:
        low, middle, high = report.device_s
        note = "a call by the device's own clock, without what the host does before and after"
        rows.insert(0, Pair(label="on the device", cell=seconds(middle, (low, high)), note=note))
    if report.batched_s is not None:
        low, middle, high = report.batched_s
        rows.append(Pair(label="batched", cell=seconds(middle, (low, high)), note="a call where many are waited for once: not the latency"))
    return latency, Pairs(rows=tuple(rows))


def _quantile(found: QuantileReport) -> Pair:
    label = _NAMES.get(found.q, f"p{100 * found.q:g}")
    if found.value_s is None:
        more = found.needed - found.samples
        return Pair(label=label, cell=missing(f"{more:,} more calls needed for an interval ({found.samples:,} of {found.needed:,})"))
    if found.q == 0:
        note = "the fastest call"
    elif found.interval_s is None:
        note = "without an interval"
    else:
        note = f"{found.confidence:.0%} interval" + (" over processes" if found.q == 0.5 else "")
    return Pair(label=label, cell=seconds(found.value_s, found.interval_s), note=note)


def _first(report: BenchReport) -> Pair:
    if report.first_s is None:
        return Pair(label="first call", cell=missing("every call is the first of its process"))
    low, middle, high = report.first_s
    note = "the first run, apart from all others" if report.overhead is None else "of a fresh process, apart from all others"
    return Pair(label="first call", cell=seconds(middle, None if low == high else (low, high)), note=note)


def _throughput(report: BenchReport) -> Pair:
    if report.throughput_per_s is None:
        alone = "every call is a process of its own" if report.overhead is None else "no batch of calls fits into the time of a process"
        return Pair(label="throughput", cell=missing(alone))
    low, middle, high = report.throughput_per_s
    written = [format_quantity(value, "count/s").replace("count/s", "calls/s") for value in (middle, low, high)]
    shown = f"{written[0]} [{written[1]}, {written[2]}]"
    return Pair(label="throughput", cell=words(shown), note="many issued and waited for once: not 1 ÷ latency")


def _certainty(report: BenchReport) -> tuple[Block, ...]:
    rows = [
        Pair(label="steady state", cell=words(report.steadiness.state), note=report.steadiness.because),
        Pair(label="from process to process", cell=share(report.noise_floor, "one process"), note="spread of the medians of processes"),
        Pair(label="detectable", cell=_detectable(report), note="slower, found by nine of ten comparisons of this size"),
    ]
    if report.modes_between:
        rows.append(Pair(label="processes gather at", cell=words(_modes(report.modes_between)), note="one number does not describe them"))
    if report.modes_within:
        rows.append(Pair(label="calls gather at", cell=words(_modes(report.modes_within)), note="within processes"))
    if report.drift_per_s is not None:
        rows.append(Pair(label="drift", cell=words(f"{report.drift_per_s:+.2%} a second"), note="over the time of the benchmark"))
    return (Pairs(rows=tuple(rows)),)


def _detectable(report: BenchReport) -> Cell:
    if report.detectable_ratio is None:
        return missing("too few processes, or they differ too much")
    return words(f"{report.detectable_ratio - 1:.2%}")


def _modes(modes: Sequence[Mode]) -> str:
    return ", ".join(f"{format_quantity(mode.value, 's')} ({format_share(mode.share)})" for mode in modes)


def _tail(report: BenchReport) -> tuple[Section, ...]:
    tail = report.tail
    if tail is None:
        return ()
    rows = [
        Pair(label=reason, cell=words(f"{calls} of {tail.slowest}"), note=f"seen in {format_share(tail.usual.get(reason, 0.0))} of all other calls")
        for reason, calls in tail.explained.items()
    ]
    rows.append(Pair(label="nothing seen", cell=words(f"{tail.unexplained} of {tail.slowest}")))
    caption = f"the slowest 1 % of calls, from {format_quantity(tail.threshold_s, 's')} on, and what explains them"
    blocks: list[Block] = [Pairs(caption=caption, rows=tuple(rows))]
    if tail.not_seen:
        blocks.append(Paragraph(text="Not looked for: " + "; ".join(f"{reason} ({why})" for reason, why in tail.not_seen.items()) + "."))
    return (Section(title="The tail", blocks=tuple(blocks)),)


def _inputs(report: BenchReport) -> tuple[Section, ...]:
    if not report.inputs:
        return ()
    shown = sorted(report.inputs, key=lambda one: -one.median_s)[:_INPUTS_SHOWN]
    columns = (
        Column(title="input", flexible=True, weight=20),
        Column(title="calls", right=True, weight=10),
        Column(title="median", right=True, weight=18),
        Column(title="p90", right=True, weight=12),
    )
    rows = tuple((words(one.name), count(one.samples), seconds(one.median_s), seconds(one.p90_s, reason="too few calls")) for one in shown)
    left = len(report.inputs) - len(shown)
    note = f"{left} faster inputs are in the JSON" if left else ""
    return (Section(title="By input", blocks=(Table(caption="latency by input, slowest first", columns=columns, rows=rows, note=note),)),)


def _stages(report: BenchReport) -> tuple[Section, ...]:
    if not report.stages:
        return ()
    rows = tuple(Pair(label=name, cell=seconds(middle, (low, high))) for name, (low, middle, high) in report.stages.items())
    return (Section(title="Stages", blocks=(Pairs(caption="median seconds of a call, from calls with the recorder on", rows=rows),)),)


def _doubts(report: BenchReport) -> tuple[Section, ...]:
    if not report.warnings:
        return ()
    items = tuple(Item(title=f"{caution.code}: {caution.message}", detail=caution.effect) for caution in report.warnings)
    return (Section(title="Warnings", blocks=(Items(items=items),)),)


def _measuring(report: BenchReport) -> tuple[Block, ...]:
    truth = report.ground_truth
    processes = f"in {truth.processes} fresh process{'es' if truth.processes != 1 else ''}, {truth.warmup:,} more to warm up"
    rows = [Pair(label="calls", cell=count(truth.samples), note=processes), *_overhead(report)]
    if report.cache == "cold":
        rows.append(Pair(label="caches", cell=words("cold"), note="emptied before every call, outside the timed interval"))
    if report.soaked_s is not None:
        rows.append(Pair(label="soaked", cell=seconds(report.soaked_s), note="of load before the first sample"))
    if report.throttled_samples:
        rows.append(Pair(label="throttled", cell=count(report.throttled_samples), note="calls while the machine was throttled"))
    return (Pairs(rows=tuple(rows)), *_settings(report.settings))


def _overhead(report: BenchReport) -> list[Pair]:
    cost = report.overhead
    if cost is None:
        return []
    bare = f"beyond an empty call; a bare pair of timer readings and an append: {format_quantity(cost.bare_s, 's')}"
    timer = "of a sample" + ("" if cost.timer_share <= _TIMER_PART else ": more than 1 %, the latency is too long by that")
    rows = [
        Pair(label="a kept sample costs", cell=seconds(cost.sample_s), note=bare),
        Pair(label="a batched iteration", cell=seconds(cost.batched_iteration_s), note="with an empty call in it"),
        Pair(label="the timer", cell=share(cost.timer_share), note=timer),
    ]
    if cost.synchronise_s is not None:
        rows.append(Pair(label="a synchronisation", cell=seconds(cost.synchronise_s), note="with nothing to wait for"))
    return rows


def _settings(settings: Sequence[Setting]) -> tuple[Block, ...]:
    """What was set, and what measuring wants otherwise; the rest is in the JSON."""
    telling = [one for one in settings if one.state != "fine"]
    if not telling:
        return ()
    rows = tuple(Pair(label=one.name, cell=words(one.used or "", one.reason or "cannot be seen"), note=_setting_note(one)) for one in telling)
    return (Pairs(caption="settings that are not as measuring wants them, or were set", rows=rows),)


def _setting_note(one: Setting) -> str:
    wanted = f"{one.wanted} is better" if one.wanted else ""
    said = {"set": f"set from {one.found}, and put back", "not asked": "--tune sets it", "cannot": one.reason, "fine": ""}[one.state]
    return "; ".join(text for text in (wanted if one.state != "set" else "", said) if text)


def _recipe(report: BenchReport) -> tuple[Block, ...]:
    clock = report.clock
    software = ", ".join(f"{name} {version}" for name, version in sorted(report.software.items()))
    throttled = {True: "throttling seen", False: "no throttling seen", None: "throttling not visible"}[clock.throttled]
    speed = f"{format_quantity(clock.hz, 'Hz')}" if clock.hz else "clock not visible"
    stolen = "" if clock.steal is None else f", {format_share(clock.steal)} of the CPU time stolen"
    rows = (
        Pair(label="command", cell=words(report.command or f"ridgeline bench {report.target}")),
        Pair(
            label="machine", cell=words(report.machine, "not known"), note=f"governor {clock.governor or 'not visible'}, {speed}, {throttled}{stolen}"
        ),
        *apart_pairs(clock.core_to_core),
        Pair(label="software", cell=words(software, "not recorded")),
        Pair(label="threads", cell=words(str(report.threads) if report.threads else "as the target decides")),
        Pair(label="method", cell=words(report.method, "not recorded")),
        Pair(label="commit", cell=words(report.commit or "", "the target is in no repository")),
        Pair(label="run", cell=words(report.run or "", "not kept in a notebook")),
    )
    return (Pairs(rows=rows),)
