"""The other pages: one run, a probed device, the doctor's report, a calculation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ridgeline.core import Ceiling, Device, DoctorReport, Finding, Quantity, Run
from ridgeline.diagnosis.benched import bench_report

from .bench_page import bench_page
from .diagnosis_page import page
from .page import (
    Block,
    Column,
    Item,
    Items,
    Page,
    Pair,
    Pairs,
    Paragraph,
    Section,
    Table,
    count,
    number,
    quantity,
    share,
    words,
)
from .tuned_page import tuned_page

__all__ = ["Calculation", "calc_list_page", "calc_page", "doctor_page", "probe_page", "run_page"]


class Calculation(Protocol):
    """What `calc_page` needs of a result: a name, inputs and outputs by name, and the formula as text."""

    @property
    def name(self) -> str:
        """Name of the law."""

    @property
    def inputs(self) -> Mapping[str, Quantity]:
        """What was given."""

    @property
    def outputs(self) -> Mapping[str, Quantity]:
        """What follows."""

    @property
    def formula(self) -> str:
        """The formula, for a person."""

    @property
    def notes(self) -> Sequence[str]:
        """What has no finite answer."""


class LawLine(Protocol):
    """What `calc_list_page` needs of a law: its name, what it answers, and an example of its arguments."""

    @property
    def name(self) -> str:
        """Name of the law."""

    @property
    def answers(self) -> str:
        """What it works out."""

    @property
    def example(self) -> Sequence[str]:
        """Arguments that work as they stand."""


def run_page(run: Run) -> Page:
    """One stored run: the page of its diagnosis, or what was measured if none was drawn."""
    if run.diagnosis is not None:
        return page(run.diagnosis)
    if run.bench is not None:
        return bench_page(bench_report(run))
    if run.tuned is not None:
        return tuned_page(run.tuned)
    rows = (
        Pair(label="run", cell=words(run.id)),
        Pair(label="verb", cell=words(run.verb)),
        Pair(label="at", cell=words(run.at)),
        Pair(label="target", cell=words(run.facts.target.spec)),
        Pair(label="machine", cell=words(run.facts.machine.cpu_model)),
        Pair(label="samples", cell=count(len(run.facts.samples) if run.facts.samples is not None else None, "none were taken")),
        Pair(label="method", cell=words(run.method, "not recorded")),
        Pair(label="commit", cell=words(run.commit or "", "the target is in no repository")),
    )
    note = Paragraph(text="No diagnosis was drawn from this run.")
    return Page(title=f"ridgeline: run {run.id}", sections=(Section(title="Run", blocks=(Pairs(rows=rows), note)),))


def probe_page(device: Device) -> Page:
    """The ceilings, latencies and costs of one device."""
    head = (
        Pair(label="device", cell=words(device.name), note=device.kind),
        Pair(label="probed", cell=words(device.probed_at, "not dated")),
        Pair(label="execution units", cell=count(device.execution_units, "not known")),
        Pair(label="vector width", cell=words(f"{device.vector_bits} bit" if device.vector_bits else "", "not known")),
        Pair(label="memory", cell=number(device.memory_bytes, "B", reason="not known")),
        Pair(label="clock", cell=quantity(device.clock_hz, "not visible")),
    )
    rates = [ceiling for ceiling in device.ceilings if ceiling.engine != "latency"]
    sections = [
        Section(title="Device", blocks=(Pairs(rows=head), *_levels(device))),
        Section(title="Arithmetic", blocks=(_ceilings("best rates of arithmetic", [c for c in rates if c.level is None and c.rate.unit != "B/s"]),)),
        Section(title="Memory", blocks=(_ceilings("best rates of memory", [c for c in rates if c.level is not None or c.rate.unit == "B/s"]),)),
        Section(title="Latency", blocks=(_ceilings("one dependent load", [c for c in device.ceilings if c.engine == "latency"]),)),
        Section(title="Costs", blocks=(_costs(device),)),
    ]
    if device.notes:
        sections.append(Section(title="Notes", blocks=(Items(items=tuple(Item(title=note) for note in device.notes)),)))
    return Page(title=f"ridgeline: {device.name}", sections=tuple(sections))


def _levels(device: Device) -> tuple[Block, ...]:
    if not device.levels:
        return ()
    columns = (Column(title="level"), Column(title="capacity", right=True), Column(title="CPUs that share it", right=True))
    rows = tuple((words(level.name), number(level.capacity_bytes, "B"), count(level.shared_by, "not visible")) for level in device.levels)
    return (Table(caption="memory levels", columns=columns, rows=rows),)


def _ceilings(caption: str, ceilings: Sequence[Ceiling]) -> Table:
    columns = (
        Column(title="engine", weight=20),
        Column(title="precision", weight=12),
        Column(title="threads", right=True, weight=13),
        Column(title="level", weight=12),
        Column(title="working set", right=True, weight=8),
        Column(title="rate", right=True, weight=20),
        Column(title="spread", right=True, weight=6),
        Column(title="stable", weight=10),
        Column(title="library", weight=5),
    )
    rows = tuple(
        (
            words(c.engine), words(c.precision), words(str(c.threads) if c.threads else "all"), words(c.level or "", "arithmetic has none"),
            number(c.working_set_bytes, "B", reason="arithmetic has none"), quantity(c.rate), share(c.spread, "a specification"),
            words("yes" if c.stable else "NO"), words(c.library),
        )
        for c in ceilings
    )  # fmt: skip
    # A column that says nothing: arithmetic has no level, memory no precision.
    hidden = {3, 4} if all(c.level is None and c.working_set_bytes is None for c in ceilings) else set()
    hidden |= {1} if all(c.precision == "any" for c in ceilings) else set()
    return Table(
        caption=caption,
        columns=tuple(column for index, column in enumerate(columns) if index not in hidden),
        rows=tuple(tuple(cell for index, cell in enumerate(row) if index not in hidden) for row in rows),
        empty="not measured",
    )


def _costs(device: Device) -> Table:
    columns = (Column(title="what"), Column(title="library"), Column(title="time", right=True), Column(title="how", flexible=True, weight=3))
    rows = tuple((words(c.name), words(c.library), quantity(c.seconds), words(c.seconds.origin)) for c in device.costs)
    return Table(caption="fixed costs", columns=columns, rows=rows, empty="not measured")


def doctor_page(report: DoctorReport) -> Page:
    """What can and cannot be measured here: first what is missing, with what it costs and how to mend it, then what is there."""
    lacking = [finding for finding in report.findings if finding.ok is False]
    unsure = [finding for finding in report.findings if finding.ok is None]
    fine = [finding for finding in report.findings if finding.ok]
    headline = f"{len(fine)} of {len(report.findings)} checks passed; {len(lacking)} cannot be used here." if report.findings else ""
    head = Pairs(rows=(Pair(label="machine", cell=words(report.machine)), Pair(label="fingerprint", cell=words(report.fingerprint))))
    sections = [Section(title="Machine", blocks=(head,))]
    for title, findings in (("Cannot be used", lacking), ("Not visible or not applicable", unsure), ("Works", fine)):
        if findings:
            sections.append(Section(title=title, blocks=(Items(items=tuple(_finding(finding) for finding in findings)),)))
    return Page(title="ridgeline doctor", headline=headline, tone="unsure" if lacking else "good", sections=tuple(sections))


def _finding(finding: Finding) -> Item:
    parts = [finding.consequence, f"To enable: {finding.remedy}" if finding.remedy else ""]
    return Item(title=f"{finding.name}: {finding.detail}", detail=" ".join(part for part in parts if part))


def calc_page(result: Calculation) -> Page:
    """One law worked out: outputs first, then what went in and the formula."""
    outputs = Pairs(caption="result", rows=tuple(Pair(label=name, cell=quantity(value)) for name, value in result.outputs.items()))
    inputs = Pairs(caption="given", rows=tuple(Pair(label=name, cell=quantity(value)) for name, value in result.inputs.items()))
    remarks = tuple(Paragraph(text=text) for text in (result.formula, *result.notes))
    return Page(title=f"ridgeline calc {result.name}", sections=(Section(title="", blocks=(outputs, inputs, *remarks)),))


def calc_list_page(laws: Sequence[LawLine]) -> Page:
    """The laws that `calc` knows: name, what each works out, an example."""
    items = tuple(Item(title=f"{law.name}: {law.answers}", detail=f"ridgeline calc {law.name} {' '.join(law.example)}") for law in laws)
    return Page(title="ridgeline calc", sections=(Section(title="", blocks=(Items(items=items),)),))
