"""Kernels of language models on accelerators with matrix units: matrix products, attention and experts from shapes and a data sheet.

`sheet` takes what they need from a `Device`, `constants` what software and chip decide, `gemm`, `attention` and `experts` give the forms,
`calibrated` fits their constants, `timing` puts them together. What a trained correction adds is in `learned`, whole steps of a model are in
`graphs.serving`.
"""
