"""What trials say: faster or not, whether the promise held, whether to keep the change, and whether a cause is confirmed by it.

Pure: from the trials that a Run stores and the actions of the diagnosis. A gain counts as such only beyond a margin that two processes of the same
program differ by (layout of memory), and a change is kept only where it is faster, its slow calls are no slower, and its output is equal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from ridgeline.core import Action, ChangeTrial, Quantity, Tried

__all__ = ["action_for", "confirms", "judged_trials"]

#: Two processes of the same program differ by about this much without any change.
_MARGIN = 0.02
#: An interval that is less sure decides nothing: three pairs of blocks can all fall on one side of a busy neighbour.
_CONFIDENCE = 0.9
#: Ends of an interval further apart than this factor come from blocks that something else disturbed: they decide nothing either.
_WILD = 5.0
#: What nobody predicted is recommended only where fresh processes showed it again: among several controls one is soon faster by chance.
_ROUNDS_OF_A_CONTROL = 2
#: An interval within this of 1 is `same`.
_SAME = 0.05
#: From this tolerance on a change does other arithmetic and not the same in another order.
_OTHER_RESULTS = 1e-3
#: A tail may be this much slower before it counts as worse: the 95th percentile of few calls is uncertain by as much.
_TAIL_MARGIN = 0.05


def judged_trials(trials: Sequence[ChangeTrial], actions: Sequence[Action], *, disturbed: bool = False) -> tuple[Tried, ...]:
    """Every trial with its verdict, in the order in which they were made.

    Args:
        trials: from the facts.
        actions: of the diagnosis.
        disturbed: whether other work took more than the effect under study: what is faster beside it (fewer threads, …) may be slower without it,
            so that nothing is recommended.
    """
    return tuple(_judged(trial, action_for(trial.actions, trial.metric, actions), disturbed) for trial in trials)


def action_for(carried: Collection[str], metric: str, actions: Sequence[Action]) -> Action | None:
    """The action whose promise a change that carries out `carried` is held against: the combination of which it does every part, else the first.

    A change that does two proposed things at once is worth both.
    """
    single = {action.id: action.action for action in actions if not action.combines}
    joint = [action for action in actions if action.combines and all(single.get(part) in carried for part in action.combines)]
    alone = [action for action in actions if not action.combines and action.action in carried]
    return next((action for action in (*joint, *alone) if action.metric == metric), None)


def confirms(tried: Sequence[Tried], own: Collection[str]) -> bool:
    """Whether an intervention against a cause, one of its `own` actions, moved the time as predicted, and not by computing something else."""
    return any(trial.action in own and trial.verdict == "faster" and trial.promise == "kept" and trial.output != "differs" for trial in tried)


def _judged(trial: ChangeTrial, action: Action | None, disturbed: bool) -> Tried:
    found = trial.speedup
    verdict = _verdict(found, _MARGIN) if not trial.failure else "failed"
    tail = _verdict(trial.tail, _TAIL_MARGIN)
    shown = action is not None or trial.rounds >= _ROUNDS_OF_A_CONTROL
    kept = verdict == "faster" and tail != "slower" and trial.output.state == "equal" and not disturbed and shown
    return Tried(
        action=action.action if action else trial.change,
        id=action.id if action else "",
        verdict=verdict,
        speedup=(found.low, found.high) if found else None,
        promised=action.speedup if action else None,
        kept=kept,
        output_ok=trial.output.state == "equal",
        output=trial.output.state,
        change=trial.change,
        control=action is None,
        promise=_promise(found, action),
        found=found.value if found else None,
        tail=tail,
        difference=trial.output.difference,
        tolerance=trial.output.tolerance,
        metric=trial.metric,
        reason=_reason(trial, verdict, tail, kept, disturbed),
    )


def _decides(speedup: Quantity) -> bool:
    """Whether an interval is sure enough, and of one kind of block."""
    return speedup.confidence >= _CONFIDENCE and speedup.high <= _WILD * speedup.low


def _verdict(speedup: Quantity | None, margin: float) -> str:
    if speedup is None or not _decides(speedup):
        return "inconclusive"
    if speedup.low > 1.0 + margin:
        return "faster"
    if speedup.high < 1.0 / (1.0 + margin):
        return "slower"
    return "same" if speedup.low >= 1.0 - _SAME and speedup.high <= 1.0 + _SAME else "inconclusive"


def _promise(found: Quantity | None, action: Action | None) -> Literal["kept", "refuted", "open"] | None:
    if found is None or action is None:
        return None
    if not _decides(found):
        return "open"
    low, high = action.speedup
    if low <= found.value <= high:
        return "kept"
    return "refuted" if found.high < low or found.low > high else "open"


def _differs(trial: ChangeTrial) -> str:
    """By how much the results differ, of a change that is meant to make others."""
    if not trial.output.difference or trial.output.tolerance < _OTHER_RESULTS:
        return ""
    return f" only if results may differ: by {trial.output.difference:.2g} of the largest value here, where {trial.output.tolerance:.0e} is allowed"


def _reason(trial: ChangeTrial, verdict: str, tail: str, kept: bool, disturbed: bool) -> str:
    """Why it failed or is not kept, and what to know where it is."""
    if trial.failure:
        return trial.failure
    if kept:
        # An equal output has a reason where its numbers come in another type.
        typed = f"; {trial.output.reason}" if trial.output.reason else ""
        unknown = typed + ("; too few calls for a verdict on the slow ones" if trial.tail is None else "")
        return f"keep it{_differs(trial)}: {trial.caveat}{unknown}" if trial.caveat else f"keep it{_differs(trial)}{unknown}"
    if verdict == "faster" and trial.output.state != "equal":
        return f"faster, and not recommended: {trial.output.reason}"
    if verdict == "faster" and tail == "slower":
        return "its median is faster and its 95th percentile slower: not recommended"
    if verdict == "faster" and disturbed:
        return "faster beside other work, and so not recommended: try again on a quiet machine"
    if verdict == "faster":
        return "faster in one pair of processes, and nothing predicted it: not recommended; give it a longer --try-budget"
    if verdict == "inconclusive" and trial.speedup is not None and trial.speedup.confidence >= _CONFIDENCE and not _decides(trial.speedup):
        wild = "its blocks differ too much among themselves: something else disturbed them"
        # That an output changed is worth more than any time.
        return f"{trial.output.reason}; {wild}" if trial.output.state == "differs" else wild
    return trial.output.reason
