from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.readers.chrome.pairs import Marked, paired

# (thread, begin or end, name; −1: an end without one), one a microsecond.
EVENTS = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(-1, 2)), max_size=40)


def by_stack(events: list[tuple[int, bool, int]]) -> tuple[set[tuple[int, int]], set[int], set[int]]:
    """The oracle: one stack a thread; an end with a name closes the innermost open begin of that name."""
    stacks: dict[int, list[tuple[int, int]]] = {}
    pairs, surplus = set(), set()
    for order, (thread, begins, name) in enumerate(events):
        stack = stacks.setdefault(thread, [])
        if begins:
            stack.append((order, max(name, 0)))
            continue
        place = next((at for at in range(len(stack) - 1, -1, -1) if name < 0 or stack[at][1] == name), None)
        if place is None:
            surplus.add(order)
        else:
            pairs.add((stack.pop(place)[0], order))
    return pairs, {order for stack in stacks.values() for order, _ in stack}, surplus


def run(events: list[tuple[int, bool, int]], shuffle: int = 0) -> tuple[set[tuple[int, int]], set[int], set[int]]:
    rng = np.random.default_rng(shuffle)
    kept = [(order, *event) for order, event in enumerate(events)]
    if shuffle:
        rng.shuffle(kept)  # type: ignore[arg-type]
    begins = np.array([(thread, order, max(name, 0)) for order, thread, begin, name in kept if begin], np.int64).reshape(-1, 3)
    ends = np.array([(thread, order, name) for order, thread, begin, name in kept if not begin], np.int64).reshape(-1, 3)
    found = paired(*(Marked(each[:, 0], each[:, 1], each[:, 1], each[:, 2]) for each in (begins, ends)))
    pairs = {(int(begins[b, 1]), int(ends[e, 1])) for b, e in zip(found.begin, found.end, strict=True)}
    return pairs, set(begins[found.open_begins, 1].tolist()), set(ends[found.surplus_ends, 1].tolist())


@given(EVENTS)
def test_as_with_a_stack_for_each_thread(events: list[tuple[int, bool, int]]) -> None:
    # Nesting and names can only be told apart by a stack where they contradict each other: such threads are left to the other test.
    nested = [(thread, begins, -1 if not begins else name) for thread, begins, name in events]
    assert run(nested) == by_stack(nested)


@given(EVENTS)
def test_nothing_is_lost_or_used_twice(events: list[tuple[int, bool, int]]) -> None:
    pairs, opened, surplus = run(events)
    used = [order for pair in pairs for order in pair] + list(opened) + list(surplus)
    assert sorted(used) == list(range(len(events)))
    assert all(begin < end and events[begin][0] == events[end][0] for begin, end in pairs)


@given(EVENTS, st.integers(1, 5))
def test_the_order_in_which_they_are_given_does_not_matter(events: list[tuple[int, bool, int]], seed: int) -> None:
    assert run(events) == run(events, seed)


def test_names_decide_where_they_contradict_nesting() -> None:
    crossing = [(0, True, 1), (0, True, 2), (0, False, 1), (0, False, 2)]
    assert run(crossing) == ({(0, 2), (1, 3)}, set(), set())
    unknown = [(0, True, 1), (0, False, 2)]
    assert run(unknown) == (set(), {0}, {1})


def test_a_surplus_end_does_not_spoil_what_follows() -> None:
    assert run([(0, False, -1), (0, True, 1), (0, False, 1), (1, True, 1)]) == ({(1, 2)}, {3}, {0})
