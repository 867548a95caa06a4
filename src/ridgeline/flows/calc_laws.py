"""The laws that `calc` offers: name, arguments with units, and how each answer is put together from `laws` and `stats`.

Every example on a card works as it stands; a test runs them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from .. import laws, stats
from ..core.errors import UsageError

__all__ = ["LAWS", "Answers", "LawCard", "LawParameter", "Values"]

#: What a law is given: its arguments in SI; an optional one that was left out is missing.
Values = Mapping[str, float]
#: What a law answers: name → (value, unit).
Answers = dict[str, tuple[float, str]]


class LawParameter(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a law.

    Args:
        name: as written before the `=`.
        unit: base unit the value is read into; `count` for whole numbers.
        required: whether it must be given.
        default: value that is used (and shown) where it is not; null if the answer then simply lacks what needs it.
        meaning: a few words.
    """

    name: str
    unit: str
    required: bool = True
    default: float | None = None
    meaning: str = ""


class LawCard(msgspec.Struct, frozen=True, kw_only=True):
    """A law as it is listed: name, what it answers, formula, arguments, an example that works as it stands."""

    name: str
    answers: str
    formula: str
    parameters: tuple[LawParameter, ...]
    example: tuple[str, ...]


def _roofline(v: Values) -> Answers:
    work = {"flop": v["flop"], "bytes": v["bytes"]}
    ceilings = {"peak": v["peak"], "bandwidth": v["bandwidth"]}
    intensity = laws.arithmetic_intensity(**work)
    rate = laws.attainable(intensity=intensity, **ceilings)
    answers: Answers = {
        "intensity": (intensity, "FLOP/B"),
        "ridge_point": (laws.ridge_point(**ceilings), "FLOP/B"),
        "attainable": (rate, "FLOP/s"),
        "attainable_share_of_peak": (rate / v["peak"], "1"),
        "ideal_time": (laws.ideal_time(**work, **ceilings), "s"),
    }
    if "time" in v:
        efficiency = laws.efficiency(**work, seconds=v["time"], **ceilings)
        answers |= {
            "achieved_flop_per_s": (v["flop"] / v["time"], "FLOP/s"),
            "achieved_byte_per_s": (laws.achieved_bandwidth(bytes=v["bytes"], seconds=v["time"]), "B/s"),
            "f_c": (v["flop"] / v["time"] / v["peak"], "1"),
            "f_b": (v["bytes"] / v["time"] / v["bandwidth"], "1"),
            "efficiency": (efficiency, "1"),
            "possible_speedup": (1 / efficiency if efficiency > 0 else math.inf, "1"),
        }
    return answers


def _amdahl(v: Values) -> Answers:
    answers: Answers = {"bound": (laws.speedup_bound(share=v["share"]), "1")}
    if "local_speedup" in v:
        whole = laws.speedup(share=v["share"], local_speedup=v["local_speedup"])
        answers = {"speedup": (whole, "1"), **answers}
        if "total" in v:
            answers["time_after"] = (v["total"] / whole, "s")
    if "target_speedup" in v:
        needed = laws.required_local_speedup(share=v["share"], target_speedup=v["target_speedup"])
        answers["required_local_speedup"] = (needed, "1")
    return answers


def _shrink(v: Values) -> Answers:
    factor = laws.required_shrink(total=v["total"], fixed=v["fixed"], target=v["target"])
    return {
        "required_factor": (factor, "1"),
        "rest_now": (v["total"] - v["fixed"], "s"),
        "rest_allowed": (v["target"] - v["fixed"], "s"),
        "whole_speedup": (v["total"] / v["target"], "1"),
    }


