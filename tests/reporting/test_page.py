"""The page as data: its order, its numbers, and that doubt stays."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import CoreToCore, Diagnosis, Quantity, Where
from ridgeline.core.units import parse
from ridgeline.reporting import Bars, Cell, Items, Page, Pairs, Table, format_cell, html_report, page, terminal
from ridgeline.reporting.diagnosis_page import place
from ridgeline.reporting.page import Paragraph, count, fraction, missing, quantity, seconds, share, speedup

_ORDER = [
    "Verdict", "What to do", "What was tried", "How long it really takes", "Where the time goes", "Operators", "Levels", "Evidence", "Runners-up",
    "Warnings", "What could not be measured", "How to reproduce",
]  # fmt: skip


def _section(found: Page, title: str) -> tuple[object, ...]:
    return next(section.blocks for section in found.sections if section.title == title)


def _pairs(found: Page, title: str) -> dict[str, Cell]:
    return {pair.label: pair.cell for block in _section(found, title) if isinstance(block, Pairs | Bars) for pair in block.rows}


def _notes(found: Page, title: str) -> dict[str, str]:
    return {pair.label: pair.remark for block in _section(found, title) if isinstance(block, Pairs | Bars) for pair in block.rows}


def _table(found: Page, title: str) -> Table:
    return next(block for block in _section(found, title) if isinstance(block, Table))


def _items(found: Page, title: str) -> list[Items]:
    return [block for block in _section(found, title) if isinstance(block, Items)]


def test_the_verdict_comes_first_and_all_parts_follow(full_diagnosis: Diagnosis) -> None:
    found = page(full_diagnosis)
    assert [section.title for section in found.sections] == _ORDER
    assert found.headline == "/encoder/layer.0/MatMul: bandwidth bound, weight-traffic, 46.3% of the time."
    verdict = _pairs(found, "Verdict")
    assert (verdict["bound"].value, verdict["cause"].value, verdict["share"].value) == ("bandwidth", "weight-traffic", 0.463)
    assert "suspected" in _notes(found, "Verdict")["cause"]


def test_the_headline_of_the_diagnosis_goes_before_ours(full_diagnosis: Diagnosis) -> None:
    found = page(msgspec.structs.replace(full_diagnosis, headline="Weights. 4.00 MB of weights are read for one use."))
    assert found.headline.startswith("Weights.")
    # What the headline says already is not said twice.
    assert len(_section(found, "Verdict")) == 1


def test_confirmed_is_said(full_diagnosis: Diagnosis) -> None:
    confirmed = msgspec.structs.replace(full_diagnosis.bottleneck, confirmed=True)
    assert _notes(page(msgspec.structs.replace(full_diagnosis, bottleneck=confirmed)), "Verdict")["cause"].startswith("confirmed")


def test_actions_are_ranked_and_the_combination_is_apart(full_diagnosis: Diagnosis) -> None:
    ranked, joint = _items(page(full_diagnosis), "What to do")
    assert [item.title for item in ranked.items] == ["quantise-weights: /encoder/layer.0/MatMul", "batch"]
    assert ranked.numbered
    assert [item.title for item in joint.items] == ["together: quantise-weights + batch"]
    gain, after = ranked.items[0].numbers
    assert format_cell(gain.cell) == "1.31–1.53×"
    assert after.cell.value == "8.20 ms – 9.50 ms"
    assert after.label == "median after"
    period_gain, period_after = ranked.items[1].numbers
    assert "one call gets no shorter" in period_gain.note
    # What comes faster is the results; the median of a call that gets no shorter stays.
    assert period_after.label == "time between results after"


def test_of_a_wait_that_blocks_it_is_not_claimed_that_a_call_gets_no_shorter(full_diagnosis: Diagnosis) -> None:
    batch = full_diagnosis.actions[1]
    blocking = msgspec.structs.replace(batch, action="block-instead")
    ranked, _ = _items(
        page(msgspec.structs.replace(full_diagnosis, actions=(full_diagnosis.actions[0], blocking, full_diagnosis.actions[2]))), "What to do"
    )
    assert "no shorter" not in ranked.items[1].numbers[0].note
    assert ranked.items[1].numbers[1].label == "time between results after"


def test_a_wall_split_and_a_gap_of_changed_calls_say_so(full_diagnosis: Diagnosis) -> None:
    def captions(diagnosis: Diagnosis) -> list[str]:
        return [block.caption for block in _section(page(diagnosis), "Where the time goes") if isinstance(block, Pairs | Bars)]

    assert not any("changed" in caption for caption in captions(full_diagnosis))
    split = msgspec.structs.replace(full_diagnosis.wall_split, perturbed=True)
    levels = tuple(msgspec.structs.replace(level, perturbed=True) for level in full_diagnosis.levels)
    changed = captions(msgspec.structs.replace(full_diagnosis, wall_split=split, levels=levels))
    assert ["changed" in caption for caption in changed if caption.startswith(("shares", "overhead"))] == [True, True]


@pytest.mark.parametrize(("value", "most", "written"), [(None, None, "—"), (None, 4e-5, "at most 40.0 µs"), (2e-5, 4e-5, "20.0 µs")])
def test_a_hand_off_time_that_is_not_known_is_not_zero(full_diagnosis: Diagnosis, value: float | None, most: float | None, written: str) -> None:
    cut = msgspec.structs.replace(full_diagnosis.partitions, handoffs=6, handoff_s=value, handoff_at_most_s=most)
    cells = _pairs(page(msgspec.structs.replace(full_diagnosis, partitions=cut)), "Operators")
    assert format_cell(cells["hand-off time"]) == written


def test_ground_truth_keeps_its_intervals(full_diagnosis: Diagnosis) -> None:
    cells = _pairs(page(full_diagnosis), "How long it really takes")
    assert (cells["median"].value, cells["median"].low, cells["median"].high) == (0.0125, 0.0124, 0.0127)
    assert (cells["p99"].low, cells["p99"].high) == (0.0188, 0.0312)
    assert cells["samples"].value == 500


def test_a_p99_of_too_few_samples_says_how_many_it_needs(full_diagnosis: Diagnosis) -> None:
    truth = msgspec.structs.replace(full_diagnosis.ground_truth, samples=120, p99_s=None, p99_ci_s=None, first_s=None, noise_floor=None)
    found = page(msgspec.structs.replace(full_diagnosis, ground_truth=truth))
    cells, notes = _pairs(found, "How long it really takes"), _notes(found, "How long it really takes")
    assert cells["p99"].value is None
    assert notes["p99"] == "needs 299 samples, has 120"
    assert cells["first call"].value is None
    assert notes["first call"]
    assert notes["noise floor"]


def test_operators_are_the_ten_that_take_the_most(full_diagnosis: Diagnosis) -> None:
    shuffled = msgspec.structs.replace(full_diagnosis, operators=full_diagnosis.operators[::-1])
    table = _table(page(shuffled), "Operators")
    times = [row[3].value for row in table.rows]
    assert len(times) == 10
    assert times == sorted(times, reverse=True)
    assert table.note == "4 more in the JSON."
    assert "(inserted)" in str(table.rows[3][0].value)


def test_a_perturbed_level_leaves_no_zero_behind(full_diagnosis: Diagnosis) -> None:
    lost = tuple(
        msgspec.structs.replace(op, total_s=None, share=None, f_c=None, f_b=None, reason="no formula") for op in full_diagnosis.operators[:2]
    )
    table = _table(page(msgspec.structs.replace(full_diagnosis, operators=lost)), "Operators")
    assert [format_cell(cell) for cell in table.rows[0][3:7]] == ["—"] * 4
    assert table.reasons() == "time, share: the level was perturbed; f_c, f_b: no formula"


def test_what_could_not_be_measured_is_said_once(full_diagnosis: Diagnosis) -> None:
    (items,) = _items(page(full_diagnosis), "What could not be measured")
    assert [item.title for item in items.items] == ["counters: no PMU in this machine"]


def test_each_level_says_what_its_observer_did(full_diagnosis: Diagnosis) -> None:
    straddling = full_diagnosis.levels[1]
    levels = (
        msgspec.structs.replace(full_diagnosis.levels[0], perturbed=None),
        straddling,
        msgspec.structs.replace(straddling, perturbed=True),
        msgspec.structs.replace(straddling, perturbed=False),
        msgspec.structs.replace(straddling, ratio_to_ground_truth=None),
        full_diagnosis.levels[2],
    )
    table = _table(page(msgspec.structs.replace(full_diagnosis, levels=levels)), "Levels")
    starts = ["the ground truth", "undecided", "perturbed", "clean", "not checked", "skipped: no PMU"]
    assert all(str(row[4].value).startswith(start) for row, start in zip(table.rows, starts, strict=True))


def test_warnings_carry_their_effect(full_diagnosis: Diagnosis) -> None:
    (items,) = _items(page(full_diagnosis), "Warnings")
    assert items.items[0].title == "synthetic-input: inputs were generated"
    assert items.items[0].detail == "data-dependent branches may differ"


def test_the_recipe_names_what_must_be_alike(full_diagnosis: Diagnosis) -> None:
    cells = _pairs(page(full_diagnosis), "How to reproduce")
    assert cells["command"].value == "ridgeline diagnose --budget 33.3ms@p99 model.onnx"
    assert cells["software"].value == "onnxruntime 1.32, python 3.11.7"
    assert cells["stolen"].value == 0.003
    assert cells["governor"].value is None


@pytest.mark.parametrize(
    ("found", "value", "said"),
    [
        (CoreToCore(looks_s=(4e-8, 2e-7, 4.4e-8)), 4.4e-8, "40.0 ns to 200 ns"), (CoreToCore(looks_s=(4e-8,)), 4e-8, "two cores"),
        (CoreToCore(missing="one CPU alone"), None, "one CPU alone"),
    ],
)  # fmt: skip
def test_how_far_apart_the_cores_were(full_diagnosis: Diagnosis, found: CoreToCore, value: float | None, said: str) -> None:
    clock = msgspec.structs.replace(full_diagnosis.clock, core_to_core=found)
    made = page(msgspec.structs.replace(full_diagnosis, clock=clock))
    assert _pairs(made, "How to reproduce")["core to core"].value == value
    assert said in terminal(made, 160, False)
    assert "core to core" not in terminal(page(full_diagnosis), 160, False), "a diagnosis of before"


@pytest.mark.parametrize(("budget", "state"), [("33.3ms@p99", "met"), ("15ms@p99", "missed"), ("20ms@p99", "undecided"), ("12ms", "missed")])
def test_a_budget_is_met_missed_or_undecided(full_diagnosis: Diagnosis, budget: str, state: str) -> None:
    assert _pairs(page(msgspec.structs.replace(full_diagnosis, budget=budget)), "Verdict")["budget"].value == state


def test_nothing_known_is_said_and_never_zero(empty_diagnosis: Diagnosis) -> None:
    found = page(empty_diagnosis)
    assert found.tone == "unsure"
    assert found.headline.startswith("Inconclusive")
    for section in found.sections:
        for block in section.blocks:
            if isinstance(block, Pairs):
                for pair in block.rows:
                    assert pair.cell.value != 0
                    assert pair.cell.known or pair.remark


def test_healthy_is_said(full_diagnosis: Diagnosis) -> None:
    found = page(msgspec.structs.replace(full_diagnosis, bottleneck=None, actions=(), bound="none"))
    assert found.tone == "good"
    assert found.headline.startswith("Healthy")


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Where(), "the whole target"),
        (Where(file="a.py", line=3), "a.py:3"),
        (Where(function="f"), "f"),
        (Where(lane="machine"), "machine"),
        (Where(operator="conv", lane="loader"), "conv, lane loader"),
        (Where(operator="conv", stage="detect"), "conv, stage detect"),
        (Where(operator="conv", file="a.py"), "conv, in a.py"),
    ],
)
def test_places(where: Where, text: str) -> None:
    assert place(where) == text


def test_an_interval_is_never_rounded_away() -> None:
    assert format_cell(seconds(0.0125, (0.012499, 0.012501))) == "12.500 ms [12.499 ms, 12.501 ms]"


@given(st.floats(1e-9, 1e6), st.floats(1e-5, 0.5))
def test_formatted_times_read_back_in_order(value: float, relative: float) -> None:
    text = format_cell(seconds(value, (value * (1 - relative), value * (1 + relative))))
    middle, _, rest = text.partition(" [")
    low, high = rest.rstrip("]").split(", ")
    assert parse(low, "s") < parse(high, "s")
    assert parse(low, "s") <= parse(middle, "s") <= parse(high, "s")
    assert parse(middle, "s") == pytest.approx(value, rel=6e-3)


def test_cells() -> None:
    assert format_cell(share(0.0004)) == "<0.1%"
    assert [format_cell(count(value)) for value in (0, 7, 2000, 2.5, 1234.56)] == ["0", "7", "2000", "2.5", "1234.6"]
    assert format_cell(count(2.5)) == "2.5"
    assert format_cell(missing("because")) == "—"
    assert format_cell(fraction(None, "because")) == "—"
    wide = Quantity(value=0.0957, low=0.0796, high=0.142, confidence=0.95, unit="1", source="measured")
    assert format_cell(fraction(wide)) == "0.10 [0.08, 0.14]"
    narrow = Quantity(value=0.5, low=0.4996, high=0.5001, confidence=0.95, unit="1", source="measured")
    assert format_cell(fraction(narrow)) == "0.5000 [0.4996, 0.5001]"
    assert format_cell(fraction(Quantity.exact(0.0001, "1"))) == "<0.01"
    assert format_cell(speedup((1.5, 1.5))) == "1.50×"
    assert format_cell(quantity(Quantity.exact(4e6, "B"))) == "4.00 MB"


def test_what_ran_beside_other_work_is_marked(full_diagnosis: Diagnosis) -> None:
    disturbed = msgspec.structs.replace(full_diagnosis, bottleneck=msgspec.structs.replace(full_diagnosis.bottleneck, cause="interference"))
    for title in ("Operators", "Runners-up"):
        assert _paragraphs(page(disturbed), title)[0].startswith("Measured beside other work (interference)")
        assert not any("Measured beside other work" in text for text in _paragraphs(page(full_diagnosis), title))
    assert any("on a quiet machine first" in text for text in _paragraphs(page(disturbed), "What to do"))
    assert "Measured beside other work (interference)" in html_report(disturbed)


def test_an_open_verdict_says_what_is_missing_where_it_is_known(full_diagnosis: Diagnosis) -> None:
    opened = msgspec.structs.replace(full_diagnosis, bottleneck=None, bound="inconclusive", actions=(), tried=(), untried=(), missing=())
    assert _paragraphs(page(opened), "What to do") == ["Nothing is promised while the verdict is open."]
    told = msgspec.structs.replace(opened, missing=("mechanism: no event counters",))
    assert "What is missing: mechanism: no event counters." in _paragraphs(page(told), "What to do")[0]


def _paragraphs(found: Page, title: str) -> list[str]:
    return [block.text for block in _section(found, title) if isinstance(block, Paragraph)]


def test_places_are_shown_from_the_working_directory_on_and_stay_whole_in_the_data(
    full_diagnosis: Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = Where(function="step", file=str(tmp_path / "net.py"), line=7)
    other = msgspec.structs.replace(full_diagnosis.runners_up[0], where=source)
    moved = msgspec.structs.replace(full_diagnosis, bottleneck=msgspec.structs.replace(full_diagnosis.bottleneck, where=source), runners_up=(other,))
    shown = str(msgspec.to_builtins(page(moved)))
    assert shown.count("step at net.py:7") == 3  # headline, where, runner-up
    assert str(tmp_path) not in shown
    assert moved.bottleneck.where.file == str(tmp_path / "net.py")


@pytest.mark.parametrize(("operators", "said"), [(3, "3 operators together"), (1, "")])
def test_a_share_of_several_operators_is_said_to_be_theirs(full_diagnosis: Diagnosis, operators: int, said: str) -> None:
    assert full_diagnosis.bottleneck is not None
    several = msgspec.structs.replace(full_diagnosis, bottleneck=msgspec.structs.replace(full_diagnosis.bottleneck, operators=operators))
    for text in (terminal(page(several)), html_report(several)):
        assert ("operators together" in text) is bool(said)
        assert said in text
