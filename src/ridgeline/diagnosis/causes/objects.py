"""Calls of a library that take long: those that go through Python objects one at a time (`np.array(rows)`, `json.loads(text)`), and all others.

The first have a remedy of their own: keep the data in an array, or let something compiled for its types read it. They are known by the kind of call
and by the objects it was seen to take or give (`ridgeline.work.objects`), from the operator rows; where there are none, from the call in progress at
the sampled lines. Of every other call it is only known how long it takes and whether native code or the interpreter is at work in it: that is said,
and no cause is named. That a result could be kept is for `redundant-work`, which knows whether the arguments come again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ridgeline.core import Evidence, HotSpot, Quantity, Where
from ridgeline.work.objects import walks_by_kind, walks_objects

from ..bounds import MOST
from ..case import Case, Finding, Proposal, Rule, measured_share
from ..interpreted import interpreted_lines, interpreter_share
from ..judge import Judged
from .repeats import redundant_share
from .unexplained import UNKNOWN

__all__ = ["FoundCall", "ObjectCall", "object_call"]

#: Share of the wall from which on such a call is a cause.
_LEAST = 0.2
#: A shorter call is one of many in a loop of the program's.
_LONG_S = 50e-6
#: More calls than this are a loop as well, however long each is.
_FEW = 16.0
#: Part of the interpreter's sampled lines that one call must hold.
_MOST = 0.5
#: What is not explained weighs as if a third of it could be recovered, as in `unexplained`.
_WEIGHT = 0.3
_CALLS_BACK = (
    "vectorize",
    "apply_along_axis",
    "apply_over_axes",
    "fromfunction",
    "frompyfunc",
    "piecewise",
    "map",
    "filter",
    "reduce",
    "exec",
    "eval",
)
_CONVERTS = ("array", "asarray", "asanyarray", "tensor", "as_tensor", "FloatTensor", "LongTensor", "fromiter", "DataFrame", "Series")
#: Reading and writing text or bytes that stand for objects: what a library compiled for the types of the data does faster.
_PARSES = ("json.", "pickle.", "marshal.", "plistlib.", "tomllib.", "csv.", "ast.")
#: What else arrays do in one go; whether the objects of other calls, such as pieces of text, could be one array is not known.
_ON_DATA = ("copy.deepcopy", "heapq.", "statistics.", "math.")
#: What numpy has as one operation over an array.
_OVER_ARRAYS = {
    "sorted": "sort", "sort": "sort", "max": "max", "min": "min", "sum": "sum", "fsum": "sum", "any": "any", "all": "all", "prod": "prod",
    "mean": "mean", "fmean": "mean", "median": "median", "stdev": "std", "pstdev": "std", "variance": "var", "pvariance": "var",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FoundCall:
    """A call: its name as written or recorded, how often a call of the target makes it, its share of the wall, and its place.

    `walks`: whether it is known to go through Python objects. `native`: whether the time in it is native code's rather than the interpreter's.
    """

    name: str
    calls: float
    share: float
    where: Where
    evidence: tuple[Evidence, ...]
    on_array: bool = False
    walks: bool = True
    native: bool = False

    @property
    def function(self) -> str:
        """The last part of the name."""
        return _last(self.name)

    @property
    def counted(self) -> str:
        """How often it is made, for a sentence: `one call of …`, `8 calls of …`."""
        return f"{self.calls:.0f} calls of `{self.name}`" if self.calls >= 1.5 else f"one call of `{self.name}`"


class ObjectCall(Rule):
    """Names `interpreter` when long calls of a library go through Python objects one at a time, and no cause for other long calls."""

    causes = ("interpreter", UNKNOWN)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding: the calls at one place that take the most."""
        call = object_call(case)
        if call is not None:
            proposals = tuple(_proposals(call)) if call.walks else ()
            yield _walking(call, proposals) if proposals else _opaque(call)


def object_call(case: Case) -> FoundCall | None:
    """The calls at one place that take the most time of their kind; `None` where none take enough of the wall."""
    if case.facts.wall_split is None:
        return None
    rows = case.shares_hold and any(map(_of_a_library, case.judged))
    call = _of_rows(case) if rows else _of_lines(interpreter_share(case), interpreted_lines(case))
    return call if call is not None and call.share >= _LEAST and call.share * case.wall_s >= _LONG_S * call.calls else None


def _walking(call: FoundCall, proposals: tuple[Proposal, ...]) -> Finding:
    made = f"{call.counted}, each of which goes" if call.calls >= 1.5 else f"{call.counted}, which goes"
    what = "an array" if call.on_array else "Python objects"
    # Called once, there is no loop around it; a call of many has one, which is not what takes the time.
    loop = "" if call.calls >= 1.5 else "; there is no loop of the program's around it"
    return Finding(
        cause="interpreter",
        bound="latency",
        share=call.share,
        where=call.where,
        evidence=call.evidence,
        proposals=proposals,
        summary=f"{call.share:.0%} of the wall is {made} through {what} one at a time inside the library{loop}",
    )


