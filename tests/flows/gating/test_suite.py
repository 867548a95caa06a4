"""Which benchmarks words mean: suites, Python files that are parsed and never run, and everything that is wrong with one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import ReadError, RidgelineError, UsageError
from ridgeline.flows.gating.suite import defines, parse_predicted, read_cases


def _toml(folder: Path, text: str) -> str:
    (folder / "suite.toml").write_text(text)
    return str(folder / "suite.toml")


def test_a_suite(tmp_path: Path) -> None:
    suite = _toml(
        tmp_path,
        """
        margin = 0.05
        [[benchmark]]
        name = "parse"
        target = "bench.py:parse"
        [[benchmark]]
        command = ["sort", "words.txt"]
        margin = 0.1
        [[benchmark]]
        target = "m.onnx"
        predicted = "4ms..5ms"
        tolerance = 0.2
        threads = 2
        """,
    )
    parse, sort, model = read_cases([suite])
    assert (parse.name, parse.target, parse.margin) == ("parse", "bench.py:parse", 0.05)
    assert (sort.name, sort.command, sort.margin) == ("sort words.txt", ("sort", "words.txt"), 0.1)
    assert model.predicted is not None
    assert (model.predicted.low_s, model.predicted.high_s, model.predicted.tolerance, model.threads) == (0.004, 0.005, 0.2, 2)


def test_functions_of_a_python_file_are_found_without_running_it(tmp_path: Path) -> None:
    file = tmp_path / "all.py"
    file.write_text("raise SystemExit('never run')\ndef bench_a(): pass\ndef helper(): pass\nasync def bench_later(): pass\ndef bench_b(): pass\n")
    assert [(case.name, case.target) for case in read_cases([str(file)])] == [
        (name, f"{file}:{name}") for name in ("bench_a", "bench_later", "bench_b")
    ]
    (tmp_path / "script.py").write_text("print(1)\n")
    (script,) = read_cases([str(tmp_path / "script.py")])
    assert script.target == str(tmp_path / "script.py")


@pytest.mark.parametrize(
    "text",
    [
        "", "margin = 0.1", "benchmark = 3", "benchmark = []", "[[benchmark]]", '[[benchmark]]\ntarget = ""\nname = " "',
        '[[benchmark]]\ntarget = "a"\ncommand = ["b"]', '[[benchmark]]\ntarget = 3', '[[benchmark]]\ncommand = [3]',
        '[[benchmark]]\ntarget = "a"\nmargin = -1', '[[benchmark]]\ntarget = "a"\nmargin = nan', '[[benchmark]]\ntarget = "a"\nmargin = true',
        '[[benchmark]]\ntarget = "a"\nspeed = 1', '[[benchmark]]\ntarget = "a"\npredicted = "-1ms"',
        '[[benchmark]]\ntarget = "a"\npredicted = "5ms..4ms"',
        '[[benchmark]]\ntarget = "a"\npredicted = "5ms"\ntolerance = -0.1', 'other = 1\n[[benchmark]]\ntarget = "a"',
        '[[benchmark]]\ntarget = "a"\n[[benchmark]]\ntarget = "a"',
    ],
)  # fmt: skip
def test_a_suite_that_means_nothing_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_cases([_toml(tmp_path, text)])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"[[benchmark", b"\xff\xfe[", b"a = '\x00'", b"x = " + b"[" * 5000, b"#" * 5_000_000], ids=len)
def test_a_file_that_is_none_is_one_line(tmp_path: Path, content: bytes) -> None:
    for name in ("suite.toml", "suite.py"):
        (tmp_path / name).write_bytes(content)
        if name.endswith(".py") and content.startswith(b"#"):
            continue
        with pytest.raises(RidgelineError):
            read_cases([str(tmp_path / name)])


def test_a_pipe_is_no_suite_and_nothing_waits_for_it(tmp_path: Path) -> None:
    for name in ("suite.toml", "suite.py"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(UsageError, match="no regular file"):
            read_cases([str(tmp_path / name)])


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    for text in (str(tmp_path / "none.toml"), str(tmp_path / "none.py"), "", "a\0b", str(tmp_path) + "/"):
        if text.endswith("/"):
            (tmp_path / "folder.toml").mkdir()
            text = str(tmp_path / "folder.toml")
        with pytest.raises(UsageError):
            read_cases([text])


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_text_is_a_suite_or_a_clear_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.toml").write_text(f"[[benchmark]]\n{text}", encoding="utf-8", errors="surrogatepass")
    try:
        cases = read_cases([str(folder / "suite.toml")])
    except (UsageError, ReadError):
        return
    assert all(case.name.strip() for case in cases)


@pytest.mark.parametrize(("text", "ends"), [("4.2ms", (0.0042, 0.0042)), ("4ms..0.005", (0.004, 0.005)), ("1 s..2 s", (1.0, 2.0))])
def test_predicted_times(text: str, ends: tuple[float, float]) -> None:
    found = parse_predicted(text)
    assert (found.low_s, found.high_s) == pytest.approx(ends)


def test_what_a_file_defines_is_told_without_running_it(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("import os as system\nfrom a import b\nx = 3\nclass C: pass\ndef f(): pass\n")
    assert [name for name in ("system", "b", "x", "C", "C.method", "f", "g", "os") if defines(file, name)] == [
        "system",
        "b",
        "x",
        "C",
        "C.method",
        "f",
    ]
    assert not defines(tmp_path / "none.py", "f")
    file.write_text("def broken(")
    assert defines(file, "anything")
    file.write_text("from a import *")
    assert defines(file, "anything")
