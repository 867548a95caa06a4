from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.readers.chrome.flows import Spans
from ridgeline.readers.chrome.matching import Groups

ITEMS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 8)), max_size=25)
QUERIES = st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 22)), max_size=15)


def columns(rows: list[tuple[int, ...]], width: int) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(-1, width).T)


@given(ITEMS, QUERIES)
def test_enclosing_and_next_are_those_of_a_search_through_all(items: list[tuple[int, int, int]], queries: list[tuple[int, int]]) -> None:
    lane, start, length = columns(items, 3)
    asked_lane, asked_time = columns(queries, 2)
    spans = Spans(lane, start, start + length)
    order = sorted(range(len(items)), key=lambda row: (items[row][1], -items[row][2]))
    for (one, time), inside, following in zip(queries, spans.enclosing(asked_lane, asked_time), spans.next(asked_lane, asked_time), strict=True):
        holding = [row for row in order if items[row][0] == one and items[row][1] <= time <= items[row][1] + items[row][2]]
        later = [row for row in order if items[row][0] == one and items[row][1] >= time]
        assert inside == (holding[-1] if holding else -1) or items[inside] == items[holding[-1]]
        assert following == (later[0] if later else -1) or items[following] == items[later[0]]


@given(ITEMS, QUERIES)
def test_latest_and_next_of_a_group(items: list[tuple[int, int, int]], queries: list[tuple[int, int]]) -> None:
    group, time, _ = columns(items, 3)
    asked_group, asked_time = columns(queries, 2)
    groups = Groups(group, time)
    found = (groups.latest(asked_group, asked_time), groups.next(asked_group, asked_time), groups.latest_or_first(asked_group, asked_time))
    for (one, at), latest, following, either in zip(queries, *found, strict=True):
        times = [row[1] for row in items if row[0] == one]
        before, after = [each for each in times if each <= at], [each for each in times if each >= at]
        assert (items[latest][1] if latest >= 0 else None) == (max(before) if before else None)
        assert (items[following][1] if following >= 0 else None) == (min(after) if after else None)
        assert (items[either][1] if either >= 0 else None) == (max(before) if before else min(times) if times else None)
