"""Tables of what was counted: a share with its Wilson interval, printed and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.stats import wilson_interval

__all__ = ["markdown", "share"]


def share(hits: int, n: int) -> str:
    """Such as `12 of 400: 3.0 % (1.7–5.2)`, the interval at 95 %."""
    low, high = wilson_interval(hits, n)
    return f"{hits} of {n}: {100 * hits / n:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def markdown(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading and a table."""
    lines = [f"### {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"
