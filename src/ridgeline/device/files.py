"""Reads a device from a TOML file in which every number names its source.

Decides how the numbers of a file (`form`) become a `Device` and refuses what has a wrong unit or no source with the file and the key;
quantities are texts such as `3.35 TB/s`, so that a person can compare them with the source. What a number *means* is fixed by `core.device`,
whether the numbers agree with each other is judged by `plausible` and said in the device's notes; where files come from is left to `catalogue`.
A specification gives one bandwidth for all access mixes, so that each `[[bandwidth]]` becomes one ceiling per mix.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from ..core import Ceiling, Device, Lanes, MacArray, MemoryLevel, Port, Quantity, ReadError, UsageError
from ..core.device import MEMORY_MIXES
from ..core.units import parse
from .form import DeviceFile, Number, Rate
from .plausible import doubts

__all__ = ["read_device", "shipped"]

# A device file is a page of text; anything much longer is something else.
_MAX_BYTES = 256 * 1024
#: Numbers of a file that are counts or sizes: key, field of `Device`, unit. An int carries no origin, so that each adds a note with it.
_WHOLE = (
    ("execution_units", "execution_units", "count"),
    ("vector_bits", "vector_bits", "count"),
    ("registers", "registers_bytes", "B"),
    ("shared_memory", "shared_memory_bytes", "B"),
    ("warp", "warp_threads", "count"),
    ("max_threads", "max_threads_per_unit", "count"),
    ("max_groups", "max_groups_per_unit", "count"),
    ("memory", "memory_bytes", "B"),
    ("process", "process_nm", "count"),
)
_EXACT = (
    ("clock", "clock_hz", "Hz"),
    ("base_clock", "base_clock_hz", "Hz"),
    ("boost_clock", "boost_clock_hz", "Hz"),
    ("power", "power_w", "W"),
    ("least_cap", "least_cap_w", "W"),
)


class _Reader:
    """One file being turned into a `Device`; knows the file's name for the errors, and gathers the notes on the way."""

    def __init__(self, file: DeviceFile, where: str) -> None:
        self.file = file
        self.where = where
        self.notes = list(file.notes)

    def error(self, key: str, error: str) -> ReadError:
        return ReadError("a device file whose every number has a unit and a source", found=f"{self.where}, {key}: {error}", remedy="mend that key")

    def origin(self, key: str, source: str, note: str = "") -> str:
        if source not in self.file.source:
            raise self.error(f"{key}.source", f"no [source.{source}], there are {sorted(self.file.source)}")
        return self.file.source[source].origin(note)

    def number(self, key: str, text: str | int, unit: str) -> float:
        try:
            value = parse(str(text), unit)
        except UsageError as error:
            raise self.error(key, error.found or str(error)) from error
        if value <= 0:
            raise self.error(key, f"{text!r} is not above zero")
        return value

    def whole(self, key: str, number: Number | None, unit: str) -> int | None:
        if number is None:
            return None
        value = self.number(f"{key}.value", number.value, unit)
        if value != int(value):
            raise self.error(f"{key}.value", f"{number.value!r} is no whole number of {unit}")
        self.notes.append(f"{key}: {self.origin(key, number.source, number.note)}")
        return int(value)

    def exact(self, key: str, text: str | int, unit: str, source: str, note: str = "") -> Quantity:
        value = self.number(key, text, unit)
        return Quantity.exact(value, unit, source=self.file.known, origin=self.origin(key.rpartition(".")[0] or key, source, note))

    def optional(self, key: str, number: Number | None, unit: str) -> Quantity | None:
        return None if number is None else self.exact(f"{key}.value", number.value, unit, number.source, number.note)

    def arithmetic(self, table: str, rates: Iterable[Rate]) -> tuple[Ceiling, ...]:
        found = []
        for index, rate in enumerate(rates):
            key = f"{table}[{index}]"
            if rate.engine in (*MEMORY_MIXES, "latency"):
                raise self.error(f"{key}.engine", f"{rate.engine} is of memory; it goes under [[bandwidth]]")
            unit = "FLOP/s" if rate.engine in ("fma", "add") else "op/s"
            ceiling = Ceiling(
                engine=rate.engine,
                precision=rate.precision,
                threads=rate.threads,
                rate=self.exact(f"{key}.rate", rate.rate, unit, rate.source, rate.note),
                library="spec",
                units=rate.units,
                accumulates=rate.accumulates,
            )
            found.append(ceiling)
        return tuple(found)

    def bandwidths(self) -> tuple[Ceiling, ...]:
        found: list[Ceiling] = []
        for index, band in enumerate(self.file.bandwidth):
            quantity = self.exact(f"bandwidth[{index}].rate", band.rate, "B/s", band.source, band.note)
            found += [
                Ceiling(engine=mix, precision="any", threads=band.threads, rate=quantity, level=band.level, library="spec") for mix in MEMORY_MIXES
            ]
        return tuple(found)

    def levels(self) -> tuple[MemoryLevel, ...]:
        levels = []
        for index, level in enumerate(self.file.level):
            key = f"level[{index}]"
            capacity = int(self.number(f"{key}.capacity", level.capacity, "B"))
            levels.append(MemoryLevel(name=level.name, capacity_bytes=capacity, shared_by=level.shared_by, line_bytes=level.line_bytes))
            self.notes.append(f"levels.{level.name}: {self.origin(key, level.source, level.note)}")
        return tuple(levels)

    def lanes(self) -> tuple[Lanes, ...]:
        for index, lane in enumerate(self.file.lanes):
            self.notes.append(f"lanes.{lane.precision} {lane.units}: {self.origin(f'lanes[{index}]', lane.source, lane.note)}")
        return tuple(Lanes(precision=lane.precision, units=lane.units, per_unit=lane.per_unit) for lane in self.file.lanes)

    def arrays(self) -> tuple[MacArray, ...]:
        for index, one in enumerate(self.file.mac_array):
            self.notes.append(f"mac_array {one.rows} × {one.columns}: {self.origin(f'mac_array[{index}]', one.source, one.note)}")
        return tuple(MacArray(rows=one.rows, columns=one.columns, count=one.count, precision=one.precision) for one in self.file.mac_array)

    def ports(self) -> tuple[Port, ...]:
        rates = enumerate(self.file.port)
        return tuple(Port(name=one.name, bandwidth=self.exact(f"port[{index}].rate", one.rate, "B/s", one.source, one.note)) for index, one in rates)

    def price(self) -> Quantity | None:
        price = self.file.price
        if price is None:
            return None
        whole = self.exact("price.value", price.value, "USD/h", price.source, f"{price.provider}, on demand, {price.date}, for {price.devices}")
        return whole.scaled(1 / price.devices)

    def device(self) -> Device:
        if not self.file.source:
            raise self.error("source", "none given")
        wholes = {field: self.whole(key, getattr(self.file, key), unit) for key, field, unit in _WHOLE}
        exacts = {field: self.optional(key, getattr(self.file, key), unit) for key, field, unit in _EXACT}
        device = Device(
            name=self.file.name,
            kind=self.file.kind,
            vendor=self.file.vendor,
            architecture=self.file.architecture,
            ceilings=(*self.arithmetic("ceiling", self.file.ceiling), *self.bandwidths()),
            sparse=self.arithmetic("sparse", self.file.sparse),
            levels=self.levels(),
            lanes=self.lanes(),
            mac_arrays=self.arrays(),
            ports=self.ports(),
            price_per_hour=self.price(),
            price_date=self.file.price.date if self.file.price else "",
            probed_at=max(source.read for source in self.file.source.values()),
            **wholes,  # type: ignore[arg-type]  # the tables above say which field takes which
            **exacts,  # type: ignore[arg-type]
        )
        return msgspec.structs.replace(device, notes=(*self.notes, *(f"check: {doubt}" for doubt in doubts(device))))


