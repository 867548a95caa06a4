"""Performance models: pure predictors, from formulas and from recordings, and what keeps them honest.

`families` is the vocabulary: which sizes an operator has. What operators take: `analytic` (formulas for any device), `npu` (arrays of multipliers,
Ethos-U), `gpu` (fp32 networks on GPUs that nobody measured), `kernels` (half and quarter precision kernels of language models), `clocks` and
`contention` (the same work in another state). `graphs`: what runtimes make of a graph, and what its parts are together. `learned`: what is trained on
ratios to the formulas, and intervals. `rows`, `validation` and `calibration`: what may be learned from, how good it is, and whether it still is.
"""
