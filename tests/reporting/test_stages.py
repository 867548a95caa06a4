"""Stages and missed budgets on the page: bars, the table behind them, and what must shrink."""

from __future__ import annotations

import msgspec

from ridgeline.core import BudgetReport, Diagnosis, Shrink, StageSummary
from ridgeline.reporting import html, page
from ridgeline.reporting.page import Bars, Table, format_cell
from ridgeline.reporting.stages import STAGES_SHOWN, stage_blocks
from ridgeline.reporting.text import width


def _stage(name: str, share: float, **fields) -> StageSummary:
    return StageSummary(name=name, median_s=share * 0.1, share=share, **{"calls": 2.0, "own_s": share * 0.1, "overlapped_s": 0.0, **fields})


def test_nothing_is_said_of_a_program_without_stages(empty_diagnosis: Diagnosis) -> None:
    assert stage_blocks(empty_diagnosis) == []


def test_bars_of_top_level_stages_and_the_rest(empty_diagnosis: Diagnosis) -> None:
    stages = (_stage("decode", 0.5), _stage("inner", 0.4, parent="decode"), _stage("infer", 0.3))
    bars, table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages))
    assert isinstance(bars, Bars)
    assert [(row.label, format_cell(row.cell)) for row in bars.rows] == [("decode", "50.0%"), ("infer", "30.0%"), ("outside any stage", "20.0%")]
    assert isinstance(table, Table)
    assert [format_cell(row[0]) for row in table.rows] == ["decode", "decode / inner", "infer"]


def test_overlap_is_said_and_nothing_counted_twice(empty_diagnosis: Diagnosis) -> None:
    stages = (_stage("read", 0.9, overlapped_s=0.045), _stage("pack", 0.5, overlapped_s=0.045))
    bars = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages))[0]
    assert isinstance(bars, Bars)
    assert [row.label for row in bars.rows] == ["read", "pack"]
    assert bars.rows[0].note == "50% of it beside other stages"


def test_which_part_is_the_model_is_said_of_each_stage_and_of_the_whole(empty_diagnosis: Diagnosis) -> None:
    stages = (
        _stage("read", 0.6, models_share=0.92), _stage("model: net.onnx", 0.55, parent="read", model=True), _stage("cut", 0.3, models_share=0.0),
        _stage("model: late", 0.05, model=True),
    )  # fmt: skip
    bars, table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages, models_share=0.6))
    assert isinstance(bars, Bars)
    assert isinstance(table, Table)
    assert bars.caption == "stages, shares of the end-to-end time; calls of models: 60.0% of it"
    assert [(row.label, row.note) for row in bars.rows] == [("read", "of which in models: 92%"), ("cut", ""), ("outside any stage", "")]
    assert format_cell(bars.rows[-1].cell) == "10.0%"
    assert [format_cell(row[0]) for row in table.rows] == ["read", "read / model: net.onnx", "cut", "model: late"]


def test_models_push_no_stage_from_the_page(empty_diagnosis: Diagnosis) -> None:
    stages = tuple(_stage(f"s{i}", 0.001) for i in range(10)) + tuple(_stage(f"model: {i}", 0.05, model=True) for i in range(20))
    table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages))[1]
    assert isinstance(table, Table)
    assert [format_cell(row[0]) for row in table.rows][:10] == [f"s{i}" for i in range(10)]


def test_cpus_busy_that_are_known_too_roughly_have_their_reason(empty_diagnosis: Diagnosis) -> None:
    stages = (_stage("cut", 0.5, busy_range=(1.0, 2.0)), _stage("read", 0.4, busy_cpus=1.5, busy_range=(1.4, 1.6)), _stage("old", 0.1))
    table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages))[1]
    assert isinstance(table, Table)
    cut, read, old = (row[6] for row in table.rows)
    assert (format_cell(cut), format_cell(old)) == ("—", "—")
    assert format_cell(read) == "1.50"
    assert "ticks" in repr(cut)
    assert "between 1 and 2" in repr(cut)
    assert "not looked at" in repr(old)


def test_the_time_of_a_single_call_has_no_interval(empty_diagnosis: Diagnosis) -> None:
    stages = (_stage("once", 0.5, interval_s=(0.05, 0.05)), _stage("often", 0.3, interval_s=(0.02, 0.04)))
    table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages))[1]
    assert isinstance(table, Table)
    assert ["[" in format_cell(row[2]) for row in table.rows] == [False, True]


def test_many_stages_are_cut_and_counted(empty_diagnosis: Diagnosis) -> None:
    table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=tuple(_stage(f"s{index}", 0.01) for index in range(40))))[1]
    assert isinstance(table, Table)
    assert len(table.rows) == STAGES_SHOWN
    assert table.note == "24 smaller ones in the JSON."


def test_the_largest_are_shown_in_order_of_first_entry(empty_diagnosis: Diagnosis) -> None:
    stages = tuple(_stage(f"s{index}", 0.0001 if index < 30 else 0.05 - index / 1e5) for index in range(48))
    bars, table = stage_blocks(msgspec.structs.replace(empty_diagnosis, stages=stages))[:2]
    assert isinstance(bars, Bars)
    assert isinstance(table, Table)
    wanted = [f"s{index}" for index in range(30, 30 + STAGES_SHOWN)]
    assert [row.label for row in bars.rows][:STAGES_SHOWN] == wanted
    assert [format_cell(row[0]) for row in table.rows] == wanted


def test_a_long_name_leaves_room_for_its_bar(empty_diagnosis: Diagnosis) -> None:
    found = msgspec.structs.replace(empty_diagnosis, stages=(_stage("decode " * 17, 0.5), _stage("infer", 0.3)))
    bars = stage_blocks(found)[0]
    assert isinstance(bars, Bars)
    assert all(width(row.label) <= 40 for row in bars.rows)
    assert "…" in bars.rows[0].label


def test_a_missed_budget_on_the_page(full_diagnosis: Diagnosis) -> None:
    ways = (
        Shrink(name="the whole call", kind="call", now_s=0.04, target_s=0.036, part=0.1),
        Shrink(name="decode", kind="stage", now_s=0.012, target_s=0.008, part=1 / 3),
        Shrink(name="note", kind="stage", now_s=0.002, target_s=None, part=None),
    )
    report = BudgetReport(
        limit_s=0.036, at="median", state="missed", value_s=0.04, interval_s=(0.039, 0.041), samples=500, samples_needed=6, excess_s=0.004,
        shrink=ways, because="must lose 4.00 ms: decode 12.0 ms → 8.00 ms (by 33%); or the whole call by 10%",
    )  # fmt: skip
    found = msgspec.structs.replace(full_diagnosis, budget="36ms", budget_state=report, stages=(_stage("decode", 0.3),))
    table = stage_blocks(found)[-1]
    assert isinstance(table, Table)
    assert [[format_cell(cell) for cell in row] for row in table.rows] == [
        ["the whole call", "40.0 ms", "36.0 ms", "10.0%"],
        ["decode", "12.0 ms", "8.00 ms", "33.3%"],
        ["note", "2.00 ms", "—", "—"],
    ]
    assert "must lose 4.00 ms: decode 12.0 ms → 8.00 ms" in html(page(found))


def test_a_hostile_stage_name_stays_text(full_diagnosis: Diagnosis) -> None:
    found = msgspec.structs.replace(full_diagnosis, stages=(_stage("<script>alert(1)</script>", 0.3),))
    assert "<script>alert" not in html(page(found))
