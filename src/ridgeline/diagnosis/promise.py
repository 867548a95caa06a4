"""From proposals to promises: what a local gain is worth for the whole target, bounded by Amdahl, alone and together.

The arithmetic is `laws.amdahl`; this module decides which shares may be added and what is worth proposing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Action, Where
from ridgeline.laws import combined_speedup, speedup_interval

from .case import Finding, Proposal

__all__ = ["promise"]

#: A deleted share can at most be this large: a measured share of 100 % still leaves the call itself.
_LARGEST_SHARE = 0.995
_LARGEST_SPEEDUP = 1.0 / (1.0 - _LARGEST_SHARE)
_LEAST_SHARE = 0.03
#: A change that cannot pay even this at its best is not proposed.
_LEAST_SPEEDUP = 1.03
#: Causes whose share overlaps those of others, and so cannot be added to them.
_OVERLAPPING = frozenset({"low-parallelism", "interference", "unknown"})


def promise(findings: Sequence[Finding], median_s: float) -> tuple[Action, ...]:
    """Actions of all findings in the order given, the first finding's first, then the combination of the best of the first three.

    Args:
        findings: ranked, the bottleneck first.
        median_s: ground truth, seconds.
    """
    actions: list[Action] = []
    leads: list[tuple[Action, Finding, Proposal]] = []
    for finding in findings:
        for position, proposal in enumerate(finding.proposals):
            share = _share(finding, proposal)
            if share < _LEAST_SHARE or any(a.action == proposal.action and a.on == _on(finding) for a in actions):
                continue
            action = _action(f"a{len(actions) + 1}", finding, proposal, share, median_s)
            if action.speedup[1] < _LEAST_SPEEDUP:
                continue
            actions.append(action)
            if position == 0 and proposal.metric == "latency" and proposal.whole is None and finding.cause not in _OVERLAPPING:
                leads.append((action, finding, proposal))
    together = _combination(leads[:3], f"a{len(actions) + 1}", median_s)
    return (*actions, together) if together else tuple(actions)


def place(where: Where) -> str:
    """A place as one short text.

    >>> place(Where(operator="conv1", file="net.py", line=3))
    'conv1 (net.py:3)'
    """
    line = f"{where.file.rsplit('/', 1)[-1]}:{where.line}" if where.file and where.line else ""
    name = where.operator or where.function or where.stage or where.lane or ""
    if name and line and line not in name:
        return f"{name} ({line})"
    return name or line or "the whole target"


def _on(finding: Finding) -> str:
    """What an action changes: the place, or all operators where their number is what costs."""
    return f"{finding.operators} operators" if finding.of_a_count else place(finding.where)


def _share(finding: Finding, proposal: Proposal) -> float:
    return min(_LARGEST_SHARE, finding.share if proposal.share is None else proposal.share)


def _range(proposal: Proposal, share: float) -> tuple[float, float]:
    low, high = proposal.share_range or (share, share)
    return max(0.0, min(low, share)), min(_LARGEST_SHARE, max(high, share))


def _action(identity: str, finding: Finding, proposal: Proposal, share: float, median_s: float) -> Action:
    low, high = proposal.whole or speedup_interval(
        share=_range(proposal, share), local_speedup=(max(1.0, proposal.gain[0]), max(1.0, proposal.gain[1]))
    )
    base_s = median_s if proposal.of_s is None else proposal.of_s
    return Action(
        id=identity,
        action=proposal.action,
        on=_on(finding),
        because=proposal.because,
        metric="period" if proposal.metric == "period" else "latency",
        speedup=(low, high),
        median_after_s=(base_s / high, base_s / low),
    )


def _combination(leads: list[tuple[Action, Finding, Proposal]], identity: str, median_s: float) -> Action | None:
    if len(leads) < 2:
        return None
    shares = [_share(finding, proposal) for _, finding, proposal in leads]
    if sum(shares) > 1.0:
        # Shares that overlap would delete the same time twice: keep what fits beside the first.
        return _combination(leads[:-1], identity, median_s) if len(leads) > 2 else None
    low, high = (
        min(_LARGEST_SPEEDUP, combined_speedup(parts=[(share, max(1.0, lead[2].gain[end])) for share, lead in zip(shares, leads, strict=True)]))
        for end in (0, 1)
    )
    # What vanishes with one of them beside its own share is known of each alone; together they are worth at least the best alone.
    high = max(high, *(action.speedup[1] for action, _, _ in leads))
    return Action(
        id=identity,
        action=" + ".join(action.action for action, _, _ in leads),
        on=", ".join(dict.fromkeys(action.on for action, _, _ in leads)),
        because="the best of each of the top causes together; their shares are disjoint",
        metric="latency",
        speedup=(low, high),
        median_after_s=(median_s / high, median_s / low),
        combines=tuple(action.id for action, _, _ in leads),
    )
