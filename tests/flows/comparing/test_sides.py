"""What A and B mean: each form once, every ambiguity refused in one line."""

from __future__ import annotations

import functools
import textwrap

import pytest

from ridgeline.core import UsageError
from ridgeline.flows.comparing.options import SideOptions
from ridgeline.flows.comparing.sides import CallableSide, FileSide, LiveSide, RevisionSide, RunSide, side_of, sort_of_both


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text("def f():\n    return 1\n")
    (tmp_path / "model.onnx").write_bytes(b"")
    (tmp_path / "results.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("work.py:f", "python"),
        ("package.module:function", "python"),
        ("work.py", "script"),
        ("model.onnx", "onnx"),
        ("sort work.py", "command"),
        ("sort -r 'a b'", "command"),
    ],
)
def test_live_forms(folder, text, kind):
    side = side_of(text, options=SideOptions(threads=2, seed=3))
    assert isinstance(side, LiveSide)
    assert (side.spec.kind, side.spec.threads, side.spec.seed) == (kind, 2, 3)


@pytest.mark.parametrize("text", ["latest", "last", "-1", "-12", "20260102T030405-00000abc", "20260102T03", "20260102"])
def test_runs(folder, text):
    assert side_of(text) == RunSide(name=text)


@pytest.mark.parametrize("text", ["results.json", "./results.json", "missing.json"])
def test_files(folder, text):
    assert side_of(text) == FileSide(name=text)


def test_words_of_revisions_and_commands(folder):
    assert side_of("latest", revision=True) == RevisionSide(name="latest")
    assert side_of("sort", command=True).spec.kind == "command"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a\0b", "zero bytes"),
        ("sort", "--command"),
        ("main", "--target TARGET"),
        ("nosuchprogram -r x", "whose first word is no program"),
        ('sort "a', "quotes do not close"),
        ("gone.onnx", "gone.onnx"),
    ],
)
def test_refused_in_one_line(folder, text, words):
    with pytest.raises(UsageError) as caught:
        side_of(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_called_like_a_run_is_refused(folder):
    (folder / "latest").write_text("{}")
    with pytest.raises(UsageError, match=r"a run and a result file.*\./latest"):
        side_of("latest")
    assert side_of("./latest") == FileSide(name="./latest")


def test_callables():
    named = side_of(textwrap.dedent, options=SideOptions(seed=4))
    assert isinstance(named, LiveSide)
    assert (named.spec.module, named.spec.function, named.spec.seed) == ("textwrap", "dedent", 4)
    assert isinstance(side_of(lambda: 1), CallableSide)
    assert isinstance(side_of(functools.partial(textwrap.dedent, "")), CallableSide)


@pytest.mark.parametrize(
    ("a", "b", "sort"),
    [("latest", "results.json", "stored"), ("work.py:f", "model.onnx", "live"), ("sort work.py", "work.py:f", "live")],
)
def test_sorts(folder, a, b, sort):
    assert sort_of_both(side_of(a), side_of(b)) == sort


def test_unlike_sorts_are_refused_by_name(folder):
    with pytest.raises(UsageError, match=r"a stored run 'latest' and a target 'work.py:f'"):
        sort_of_both(side_of("latest"), side_of("work.py:f"))
