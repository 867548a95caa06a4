"""The catalogue as a list, and one device of it in full, every number beside the document that it was taken from.

Decides order and wording only. A probed machine has a page of its own (`pages.probe_page`), with spreads and thread counts that no
specification knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from ridgeline.core import Ceiling, Device, Quantity
from ridgeline.core.units import format_quantity

from .page import Block, Cell, Column, Item, Items, Page, Pair, Pairs, Paragraph, Section, Table, count, number, quantity, words

__all__ = ["device_page", "devices_page"]

_ABSENT = "no source at hand"
_KNOWN = {"spec": "spec", "assumed": "assumed", "measured": "measured"}
_CAUTION = (
    "spec: from specifications only, which are bounds: real kernels stay below them, by how much is only known of machines that were measured "
    "(ridgeline probe measures this one). ridgeline devices NAME shows a device with all its sources."
)
#: What starts a note that names the source of a count or a size: the reader of device files writes them so.
_SOURCED = (
    "execution_units:", "vector_bits:", "registers:", "shared_memory:", "warp:", "max_threads:", "max_groups:", "memory:", "process:", "levels.",
    "lanes.", "mac_array ",
)  # fmt: skip


def devices_page(devices: Sequence[Device]) -> Page:
    """The catalogue: one line a device, and how its numbers are known."""
    columns = (
        Column(title="device", flexible=True, weight=20, least=min(24, max((len(d.name) for d in devices), default=8)), lines=2),
        Column(title="kind", weight=8),
        Column(title="generation", weight=3),
        Column(title="memory", right=True, weight=9),
        Column(title="best arithmetic", right=True, weight=12),
        Column(title="best bandwidth", right=True, weight=12),
        Column(title="power", right=True, weight=4),
        Column(title="price an hour", right=True, weight=9),
        Column(title="known by", weight=10),
        Column(title="dated", weight=5),
    )
    rows = tuple(
        (
            words(d.name), words(d.kind), words(d.architecture, _ABSENT), number(d.memory_bytes, "B", reason=_ABSENT),
            _best(d, "FLOP/s"), _best(d, "B/s"), quantity(d.power_w, _ABSENT),
            quantity(d.price_per_hour, _ABSENT), words(_known(d), "nothing is known"), words(d.probed_at, "not dated"),
        )
        for d in devices
    )  # fmt: skip
    blocks = (Table(caption=f"catalogue: {len(devices)} devices", columns=columns, rows=rows), Paragraph(text=_CAUTION))
    return Page(title="ridgeline devices", sections=(Section(title="", blocks=blocks),))


def device_page(device: Device) -> Page:
    """One device of the catalogue in full."""
    dense = [c for c in device.ceilings if c.level is None and c.rate.unit != "B/s"]
    memory = [c for c in device.ceilings if c.engine == "read"]
    sections = [
        Section(title="Device", blocks=(_head(device), *_counts(device))),
        Section(title="Arithmetic", blocks=(_rates("best rates, dense operands", dense), *_sparse(device), *_lanes(device))),
        Section(title="Memory and links", blocks=(*_levels(device), _rates("bandwidths", memory), *_ports(device))),
    ]
    doubts, sources, remarks = _sorted_notes(device)
    if doubts:
        sections.append(Section(title="What does not fit together", blocks=(_items(doubts),)))
    if remarks:
        sections.append(Section(title="Notes", blocks=(_items(remarks),)))
    if sources:
        sections.append(Section(title="Sources of counts and sizes", blocks=(_items(sources),)))
    return Page(title=f"ridgeline: {device.name}", headline=_headline(device), tone="unsure" if doubts else "plain", sections=tuple(sections))


def _headline(device: Device) -> str:
    known = _known(device)
    if known == "spec":
        return "known by specification only: nothing here was measured"
    return f"known by {known}" if known else "nothing is known"


def _head(device: Device) -> Pairs:
    clocks = (("clock of the peaks", device.clock_hz), ("base clock", device.base_clock_hz), ("boost clock", device.boost_clock_hz))
    return Pairs(
        rows=(
            Pair(label="device", cell=words(device.name), note=device.kind),
            Pair(label="maker", cell=words(device.vendor, _ABSENT)),
            Pair(label="generation", cell=words(device.architecture, _ABSENT)),
            *(_sourced(name, value) for name, value in clocks),
            _sourced("power", device.power_w),
            *((_sourced("lowest power cap", device.least_cap_w),) if device.least_cap_w is not None else ()),
            _sourced("price an hour", device.price_per_hour),
            Pair(label="memory", cell=number(device.memory_bytes, "B", reason=_ABSENT)),
            Pair(label="dated", cell=words(device.probed_at, "not dated")),
        )
    )


def _counts(device: Device) -> tuple[Block, ...]:
    counts = (
        ("execution units", count(device.execution_units, _ABSENT)),
        ("registers a unit", number(device.registers_bytes, "B", reason=_ABSENT)),
        ("shared memory a unit", number(device.shared_memory_bytes, "B", reason=_ABSENT)),
        ("threads in step", count(device.warp_threads, _ABSENT)),
        ("threads a unit at most", count(device.max_threads_per_unit, _ABSENT)),
        ("work-groups a unit at most", count(device.max_groups_per_unit, _ABSENT)),
        ("vector width", words(f"{device.vector_bits} bit" if device.vector_bits else "", _ABSENT)),
        ("process", words(f"{device.process_nm} nm" if device.process_nm else "", _ABSENT)),
    )
    known = tuple(Pair(label=label, cell=cell) for label, cell in counts if cell.value is not None)
    return (Pairs(caption="execution", rows=known),) if known else ()


def _sourced(label: str, value: Quantity | None) -> Pair:
    return Pair(label=label, cell=quantity(value, _ABSENT), note=value.origin if value is not None else "")


def _rates(caption: str, ceilings: Sequence[Ceiling]) -> Table:
    columns = (
        Column(title="precision", weight=12),
        Column(title="units", weight=11),
        Column(title="sums in", weight=4),
        Column(title="threads", right=True, weight=6),
        Column(title="level", weight=12),
        Column(title="rate", right=True, weight=20),
        Column(title="from", flexible=True, weight=9, least=30, lines=3),
    )
    rows = tuple(
        (
            words(c.precision), words(c.units or "", "not said"), words(c.accumulates or "", "not said"),
            words(str(c.threads) if c.threads else "all"), words(c.level or "", "arithmetic has none"), quantity(c.rate), words(c.rate.origin),
        )
        for c in ceilings
    )  # fmt: skip
    hidden = {4} if all(c.level is None for c in ceilings) else {0, 1, 2}
    return Table(
        caption=caption,
        columns=tuple(column for index, column in enumerate(columns) if index not in hidden),
        rows=tuple(tuple(cell for index, cell in enumerate(row) if index not in hidden) for row in rows),
        empty=_ABSENT,
    )


def _sparse(device: Device) -> tuple[Block, ...]:
    return (_rates("best rates where two of four weights are zero", device.sparse),) if device.sparse else ()


def _lanes(device: Device) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if device.lanes:
        columns = (Column(title="precision"), Column(title="units"), Column(title="multiply-adds a unit and clock", right=True))
        lanes = tuple((words(lane.precision), words(lane.units), count(lane.per_unit)) for lane in device.lanes)
        blocks.append(Table(caption="lanes", columns=columns, rows=lanes))
    if device.mac_arrays:
        columns = (Column(title="precision"), Column(title="size"), Column(title="arrays", right=True))
        arrays = tuple((words(one.precision), words(f"{one.rows} × {one.columns}"), count(one.count)) for one in device.mac_arrays)
        blocks.append(Table(caption="arrays of multiply-accumulators", columns=columns, rows=arrays))
    return tuple(blocks)


def _levels(device: Device) -> tuple[Block, ...]:
    if not device.levels:
        return ()
    columns = (Column(title="level"), Column(title="size of one", right=True), Column(title="units that share it", right=True))
    rows = tuple((words(level.name), number(level.capacity_bytes, "B"), count(level.shared_by, "all, or not said")) for level in device.levels)
    return (Table(caption="caches and memories on the chip", columns=columns, rows=rows),)


def _ports(device: Device) -> tuple[Block, ...]:
    if not device.ports:
        return ()
    columns = (Column(title="link"), Column(title="one direction", right=True), Column(title="from", flexible=True, least=30, lines=3))
    rows = tuple((words(port.name), quantity(port.bandwidth), words(port.bandwidth.origin)) for port in device.ports)
    return (Table(caption="links", columns=columns, rows=rows),)


def _sorted_notes(device: Device) -> tuple[list[str], list[str], list[str]]:
    """Contradictions, sources of counts, and the rest."""
    doubts = [note.removeprefix("check: ") for note in device.notes if note.startswith("check: ")]
    sources = [note for note in device.notes if note.startswith(_SOURCED)]
    return doubts, sources, [note for note in device.notes if note not in sources and not note.startswith("check: ")]


def _items(notes: Sequence[str]) -> Items:
    return Items(items=tuple(Item(title=note) for note in notes))


def _known(device: Device) -> str:
    """How the numbers are known: the weakest of the ceilings' sources."""
    sources = {ceiling.rate.source for ceiling in device.ceilings}
    return next((_KNOWN[source] for source in ("assumed", "spec", "measured") if source in sources), "")


def _best(device: Device, unit: str) -> Cell:
    """The largest ceiling in that unit, with its precision; of memory, that of DRAM where there is one, else with its level."""
    rates = [ceiling for ceiling in device.ceilings if ceiling.rate.unit == unit]
    rates = [ceiling for ceiling in rates if unit != "B/s" or ceiling.level == "DRAM"] or rates
    if not rates:
        return quantity(None, _ABSENT)
    best = max(rates, key=lambda ceiling: ceiling.rate.value)
    beside = best.precision if unit == "FLOP/s" else (best.level or "").replace("DRAM", "")
    return words(f"{format_quantity(best.rate.value, unit)} {beside}".strip())
