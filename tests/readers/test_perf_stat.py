"""`perf stat`: every form of its output, whatever the locale, and what was not counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import Counters, Profile, ReadError
from ridgeline.readers import Source, read_profile
from ridgeline.readers.perf_stat import PerfStat
from ridgeline.readers.perf_stat.numbers import decimal_mark, number
from ridgeline.readers.testing import ProfileReaderConformance

TEXT = """# started on Sun Nov 29 11:46:22 2026

 Performance counter stats for 'python3 w.py' (4 runs):

          1,300.43 msec task-clock                       #    0.626 CPUs utilized            ( +-  6.18% )
   <not supported>      instructions
        12,345,678      cycles:u                         #    1.126 GHz                      ( +-  0.50% )  (62.50%)
             9,351      page-faults                      #   31.126 K/sec
                                                  #      0.85  stalled cycles per insn
             21.50 Joules power/energy-pkg/

           0.10281 +- 0.00131 seconds time elapsed  ( +-  1.27% )

       0.282051000 seconds user
       0.020897000 seconds sys

"""
FIELDS = """# started on Sun Nov 29 11:46:19 2026

289.73,msec,task-clock,289730214,100.00,0.424,CPUs utilized
<not supported>,,cycles,0,100.00,,
500,,cpu/event=0x3c,umask=0x1/,289730214,40.00,,
9355,,page-faults,289730214,100.00,32.289,K/sec
"""
INTERVALS = """#           time             counts unit events
     0.500000000               0.74 msec task-clock                       #    0.015 CPUs utilized
     0.500000000                100      page-faults
     1.000000000      <not counted> msec task-clock
     1.000000000                300      page-faults
