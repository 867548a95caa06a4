"""Bytes of trace events to typed structs, many at once.

This module decides which fields of an event are looked at and what a decoder may say of a text. Where a text is cut off and where it is damaged is
told from the decoder's message, which is the only place where it says so. What to do about damage is left to `mending`, what fields mean to
`columns`. Format: Google, Trace Event Format (the public document of 2016); `args` as libkineto and the profilers of TensorFlow and JAX write them.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline import _native

__all__ = [
    "ABSENT", "EMPTY", "NOTHING", "Args", "Ended", "Event", "Fault", "decode_event", "decode_events", "decode_loosely", "end_before_rest",
    "values_of",
]  # fmt: skip

#: A number that is not there: no time and no identifier of a file has it, and a float holds it exactly.
ABSENT = -(2**62)
NOTHING = msgspec.Raw(b"")

Scalar = int | float | str | bool | None


class Args(msgspec.Struct, gc=False, kw_only=True):
    """The arguments that mean something to a timeline; the rest is passed over without being built.

    The order is that in which they are most often written, which is what the decoder is fastest at. Each costs time for every event that has any.
    """

    external_id: Scalar = msgspec.field(name="External id", default=ABSENT)
    device: Scalar = ABSENT
    stream: Scalar = ABSENT
    correlation: Scalar = ABSENT
    occupancy: Scalar = msgspec.field(name="est. achieved occupancy %", default=ABSENT)
    bytes: Scalar = ABSENT
    shapes: msgspec.Raw = msgspec.field(name="Input Dims", default=NOTHING)
    types: msgspec.Raw = msgspec.field(name="Input type", default=NOTHING)
    concrete: msgspec.Raw = msgspec.field(name="Concrete Inputs", default=NOTHING)
    old_external_id: Scalar = msgspec.field(name="external id", default=ABSENT)
    correlation_id: Scalar = ABSENT
    graph: Scalar = msgspec.field(name="graph id", default=ABSENT)
    sync_kind: Scalar = msgspec.field(name="cuda_sync_kind", default=None)
    record: Scalar = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=ABSENT)
    wait_stream: Scalar = msgspec.field(name="wait_on_stream", default=ABSENT)
    sequence: Scalar = msgspec.field(name="seq_num", default=ABSENT)
    name: Scalar = None
    labels: Scalar = None
    size: Scalar = ABSENT


class Id2(msgspec.Struct, gc=False, kw_only=True):
    """An identifier that holds within one process, or everywhere."""

    local: Scalar = None
    everywhere: Scalar = msgspec.field(name="global", default=None)


class Event(msgspec.Struct, gc=False, kw_only=True):
    """One event as the file gives it, `ts` and `dur` in microseconds."""

    ph: Scalar = None
    cat: Scalar = None
    name: Scalar = None
    pid: Scalar = None
    tid: Scalar = None
    ts: int | float | str | None = ABSENT
    dur: int | float | str | None = ABSENT
    args: Args | list[Any] | Scalar = None
    id: Scalar = None
    bp: Scalar = None
    id2: Id2 | None = None
    scope: Scalar = None


EMPTY = Args()
Structs = list[Event] | list[Args]


def values_of(structs: Structs, field: str) -> NDArray[np.int64] | NDArray[np.float64] | list[Any]:
    """A field of many structs of one class: int64, or float64 where some are floats; the values themselves where some are neither."""
    found = _native.column(structs, getattr(type(structs[0]), field)) if structs else None
    return np.frombuffer(*found) if found is not None else [getattr(each, field) for each in structs]


_MANY = msgspec.json.Decoder(list[Event])
_ONE = msgspec.json.Decoder(Event)
_ANY = msgspec.json.Decoder()
_BYTE = re.compile(r"\(byte (\d+)\)")
#: What a decoder may raise over a hostile text.
_FAULTS = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError, MemoryError)


class Fault(Exception):
    """A text that does not decode: `cut` if it ends too early or too late but is sound so far, and the byte that was reached, −1 if not known."""

    def __init__(self, message: str, cut: bool, byte: int) -> None:
        super().__init__(message)
        self.cut = cut
        self.byte = byte


class Ended(Exception):
    """A text in which the array ends before the text does: `byte` is where the rest begins."""

    def __init__(self, byte: int) -> None:
        super().__init__(byte)
        self.byte = byte


def decode_events(text: bytes) -> list[Event]:
    """The events of a JSON array.

    Raises:
        Ended: the array is whole and something follows.
        Fault: cut short or damaged.
    """
    try:
        return _MANY.decode(text)
    except _FAULTS as error:
        end = end_before_rest(text, str(error))
        if end is not None:
            raise Ended(end) from None
        raise _fault(error) from None


def end_before_rest(text: bytes, message: str) -> int | None:
    """Where a document ends behind which a decoder found something else; none if that is not what it found.

    The decoder names the byte behind the first that is too much, spaces in between passed over.
    """
    if "trailing characters" not in message:
        return None
    place = _BYTE.search(message)
    return len(text[: int(place.group(1)) - 1].rstrip(b" \t\r\n")) if place else None


def decode_event(text: bytes) -> Event:
    """One event; raises `Fault`, also where something follows."""
    try:
        return _ONE.decode(text)
    except msgspec.ValidationError:
        return decode_loosely(text)
    except _FAULTS as error:
        raise _fault(error) from None


def decode_loosely(text: bytes) -> Event:
    """One event of which fields of another type than theirs are left out; raises `Fault` where it is no JSON object."""
    try:
        found = _ANY.decode(text)
    except _FAULTS as error:
        raise _fault(error) from None
    if not isinstance(found, dict):
        raise Fault("no object", False, 0)
    fields: dict[str, Any] = {name: found.get(name) for name in ("ph", "cat", "name", "pid", "tid", "id", "bp", "scope") if _scalar(found.get(name))}
    fields |= {name: found[name] for name in ("ts", "dur") if name in found and _time(found[name])}
    args = found.get("args")
    if isinstance(args, dict):
        fields["args"] = Args(**{
            field.name: args[field.encode_name]
            for field in msgspec.structs.fields(Args)
            if field.encode_name in args and field.type is not msgspec.Raw and _scalar(args[field.encode_name])
        })  # fmt: skip
    return Event(**fields)


def _scalar(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, str))


def _time(value: Any) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _fault(error: BaseException) -> Fault:
    message = str(error)
    if isinstance(error, RecursionError):
        message = "nested too deeply"
    place = _BYTE.search(message)
    return Fault(message, "truncated" in message or "trailing characters" in message, int(place.group(1)) if place else -1)