def parse_device(text: str, where: str) -> Device:
    """Build a device from the text of a file; `where` names it in errors (see `read_device`)."""
    try:
        file = msgspec.toml.decode(text, type=DeviceFile)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, ValueError) as error:
        raise ReadError(
            "a device file in TOML", found=f"{where}: {error}", remedy="mend that key; ridgeline devices shows files that are right"
        ) from error
    return _Reader(file, where).device()


def read_device(path: Path) -> Device:
    """Read one device file.

    Args:
        path: a TOML file like those in `ridgeline/device/data`.

    Returns:
        The device; rates in FLOP/s, op/s and B/s, sizes in bytes, each with its origin. Numbers that contradict each other are kept as the
        sources give them, and said in `notes` after `check:`.

    Raises:
        ReadError: not a file, larger than 256 KiB, not UTF-8, not TOML, or a key that does not fit; names file and key.
    """
    try:
        if not path.is_file():  # a pipe would be waited for without end
            raise OSError("not a file" if path.exists() else "no such file")
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ReadError("a readable device file in UTF-8", found=f"{path}: {error}", remedy="give the path of a TOML file") from error
    if len(data) > _MAX_BYTES:
        raise ReadError(f"a device file of at most {_MAX_BYTES} bytes", found=f"{path}: more", remedy="give the path of a TOML file")
    return parse_device(text, path.name)


def shipped() -> tuple[Device, ...]:
    """The devices that come with ridgeline, in order of file name."""
    folder = resources.files(__package__) / "data"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    return tuple(parse_device(entry.read_text(encoding="utf-8"), entry.name) for entry in entries)
