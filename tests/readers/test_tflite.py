"""`benchmark_model`: tables whose columns are broken, walls, subgraphs and delegates, and what the lines about delegates count."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import Profile, ProfileTable, ReadError
from ridgeline.readers import Limits, Source, read_profile
from ridgeline.readers.testing import ProfileReaderConformance
from ridgeline.readers.tflite import TfliteBenchmark
from support.benchmark_model import Node, profile, section

RUNS = 10
CONV = Node(kind="CONV_2D", name="[a/Conv2D]:0", calls_us=(120,) + (100,) * 9)
POOL = Node(kind="MAX_POOL_2D", name="[a/Pool, b]:1", calls_us=(50,) * 10)
NODES = (CONV, POOL)
XNN = Node(kind="Convolution (NHWC, F32) IGEMM", name="Delegate/Convolution (NHWC, F32) IGEMM:0", calls_us=(200,) * RUNS)
HEAD = "INFO: Replacing {} out of {} node(s) with delegate (TfLiteXNNPackDelegate) node, yielding {} partitions for subgraph 0.\n"


def read(text: str | bytes, tmp_path: Path, **limits: int) -> Profile:
    path = tmp_path / "log.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return TfliteBenchmark().read(Source(path, Limits(**limits)))


def operators(found: Profile) -> ProfileTable:
    return next(table for table in found.tables if table.of == "operators" and not table.within)


class TestConformance(ProfileReaderConformance):
    def reader(self) -> TfliteBenchmark:
        return TfliteBenchmark()

    def examples(self) -> Mapping[str, bytes]:
        text = HEAD.format(1, 3, 2) + profile((XNN, *NODES), RUNS, 400.0)
        return {
            "text": text.encode(),
            "old": section(NODES, RUNS, start=True).encode(),
            "csv": ("Operator-wise Profiling Info for Regular Benchmark Runs:\n" + section(NODES, RUNS, csv=True)).encode(),
            "walls alone": b"count=5 first=9 curr=7 min=5 max=9 avg=7 std=1\n\ncount=50 first=9 curr=7 min=5 max=9 avg=6.5 std=1\n",
        }


@pytest.mark.parametrize("options", [{}, {"start": True}, {"csv": True}, {"csv": True, "start": True}], ids=["text", "old", "csv", "old csv"])
def test_rows_walls_and_overhead(options: dict[str, bool], tmp_path: Path) -> None:
    found = read(profile(NODES, RUNS, 160.0, **options), tmp_path)
    table = operators(found)
    assert [(row.kind, row.node) for row in table.rows] == [("CONV_2D", 0), ("MAX_POOL_2D", 1)]
    assert table.rows[1].name.replace("\t", ",") == "[a/Pool, b]:1"
    assert [row.total_s for row in table.rows] == pytest.approx([102e-6, 50e-6])
    assert [row.calls for row in table.rows] == [RUNS, RUNS]
    assert table.rows[0].first_s == pytest.approx(120e-6)
    assert (table.wall_s, table.first_wall_s, table.setup_s) == pytest.approx((160e-6, 320e-6, 12.5e-3))
    assert table.wall_deviation_s == 0
    assert table.per_call
    assert table.iterations == RUNS
    assert not found.warnings
    assert found.facts["Num threads"] == "2"
    assert found.facts["Memory footprint delta from the start of the tool (MB)"] == "init 1.5, overall 2.5"


def test_only_run_order_counts_and_not_the_list_of_the_slowest(tmp_path: Path) -> None:
    assert len(operators(read(profile(NODES, RUNS, 160.0), tmp_path)).rows) == len(NODES)


def test_a_node_that_runs_three_times_in_two_runs(tmp_path: Path) -> None:
    """The tool writes 1 for 1.5: its time of a run is that of 1.5 calls."""
    odd = Node(kind="ADD", name="[x]:2", calls_us=(1000,) * 15)
    found = read(profile((*NODES, odd), RUNS, 2000.0), tmp_path)
    row = operators(found).rows[2]
    assert row.numbers["calls_per_run"] == pytest.approx(1.5, rel=1e-3)
    assert row.total_s == pytest.approx(1.5e-3, rel=1e-3)
    assert [warning.code for warning in found.warnings] == ["broken-columns"]


def test_what_ran_once_in_all_is_no_part_of_a_run(tmp_path: Path) -> None:
    once = Node(kind="AllocateTensors", name="AllocateTensors/0", calls_us=(300,), memory_kib=452.0)
    found = read(profile((*NODES, once), 1000, 160.0), tmp_path)
    runtime = next(table for table in found.tables if table.of == "runtime")
    assert runtime.rows[0].calls == 1
    assert runtime.rows[0].total_s == pytest.approx(0.3e-6)
    assert runtime.rows[0].numbers["memory_bytes"] == 452 * 1024
    assert [row.kind for row in operators(found).rows] == ["CONV_2D", "MAX_POOL_2D"]


def test_a_tool_that_recorded_one_run_of_fifty(tmp_path: Path) -> None:
    """Rows of one run beside statistics of fifty: the columns are fifty times too small, the times are those of a run."""
    rows = section([Node(kind=node.kind, name=node.name, calls_us=node.calls_us[:1]) for node in NODES], 50).splitlines()
    text = "\n".join("Timings (microseconds): count=50 first=170 curr=168 min=160 max=180 avg=171 std=3" if "Timings" in row else row for row in rows)
    broken = text.replace("70.588%", " 1.404%").replace("29.412%", " 0.585%").replace("100.000%", " 1.989%")
    found = read(broken + "\nAverage inference timings in us: Warmup: 180, Init: 900, Inference: 172.5\n", tmp_path)
    table = operators(found)
    assert [row.total_s for row in table.rows] == pytest.approx([120e-6, 50e-6])
    assert [row.share for row in table.rows] == [None, None]
    assert (table.wall_s, table.setup_s) == pytest.approx((172.5e-6, 900e-6))
    assert table.wall_s is not None
    assert table.wall_s - sum(row.total_s for row in table.rows) == pytest.approx(2.5e-6)
    assert "`times called` and `%`" in found.warnings[0].message


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(500, 10**6)), min_size=1, max_size=6), st.integers(2, 40), st.booleans())
@settings(max_examples=60, deadline=None)
def test_calls_and_times_come_back_whatever_is_called_how_often(rows: list[tuple[int, int]], runs: int, csv: bool) -> None:
    """calls × runs of each node, of equal length: the reader finds the sum of a run within the rounding of three decimals."""
    import tempfile

    nodes = [Node(kind="OP", name=f"[n{at}]:{at}", calls_us=(us,) * (calls * runs)) for at, (calls, us) in enumerate(rows)]
    with tempfile.TemporaryDirectory() as directory:
        table = operators(read(profile(nodes, runs, 1e7, csv=csv), Path(directory)))
    for row, (calls, us) in zip(table.rows, rows, strict=True):
        assert row.numbers["calls_per_run"] == pytest.approx(calls, rel=5e-3)
        assert row.total_s == pytest.approx(calls * us / 1e6, rel=5e-3)
        assert row.calls == pytest.approx(calls * runs, rel=5e-3)


def test_operators_within_a_delegate_count_once(tmp_path: Path) -> None:
    kernel = Node(kind="TfLiteHexagonDelegate", name="[out]:7", calls_us=(500,) * RUNS)
    inside = [Node(kind="DelegateOpInvoke", name=f"Delegate/op:{at}", calls_us=(240,) * RUNS, counted=False) for at in range(2)]
    found = read(profile((kernel, *inside, POOL), RUNS, 600.0), tmp_path)
    assert sum(row.total_s for row in operators(found).rows) == pytest.approx(550e-6)
    inner = next(table for table in found.tables if table.within)
    assert (inner.within, inner.of, len(inner.rows)) == ("primary graph", "kernels", 2)
    assert [part.provider for part in found.partitions.partitions] == ["Hexagon", "builtin"] if found.partitions else False


def test_a_section_of_its_own_for_what_a_delegate_reports(tmp_path: Path) -> None:
    kernel = Node(kind="TfLiteXNNPackDelegate", name="[out]:7", calls_us=(500,) * RUNS)
    inside = Node(kind="Conv", name="Delegate/Conv:0", calls_us=(480,) * RUNS)
    text = profile((kernel, POOL), RUNS, 600.0) + "\nDelegate internal: \n" + section((inside,), RUNS)
    found = read(text, tmp_path)
    assert [(table.name, table.within, len(table.rows)) for table in found.tables] == [
        ("primary graph", "", 2),
        ("delegate internal", "primary graph", 1),
    ]


def test_operators_that_stand_for_their_delegate_are_the_operators(tmp_path: Path) -> None:
    """XNNPACK since 2.9: no row of the kernel itself, so nothing is nested."""
    found = read(HEAD.format(1, 3, 2) + profile((XNN, *NODES), RUNS, 400.0), tmp_path)
    rows = operators(found).rows
    assert [row.provider for row in rows] == ["XNNPACK", "builtin", "builtin"]
    assert (rows[0].precision, rows[0].kernel, rows[0].node) == ("F32", "Convolution (NHWC, F32) IGEMM", None)


def test_both_the_kernel_and_its_operators_beyond_the_wall_are_nested(tmp_path: Path) -> None:
    kernel = Node(kind="TfLiteXNNPackDelegate", name="[out]:7", calls_us=(210,) * RUNS)
    found = read(profile((kernel, XNN, POOL), RUNS, 270.0), tmp_path)
    assert sum(row.total_s for row in operators(found).rows) == pytest.approx(260e-6)


def test_subgraphs_lie_within_the_primary_graph(tmp_path: Path) -> None:
    loop = Node(kind="WHILE", name="[loop]:3", calls_us=(900,) * RUNS)
    body = Node(kind="ADD", name="[body]:0", calls_us=(800,) * RUNS)
    text = "Operator-wise Profiling Info for Regular Benchmark Runs:\nPrimary graph (name: main) profile:\n" + section((*NODES, loop), RUNS)
    text += "\nSubgraph (index: 2, name: while_body) profile:\n" + section((body,), RUNS, subgraph="Subgraph (index: 2, name: while_body) ")
    found = read(text, tmp_path)
    assert [(table.name, table.within) for table in found.tables] == [("primary graph", ""), ("subgraph 2", "primary graph")]
    assert sum(row.total_s for row in operators(found).rows) == pytest.approx(1052e-6)


def test_initialisation_is_a_table_of_its_own(tmp_path: Path) -> None:
    modify = Node(kind="ModifyGraphWithDelegate", name="ModifyGraphWithDelegate/0", calls_us=(6348,))
    text = "INFO: Profiling Info for Benchmark Initialization:\n" + section((modify,), 1) + profile(NODES, RUNS, 160.0)
    found = read(text, tmp_path)
    assert [(table.name, table.of, table.per_call) for table in found.tables] == [
        ("initialization", "runtime", False),
        ("primary graph", "operators", True),
    ]
    assert found.tables[0].rows[0].total_s == pytest.approx(6.348e-3)


@pytest.mark.parametrize(
    ("taken", "nodes", "partitions", "count", "unsure"),
    [
        (1, 1, 1, 1, False),
        (60, 64, 8, 4, False),
        (17, 21, 9, 5, False),
        (20, 40, 3, 1, True),
        (63, 64, 2, 1, False),
        (63, 64, 3, 2, False),
        (1, 9, 3, 1, False),
    ],
)
def test_partitions_are_stretches_of_both_kinds(taken: int, nodes: int, partitions: int, count: int, unsure: bool, tmp_path: Path) -> None:
    """P stretches take turns; with 4 nodes left behind, 9 stretches are 5 on the delegate and 4 not."""
    found = read(HEAD.format(taken, nodes, partitions), tmp_path)
    assert found.partitions is not None
    assert (found.partitions.delegated, found.partitions.nodes, found.partitions.runs, found.partitions.count) == (taken, nodes, partitions, count)
    assert any(warning.code == "partitions-unsure" for warning in found.warnings) is unsure


def test_kernels_are_what_the_tool_says_outright(tmp_path: Path) -> None:
    line = "INFO: Explicitly applied XNNPACK delegate, and the model graph will be partially executed by the delegate w/ 2 delegate kernels.\n"
    found = read(HEAD.format(20, 40, 3) + line, tmp_path)
    assert found.partitions is not None
    assert (found.partitions.count, found.warnings) == (2, ())
    alone = read(line, tmp_path).partitions
    assert alone is not None
    assert (alone.delegate, alone.count, alone.nodes) == ("XNNPACK", 2, None)


def test_several_delegates_are_said(tmp_path: Path) -> None:
    lines = "VERBOSE: Replacing 5 out of 64 node(s) with delegate (TfLiteNnapiDelegate) node, yielding 5 partitions for the whole graph.\n"
    found = read(lines + HEAD.format(59, 62, 5), tmp_path)
    assert found.partitions is not None
    assert (found.partitions.delegate, found.partitions.delegated) == ("XNNPACK", 59)
    assert "several-delegates" in [warning.code for warning in found.warnings]


def test_other_subgraphs_do_not_count_for_the_primary_graph(tmp_path: Path) -> None:
    found = read(HEAD.format(5, 8, 2) + HEAD.format(90, 90, 1).replace("subgraph 0", "subgraph 1"), tmp_path)
    assert found.partitions is not None
    assert (found.partitions.delegated, found.partitions.nodes) == (5, 8)


def test_what_a_gpu_delegate_refused_and_why(tmp_path: Path) -> None:
    text = (
        "ERROR: Following operations are not supported by GPU delegate:\nSQUEEZE: Operation is not supported.\nADD: tensor type error\n63 will run\n"
    )
    found = read(text + HEAD.format(63, 65, 3), tmp_path)
    assert found.partitions is not None
    assert found.partitions.refused == {"SQUEEZE": "Operation is not supported.", "ADD": "tensor type error"}


def test_a_delegate_that_took_nothing(tmp_path: Path) -> None:
    found = read(
        "Though EXTERNAL delegate is explicitly applied, the model graph will not be executed by the delegate.\n" + profile(NODES, RUNS, 160.0),
        tmp_path,
    )
    assert found.partitions is not None
    assert (found.partitions.count, found.partitions.delegated) == (0, 0)


def test_buffers_of_litert_are_hand_over_and_no_operators(tmp_path: Path) -> None:
    rows = [
        Node(kind=f"LiteRT::Run[{what}]", name=f"LiteRT::Run[{what}]/0", calls_us=(12,) * RUNS) for what in ("buffer registration", "Buffer sync")
    ]
    found = read(HEAD.format(1, 1, 1) + profile((rows[0], XNN, rows[1]), RUNS, 300.0), tmp_path)
    assert found.partitions is not None
    assert found.partitions.handoff_s is not None
    assert found.partitions.handoff_s.value == pytest.approx(24e-6)
    assert [row.name for row in operators(found).rows] == [XNN.name]


def test_a_profile_that_covers_the_warm_up_too_says_so(tmp_path: Path) -> None:
    text = profile(NODES, RUNS, 160.0).replace("Timings (microseconds): count=10", "Timings (microseconds): count=12")
    assert [warning.code for warning in read(text, tmp_path).warnings][:1] == ["covers-warm-up"]


def test_the_block_of_litert_where_there_is_no_line_of_statistics(tmp_path: Path) -> None:
    lines = ("Model initialization: 4.48 ms", "Warmup (first):       1.03 ms", "Inference (avg):      0.46 ms (2112 runs)")
    text = "".join(f"INFO: [./benchmark.h:8] {line}\n" for line in lines)
    table = operators(read(text + "Summary by node type ===\n", tmp_path))
    assert (table.wall_s, table.first_wall_s, table.setup_s) == pytest.approx((0.46e-3, 1.03e-3, 4.48e-3))


def test_a_log_that_breaks_off_says_so(tmp_path: Path) -> None:
    text = profile(NODES, RUNS, 160.0)
    found = read(text[: text.index("Number of nodes")], tmp_path)
    assert [warning.code for warning in found.warnings] == ["cut-short"]


def test_nodes_that_are_counted_and_not_listed_are_left_out_by_number(tmp_path: Path) -> None:
    found = read(section(NODES, RUNS, observed=5), tmp_path)
    assert [(entry.events, entry.reason) for entry in found.excluded] == [(3, "nodes that the tool counts and does not list")]


@pytest.mark.parametrize("bad", ["nan", "-1.000", "1e400"])
def test_a_row_without_a_possible_time_is_left_out(bad: str, tmp_path: Path) -> None:
    text = section(NODES, RUNS)
    lines = [line.replace("    0.050\t    0.050", f"    0.050\t    {bad}") if "Pool" in line else line for line in text.splitlines()]
    found = read("\n".join(lines), tmp_path)
    assert [row.kind for row in operators(found).rows] == ["CONV_2D"]
    assert found.excluded[0].events == 1
    assert found.excluded[0].first.startswith("line ")


@pytest.mark.parametrize("prefix", ["05-12 10:00:00.123  812  812 I tflite  : ", "2026-10-28 14:41:14.151361+0800 Benchmark[3921:935759] "])
def test_prefixes_of_phones_and_windows_line_ends(prefix: str, tmp_path: Path) -> None:
    text = "".join(f"{prefix}{line}\r\n" for line in profile(NODES, RUNS, 160.0).splitlines())
    table = operators(read(text, tmp_path))
    assert [row.kind for row in table.rows] == ["CONV_2D", "MAX_POOL_2D"]
    assert sum(row.total_s for row in table.rows) == pytest.approx(152e-6)


def test_two_benchmarks_in_one_log(tmp_path: Path) -> None:
    found = read(profile(NODES, RUNS, 160.0) + "\n" + profile((POOL,), RUNS, 70.0), tmp_path)
    assert [(table.name, table.wall_s) for table in found.tables] == [
        ("primary graph of benchmark 1", pytest.approx(160e-6)), ("primary graph of benchmark 2", pytest.approx(70e-6)),
    ]  # fmt: skip


def test_names_of_a_million_characters_are_refused_by_a_limit(tmp_path: Path) -> None:
    text = section((Node(kind="CONV_2D", name="[" + "x" * 1_000_000 + "]:0", calls_us=(5,)),), 1)
    with pytest.raises(ReadError, match=r"log\.txt"):
        read(text, tmp_path)
    assert len(operators(read(text, tmp_path, name_characters=2**20)).rows) == 1


def test_it_is_told_from_its_contents(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(profile(NODES, RUNS, 160.0))
    assert read_profile(path).format == "tflite"
