"""What metrics of Nsight Compute mean, whatever its versions call them: the figures of `KernelCounts`.

This module decides which metric, or which quotient of metrics, is each figure; the first source that a launch has is taken. Formulas: sectors per
request = Σ sectors ÷ Σ requests of global loads and stores; DRAM rate = (bytes read + bytes written) ÷ duration; FLOP = adds + multiplies + twice the
fused ones.
Source: the metrics and sections of Nsight Compute 2019.5 to 2026.2 (its Kernel Profiling Guide, "Metrics Decoder" and "Sections and Rules").
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SHARES", "figures"]

Metrics = Mapping[tuple[str, str], float]

_PEAK, _ACTIVE = ".avg.pct_of_peak_sustained_elapsed", ".avg.pct_of_peak_sustained_active"
#: figure → (metric, base unit) that is it, the best first.
_DIRECT: dict[str, tuple[tuple[str, str], ...]] = {
    "branch_efficiency": (
        ("smsp__sass_average_branch_targets_threads_uniform.pct", "1"),
        ("derived__branch_efficiency", "1"),
        ("Branch Efficiency", "1"),
    ),
    "active_lanes": (
        ("smsp__thread_inst_executed_per_inst_executed.ratio", "1"),
        ("smsp__average_threads_launched_per_inst_executed.ratio", "1"),
        ("Avg. Active Threads Per Warp", "1"),
    ),
    "predicated_lanes": (
        ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "1"),
        ("Avg. Not Predicated Off Threads Per Warp", "1"),
    ),
    "l1_hit_rate": (("l1tex__t_sector_hit_rate.pct", "1"), ("L1/TEX Hit Rate", "1"), ("L1 Hit Rate", "1")),
    "l2_hit_rate": (("lts__t_sector_hit_rate.pct", "1"), ("L2 Hit Rate", "1")),
    "occupancy": (("sm__warps_active" + _ACTIVE, "1"), ("Achieved Occupancy", "1")),
    "occupancy_limit": (
        ("sm__maximum_warps_per_active_cycle_pct", "1"),
        ("sm__maximum_warps_avg_per_active_cycle_pct", "1"),
        ("Theoretical Occupancy", "1"),
    ),
    "dram_byte_per_s": (("dram__bytes.sum.per_second", "B/s"), ("Memory Throughput", "B/s")),
    "dram_share": (
        ("dram__throughput" + _PEAK, "1"),
        ("gpu__dram_throughput" + _PEAK, "1"),
        ("dram__bytes.sum.pct_of_peak_sustained_elapsed", "1"),
        ("DRAM Throughput", "1"),
        ("DRAM [%]", "1"),
        ("SOL DRAM", "1"),
        ("SOL FB", "1"),
    ),
    "memory_share": (
        ("gpu__compute_memory_throughput" + _PEAK, "1"),
        ("gpu__compute_memory_sol_pct", "1"),
        ("Memory Throughput", "1"),
        ("Memory [%]", "1"),
        ("SOL Memory", "1"),
    ),
    "l1_share": (("l1tex__throughput" + _ACTIVE, "1"), ("L1/TEX Cache Throughput", "1"), ("SOL L1/TEX Cache", "1"), ("SOL TEX", "1")),
    "l2_share": (("lts__throughput" + _PEAK, "1"), ("L2 Cache Throughput", "1"), ("SOL L2 Cache", "1"), ("SOL L2", "1")),
    "compute_share": (
        ("sm__throughput" + _PEAK, "1"),
        ("Compute (SM) Throughput", "1"),
        ("Compute (SM) [%]", "1"),
        ("SM [%]", "1"),
        ("SOL SM", "1"),
    ),
    "registers_per_thread": (("launch__registers_per_thread", "1"), ("Registers Per Thread", "1")),
    "shared_bytes_per_block": (("launch__shared_mem_per_block", "B"),),
    "waves_per_sm": (("launch__waves_per_multiprocessor", "1"), ("Waves Per SM", "1")),
    "blocks_by_registers": (("launch__occupancy_limit_registers", "1"), ("Block Limit Registers", "1")),
    "blocks_by_shared_memory": (("launch__occupancy_limit_shared_mem", "1"), ("Block Limit Shared Mem", "1")),
    "blocks_by_warps": (("launch__occupancy_limit_warps", "1"), ("Block Limit Warps", "1")),
    "blocks_by_sm": (("launch__occupancy_limit_blocks", "1"), ("Block Limit SM", "1")),
    "blocks_by_barriers": (("launch__occupancy_limit_barriers", "1"), ("Block Limit Barriers", "1")),
    "multiprocessors": (("device__attribute_multiprocessor_count", "1"), ("# SMs", "1")),
}
#: Figures that are shares or rates of a whole: more than 1 needs an explanation.
SHARES = frozenset({
    "branch_efficiency", "l1_hit_rate", "l2_hit_rate", "occupancy", "occupancy_limit", "dram_share", "memory_share", "l1_share", "l2_share",
    "compute_share", "coalesced_share",
})  # fmt: skip
_SHARED = (
    ("launch__shared_mem_per_block_static", "Static Shared Memory Per Block"),
    ("launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block"),
    ("launch__shared_mem_per_block_driver", "Driver Shared Memory Per Block"),
)
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_READ, _WRITTEN = ("dram__bytes_read", "dram__bytes_op_read"), ("dram__bytes_write", "dram__bytes_op_write")
_OPERATIONS = {"d": "fp64", "f": "fp32", "h": "fp16"}
#: Bytes of a sector: the grain of traffic between the caches and memory of every GPU that the tool knows.
_SECTOR = 32.0


def figures(metrics: Metrics, duration_s: float | None) -> dict[str, float]:
    """The figures that a launch has.

    Args:
        metrics: (name as the file has it, base unit) → value in that unit.
        duration_s: of the kernel; null if not known.
    """
    found = {}
    for figure, sources in _DIRECT.items():
        value = next((metrics[source] for source in sources if source in metrics), None)
        if value is not None:
            found[figure] = value
    found.update(_coalescing(metrics))
    found.update(_dram(metrics, duration_s, found.get("dram_byte_per_s")))
    found.update(_arithmetic(metrics, duration_s))
    found.update(_pipe(metrics))
    shared = [value for names in _SHARED for name in names if (value := metrics.get((name, "B"))) is not None]
    if shared:
        found.setdefault("shared_bytes_per_block", sum(shared))
    return {figure: value for figure, value in found.items() if value >= 0.0}


def _coalescing(metrics: Metrics) -> dict[str, float]:
    """Sectors per request, of loads, stores and both; and the share of the bytes moved that were asked for."""
    found, all_sectors, all_requests = {}, 0.0, 0.0
    for side, word in (("ld", "load"), ("st", "store")):
        sectors, requests = metrics.get((_GLOBAL.format("sectors", side), "1")), metrics.get((_GLOBAL.format("requests", side), "1"))
        ratio = metrics.get((f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{side}.ratio", "1"))
        if sectors is not None and requests:
            found[f"sectors_per_{word}"] = sectors / requests
            all_sectors, all_requests = all_sectors + sectors, all_requests + requests
        elif ratio is not None:
            found[f"sectors_per_{word}"] = ratio
    if all_requests:
        found["sectors_per_request"] = all_sectors / all_requests
    elif len(ratios := [found[name] for name in ("sectors_per_load", "sectors_per_store") if name in found]) == 1:
        found["sectors_per_request"] = ratios[0]
    share = _asked_for(metrics)
    if share is not None:
        found["coalesced_share"] = share
    return found


def _asked_for(metrics: Metrics) -> float | None:
    """Share of the bytes of global sectors that threads asked for, from the source counters or the bytes per sector of loads."""
    moved, ideal = metrics.get(("memory_l2_theoretical_sectors_global", "1")), metrics.get(("memory_l2_theoretical_sectors_global_ideal", "1"))
    if moved and ideal is not None:
        return ideal / moved
    name = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld"
    share = metrics.get((f"{name}.pct", "1"))
    bytes_a_sector = metrics.get((f"{name}.ratio", "B"), metrics.get((f"{name}.ratio", "1")))
    return share if share is not None else bytes_a_sector / _SECTOR if bytes_a_sector is not None else None


def _dram(metrics: Metrics, duration_s: float | None, rate: float | None) -> dict[str, float]:
    total = metrics.get(("dram__bytes.sum", "B"))
    sides = [next((metrics[name + ".sum", "B"] for name in names if (name + ".sum", "B") in metrics), None) for names in (_READ, _WRITTEN)]
    if total is None and None not in sides:
        total = sum(side for side in sides if side is not None)
    found = {} if total is None else {"dram_bytes": total}
    if rate is None and total is not None and duration_s:
        found["dram_byte_per_s"] = total / duration_s
    elif rate is None:
        rates = [
            next((metrics[name + ".sum.per_second", "B/s"] for name in names if (name + ".sum.per_second", "B/s") in metrics), None)
            for names in (_READ, _WRITTEN)
        ]
        if None not in rates:
            found["dram_byte_per_s"] = sum(side for side in rates if side is not None)
    return found


def _arithmetic(metrics: Metrics, duration_s: float | None) -> dict[str, float]:
    """FLOP by precision, where adds, multiplies and fused ones were all counted."""
    found: dict[str, float] = {}
    for letter, word in _OPERATIONS.items():
        counts = [
            metrics.get((f"{unit}__sass_thread_inst_executed_op_{letter}{each}_pred_on.sum", "1"))
            for unit in ("smsp", "sm")
            for each in ("add", "mul", "fma")
        ]
        for add, multiply, fused in (counts[:3], counts[3:]):
            if add is not None and multiply is not None and fused is not None:
                found[f"{word}_flop"] = add + multiply + 2.0 * fused
                if duration_s:
                    found[f"{word}_flop_per_s"] = found[f"{word}_flop"] / duration_s
                break
    return found


#: Pipes that compute; the others move data or decide.
_ARITHMETIC = ("fma", "alu", "fp16", "fp32", "fp64", "tensor", "xu", "fmaheavy", "fmalite", "fmal", "dmma", "hmma", "imma", "shared")


def _pipe(metrics: Metrics) -> dict[str, float]:
    """The busiest pipe that computes, and the busiest that loads and stores, as shares of their peaks."""
    found: dict[str, float] = {}
    for (name, unit), value in metrics.items():
        if unit != "1" or not name.startswith("sm__") or "pipe_" not in name or ".avg.pct_of_peak_sustained" not in name:
            continue
        pipe = name.partition("pipe_")[2].partition(".")[0].removesuffix("_cycles_active")
        word = "arithmetic_share" if pipe.split("_")[0] in _ARITHMETIC else "load_store_share" if pipe.split("_")[0] in ("lsu", "mio") else ""
        if word:
            found[word] = max(value, found.get(word, 0.0))
    return found
