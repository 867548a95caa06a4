"""The command line with a flow that measures nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import ridgeline.targets
from ridgeline.cli import main
from ridgeline.core import Diagnosis


class Flow:
    """Stands in for `flows.diagnose` and `targets.parse_target`: keeps what it was called with, returns or raises what it was told."""

    def __init__(self, outcome: Diagnosis) -> None:
        self.outcome: Diagnosis | BaseException = outcome
        self.spec: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.calls = 0

    def parse_target(self, text: str | None, arguments: tuple[str, ...], **options: Any) -> str:
        self.spec = {"text": text, "arguments": tuple(arguments), **options}
        return "spec"

    def diagnose(self, spec: str, **options: Any) -> Diagnosis:
        assert spec == "spec"
        self.calls += 1
        self.options = options
        options["report"]("measuring", 0.5)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch, full_diagnosis: Diagnosis, tmp_path: Any) -> Flow:
    fake, module = Flow(full_diagnosis), ModuleType("ridgeline.flows.diagnose")
    module.diagnose = fake.diagnose  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ridgeline.flows.diagnose", module)
    monkeypatch.setattr(ridgeline.targets, "parse_target", fake.parse_target, raising=False)
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))
    monkeypatch.delenv("RIDGELINE_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return fake


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Call the command line; returns exit code, stdout and stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return call
