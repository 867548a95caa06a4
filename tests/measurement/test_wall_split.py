"""The arithmetic of the split, from observations made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ridgeline.measurement.mappings import interpreter_share, libraries, read_mappings
from ridgeline.measurement.wall_split import Observation, split

MAPS = """\
00400000-00500000 r-xp 00000000 08:01 11 /usr/lib/libpython3.11.so.1.0
00500000-00600000 rw-p 00000000 08:01 11 /usr/lib/libpython3.11.so.1.0
7f0000000000-7f0000100000 r-xp 00000000 08:01 12 /opt/numeric kernels.so
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
"""


def seen(**fields) -> Observation:
    base = {
        "wall_s": 1.0, "cpu_s": 1.0, "run_queue_s": 0.0, "system_s": 0.0, "interpreter_samples": 0, "cpu_samples": 1000,
        "awake": 500, "served": 0, "alone": 0, "disk": 0, "libraries": {},
    }  # fmt: skip
    return Observation(**{**base, **fields})


def shares(observation: Observation) -> dict[str, float]:
    found = split(observation)
    return {name: getattr(found, name).value for name in ("blocked", "waiting", "system", "interpreter", "kernels")}


def test_a_native_loop_is_all_kernels_and_a_python_loop_all_interpreter():
    assert shares(seen())["kernels"] == 1.0
    assert shares(seen(interpreter_samples=1000))["interpreter"] == 1.0


def test_a_sleeper_is_blocked_and_one_who_waits_for_workers_is_not():
    assert shares(seen(cpu_s=0.1, awake=50, alone=450))["blocked"] == pytest.approx(0.9)
    served = shares(seen(cpu_s=0.1, awake=50, served=450))
    assert served["blocked"] == 0.0
    assert served["kernels"] == pytest.approx(1.0)


def test_uninterruptible_sleep_is_blocked():
    assert shares(seen(cpu_s=0.2, awake=100, disk=400))["blocked"] == pytest.approx(0.8)


def test_the_run_queue_is_not_sleep():
    found = shares(seen(cpu_s=0.5, run_queue_s=0.5))
    assert found["waiting"] == pytest.approx(0.5)
    assert found["blocked"] == 0.0


def test_a_kernel_that_does_not_tell_the_run_queue_says_so():
    assert "not readable" in split(seen(run_queue_s=None)).waiting.origin


@given(
    cpu=st.floats(0, 1.2),
    queue=st.floats(0, 1),
    system=st.floats(0, 1.5),
    python=st.integers(0, 100),
    served=st.integers(0, 50),
    alone=st.integers(0, 50),
)
def test_shares_are_shares_and_sum_to_one(cpu, queue, system, python, served, alone):
    found = shares(seen(cpu_s=cpu, run_queue_s=queue, system_s=system, interpreter_samples=python, cpu_samples=100, served=served, alone=alone))
    assert all(0 <= value <= 1 for value in found.values())
    assert sum(found.values()) == pytest.approx(1.0)


def test_program_counters_find_their_library():
    mappings = read_mappings(MAPS)
    counters = np.array([0x400010, 0x4FFFFF, 0x500000, 0x7F0000000001, 0x1], np.uint64)
    assert interpreter_share(counters, mappings) == (2, 5)
    assert libraries(counters, mappings) == {"libpython3.11.so.1.0": 2, "?": 2, "numeric kernels.so": 1}


def test_this_process_has_an_interpreter_mapped():
    assert any(mapping.interpreter for mapping in read_mappings())
