"""XSpace files: planes, lines and events with their times to the picosecond."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from readers.messages import message
from ridgeline.core import EVENT_KINDS, LINK_KINDS, Profile, ReadError
from ridgeline.readers import Limits, read_profile
from ridgeline.readers.testing import ProfileReaderConformance
from ridgeline.readers.xplane import XPlane

EPOCH = 1_700_000_000_000_000_000


def named(number: int, table: Mapping[int, str]) -> list[tuple[int, bytes]]:
    return [(number, message((1, key), (2, message((1, key), (2, name))))) for key, name in table.items()]


def event(name: int, offset_ps: int, duration_ps: int, *stats: bytes) -> bytes:
    return message((1, name), (2, offset_ps), (3, duration_ps), *((4, stat) for stat in stats))


def line(name: str, start_ns: int, *events: bytes, number: int = 1) -> bytes:
    return message((1, number), (2, name), (3, start_ns), *((4, each) for each in events))


def plane(name: str, names: Mapping[int, str], stats: Mapping[int, str], *lines: bytes) -> bytes:
    return message((2, name), *((3, each) for each in lines), *named(4, names), *named(5, stats))


def space(*planes: bytes) -> bytes:
    return message(*((1, each) for each in planes))


STATS = {1: "correlation_id", 2: "hlo_op", 3: "fusion.1", 4: "memcpy_details", 5: "step_num"}
CALL = message((1, 1), (3, 77))
WORK = message((1, 2), (7, 3))
COPY = message((1, 4), (5, "kind:host_to_device size:4096 dest:0 async:1"))
GPU = plane(
    "/device:GPU:0",
    {1: "fusion_kernel.kd", 2: "MemcpyH2D", 3: "all-reduce.5", 4: "jit_step"},
    STATS,
    line("Stream #2", EPOCH, event(1, 2_000_500, 1_500, CALL, WORK), event(2, 5_000_000, 700, COPY), event(3, 6_000_000, 9)),
    line("XLA Modules", EPOCH, event(4, 2_000_000, 9_000_000), number=2),
)
HOST = plane(
    "/host:CPU",
    {1: "cuLaunchKernel", 2: "$train.py:12 step", 3: "train", 4: "TfrtCpuExecutable::Execute"},
    STATS,
    line("python", EPOCH + 1, event(1, 10, 20, CALL), event(2, 0, 50), event(3, 0, 90, message((1, 5), (4, 6))), event(4, 1, 2), number=9),
)
TPU = plane(
    "/device:TPU:1",
    {1: "fusion.7", 2: "copy-start.2", 3: "12"},
    {},
    line("XLA Ops", 5, event(1, 0, 10), event(2, 10, 5)),
    line("Steps", 5, event(3, 0, 30)),
)


class TestConformance(ProfileReaderConformance):
    def reader(self) -> XPlane:
        return XPlane()

    def examples(self) -> Mapping[str, bytes]:
        return {"GPU and host": space(GPU, HOST), "TPU": space(TPU)}


def read(tmp_path: Path, data: bytes, **more: Limits) -> Profile:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    return read_profile(path, **more)


def events(profile: Profile) -> list[tuple[str, str, str, int, int]]:
    """(lane, kind, name, start in ps, length in ps)."""
    t = profile.timeline
    assert t is not None
    assert t.kind is not None
    assert t.tick_s == 1e-12
    rows = zip(t.track.values, t.kind.values, t.name.values, t.start_tick.values.tolist(), t.duration_tick.values.tolist(), strict=True)
    return [(t.tracks[track].name, EVENT_KINDS[kind], t.strings[name], start, length) for track, kind, name, start, length in rows]


def test_every_event_keeps_its_picoseconds_from_an_epoch(tmp_path: Path) -> None:
    assert events(read(tmp_path, space(GPU, HOST))) == [
        ("GPU 0 Stream #2", "compute", "fusion_kernel", 2_000_500, 1_500),
        ("GPU 0 Stream #2", "copy", "MemcpyH2D", 5_000_000, 700),
        ("GPU 0 Stream #2", "communication", "all-reduce.5", 6_000_000, 9),
        ("GPU 0 XLA Modules", "annotation", "jit_step", 2_000_000, 9_000_000),
        ("python", "runtime", "cuLaunchKernel", 1_010, 20),
        ("python", "python", "train.py:12 step", 1_000, 50),
        ("python", "iteration", "train", 1_000, 90),
        ("python", "other", "TfrtCpuExecutable::Execute", 1_001, 2),
    ]


def test_links_bytes_and_operations(tmp_path: Path) -> None:
    t = read(tmp_path, space(GPU, HOST)).timeline
    assert t is not None
    assert t.links is not None
    assert t.links.kind is not None
    links = zip(t.links.source.values, t.links.target.values, t.links.kind.values, strict=True)
    assert [(source, target, LINK_KINDS[kind]) for source, target, kind in links] == [(4, 0, "launch")]
    assert t.numbers["bytes"].values[:3].tolist() == [-1, 4096, -1]
    assert t.numbers["iteration"].values[6] == 6
    assert t.strings[t.texts["hlo"].values[0]] == "fusion.1"


def test_steps_and_operations_of_a_tpu(tmp_path: Path) -> None:
    profile = read(tmp_path, space(TPU))
    assert [(lane, kind, name) for lane, kind, name, _, _ in events(profile)] == [
        ("TPU 1 XLA Ops", "compute", "fusion.7"),
        ("TPU 1 XLA Ops", "copy", "copy-start.2"),
        ("TPU 1 Steps", "iteration", "12"),
    ]
    assert profile.timeline is not None
    assert [track.role for track in profile.timeline.tracks] == ["queue", "ranges"]


def test_events_that_only_count_are_left_out_and_said(tmp_path: Path) -> None:
    counting = message((1, 1), (5, 12), (3, 400))
    profile = read(tmp_path, space(plane("/device:GPU:0", {1: "k"}, {}, line("Stream #1", 0, event(1, 1, 2), counting))))
    assert len(events(profile)) == 1
    assert [entry.events for entry in profile.excluded] == [1]


def test_limits(tmp_path: Path) -> None:
    long = space(plane("/device:GPU:0", {1: "k" * 500}, {}, line("Stream #1", 0, event(1, 1, 2), event(1, 5, 2))))
    with pytest.raises(ReadError, match="limit on names"):
        read(tmp_path, long, limits=Limits(name_characters=100))
    with pytest.raises(ReadError, match="limit on events"):
        read(tmp_path, long, limits=Limits(events=1))
    with pytest.raises(ReadError, match="none in 1 planes"):
        read(tmp_path, space(plane("/host:CPU", {}, {})))
