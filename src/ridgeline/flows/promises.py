"""How often promises hold: the experiments of the notebook, counted by action."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ridgeline.core import Experiment, PromiseLine, PromiseReport
from ridgeline.notebook import Notebook, default_location, exists
from ridgeline.stats import share_quantity

__all__ = ["counted", "promises"]


def promises(location: str | Path | None = None, *, target: str | None = None) -> PromiseReport:
    """The promises of a notebook and what came of them; the default notebook may not exist yet and then has none.

    Args:
        location: path or URL; the default notebook if not given.
        target: only experiments whose target contains this text.

    Raises:
        UsageError: a notebook that was named does not exist or cannot be opened.
        ReadError: it is none.
    """
    if location is None and not exists(default_location()):
        return counted(default_location(), ())
    with Notebook.open(location, create=False) as notebook:
        return counted(notebook.place, [made for made in notebook.experiments() if target is None or target in made.target])


def counted(place: str, experiments: Sequence[Experiment]) -> PromiseReport:
    """The report on some experiments; pure."""
    promised = [made for made in experiments if made.action is not None]
    by_action: dict[str, list[Experiment]] = {}
    for made in promised:
        by_action.setdefault(made.action.action if made.action else "", []).append(made)
    lines = [_line(action, found) for action, found in by_action.items()]
    return PromiseReport(
        notebook=place,
        total=_line("all", promised),
        actions=tuple(sorted(lines, key=lambda line: (-(line.kept + line.refuted + line.open), line.action))),
        controls=dict(sorted(Counter(made.verdict for made in experiments if made.action is None).items())),
        output_changed=sum(made.tried is not None and made.tried.output == "differs" for made in experiments),
        experiments=tuple(experiments),
    )


def _line(action: str, experiments: Sequence[Experiment]) -> PromiseLine:
    count = Counter(made.promise for made in experiments)
    judged = count["kept"] + count["refuted"] + count["open"]
    return PromiseLine(
        action=action,
        kept=count["kept"],
        refuted=count["refuted"],
        open=count["open"],
        failed=len(experiments) - judged,
        rate=share_quantity(count["kept"], judged, origin="promises kept ÷ promises that were tried") if judged else None,
        recommended=sum(made.kept for made in experiments),
    )
