"""The arithmetic of performance as pure functions: roofline, Amdahl, sampling error, fusion traffic. Floats in SI, arguments by name."""

from .amdahl import combined_speedup, required_local_speedup, required_shrink, speedup, speedup_bound, speedup_interval
from .amortise import average_time, calls_until_below
from .bandwidth import achieved_bandwidth, bytes_from_misses, traffic_ratio, write_allocate_reads
from .fusion import chain_traffic, fused_traffic, fusion_saving, fusion_speedup
from .ipc import flop_per_instruction, instructions_per_cycle, vector_flop_per_instruction
from .overhead import gap, gap_share, per_operator_cost, per_operator_share
from .quantise import quantised_time, quantised_traffic_ratio
from .roofline import (
    arithmetic_intensity,
    attainable,
    bandwidth_fraction,
    compute_fraction,
    efficiency,
    ideal_time,
    limiting_resource,
    ridge_point,
)
from .sampling import kernel_share, overhead_share, relative_error, samples_needed, samples_per_second, seconds_to_record

__all__ = [
    "achieved_bandwidth", "arithmetic_intensity", "attainable", "average_time", "bandwidth_fraction", "bytes_from_misses", "calls_until_below",
    "chain_traffic", "combined_speedup", "compute_fraction", "efficiency", "flop_per_instruction", "fused_traffic", "fusion_saving", "fusion_speedup",
    "gap", "gap_share", "ideal_time", "instructions_per_cycle", "kernel_share", "limiting_resource", "overhead_share", "per_operator_cost",
    "per_operator_share", "quantised_time", "quantised_traffic_ratio", "relative_error", "required_local_speedup", "required_shrink", "ridge_point",
    "samples_needed", "samples_per_second", "seconds_to_record", "speedup", "speedup_bound", "speedup_interval", "traffic_ratio",
    "vector_flop_per_instruction", "write_allocate_reads",
]  # fmt: skip