def _fusion(v: Values) -> Answers:
    extra = int(v["extra_reads"])
    before = laws.chain_traffic(operations=int(v["operations"]), tensor_bytes=v["tensor"], extra_reads=extra)
    after = laws.fused_traffic(tensor_bytes=v["tensor"], extra_reads=extra)
    answers: Answers = {
        "traffic": (before, "B"),
        "fused_traffic": (after, "B"),
        "saved": (laws.fusion_saving(operations=int(v["operations"]), tensor_bytes=v["tensor"], extra_reads=extra), "B"),
        "speedup": (laws.fusion_speedup(operations=int(v["operations"]), extra_reads=extra), "1"),
    }
    if "bandwidth" in v:
        answers["time"] = (laws.ideal_time(flop=0, bytes=before, peak=1, bandwidth=v["bandwidth"]), "s")
        answers["fused_time"] = (laws.ideal_time(flop=0, bytes=after, peak=1, bandwidth=v["bandwidth"]), "s")
    return answers


def _sampling(v: Values) -> Answers:
    share = laws.kernel_share(kernel_seconds=v["kernel_time"], calls_per_second=v["calls_per_second"])
    confidence = v.get("confidence")
    careful, binomial = (
        laws.seconds_to_record(share=share, rate=v["rate"], relative_error=v["relative_error"], confidence=confidence, careful=choice)
        for choice in (True, False)
    )
    return {
        "share": (share, "1"),
        "samples_per_second": (laws.samples_per_second(share=share, rate=v["rate"]), "count/s"),
        "samples_needed": (laws.samples_needed(relative_error=v["relative_error"], confidence=confidence), "count"),
        "seconds_to_record": (careful, "s"),
        "seconds_to_record_binomial": (binomial, "s"),
        "overhead": (laws.overhead_share(handler_seconds=v["handler_time"], rate=v["rate"]), "1"),
    }


def _amortise(v: Values) -> Answers:
    answers: Answers = {}
    if "calls" in v:
        answers["average"] = (laws.average_time(first=v["first"], steady=v["steady"], calls=int(v["calls"])), "s")
    if "below" in v:
        calls = laws.calls_until_below(first=v["first"], steady=v["steady"], below=v["below"])
        answers["calls_until_below"] = (calls, "count")
        answers["average_there"] = (laws.average_time(first=v["first"], steady=v["steady"], calls=calls), "s")
    if not answers:
        raise UsageError("amortise to be given below or calls", found="neither", remedy="write below=15ms or calls=100")
    return answers


def _misses(v: Values) -> Answers:
    moved = laws.bytes_from_misses(misses=v["misses"], line_bytes=v["line"])
    achieved = laws.achieved_bandwidth(bytes=moved, seconds=v["time"])
    answers: Answers = {"bytes": (moved, "B"), "achieved_byte_per_s": (achieved, "B/s")}
    if "bandwidth" in v:
        answers["f_b"] = (laws.efficiency(flop=0, bytes=moved, seconds=v["time"], peak=1, bandwidth=v["bandwidth"]), "1")
    if "read" in v:
        expected = laws.write_allocate_reads(read_bytes=v["read"], written_bytes=v["written"])
        answers["expected_reads"] = (expected, "B")
        answers["ratio_to_compulsory"] = (laws.traffic_ratio(moved_bytes=moved, compulsory_bytes=expected), "1")
    return answers


def _quantise(v: Values) -> Answers:
    ratio = laws.quantised_traffic_ratio(
        old_bits=v["old_bits"], new_bits=v["new_bits"], group_size=int(v["group_size"]) if "group_size" in v else None, scale_bits=v["scale_bits"]
    )
    remaining = laws.quantised_time(seconds=1.0, traffic_ratio=ratio, weight_share=v["weight_share"])
    answers: Answers = {"traffic_ratio": (ratio, "1"), "speedup": (1 / remaining, "1")}
    if "time" in v:
        answers["time_after"] = (laws.quantised_time(seconds=v["time"], traffic_ratio=ratio, weight_share=v["weight_share"]), "s")
    return answers


