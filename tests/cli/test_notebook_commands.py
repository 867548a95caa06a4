"""`log`, `show`, `diff`, `export` and `import` as a person calls them."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from ridgeline.core import Run
from ridgeline.notebook import Notebook
from support.notebook_entries import benchmarked, comparison, experiment

from .conftest import Flow

Call = Callable[..., tuple[int, str, str]]
BENCH = "20260105T000000-00000001"
COMPARED = "20260108T000000-00000001"


@pytest.fixture
def kept(flow: Flow, tmp_path: Path, stored_run: Run) -> Run:
    """A diagnosis, a benchmark, an experiment and a comparison in the default notebook."""
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        book.add(stored_run)
        book.add(msgspec.structs.replace(benchmarked(stored_run, BENCH), commit="fedc" * 10, at="2026-01-05T00:00:00+00:00"))
        book.add_experiment(experiment(stored_run.id, promise="kept"), "20260106T000000-00000001")
        book.add_comparison(comparison(stored_run.id, BENCH), COMPARED, at="2026-01-08T00:00:00+00:00")
    return stored_run


def _ids(run: Call, *options: str) -> list[str]:
    code, out, err = run("log", "--json", *options)
    assert (code, err) == (0, "")
    return [entry["id"] for entry in json.loads(out)["runs"]]


def test_log_takes_every_filter(run: Call, kept: Run) -> None:
    assert _ids(run) == [BENCH, kept.id]
    assert _ids(run, "--commit", "fedc") == [BENCH]
    assert _ids(run, "--commit", "0123+dirty") == [kept.id]
    assert _ids(run, "--machine", "test cpu", "--verb", "bench") == [BENCH]
    assert _ids(run, "--machine", "ffff") == [BENCH, kept.id]
    assert _ids(run, "--since", "2026-01-03") == [BENCH]
    assert _ids(run, "--until", "2026-01-02") == [kept.id]
    assert _ids(run, "--since", "1d") == []
    assert _ids(run, "--threads", "3") == []
    assert _ids(run, "-n", "1") == [BENCH]


def test_log_shows_the_columns_of_a_benchmark(run: Call, kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    out = run("log")[1]
    assert "processes" in out
    assert "weight-traffic" in out
    # A column that no run fills is left out.
    assert "cause" not in run("log", "--verb", "bench")[1]
    assert "No runs that the options allow" in run("log", "--verb", "probe")[1]


def test_log_of_comparisons_and_promises(run: Call, kept: Run) -> None:
    document = json.loads(run("log", "--comparisons", "--json")[1])
    assert [(one["id"], one["verdict"], one["a_run"]) for one in document["comparisons"]] == [(COMPARED, "slower", kept.id)]
    assert "slower" in run("log", "--comparisons")[1]
    assert json.loads(run("log", "--comparisons", "--json", "--target", "nothing")[1])["comparisons"] == []
    assert json.loads(run("log", "--promises", "--json")[1])["total"]["kept"] == 1
    assert json.loads(run("log", "--promises", "--json", "--machine", "other")[1])["total"]["kept"] == 0
    assert "Promised against found".upper() in run("log", "--promises")[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--promises", "--comparisons"], "one of --promises and --comparisons"),
        (["--promises", "--commit", "a"], "--commit"),
        (["--comparisons", "--since", "7d", "--machine", "x"], "--machine, --since"),
        (["--since", "yesterday"], "7d"),
        (["--until", "2026-99-01"], "7d"),
        (["--limit", "0"], "limit"),
        (["--notebook", "/nonexistent/n.sqlite"], "no file"),
    ],
)
def test_log_says_what_it_cannot_do(run: Call, kept: Run, options: list[str], said: str) -> None:
    code, out, err = run("log", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_filter_that_means_nothing_is_said_before_the_first_run(flow: Flow, run: Call) -> None:
    assert run("log", "--since", "yesterday")[0] == 2


def test_show_a_benchmark_a_comparison_and_a_recipe(run: Call, kept: Run) -> None:
    code, out, _ = run("show", BENCH)
    assert code == 0
    assert "MEASURE IT AGAIN" in out
    assert "3 processes" in out or "3 fresh processes" in out
    code, out, _ = run("show", COMPARED)
    assert code == 0
    assert "5 % slower" in out
    assert json.loads(run("show", COMPARED, "--json")[1])["schema"] == "ridgeline.compare/1"
    assert run("show", COMPARED, "--markdown")[1].startswith("# ")
    code, script, _ = run("show", "20260102", "--recipe")
    assert code == 0
    assert "git checkout --detach 0123456789abcdef\n" in script
    assert "dirty-tree" in script
    assert json.loads(run("show", "20260102", "--recipe", "--json")[1])["schema"] == "ridgeline.recipe/1"


@pytest.mark.parametrize(
    "arguments", [[COMPARED, "--recipe"], [COMPARED, "--replay"], [COMPARED, "--html", "x.html"], ["last", "--recipe", "--markdown"]]
)
def test_show_says_what_it_cannot_do(run: Call, kept: Run, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run("show", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert not (tmp_path / "x.html").exists()


def test_a_recipe_is_a_script_that_a_shell_reads(run: Call, kept: Run) -> None:
    script = run("show", "20260102", "--recipe")[1]
    assert subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True).returncode == 0


def test_diff(run: Call, kept: Run) -> None:
    document = json.loads(run("diff", "-2", "latest", "--json")[1])
    assert document["schema"] == "ridgeline.diff/1"
    assert {key["key"] for key in document["keys"]} >= {"verb", "commit", "bound", "cause"}
    assert document["comparable"]
    out = run("diff", kept.id, BENCH)[1]
    assert f"ridgeline compare {kept.id} {BENCH}" in " ".join(out.split())
    assert run("diff", kept.id, BENCH, "--markdown")[1].startswith("# ")


@pytest.mark.parametrize(
    "arguments", [["-1", "-9"], ["-1"], ["-1", "-2", "-3"], ["-x", "-1"], ["-1", "-2", "--json", "--markdown"], ["-1", COMPARED]]
)
def test_diff_of_what_is_not_there(run: Call, kept: Run, arguments: list[str]) -> None:
    code, out, err = run("diff", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["out.jsonl", "out.ndjson", "out.jsonl.gz", "out.parquet"])
def test_export_and_import(run: Call, kept: Run, tmp_path: Path, name: str) -> None:
    file, other = str(tmp_path / name), str(tmp_path / "other.sqlite")
    code, out, err = run("export", file)
    assert (code, err) == (0, "")
    assert "2 runs, 1 experiment, 1 comparison" in out
    code, out, err = run("import", file, "--notebook", other)
    assert (code, err) == (0, "")
    assert "4 added, 0 there already" in out
    document = json.loads(run("import", file, "--notebook", other, "--json")[1])
    assert (document["schema"], document["added"], document["present"]) == ("ridgeline.import/1", 0, 4)
    with Notebook.open(other) as book, Notebook.open(tmp_path / "notebook.sqlite") as own:
        assert list(book.entries()) == list(own.entries())
    # Not over what is there, unless it is asked for.
    assert run("export", file)[0] == 2
    document = json.loads(run("export", file, "--force", "--verb", "bench", "--json")[1])
    assert (document["runs"], document["experiments"], document["comparisons"]) == (1, 0, 1)
    assert document["size_bytes"] == Path(file).stat().st_size


def test_export_to_stdout_goes_into_import(run: Call, kept: Run, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ridgeline"]
    place = str(tmp_path / "notebook.sqlite")
    out = subprocess.run([*command, "export", "-", "--notebook", place], capture_output=True, check=True)
    assert out.stderr.decode().startswith("-: 2 runs")
    other = str(tmp_path / "other.sqlite")
    taken = subprocess.run([*command, "import", "-", "--notebook", other], input=out.stdout, capture_output=True, check=True)
    assert b"4 added" in taken.stdout
    assert run("export", "-", "--json")[0] == 2


def test_what_was_left_out_is_told_and_fails(run: Call, kept: Run, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "notebook.sqlite") as connection:
        connection.execute("UPDATE ridgeline_runs SET document = '{}' WHERE id = ?", (BENCH,))
    file = tmp_path / "out.jsonl"
    code, out, err = run("export", str(file))
    assert code == 2
    assert "1 run," in out
    assert BENCH in err
    file.write_bytes(file.read_bytes()[:-40])
    code, out, err = run("import", str(file), "--notebook", str(tmp_path / "other.sqlite"))
    assert code == 2
    assert "cut short" in err
    with Notebook.open(tmp_path / "other.sqlite") as book:
        assert [entry.id for entry in book.runs()] == [kept.id]


def test_a_conflict_is_told_and_fails(run: Call, kept: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "out.jsonl")
    assert run("export", file)[0] == 0
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        book.save(msgspec.structs.replace(kept, method="changed since"))
    code, out, err = run("import", file)
    assert code == 2
    assert "1 in conflict" in out
    assert kept.id in err
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        assert book.get(kept.id).method == "changed since"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"), ("directory", "directory"), (b"", "ridgeline.notebook/1"), (b"hello\n", "ridgeline.notebook/1"),
        (b"\x1f\x8b" + b"x" * 40, "whole file"), (b"PAR1" + b"x" * 40, "Parquet"), (b"\xff\xfe\x00" * 30, "ridgeline.notebook/1"),
        (b'{"schema":"ridgeline.notebook/2","at":""}\n', "ridgeline.notebook/1"), (b"SQLite format 3\0" + b"\0" * 100, "ridgeline.notebook/1"),
    ],
)  # fmt: skip
def test_import_of_what_is_no_export(flow: Flow, run: Call, tmp_path: Path, content: bytes | str | None, said: str) -> None:
    file = tmp_path / "in.jsonl"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        file.mkdir()
    code, out, err = run("import", str(file))
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    # A wrong file makes no notebook.
    assert not (tmp_path / "notebook.sqlite").exists()


@pytest.mark.parametrize("name", ["out", "out.csv", "out.jsonl.zip", "", "/nonexistent/out.jsonl"])
def test_export_to_where_it_cannot(run: Call, kept: Run, name: str) -> None:
    code, out, err = run("export", name)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_export_without_a_notebook_leaves_no_file(flow: Flow, run: Call, tmp_path: Path) -> None:
    assert run("export", str(tmp_path / "out.jsonl"))[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_pyarrow_names_the_extra(run: Call, kept: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("export", str(tmp_path / "out.parquet"))
    assert code == 4
    assert "ridgeline[parquet]" in err
    assert not (tmp_path / "out.parquet").exists()


def test_stdin_that_is_packed(run: Call, kept: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "out.jsonl.gz"
    assert run("export", str(file))[0] == 0
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(file.read_bytes()))))
    assert "4 added" in run("import", "-", "--notebook", str(tmp_path / "other.sqlite"))[1]