"""
LINES = """{"counter-value" : "284.887649", "unit" : "msec", "event" : "task-clock", "event-runtime" : 284887649, "pcnt-running" : 100.00}
{"counter-value" : "<not counted>", "unit" : "", "event" : "branches", "event-runtime" : 0, "pcnt-running" : 0.00, "metric-value" : nan}
{"counter-value" : "9367.000000", "unit" : "", "event" : "page-faults", "event-runtime" : 284887649, "pcnt-running" : 25.00, "metric-value" : 32.8}
"""


def read(text: str, tmp_path: Path) -> Profile:
    path = tmp_path / "counts"
    path.write_text(text)
    return PerfStat().read(Source(path))


def counted(found: Profile) -> dict[str, tuple[float, float]]:
    counters = found.counters
    assert counters is not None
    return dict(zip(counters.names, zip(counters.counts.values.tolist(), counters.counted_fraction.values.tolist(), strict=True), strict=True))


class TestConformance(ProfileReaderConformance):
    def reader(self) -> PerfStat:
        return PerfStat()

    def examples(self) -> Mapping[str, bytes]:
        return {"text": TEXT.encode(), "fields": FIELDS.encode(), "intervals": INTERVALS.encode(), "lines": LINES.encode()}


def test_text(tmp_path: Path) -> None:
    found = read(TEXT, tmp_path)
    assert counted(found) == {
        "task-clock": (pytest.approx(1.30043), 1.0), "cycles:u": (12345678.0, 0.625), "page-faults": (9351.0, 1.0), "power/energy-pkg/": (21.5, 1.0),
    }  # fmt: skip
    counters = found.counters
    assert isinstance(counters, Counters)
    assert counters.units == ("s", "count", "count", "J")
    assert counters.deviation is not None
    assert counters.deviation.values.tolist() == pytest.approx([0.0618, 0.005, 0.0, 0.0])
    assert [(entry.reason, entry.events, entry.first) for entry in found.excluded] == [("not supported here: instructions", 1, "line 6")]
    assert [warning.code for warning in found.warnings] == ["multiplexed"]
    assert (found.facts["command"], found.facts["runs"], found.facts["cycles:u: GHz"]) == ("python3 w.py", "4", "1.126")


def test_times_of_the_command(tmp_path: Path) -> None:
    """The error that perf prints is of the mean: the deviation of one run is √runs times that."""
    table = read(TEXT, tmp_path).tables[0]
    assert (table.wall_s, table.iterations) == (0.10281, 4)
    assert table.wall_deviation_s == pytest.approx(0.00131 * 2)
    assert {row.name: row.total_s for row in table.rows} == {"user": 0.282051, "sys": 0.020897}


def test_fields_with_a_comma_within_an_event(tmp_path: Path) -> None:
    found = read(FIELDS, tmp_path)
    assert counted(found) == {
        "task-clock": (pytest.approx(0.28973), 1.0), "cpu/event=0x3c,umask=0x1/": (500.0, 0.4), "page-faults": (9355.0, 1.0),
    }  # fmt: skip


@pytest.mark.parametrize("separator", [";", "\t", "|", "@", ":"])
def test_any_separator(separator: str, tmp_path: Path) -> None:
    text = "\n".join(line if "umask" in line else line.replace(",", separator) for line in FIELDS.splitlines() if "umask" not in line)
    assert counted(read(text, tmp_path)) == {"task-clock": (pytest.approx(0.28973), 1.0), "page-faults": (9355.0, 1.0)}


def test_lines_of_json_with_a_nan(tmp_path: Path) -> None:
    found = read(LINES, tmp_path)
    assert counted(found) == {"task-clock": (pytest.approx(0.284887649), 1.0), "page-faults": (9367.0, 0.25)}
    assert [(entry.reason, entry.first) for entry in found.excluded] == [("not counted: branches", "line 2")]


def test_intervals_add_up_and_are_rates_over_time(tmp_path: Path) -> None:
    found = read(INTERVALS, tmp_path)
    assert counted(found)["page-faults"] == (400.0, 1.0)
    assert found.timeline is not None
    track = next(track for track in found.timeline.counters if track.name == "page-faults, per second")
    assert (track.tick.values.tolist(), track.value.values.tolist()) == ([0, 500_000_000], [200.0, 600.0])
    clock = next(track for track in found.timeline.counters if track.name == "task-clock, s per second")
    assert clock.value.values.tolist() == pytest.approx([0.00148])
    assert found.excluded[0].reason == "not counted: task-clock"


def test_a_summary_is_not_added_to_its_intervals(tmp_path: Path) -> None:
    lines = [f"     {at}.000000000,{count},,page-faults,1000000,100.00,," for at, count in ((1, 100), (2, 300))]
    found = read("\n".join([*lines, "         summary,400,,page-faults,2000000,100.00,,"]), tmp_path)
    assert counted(found) == {"page-faults": (400.0, 1.0)}
    assert [(entry.events, entry.first) for entry in found.excluded] == [(2, "line 1")]


def test_the_fraction_of_intervals_is_weighed_by_their_length(tmp_path: Path) -> None:
    """Counted for 1 ms of 1 ms and for 1 ms of 4 ms: 2 of 5."""
    lines = ["     1.000000000;7;;cycles;1000000;100.00;;", "     2.000000000;7;;cycles;1000000;25.00;;"]
    assert counted(read("\n".join(lines), tmp_path)) == {"cycles": (14.0, pytest.approx(0.4))}


_TITLE = " Performance counter stats for 'system wide':\n\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("CPU0,103.57,msec,cpu-clock,103573720,100.00,1.000,CPUs utilized\nCPU1,49,,cycles,1035,100.00,4,/sec\n", "cpu-clock [CPU0],cycles [CPU1]"),
        ("S0,2,202.92,msec,cpu-clock,202925944,100.00,2.000,CPUs utilized\nS1,2,59,,cycles,202926480,100.00,2,/sec\n", "cpu-clock [S0],cycles [S1]"),
        ("bash-28933,59,,cycles,202926480,100.00,,\nls-3,1,,cycles,202926480,100.00,,\n", "cycles [bash-28933],cycles [ls-3]"),
        ("     0.05;CPU0;54;;cycles;54821838;100.00;;\n     0.05;CPU1;50;;cycles;50363380;100.00;;\n", "cycles [CPU0],cycles [CPU1]"),
        ('{"cpu" : "0", "counter-value" : "1.5", "unit" : "", "event" : "cycles"}\n', "cycles [CPU0]"),
        ('{"core" : "S0-D0-C1", "aggregate-number" : 1, "counter-value" : "1.5", "unit" : "", "event" : "cycles"}\n', "cycles [S0-D0-C1]"),
        (_TITLE + "S0-D0-C0           1             101.77 msec cpu-clock      #    1.000 CPUs utilized\n", "cpu-clock [S0-D0-C0]"),
        (_TITLE + "CPU1                       31      cycles      #  298.619 /sec\n", "cycles [CPU1]"),
    ],
)
def test_aggregates(text: str, names: str, tmp_path: Path) -> None:
    assert ",".join(counted(read(text, tmp_path))) == names


def test_deviations_of_repeated_runs_stand_before_or_after_the_running_time(tmp_path: Path) -> None:
    for line in ("1.17,msec,cpu-clock,4.07%,1180375,100.00,0.011,CPUs utilized", "1.17,msec,cpu-clock,1180375,100.00,4.07%,0.011,CPUs utilized"):
        counters = read(f"{line}\n75,,page-faults,0.00%,1180375,80.00,65.263,K/sec\n", tmp_path).counters
        assert counters is not None
        assert counters.deviation is not None
        assert counters.deviation.values.tolist() == pytest.approx([0.0407, 0.0])
        assert counters.counted_fraction.values.tolist() == [1.0, 0.8]


def test_kinds_of_cores_are_scaled_apart(tmp_path: Path) -> None:
    text = "100,,cpu_core/cycles/,600,60.00,,\n50,,cpu_atom/cycles/,400,40.00,,\n"
    found = read(text, tmp_path)
    assert counted(found) == {"cpu_core/cycles/": (100.0, 0.6), "cpu_atom/cycles/": (50.0, 0.4)}
    assert [warning.code for warning in found.warnings] == ["hybrid-scaled"]


@pytest.mark.parametrize(
    ("thousands", "mark"),
    [(",", "."), (".", ","), ("\u202f", ","), ("\u00a0", ","), ("'", "."), (" ", ",")],
    ids=["en", "de", "fr", "nbsp", "ch", "blank"],
)
def test_locales(thousands: str, mark: str, tmp_path: Path) -> None:
    table = str.maketrans({",": thousands, ".": mark})
    lines = [line.translate(table) if line[:1] == " " and "stats for" not in line else line for line in TEXT.splitlines()]
    assert counted(read("\n".join(lines), tmp_path)) == counted(read(TEXT, tmp_path))


@given(st.integers(0, 10**15), st.sampled_from([(",", "."), (".", ","), ("\u202f", ","), ("'", ".")]), st.integers(0, 99))
def test_a_number_comes_back_from_any_locale(whole: int, locale: tuple[str, str], hundredths: int) -> None:
    thousands, mark = locale
    text = f"{whole:,}".replace(",", thousands) + f"{mark}{hundredths:02d}"
    assert number(text, mark) == pytest.approx(whole + hundredths / 100, rel=1e-15)


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "", "-", "1_000", "0x10", "٣"])
def test_what_is_no_number(text: str) -> None:
    assert number(text) is None or math.isfinite(number(text) or 0.0)
    assert number(text) is None


def test_the_decimal_mark_of_a_file() -> None:
    assert decimal_mark(["  0,479729307 seconds time elapsed"]) == ","
    assert decimal_mark(["1.234;;cycles;100;100,00;;"]) == ","
    assert decimal_mark(["1,234 cycles"]) == "."


def test_nothing_that_was_counted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="none of them counted"):
        read("<not supported>,,cycles,0,100.00,,\n", tmp_path)


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    found = read(TEXT.replace("9,351      page-faults", "9,351 x y z  page-faults"), tmp_path)
    assert [(entry.reason, entry.first) for entry in found.excluded][1:] == [("a line that could not be read", "line 8")]


def test_an_event_that_stands_twice_is_told_twice(tmp_path: Path) -> None:
    assert counted(read("1,,cycles,600,100.00,,\n2,,cycles,400,100.00,,\n", tmp_path)) == {"cycles": (1.0, 1.0), "cycles (2)": (2.0, 1.0)}


def test_it_is_told_from_its_contents(tmp_path: Path) -> None:
    for name, text in (("a.csv", FIELDS), ("b.json", LINES), ("c.trace", TEXT), ("d", INTERVALS)):
        (tmp_path / name).write_text(text)
        assert read_profile(tmp_path / name).format == "perf-stat"


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("1,234,567", ".", 1234567.0), ("1.234.567", ",", 1234567.0), ("12,34,567", ".", 1234567.0), ("1\u202f234,5", ",", 1234.5),
        # Two decimal marks, groups that are none, and groups behind the mark: written under another locale than the rest of the file.
        ("1,234,567", ",", None), ("1.234.567", ".", None), ("12,50", ".", None), ("0.123,456", ".", None), ("1,2345", ".", None),
    ],
)  # fmt: skip
def test_a_number_of_another_locale_is_none(text: str, mark: str, value: float | None) -> None:
    assert number(text, mark) == value


def test_counts_that_are_none_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "stat"
    path.write_text("nan;;cycles;1000000;50.00;;\n-5;;instructions;100;100.00;;\n1e400;;branches;1;100.00;;\n7;;faults;1;100.00;;\n")
    profile = read_profile(path)
    assert profile.counters is not None
    assert dict(zip(profile.counters.names, profile.counters.counts.values.tolist(), strict=True)) == {"faults": 7.0}
    assert [(entry.reason, entry.events, entry.first) for entry in profile.excluded] == [("a line that could not be read", 3, "line 1")]