def _opaque(call: FoundCall) -> Finding:
    inside = "native code whose work has no formula" if call.native else "code of a library, in Python or built into it, that was not looked into"
    if call.walks:
        inside = "which goes through Python objects one at a time inside the library"
    return Finding(
        cause=UNKNOWN,
        bound="inconclusive",
        share=call.share,
        where=call.where,
        evidence=call.evidence,
        summary=f"{call.counted}, {inside}: what of it could be spared is not known",
        missing=f"work: no formula for {call.name}, so that its time is held against no ceiling",
        rank=call.share * _WEIGHT,
    )


def _proposals(call: FoundCall) -> Iterator[Proposal]:
    operation = _OVER_ARRAYS.get(call.function)
    if call.function in _CONVERTS:
        because = "it turns Python objects into an array; data that is kept in an array from where it is made needs no turning"
        yield Proposal(action="vectorise", because=because, gain=(2.0, math.inf))
    elif operation is not None:
        data = "the array's own" if call.on_array else "with the data kept in an array, its own"
        because = f"{data} operation (numpy.{operation}) goes through the numbers without a Python object for each"
        yield Proposal(action="vectorise", because=because, gain=(2.0, MOST))
    elif call.name.startswith(_PARSES):
        because = "a library that is compiled for the types of the data makes fewer Python objects of the same bytes"
        yield Proposal(action="compile", because=because, gain=(1.5, 10.0))
    elif call.name.startswith(_ON_DATA):
        because = "data that is kept in an array, not in an object for each item, is handled in one go"
        yield Proposal(action="vectorise", because=because, gain=(1.5, MOST))


def _last(name: str) -> str:
    return name.removesuffix(".__call__").rpartition(".")[2]


def _of_a_library(part: Judged) -> bool:
    """Whether a row is long calls of a library that no array explains and that run no code of the user's."""
    row = part.row
    if row.group != "python" or row.calls <= 0 or "calls back" in row.reason or _last(row.kind) in _CALLS_BACK:
        return False
    return row.total_s.value / row.calls >= _LONG_S and (row.calls <= _FEW or not _walks(part))


def _walks(part: Judged) -> bool:
    """Whether the calls of a row are known to go through Python objects."""
    row = part.row
    # An array that a builtin goes through is one object after the other for it; so are the lists that an array was made of.
    over_array = bool(row.reads or row.writes)
    return over_array or walks_objects(row.kind, row.objects, row.total_s.value / row.calls)


def _of_rows(case: Case) -> FoundCall | None:
    # Repeated calls have a cause already.
    parts = [part for part in case.judged if _of_a_library(part) and (_walks(part) or redundant_share(part) <= 0.5 * part.share)]
    top = max(parts, key=lambda part: part.share, default=None)
    if top is None:
        return None
    # Waiting for a CPU is in its time as in all others, and it can be no more than what Python and native code ran together.
    interpreter, kernels = case.share_of("interpreter"), case.share_of("kernels")
    share = min(top.share * (1.0 - case.share_of("waiting")), interpreter + kernels)
    evidence = (
        measured_share("these calls ÷ wall" if top.row.calls >= 1.5 else "this call ÷ wall", top.share, origin=_instrument(case)),
        Evidence(name="calls", quantity=Quantity.exact(top.row.calls, "count", source="counted", origin="operator profile")),
        *_objects(top),
    )
    return FoundCall(
        name=top.row.kind.removeprefix("builtins."),
        calls=top.row.calls,
        share=share,
        where=case.where(top),
        evidence=evidence,
        on_array=bool(top.row.reads) and top.row.flop is None,
        walks=_walks(top),
        native=kernels >= share / 2,
    )


def _instrument(case: Case) -> str:
    return case.facts.operators.instrument if case.facts.operators else ""


def _objects(part: Judged) -> tuple[Evidence, ...]:
    if not part.row.objects:
        return ()
    return (Evidence(name="Python objects given or returned", quantity=Quantity.exact(part.row.objects, "count", source="counted", origin="a look")),)


def _of_lines(interpreter: float, lines: Sequence[tuple[HotSpot, float]]) -> FoundCall | None:
    whole = sum(samples for _, samples in lines)
    top, samples = max((line for line in lines if line[0].call), key=lambda line: line[1], default=(None, 0.0))
    if top is None or samples <= 0 or samples < _MOST * whole or _last(top.call) in _CALLS_BACK:
        return None
    where = Where(function=top.site.function, file=top.site.file, line=top.site.line)
    evidence = (measured_share("sampled lines in this call", samples / whole, origin="sampled lines and the call in progress at each"),)
    share = interpreter * samples / whole
    return FoundCall(name=top.call, calls=1.0, share=share, where=where, evidence=evidence, walks=walks_by_kind(top.call))
