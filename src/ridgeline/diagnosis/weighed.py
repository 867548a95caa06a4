"""Actions in the light of what was tried: which of them a trial speaks for, which against, and what was found faster though no cause asked for it.

Pure: from the actions of the diagnosis and the judged trials. A change that was measured as not faster is not recommended, whatever was promised;
one that was measured as faster, with an equal output and a tail no worse, is recommended, whatever the cause. What trials say is `trials`'s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ridgeline.core import Action, Tried
from ridgeline.core.units import format_speedup

__all__ = ["weighed"]

_FOR, _OPEN, _AGAINST = "for", "open", "against"
_FIRST = "fix-environment"


def weighed(actions: Sequence[Action], tried: Sequence[Tried], median_s: float) -> tuple[Action, ...]:
    """The actions with what their trials say, best first: by the least that each is known to be worth, what is not recommended last.

    That is the low end of what a settled trial found, else of the promise; a gain that only shortens the time between results counts a third of one
    that shortens a call. A quiet machine comes before everything: all else was measured without it.

    Args:
        actions: as promised.
        tried: judged against these actions.
        median_s: ground truth, seconds.
    """
    marked = [_marked(action, _trials_of(action, actions, tried)) for action in actions]
    against = {action.id: action for action in marked if not action.recommended}
    marked = [_without_its_parts(action, against) for action in marked]
    measured = [_measured(f"m{number}", trial, median_s) for number, trial in enumerate(_unasked(tried), 1)]
    return tuple(sorted((*marked, *measured), key=_place_in_order))


def _place_in_order(action: Action) -> tuple[int, float]:
    if not action.recommended:
        return 3, 0.0
    if action.action == _FIRST:
        return 0, 0.0
    # A combination stands behind what it is made of until a trial found what it is worth.
    return (2 if action.combines and not action.settled else 1), -_worth(action)


def _worth(action: Action) -> float:
    """The least it is worth, as a logarithm; a gain between results counts a third (a judgement), since one call gets no shorter by it."""
    return math.log(max(action.gain[0], 1.0)) * (1.0 if action.metric == "latency" else 1 / 3)


def _trials_of(action: Action, actions: Sequence[Action], tried: Sequence[Tried]) -> list[Tried]:
    """Trials of changes that carried it out: under its own name, or as a part of a combination that one change carried out whole."""
    parts = {other.id: other.combines for other in actions}
    held = [trial for trial in tried if not trial.control and trial.metric == action.metric]
    if action.combines:
        return [trial for trial in held if trial.id == action.id]
    return [trial for trial in held if trial.action == action.action or action.id in parts.get(trial.id, ())]


def _stand(trial: Tried) -> str:
    """Whether a trial speaks for its action, against it, or leaves it open."""
    if trial.kept:
        return _FOR
    if trial.verdict in ("same", "slower") or (trial.verdict == "inconclusive" and trial.promise == "refuted"):
        return _AGAINST
    return _AGAINST if trial.verdict == "faster" and (trial.tail == "slower" or trial.output == "differs") else _OPEN


def _marked(action: Action, trials: Sequence[Tried]) -> Action:
    """The action with the trial that says most: one for it, else one that leaves it open, else one against it."""
    if not trials:
        return action
    spoken = sorted(trials, key=lambda trial: ((_FOR, _OPEN, _AGAINST).index(_stand(trial)), -(trial.found or 0.0)))
    said = next((trial for trial in spoken if trial.verdict != "failed"), spoken[0])
    return msgspec.structs.replace(
        action,
        change=said.change,
        found=said.speedup,
        recommended=_stand(said) != _AGAINST,
        outcome=_outcome(said, _stand(said)),
        settled=said.verdict == "faster",
    )


def _outcome(trial: Tried, stand: str) -> str:
    """One sentence on a trial."""
    by = f"tried as {trial.change}"
    if trial.speedup is None:
        return f"{by}: the trial failed, which says nothing of the gain"
    found = f"{by}: found {format_speedup(*trial.speedup)}"
    if stand == _FOR:
        held = {"kept": ", as promised", "refuted": ", outside the promise", "open": ", promise undecided"}.get(trial.promise or "", "")
        return f"{found}{held}"
    if stand == _OPEN:
        return f"{found}; {trial.reason}" if trial.verdict == "faster" and trial.reason else f"{found}, undecided"
    why = {"same": "no faster", "slower": "slower"}.get(trial.verdict, "less than promised and not known to be faster")
    if trial.verdict == "faster":
        why = "its output differs" if trial.output == "differs" else "its slow calls are slower"
    return f"{found}: {why}, and so not recommended"


def _without_its_parts(action: Action, against: dict[str, Action]) -> Action:
    """A combination is promised for all of its parts; with one that is not recommended nothing is known of the rest together."""
    lost = [against[part].action for part in action.combines if part in against]
    if not lost or action.change:
        return action
    return msgspec.structs.replace(action, recommended=False, outcome=f"tried in part: {', '.join(lost)} did not bring its share")


def _unasked(tried: Sequence[Tried]) -> list[Tried]:
    """Controls found faster with an equal output."""
    return [trial for trial in tried if trial.control and trial.verdict == "faster" and trial.output_ok and trial.tail != "slower"]


def _measured(identity: str, trial: Tried, median_s: float) -> Action:
    low, high = trial.speedup or (1.0, 1.0)
    return Action(
        id=identity,
        action=trial.change,
        on="the whole target",
        # Where it is not kept the outcome says why.
        because=trial.reason if trial.kept and trial.reason else "measured beside the original",
        metric=trial.metric,
        speedup=(low, high),
        median_after_s=(median_s / high, median_s / low),
        basis="measured",
        change=trial.change,
        found=(low, high),
        recommended=trial.kept,
        outcome=_outcome(trial, _FOR if trial.kept else _OPEN),
    )
