"""The whole probe on a machine that can be computed, and once, shortly, on the real one."""

import os
import subprocess
import sys

import msgspec
import pytest

from ridgeline import _native
from ridgeline.core import Ceiling, Device, Machine, UsageError
from ridgeline.measurement.probe import CostOf, Effort, RateOf, measure
from ridgeline.measurement.probe.dispatch import dispatch_items
from ridgeline.measurement.probe.libraries import numpy_items
from support.computed_machine import CACHES, GIB, MIB, Clock, FakeNative, machine

SHORT = Effort(rounds=3, costly_rounds=2, seconds=1e-4, budget_s=1e9)


def probed(host: Machine | None = None, native: FakeNative | None = None, caches: tuple[object, ...] = CACHES) -> Device:
    loops = native or FakeNative(Clock())
    return measure(machine=host or machine(), caches=caches, native=loops, libraries=False, effort=SHORT, clock=loops.clock)  # type: ignore[arg-type]


def find(device: Device, engine: str, threads: int, *, level: str | None = None, precision: str = "any") -> list[Ceiling]:
    return [c for c in device.ceilings if (c.engine, c.threads, c.level, c.precision) == (engine, threads, level, precision)]


def test_rates_are_those_of_the_machine() -> None:
    device = probed()
    assert find(device, "fma", 1, precision="fp64")[0].rate.value == pytest.approx(64e9)
    assert find(device, "fma", 2, precision="fp32")[0].rate.value == pytest.approx(256e9)
    for ceiling in find(device, "read", 2, level="L3"):
        assert ceiling.working_set_bytes is not None
        assert ceiling.rate.value == pytest.approx(2 * 100e9 / (1 + ceiling.working_set_bytes / 2 / MIB))
    assert device.clock_hz is not None
    assert device.clock_hz.value == 2e9


def test_units_are_those_of_the_nouns() -> None:
    units = {ceiling.engine: ceiling.rate.unit for ceiling in probed().ceilings}
    assert units == {"fma": "FLOP/s", "read": "B/s", "copy": "B/s", "triad": "B/s", "fill": "B/s", "latency": "s"}


def test_every_mix_is_there_at_every_level_for_one_thread_and_all() -> None:
    device = probed()
    for mix in ("read", "copy", "triad", "fill"):
        for threads in (1, 2):
            assert [len(find(device, mix, threads, level=level)) for level in ("L1", "L2", "L3", "DRAM")] == [1, 1, 3, 1]
    assert [len(find(device, "latency", 1, level=level)) for level in ("L1", "L2", "L3", "DRAM")] == [1, 1, 3, 1]


def test_one_thread_changes_its_cpu_from_round_to_round_and_all_use_all() -> None:
    native = FakeNative(Clock())
    probed(machine(3), native)
    alone = [cpus for what, cpus in native.calls if what == "fma fp64" and len(cpus) == 1]
    assert set(alone) == {(0,), (1,), (2,)}
    assert {cpus for what, cpus in native.calls if what == "fma fp64" and len(cpus) > 1} == {(0, 1, 2)}


def test_a_single_cpu_has_no_second_thread_count() -> None:
    device = probed(machine(1))
    assert {ceiling.threads for ceiling in device.ceilings} == {1}


def test_a_quota_limits_all_threads_and_says_so() -> None:
    device = probed(machine(8, quota=2.0, online=8))
    assert {ceiling.threads for ceiling in device.ceilings} == {1, 2}
    assert device.execution_units == 2
    assert any("2 of 8 CPUs" in note for note in device.notes)


def test_hardware_threads_and_missing_cache_sizes_are_noted() -> None:
    assert any("share a core" in note for note in probed(machine(2, smt=2)).notes)
    bare = probed(caches=())
    assert any("assumed" in note for note in bare.notes)
    assert [level.name for level in bare.levels] == ["L1", "L2", "DRAM"]


def test_too_little_memory_for_a_set_past_the_cache_is_noted() -> None:
    assert any("include hits" in note for note in probed(machine(memory_bytes=1 * GIB)).notes)
    assert not any("include hits" in note for note in probed().notes)


def test_a_cache_line_between_neighbours_is_a_cost() -> None:
    cost = probed(machine(3)).cost("core-to-core")
    assert cost is not None
    assert cost.value == pytest.approx(8e-8)
    assert probed(machine(1)).cost("core-to-core") is None


def test_neighbours_that_leave_no_turn_are_at_least_so_far_apart() -> None:
    class Busy(FakeNative):
        def core_to_core(self, cpus: tuple[int, int], chunks: int, /) -> float:
            super().core_to_core(cpus, chunks)
            return 0.0

    cost = probed(native=Busy(Clock())).cost("core-to-core")
    assert cost is not None
    assert cost.value > 1e-4


