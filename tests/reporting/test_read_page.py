"""The page of a read report: answers first, every section that has something, numbers as they are in the report, lists cut and saying so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ridgeline.core import (
    Action,
    BoundaryCost,
    Caution,
    Column,
    Counters,
    DeviceUse,
    Evidence,
    Excluded,
    Figure,
    FrameUse,
    IterationReport,
    KernelCounts,
    KernelTable,
    OperatorUse,
    PartitionReport,
    ProfileRow,
    ProfileTable,
    Quantity,
    RankUse,
    ReadReport,
    TraceFinding,
    Where,
)
from ridgeline.core.documents import encode
from ridgeline.flows.read import read, report_of
from ridgeline.reporting import html, markdown, terminal
from ridgeline.reporting.page import Table
from ridgeline.reporting.read_page import read_headline, read_page

FINDING = TraceFinding(
    where=Where(lane="GPU 0"),
    bound="latency",
    cause="synchronisation",
    share=0.4,
    summary="GPU 0 waits for 40.0% of its time",
    evidence=(Evidence(name="idle", quantity=Quantity.exact(0.4, "1", source="measured", origin="400 ms of 1.00 s")),),
    actions=(
        Action(
            id="a1",
            action="remove-sync",
            on="GPU 0",
            because="the queue stays filled",
            metric="latency",
            speedup=(1.2, 1.6),
            median_after_s=(0.625, 0.833),
        ),
        Action(id="a2", action="prefetch", on="GPU 0", because="ahead", metric="period", speedup=(1.1, 1.3), median_after_s=(0.7, 0.9)),
    ),
)

_CLOCK = Counters(
    names=("task-clock", "page-faults"), counts=Column([0.782, 35003.0], "1"), counted_fraction=Column([1.0, 1.0], "1"), units=("s", "count")
)
_RUNTIME = ProfileTable(rows=(ProfileRow(name="user", total_s=0.727), ProfileRow(name="sys", total_s=0.055)), of="runtime", wall_s=4.856)

FULL = ReadReport(
    files=("a.json", "b.json"),
    format="chrome",
    tool="PyTorch",
    findings=(FINDING, msgspec.structs.replace(FINDING, cause="transfer", summary="Copies.")),
    healthy=False,
    skew_s={"a.json": 0.0, "b.json": 1.5e-6},
    facts={"model": "resnet", "empty": ""},
    partitions=PartitionReport(
        count=3,
        runs=5,
        nodes=100,
        delegated=95,
        handoffs=4,
        handoff_s=0.002,
        fallbacks={"ArgMax": 2},
        providers={"NPU": 0.01, "CPU": 0.001},
        boundaries=(BoundaryCost(source="NPU", target="CPU", crossings=2, total_s=None, after="conv", before="argmax"),),
        without_s=(0.008, 0.009),
    ),
    frames=tuple(FrameUse(function=f"f{index}", own=1.0, total=2.0, own_share=0.05, total_share=0.1, file="a.py", line=index) for index in range(20)),
    measure="cpu",
    unit="s",
    tables=(
        ProfileTable(rows=(ProfileRow(name="conv", total_s=0.01), ProfileRow(name="add", total_s=0.03)), per_call=True, wall_s=0.05, name="main"),
    ),
    kernels=KernelTable(kernels=(KernelCounts(name="gemm", duration_s=0.001, figures={"occupancy": 0.5, "sectors_per_request": 4.2}),)),
    counters=Counters(names=("cycles",), counts=Column([123], "count"), counted_fraction=Column([0.5], "1"), instrument="perf stat"),
    excluded=(Excluded(reason="negative duration", events=3, total_s=0.0, first="byte 77"),),
    warnings=(Caution(code="clock-skew", message="clocks differ", effect="delays cannot be told"),),
    ranks=(
        RankUse(rank=0, window_s=0.41, collectives=10, waited_s=0.224, waited_share=0.224 / 0.41, last=1, awaited_s=0.005, told_s=1e-4, unlike=2),
        RankUse(
            rank=1,
            window_s=0.42,
            collectives=10,
            waited_s=0.005,
            waited_share=0.005 / 0.42,
            last=9,
            awaited_s=0.224,
            late_s=0.022,
            told_s=1e-4,
            unlike=2,
        ),
    ),
)


def test_the_answer_comes_first_and_doubts_last() -> None:
    page = read_page(FULL)
    assert page.headline == "GPU 0 waits for 40.0% of its time. Remove-sync is worth 1.20–1.60× if nothing else is in the way."
    assert page.tone == "bad"
    titles = [section.title for section in page.sections]
    assert titles == [
        "Verdict",
        "What to do",
        "Partitions",
        "Ranks",
        "Functions",
        "Kernels",
        "Table of operators: main",
        "Counters",
        "What was read",
        "Left out",
        "Warnings",
    ]


@pytest.mark.parametrize("width", [40, 80, 160])
def test_it_says_what_the_report_says_in_every_form(width: int) -> None:
    page = read_page(FULL)
    for text in (terminal(page, width, False), markdown(page), html(page)):
        flat = " ".join(text.split())
        for part in (
            "synchronisation",
            "remove-sync",
            "95 of 100 nodes",
            "ArgMax × 2",
            "gemm",
            "cycles",
            "negative duration",
            "byte 77",
            "Clocks differ",
            "resnet",
            "1.50 µs",
        ):
            assert part in flat or width == 40, part
    assert "400 ms of 1.00 s" in " ".join(terminal(page, 160, False).split())


def test_lists_are_cut_and_say_so() -> None:
    text = " ".join(terminal(read_page(FULL, most=3), 120, False).split())
    assert "17 more in the JSON." in text
    assert "f2" in text
    assert "f3 " not in text


def test_rows_that_contain_one_another_have_no_share() -> None:
    nested = msgspec.structs.replace(FULL.tables[0], nested=True)
    assert "75.0%" in terminal(read_page(FULL), 120, False)
    assert "75.0%" not in terminal(read_page(msgspec.structs.replace(FULL, tables=(nested,))), 120, False)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (ReadReport(files=("x",), format="f"), "it holds no event with a time"),
        (ReadReport(files=("x",), format="f", window_s=1.0), "the file has times of parts and none of what lies between"),
        (
            ReadReport(files=("x",), format="f", frames=FULL.frames, unit="s"),
            "f0 takes most: 5.0% of the time (1.00 s) ends in it itself; what binds it counters",
        ),
        (ReadReport(files=("x",), format="f", counters=_CLOCK), "it counts the events of a whole run and not where they happened."),
        (
            ReadReport(files=("x",), format="f", counters=_CLOCK, tables=(_RUNTIME,)),
            "not where they happened; the run was on a CPU for 782 ms of 4.86 s (0.16 CPUs)",
        ),
        (ReadReport(files=("x",), format="f", kernels=KernelTable(kernels=())), "replays kernels"),
        (ReadReport(files=("x",), format="f", frames=FULL.frames), "f0 takes most: 5.0% of the samples end in it itself"),
        (ReadReport(files=("x",), format="f", healthy=True, partitions=FULL.partitions), "Healthy: the graph runs in one piece"),
    ],
)
def test_what_a_file_cannot_tell_is_said(report: ReadReport, said: str) -> None:
    assert said in read_headline(report)


def test_counts_have_their_units() -> None:
    text = terminal(read_page(ReadReport(files=("x",), format="f", counters=_CLOCK)), 120, False)
    assert "782 ms" in text
    assert "35003" in text


def test_a_finding_without_an_action_promises_nothing() -> None:
    report = msgspec.structs.replace(FULL, findings=(msgspec.structs.replace(FINDING, actions=()),))
    assert read_headline(report) == "GPU 0 waits for 40.0% of its time."
    assert "No change with a promise" in terminal(read_page(report), 120, False)


def test_the_rank_that_is_late_is_named() -> None:
    steps = IterationReport(how="marks", name="step", spans_s=tuple((0.04 * index, 0.04) for index in range(10)))
    alike = tuple(msgspec.structs.replace(one, unlike=0) for one in FULL.ranks)
    with_steps = msgspec.structs.replace(FULL, iterations=steps, ranks=alike)
    text = " ".join(terminal(read_page(with_steps), width=120).split())
    assert "Rank 1 comes last in 9 of 10 collectives; the other waits 22.4 ms an iteration for it." in text
    # Of those that were left out nobody knows what an iteration waits in them.
    whole = " ".join(terminal(read_page(msgspec.structs.replace(FULL, iterations=steps)), width=120).split())
    assert "the other waits 224 ms in these for it" in whole
    assert "2 more match by name and order" in whole


def test_no_rank_is_named_where_less_than_the_clocks_tell_lies_between_them() -> None:
    alike = tuple(msgspec.structs.replace(one, last=0, awaited_s=0.0, waited_s=0.0, late_s=None) for one in FULL.ranks)
    text = " ".join(terminal(read_page(msgspec.structs.replace(FULL, ranks=alike)), width=120).split())
    assert "No rank comes last by more than 100 µs" in text
    assert "RANKS" not in terminal(read_page(msgspec.structs.replace(FULL, ranks=())), width=120)


def test_what_nobody_timed_is_null_and_a_dash(tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    path.write_text("main;memcpy 60\nmain;work 40\n")
    report = read(path)
    assert report.findings
    actions = [action for found in report.findings for action in found.actions]
    assert actions
    assert {action.median_after_s for action in actions} == {None}
    assert {action.after_s for action in actions} == {None}
    text = " ".join(terminal(read_page(report), 120).split())
    assert "after — (the file has no time of it)" in text
    assert b'"median_after_s":null' in encode(report)


def test_an_empty_report_has_a_page() -> None:
    from ridgeline.core import Profile

    page = read_page(report_of(Profile(format="f", files=("x",))))
    assert [section.title for section in page.sections] == ["Verdict", "What was read"]


def test_functions_are_told_once_with_their_calls(tmp_path: Path) -> None:
    import cProfile

    def leaf() -> int:
        return sum(range(50))

    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(7):
        leaf()
    profiler.disable()
    path = tmp_path / "run.prof"
    profiler.dump_stats(path)
    report = read(path)
    page = read_page(report)
    titles = [section.title for section in page.sections]
    assert titles.count("Functions") == 1
    assert not [title for title in titles if title.startswith("Table of functions")]
    (table,) = [block for section in page.sections if section.title == "Functions" for block in section.blocks if isinstance(block, Table)]
    at = [column.title for column in table.columns].index("calls")
    assert {row[0].value: row[at].value for row in table.rows}["leaf"] == 7
    # A table that has what the stacks have not stays.
    other = msgspec.structs.replace(report, tables=(msgspec.structs.replace(report.tables[0], wall_s=1.0),))
    assert "Table of functions" in [section.title for section in read_page(other).sections]


@pytest.mark.parametrize("columns", [80, 100])
def test_names_are_whole_and_told_apart_on_a_usual_terminal(columns: int) -> None:
    why = ("launch-bound", "synchronisation", "nothing known", "copy")
    figures = tuple(
        Figure(
            name=f"idle of GPU 0: {reason}", value=0.25, numerator=1.5, denominator=6.0, unit="s",
            numerator_of=f"idle time with {reason} on the host", denominator_of="idle time of GPU 0", left_out="nothing",
            window="the device's own, from its first to its last work",
        )
        for reason in why
    )  # fmt: skip
    names = [f"torch::jit::interpreter::{name}" for name in ("InterpreterStateImpl::runImpl", "InterpreterStateImpl::runTemplate", "Code::run")]
    frames = tuple(
        FrameUse(function=name, own=1.25, total=3.5, own_share=0.25, total_share=0.7, file="/usr/src/torch/interpreter.cpp", line=10)
        for name in names
    )
    text = terminal(read_page(ReadReport(files=("x",), format="f", figures=figures, frames=frames, measure="cpu", unit="s")), columns)
    assert max(map(len, text.splitlines())) <= columns
    functions, shown = text[text.index("FUNCTIONS") :].split("FIGURES")
    assert "…" not in functions.split("WHAT")[0]
    # The first column ends two columns before the numbers of the second one begin, `25.0%` and `1.25 s`.
    for part, heading, expected in ((shown, "value", [figure.name for figure in figures]), (functions, "   own", names)):
        header = next(line for line in part.splitlines() if heading in line)
        end = header.index(heading) - 2
        together = "".join("".join(line[:end].split()) for line in part.splitlines())
        for name in expected:
            assert "".join(name.split()) in together


def _table(**fields: object) -> ProfileTable:
    rows = (ProfileRow(name="[conv_1]", kind="CONV_2D", total_s=0.003), ProfileRow(name="softmax", kind="SOFTMAX", total_s=0.001))
    return ProfileTable(rows=rows, per_call=True, **fields)  # type: ignore[arg-type]


def test_a_table_without_a_finding_begins_with_what_takes_most() -> None:
    open_end = read_headline(ReadReport(files=("x",), format="f", tables=(_table(),)))
    assert open_end.startswith("[conv_1] (CONV_2D) takes most: 75.0% of the 2 rows (3.00 ms of a call);")
    filled = read_headline(ReadReport(files=("x",), format="f", tables=(_table(wall_s=0.0041),), healthy=True))
    assert filled.startswith("Healthy: the rows fill the wall of a call;")
    assert "[conv_1] (CONV_2D) takes most" in filled
    # A fifth of the wall is in no row: that is said, and in how much time.
    left = read_headline(ReadReport(files=("x",), format="f", tables=(_table(wall_s=0.005),)))
    assert "20.0% of the wall of a call (1.00 ms of 5.00 ms) lies outside the rows" in left


def test_operators_without_a_finding_begin_with_what_takes_most() -> None:
    uses = (
        OperatorUse(name="first", kind="operator", calls=10, total_s=0.6, own_s=0.6, share=0.6, median_s=0.001),
        OperatorUse(name="matmul", kind="operator", calls=10, total_s=0.3, own_s=0.3, share=0.3, median_s=0.03),
    )
    report = ReadReport(files=("x",), format="f", window_s=1.0, operators=uses)
    assert read_headline(report).startswith("first takes most: 66.7% of the own time of all operators (600 ms);")
    # Where first iterations stand apart one slow call decides nothing: 300 of 310 ms.
    judged = read_headline(msgspec.structs.replace(report, judged="iterations 2 to 10"))
    assert judged.startswith("matmul takes most: 96.8% of the typical time of all operators (30.0 ms a call);")


def test_a_larger_share_that_nothing_explains_is_said_at_once() -> None:
    idle = msgspec.structs.replace(FINDING, actions=(), share=0.5, summary="GPU 0 is idle for 50.0% of its time, and the file does not show why")
    report = msgspec.structs.replace(FULL, findings=(FINDING, idle))
    assert read_headline(report).endswith("GPU 0 is idle for 50.0% of its time, and the file does not show why.")
    smaller = msgspec.structs.replace(FULL, findings=(FINDING, msgspec.structs.replace(idle, share=0.3)))
    assert "does not show why" not in read_headline(smaller)


def test_idle_time_of_devices_is_said_with_what_it_is_of() -> None:
    used = DeviceUse(
        name="GPU 0", events=9, sum_s=0.1, start_s=0.5, window_s=0.4, busy_s=0.1, idle_s=0.3, idle_share=0.75, compute_s=0.1, communication_s=0.0,
        copy_s=0.0, fill_s=0.0, exposed_communication_s=0.0, exposed_copy_s=0.0, overlapped_s=0.0,
    )  # fmt: skip
    report = ReadReport(files=("x",), format="f", window_s=1.0, devices=(used,))
    assert "GPU 0 is idle for 75.0% of the time, and the file does not show why" in read_headline(report)
    known = msgspec.structs.replace(report, devices=(msgspec.structs.replace(used, idle_because_s={"launch-bound": 0.3}),))
    assert "GPU 0 is idle for 75.0% of the time from the first work to the last, which is 40.0% of the window" in read_headline(known)


def test_names_stay_as_they_are_at_the_start_of_a_sentence() -> None:
    for name in ("rank1.json: one clock", "trace_filter/a.json: damaged", "aten::mm takes long"):
        assert read_headline(msgspec.structs.replace(FULL, findings=(msgspec.structs.replace(FINDING, summary=name, actions=()),))) == f"{name}."
    assert read_headline(msgspec.structs.replace(FULL, findings=(msgspec.structs.replace(FINDING, summary="two lanes", actions=()),))) == "Two lanes."


def test_what_is_left_is_said_with_what_it_was() -> None:
    # 1.2 times as fast leaves 833 ms, 1.6 times 625 ms: of a second.
    assert "625 ms – 833 ms instead of 1.00 s" in " ".join(terminal(read_page(FULL), 160, False).split())


def test_counters_of_one_kernel_are_of_one() -> None:
    one = KernelTable(kernels=(KernelCounts(name="gemm"),))
    page = terminal(read_page(ReadReport(files=("x",), format="f", kernels=one)), 120, False)
    assert "counters of 1 kernel\n" in page
    two = msgspec.structs.replace(one, kernels=one.kernels * 2)
    assert "counters of 2 kernels, the longest first" in terminal(read_page(ReadReport(files=("x",), format="f", kernels=two)), 120, False)
