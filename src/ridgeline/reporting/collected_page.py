"""The page of a collection: how many operators of which type were measured, how fast they are, and what was left out."""

from __future__ import annotations

import numpy as np

from ridgeline.core import LatencyTable
from ridgeline.model.operators.parts import part_of

from .page import Block, Column, Item, Items, Page, Section, Table, count, seconds, words

__all__ = ["collected_page"]


def collected_page(table: LatencyTable) -> Page:
    """What a collection holds."""
    blocks: tuple[Block, ...] = (_parts(table),)
    sections = [Section(title="Operators", blocks=blocks)]
    if table.excluded:
        left = tuple(Item(title=f"{each.events} rows: {each.reason}, first {each.first}") for each in table.excluded)
        sections.append(Section(title="Left out", blocks=(Items(items=left),)))
    device = table.devices[0] if table.devices else "no device"
    threads = table.threads(device)
    way = f" with threads: {threads}" if threads else ""
    headline = f"{len(table)} operators measured on {device}{way}; `ridgeline model train` learns from them"
    return Page(title="ridgeline model collect", headline=headline, tone="plain" if len(table) else "unsure", sections=tuple(sections))


def _parts(table: LatencyTable) -> Table:
    columns = (
        Column(title="operators", flexible=True, weight=20), Column(title="rows", right=True, weight=15),
        Column(title="variants", right=True, weight=10), Column(title="fastest", right=True, weight=12),
        Column(title="median", right=True, weight=14), Column(title="slowest", right=True, weight=12),
    )  # fmt: skip
    parts = np.array([part_of(table.workload(index)) for index in range(len(table))])
    variants = np.array(table.texts("variant"))
    rows = []
    for part in sorted(set(parts.tolist())):
        inside = parts == part
        own = table.latency_s.values[inside]
        ends = [seconds(float(value)) for value in (own.min(), np.median(own), own.max())]
        rows.append((words(part), count(int(inside.sum())), count(len(set(variants[inside].tolist()))), *ends))
    return Table(caption="by type of operator", columns=columns, rows=tuple(rows))