def test_without_a_cpu_it_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        probed(msgspec.structs.replace(machine(), cpus_allowed=()))


def test_a_rate_that_the_clock_does_not_allow_is_a_fault_to_explain() -> None:
    class Doubled(FakeNative):
        def fma(self, precision: str, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
            operations, elapsed_s = super().fma(precision, seconds, cpus)
            return 2 * operations, elapsed_s

    assert any("fma fp64" in note and "beyond" in note for note in probed(native=Doubled(Clock())).notes)
    assert not any("beyond" in note for note in probed().notes)


def test_all_threads_slower_than_one_becomes_an_assumption() -> None:
    class Starved(FakeNative):
        def fma(self, precision: str, seconds: float, cpus: tuple[int, ...], /) -> tuple[float, float]:
            operations, elapsed_s = super().fma(precision, seconds, cpus)
            return operations / (100 if len(cpus) > 1 else 1), elapsed_s

    device = probed(native=Starved(Clock()))
    ceiling = find(device, "fma", 2, precision="fp64")[0]
    assert ceiling.rate.source == "assumed"
    assert [ceiling.rate.low, ceiling.rate.high] == pytest.approx([64e9, 128e9])
    assert not ceiling.stable
    assert any("assumed" in note for note in device.notes)


def test_restless_numbers_are_named() -> None:
    class Restless(FakeNative):
        def timer_read(self, n: int, /) -> float:
            return super().timer_read(n) * (1 + len(self.calls) % 7)

    assert any("timer-read" in note and "agree" in note for note in probed(native=Restless(Clock())).notes)


def test_what_fails_is_noted_and_the_rest_stands() -> None:
    class NoMemory(FakeNative):
        def chase(self, working_set_bytes: int, seconds: float, cpu: int, /) -> float:
            raise MemoryError("none")

    device = probed(native=NoMemory(Clock()))
    assert not [c for c in device.ceilings if c.engine == "latency"]
    assert any(note.startswith("latency L1") and "MemoryError" in note for note in device.notes)
    assert find(device, "read", 1, level="L1")


def test_the_device_travels() -> None:
    device = probed()
    assert msgspec.json.decode(msgspec.json.encode(device), type=Device) == device
    assert device.vector_bits == 512
    assert device.registers_bytes == 32 * 64
    assert device.fingerprint == "f00d"


def test_progress_ends_at_one() -> None:
    seen: list[float] = []
    native = FakeNative(Clock())
    measure(
        machine=machine(),
        caches=CACHES,
        native=native,
        libraries=False,
        effort=SHORT,
        clock=native.clock,
        report=lambda _label, fraction: seen.append(fraction),
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_the_real_loops_fit_the_protocol_and_give_every_number() -> None:
    host = msgspec.structs.replace(machine(), cpus_allowed=tuple(sorted(os.sched_getaffinity(0)))[:1], memory_bytes=256 * MIB)
    device = measure(machine=host, caches=CACHES[:2], libraries=False, effort=Effort(rounds=2, costly_rounds=1, seconds=1e-3, budget_s=60.0))
    assert {c.precision for c in device.ceilings if c.engine == "fma"} == set(_native.fma_precisions())
    assert {cost.name for cost in device.costs} == {"timer-read", "hand-off", "page-fault"}
    assert all(c.rate.value > 0 for c in device.ceilings)


def test_numpy_items_cover_every_special_engine_in_both_precisions() -> None:
    items = list(numpy_items(64 << 10))
    names = {(item.goal.engine, item.goal.precision) for item in items if isinstance(item.goal, RateOf)}
    assert names == {(e, p) for e in ("add", "exp", "tanh", "erf", "divide", "reduce", "gather", "sort") for p in ("fp32", "fp64")}
    assert all(item.read(1e-4, 0) > 0 for item in items)


def test_dispatch_items_give_times() -> None:
    items = {(item.goal.name, item.goal.library): item for item in dispatch_items() if isinstance(item.goal, CostOf)}
    assert {("python-call", "native"), ("dispatch", "numpy"), ("page-fault", "numpy")} <= set(items)
    # A difference may come out negative once beside a neighbour, not five times.
    for item in items.values():
        assert max(item.read(1e-3, number) for number in range(5)) > 0


def test_importing_the_probe_loads_neither_torch_nor_onnxruntime() -> None:
    code = "import sys, ridgeline.measurement.probe; print(sorted({'torch', 'onnx', 'onnxruntime', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
