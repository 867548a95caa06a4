"""Analytical models over arrays: pure functions from first principles, each with formula, units, limits and source. One module an idea.

From work to time: `roofline`, `overlap`, `ecm`, `streams`. From shapes to bytes: `tiling`, `convolution`, `rowwise`, `attention`, `moe`,
`compressed`. From hardware to shares: `quantisation`, `occupancy`. Around the kernel: `launch`, `contention`, `collectives`, `parallel`. State and
indicators: `dvfs`, `power`, `memory`, `cost`. All take numbers or arrays that broadcast, return float64, and refuse what is no number of their domain
by name and index. Each module is a face of its own and is imported by name; functions are read with it, as in `roofline.attainable`.
"""
