"""What repeats in real programs, and what only looks like it; what of their blocks a call touches, and from how far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ridgeline.core import OperatorRow
from ridgeline.measurement.operators.python import profile
from ridgeline.measurement.operators.python.capture import Blocks, seen_call
from ridgeline.measurement.operators.python.identity import fingerprint, is_function, known_arguments
from ridgeline.measurement.operators.python.kinds import Kinds

SETUP = "import json, re, numpy as np\nrng = np.random.default_rng(1)\nm = rng.random((60, 60)) + 60 * np.eye(60)\nbig = rng.random(50_000)\n"


def rows(load: Any, body: str, setup: str = "") -> dict[str, OperatorRow]:
    """Rows of a program by kind; of several rows of one kind the last."""
    source = SETUP + setup + "\ndef main():\n" + "\n".join("    " + line for line in body.splitlines())
    table = profile(lambda transform: load(source, transform).main, iterations=3, budget_s=0.2)
    return {row.kind: row for row in table.rows}


def counts(row: OperatorRow) -> tuple[float, float | None]:
    return row.calls, row.distinct


def test_the_same_matrix_inverted_again_and_all_that_follows(load: Any) -> None:
    found = rows(load, "for _ in range(5):\n    w = np.linalg.inv(m)\n    s = (w @ m).sum()")
    assert [counts(found[kind]) for kind in ("numpy.linalg.inv", "numpy.matmul", "numpy.sum")] == [(5, 1), (5, 1), (5, 1)]


def test_the_same_work_at_two_places_is_new_at_the_first_only(load: Any) -> None:
    source = SETUP + "def main():\n    a = np.sqrt(big)\n    b = np.sqrt(big)\n    return a, b"
    first, second = profile(lambda transform: load(source, transform).main, iterations=3, budget_s=0.2).rows
    assert (counts(first), counts(second)) == ((1, 1), (1, 0))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        # Another matrix each time, by arithmetic, by a stored element, by a slice, by an index array, by a library that writes its argument.
        ("a = m.copy()\nfor k in range(5):\n    a = a + 1.0\n    np.linalg.inv(a)", "numpy.linalg.inv"),
        ("small = m[:8, :8].copy()\nfor k in range(5):\n    small[0, 0] = k + 60.0\n    np.linalg.inv(small)", "numpy.linalg.inv"),
        ("small = m[:8, :8].copy()\nfor k in range(5):\n    small[0, 0] += 1.0\n    np.linalg.inv(small)", "numpy.linalg.inv"),
        ("for k in range(5):\n    big[k : k + 2] = k\n    np.sort(big)", "numpy.sort"),
        ("for k in range(5):\n    big[np.array([k, k + 2])] = k\n    np.sort(big)", "numpy.sort"),
        ("for k in range(5):\n    rng.shuffle(big)\n    np.cumsum(big)", "numpy.cumsum"),
        ("for k in range(5):\n    np.sort(big[k : k + 40_000])", "numpy.sort"),
        ("for k in range(5):\n    np.roll(big, -k)", "numpy.roll"),
        # In place: the second finds what the first left.
        ("for k in range(5):\n    np.multiply(big, 0.9, out=big)", "numpy.multiply"),
        ("for k in range(5):\n    big.sort()", "numpy.sort"),
    ],
)
def test_what_is_given_something_else_does_not_repeat(load: Any, body: str, kind: str) -> None:
    assert counts(rows(load, body)[kind]) == (5, 5)


@pytest.mark.parametrize("store", ["big[k] += 1.0", "big[k] = k", "big[3] = k"])
def test_elements_stored_into_an_array_too_large_to_look_at_leave_it_open(load: Any, store: str) -> None:
    assert counts(rows(load, f"for k in range(5):\n    {store}\n    np.sort(big)")["numpy.sort"]) == (5, None)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("for k in range(5):\n    rng.random(9_000)", "numpy.random.random"),
        ("for k in range(5):\n    np.random.permutation(9_000)", "numpy.random.permutation"),
    ],
)
def test_random_numbers_are_never_the_same_work(load: Any, body: str, kind: str) -> None:
    assert rows(load, body)[kind].distinct is None


def test_arguments_that_cannot_be_compared_are_not_told(load: Any) -> None:
    found = rows(
        load, "for k in range(5):\n    np.sort(big, kind=Odd())", "class Odd(str):\n    def __new__(cls): return str.__new__(cls, 'stable')\n"
    )
    assert found["numpy.sort"].distinct is None


def test_text_and_lists_and_files(load: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    path.write_text("7\n" * 40_000)
    setup = f"text = json.dumps(list(range(20_000)))\nitems = [(k * 7919) % 100_003 for k in range(60_000)]\npath = {str(path)!r}\n"
    body = "for k in range(4):\n    json.loads(text)\n    sorted(items)\n    with open(path) as file:\n        file.read()"
    found = rows(load, body, setup)
    assert counts(found["json.loads"]) == (4, 1)
    assert counts(found["builtins.sorted"]) == (4, 1)
    body = "for k in range(4):\n    json.loads(text[:-1] + ',' + str(k) + ']')\n    items[0] = k\n    sorted(items)"
    found = rows(load, body, setup)
    assert counts(found["json.loads"]) == (4, 4)
    assert counts(found["builtins.sorted"]) == (4, 4)


def test_a_file_that_was_written_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one")
    kinds = Kinds()
    with path.open() as file:
        file.read()
        first, again = known_arguments((file,), kinds), known_arguments((file,), kinds)
    path.write_text("another")
    with path.open() as file:
        file.read()
        changed = known_arguments((file,), kinds)
    with path.open("a") as file:
        assert known_arguments((file,), kinds) is None
    assert first == again
    assert first is not None
    assert first != changed


def test_identities_tell_apart_what_compares_equal() -> None:
    kinds = Kinds()
    values: list[Any] = [1, 1.0, True, "1", b"1", (1,), [1], {1}, {1: 1}, -1, -2, None, slice(1), slice(1, 1), np.float32(1), np.float64(1)]
    assert len({known_arguments((value,), kinds) for value in values}) == len(values)
    assert known_arguments((list(range(100)),), kinds) == known_arguments((list(range(100)),), kinds)
    assert known_arguments((lambda: 1,), kinds) is None
    assert known_arguments(([[[[[[[[1]]]]]]]],), kinds) is None


def test_fingerprints() -> None:
    small, large = np.zeros(10), np.zeros(100_000)
    assert fingerprint(small) == fingerprint(small.copy())
    assert fingerprint(small)[0] is True  # type: ignore[index]
    assert fingerprint(large)[0] is False  # type: ignore[index]
    assert fingerprint(np.array([object()])) is None
    small[3] = 1
    assert fingerprint(small) != fingerprint(np.zeros(10))
    assert fingerprint(np.zeros((0, 3))) == fingerprint(np.zeros((0, 3)))


def test_names_of_functions() -> None:
    assert all(map(is_function, ("numpy.linalg.inv", "scipy.fft.fft", "json.loads", "re.compile", "builtins.sorted")))
    assert not any(map(is_function, ("numpy.random.rand", "scipy.stats.norm", "numpy.save", "subprocess.run", "time.sleep", "builtins.list.sort")))


def test_captures_without_care_take_nothing_down() -> None:
    blocks, kinds = Blocks(), Kinds()
    blocks.wanted = False
    seen = seen_call(np.add, (np.ones(3), 1), {}, np.ones(3), kinds, blocks, lambda value: False)
    assert (seen.arguments, seen.prints) == (None, ())


def test_more_captures_than_can_be_afforded_leave_the_rest_open(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.measurement.operators.python import recorder

    monkeypatch.setattr(recorder, "MOST_CAREFUL", 3)
    found = rows(load, "np.sqrt(big)\nfor k in range(5):\n    np.exp(big)")
    assert counts(found["numpy.sqrt"]) == (1, 1)
    assert counts(found["numpy.exp"]) == (5, None)


def test_a_loop_over_tiles_and_a_loop_over_everything(load: Any) -> None:
    tiles = rows(load, "for k in range(0, 50_000, 5_000):\n    big[k : k + 5_000].min()\n    big[k : k + 5_000].max()")
    read = {kind: tiles[kind].reads[0] for kind in ("numpy.min", "numpy.max")}  # type: ignore[index]
    assert {use.size_bytes for use in read.values()} == {40_000}
    assert {use.span_bytes for use in read.values()} == {400_000}
    # The first operator brings a tile from a whole round away, the second finds it where the first left it.
    assert (read["numpy.min"].reuse_bytes, read["numpy.max"].reuse_bytes) == (400_000, 40_000)
    whole = rows(load, "for k in range(10):\n    big.min()")["numpy.min"].reads[0]  # type: ignore[index]
    assert (whole.size_bytes, whole.span_bytes, whole.reuse_bytes) == (400_000, None, 400_000)
