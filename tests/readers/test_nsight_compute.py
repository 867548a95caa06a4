"""Nsight Compute's CSV: pages, locales, units, what is left out, and figures by two ways."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Profile, ReadError
from ridgeline.readers import Limits, read_profile
from ridgeline.readers.nsight_compute import NsightCompute
from ridgeline.readers.nsight_compute.scales import scale
from ridgeline.readers.testing import ProfileReaderConformance

_IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")
_LONG = (*_IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
_PREAMBLE = "==PROF== Connected to process 7 (/home/me/app)\nn, result\n3, 4\n==PROF== Disconnected from process 7\n"


def _launch(number: int = 0, name: str = "void k<(int)4>(float *, int)") -> tuple[str, ...]:
    return (str(number), "7", "app", "127.0.0.1", name, "1", "7", "(256, 1, 1)", "(1024, 2, 1)", "0", "8.6")


def _table(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _details(*metrics: tuple[str, str, str], section: str = "Command line profiler metrics", number: int = 0) -> list[tuple[str, ...]]:
    return [(*_launch(number), section, *metric) for metric in metrics]


def _raw(columns: Sequence[tuple[str, str]], *values: Sequence[str]) -> str:
    header = (*_IDENTITY, *(name for name, _ in columns))
    units = ("",) * len(_IDENTITY) + tuple(unit for _, unit in columns)
    return _table([header, units, *((*_launch(place), *row) for place, row in enumerate(values))])


def _read(tmp_path: Path, text: str | bytes) -> Profile:
    path = tmp_path / "profile.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_profile(path)


def _raw_of(profile: Profile) -> dict[str, float]:
    assert profile.kernels is not None
    return profile.kernels.kernels[0].raw


DETAILS = _PREAMBLE + _table(
    [
        _LONG,
        *_details(
            ("gpu__time_duration.sum", "ns", "9,589,248"),
            ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "97.32"),
            ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", "1,342,177,280"),
            ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "", "536,870,912"),
            ("dram__bytes_read.sum", "byte", "54,207,744"),
            ("dram__bytes_write.sum", "byte", "26,601,216"),
        ),
    ]
)
SECTIONS = _table(
    [
        (*_LONG, "Rule Name", "Rule Type", "Rule Description"),
        *(
            (*row, "", "", "")
            for row in _details(("Memory Throughput", "%", "61.50"), ("Duration", "usecond", "1,205.00"), section="GPU Speed Of Light")
        ),
        *((*row, "", "", "") for row in _details(("Memory Throughput", "Gbyte/second", "424.12"), section="Memory Workload Analysis")),
        *((*row, "", "", "") for row in _details(("Registers Per Thread", "register/thread", "32"), ("Theoretical Occupancy", "%", "50"))),
        *((*row, "", "", "") for row in _details(("Function Cache Configuration", "", "CachePreferNone"), ("Branch Efficiency", "%", "n/a"))),
        (*_launch(), "GPU Speed Of Light", "", "", "", "SOLBottleneck", "OPT", 'Memory is "busy":\nlook at it.'),
    ]
)
RAW = _raw(
    [("dram__bytes.sum", "Mbyte"), ("gpu__time_duration.sum", "msecond"), ("smsp__inst_executed.sum", "inst"), ("lts__t_sector_hit_rate.pct", "%")],
    ["1.50", "2.00", "1,048,576", "33.26"],
    ["3.00", "4.00", "2,097,152", "100.39"],
)
SUMMARY = _table(
    [
        ("Process ID", "Kernel Name", "Device", "CC", "Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"),
        ("1", "saxpy(int)", "0", "11.0", "14", "Occupancy", "Achieved Occupancy", "%", "73.56", "79.38", "74.92"),
        ("1", "saxpy(int)", "0", "11.0", "14", "SpeedOfLight", "Duration", "us", "1.00", "3.00", "2.00"),
    ]
)  # fmt: skip


class TestConformance(ProfileReaderConformance):
    def reader(self) -> NsightCompute:
        return NsightCompute()

    def examples(self) -> Mapping[str, bytes]:
        return {"details": DETAILS.encode(), "sections": SECTIONS.encode(), "raw": RAW.encode(), "summary": SUMMARY.encode()}


def test_details_after_a_preamble_with_a_byte_order_mark(tmp_path: Path) -> None:
    profile = _read(tmp_path, b"\xef\xbb\xbf" + DETAILS.replace("\n", "\r\n").encode())
    assert profile.kernels is not None
    assert profile.kernels.replayed
    assert profile.timeline is None
    (kernel,) = profile.kernels.kernels
    assert kernel.duration_s == 0.009589248
    assert (kernel.block, kernel.grid, kernel.device, kernel.stream, kernel.index) == ((256, 1, 1), (1024, 2, 1), "GPU 0", "7", 0)
    assert kernel.name == "void k<(int)4>(float *, int)"
    assert kernel.figures["sectors_per_request"] == 2.5
    assert kernel.figures["compute_share"] == pytest.approx(0.9732, rel=1e-12)
    assert kernel.figures["dram_byte_per_s"] == pytest.approx((54207744 + 26601216) / 9.589248e-3, rel=1e-12)
    assert {caution.code for caution in profile.warnings} == {"replayed"}


def test_metrics_of_one_name_and_two_units_are_kept_apart(tmp_path: Path) -> None:
    profile = _read(tmp_path, SECTIONS)
    raw = _raw_of(profile)
    assert raw["Memory Throughput [1]"] == pytest.approx(0.615)
    assert raw["Memory Throughput [B/s]"] == pytest.approx(424.12e9)
    assert profile.kernels is not None
    figures = profile.kernels.kernels[0].figures
    assert figures["memory_share"] == pytest.approx(0.615)
    assert figures["dram_byte_per_s"] == pytest.approx(424.12e9)
    assert figures["registers_per_thread"] == 32
    assert figures["occupancy_limit"] == 0.5
    assert profile.kernels.kernels[0].duration_s == pytest.approx(1.205e-3)
    assert profile.facts["Function Cache Configuration"] == "CachePreferNone"
    left_out = {entry.reason.split(",")[0].split(" (")[0]: entry.events for entry in profile.excluded}
    assert left_out == {"rows with the tool's own advice": 1, "metrics that the tool gives no number for": 1}


def test_the_raw_page_has_its_units_under_the_header(tmp_path: Path) -> None:
    profile = _read(tmp_path, RAW)
    assert profile.kernels is not None
    first, second = profile.kernels.kernels
    assert (first.duration_s, second.duration_s) == (0.002, 0.004)
    assert (first.figures["dram_bytes"], second.figures["dram_bytes"]) == (1.5e6, 3e6)
    assert first.figures["dram_byte_per_s"] == second.figures["dram_byte_per_s"] == pytest.approx(7.5e8)
    assert second.raw["smsp__inst_executed.sum"] == 2097152
    assert profile.kernels.units["dram__bytes.sum"] == "B"
    assert "above-ceiling" in {caution.code for caution in profile.warnings}
    assert second.figures["l2_hit_rate"] == pytest.approx(1.0039)


def test_a_raw_page_without_units_gives_no_times(tmp_path: Path) -> None:
    lines = RAW.splitlines(keepends=True)
    profile = _read(tmp_path, "".join([lines[0], *lines[2:]]))
    assert profile.kernels is not None
    assert [kernel.duration_s for kernel in profile.kernels.kernels] == [None, None]
    assert "dram_byte_per_s" not in profile.kernels.kernels[0].figures
    assert profile.kernels.kernels[0].figures["l2_hit_rate"] == pytest.approx(0.3326)
    assert "no-units" in {caution.code for caution in profile.warnings}


def test_a_summary_says_how_many_launches_it_averages(tmp_path: Path) -> None:
    profile = _read(tmp_path, SUMMARY)
    assert profile.kernels is not None
    (kernel,) = profile.kernels.kernels
    assert (kernel.launches, kernel.duration_s) == (14, 2e-6)
    assert kernel.figures["occupancy"] == pytest.approx(0.7492)
    assert "averaged" in {caution.code for caution in profile.warnings}


@pytest.mark.parametrize(
    ("duration", "nanoseconds", "share"),
    [
        ("117.344", "27.595.520", "65,77"),
        ("117,344", "27,595,520", "65.77"),
        ("117\u202f344", "27\u202f595\u202f520", "65,77"),
        ("117'344", "27'595'520", "65.77"),
    ],
)
def test_every_locale_says_the_same(tmp_path: Path, duration: str, nanoseconds: str, share: str) -> None:
    rows = _details(
        ("gpu__time_duration.sum", "ns", duration),
        ("dram__bytes.sum", "byte", nanoseconds),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", share),
    )
    profile = _read(tmp_path, _table([_LONG, *rows]))
    assert profile.kernels is not None
    (kernel,) = profile.kernels.kernels
    assert kernel.duration_s == 117344e-9
    assert kernel.raw["dram__bytes.sum"] == 27595520
    assert kernel.figures["compute_share"] == pytest.approx(0.6577)


def test_a_whole_number_of_nanoseconds_tells_the_locale(tmp_path: Path) -> None:
    for text in ("292,928", "292.928"):
        profile = _read(tmp_path, _table([_LONG, *_details(("gpu__time_duration.sum", "ns", text))]))
        assert profile.kernels is not None
        assert profile.kernels.kernels[0].duration_s == 292928e-9


def test_numbers_that_can_be_read_in_two_ways_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"'292,928' in line 2 may be a thousand times as much"):
        _read(tmp_path, _table([_LONG, *_details(("gpu__time_duration.sum", "us", "292,928"))]))


def test_numbers_of_two_locales_are_refused(tmp_path: Path) -> None:
    rows = _details(("a__b.sum", "us", "1.234,5"), ("c__d.sum", "us", "1,234.5"))
    with pytest.raises(ReadError, match=r"'1,234.5' in line 3 has another decimal sign than '1.234,5' in line 2"):
        _read(tmp_path, _table([_LONG, *rows]))


def test_output_of_the_program_between_the_rows_is_counted(tmp_path: Path) -> None:
    lines = DETAILS.splitlines(keepends=True)
    text = "".join([*lines[:6], '"half a quote\n', "hello\n", "==PROF== Profiling k\n", *lines[6:]])
    profile = _read(tmp_path, text)
    assert _raw_of(profile) == _raw_of(_read(tmp_path, DETAILS))
    assert [(entry.events, entry.first) for entry in profile.excluded] == [(2, "line 7")]


def test_a_second_pass_with_other_values_is_told(tmp_path: Path) -> None:
    rows = _details(("a__b.sum", "byte", "10"), ("a__b.sum", "byte", "10"), ("a__b.sum", "byte", "11"))
    profile = _read(tmp_path, _table([_LONG, *rows]))
    assert _raw_of(profile) == {"a__b.sum": 10}
    assert [(entry.reason, entry.events, entry.first) for entry in profile.excluded] == [("another value of the same metric and launch", 1, "line 4")]


def test_two_tables_in_one_file_are_two_launches(tmp_path: Path) -> None:
    profile = _read(tmp_path, DETAILS + DETAILS)
    assert profile.kernels is not None
    assert len(profile.kernels.kernels) == 2


def test_utf16_of_a_windows_shell(tmp_path: Path) -> None:
    assert _raw_of(_read(tmp_path, DETAILS.encode("utf-16"))) == _raw_of(_read(tmp_path, DETAILS))


def test_instances_stand_behind_the_value(tmp_path: Path) -> None:
    assert _raw_of(_read(tmp_path, _raw([("a__b.sum", "inst")], ["12 (3; 4; 5)"]))) == {"a__b.sum": 12}


def test_a_file_without_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no number"):
        _read(tmp_path, _table([_LONG, *_details(("a__b.sum", "byte", "n/a"))]))


def test_a_name_of_a_million_characters_needs_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(_table([_LONG, *_details(("a__b.sum", "byte", "1"))]).replace("void k", "k" * 1_000_000))
    with pytest.raises(ReadError, match="line 2"):
        read_profile(path)
    profile = read_profile(path, limits=Limits(name_characters=2_000_000))
    assert profile.kernels is not None
    assert len(profile.kernels.kernels[0].name) > 1_000_000


@pytest.mark.parametrize(
    ("unit", "factor", "base"),
    [
        ("ns", 1e-9, "s"), ("nsecond", 1e-9, "s"), ("usecond", 1e-6, "s"), ("us", 1e-6, "s"), ("ms", 1e-3, "s"), ("second", 1, "s"), ("byte", 1, "B"),
        ("Kbyte", 1e3, "B"), ("Gbyte/s", 1e9, "B/s"), ("Tbyte/second", 1e12, "B/s"), ("Mhz", 1e6, "Hz"), ("Ghz", 1e9, "Hz"), ("hz", 1, "Hz"),
        ("cycle/usecond", 1e6, "Hz"), ("%", 0.01, "1"), ("", 1, "1"), ("inst/cycle", 1, "1"), ("register/thread", 1, "1"), ("Kbyte/block", 1e3, "B"),
        ("byte/sector", 1, "B"), ("msecond", 1e-3, "s"),
    ],
)  # fmt: skip
def test_units(unit: str, factor: float, base: str) -> None:
    assert scale(unit) == (pytest.approx(factor, rel=1e-12), base)


@given(values=st.lists(st.integers(min_value=0, max_value=10**15), min_size=1, max_size=6), decimal=st.sampled_from(",."))
@settings(max_examples=60, deadline=None)
def test_what_is_written_in_a_locale_is_read_again(values: list[int], decimal: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    group = "." if decimal == "," else ","
    rows = _details(
        *((f"a__{place}.sum", "byte", f"{value:,}".replace(",", group)) for place, value in enumerate(values)), ("b__c.pct", "%", f"12{decimal}5")
    )
    raw = _raw_of(_read(tmp_path_factory.mktemp("locale"), _table([_LONG, *rows])))
    assert [raw[f"a__{place}.sum"] for place in range(len(values))] == values
    assert raw["b__c.pct"] == 0.125


def test_a_header_with_a_quote_left_open_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "damaged.csv"
    path.write_text(SUMMARY.replace('"Maximum","Average"', '"Maxim,"Average"'))
    with pytest.raises(ReadError, match="Kernel Name and Metric Name"):
        read_profile(path, format="nsight-compute")


_OLD = (*_IDENTITY[:5], "Kernel Time", "Context", "Stream", *_LONG[-4:])


@pytest.mark.parametrize(
    ("compute", "memory", "rate", "unit", "limit"),
    [
        ("SOL SM", "SOL DRAM", "Memory Throughput", "Gbyte/second", "Theoretical Occupancy"),
        ("SM [%]", "DRAM [%]", "Memory Throughput", "Gbyte/second", "Theoretical Occupancy"),
        ("Compute (SM) [%]", "DRAM [%]", "Memory Throughput", "Gbyte/second", "Theoretical Occupancy"),
        ("Compute (SM) Throughput", "DRAM Throughput", "Memory Throughput", "Gbyte/s", "Theoretical Occupancy"),
        (
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__bytes.sum.per_second",
            "Gbyte/s",
            "sm__maximum_warps_per_active_cycle_pct",
        ),
        (
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__bytes.sum.per_second",
            "Gbyte/second",
            "sm__maximum_warps_per_active_cycle_pct",
        ),
    ],
)
def test_every_generation_of_names_says_the_same(tmp_path: Path, compute: str, memory: str, rate: str, unit: str, limit: str) -> None:
    values = [("Duration", "usecond", "12.50"), (compute, "%", "22.30"), (memory, "%", "91.00"), (rate, unit, "607.15"), (limit, "%", "50.00")]
    rows = [("0", "7", "app", "127.0.0.1", "k", "2020-Nov-30 04:22", "1", "7", "Section", *value) for value in [*values, ("Block Size", "", "256")]]
    profile = _read(tmp_path, _table([_OLD, *rows]))
    assert profile.kernels is not None
    (kernel,) = profile.kernels.kernels
    assert kernel.figures == pytest.approx({"compute_share": 0.223, "dram_share": 0.91, "dram_byte_per_s": 607.15e9, "occupancy_limit": 0.5})
    assert (kernel.duration_s, kernel.block) == (12.5e-6, (256,))


def test_figures_from_sums_and_from_ratios_agree(tmp_path: Path) -> None:
    name = "pipe_lsu_mem_global_op_ld"
    sums = [(f"l1tex__t_sectors_{name}.sum", "sector", "4,194,304"), (f"l1tex__t_requests_{name}.sum", "", "131,072"), ("a__b.pct", "%", "1.5")]
    ratio = [(f"l1tex__average_t_sectors_per_request_{name}.ratio", "sector/request", "32"), ("a__b.pct", "%", "1.5")]
    found = [_read(tmp_path, _table([_LONG, *_details(*metrics)])).kernels for metrics in (sums, ratio)]
    assert [table.kernels[0].figures["sectors_per_request"] for table in found if table is not None] == [32, 32]


def test_operations_count_a_fused_one_twice(tmp_path: Path) -> None:
    rows = [
        (f"smsp__sass_thread_inst_executed_op_f{each}_pred_on.sum", "inst", count) for each, count in (("add", "100"), ("mul", "10"), ("fma", "1000"))
    ]
    profile = _read(tmp_path, _table([_LONG, *_details(*rows, ("gpu__time_duration.sum", "ns", "1000"))]))
    assert profile.kernels is not None
    assert profile.kernels.kernels[0].figures == {"fp32_flop": 2110, "fp32_flop_per_s": pytest.approx(2.11e9)}


def test_the_busiest_pipe_tells_arithmetic_from_loads(tmp_path: Path) -> None:
    rows = [
        ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", "%", "97.00"),
        ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", "%", "12.00"),
        ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "%", "25.50"),
    ]
    profile = _read(tmp_path, _table([_LONG, *_details(*rows)]))
    assert profile.kernels is not None
    assert profile.kernels.kernels[0].figures == {"load_store_share": pytest.approx(0.97), "arithmetic_share": pytest.approx(0.255)}


def test_columns_of_the_launch_may_stand_behind_the_value(tmp_path: Path) -> None:
    header = ("Kernel Name", "Metric Name", "Metric Unit", "Metric Value", "ID")
    path = tmp_path / "details.csv"
    path.write_text(_table([header, ("k", "gpu__time_duration.sum", "usecond", "2", "0"), ("k", "gpu__time_duration.sum", "usecond", "3")]))
    profile = read_profile(path)
    assert profile.kernels is not None
    assert [kernel.duration_s for kernel in profile.kernels.kernels] == [pytest.approx(2e-6)]
    assert [(entry.reason, entry.events) for entry in profile.excluded] == [("lines between the rows that are no row of the table", 1)]
