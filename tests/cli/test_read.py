"""`ridgeline read`, and `ridgeline diagnose` of a profile, as a person calls them: what goes where, exit codes, one line for what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ridgeline.cli import main
from support.traces import launch_bound, steady, trace_bytes

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIDGELINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "140")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def trace(tmp_path: Path) -> str:
    (tmp_path / "trace.json").write_bytes(launch_bound())
    return "trace.json"


def test_the_page_says_first_what_limits_and_what_to_do(run: Call, trace: str) -> None:
    code, out, err = run("read", trace, "--quiet")
    assert (code, err) == (0, "")
    first = out.splitlines()[0]
    assert first.startswith("▶ GPU 0 waits for the host to issue the next work for ")
    for title in (
        "VERDICT",
        "WHAT TO DO",
        "DEVICES",
        "GAPS",
        "CRITICAL PATH",
        "WHAT IF",
        "OPERATORS",
        "OVERHEAD",
        "ITERATIONS",
        "FIGURES",
        "WHAT WAS READ",
    ):
        assert title in out, title
    assert out.index("VERDICT") < out.index("DEVICES") < out.index("FIGURES")


def test_json_is_the_contract(run: Call, trace: str) -> None:
    code, out, _ = run("read", trace, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["schema"] == "ridgeline.read/1"
    fields = "files format window_s devices lanes gaps critical_path operators overhead partitions iterations excluded findings warnings"
    assert set(fields.split()) <= found.keys()
    device = "name events sum_s busy_s idle_s idle_share compute_s communication_s copy_s exposed_communication_s exposed_copy_s"
    assert set(device.split()) <= found["devices"][0].keys()
    assert {"device", "start_s", "duration_s", "after", "waiting_for", "because"} <= found["gaps"][0].keys()
    path = found["critical_path"]
    assert {"length_s", "window_s", "covered_share", "pieces"} <= path.keys()
    assert {"label", "name", "lane", "start_s", "duration_s"} <= path["pieces"][0].keys()
    finding = found["findings"][0]
    assert {"where", "bound", "cause", "confirmed", "share", "evidence", "actions"} <= finding.keys()
    assert {"name", "quantity"} <= finding["evidence"][0].keys()


def test_diagnose_of_a_profile_answers_as_read_does(run: Call, trace: str) -> None:
    assert run("diagnose", trace, "--json")[1] == run("read", trace, "--json")[1]
    code, out, _ = run("diagnose", trace)
    assert code == 0
    assert out == run("read", trace)[1] == run("diagnose", "--no-trace", trace)[1]


@pytest.mark.parametrize("options", [["--budget", "3ms"], ["--try"], ["--threads", "2"], ["--use", "once"], ["--samples", "7"], ["--trace"]])
def test_diagnose_of_a_profile_refuses_what_would_measure(run: Call, trace: str, options: list[str]) -> None:
    code, out, err = run("diagnose", *options, trace)
    assert (code, out) == (2, "")
    assert options[0] in err
    assert len(err.splitlines()) == 1


def test_a_profile_that_nobody_knows_is_refused_by_diagnose(run: Call, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"hello": 1}')
    code, out, err = run("diagnose", "odd.json")
    assert (code, out) == (2, "")
    assert "no reader knows" in err


def test_a_recording_that_has_to_be_exported_first_is_named_by_diagnose_as_by_read(run: Call, tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(b"PERFILE2h\x00\x00" + bytes(200))
    said = [run(command, "perf.data", "--quiet") for command in ("read", "diagnose")]
    assert said[0] == said[1]
    code, out, err = said[1]
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "perf script -i perf.data > perf.data.txt" in err


def test_a_program_is_no_recording(run: Call, tmp_path: Path) -> None:
    (tmp_path / "a.out").write_bytes(b"\x7fELF\x02" + bytes(200))
    code, _, err = run("diagnose", "a.out", "--quiet")
    assert code == 2
    assert "expected a target" in err


def test_a_healthy_trace_says_so_and_strict_is_content(run: Call, tmp_path: Path) -> None:
    (tmp_path / "steady.json").write_bytes(steady())
    code, out, _ = run("read", "steady.json", "--strict")
    assert code == 0
    assert out.startswith("✓ Healthy: GPU 0 works for 100.0% of the time")


def test_strict_fails_where_the_file_cannot_tell(run: Call, tmp_path: Path) -> None:
    (tmp_path / "stacks.txt").write_text("main;f 3\nmain;g 5\n")
    code, out, _ = run("read", "stacks.txt", "--strict")
    assert code == 3
    assert out.startswith("? g takes most: 62.5% of the samples end in it itself; what binds it counters would have to say.")
    assert run("read", "stacks.txt")[0] == 0


def test_two_profiles_are_compared_by_shares(run: Call, tmp_path: Path) -> None:
    (tmp_path / "before.txt").write_text("main;f 6000\nmain;g 2000\n")
    (tmp_path / "after.txt").write_text("main;f 3000\nmain;g 5000\n")
    code, out, err = run("read", "after.txt", "--against", "before.txt", "--quiet")
    assert (code, err) == (0, "")
    assert out.startswith("? 2 functions changed their share, most of all f shrank (75.0% → 37.5% in itself)")
    found = json.loads(run("read", "after.txt", "--against", "before.txt", "--json")[1])
    assert (found["schema"], found["window_s"], found["samples"]) == ("ridgeline.read_difference/1", [None, None], [8000, 8000])
    assert {one["function"]: one["change"] for one in found["functions"]} == {"f": "shrank", "g": "grew"}


def test_a_profile_against_a_trace_is_not_compared(run: Call, trace: str, tmp_path: Path) -> None:
    (tmp_path / "stacks.txt").write_text("main;f 6000\n")
    code, out, _ = run("read", trace, "--against", "stacks.txt")
    assert code == 2
    assert "one has no timeline" in out


def test_what_if_and_window_and_top(run: Call, trace: str) -> None:
    _, out, _ = run("read", trace, "--what-if", "gemm=free", "--what-if", "aten::mm=2", "--json")
    assert [(one["what"], one["factor"]) for one in json.loads(out)["what_if"]] == [("gemm", None), ("aten::mm", 2.0)]
    _, out, _ = run("read", trace, "--iteration", "2", "--json")
    assert json.loads(out)["window_s"] == pytest.approx(160e-6)
    _, out, _ = run("read", trace, "--window", "..320us", "--json")
    assert json.loads(out)["devices"][0]["events"] == 8
    assert "more in the JSON" in run("read", trace, "--top", "2")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing.json"],
        ["trace.json", "--what-if", "gemm"],
        ["trace.json", "--what-if", "gemm=0"],
        ["trace.json", "--what-if", "gemm=nan"],
        ["trace.json", "--what-if", "nothing=2"],
        ["trace.json", "--to", "chrome"],
        ["trace.json", "--out", "x.json"],
        ["trace.json", "--window", "x"],
        ["trace.json", "--window", "1..2", "--iteration", "1"],
        ["trace.json", "--iteration", "99"],
        ["trace.json", "--format", "nothing"],
        ["trace.json", "--most-bytes", "many"],
        ["trace.json", "--most-bytes", "10"],
        ["trace.json", "--limit", "depth"],
        ["trace.json", "--limit", "depth=-1"],
        ["trace.json", "--limit", "colours=3"],
        ["trace.json", "--limit", "events=2"],
        ["trace.json", "--json", "--markdown"],
        ["trace.json", "--to", "chrome", "--out", "-"],
        ["trace.json", "--to", "chrome", "--out", "trace.json"],
        ["trace.json", "trace.json"],
        ["trace.json", "--against", "trace.json", "--iteration", "1"],
        ["trace.json", "--html", "no/where.html"],
        ["trace.json", "--html", "-", "--json"],
    ],
)
def test_wrong_calls_are_one_line_and_exit_with_two(run: Call, trace: str, arguments: list[str]) -> None:
    code, out, err = run("read", *arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1 or err.startswith("Usage:")
    assert "Traceback" not in err


def test_a_limit_is_raised_by_its_name(run: Call, tmp_path: Path) -> None:
    deep = ";".join(f"f{level}" for level in range(2500))
    (tmp_path / "deep.txt").write_text(f"main;work 3\n{deep} 7\n", encoding="utf-8")
    code, _, err = run("read", "deep.txt", "--format", "collapsed")
    assert code == 2
    assert "--limit depth=" in err
    code, out, _ = run("read", "deep.txt", "--format", "collapsed", "--limit", "depth=3000", "--json")
    assert code == 0
    assert json.loads(out)["frames"][0]["own"] == 7


def test_a_damaged_file_is_answered_with_what_is_left_out(run: Call, tmp_path: Path) -> None:
    broken = launch_bound().replace(b'"dur": 10.0', b'"dur": -10.0', 1)
    (tmp_path / "broken.json").write_bytes(broken[:-40])
    code, out, _ = run("read", "broken.json")
    assert code == 0
    assert "LEFT OUT" in out
    assert "negative duration" in out


def test_hostile_names_reach_no_terminal(run: Call, tmp_path: Path) -> None:
    span = {"ph": "X", "cat": "cpu_op", "name": "\x1b[31mred\x07\u202e", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    (tmp_path / "hostile.json").write_bytes(trace_bytes([span]))
    for options in ([], ["--markdown"]):
        _, out, _ = run("read", "hostile.json", *options)
        assert "\x1b" not in out
        assert "\u202e" not in out


@pytest.mark.parametrize("to", ["chrome", "speedscope", "collapsed"])
def test_other_formats_are_read_again(run: Call, trace: str, to: str) -> None:
    assert run("read", trace, "--to", to, "--out", "out.dat")[0] == 0
    _, out, _ = run("read", "out.dat", "--json")
    assert json.loads(out)["format"] == to
    # Not written over without being asked.
    assert run("read", trace, "--to", to, "--out", "out.dat")[0] == 2
    assert run("read", trace, "--to", to, "--out", "out.dat", "--force")[0] == 0


def test_parquet_has_events_and_operators(run: Call, trace: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("read", trace, "--to", "parquet", "--out", "events.parquet")[0] == 0
    events = parquet.read_table(tmp_path / "events.parquet").to_pylist()
    kernels = [row for row in events if row["kind"] == "compute"]
    assert len(kernels) == 40
    assert {row["device"] for row in kernels} == {"GPU 0"}
    assert sum(row["duration_tick"] for row in kernels) * float(
        parquet.read_schema(tmp_path / "events.parquet").metadata[b"tick_s"]
    ) == pytest.approx(400e-6)
    operators = {row["name"]: row for row in parquet.read_table(tmp_path / "events-operators.parquet").to_pylist()}
    assert (operators["gemm"]["calls"], operators["gemm"]["total_s"]) == (40, pytest.approx(400e-6))
    assert run("read", trace, "--to", "parquet", "--out", "events.parquet")[0] == 2


def test_a_format_that_cannot_hold_it_is_refused(run: Call, tmp_path: Path) -> None:
    (tmp_path / "stacks.txt").write_text("main;f 3\n")
    code, _, err = run("read", "stacks.txt", "--to", "chrome", "--out", "x.json")
    assert code == 2
    assert "times" in err
    assert not (tmp_path / "x.json").exists()


def test_the_report_is_one_file(run: Call, trace: str, tmp_path: Path) -> None:
    assert run("read", trace, "--html", "report.html")[0] == 0
    text = (tmp_path / "report.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert 'id="timeline-data"' in text
    code, out, _ = run("read", trace, "--html", "-")
    assert (code, out) == (0, text)


@pytest.mark.parametrize("options", [("--to", "chrome", "--out", "out.json"), ("--window", "0..1")])
def test_a_file_without_times_is_named_with_its_format(run: Call, tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "stacks.txt").write_text("main;f 3\n")
    code, _, err = run("read", "stacks.txt", *options)
    assert code == 2
    assert "stacks.txt (collapsed), which has none" in err
