"""A recording of any size: the events of one trace again and again, each time later and with identifiers of their own, as of a longer run."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

__all__ = ["replicate"]

#: Numbers that tell one repetition from the next: times, and what calls, device work and arrows are matched by.
_NUMBER = re.compile(rb'"(ts|correlation|External id|external id|wait_on_cuda_event_record_corr_id|id)"\s*:\s*(\d+)')
_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')


class _Time(msgspec.Struct):
    ph: str = ""
    ts: float = 0.0
    dur: float = 0.0


class _Trace(msgspec.Struct):
    traceEvents: list[_Time]


def replicate(data: bytes, size: int, out: Path) -> int:
    """Write a trace of at least `size` bytes made of the events of another; returns how many repetitions there are in it.

    Args:
        data: a trace in the form of an object, whose events end the last `]` of the text that follows one.
        size: bytes.
        out: where it is written.
    """
    begin = _KEY.search(data)
    if begin is None:
        raise ValueError("no array of events")
    spans = [each for each in msgspec.json.decode(data, type=_Trace).traceEvents if each.ph == "X"]
    period = int(max(each.ts + each.dur for each in spans) - min(each.ts for each in spans)) + 1000
    start, end = begin.end(), _end(data, begin.end())
    body = data[start:end]
    texts, values, times, reached, largest = [], [], [], 0, 0
    for found in _NUMBER.finditer(body):
        texts.append(body[reached : found.start(2)])
        values.append(int(found.group(2)))
        times.append(found.group(1) == b"ts")
        largest = max(largest, 0 if times[-1] else values[-1] if values[-1] < 2**40 else 0)
        reached = found.end(2)
    repetitions = -(-size // len(body))
    with out.open("wb") as file:
        file.write(data[:start])
        for number in range(repetitions):
            steps = (number * (largest + 1), number * period)
            parts = [b"%b%d" % (text, value + steps[time] if value else 0) for text, value, time in zip(texts, values, times, strict=True)]
            file.write((b"," if number else b"") + b"".join(parts) + body[reached:])
        file.write(data[end:])
    return repetitions


def _end(data: bytes, start: int) -> int:
    """Where the array of events ends that begins at `start`."""
    try:
        msgspec.json.decode(b"[" + data[start:])
    except msgspec.DecodeError as error:
        place = re.search(r"trailing characters \(byte (\d+)\)", str(error))
        if place is None:
            raise
        return start - 1 + len((b"[" + data[start:])[: int(place.group(1)) - 1].rstrip()) - 1
    raise ValueError("an array of events without an object around it")
