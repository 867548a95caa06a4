"""Arm Streamline: its table of functions as CSV, with samples or counters of each.

This module decides which column is the weight (samples that ended in a function, else the first counter of it), and sums counters over all functions.
Source: the user guide's description of the functions view and its export; unverified, since no file of the tool itself was at hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Column, Counters, Profile

from .delimited import Columns, RowReader, header_in, table, unverified
from .source import Source
from .stacking import UNKNOWN, LeftOut, StackTree, believable, nothing
from .written_numbers import plain

__all__ = ["Streamline"]

_NAMES, _IMAGES = ("Function Name", "Symbol Name", "Symbol", "Function"), ("Image", "Image Name", "Image / Library")
_SAMPLES = ("Self", "Self Samples", "Samples", "Samples: Self", "Self (samples)")
_TEXTS = (*_NAMES, *_IMAGES, "Location", "Source", "Source File", "File", "Line", "Address", "Size", "Process", "Thread", "Stack")


class Streamline:
    """Functions of Arm Streamline."""

    format = "streamline"
    title = "Arm Streamline CSV (functions)"

    def recognises(self, source: Source) -> int:
        """By a column of functions and one of images beside samples or counters."""
        return 60 if header_in(source.head_text, _is_header) else 0

    def read(self, source: Source) -> Profile:
        """Functions with their weights; raises `ReadError` where there are none."""
        reader, left_out, tree = RowReader(source), LeftOut(), StackTree(source)
        columns, rows = table(source, reader, _is_header, "columns of Streamline's functions")
        counted = _counted(columns)
        weight = next(name for name in (*_SAMPLES, *counted) if name in columns)
        sums: dict[str, float] = {}
        for row in rows:
            if not any(row.fields):
                continue
            value = plain(columns.text(row.fields, weight))
            if value is None or not believable(value):
                left_out.add("functions without a weight, or with one that is none", f"line {row.line}")
                continue
            file, name = columns.text(row.fields, "Source File", "File", "Source") or None, columns.text(row.fields, *_NAMES) or UNKNOWN
            tree.add(tree.node([tree.frame(name, file=file, library=columns.text(row.fields, *_IMAGES))]), value)
            for column in counted:
                each = plain(columns.text(row.fields, column))
                if each is not None and each >= 0.0:
                    sums[column] = sums.get(column, 0.0) + each
        if not tree.measures:
            raise nothing(source, "functions with samples or counters", left_out.listed)
        sampled = weight in _SAMPLES
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="Arm Streamline",
            stacks=(tree.stacks(measure="samples" if sampled else weight, unit="count", sampled=False),),
            counters=_counters({name: value for name, value in sums.items() if name not in _SAMPLES}),
            excluded=left_out.listed,
            warnings=(unverified("Streamline's CSV"), *reader.warnings),
        )


def _is_header(columns: Columns) -> bool:
    named = columns.where(*_NAMES) is not None and columns.where(*_IMAGES) is not None
    return named and (columns.where(*_SAMPLES) is not None or bool(_counted(columns)))


def _counted(columns: Columns) -> Sequence[str]:
    """Columns of counts: shares and ratios do not add up."""
    known = {name.casefold() for name in _TEXTS}
    return [name for name in columns.names if name and name.casefold() not in known and "%" not in name and " per " not in name.casefold()]


def _counters(sums: dict[str, float]) -> Counters | None:
    if not sums:
        return None
    ones = Column([1.0] * len(sums), "1", "float64")
    counts = Column(list(sums.values()), "count", "float64")
    return Counters(names=tuple(sums), counts=counts, counted_fraction=ones, instrument="Arm Streamline, summed over functions")
