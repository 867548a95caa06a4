"""The measured half of a diagnosis page: how long it really takes, where the time goes, the operators, the levels and their observer check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ridgeline.core import Diagnosis, GroundTruth, LevelSummary, OperatorSummary, PartitionSummary
from ridgeline.stats import minimum_samples

from .page import (
    DISTURBED,
    Bars,
    Block,
    Cell,
    Column,
    Pair,
    Pairs,
    Paragraph,
    Section,
    Table,
    count,
    format_cell,
    fraction,
    missing,
    number,
    quantity,
    seconds,
    share,
    words,
)
from .stages import stage_blocks

__all__ = ["OPERATORS_SHOWN", "SPLIT_DISTURBED", "WALL_WORDS", "disturbed", "measured_sections", "operator_table", "partition_blocks"]

#: Operators on the page; the JSON carries all of them.
OPERATORS_SHOWN = 10
#: Over a wall split that is only of changed calls.
SPLIT_DISTURBED = "shares of the wall of changed calls: splitting it was perturbed, see the warnings"
WALL_WORDS = {
    "kernels": "native code doing the work",
    "interpreter": "Python and framework dispatch",
    "system": "in the kernel (page faults, system calls)",
    "waiting": "runnable, but another had the CPU",
    "blocked": "asleep: disk, network, locks, other processes",
}


def measured_sections(diagnosis: Diagnosis) -> tuple[Section, ...]:
    """Ground truth, wall split, operators, partitions and levels; a part without any data says so or is left out."""
    return (
        Section(title="How long it really takes", blocks=_ground_truth(diagnosis.ground_truth)),
        Section(title="Where the time goes", blocks=_where_time_goes(diagnosis)),
        Section(title="Operators", blocks=_operators(diagnosis)),
        *_levels(diagnosis),
    )


def _ground_truth(truth: GroundTruth | None) -> tuple[Block, ...]:
    if truth is None:
        return (Paragraph(text="Not measured: the target gave no sample."),)
    times = (
        Pair(label="median", cell=seconds(truth.median_s, truth.median_ci_s), note="of one call, 95 % interval"),
        Pair(label="p99", cell=_p99(truth)),
        Pair(label="min", cell=seconds(truth.min_s)),
        _optional("first call", truth.first_s, "the first call was not timed apart"),
        _optional("batched", truth.batched_s, "calls back to back were not timed", note="a call, back to back"),
    )
    sampling = (
        Pair(label="samples", cell=count(truth.samples), note=f"in {truth.processes} process{'es' if truth.processes != 1 else ''}"),
        Pair(label="warm-up", cell=count(truth.warmup), note="calls left out as not yet steady"),
        Pair(label="noise floor", cell=share(truth.noise_floor, "too few samples"), note=_floor_note(truth)),
        _optional("timer overhead", truth.overhead_s, "not measured", note="a sample"),
    )
    return (Pairs(caption="time of a call, uninstrumented", rows=times), Pairs(caption="how it was sampled", rows=sampling))


def _p99(truth: GroundTruth) -> Cell:
    if truth.p99_s is not None:
        return seconds(truth.p99_s, truth.p99_ci_s)
    needed = minimum_samples(0.99, 0.95, one_sided=True)
    if truth.samples < needed:
        return missing(f"needs {needed} samples, has {truth.samples}")
    return missing("not stated by the diagnosis")


def _optional(label: str, value: float | None, reason: str, note: str = "") -> Pair:
    return Pair(label=label, cell=seconds(value, reason=reason), note=note if value is not None else "")


def _floor_note(truth: GroundTruth) -> str:
    return "a change smaller than this is not a change" if truth.noise_floor is not None else ""


def _where_time_goes(diagnosis: Diagnosis) -> tuple[Block, ...]:
    split = diagnosis.wall_split
    blocks: list[Block] = []
    if split is None:
        blocks.append(Paragraph(text="The wall could not be split; see what could not be measured."))
    else:
        rows = tuple(Pair(label=name, cell=share(getattr(split, name)), note=note) for name, note in WALL_WORDS.items())
        blocks.append(Bars(caption=SPLIT_DISTURBED if split.perturbed else "shares of the wall", rows=rows))
    blocks += stage_blocks(diagnosis)
    blocks += _overhead(diagnosis)
    return tuple(blocks)


def _overhead(diagnosis: Diagnosis) -> list[Block]:
    gap = diagnosis.overhead
    if gap is None:
        return []
    rows = (
        Pair(label="instrumented wall", cell=seconds(gap.wall_s), note="a call"),
        Pair(label="inside operators", cell=seconds(gap.operators_s), note="union of their intervals"),
        Pair(label="gap", cell=seconds(gap.gap_s), note="outside any operator: overhead"),
        Pair(label="gap share", cell=share(gap.gap_share)),
    )
    changed = any(level.level == 3 and level.perturbed for level in diagnosis.levels)
    return [Pairs(caption="overhead, of calls that the profile changed" if changed else "overhead", rows=rows)]


_OPERATOR_COLUMNS = (
    Column(title="operator", flexible=True, least=24, weight=20),
    Column(title="kind", flexible=True, weight=8),
    Column(title="calls", right=True, weight=7),
    Column(title="time", right=True, weight=14),
    Column(title="share", right=True, weight=15),
    Column(title="f_c", right=True, weight=12),
    Column(title="f_b", right=True, weight=12),
    Column(title="bound", weight=13),
    Column(title="FLOP/B", right=True, weight=2),
    Column(title="threads", right=True, weight=4),
    Column(title="precision", weight=5),
    Column(title="ran on", flexible=True, weight=3),
)


def _operators(diagnosis: Diagnosis) -> tuple[Block, ...]:
    if not diagnosis.operators:
        return (Paragraph(text="No operators were seen: the target has none, or their level was skipped (see the levels)."),)
    return (*disturbed(diagnosis), operator_table(diagnosis.operators, OPERATORS_SHOWN), *partition_blocks(diagnosis))


def disturbed(diagnosis: Diagnosis) -> tuple[Block, ...]:
    """The word that stands over what other work disturbed; nothing where the machine was left alone."""
    found = diagnosis.bottleneck
    return (Paragraph(text=DISTURBED),) if found is not None and found.cause == "interference" else ()


def operator_table(operators: Sequence[OperatorSummary], most: int) -> Table:
    """The operators that take the most time, at most `most`; the note counts the others."""
    # Stable: operators without a time keep the order of the diagnosis, behind those that have one.
    ranked = sorted(operators, key=lambda op: -(op.total_s if op.total_s is not None else -1.0))
    shown = ranked[:most]
    note = f"{len(ranked) - len(shown)} more in the JSON." if len(ranked) > len(shown) else ""
    caption = "operators by time; f_c and f_b are shares of the compute and bandwidth ceilings, with intervals"
    rows = tuple(_operator_row(op, name) for op, name in zip(shown, _names(shown), strict=True))
    return Table(caption=caption, columns=_OPERATOR_COLUMNS, rows=rows, note=note)


def _names(shown: Sequence[OperatorSummary]) -> list[str]:
    """A name for each row that no other row has: what it works on tells it apart, else its line, else its place among its like."""
    times = Counter(op.name for op in shown)
    names = [_told_apart(op) if times[op.name] > 1 and op.shapes else op.name for op in shown]
    times = Counter(names)
    names = [f"{_line(op)}{name}" if times[name] > 1 else name for op, name in zip(shown, names, strict=True)]
    times, seen = Counter(names), Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        # First, since the end of a long name is what a narrow table leaves out.
        told.append(f"#{seen[name]} {name}" if times[name] > 1 else name)
    return told


def _line(op: OperatorSummary) -> str:
    return f":{op.where.line} " if op.where is not None and op.where.line is not None else ""


def _told_apart(op: OperatorSummary) -> str:
    """The name of one of several on the same line: what it works on says which, where the line does not."""
    return f"{op.name.partition('@')[0]} {op.shapes}"


def _operator_row(op: OperatorSummary, name: str) -> tuple[Cell, ...]:
    untimed = "the level was perturbed"
    unknown = op.reason or "work or time unknown"
    no_arithmetic = "it only moves data" if op.flop == 0 else unknown
    name = f"{name} (inserted)" if op.inserted else name
    return (
        words(name), words(op.kind), count(op.calls), seconds(op.total_s, reason=untimed), share(op.share, untimed),
        fraction(op.f_c, no_arithmetic), fraction(op.f_b, unknown), words(op.bound), number(op.intensity, "1", reason=unknown),
        count(op.threads, "not known"), words(op.precision, "not known"), words(op.ran_on, "not known"),
    )  # fmt: skip


def partition_blocks(diagnosis: Diagnosis) -> list[Block]:
    """How the graph was cut between providers; nothing where it was not."""
    cut = diagnosis.partitions
    if cut is None:
        return []
    rows = (
        Pair(label="partitions", cell=count(cut.count)),
        Pair(label="nodes", cell=count(cut.nodes), note=f"{cut.delegated} delegated"),
        Pair(label="hand-offs", cell=count(cut.handoffs)),
        _handoff(cut),
        Pair(label="fallbacks", cell=words(", ".join(cut.fallbacks) or "none")),
    )
    return [Pairs(caption="partitions", rows=rows)]


def _handoff(cut: PartitionSummary) -> Pair:
    """The time of the boundaries, or what it is at the most."""
    if cut.handoff_s is None and cut.handoff_at_most_s is not None:
        return Pair(label="hand-off time", cell=words(f"at most {format_cell(seconds(cut.handoff_at_most_s))}"))
    return _optional("hand-off time", cut.handoff_s, "not known")


def _observer(level: LevelSummary) -> str:
    """What the check of the observer says of a level; the ground truth is what the others are checked against."""
    if level.skipped:
        return f"skipped: {level.skipped}"
    if level.perturbed is not None:
        return "perturbed: see the warnings" if level.perturbed else "clean"
    if level.ratio_to_ground_truth is not None:
        return "undecided: straddles ±10 %"
    return "the ground truth" if level.level == 1 else "not checked: it takes no total"


def _levels(diagnosis: Diagnosis) -> tuple[Section, ...]:
    if not diagnosis.levels:
        return ()
    columns = (
        Column(title="level", right=True, weight=9),
        Column(title="instrument", flexible=True, weight=9),
        Column(title="total", right=True, weight=8),
        Column(title="÷ ground truth", right=True, weight=8),
        Column(title="observer", flexible=True, least=16, weight=10),
    )
    rows = tuple(
        (
            count(level.level), words(level.instrument), seconds(level.total_s, reason="it takes none"),
            quantity(level.ratio_to_ground_truth, "not checked"),
            words(_observer(level)),
        )
        for level in diagnosis.levels
    )  # fmt: skip
    caption = "what was measured, and whether measuring changed it (±10 %): the ratio is to clean calls of the same minutes"
    return (Section(title="Levels", blocks=(Table(caption=caption, columns=columns, rows=rows),)),)
