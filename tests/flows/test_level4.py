"""Level 4 as it asks the child: which rows, on another layout or in tiles, in which process, and when not at all."""

from __future__ import annotations

from typing import Any

import pytest

from ridgeline.core import BackendUnavailable, BufferUse, Facts, Need, PrimitiveTable, Relayout
from ridgeline.flows.instruments import level4, satisfy
from support.facts_by_hand import MB, around, buffer, exact, facts, row


class Child:
    """Stands for the surroundings: takes down what it is asked and answers what it was given."""

    budget_s = 6.0

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, []

    def report(self, label: str, value: float | None) -> None:
        pass

    def call(self, function: str, returns: Any, **arguments: Any) -> Any:
        self.asked.append((function, "held", arguments))
        return self.answer

    def call_apart(self, function: str, returns: Any, **arguments: Any) -> Any:
        self.asked.append((function, "apart", arguments))
        return self.answer


def program(kind: str = "numpy.subtract", wall_s: float = 0.1) -> Facts:
    jump = row(
        "jump", 0.4 * wall_s, group="elementwise", kind=kind, reads=(BufferUse(buffer=7, size_bytes=MB, stride_bytes=4096),), writes=(), shapes="f32"
    )
    passes = [
        row(f"pass{n}", 0.018, group="reduction", engine="reduce", flop=25e6, reads=(buffer(1, 100 * MB),), threads=1, kind=kind) for n in range(3)
    ]
    return facts([jump, *passes], wall_s=wall_s)


FOUND = (Relayout(operator=0, as_is_s=around(0.04, "s"), changed_s=around(0.01, "s"), layout="side by side"),)


@pytest.mark.parametrize(("kind", "asked"), [("numpy.subtract", ("repeated_relayouts", "apart")), ("aten::sub", ("relayouts", "held"))])
def test_rows_are_repeated_where_their_library_is(kind: str, asked: tuple[str, str]) -> None:
    child = Child(FOUND)
    after = level4.relayouts(child, program(kind))  # type: ignore[arg-type]
    assert after.relayouts == FOUND
    function, where, arguments = child.asked[0]
    assert (function, where) == asked
    # The strided one on another layout, the passes in tiles of half the cache.
    assert [(one.index, one.name, one.tile_bytes) for one in arguments["rows"]] == [
        (0, "jump", 0),
        (1, "pass0", MB),
        (2, "pass1", MB),
        (3, "pass2", MB),
    ]
    assert arguments["seconds"] == pytest.approx(1.0)


def test_the_log_is_matched_to_every_row() -> None:
    table = PrimitiveTable(primitives=(), library="oneDNN", instrument="by hand", wall_s=exact(1.0, "s"))
    child = Child(table)
    assert level4.primitives(child, program()).primitives == table  # type: ignore[arg-type]
    function, where, arguments = child.asked[0]
    assert (function, where) == ("primitives", "apart")
    assert [one.index for one in arguments["rows"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("instrument", [level4.relayouts, level4.primitives])
def test_a_call_longer_than_the_budget_is_not_repeated(instrument: Any) -> None:
    with pytest.raises(BackendUnavailable, match="--time-budget"):
        instrument(Child(()), program(wall_s=7.0))


def test_what_could_not_be_had_is_not_asked_for_again() -> None:
    child = Child(())
    after = satisfy(Need(level=4, instrument="relayouts"), child, program(wall_s=7.0))  # type: ignore[arg-type]
    assert "relayouts" in after.cannot
    assert after.levels[-1].skipped
    assert not child.asked
