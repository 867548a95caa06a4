"""Which changes are tried: those that carry out an action of the diagnosis, then a few controls; and of every other action why it is not.

Pure: from the actions, the registry and the situation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ridgeline.core import Action, Untried
from ridgeline.targets.changes import Change, Situation

__all__ = ["CONTROLS", "Candidate", "candidates"]

#: Changes that nobody proposed and that are tried to see that nothing moves without a cause.
CONTROLS = 3
_IN_CODE = "no change from outside does it: it needs a change of the code"
_ABOUT_STEADY = "it is about steady calls, and each start serves one call here"
_NOT_COLD = "the first call of a fresh process is not far dearer than a later one, so that little is to be gained"
_NOT_OF_THE_TARGET = "it is a change of the machine, not of the target"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A change to try, and whether it is a control."""

    change: Change
    control: bool


def candidates(
    actions: Sequence[Action], changes: Sequence[Change], situation: Situation, controls: int = CONTROLS
) -> tuple[tuple[Candidate, ...], tuple[Untried, ...]]:
    """(changes to try, best action first, controls last, the likely ones before the others; actions that are not tried).

    Args:
        actions: of the diagnosis; combinations are covered by their parts.
        changes: the registry.
        situation: what preconditions look at.
        controls: at most so many.
    """
    chosen: dict[str, Candidate] = {}
    untried: list[Untried] = []
    for name in dict.fromkeys(action.action for action in actions if not action.combines):
        carriers = [change for change in changes if name in change.carries_out]
        fit = [change for change in carriers if not _refusal(change, situation)]
        for change in fit:
            chosen.setdefault(change.name, Candidate(change=change, control=False))
        if not fit:
            untried.append(_why(name, carriers, situation))
    if situation.spec.use == "once":
        untried += _cold_not_proposed(changes, situation, {action.action for action in actions})
    spare = [change for change in changes if change.control and change.name not in chosen and not _refusal(change, situation)]
    # Of the controls, those first that programs often gain from unforeseen; the order is stable.
    spare.sort(key=lambda change: not change.likely)
    return (*chosen.values(), *(Candidate(change=change, control=True) for change in spare[:controls])), tuple(untried)


def _cold_not_proposed(changes: Sequence[Change], situation: Situation, proposed: set[str]) -> list[Untried]:
    """Changes about the first call, which is all that counts here, that the diagnosis did not ask for: the reader of the page does."""
    fit = [change for change in changes if change.cold and not proposed & set(change.carries_out) and not _refusal(change, situation)]
    return [Untried(action=next(iter(change.carries_out), ""), change=change.name, reason=_NOT_COLD) for change in fit]


def _refusal(change: Change, situation: Situation) -> str:
    if situation.spec.use == "once" and not change.cold:
        return _ABOUT_STEADY
    try:
        return change.refusal(situation)
    except Exception as error:  # a stranger's precondition must not cost the others their trial
        return f"its precondition failed: {type(error).__name__}: {error}"


def _why(action: str, carriers: Sequence[Change], situation: Situation) -> Untried:
    if action == "fix-environment":
        return Untried(action=action, reason=_NOT_OF_THE_TARGET)
    if not carriers:
        return Untried(action=action, reason=_IN_CODE)
    # The one that fits this kind of target says most.
    of_kind = [change for change in carriers if situation.info.kind in change.kinds]
    if not of_kind:
        return Untried(action=action, reason=f"{_IN_CODE} where the target is of kind {situation.info.kind}")
    return Untried(action=action, change=of_kind[0].name, reason=_refusal(of_kind[0], situation))
