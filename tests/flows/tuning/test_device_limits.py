"""Limits of the device in constraints: what the runner's driver says, then the catalogue; never a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ridgeline.backends import find
from ridgeline.backends.registry import limits
from ridgeline.core import UsageError
from ridgeline.flows.tuning.limits import DEVICE_LIMITS
from ridgeline.flows.tuning.spec import kernel, tuning_spec
from ridgeline.flows.tuning.wanted import of_spec
from ridgeline.machine import read_machine
from ridgeline.machine.vectors import vector_bits, vector_registers


def _spec(folder: Path, constraints: list[str], **more: Any) -> Any:
    (folder / "k.c").write_text("void k(float *out) { out[0] = TILE; }\n")
    return tuning_spec(
        "k", kernel=kernel("c", source=str(folder / "k.c"), function="k", **more), parameters={"tile": [1, 2, 4, 1 << 40]}, constraints=constraints
    )


def test_a_cpu_says_its_units_vectors_memory_and_caches() -> None:
    machine = read_machine()
    for runner in ("c", "numba"):
        found = find(runner).limits({})
        assert found["execution_units"] == machine.cpus_usable
        assert found["memory_bytes"] == machine.memory_bytes
        assert set(found) <= {*DEVICE_LIMITS, "l4_bytes"}


def test_a_worker_is_asked_and_constraints_see_the_answer(tmp_path: Path) -> None:
    ready = of_spec(_spec(tmp_path, ["tile <= execution_units * 0 + 2", "tile < memory_bytes"]), str(tmp_path))
    found = ready.subject.configurations
    assert [found.config(row)["tile"] for row in found.at(range(found.count))] == [1, 2]


def test_what_neither_driver_nor_catalogue_says_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"warp_threads .* of the device, which a constraint looks at; found: no device"):
        of_spec(_spec(tmp_path, ["tile <= warp_threads"]), str(tmp_path))


def test_a_runner_without_limits_says_none() -> None:
    assert limits("simulated", {}) == {}


def test_vectors_by_instruction_sets() -> None:
    assert [vector_bits(isa) for isa in (("sse2", "avx2", "avx512f"), ("sse2", "avx2"), ("asimd",), ("mmx",))] == [512, 256, 128, None]
    assert [vector_registers(isa) for isa in (("sse2", "avx512f"), ("sse2",), ("asimd",), ())] == [32, 16, 32, None]


class _Attributes:
    """As much of CuPy as limits look at."""

    class cuda:
        class runtime:
            @staticmethod
            def getDeviceProperties(number: int) -> dict[str, Any]:
                return {"totalGlobalMem": 1 << 30}

        class Device:
            def __init__(self, number: int) -> None:
                self.attributes = {
                    "MaxThreadsPerBlock": 1024,
                    "MaxSharedMemoryPerBlock": 49152,
                    "MaxRegistersPerMultiprocessor": 65536,
                    "WarpSize": 32,
                }


def test_a_gpu_says_what_its_driver_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ridgeline.backends.cuda._cupy", lambda: _Attributes)
    assert find("cuda").limits({"device": 0}) == {
        "max_threads_per_block": 1024, "registers": 65536, "warp_threads": 32, "shared_memory_per_block_bytes": 49152, "registers_bytes": 262144,
        "memory_bytes": 1 << 30,
    }  # fmt: skip
