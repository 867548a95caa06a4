"""The doctor on recorded trees: each check fails and passes as its file says."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import msgspec
import pytest

from ridgeline.core import Finding, Machine, Run
from ridgeline.flows.doctor import count_cycles, doctor, host_findings
from ridgeline.flows.doctor_software import device_finding, notebook_finding, py_spy_finding, software_findings
from ridgeline.notebook import Notebook


@pytest.fixture
def machine() -> Machine:
    return Machine(
        cpu_model="Test CPU",
        architecture="x86_64",
        kernel="6.1",
        isa=(),
        cpus_online=4,
        cpus_allowed=(0, 1, 2, 3),
        memory_bytes=2**33,
        fingerprint="f",
    )


@pytest.fixture(autouse=True)
def _listening_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ridgeline.flows.doctor"], "_LISTEN_S", 0.02)


def _tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def _found(findings: tuple[Finding, ...], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def _look(machine: Machine, root: Path, name: str, cycles: int = 0) -> Finding:
    return _found(host_findings(machine, root, lambda: cycles), name)


@pytest.mark.parametrize(
    ("name", "path", "good", "bad"),
    [
        ("perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid", "2", "3"),
        ("perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid", "-1", "4"),
        ("run-queue delay", "proc/self/schedstat", "1 2 3", "x"),
        ("stolen time", "proc/stat", "cpu 1 2 3 4 5 6 7 8 0 0\n", "cpu 1 2 3\n"),
        ("clock source", "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n", "hpet\n"),
        ("huge pages", "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never", "always madvise [never]"),
    ],
)
def test_a_check_of_a_file(machine: Machine, tmp_path: Path, name: str, path: str, good: str, bad: str) -> None:
    assert _look(machine, _tree(tmp_path / "good", {path: good}), name).ok is True
    failed = _look(machine, _tree(tmp_path / "bad", {path: bad}), name)
    assert failed.ok is False
    assert failed.consequence


def test_nothing_visible_is_never_a_pass_by_guessing(machine: Machine, tmp_path: Path) -> None:
    findings = host_findings(machine, tmp_path, lambda: errno.ENOENT)
    sure = {finding.name for finding in findings if finding.ok}
    # What the Machine says itself, and tools on the PATH of this process.
    assert sure <= {"CPU quota", "affinity", "perf"}


@pytest.mark.parametrize(("failed", "words"), [(errno.EACCES, "not permitted"), (errno.ENOENT, "no PMU"), (errno.ENOSYS, os.strerror(errno.ENOSYS))])
def test_counters_say_why_not(machine: Machine, tmp_path: Path, failed: int, words: str) -> None:
    finding = _look(machine, tmp_path, "hardware counters", failed)
    assert finding.ok is False
    assert words in finding.detail
    assert finding.remedy
    assert _look(machine, tmp_path, "hardware counters", 0).ok is True


def test_counting_cycles_here_gives_an_answer_and_leaks_nothing() -> None:
    before = len(os.listdir("/proc/self/fd"))
    assert count_cycles() in {0, *errno.errorcode}
    assert len(os.listdir("/proc/self/fd")) == before


def test_quota_affinity_and_siblings(machine: Machine, tmp_path: Path) -> None:
    def changed(**fields: object) -> Machine:
        return msgspec.structs.replace(machine, **fields)

    assert _look(changed(quota_cpus=1.5), tmp_path, "CPU quota").ok is False
    assert _look(changed(quota_cpus=4.0), tmp_path, "CPU quota").ok is True
    assert _look(changed(cpus_allowed=(0,)), tmp_path, "affinity").detail == "1 of 4 CPUs may be used"
    assert _look(changed(threads_per_core=2), tmp_path, "hyper-threads").detail == "2 CPUs a core"
    assert _look(changed(threads_per_core=None), tmp_path, "hyper-threads").ok is None
    assert _look(changed(governor="powersave"), tmp_path, "clock governor").ok is False
    assert _look(changed(governor="performance"), tmp_path, "clock governor").ok is True


@pytest.mark.parametrize(
    ("scope", "user", "ok"), [("0", 1000, True), ("1", 1000, False), ("1", 0, True), ("2", 0, True), ("3", 0, False), (None, 1000, True)]
)
def test_attaching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str | None, user: int, ok: bool) -> None:
    tool = _tree(tmp_path / "bin", {"py-spy": "#!/bin/sh\n"}) / "py-spy"
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    if scope is not None:
        _tree(tmp_path, {"proc/sys/kernel/yama/ptrace_scope": scope})
    assert py_spy_finding(tmp_path, user).ok is ok


def test_py_spy_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "ridgeline[sampling]" in py_spy_finding(tmp_path).remedy


def test_devices(tmp_path: Path) -> None:
    assert device_finding(tmp_path).detail == "none to be seen"
    _tree(tmp_path, {"dev/nvidia0": "", "dev/dri/renderD128": ""})
    assert device_finding(tmp_path).detail == "NVIDIA, graphics device to be seen"


def test_the_notebook_is_looked_at_and_not_made(tmp_path: Path, stored_run: Run) -> None:
    file = tmp_path / "a" / "n.sqlite"
    assert notebook_finding(str(file)).ok is True
    assert not (tmp_path / "a").exists()
    with Notebook.open(file) as book:
        assert "empty" in notebook_finding(str(file)).detail
        book.add(stored_run)
    assert notebook_finding(str(file)).detail == str(file)
    assert notebook_finding(str(tmp_path)).ok is False
    (tmp_path / "text").write_text("no notebook")
    assert notebook_finding(str(tmp_path / "text")).ok is False
    assert notebook_finding(str(tmp_path / "text" / "n")).ok is False
    assert notebook_finding("mysql://x/y").ok is False


def test_a_package_that_is_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ridgeline.flows import doctor_software

    monkeypatch.setattr(doctor_software, "_version", lambda name: None)
    findings = software_findings(str(tmp_path / "n.sqlite"), tmp_path)
    assert _found(findings, "torch").remedy == "pip install 'ridgeline[torch]'"
    assert _found(findings, "onnxruntime").remedy == "pip install 'ridgeline[onnx]'"
    assert _found(findings, "execution providers").ok is None


def test_the_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "file"))
    assert _found(software_findings(str(tmp_path / "n.sqlite"), tmp_path), "cache").ok is False


def test_here(tmp_path: Path) -> None:
    report = doctor(notebook=str(tmp_path / "n.sqlite"))
    names = [finding.name for finding in report.findings]
    assert len(names) == len(set(names)) >= 20
    for finding in report.findings:
        assert finding.detail, finding.name
        assert finding.ok is not False or finding.consequence, finding.name
    assert report.fingerprint
