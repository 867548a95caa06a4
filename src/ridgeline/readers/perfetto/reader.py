"""`Perfetto`: protobuf traces of Perfetto (and of tools that write them: Chrome, Android, rocprofv3, tracing SDKs).

This module decides which packets are read: slices, instants and counters of tracks with interned names, descriptors of tracks, snapshots of clocks,
stages of a GPU, which thread ran on which CPU, and packed packets. All others are counted by field number and left out: they hold no slices
(statistics of memory and files, logs, samples of stacks, events of the kernel other than switches). No real file was at hand; field numbers are those
of the published schema.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice

from ridgeline.core import Caution, Profile

from ..delimited import unverified
from ..source import Source
from ..wire import WireError, fields
from . import messages
from .packets import Reading

__all__ = ["Perfetto"]

_MARK = bytes.fromhex("82477a76b28d42ba81dc33326d57a079")
#: Fields that every writer of packets sets, or that only a packet has.
_TELLING = {8: 0, 10: 0, 58: 0, 87: 0, 11: 2, 60: 2, 6: 2, 33: 2, 35: 2, 45: 2, 36: 2, 89: 2}


class Perfetto:
    """Reads Perfetto's protobuf traces."""

    format = "perfetto"
    title = "Perfetto protobuf trace"

    def recognises(self, source: Source) -> int:
        """By the fields of its first packets."""
        head = source.head
        if head[:1] != b"\x0a":
            return 0
        if _MARK in head:
            return 97
        found: Counter[int] = Counter()
        try:
            for packet in islice(messages.packets(memoryview(head)), 20):
                kinds = {number: wire for number, wire, _ in fields(packet)}
                found[all(_TELLING.get(number, wire) == wire for number, wire in kinds.items()) and bool(kinds.keys() & _TELLING.keys())] += 1
        except WireError:
            pass  # the head ends within a packet
        return 85 if found[True] >= 1 and not found[False] else 0

    def read(self, source: Source) -> Profile:
        """All packets; of a file that is cut short those before the cut.

        Raises:
            ReadError: damaged from the start, or nothing in it that is read.
        """
        reading = Reading(source)
        warnings: tuple[Caution, ...] = ()
        try:
            for packet in messages.packets(memoryview(source.data)):
                one = messages.packet(bytes(packet))
                inner = messages.compressed(one, min(source.limits.whole_bytes, len(packet) * source.limits.packing + 2**20))
                for each in messages.packets(memoryview(inner)) if inner is not None else ():
                    reading.take(messages.packet(bytes(each)))
                if inner is None:
                    reading.take(one)
        except WireError as error:
            if not reading.packets:
                raise source.damaged("a whole trace of Perfetto", str(error), "record it again") from error
            message = f"{source.name} cannot be read beyond packet {reading.packets}: {error}"
            warnings = (Caution(code="cut-short", message=message, effect="what came after that is in no figure"),)
        timeline, excluded = reading.close()
        if timeline is None:
            raise source.damaged("slices, stages of a GPU or counters", f"none in {reading.packets} packets", "record track events")
        return Profile(
            format=self.format,
            files=(source.name,),
            tool="Perfetto",
            resolution_s=1e-9,
            timeline=timeline,
            facts=reading.facts,
            excluded=excluded,
            warnings=(unverified("a protobuf trace of Perfetto"), *warnings),
        )
