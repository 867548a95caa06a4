"""A made-up CPU whose every rate is a round number, and a chain of operators as a graph, for tests of predictions."""

from __future__ import annotations

from ridgeline.core import Ceiling, Cost, Device, Graph, MemoryLevel, Op, Quantity, Tensor
from ridgeline.core.device import MEMORY_MIXES

__all__ = ["chain", "cpu"]


def _ceiling(engine: str, rate: float, unit: str, level: str | None = None, threads: int = 1) -> Ceiling:
    quantity = Quantity.exact(rate, unit, source="measured", origin="made up")
    precision = "any" if level else "fp32"
    return Ceiling(engine=engine, precision=precision, threads=threads, rate=quantity, level=level)  # type: ignore[arg-type]


def cpu(*, threads: int = 1, name: str = "made up", dispatch_s: float = 1e-6, fma: float = 1e11, dram: float = 1e10) -> Device:
    """100 GFLOP/s a thread, L1 of 32 KiB at 400 GB/s, L2 of 1 MiB at 100 GB/s, DRAM at 10 GB/s, 1 µs to start an operator."""
    ceilings = []
    for count in range(1, threads + 1):
        ceilings.append(_ceiling("fma", fma * count, "FLOP/s", threads=count))
        for level, rate in (("L1", 4e11), ("L2", 1e11), ("DRAM", dram)):
            ceilings += [_ceiling(mix, rate * count, "B/s", level, count) for mix in MEMORY_MIXES]
    return Device(
        name=name, kind="cpu", ceilings=tuple(ceilings), execution_units=threads, vector_bits=256, memory_bytes=2**30,
        levels=(MemoryLevel(name="L1", capacity_bytes=32768, shared_by=1), MemoryLevel(name="L2", capacity_bytes=2**20, shared_by=1)),
        costs=(Cost(name="dispatch", seconds=Quantity.exact(dispatch_s, "s", source="measured"), library="onnxruntime"),),
        power_w=Quantity.exact(100.0, "W", source="spec"), price_per_hour=Quantity.exact(3.6, "USD/h", source="spec"), price_date="2026-11",
        clock_hz=Quantity.exact(2e9, "Hz", source="measured"),
    )  # fmt: skip


def chain(count: int = 1, *, rows: int = 64, columns: int = 64, kind: str = "MatMul") -> Graph:
    """`count` products of (rows, columns) with (columns, columns), or functions over (rows, columns), one behind the other."""
    shape = (rows, columns)
    tensors = [Tensor(name="x0", shape=shape, dtype="float32")]
    ops = []
    for number in range(count):
        tensors.append(Tensor(name=f"x{number + 1}", shape=shape, dtype="float32"))
        inputs: tuple[str, ...] = (f"x{number}",)
        flop, read = float(rows * columns), 4 * rows * columns
        if kind == "MatMul":
            tensors.append(Tensor(name=f"w{number}", shape=(columns, columns), dtype="float32", constant=True))
            inputs = (f"x{number}", f"w{number}")
            flop, read = 2.0 * rows * columns * columns, read + 4 * columns * columns
        group = "matmul" if kind == "MatMul" else "elementwise"
        ops.append(
            Op(
                name=f"{kind}_{number}", kind=kind, inputs=inputs, outputs=(f"x{number + 1}",), engine="fma", precision="fp32", flop=flop,
                read_bytes=read, write_bytes=4 * rows * columns, attributes={"group": group},
            )
        )  # fmt: skip
    return Graph(name="chain", ops=tuple(ops), tensors=tuple(tensors), inputs=("x0",), outputs=(f"x{count}",))
