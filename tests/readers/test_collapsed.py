"""Collapsed stacks: which lines are stacks, what their numbers are, and what is told by the spelling of a frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.stack_paths import paths
from ridgeline.core import Profile, ReadError
from ridgeline.readers import Limits, read_profile
from ridgeline.readers.collapsed import Collapsed
from ridgeline.readers.testing import ProfileReaderConformance

_NATIVE = b"app;main;work 31\napp;main 6\napp;main;read;sys_read_[k] 1\napp;main;run_[j];inner_[i] 2\n"
_PYTHON = b'process 12:"python app.py";thread (0x7F00);<module> (app.py:9);load (data/load.py:120) 14\n<module> (app.py:9) 3\n'
_DIFFERENCE = b"a;b 3 5\na;c 4 0\n"


class TestCollapsed(ProfileReaderConformance):
    def reader(self) -> Collapsed:
        return Collapsed()

    def examples(self) -> Mapping[str, bytes]:
        return {"native": _NATIVE, "py-spy": _PYTHON, "difference": _DIFFERENCE, "utf-16": _NATIVE.decode().encode("utf-16")}


def _read(folder: Path, data: bytes, limits: Limits | None = None) -> Profile:
    path = folder / "stacks"
    path.write_bytes(data)
    return read_profile(path, format="collapsed", limits=limits)


def test_kinds_come_from_annotations_and_weights_from_the_number(tmp_path: Path) -> None:
    stacks = _read(tmp_path, _NATIVE).stacks[0]
    assert paths(stacks) == {
        ("app", "main", "work"): 31, ("app", "main"): 6, ("app", "main", "read", "sys_read"): 1, ("app", "main", "run", "inner"): 2,
    }  # fmt: skip
    assert {frame.function: frame.kind for frame in stacks.frames if frame.kind} == {"sys_read": "kernel", "run": "runtime", "inner": "inlined"}
    assert (stacks.measure, stacks.unit, stacks.samples) == ("samples", "count", None)


def test_py_spy_is_told_by_its_spelling(tmp_path: Path) -> None:
    profile = _read(tmp_path, _PYTHON)
    assert profile.tool.startswith("py-spy")
    load = next(frame for frame in profile.stacks[0].frames if frame.function == "load")
    assert (load.file, load.line, load.kind) == ("data/load.py", 120, "python")
    assert [frame.kind for frame in profile.stacks[0].frames if frame.function.startswith(("process", "thread"))] == ["process", "process"]


def test_comments_are_skipped_and_other_lines_counted(tmp_path: Path) -> None:
    data = b"# some words of the tool\n// others\na;b;c 1\na;b;c 1\na;b;d 4\na;b;c 3\na;b 5.5\ninvalid line\nx;y 1e999\n"
    profile = _read(tmp_path, data)
    assert paths(profile.stacks[0]) == {("a", "b", "c"): 5, ("a", "b", "d"): 4, ("a", "b"): 5.5}
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(1, "line 8"), (1, "line 9")]


def test_two_numbers_are_before_and_after(tmp_path: Path) -> None:
    before, after = _read(tmp_path, _DIFFERENCE).stacks
    assert (before.measure, after.measure) == ("before", "after")
    assert paths(before) == {("a", "b"): 3, ("a", "c"): 4}
    assert paths(after) == {("a", "b"): 5}


@pytest.mark.parametrize("form", ["windows", "utf-16", "utf-8-sig"])
def test_line_ends_and_encodings_change_nothing(tmp_path: Path, form: str) -> None:
    text = "a;b µ;c 1\na;b µ 5\n"
    data = text.replace("\n", "\r\n").encode() if form == "windows" else text.encode(form)
    assert paths(_read(tmp_path, data).stacks[0]) == {("a", "b µ", "c"): 1, ("a", "b µ"): 5}


def test_limits_refuse_with_a_word(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="at most 3 frames"):
        _read(tmp_path, b"a;b;c;d 1\n", Limits(depth=3))
    with pytest.raises(ReadError, match="at most 10 characters"):
        _read(tmp_path, b"a;" + b"b" * 11 + b" 1\n", Limits(name_characters=10))
    with pytest.raises(ReadError, match="line 1"):
        _read(tmp_path, b"nothing here\n")


_names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=";#/[]()\ufeff"), min_size=1, max_size=8)


@given(st.lists(st.tuples(st.lists(_names, min_size=1, max_size=6), st.integers(0, 10**9)), min_size=1, max_size=30))
def test_the_weights_of_a_path_add_up(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[str], int]]) -> None:
    text = "".join(f"{';'.join(names)} {weight}\n" for names, weight in rows)
    expected: Counter[tuple[str, ...]] = Counter()
    for names, weight in rows:
        expected[tuple(names)] += weight
    found = paths(_read(tmp_path_factory.mktemp("collapsed"), text.encode()).stacks[0])
    assert found == {path: weight for path, weight in expected.items() if weight}
