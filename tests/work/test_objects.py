"""Which calls are known to go through Python objects."""

from __future__ import annotations

import pytest

from ridgeline.work.objects import walks_objects


@pytest.mark.parametrize("kind", ["zlib.compress", "hashlib.HASH.update", "re.sub", "lib.array", "lib.Frame.sum", "numpy.load"])
def test_a_name_that_only_looks_alike_says_nothing(kind):
    assert not walks_objects(kind, None, 0.01)
    assert not walks_objects(kind, 0, 0.01)


def test_of_a_known_kind_the_count_may_still_speak_against_it():
    assert walks_objects("json.loads", None, 0.01)
    assert walks_objects("json.loads", 50_000, 0.01)
    # One text of megabytes in a list is read as one piece.
    assert not walks_objects("json.loads", 1, 0.01)


def test_a_builtin_may_go_through_what_has_no_length():
    assert walks_objects("builtins.sum", 0, 0.01)
    assert walks_objects("sorted", 0, 0.01)
