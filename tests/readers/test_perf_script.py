"""perf script: field sets, frames, weights and damage, on text written the way perf writes it."""

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
from ridgeline.readers.perf_header import Header, header_of
from ridgeline.readers.perf_script import PerfScript
from ridgeline.readers.testing import ProfileReaderConformance

_STACK = "\tffffffff813741c2 do_read+0x32 ([kernel.kallsyms])\n\t           3c11f read+0xbf (/usr/lib/libc.so.6)\n\t            6f3 main (/bin/app)\n"
_PERIODS = f"app  6550  1776.127882:    5000000 cpu-clock: \n{_STACK}\napp  6550  1776.132882:    5000000 cpu-clock: \n{_STACK}\n"
_HEADED = (
    "# ========\n# captured on: Wed Aug 15 16:01:24 2018\n# hostname : box\n# perf version : 6.1.2\n# ========\n#\n"
    f"V8 Worker 12/14 [001] 203265.377019: cycles: \n{_STACK}\n"
    f"V8 Worker 12/15 [002] 203265.378019: instructions: \n\t             993 main (/bin/app)\n\n"
)
_LINES = "app 10 1.5: 7 cycles:  ffffffff8104f45a native_write_msr ([kernel.kallsyms])\napp 10 1.6: 3 cycles:            4012 main (/bin/app)\n"


class TestPerfScript(ProfileReaderConformance):
    def reader(self) -> PerfScript:
        return PerfScript()

    def examples(self) -> Mapping[str, bytes]:
        return {"periods": _PERIODS.encode(), "headed": _HEADED.encode(), "single lines": _LINES.encode()}


def _read(folder: Path, text: str, limits: Limits | None = None) -> Profile:
    path = folder / "perf.txt"
    path.write_text(text, encoding="utf-8")
    return read_profile(path, format="perf-script", limits=limits)


def test_periods_of_a_clock_are_seconds(tmp_path: Path) -> None:
    profile = _read(tmp_path, _PERIODS)
    (stacks,) = profile.stacks
    assert paths(stacks) == {("app", "main", "read", "do_read"): pytest.approx(0.01)}
    assert (stacks.measure, stacks.unit, stacks.samples, stacks.at_s, stacks.interval_s) == ("cpu-clock", "s", 2, 1776.127882, 0.005)
    assert {(frame.function, frame.kind, frame.library) for frame in stacks.frames} == {
        ("app", "process", ""), ("main", "native", "/bin/app"), ("read", "native", "/usr/lib/libc.so.6"), ("do_read", "kernel", "[kernel.kallsyms]"),
    }  # fmt: skip
    assert not profile.excluded
    assert not profile.warnings


def test_each_event_has_its_own_stacks_and_comments_become_facts(tmp_path: Path) -> None:
    profile = _read(tmp_path, _HEADED)
    assert [(stacks.measure, stacks.unit, paths(stacks)) for stacks in profile.stacks] == [
        ("samples of cycles", "count", {("V8 Worker", "main", "read", "do_read"): 1}),
        ("samples of instructions", "count", {("V8 Worker", "main"): 1}),
    ]
    assert profile.tool == "perf 6.1.2"
    assert profile.facts["hostname"] == "box"
    assert profile.facts["threads"] == "2"


def test_samples_of_one_line(tmp_path: Path) -> None:
    (stacks,) = _read(tmp_path, _LINES).stacks
    assert stacks.unit == "cycle"
    assert paths(stacks) == {("app", "native_write_msr"): 7, ("app", "main"): 3}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dd 29776 666709.771979:   10101010 cpu-clock: ", Header("dd", "29776", "666709.771979", "10101010", "cpu-clock")),
        ("iperf 27409/28744 [000] 441995.133575: cpu-clock: ", Header("iperf", "27409/28744", "441995.133575", "", "cpu-clock")),
        ("a b 1 2 3/4 [7] 1.000000001: 5 cpu_core/cycles/u:", Header("a b 1 2", "3/4", "1.000000001", "5", "cpu_core/cycles/u")),
        ("        :-1 -1 [003] 5.25: cycles:ppp: ", Header(":-1", "-1", "5.25", "", "cycles:ppp")),
        (
            "bash 12 [000] d..2. 1.5: sched:sched_switch: prev_comm=bash next=x",
            Header("bash", "12", "1.5", "", "sched:sched_switch", "prev_comm=bash next=x"),
        ),
    ],
)
def test_headers_of_several_field_sets(line: str, expected: Header) -> None:
    assert header_of(line) == expected


