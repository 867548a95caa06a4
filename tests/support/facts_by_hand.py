"""Facts made by hand: a machine with round ceilings, and operators with chosen work and time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ridgeline.core import (
    BufferUse,
    Ceiling,
    Column,
    Cost,
    Device,
    DispatchFit,
    Facts,
    HotSpot,
    HotSpots,
    LevelRecord,
    Machine,
    MemoryLevel,
    OperatorRow,
    OpTable,
    Placement,
    Quantity,
    Samples,
    Sentinels,
    Site,
    TargetInfo,
    WallSplit,
)

MB = 1_000_000
FMA = {("fp32", 1): 32e9, ("fp32", 4): 128e9, ("fp64", 1): 16e9, ("fp64", 4): 64e9, ("int8", 1): 128e9, ("int8", 4): 512e9}
#: working set → (one thread, four threads) in B/s: L2-like, then DRAM as in the method's device.
READ = {1 * MB: (40e9, 160e9), 3 * MB: (6e9, 13e9), 100 * MB: (6e9, 13e9)}


def exact(value: float, unit: str) -> Quantity:
    return Quantity.exact(value, unit, source="measured", origin="made by hand")


def around(value: float, unit: str, spread: float = 0.02) -> Quantity:
    return Quantity(
        value=value, low=value * (1 - spread), high=value * (1 + spread), confidence=0.95, unit=unit, source="measured", origin="made by hand"
    )


def device() -> Device:
    fma = [Ceiling(engine="fma", precision=p, threads=t, rate=exact(rate, "FLOP/s")) for (p, t), rate in FMA.items()]  # type: ignore[arg-type]
    memory = [
        Ceiling(engine=mix, precision="any", threads=threads, level="DRAM", working_set_bytes=size, rate=exact(rates[position], "B/s"))
        for mix in ("read", "copy", "triad", "fill")
        for size, rates in READ.items()
        for position, threads in enumerate((1, 4))
    ]
    special = [Ceiling(engine="tanh", precision="fp32", threads=t, rate=exact(1e9 * t, "op/s"), library="torch") for t in (1, 4)]
    return Device(
        name="four round cores",
        kind="cpu",
        ceilings=(*fma, *memory, *special),
        levels=(MemoryLevel(name="L2", capacity_bytes=2 * MB), MemoryLevel(name="DRAM", capacity_bytes=8000 * MB)),
        costs=(Cost(name="page-fault", seconds=exact(0.25e-6, "s")),),
    )


def samples(wall_s: float = 0.01, n: int = 500, **means: float) -> Samples:
    rng = np.random.default_rng(1)
    wall = wall_s * (1 + 0.01 * rng.standard_normal(n))

    def column(value: float | None, unit: str) -> Column | None:
        return None if value is None else Column(np.full(n, value), unit)

    return Samples(
        wall_s=Column(wall, "s"),
        start_s=Column(np.arange(n) * wall_s, "s"),
        process=Column(np.zeros(n, int), "count"),
        inner=Column(np.ones(n, int), "count"),
        thread_cpu_s=column(means.get("thread_cpu_s", wall_s), "s"),
        process_cpu_s=column(means.get("process_cpu_s", wall_s), "s"),
        minor_faults=column(means.get("minor_faults", 0.0), "count"),
    )


def split(blocked: float = 0.0, waiting: float = 0.0, system: float = 0.0, interpreter: float = 0.0) -> WallSplit:
    kernels = 1.0 - blocked - waiting - system - interpreter
    shares = {"blocked": blocked, "waiting": waiting, "system": system, "interpreter": interpreter, "kernels": kernels}
    return WallSplit(**{name: around(value, "1") for name, value in shares.items()})


def buffer(identity: int, size: int, **flags: bool) -> BufferUse:
    return BufferUse(buffer=identity, size_bytes=size, **flags)


def row(name: str, seconds: float, **fields: Any) -> OperatorRow:
    placement = Placement(precision=fields.pop("precision", "fp32"), threads=fields.pop("threads", 4))
    defaults: dict[str, Any] = {
        "kind": "Test",
        "calls": 1.0,
        "reads": (),
        "writes": (),
        "group": "other",
        "site": Site(file="net.py", line=7, function="f"),
    }
    return OperatorRow(name=name, total_s=around(seconds, "s"), placement=placement, **{**defaults, **fields})


def facts(rows: list[OperatorRow], wall_s: float = 0.01, **fields: Any) -> Facts:
    operators_s = min(wall_s, sum(r.total_s.value for r in rows))
    table = OpTable(rows=tuple(rows), instrument="by hand", wall_s=around(wall_s, "s"), operators_s=exact(operators_s, "s"), iterations=10)
    machine = Machine(
        cpu_model="test", architecture="x86_64", kernel="6", isa=(), cpus_online=4, cpus_allowed=(0, 1, 2, 3), memory_bytes=8 << 30, fingerprint="f"
    )
    defaults: dict[str, Any] = {
        "target": TargetInfo(spec="net.py:f", kind="python", name="f", threads=4),
        "machine": machine,
        "device": device(),
        "samples": samples(wall_s),
        "wall_split": split(),
        "operators": table,
        "sentinels": Sentinels(fma_ratio=around(1.0, "1"), run_queue_share=0.0, steal_share=0.0, other_load=0.0),
        "cannot": {"hot-spots": "not needed here", "dispatch": "not needed here", "waits": "not needed here"},
    }
    return Facts(**{**defaults, **fields})


def perturbed() -> tuple[LevelRecord, ...]:
    return (LevelRecord(level=3, instrument="by hand", ratio_to_ground_truth=around(1.8, "1"), perturbed=True),)


def dispatch(operators: float, seconds: float, library: str = "torch") -> DispatchFit:
    return DispatchFit(per_operator_s=around(seconds, "s"), operators=operators, library=library, how="made by hand")


def lines(line: int, state: str = "interpreter") -> HotSpots:
    spot = HotSpot(site=Site(file="net.py", line=line, function="loop"), samples=400, state=state)
    return HotSpots(spots=(spot,), samples=500, interval_s=0.002, instrument="by hand")