def _ipc(v: Values) -> Answers:
    answers: Answers = {}
    if "cycles" in v:
        answers["instructions_per_cycle"] = (laws.instructions_per_cycle(instructions=v["instructions"], cycles=v["cycles"]), "1")
    if "flop" in v:
        answers["flop_per_instruction"] = (laws.flop_per_instruction(flop=v["flop"], instructions=v["instructions"]), "1")
    if "vector_bits" in v:
        full = laws.vector_flop_per_instruction(vector_bits=v["vector_bits"], element_bits=v["element_bits"])
        answers["flop_of_a_full_vector_instruction"] = (full, "1")
    if not answers:
        raise UsageError("ipc to be given cycles, flop or vector_bits", found="none of them", remedy="write cycles=1.96e9")
    return answers


def _gap(v: Values) -> Answers:
    missing = laws.gap(wall=v["wall"], operators=v["operators"])
    return {"gap": (missing, "s"), "gap_share": (laws.gap_share(wall=v["wall"], operators=v["operators"]), "1")}


def _dispatch(v: Values) -> Answers:
    answers: Answers = {"time": (laws.per_operator_cost(operators=v["operators"], cost=v["cost"]), "s")}
    if "wall" in v:
        answers["share"] = (laws.per_operator_share(operators=v["operators"], cost=v["cost"], wall=v["wall"]), "1")
    return answers


def _samples(v: Values) -> Answers:
    return {
        "one_sided": (stats.minimum_samples(v["quantile"], v["confidence"]), "count"),
        "two_sided": (stats.minimum_samples(v["quantile"], v["confidence"], one_sided=False), "count"),
    }


def _need(name: str, unit: str, meaning: str) -> LawParameter:
    return LawParameter(name=name, unit=unit, meaning=meaning)


def _may(name: str, unit: str, meaning: str, default: float | None = None) -> LawParameter:
    return LawParameter(name=name, unit=unit, required=False, default=default, meaning=meaning)


def _card(name: str, answers: str, formula: str, example: str, *parameters: LawParameter) -> LawCard:
    return LawCard(name=name, answers=answers, formula=formula, parameters=parameters, example=tuple(example.split()))


