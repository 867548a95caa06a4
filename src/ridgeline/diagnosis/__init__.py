"""Facts to `Need` or `Diagnosis`: pure rules that never measure, so that every verdict replays from a stored Run.

`next(facts)` is the whole interface: it returns what to measure next, or the diagnosis when nothing more would change it.
"""

from __future__ import annotations

from ridgeline.core import Diagnosis, Facts, Need
from ridgeline.core.plugins import plugins

from .case import Case, Finding, Proposal, Rule
from .causes.layout import unfavourable_candidates
from .causes.locality import tiles
from .needs import next_need
from .verdict import conclude

__all__ = ["Case", "Finding", "Proposal", "Rule", "blockable_rows", "next", "unfavourable_rows"]


def next(facts: Facts) -> Need | Diagnosis:  # the design's name for it; the builtin is not used here
    """Say what to measure next, or conclude.

    Args:
        facts: what was measured so far; instruments in `facts.cannot` are not asked for again.

    Returns:
        `Need(level, on, instrument)` while something that can be had would help, else a `Diagnosis`.

    Raises:
        PluginError: a rule does not load.
    """
    need = next_need(facts)
    if need is not None:
        return need
    return conclude(facts, (rule() for _, rule in plugins("rules")))


def unfavourable_rows(facts: Facts) -> list[int]:
    """Rows of the operator table that may pay for the layout of their operands, largest share first."""
    return [part.index for part in unfavourable_candidates(Case.of(facts))]


def blockable_rows(facts: Facts) -> dict[int, int]:
    """Rows of the operator table that pass over the same data from afar again and again → bytes of a tile that a near cache would hold."""
    return tiles(Case.of(facts))
