"""Predictions per second of the analytical models, over arrays of made-up queries, and the time of a single one.

The whole prediction of a product is tile choice and traffic at three levels, tile and wave quantisation, and the hierarchical roofline; the others
are one or two functions. Thread time, one thread, the median of the repetitions; the aim is 10⁶ predictions/s.

    python benchmarks/model/analytic.py [--queries N] [--repetitions R] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.analytic import attention, collectives, convolution, dvfs, ecm, moe, occupancy, power, quantisation, roofline, streams, tiling

Numbers = NDArray[np.float64]
LIMITS = occupancy.UnitLimits(
    subgroup_width=32,
    subgroups=64,
    work_groups=32,
    work_group_threads=1024,
    registers=65536,
    register_unit=256,
    partitions=4,
    thread_registers=255,
    shared_bytes=98304,
)


def queries(count: int) -> dict[str, Numbers]:
    """Made-up numbers of the sizes that models have."""
    draw = np.random.default_rng(1)
    whole = {
        "m": draw.integers(1, 8192, count),
        "n": draw.integers(1, 8192, count),
        "k": draw.integers(1, 8192, count),
        "channels": draw.integers(1, 512, count),
        "side": draw.integers(7, 112, count),
        "filters": draw.integers(1, 512, count),
        "threads": draw.integers(1, 1024, count),
        "registers": draw.integers(16, 255, count),
    }
    found = {name: values.astype(np.float64) for name, values in whole.items()}
    return found | {"flop": draw.uniform(1, 1e12, count), "bytes": draw.uniform(1, 1e9, count)}


def bare_roofline(q: dict[str, Numbers]) -> Any:
    traffic = {"L2": q["bytes"] * 8, "L3": q["bytes"] * 2, "DRAM": q["bytes"]}
    return roofline.roofline(
        work={"fma": q["flop"]}, peak={"fma": 1e12}, traffic_bytes=traffic, bandwidth={"L2": 4e11, "L3": 1e11, "DRAM": 2e10}, overlap=0.9
    )


def roofline_of_bytes(q: dict[str, Numbers]) -> Any:
    """What a memory-bound operator needs: one roof of arithmetic and one of memory."""
    return roofline.roofline(work={"fma": q["flop"]}, peak={"fma": 1e12}, traffic_bytes={"DRAM": q["bytes"]}, bandwidth={"DRAM": 2e10})


def whole_gemm(q: dict[str, Numbers]) -> Any:
    m, n, k = q["m"], q["n"], q["k"]
    served = tiling.gemm_bytes_by_level(m, n, k, holds_bytes={"L1": 32768, "L2": 1 << 20, "L3": 1 << 25}, depth=8, multiple=8)
    tiles = quantisation.tile_quantisation(m, n, k, tile=(128, 128, 32))
    waves = quantisation.wave_quantisation(tiles.count, units=108)
    return roofline.roofline(
        work={"fma": tiles.padded_flop / waves.utilisation},
        peak={"fma": 1e12},
        traffic_bytes=served,
        bandwidth={"L2": 4e11, "L3": 1e11, "DRAM": 2e10},
    )


def one_level_gemm(q: dict[str, Numbers]) -> Any:
    moved = tiling.gemm_traffic(q["m"], q["n"], q["k"], tile=(128, 128, 32), capacity_bytes=4e7, element_bytes=(2.0, 2.0, 2.0))
    tiles = quantisation.tile_quantisation(q["m"], q["n"], q["k"], tile=(128, 128, 32))
    return roofline.roofline(work={"fma": tiles.padded_flop}, peak={"fma": 1e12}, traffic_bytes={"DRAM": moved.total_bytes}, bandwidth={"DRAM": 2e10})


def conv(q: dict[str, Numbers]) -> Any:
    shape = convolution.convolution(
        batch=1, channels=q["channels"], height=q["side"], width=q["side"], filters=q["filters"], kernel_height=3, kernel_width=3, padding=1
    )
    tile = convolution.choose_convolution_tile(shape, capacity_bytes=1 << 20)
    return convolution.convolution_traffic(shape, tile=tile, capacity_bytes=1 << 20)


def clocked(q: dict[str, Numbers]) -> Any:
    return dvfs.clocked_time(compute_s=q["flop"] / 1e12, memory_s=q["bytes"] / 2e10, core_ratio=0.7, memory_ratio=1.0)


def spent(q: dict[str, Numbers]) -> Any:
    return power.energy(
        time_s=q["flop"],
        static_w=50.0,
        work={"fma": q["flop"]},
        joules_per_op={"fma": 1e-12},
        traffic_bytes={"DRAM": q["bytes"]},
        joules_per_byte={"DRAM": 1e-10},
    )


CASES: dict[str, Callable[[dict[str, Numbers]], Any]] = {
    "roofline, arithmetic and one level": roofline_of_bytes,
    "roofline, arithmetic and three levels, partial overlap": bare_roofline,
    "product: traffic at one level, tiles, roofline": one_level_gemm,
    "product: tile choice and traffic at three levels, waves, roofline": whole_gemm,
    "convolution: shape, tile choice, traffic": conv,
    "attention: work and fused traffic": lambda q: attention.flash_bytes(
        attention.attention(batch=1, heads=32, kv_heads=8, queries=q["m"], keys=q["m"], key_dim=128)
    ),
    "experts": lambda q: moe.experts(tokens=q["m"], hidden=4096, inner=14336, experts=8, chosen=2),
    "tile and wave quantisation": lambda q: quantisation.wave_quantisation(
        quantisation.tile_quantisation(q["m"], q["n"], q["k"], tile=(128, 128, 32)).count, units=108
    ),
    "occupancy": lambda q: occupancy.resident_groups(threads=q["threads"], registers=q["registers"], shared_bytes=4096, limits=LIMITS),
    "ECM, three levels": lambda q: ecm.ecm_cycles(
        overlapping=2.0, non_overlapping=q["threads"], transfers={"L2": q["threads"], "L3": q["registers"], "DRAM": q["registers"]}
    ),
    "gather": lambda q: streams.gather_bytes(q["m"], element_bytes=4, table_bytes=q["bytes"], capacity_bytes=1e6),
    "ring all-reduce": lambda q: collectives.collective_time("all-reduce", q["bytes"], devices=8, bandwidth=1e11, latency_s=1e-6),
    "time over clocks": clocked,
    "energy": spent,
}


def timed(call: Callable[[], object], repetitions: int) -> float:
    """Median thread seconds of a call, after one that warms up."""
    call()
    taken = []
    for _ in range(repetitions):
        start = time.thread_time()
        call()
        taken.append(time.thread_time() - start)
    return statistics.median(taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200_000, help="queries of one call")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--out", type=Path, help="write the table here as well")
    arguments = parser.parse_args()
    many, single = queries(arguments.queries), queries(1)
    lines = ["| model | predictions/s in one call | one prediction, µs |", "|---|---:|---:|"]
    slowest = float("inf")
    for name, model in CASES.items():
        rate = arguments.queries / timed(lambda model=model: model(many), arguments.repetitions)  # type: ignore[misc]
        one = timed(lambda model=model: [model(single) for _ in range(100)], arguments.repetitions) / 100  # type: ignore[misc]
        slowest = min(slowest, rate)
        lines.append(f"| {name} | {rate / 1e6:.1f} million | {one * 1e6:.0f} |")
    text = "\n".join(lines) + f"\n\n{arguments.queries} queries a call; the slowest model makes {slowest / 1e6:.1f} million predictions/s.\n"
    print(text)
    if arguments.out:
        arguments.out.write_text("## Analytical models\n\n" + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
