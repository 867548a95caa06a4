"""A training keeps libraries of linear algebra on one thread, SciPy's own too, and gives them back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ridgeline.model.learned import threads
from ridgeline.model.operators import training
from ridgeline.model.operators.model import OperatorModel
from support.operator_rows import DEVICE, device, made_rows

_COUNT = "[each['num_threads'] for each in threadpool_info() if each['user_api'] == 'blas']"
_PROGRAM = f"""
import json, numpy
from threadpoolctl import threadpool_info, threadpool_limits
from ridgeline.model.learned.threads import one_blas_thread
before = {_COUNT}
with one_blas_thread():
    import scipy.linalg
    inside = {_COUNT}
print(json.dumps([before, inside, {_COUNT}]))
"""


def test_all_libraries_have_one_thread_inside_and_their_own_after() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=True, env=environment)
    before, inside, after = json.loads(done.stdout)
    assert set(inside) == {1}
    assert after[: len(before)] == before
    if (os.cpu_count() or 1) > 1:
        assert max(before) == 2
        assert after == [2] * len(inside)


def _trained(monkeypatch: pytest.MonkeyPatch) -> tuple[OperatorModel, list[int]]:
    """A model of one family, and the threads that libraries had while it was fitted."""
    from threadpoolctl import threadpool_info, threadpool_limits

    seen: list[int] = []
    fit = training.fit_models

    def looked_at(*arguments: object) -> object:
        seen.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return fit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "fit_models", looked_at)
    with threadpool_limits(limits=2, user_api="blas"):
        settings = training.Settings(methods=("ridge",), folds=2)
        return training.train_operator_model(made_rows(40, kinds=("gemm",)), {DEVICE: device()}, settings), seen


def test_a_training_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = _trained(monkeypatch)
    assert set(seen) == {1}
    assert not any("threadpoolctl" in note for note in model.card.notes)


def test_a_training_that_cannot_limit_them_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (threads, training):
        monkeypatch.setattr(place, "can_limit", lambda: False)
    model, _ = _trained(monkeypatch)
    assert any("threadpoolctl is not installed" in note for note in model.card.notes)
