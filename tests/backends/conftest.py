from __future__ import annotations

import pytest

from ridgeline.backends import timing


@pytest.fixture(autouse=True)
def _nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other work on this machine does not decide how many runs a test in this process sees; tests of that have readings of their own."""
    monkeypatch.setattr(timing, "ready_threads_s", lambda: 0.0)