def test_unusual_frames(tmp_path: Path) -> None:
    text = (
        "node 1/2 [000] 5.000001: 3 cycles: \n"
        "\t    7f26cab4c0b0 inner (inlined)\n"
        "\t    7f26cab4c0b0 operator()(int) (/lib/a.so (deleted))\n"
        "\t    7f08b5783b58 LazyCompile:*run app.js:3 (/tmp/perf-10939.map)\n"
        "\t    7f08b5783b59 py::load:/app/main.py (/tmp/perf-10939.map)\n"
        "\t     6ce258d4c55 [unknown] ([unknown])\n"
        "\tffffffffad14d115 [unknown] ([unknown])\n\n"
        "node 1/2 [000] 5.000002: 4 cycles: \n\n"
    )
    (stacks,) = _read(tmp_path, text).stacks
    assert {(frame.function, frame.kind, frame.library, frame.file) for frame in stacks.frames} == {
        ("node", "process", "", None), ("inner", "inlined", "", None), ("operator()(int)", "native", "/lib/a.so", None),
        ("LazyCompile:*run app.js:3", "runtime", "/tmp/perf-10939.map", None), ("load", "python", "", "/app/main.py"),
        ("[unknown]", "", "", None), ("[unknown]", "kernel", "", None),
    }  # fmt: skip
    # A sample without a stack is one of its process all the same.
    assert float(stacks.own.values[0]) == 4
    assert float(stacks.own.values.sum()) == 7


def test_field_sets_without_time(tmp_path: Path) -> None:
    text = "my app\n\t  6f3 main\n\nmy app\n\t  6f3 main\n\t  700 start\n\nother\n\t  6f3 main\n\n"
    (stacks,) = _read(tmp_path, text).stacks
    assert paths(stacks) == {("my app", "main"): 1, ("my app", "start", "main"): 1, ("other", "main"): 1}


def test_source_lines_belong_to_the_frame_above(tmp_path: Path) -> None:
    text = "app 1 1.5: 1 cycles: \n\t 6f3 work (/bin/app)\n  app.c:12\n\t 700 main (/bin/app)\n  app.c:40\n\n"
    (stacks,) = _read(tmp_path, text).stacks
    assert {(frame.function, frame.file, frame.line) for frame in stacks.frames if frame.file} == {("main", "app.c", 40), ("work", "app.c", 12)}


def test_a_cut_end_is_told(tmp_path: Path) -> None:
    whole = _read(tmp_path, _PERIODS)
    within = _read(tmp_path, _PERIODS[: _PERIODS.rindex("main")])
    assert [(entry.reason[:7], entry.events) for entry in within.excluded] == [("samples", 1)]
    assert float(within.stacks[0].own.values.sum()) == pytest.approx(float(whole.stacks[0].own.values.sum()) / 2)
    # At the end of a line nobody can tell whether frames are missing.
    other = "app  6551  1776.2:    5000000 cpu-clock: \n\t 1 other (/bin/app)\n"
    assert [caution.code for caution in _read(tmp_path, _PERIODS + other).warnings] == ["cut-short"]


def test_frames_without_a_header_are_not_counted(tmp_path: Path) -> None:
    profile = _read(tmp_path, _PERIODS + _STACK + "\n" + _PERIODS)
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(3, "line 11")]
    assert profile.stacks[0].samples == 4


def test_hostile_lines_are_refused_or_left_out_quickly(tmp_path: Path) -> None:
    blank = "a" + " " * 200_000 + "\n" + _PERIODS
    assert _read(tmp_path, blank).stacks[0].samples == 2
    deep = "app 1 1.5: 1 cycles: \n" + "\t 6f3 f (/bin/app)\n" * 50 + "\n"
    with pytest.raises(ReadError, match="at most 20 frames"):
        _read(tmp_path, deep, Limits(depth=20))
    with pytest.raises(ReadError, match="names of at most"):
        _read(tmp_path, f"app 1 1.5: 1 cycles: \n\t 6f3 {'x' * 100_000} (/bin/app)\n\n")


_symbol = st.from_regex(r"[a-z_]{1,6}", fullmatch=True)


@given(st.lists(st.tuples(_symbol, st.lists(_symbol, min_size=1, max_size=6), st.integers(1, 10**12)), min_size=1, max_size=20))
def test_periods_of_a_path_add_up(tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[str, list[str], int]]) -> None:
    text = ""
    expected: Counter[tuple[str, ...]] = Counter()
    for number, (command, names, period) in enumerate(samples):
        text += f"{command} {number + 1} 1.{number:06d}: {period} cycles: \n"
        text += "".join(f"\t{100 + index:x} {name} (/bin/app)\n" for index, name in enumerate(reversed(names))) + "\n"
        expected[(command, *names)] += period
    (stacks,) = _read(tmp_path_factory.mktemp("perf"), text).stacks
    assert paths(stacks) == dict(expected)
