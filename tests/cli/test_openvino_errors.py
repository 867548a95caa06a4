"""What the command says where a target of OpenVINO cannot be: one line and the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys


def run(tmp_path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ridgeline", "diagnose", "--no-notebook", "--quiet", "--time-budget", "1", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **environment}, timeout=300, check=False)


def test_a_missing_package_names_the_extra(tmp_path) -> None:
    (tmp_path / "hidden" / "openvino").mkdir(parents=True)
    (tmp_path / "hidden" / "openvino" / "__init__.py").write_text("raise ImportError('no openvino here')\n")
    (tmp_path / "m.xml").write_text("<net></net>")
    done = run(tmp_path, "m.xml", PYTHONPATH=str(tmp_path / "hidden"))
    assert done.returncode == 4, done.stderr
    assert "ridgeline[openvino]" in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_runtime_that_does_not_run_the_target(tmp_path) -> None:
    (tmp_path / "m.xml").write_text("<net></net>")
    done = run(tmp_path, "--runtime", "onnxruntime", "m.xml")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "give one of openvino" in done.stderr
