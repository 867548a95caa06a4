"""Neural processing units: what an array of multipliers and the memories beside it take for a shape, in closed form and without hardware."""

from .buffering import Buffers, DramTraffic, dram_traffic, stalled
from .mac_array import AccessEnergy, MacArray, MacArrayCost, mac_array_cost
from .shapes import Products, convolution, gemm
from .systolic import Dataflow, Folds, SystolicArray, SystolicCycles, folds, systolic_cycles

__all__ = [
    "AccessEnergy",
    "Buffers",
    "Dataflow",
    "DramTraffic",
    "Folds",
    "MacArray",
    "MacArrayCost",
    "Products",
    "SystolicArray",
    "SystolicCycles",
    "convolution",
    "dram_traffic",
    "folds",
    "gemm",
    "mac_array_cost",
    "stalled",
    "systolic_cycles",
]
