"""pprof: profiles written field by field as the tools do, and what their tables mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.stack_paths import paths
from ridgeline.core import Profile
from ridgeline.readers import read_profile
from ridgeline.readers.pprof import Pprof, _numbers
from ridgeline.readers.testing import ProfileReaderConformance
from ridgeline.readers.wire import varints

_STRINGS = ["", "samples", "count", "cpu", "nanoseconds", "main", "work", "leaf", "app.go", "/bin/app", "thread", "go1.22"]


def _varint(value: int) -> bytes:
    value %= 2**64
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(_varint(value) for value in values))


def _tables(*, default: int = 0) -> bytes:
    """main, work and leaf; location 3 is leaf inlined into work."""
    made = _bytes(1, _number(1, 1) + _number(2, 2)) + _bytes(1, _number(1, 3) + _number(2, 4))
    made += _bytes(3, _number(1, 1) + _number(5, 9))
    for number, name in ((1, 5), (2, 6), (3, 7)):
        made += _bytes(5, _number(1, number) + _number(2, name) + _number(4, 8))
    made += _bytes(4, _number(1, 1) + _number(2, 1) + _number(3, 0x400) + _bytes(4, _number(1, 1) + _number(2, 10)))
    made += _bytes(4, _number(1, 2) + _number(2, 1) + _number(3, 0x500) + _bytes(4, _number(1, 2) + _number(2, 20)))
    made += _bytes(4, _number(1, 3) + _number(2, 1) + _bytes(4, _number(1, 3) + _number(2, 30)) + _bytes(4, _number(1, 2) + _number(2, 21)))
    made += _bytes(4, _number(1, 4) + _number(2, 1) + _number(3, 0xABC))
    made += b"".join(_bytes(6, text.encode()) for text in _STRINGS)
    made += _number(9, 1_600_000_000_000_000_000) + _number(10, 2 * 10**9) + _bytes(11, _number(1, 3) + _number(2, 4)) + _number(12, 10**7)
    return made + _packed(13, [11]) + (_number(14, default) if default else b"")


def _sample(locations: Iterable[int], values: Iterable[int], *, packed: bool = True) -> bytes:
    if packed:
        return _bytes(2, _packed(1, locations) + _packed(2, values) + _bytes(3, _number(1, 10) + _number(3, 7)))
    return _bytes(2, b"".join(_number(1, each) for each in locations) + b"".join(_number(2, each) for each in values))


_EXAMPLE = _sample([2, 1], [3, 30_000_000]) + _tables() + _sample([3, 1], [1, 10_000_000], packed=False) + _sample([4], [2, 20_000_000])


class TestPprof(ProfileReaderConformance):
    def reader(self) -> Pprof:
        return Pprof()

    def examples(self) -> Mapping[str, bytes]:
        return {"profile": _EXAMPLE, "default": _tables(default=1) + _sample([2, 1], [3, 4])}


def _read(folder: Path, data: bytes) -> Profile:
    path = folder / "cpu.prof"
    path.write_bytes(data)
    return read_profile(path)


def test_sample_types_become_stacks_the_last_one_first(tmp_path: Path) -> None:
    profile = _read(tmp_path, _EXAMPLE)
    cpu, samples = profile.stacks
    assert (cpu.measure, cpu.unit, samples.measure, samples.unit) == ("cpu", "s", "samples", "count")
    assert paths(samples) == {("main", "work"): 3, ("main", "work", "leaf"): 1, ("0xabc",): 2}
    assert paths(cpu) == {path: pytest.approx(count / 100) for path, count in paths(samples).items()}
    assert (cpu.interval_s, cpu.at_s) == (0.01, 1.6e9)
    assert profile.facts == {"duration": "2 s", "period": "10000000 nanoseconds of cpu", "labels": "thread (2)"}
    assert profile.tool == "go1.22"


def test_inlined_calls_are_frames_of_their_own(tmp_path: Path) -> None:
    frames = {(frame.function, frame.kind, frame.line, frame.library) for frame in _read(tmp_path, _EXAMPLE).stacks[0].frames}
    assert ("leaf", "inlined", 30, "/bin/app") in frames
    assert ("work", "native", 21, "/bin/app") in frames


def test_the_type_of_choice_comes_first(tmp_path: Path) -> None:
    assert _read(tmp_path, _tables(default=1) + _sample([1], [3, 4])).stacks[0].measure == "samples"


def test_values_that_cannot_be_weights_are_told(tmp_path: Path) -> None:
    profile = _read(tmp_path, _tables() + _sample([1], [5, 6]) + _sample([1], [-2, 1]) + _sample([1], [3]) + _sample([], [1, 1]))
    assert {stacks.measure: float(stacks.own.values.sum()) for stacks in profile.stacks} == {"samples": 5, "cpu": pytest.approx(7e-9)}
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(1, "sample 1"), (1, "sample 2"), (1, "sample 3")]


@given(st.lists(st.tuples(st.lists(st.sampled_from([1, 2]), min_size=1, max_size=5), st.integers(0, 2**40), st.booleans()), min_size=1, max_size=20))
def test_values_of_a_path_add_up(tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[list[int], int, bool]]) -> None:
    data, expected = _tables(), dict[tuple[str, ...], int]()
    for locations, value, packed in samples:
        data += _sample(locations, [1, value], packed=packed)
        path = tuple({1: "main", 2: "work"}[location] for location in reversed(locations))
        expected[path] = expected.get(path, 0) + 1
    stacks = _read(tmp_path_factory.mktemp("pprof"), data).stacks
    assert paths(next(each for each in stacks if each.measure == "samples")) == expected


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_packed_numbers_are_those_of_the_wire(values: list[int]) -> None:
    packed = b"".join(_varint(value) for value in values)
    assert _numbers(packed) == values == varints(packed).tolist()
    assert _numbers(packed * 200) == values * 200
