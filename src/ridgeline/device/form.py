"""What a device file may say: the form of the TOML, in which every number names its source.

Decides keys, types and ranges; anything else in a file is refused. What the numbers mean is fixed by `core.device`, and how they become a
`Device` is left to `files`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ..core import Engine, Precision, Units

__all__ = ["Array", "Band", "DeviceFile", "LaneCount", "Level", "Number", "PortRate", "Price", "Rate", "Source"]

_Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Place = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
_Threads = Annotated[int, msgspec.Meta(ge=0, le=2**20)]


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"place": "from"}):
    """Where numbers were taken from: a document or a file of a repository, when it was read, and the commit where one is known."""

    place: _Place
    read: _Date
    commit: str | None = None

    def origin(self, note: str = "") -> str:
        """One line for a person."""
        text = f"{self.place}{f' at {self.commit}' if self.commit else ''}, read {self.read}"
        return f"{text}: {note}" if note else text


class Number(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One quantity as text with its unit, or a count."""

    value: str | int
    source: _Name
    note: str = ""


class Rate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A best rate of arithmetic; `threads = 0` speaks of the whole device."""

    engine: Engine
    precision: Precision
    rate: str
    source: _Name
    units: Units | None = None
    accumulates: Precision | None = None
    threads: _Threads = 0
    note: str = ""


class Band(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bandwidth of one memory level; a specification gives one for all access mixes."""

    level: _Name
    rate: str
    source: _Name
    threads: _Threads = 0
    note: str = ""


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size of one instance of a memory level, and how many execution units share it."""

    name: _Name
    capacity: str
    source: _Name
    shared_by: _Count | None = None
    line_bytes: _Count = 64
    note: str = ""


class LaneCount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Multiply-adds that one execution unit starts in one clock."""

    precision: Precision
    units: Units
    per_unit: _Count
    source: _Name
    note: str = ""


class Array(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arrays of multiply-accumulators of the whole device."""

    rows: _Count
    columns: _Count
    precision: Precision
    source: _Name
    count: _Count = 1
    note: str = ""


class PortRate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bandwidth of all links of one kind together, in one direction."""

    name: _Name
    rate: str
    source: _Name
    note: str = ""


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A price per hour; `devices` is how many devices it pays for, `date` when the table was read (its commit, where known, fixes the table)."""

    value: str
    currency: Literal["USD"]
    provider: _Name
    date: _Date
    source: _Name
    devices: _Count = 1


class DeviceFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file; what has no source stays absent.

    `known` says how the numbers are known: a specification, or an assumption made for teaching.
    """

    name: _Name
    kind: Literal["cpu", "gpu", "npu"]
    vendor: str = ""
    architecture: str = ""
    known: Literal["spec", "assumed"] = "spec"
    source: dict[str, Source]
    ceiling: list[Rate] = []
    sparse: list[Rate] = []
    bandwidth: list[Band] = []
    level: list[Level] = []
    lanes: list[LaneCount] = []
    mac_array: list[Array] = []
    port: list[PortRate] = []
    execution_units: Number | None = None
    vector_bits: Number | None = None
    registers: Number | None = None
    shared_memory: Number | None = None
    warp: Number | None = None
    max_threads: Number | None = None
    max_groups: Number | None = None
    memory: Number | None = None
    clock: Number | None = None
    base_clock: Number | None = None
    boost_clock: Number | None = None
    power: Number | None = None
    least_cap: Number | None = None
    process: Number | None = None
    price: Price | None = None
    notes: list[str] = []
