"""Perfetto's protobuf traces: interned names, tracks, clocks, counters, flows, stages of a GPU, switches between threads."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import pytest

from readers.messages import Value, fixed64, message, varint
from ridgeline.core import EVENT_KINDS, LINK_KINDS, Profile, ReadError
from ridgeline.readers import Limits, read_profile
from ridgeline.readers.perfetto import Perfetto
from ridgeline.readers.testing import ProfileReaderConformance

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
THREAD = message((60, message((1, 100), (4, message((1, 7), (2, 8), (5, "main"))))), (10, 1))
MEMORY = message((60, message((1, 200), (2, "memory"), (8, message((6, "bytes"))))), (10, 1))
QUEUE = message((60, message((1, 300), (2, "COMPUTE GPU [1] QUEUE [2]"))), (10, 1))


def at(time: int, kind: int, *fields: tuple[int, Value], track: int = 100, extra: bytes = b"", **more: int) -> bytes:
    """A packet of one track event."""
    numbers = {"clock": 58, "flags": 13}
    event = message((9, kind), (11, track), *fields) + extra
    return message((8, time), (10, 1), *((numbers[name], value) for name, value in more.items()), (11, event))


def trace(*packets: bytes) -> bytes:
    return message(*((1, packet) for packet in packets))


SLICES = (
    THREAD,
    message((10, 1), (13, 1), (12, message((2, message((1, 5), (2, "load")))))),
    at(1000, BEGIN, (10, 5), flags=2),
    at(1100, BEGIN, (23, "inner")),
    at(1200, END),
    at(1500, END),
    at(1600, INSTANT, (23, "here")),
)
CLOCKS = message(
    (6, message((1, message((1, 6), (2, 1_000_000))), (1, message((1, 3), (2, 400_000))), (1, message((1, 64), (2, 10), (3, 1), (4, 100)))))
) + message((10, 1))


class TestConformance(ProfileReaderConformance):
    def reader(self) -> Perfetto:
        return Perfetto()

    def examples(self) -> Mapping[str, bytes]:
        stage = message((8, 50), (10, 1), (53, message((2, 25), (13, 1), (14, 2))))
        return {"slices": trace(*SLICES), "a stage of a GPU": trace(stage), "packed": trace(message((10, 1), (50, zlib.compress(trace(*SLICES)))))}


def read(tmp_path: Path, *packets: bytes, **more: Limits) -> Profile:
    path = tmp_path / "trace.pftrace"
    path.write_bytes(trace(*packets))
    return read_profile(path, **more)


def events(profile: Profile) -> list[tuple[str, str, str, int, int]]:
    """(lane, kind, name, start, end) in ns."""
    t = profile.timeline
    assert t is not None
    assert t.kind is not None
    rows = zip(t.track.values, t.kind.values, t.name.values, t.start_tick.values.tolist(), t.duration_tick.values.tolist(), strict=True)
    return [(t.tracks[track].name, EVENT_KINDS[kind], t.strings[name], start, start + length) for track, kind, name, start, length in rows]


def test_slices_nest_and_names_are_interned(tmp_path: Path) -> None:
    profile = read(tmp_path, *SLICES)
    assert sorted(events(profile)) == [
        ("process 7 thread 8 (main)", "other", "inner", 1100, 1200),
        ("process 7 thread 8 (main)", "other", "load", 1000, 1500),
    ]
    assert profile.timeline is not None
    assert profile.timeline.marks is not None
    assert profile.timeline.marks.tick.values.tolist() == [1600]


def test_packed_packets_are_the_same(tmp_path: Path) -> None:
    packed = message((10, 1), (50, zlib.compress(trace(*SLICES))))
    assert events(read(tmp_path, packed)) == events(read(tmp_path, *SLICES))
    bomb = message((10, 1), (50, zlib.compress(bytes(2**24))))
    with pytest.raises(ReadError, match="once unpacked"):
        read(tmp_path, bomb, limits=Limits(packing=2))


def test_clocks_are_brought_to_that_of_the_trace(tmp_path: Path) -> None:
    profile = read(
        tmp_path,
        CLOCKS,
        THREAD,
        at(400_500, BEGIN, (23, "monotonic"), clock=3),
        at(1_000_900, END, clock=6),
        at(20, BEGIN, (23, "counts on"), clock=64),  # 20 units of 100 ns after the snapshot
        at(5, END, clock=64),
        at(77, BEGIN, (23, "of nobody's clock"), clock=70),
    )
    assert [event[2:] for event in events(profile)] == [("monotonic", 1_000_500, 1_000_900), ("counts on", 1_002_000, 1_002_500)]
    assert [entry.reason for entry in profile.excluded] == ["events whose clock no snapshot ties to the trace"]


def test_lost_names_open_slices_and_stray_ends_are_counted(tmp_path: Path) -> None:
    profile = read(
        tmp_path, at(1, BEGIN, (10, 5), flags=2), *SLICES, at(1700, END), at(1800, BEGIN, (23, "open")), message((10, 1), (66, message((1, 1))))
    )
    assert {entry.reason: entry.events for entry in profile.excluded} == {
        "packets whose names were lost before the recording began": 1,
        "ends of slices that began before the recording": 1,
        "slices that were never closed": 1,
        "packets that are not read: samples of stacks": 1,
    }
    assert len(events(profile)) == 2


def test_counters_and_flows(tmp_path: Path) -> None:
    first, second = fixed64(47, 9), fixed64(48, 9)
    profile = read(
        tmp_path,
        THREAD,
        MEMORY,
        at(20, COUNTER, (30, -5), track=200),
        at(10, COUNTER, (44, 2.5), track=200),
        at(1, BEGIN, (23, "a"), extra=first),
        at(2, END),
        at(3, BEGIN, (23, "b"), extra=second),
        at(4, END),
    )
    t = profile.timeline
    assert t is not None
    (counter,) = t.counters
    assert (counter.name, counter.tick.values.tolist(), counter.value.values.tolist()) == ("memory (bytes)", [10, 20], [2.5, -5.0])
    assert t.links is not None
    assert t.links.kind is not None
    assert [LINK_KINDS[kind] for kind in t.links.kind.values] == ["flow"]
    assert (t.links.source.values.tolist(), t.links.target.values.tolist()) == ([0], [1])


def test_queues_of_devices_and_stages_of_a_gpu(tmp_path: Path) -> None:
    names = message((10, 1), (13, 1), (12, message((24, message((1, 1), (2, "vertex"))), (24, message((1, 2), (2, "graphics"))))))
    stage = message((8, 50), (10, 1), (53, message((2, 25), (13, 2), (14, 1), (11, 0))))
    profile = read(tmp_path, QUEUE, at(1, BEGIN, (23, "gemm"), track=300), at(9, END, track=300), names, stage)
    assert events(profile) == [("COMPUTE GPU [1] QUEUE [2]", "compute", "gemm", 1, 9), ("GPU 0 graphics", "compute", "vertex", 50, 75)]
    assert profile.timeline is not None
    assert [track.device for track in profile.timeline.tracks] == ["GPU 1", "GPU 0"]


def test_events_of_chrome_within(tmp_path: Path) -> None:
    whole = at(5000, 0, (23, "whole"), (6, message((2, ord("X")), (3, 2))))
    begun, ended = (at(time, 0, (23, "async"), (6, message((2, ord(letter)), (6, 44), (18, 7)))) for time, letter in ((10, "b"), (60, "e")))
    assert sorted(events(read(tmp_path, THREAD, whole, begun, ended))) == [
        ("process 7 asynchronous 44", "other", "async", 10, 60),
        ("process 7 thread 8 (main)", "other", "whole", 5000, 7000),
    ]


def test_switches_between_threads_lie_beside_them(tmp_path: Path) -> None:
    def switch(time: int, thread: int, name: str) -> tuple[int, bytes]:
        return 2, message((1, time), (4, message((5, name), (6, thread))))

    full = message(
        (10, 1), (1, message((1, 3), switch(10, 8, "python"), switch(30, 0, "swapper"), switch(50, 9, "other"), (2, message((1, 60), (7, b"")))))
    )
    times, threads, names = (b"".join(map(varint, values)) for values in ((100, 20), (8, 0), (0, 1)))
    compact = message((10, 1), (1, message((1, 4), (4, message((5, "python"), (5, "swapper"), (1, times), (3, threads), (6, names))))))
    profile = read(tmp_path, full, compact)
    assert events(profile) == [("CPU 3", "annotation", "python", 10, 30), ("CPU 4", "annotation", "python", 100, 120)]
    assert [(entry.reason, entry.events) for entry in profile.excluded] == [("events of the kernel other than switches between threads", 1)]


def test_what_came_before_a_cut_stays_and_the_cut_is_said(tmp_path: Path) -> None:
    path = tmp_path / "cut.pftrace"
    path.write_bytes(trace(*SLICES) + b"\x0a\x7fabc")
    profile = read_profile(path)
    assert len(events(profile)) == 2
    assert "cut-short" in [warning.code for warning in profile.warnings]


def named(time: int, name: str, **more: int) -> bytes:
    return at(time, BEGIN, (23, name), **more)


def test_packets_of_several_writers_lie_in_the_file_in_any_order(tmp_path: Path) -> None:
    packets = [named(1000, "outer"), named(1100, "inner"), at(1200, END), at(1300, END)]
    expected = Counter(events(read(tmp_path, THREAD, *packets)))
    assert {(name, start, end) for _, _, name, start, end in expected} == {("outer", 1000, 1300), ("inner", 1100, 1200)}
    for order in permutations(packets):
        profile = read(tmp_path, THREAD, *order)
        assert Counter(events(profile)) == expected
        assert not profile.excluded


@pytest.mark.parametrize("time", [2**61, 2**62, 2**63, 2**64 - 1])
def test_times_beyond_any_spoil_no_other(tmp_path: Path, time: int) -> None:
    packets = [named(10, "sound"), at(20, END), named(time, "beyond", track=7), at(time, END, track=7), at(time, INSTANT, (23, "mark"))]
    profile = read(tmp_path, THREAD, *packets)
    assert [(name, start, end) for _, _, name, start, end in events(profile)] == [("sound", 10, 20)]
    assert {entry.reason for entry in profile.excluded} == {"times that are missing, or no times", "marks without a time"}