_CARDS: tuple[tuple[LawCard, Callable[[Values], Answers]], ...] = (
    (
        _card(
            "roofline",
            "how fast can this run, and how close is it?",
            "t = max(FLOP ÷ peak, bytes ÷ bandwidth)",
            "flop=33.55MFLOP bytes=33.55MB peak=128GFLOP/s bandwidth=13GB/s time=4.6ms",
            _need("flop", "FLOP", "useful work"),
            _need("bytes", "B", "traffic at the level that holds the data"),
            _need("peak", "FLOP/s", "arithmetic ceiling"),
            _need("bandwidth", "B/s", "achievable bandwidth"),
            _may("time", "s", "measured time"),
        ),
        _roofline,
    ),
    (
        _card(
            "amdahl",
            "what is a local gain worth for the whole?",
            "S = 1 ÷ ((1 − p) + p ÷ s)",
            "share=0.344 local_speedup=2 total=61ms",
            _need("share", "1", "share of the critical path"),
            _may("local_speedup", "1", "old ÷ new time of the part"),
            _may("total", "s", "time of the whole now"),
            _may("target_speedup", "1", "gain wanted for the whole"),
        ),
        _amdahl,
    ),
    (
        _card(
            "shrink",
            "by how much must all the rest shrink to meet a target?",
            "(total − fixed) ÷ (target − fixed)",
            "total=61ms fixed=21ms target=33.33ms",
            _need("total", "s", "time of the whole now"),
            _need("fixed", "s", "time of the part that stays"),
            _need("target", "s", "time the whole must reach"),
        ),
        _shrink,
    ),
    (
        _card(
            "fusion",
            "what does fusing a chain of elementwise operations save?",
            "saved = (2k + m)N − (2 + m)N = 2(k − 1)N",
            "operations=4 tensor=4.194MB extra_reads=1 bandwidth=13GB/s",
            _need("operations", "count", "operations in the chain, k"),
            _need("tensor", "B", "size of the tensor, N"),
            _may("extra_reads", "count", "reads of second operands, m", 0.0),
            _may("bandwidth", "B/s", "achievable bandwidth"),
        ),
        _fusion,
    ),
    (
        _card(
            "sampling",
            "how long must I record, and what does it cost?",
            "n = (z ÷ ε)², T = n ÷ (p r), overhead = c r",
            "kernel_time=180us calls_per_second=500Hz rate=4kHz relative_error=5% handler_time=1.5us",
            _need("kernel_time", "s", "time of one call of the kernel"),
            _need("calls_per_second", "Hz", "calls a second"),
            _need("rate", "Hz", "sampling rate"),
            _may("relative_error", "1", "error wanted on the share", 0.05),
            _may("confidence", "1", "of that error; one standard error without it"),
            _may("handler_time", "s", "cost of one sample", 1.5e-6),
        ),
        _sampling,
    ),
    (
        _card(
            "amortise",
            "when does a slow first call disappear in the average?",
            "average = (first + (n − 1) steady) ÷ n",
            "first=340ms steady=12ms below=15ms",
            _need("first", "s", "time of the first call"),
            _need("steady", "s", "time of a later call"),
            _may("below", "s", "average to fall below"),
            _may("calls", "count", "number of calls"),
        ),
        _amortise,
    ),
    (
        _card(
            "misses",
            "which bandwidth do cache misses mean?",
            "bytes = misses × line; expected reads = read + written",
            "misses=2.1e7 time=0.98s read=642.2MB written=642.2MB bandwidth=6GB/s",
            _need("misses", "count", "last-level cache misses"),
            _need("time", "s", "over which they were counted"),
            _may("line", "B", "cache line", 64.0),
            _may("bandwidth", "B/s", "achievable by those threads"),
            _may("read", "B", "compulsory reads"),
            _may("written", "B", "compulsory writes that allocate", 0.0),
        ),
        _misses,
    ),
    (
        _card(
            "quantise",
            "what do narrower weights save?",
            "ratio = (new + scale ÷ group) ÷ old",
            "old_bits=16 new_bits=8 time=4.6ms",
            _need("old_bits", "1", "bits of a weight now"),
            _need("new_bits", "1", "bits of a weight then"),
            _may("group_size", "count", "weights that share a scale"),
            _may("scale_bits", "1", "bits of a scale", 16.0),
            _may("weight_share", "1", "share of the bytes that are weights", 1.0),
            _may("time", "s", "bandwidth-bound time now"),
        ),
        _quantise,
    ),
    (
        _card(
            "ipc",
            "does the code issue well, and is it vectorised?",
            "IPC = instructions ÷ cycles; FLOP ÷ instructions",
            "instructions=2.352e9 cycles=1.96e9 flop=2.89GFLOP vector_bits=128",
            _need("instructions", "1", "retired instructions"),
            _may("cycles", "cycle", "cycles of the same threads"),
            _may("flop", "FLOP", "useful work"),
            _may("vector_bits", "1", "width of a vector register"),
            _may("element_bits", "1", "width of a number", 32.0),
        ),
        _ipc,
    ),
    (
        _card(
            "gap",
            "how much time is outside the operators?",
            "gap = wall − operators",
            "wall=11.4ms operators=6.2ms",
            _need("wall", "s", "wall clock of the instrumented calls"),
            _need("operators", "s", "union of the operators' times"),
        ),
        _gap,
    ),
    (
        _card(
            "dispatch",
            "what do many operators cost before any arithmetic?",
            "time = operators × cost",
            "operators=300 cost=20us wall=8ms",
            _need("operators", "count", "operators, hand-offs or instrumented calls"),
            _need("cost", "s", "cost of each"),
            _may("wall", "s", "wall clock without it"),
        ),
        _dispatch,
    ),
    (
        _card(
            "samples",
            "how many samples does a quantile need?",
            "n = ln(1 − c) ÷ ln q",
            "quantile=0.99",
            _need("quantile", "1", "such as 0.99"),
            _may("confidence", "1", "coverage", 0.95),
        ),
        _samples,
    ),
)
#: Name → (card, law), in the order in which they are listed.
LAWS: dict[str, tuple[LawCard, Callable[[Values], Answers]]] = {card.name: (card, law) for card, law in _CARDS}
