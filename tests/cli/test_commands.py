"""The other commands, and what happens to a name that is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import msgspec
import pytest

from ridgeline.cli import cli
from ridgeline.core import Device, DoctorReport, Finding, Run
from ridgeline.core.documents import decode
from ridgeline.device import catalogue
from ridgeline.notebook import Notebook
from ridgeline.reporting import run_report

from .conftest import Flow

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def kept(flow: Flow, tmp_path: Path, stored_run: Run) -> Run:
    """A run in the default notebook."""
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        book.add(stored_run)
    return stored_run


def test_version_and_help(run: Call) -> None:
    code, out, _ = run("--version")
    assert code == 0
    assert out.startswith("ridgeline 0.")
    assert run("-h")[1].startswith("Usage: ridgeline")


def test_every_command_and_option_says_what_it_is_for() -> None:
    for name, command in cli.commands.items():
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (name, parameter.name)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_command_has_json_and_help(run: Call, name: str) -> None:
    code, out, _ = run(name, "--help")
    assert code == 0
    assert "--json" in out


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("diagnos", "did you mean diagnose?"),
        ("model.onnx", "did you mean `ridgeline diagnose model.onnx`?"),
    ],
)
def test_an_unknown_command_is_explained(run: Call, argument: str, said: str) -> None:
    code, _, err = run(argument)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_no_command_shows_the_help(run: Call) -> None:
    code, out, err = run()
    assert code == 2
    assert "diagnose" in out + err


def test_log(run: Call, kept: Run) -> None:
    code, out, _ = run("log")
    assert code == 0
    assert kept.id in out
    document = json.loads(run("log", "--json")[1])
    assert document["schema"] == "ridgeline.log/1"
    assert [entry["id"] for entry in document["runs"]] == [kept.id]
    assert json.loads(run("log", "--json", "--target", "other")[1])["runs"] == []
    assert json.loads(run("log", "--json", "--verb", "probe")[1])["runs"] == []


def test_the_log_before_the_first_run_makes_no_file(flow: Flow, run: Call, tmp_path: Path) -> None:
    code, out, _ = run("log")
    assert code == 0
    assert "No runs yet" in out
    assert list(tmp_path.iterdir()) == []
    assert run("log", "--notebook", str(tmp_path / "typo.sqlite"))[0] == 2
    assert run("show", "last")[0] == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("identity", ["last", "-1", "2026", "20260102T030405-00000abc"])
def test_show(run: Call, kept: Run, identity: str) -> None:
    code, out, _ = run("show", identity)
    assert code == 0
    assert "weight-traffic" in out


def test_show_json_is_the_run_with_its_columns_as_summaries(run: Call, kept: Run) -> None:
    out = run("show", "last", "--json")[1]
    document = json.loads(out)
    assert document["schema"] == "ridgeline.run/1"
    assert document["facts"]["samples"]["wall_s"]["summary"]["max"] == 0.013
    assert len(out) < 40_000
    assert run("show", "last", "--markdown")[1].startswith("# ridgeline")


@pytest.mark.parametrize("arguments", [["-2"], ["nothing"], ["--jsn"], ["-x"], [], ["last", "--json", "--markdown"], ["last", "extra"]])
def test_show_what_is_not_there(run: Call, kept: Run, arguments: list[str]) -> None:
    code, out, err = run("show", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_show_writes_the_page_as_html(run: Call, kept: Run, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    assert run("show", "last", "--html", str(file))[0] == 0
    assert file.read_text("utf-8") == run_report(kept)
    assert run("show", "last", "--html", str(file))[0] == 2
    assert run("show", "last", "--json", "--force", "--html", str(file))[0] == 0
    assert run("show", "nothing", "--html", str(tmp_path / "other.html"))[0] == 2
    assert not (tmp_path / "other.html").exists()


def test_devices_show_prices_where_they_are_known(run: Call) -> None:
    out = run("devices")[1]
    priced = [device for device in catalogue() if device.price_per_hour is not None]
    assert priced
    assert "price an hour" in out
    assert "USD/h" in out


def test_devices(run: Call) -> None:
    document = json.loads(run("devices", "--json")[1])
    assert document["schema"] == "ridgeline.devices/1"
    name = document["devices"][0]["name"]
    assert name in run("devices")[1]
    assert json.loads(run("devices", name, "--json")[1])["name"] == name
    assert run("devices", "no such thing")[0] == 2


def test_devices_by_kind_and_vendor(run: Call) -> None:
    found = json.loads(run("devices", "--kind", "gpu", "--vendor", "amd", "--json")[1])["devices"]
    assert found
    assert {(device["kind"], device["vendor"]) for device in found} == {("gpu", "AMD")}
    code, _, error = run("devices", "--vendor", "nobody")
    assert code == 2
    assert "NVIDIA" in error
    assert run("devices", "h200", "--kind", "gpu")[0] == 2
    assert run("devices", "--kind", "toaster")[0] == 2


def test_a_device_is_shown_with_its_sources(run: Call) -> None:
    code, out, _ = run("devices", "h200")
    assert code == 0
    assert "specification only" in out
    assert "aiconfigurator" in out


def test_calc(run: Call) -> None:
    code, out, _ = run("calc", "roofline", "flop=33.55MFLOP", "bytes=33.55MB", "peak=128GFLOP/s", "bandwidth=13GB/s")
    assert code == 0
    assert "2.58 ms" in out
    assert json.loads(run("calc", "--json")[1])["schema"] == "ridgeline.laws/1"
    document = json.loads(run("calc", "amdahl", "share=0.5", "local_speedup=2", "--json")[1])
    assert document["schema"] == "ridgeline.calc/1"
    assert run("calc", "nonsense")[0] == 2
    assert run("calc", "roofline", "flop")[0] == 2


def test_a_stored_document_survives_the_command_line(run: Call, kept: Run, tmp_path: Path) -> None:
    with Notebook.open(tmp_path / "notebook.sqlite") as book:
        assert decode(run("show", "last", "--json")[1].encode(), Run, book.blobs) == kept


def test_probe_passes_its_options_and_shows_the_device(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    import ridgeline.flows.probe as flow

    asked: list[dict[str, object]] = []

    def probe(**options: object) -> Device:
        asked.append(options)
        return Device(name="Test CPU", kind="cpu", notes=("rough",))

    monkeypatch.setattr(flow, "probe", probe)
    code, out, _ = run("probe", "--quick", "--force")
    assert code == 0
    assert "Test CPU" in out
    assert (asked[0]["quick"], asked[0]["refresh"]) == (True, True)
    assert json.loads(run("probe", "--json")[1])["schema"] == "ridgeline.device/1"
    assert (asked[1]["quick"], asked[1]["refresh"]) == (False, False)


def test_doctor(run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    import ridgeline.flows.doctor as flow

    asked: list[str | None] = []

    def doctor(*, notebook: str | None) -> DoctorReport:
        asked.append(notebook)
        return DoctorReport(machine="Test CPU", fingerprint="f", findings=(Finding(name="GPU", ok=None, detail="none seen"),))

    monkeypatch.setattr(flow, "doctor", doctor)
    code, out, _ = run("doctor", "--notebook", "x.sqlite")
    assert code == 0
    assert "GPU: none seen" in out
    assert json.loads(run("doctor", "--json")[1])["schema"] == "ridgeline.doctor/1"
    assert asked == ["x.sqlite", None]


def test_replay_draws_the_verdict_again(run: Call, kept: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import ridgeline.flows.show as flow

    assert kept.diagnosis is not None
    again = msgspec.structs.replace(kept.diagnosis, headline="Drawn again.")
    monkeypatch.setattr(flow, "replay", lambda stored: again if stored == kept else None)
    assert "Drawn again." in run("show", "last", "--replay")[1]
    assert json.loads(run("show", "last", "--replay", "--json")[1])["headline"] == "Drawn again."
