"""One call into a library that goes through Python objects one at a time: `np.array(rows)`, `json.loads(text)`, `sorted(names)`.

No Python loop of the program's is there to vectorise, so the words and the actions are others: keep the data in an array, or keep the result. Known
from the operator rows, by the time of one call; where there are none, from the call in progress at the sampled lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ridgeline.core import Evidence, HotSpot, Quantity, Where

from ..bounds import MOST
from ..case import Case, Finding, Proposal, Rule, measured_share
from ..interpreted import interpreted_lines, interpreter_share
from ..judge import Judged

__all__ = ["FoundCall", "ObjectCall", "object_call"]

#: Share of the wall from which on such a call is a cause.
_LEAST = 0.2
#: A shorter call is one of many in a loop of the program's.
_LONG_S = 50e-6
#: More calls than this are a loop as well, however long each is.
_FEW = 16.0
#: Part of the interpreter's sampled lines that one call must hold.
_MOST = 0.5
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
#: What numpy has as one operation over an array.
_OVER_ARRAYS = {
    "sorted": "sort", "sort": "sort", "max": "max", "min": "min", "sum": "sum", "fsum": "sum", "any": "any", "all": "all", "prod": "prod",
    "mean": "mean", "fmean": "mean", "median": "median", "stdev": "std", "pstdev": "std", "variance": "var", "pvariance": "var",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FoundCall:
    """The call: its name as written or recorded, how often a call of the target makes it, its share of the wall, and its place."""

    name: str
    calls: float
    share: float
    where: Where
    evidence: tuple[Evidence, ...]
    on_array: bool = False

    @property
    def function(self) -> str:
        """The last part of the name."""
        return _last(self.name)


class ObjectCall(Rule):
    """Names `interpreter` when one long call of a library goes through Python objects one at a time."""

    causes = ("interpreter",)

    def findings(self, case: Case) -> Iterator[Finding]:
        """Yield at most one finding: the call that takes the most."""
        call = object_call(case)
        if call is None:
            return
        made = f"{call.calls:.0f} calls of `{call.name}`, each of which goes" if call.calls >= 1.5 else f"one call of `{call.name}`, which goes"
        what = "an array" if call.on_array else "Python objects"
        yield Finding(
            cause="interpreter",
            bound="latency",
            share=call.share,
            where=call.where,
            evidence=call.evidence,
            proposals=tuple(_proposals(call)),
            summary=f"{call.share:.0%} of the wall is {made} through {what} one at a time inside the library; there is no loop of the program's here",
        )


def object_call(case: Case) -> FoundCall | None:
    """The call that takes most of the time of its kind; `None` where none takes enough of the wall."""
    if case.facts.wall_split is None:
        return None
    rows = case.shares_hold and any(map(_goes_through_objects, case.judged))
    call = _of_rows(case) if rows else _of_lines(interpreter_share(case), interpreted_lines(case))
    return call if call is not None and call.share >= _LEAST else None


def _proposals(call: FoundCall) -> Iterator[Proposal]:
    operation = _OVER_ARRAYS.get(call.function)
    if call.function in _CONVERTS:
        because = "it turns Python objects into an array at every call: converted once, or kept in an array from the start, nothing of it is left"
        yield Proposal(action="compute-once", because=because, gain=(4.0, math.inf))
    elif operation is not None:
        data = "the array's own" if call.on_array else "with the data kept in an array, its own"
        because = f"{data} operation (numpy.{operation}) goes through the numbers without a Python object for each"
        yield Proposal(action="vectorise", because=because, gain=(2.0, MOST))
    if call.function not in _CONVERTS:
        because = "a result that is kept serves every later call that is given the same; for new input only another library or other data helps"
        yield Proposal(action="compute-once", because=because, gain=(2.0, math.inf))


def _last(name: str) -> str:
    return name.removesuffix(".__call__").rpartition(".")[2]


def _goes_through_objects(part: Judged) -> bool:
    row = part.row
    if row.group != "python" or row.calls <= 0 or "calls back" in row.reason or _last(row.kind) in _CALLS_BACK:
        return False
    return row.calls <= _FEW and row.total_s.value / row.calls >= _LONG_S


def _of_rows(case: Case) -> FoundCall | None:
    top = max(filter(_goes_through_objects, case.judged), key=lambda part: part.share, default=None)
    if top is None:
        return None
    # Waiting for a CPU is in its time as in all others, and it can be no more than what Python and native code ran together.
    share = min(top.share * (1.0 - case.share_of("waiting")), case.share_of("interpreter") + case.share_of("kernels"))
    evidence = (
        measured_share("this call ÷ wall", top.share, origin=case.facts.operators.instrument if case.facts.operators else ""),
        Evidence(name="calls", quantity=Quantity.exact(top.row.calls, "count", source="counted", origin="operator profile")),
    )
    name = top.row.kind.removeprefix("builtins.")
    return FoundCall(
        name=name, calls=top.row.calls, share=share, where=case.where(top), evidence=evidence, on_array=bool(top.row.reads) and top.row.flop is None
    )


def _of_lines(interpreter: float, lines: Sequence[tuple[HotSpot, float]]) -> FoundCall | None:
    whole = sum(samples for _, samples in lines)
    top, samples = max((line for line in lines if line[0].call), key=lambda line: line[1], default=(None, 0.0))
    if top is None or samples <= 0 or samples < _MOST * whole or _last(top.call) in _CALLS_BACK:
        return None
    where = Where(function=top.site.function, file=top.site.file, line=top.site.line)
    evidence = (measured_share("sampled lines in this call", samples / whole, origin="sampled lines and the call in progress at each"),)
    return FoundCall(name=top.call, calls=1.0, share=interpreter * samples / whole, where=where, evidence=evidence)
