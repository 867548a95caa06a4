"""`PromiseReport`: how often the promises of diagnoses held, action by action."""

from __future__ import annotations

import msgspec

from .quantity import Quantity
from .verdict import Experiment

__all__ = ["PromiseLine", "PromiseReport"]


class PromiseLine(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of one action, or of all.

    Args:
        action: its name.
        kept: trials whose found gain lies in the promised interval.
        refuted: trials whose found interval lies wholly outside the promised one.
        open: trials in between.
        failed: trials without a result.
        rate: kept ÷ (kept + refuted + open) with its Wilson interval; null where there are none.
        recommended: changes that were kept.
    """

    action: str
    kept: int = 0
    refuted: int = 0
    open: int = 0
    failed: int = 0
    rate: Quantity | None = None
    recommended: int = 0


class PromiseReport(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.promises/1"):
    """All experiments of a notebook, counted.

    Args:
        notebook: where they are.
        total: all promises together.
        actions: by action, most trials first.
        controls: changes of which nothing was promised, by verdict.
        output_changed: trials whose output differed.
        experiments: what was counted, oldest first.
    """

    notebook: str
    total: PromiseLine
    actions: tuple[PromiseLine, ...]
    controls: dict[str, int]
    output_changed: int
    experiments: tuple[Experiment, ...]
