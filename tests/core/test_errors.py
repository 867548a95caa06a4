"""Errors: always one printable line, an exit code by class, and unharmed on the way between processes."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.core import errors
from ridgeline.core.errors import ReadError, RidgelineError, UsageError

LEAVES = [getattr(errors, name) for name in errors.__all__]
EXIT_CODES = {
    "RidgelineError": 70, "UsageError": 2, "ReadError": 2, "TargetFailed": 2, "OutOfRange": 2, "NotComparable": 2, "Unstable": 3,
    "BackendUnavailable": 4, "PluginError": 4,
}  # fmt: skip


@given(st.text(), st.text(), st.text())
def test_every_error_is_one_printable_line(expected: str, found: str, remedy: str) -> None:
    line = str(UsageError(expected, found=found, remedy=remedy))
    assert line.isprintable()
    assert len(line) < 20_000


@pytest.mark.parametrize("hostile", ["a\nb", "a\r\nb", "\x1b[31mred", "\x00", "\u2028", "\udc80name", "\x85"])
def test_what_a_file_name_may_carry_is_made_harmless(hostile: str) -> None:
    line = str(ReadError("a file", found=hostile))
    assert line.isprintable()
    line.encode("utf-8")


def test_a_megabyte_is_shortened_in_the_middle() -> None:
    line = str(ReadError("a file", found="begin " + "x" * 10**6 + " end", remedy="look"))
    assert len(line) < 2000
    assert "begin" in line
    assert line.endswith("to do: look")


def test_the_three_parts_are_said_in_order() -> None:
    error = ReadError("a model.", found="a text.", remedy="give a model.")
    assert str(error) == "expected a model; found: a text; to do: give a model"
    assert (error.expected, error.found, error.remedy) == ("a model.", "a text.", "give a model.")
    assert str(ReadError("a model")) == "expected a model"


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_exit_codes_and_pickling(kind: type[RidgelineError]) -> None:
    assert kind.exit_code == EXIT_CODES[kind.__name__]
    assert issubclass(kind, RidgelineError)
    error = kind("a", found="b", remedy="c")
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert str(back) == str(error)


def test_every_leaf_has_an_exit_code_here() -> None:
    assert set(EXIT_CODES) == set(errors.__all__)
