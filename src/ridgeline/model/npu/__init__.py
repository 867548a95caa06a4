"""Neural processing units: what an array of multipliers and the memories beside it take for a shape, in closed form and without hardware."""

from .buffering import Buffers, DramTraffic, dram_traffic, stalled
from .ethos_blocks import chosen_blocks
from .ethos_config import EthosU, ethos_u, ethos_u_names
from .ethos_costs import EthosCost, ethos_cost
from .ethos_cycles import Blocks, block_cycles
from .ethos_layers import EthosKind, EthosLayers, ethos_layers
from .mac_array import AccessEnergy, MacArray, MacArrayCost, mac_array_cost
from .shapes import Products, convolution, gemm
from .systolic import Dataflow, Folds, SystolicArray, SystolicCycles, folds, systolic_cycles

__all__ = [
    "AccessEnergy",
    "Blocks",
    "Buffers",
    "Dataflow",
    "DramTraffic",
    "EthosCost",
    "EthosKind",
    "EthosLayers",
    "EthosU",
    "Folds",
    "MacArray",
    "MacArrayCost",
    "Products",
    "SystolicArray",
    "SystolicCycles",
    "block_cycles",
    "chosen_blocks",
    "convolution",
    "dram_traffic",
    "ethos_cost",
    "ethos_layers",
    "ethos_u",
    "ethos_u_names",
    "folds",
    "gemm",
    "mac_array_cost",
    "stalled",
    "systolic_cycles",
]
