"""What an earlier run lets expect of a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ridgeline.core import Column, Series
from ridgeline.flows.comparing import earlier
from ridgeline.flows.comparing.sides import LiveSide
from ridgeline.machine import read_machine
from ridgeline.targets import parse_target


class Book:
    def runs(self, limit: int, wanted: Any) -> list[Any]:
        return [type("Summary", (), {"id": "r1"})()]

    def get(self, identity: str) -> str:
        return identity


@pytest.mark.parametrize(("processes", "said"), [(1, False), (8, True)])
def test_of_one_process_nothing_is_expected(monkeypatch: pytest.MonkeyPatch, processes: int, said: bool) -> None:
    values = 1e-3 * (1 + 0.01 * np.random.default_rng(0).exponential(size=40 * processes))
    series = Series(name="f", values=Column(values, "s"), process=Column(np.arange(values.size) // 40, "count"))
    monkeypatch.setattr(earlier, "latency_of", lambda run: series)
    side = LiveSide(name="f", spec=parse_target("json:dumps"))
    words = earlier.earlier_words(Book(), side, read_machine(), 0.97)  # type: ignore[arg-type]
    assert ("8 processes a side would see" in words) is said
