"""The page of a difference: what changed in one sentence, names or functions below it, nothing that nobody measured."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Excluded, FrameChange, Growth, TimelineDifference
from ridgeline.reporting import markdown, terminal
from ridgeline.reporting.difference_page import difference_page

EXCLUDED = (Excluded(reason="negative duration", events=3, total_s=0.0, first="byte 77"),)
GREW = FrameChange(
    function="solve", own=(200, 500), own_share=(0.2, 0.35), total_share=(0.4, 0.5), change="grew", difference_ci=(0.1, 0.2),
    total_change="inconclusive", total_difference_ci=(-0.02, 0.22),
)  # fmt: skip
UNSURE = msgspec.structs.replace(GREW, function="odd", change="inconclusive", own_share=(0.01, 0.012), difference_ci=(-0.1, 0.1))
PROFILES = TimelineDifference(
    a=("a.txt",), b=("b.txt",), window_s=(None, None), verdict="inconclusive", rows=(), per="profile", functions=(GREW, UNSURE), neutral=5,
    measure="cpu", samples=(1000.0, None),
)  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "tone", "said"),
    [
        ("faster", "good", "B is faster: 200 ms → 100 ms from one iteration to the next; most of all gemm shrank."),
        ("slower", "bad", "B is slower"),
        ("same", "plain", "No difference beyond noise"),
        ("inconclusive", "unsure", "cannot be told"),
        ("incomparable", "unsure", "no two traces of one program"),
    ],
)
def test_a_difference_says_which_is_faster_and_what_changed(verdict: str, tone: str, said: str) -> None:
    rows = (
        Growth(name="gemm", kind="compute", change="shrank", calls=(4.0, 4.0), seconds=(0.1, 0.02), ratio=0.2, ratio_ci=(0.19, 0.21)),
        Growth(name="new", kind="compute", change="appeared", calls=(0.0, 1.0), seconds=(0.0, 0.01)),
    )
    found = TimelineDifference(a=("a",), b=("b",), window_s=(0.2, 0.1), verdict=verdict, rows=rows, neutral=7, per="iteration", excluded=EXCLUDED)  # type: ignore[arg-type]
    page = difference_page(found)
    assert said in page.headline
    assert page.tone == tone
    text = " ".join(terminal(page, 140, False).split())
    assert "7 names did not change" in text
    assert "0.2 [0.19, 0.21]" in text or "0.200 [0.190, 0.210]" in text
    assert "negative duration: 3 events" in text


def test_functions_say_what_grew_and_that_no_time_follows() -> None:
    page = difference_page(PROFILES)
    assert page.headline == (
        "1 function changed its share, most of all solve grew (20.0% → 35.0% in itself); which program is faster shares cannot tell."
    )
    text = " ".join(terminal(page, 200).split())
    assert "A 1000 samples of cpu a.txt" in text
    assert "B — b.txt: no number of samples is known" in text
    assert "[10.0%, 20.0%]" in text
    assert "5 functions did not change." in text
    assert " 0 s" not in markdown(page)
    assert "solve" in terminal(page, 80)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"functions": (), "verdict": "same"}, "No function takes another share than before, beyond chance."),
        ({"functions": (UNSURE,)}, "It cannot be told whether any function takes another share: of 1 chance alone may explain what differs."),
        (
            {"functions": (msgspec.structs.replace(UNSURE, total_change="shrank"),)},
            "1 function changed its share, most of all odd shrank (40.0%",
        ),
        ({"verdict": "incomparable", "functions": ()}, "These are no two profiles of one program."),
    ],
)
def test_what_samples_cannot_tell_is_said(changed: dict[str, object], said: str) -> None:
    assert difference_page(msgspec.structs.replace(PROFILES, **changed)).headline.startswith(said)


def test_a_window_that_nobody_measured_is_a_dash_with_its_file() -> None:
    found = TimelineDifference(a=("a.txt",), b=("b.txt",), window_s=(None, 0.5), verdict="incomparable", rows=())
    text = " ".join(terminal(difference_page(found), 120).split())
    assert "A — a.txt: the file does not tell how long it is B 500 ms b.txt" in text
