"""How often promises hold: the experiments of the notebook, counted by action, and promised against found over time.

An experiment is of `diagnose --try`, which tried a change itself, or of `compare`, where somebody made the change; both count alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ridgeline.core import Experiment, PromiseLine, PromiseReport
from ridgeline.core.promises import PromisePoint, PromiseTrend
from ridgeline.notebook import Notebook, default_location, exists
from ridgeline.stats import share_quantity

__all__ = ["counted", "promises"]


def promises(location: str | Path | None = None, *, target: str | None = None, machine: str | None = None) -> PromiseReport:
    """The promises of a notebook and what came of them; the default notebook may not exist yet and then has none.

    Args:
        location: path or URL; the default notebook if not given.
        target: only experiments whose target contains this text, in any case.
        machine: only those made on a machine whose description contains this text, in any case.

    Raises:
        UsageError: a notebook that was named does not exist or cannot be opened.
        ReadError: it is none.
    """
    if location is None and not exists(default_location()):
        return counted(default_location(), ())
    with Notebook.open(location, create=False) as notebook:
        chosen = {
            identity: made
            for identity, made in notebook.experiments_by_id().items()
            if _contains(made.target, target) and _contains(made.machine, machine)
        }
        return counted(notebook.place, tuple(chosen.values()), [_at(identity) for identity in chosen])


def _contains(text: str, part: str | None) -> bool:
    return part is None or part.lower() in text.lower()


def _at(identity: str) -> str:
    """The time that an id of ours begins with; empty for another."""
    try:
        return datetime.strptime(identity[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC).isoformat()
    except ValueError:
        return ""


def counted(place: str, experiments: Sequence[Experiment], times: Sequence[str] = ()) -> PromiseReport:
    """The report on some experiments; pure.

    Args:
        place: where they are.
        experiments: oldest first.
        times: of each, ISO 8601; none if not known.
    """
    promised = [made for made in experiments if made.action is not None]
    by_action: dict[str, list[Experiment]] = {}
    for made in promised:
        by_action.setdefault(made.action.action if made.action else "", []).append(made)
    lines = [_line(action, found) for action, found in by_action.items()]
    return PromiseReport(
        notebook=place,
        total=_line("all", promised),
        actions=tuple(sorted(lines, key=lambda line: (-(line.kept + line.refuted + line.open), line.action))),
        controls=_verdicts(made for made in experiments if made.action is None and not _compared(made)),
        output_changed=sum(made.tried is not None and made.tried.output == "differs" for made in experiments),
        experiments=tuple(experiments),
        trials=sum(not _compared(made) for made in promised),
        comparisons=sum(_compared(made) for made in promised),
        hypotheses=_verdicts(made for made in experiments if made.action is None and _compared(made)),
        trends=_trends(dict(enumerate(times)), experiments),
    )


def _compared(made: Experiment) -> bool:
    """Whether a comparison made it: a trial of a diagnosis keeps what it said, a comparison does not have that."""
    return made.tried is None and bool(made.runs or made.hypothesis or made.commits)


def _verdicts(experiments: Iterable[Experiment]) -> dict[str, int]:
    return dict(sorted(Counter(made.verdict for made in experiments).items()))


def _line(action: str, experiments: Sequence[Experiment]) -> PromiseLine:
    count = Counter(made.promise for made in experiments)
    resulted = count["kept"] + count["refuted"] + count["open"]
    # A promise that was held against nothing is neither for nor against promises.
    untested = sum(made.promise == "open" and made.found is None for made in experiments)
    judged = resulted - untested
    return PromiseLine(
        action=action,
        kept=count["kept"],
        refuted=count["refuted"],
        open=count["open"],
        failed=len(experiments) - resulted,
        untested=untested,
        rate=share_quantity(count["kept"], judged, origin="promises kept ÷ promises that were tried") if judged else None,
        recommended=sum(made.kept for made in experiments),
    )


def _trends(times: Mapping[int, str], experiments: Sequence[Experiment]) -> tuple[PromiseTrend, ...]:
    points: dict[tuple[str, str], list[PromisePoint]] = {}
    for index, made in enumerate(experiments):
        point = _point(times.get(index, ""), made)
        if point is not None:
            points.setdefault((point.action, point.machine), []).append(point)
    trends = [_trend(action, machine, found) for (action, machine), found in points.items()]
    return tuple(sorted(trends, key=lambda trend: (-len(trend.points), trend.action, trend.machine)))


def _point(at: str, made: Experiment) -> PromisePoint | None:
    if made.action is None or made.found is None or made.promise is None:
        return None
    if min(*made.action.speedup, *made.found) <= 0:
        return None
    return PromisePoint(
        at=at, action=made.action.action, target=made.target, machine=made.machine, by="comparison" if _compared(made) else "trial",
        promised=made.action.speedup, found=made.found, promise=made.promise, commits=made.commits,
    )  # fmt: skip


def _trend(action: str, machine: str, points: Sequence[PromisePoint]) -> PromiseTrend:
    promised = math.exp(math.fsum(_middle(point.promised) for point in points) / len(points))
    found = math.exp(math.fsum(_middle(point.found) for point in points) / len(points))
    return PromiseTrend(action=action, machine=machine, points=tuple(points), promised=promised, found=found, ratio=found / promised)


def _middle(interval: tuple[float, float]) -> float:
    """The logarithm of the geometric mean of both ends: gains are factors."""
    return 0.5 * (math.log(interval[0]) + math.log(interval[1]))
