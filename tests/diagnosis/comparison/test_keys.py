"""Keys: which refuse, which warn, which do not matter."""

from __future__ import annotations

import numpy as np
import pytest

from ridgeline.core import Column, Series
from ridgeline.diagnosis.comparison import changed_keys, class_of, compare_series


def made(**keys):
    return Series(name="f", values=Column(np.ones(9), "s"), process=Column(np.arange(9), "count"), keys=keys)


@pytest.mark.parametrize("key", ["machine.cpu", "machine.fingerprint", "precision", "threads", "cache", "input", "workload", "workload.size"])
def test_what_makes_results_unlike_must_be_equal(key):
    assert class_of(key) == "must"
    found = compare_series(made(**{key: "1"}), made(**{key: "2"}))
    assert found.verdict == "incomparable"
    assert (found.changed_keys[0].key, found.changed_keys[0].declared) == (key, False)


@pytest.mark.parametrize(
    "key", ["machine.governor", "machine.kernel", "machine.quota", "software.torch", "software.python", "allocator", "environment.OMP_NUM_THREADS"]
)
def test_what_may_change_the_time_is_a_warning(key):
    assert class_of(key) == "warn"
    found = compare_series(made(**{key: "1"}), made(**{key: "2"}))
    assert found.verdict == "same"
    assert {"keys-differ", "several-changes"} <= {warning.code for warning in found.warnings}


@pytest.mark.parametrize("key", ["id", "at", "host", "machine.host", "commit", "digest"])
def test_what_always_differs_does_not_matter(key):
    assert class_of(key) == "ignore"
    assert changed_keys(made(**{key: "1"}), made(**{key: "2"})) == ()


def test_a_key_that_one_side_does_not_know_is_a_warning():
    found = compare_series(made(threads="4"), made())
    assert found.verdict == "same"
    assert found.changed_keys[0].kind == "warn"
    assert "keys-unknown" in {warning.code for warning in found.warnings}


def test_declaring_the_first_part_declares_all_of_it():
    a, b = made(**{"workload.size": "1"}), made(**{"workload.size": "2"})
    assert compare_series(a, b, changing=["workload"]).verdict == "same"
    assert compare_series(a, b, changing=["work"]).verdict == "incomparable"
