"""Which variables of the environment belong to what a time rests on."""

from __future__ import annotations

import os

import pytest

from ridgeline.backends.surroundings import environment


def test_variables_of_threads_and_memory_count_and_that_of_threadpoolctl_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in {
        "OMP_NUM_THREADS": "2",
        "KMP_DUPLICATE_LIB_OK": "True",
        "KMP_AFFINITY": "compact",
        "HOME": "/",
        "RAYON": "3",
        "MINE_A": "4",
    }.items():
        monkeypatch.setenv(name, value)
    assert environment() == "KMP_AFFINITY=compact OMP_NUM_THREADS=2"
    assert environment(r"MINE_\w+|RAYON") == "KMP_AFFINITY=compact MINE_A=4 OMP_NUM_THREADS=2 RAYON=3"
