"""`Profile`: what the file of a profiler says, in the nouns of ridgeline, with all that was left out of it.

A file tells one or several of these: when things happened (`timeline`), how long operators took in all (`table`), counts (`counters`), counters of
single kernels (`kernels`), where time was spent by stacks (`stacks`), and how a graph was cut between providers (`partitions`). Times are in seconds
except in a `Timeline`, which keeps the file's ticks.
"""

from __future__ import annotations

import msgspec

from .caution import Caution
from .facts import Counters
from .partitions import PartitionTable
from .stacks import Stacks
from .timeline import Timeline

__all__ = ["Excluded", "KernelCounts", "KernelTable", "Profile", "ProfileRow", "ProfileTable"]


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """Events or rows that are in no figure.

    Args:
        reason: why, in words; one reason has one entry.
        events: how many.
        total_s: their durations together, where the file gives any that can be believed.
        first: where the first of them is: `byte 1234`, `line 17`, `event 5`, `table CUPTI_…`; empty if not known.
    """

    reason: str
    events: int
    total_s: float = 0.0
    first: str = ""


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True):
    """One operator, kernel, layer or function of a table.

    Args:
        name: as the file gives it.
        kind: type of operator, such as `Conv`; empty if the file does not tell.
        calls: executions in all that the file covers; null if it does not tell.
        total_s: seconds of all executions, nested ones included.
        own_s: seconds without nested ones; null if not known.
        first_s, least_s, most_s, median_s: of one execution; null if not known.
        share: of the whole as the file says it; null if it does not, or what it says is broken.
        node: index of the node in its graph; null if not known.
        device: where it ran, such as `GPU 0` or `CPU`; provider: delegate, execution provider or back end; precision: executed; kernel: executed.
        shapes: as the file writes them.
        numbers: further numbers of the row in SI units, by the file's name with its unit, such as `sram_traffic_bytes`.
        texts: further texts of the row, by the file's name.
    """

    name: str
    total_s: float
    kind: str = ""
    calls: float | None = None
    own_s: float | None = None
    first_s: float | None = None
    least_s: float | None = None
    most_s: float | None = None
    median_s: float | None = None
    share: float | None = None
    node: int | None = None
    device: str = ""
    provider: str = ""
    precision: str = ""
    kernel: str = ""
    shapes: str = ""
    numbers: dict[str, float] = {}
    texts: dict[str, str] = {}


class ProfileTable(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one table, in the order of the file.

    Args:
        rows: the rows; what they are is in `of`: `operators`, `kernels`, `layers`, `functions`, `copies`, `runtime`, `ranges`.
        per_call: whether seconds are those of one call of the model (the mean over the calls) and not of all that the file covers.
        nested: whether rows contain one another, so that their sum is more than the time they took.
        iterations: calls of the model that it covers; null if not known.
        wall_s: wall of one call by a timer around it (where `per_call`), else of all; null if the file has none.
        wall_deviation_s: standard deviation of that wall over the calls; null if not known.
        first_wall_s: wall of the first call, set-up apart; setup_s: set-up before it; null if not known.
        name: of the table, where a file has several; within: name of the table whose rows contain these, so that they are in its sum already.
    """

    rows: tuple[ProfileRow, ...]
    of: str = "operators"
    per_call: bool = False
    nested: bool = False
    iterations: int | None = None
    wall_s: float | None = None
    wall_deviation_s: float | None = None
    first_wall_s: float | None = None
    setup_s: float | None = None
    name: str = ""
    within: str = ""


class KernelCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of one launch of one kernel (or of a row that sums several).

    Args:
        name: demangled, as the file gives it.
        index: its place among the launches; null if not known.
        launches: how many launches the row sums.
        duration_s: of the kernel, as the profiler measured it; null if not asked for.
        device, stream: as the file names them.
        grid, block: threads and blocks by dimension; empty if not known.
        raw: metric as the file names it → value in the base unit of `KernelTable.units`.
        figures: the same in the words of `docs/readers.md`, whatever the profiler and its version call them: `sectors_per_request`,
            `branch_efficiency`, `active_lanes`, `l1_hit_rate`, `l2_hit_rate`, `occupancy`, `occupancy_limit`, `dram_byte_per_s`, `dram_share`,
            `compute_share`, `registers_per_thread`, `shared_bytes_per_block`. Shares and rates in [0, 1] where the profiler keeps to it.
    """

    name: str
    index: int | None = None
    launches: int = 1
    duration_s: float | None = None
    device: str = ""
    stream: str = ""
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    raw: dict[str, float] = {}
    figures: dict[str, float] = {}


class KernelTable(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of kernels.

    Args:
        kernels: one row a launch, in the order of the file.
        units: metric as the file names it → base unit of its values, `1` for shares and pure numbers.
        replayed: whether kernels were run several times, or alone, to count: then durations are those of the kernel alone, and neither a timeline nor
            a share of the program follows from them.
        instrument: the tool and its version.
    """

    kernels: tuple[KernelCounts, ...]
    units: dict[str, str] = {}
    replayed: bool = True
    instrument: str = ""


class Profile(msgspec.Struct, frozen=True, kw_only=True, tag_field="schema", tag="ridgeline.profile/1"):
    """What one file says.

    Args:
        format: name of the reader, such as `chrome`.
        files: the paths, as they were given.
        tool: what wrote it, with its version, as far as the file tells.
        resolution_s: the finest time that the file can tell, such as 1e-6 where it rounds to microseconds; null if not known.
        timeline, tables, counters, kernels, stacks, partitions: what it holds.
        rank: of a distributed job; null if not known.
        facts: what else it says of the run, by the file's name, as text: model, device names, versions, threads.
        excluded: what is in no figure, and why.
        warnings: what its reader must know.
    """

    format: str
    files: tuple[str, ...]
    tool: str = ""
    resolution_s: float | None = None
    timeline: Timeline | None = None
    tables: tuple[ProfileTable, ...] = ()
    counters: Counters | None = None
    kernels: KernelTable | None = None
    stacks: tuple[Stacks, ...] = ()
    partitions: PartitionTable | None = None
    rank: int | None = None
    facts: dict[str, str] = {}
    excluded: tuple[Excluded, ...] = ()
    warnings: tuple[Caution, ...] = ()
