"""What a comparison would be able to see, from an earlier run of the same target on this machine: said before anything is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ridgeline.core import Machine, RidgelineError
from ridgeline.diagnosis.comparison import compare_series

from .live import latency_of
from .sides import LiveSide

if TYPE_CHECKING:
    from ridgeline.notebook import Notebook

__all__ = ["earlier_words"]

#: Flows whose runs have several processes.
_VERBS = ("bench", "compare")


def earlier_words(notebook: Notebook | None, side: LiveSide, machine: Machine, confidence: float) -> str:
    """A note on the difference that an earlier run says would be seen; empty where there is none that says anything."""
    if notebook is None:
        return ""
    from ridgeline.notebook import RunFilter

    try:
        for verb in _VERBS:
            for summary in notebook.runs(1, wanted=RunFilter(verb=verb, target=side.spec.text, machine=machine.fingerprint)):
                series = latency_of(notebook.get(summary.id))
                # Against itself: what is asked for is the spread from process to process, not a verdict.
                found = compare_series(series, series, confidence=confidence) if series is not None else None
                # Of one process there is no spread from process to process.
                if found is not None and found.detectable_ratio is not None and found.side_a is not None and found.side_a.processes > 1:
                    percent = f"{found.detectable_ratio - 1:.1%}"
                    return (
                        f"note: by run {summary.id}, {found.side_a.processes} processes a side would see a difference of {percent} nine times of ten"
                    )
    except RidgelineError:  # a damaged record says nothing
        return ""
    return ""
