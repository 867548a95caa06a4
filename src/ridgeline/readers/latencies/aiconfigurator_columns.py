"""What the columns of aiconfigurator's tables mean: family, variant, precision and sizes of each operator.

This module decides meanings alone; which rows can be believed is left to `aiconfigurator`. `step` is how many tokens are cached before the query.
`message_size` of an all-reduce counts elements: as bytes, 512 Mi of them would be half of what the link does, as elements of 2 bytes they are 0.9 to
1.04 of it (reductions in the switch). fp8 products come in two kinds: with a scale for each row, which the call itself quantises, and by block
(`linear block`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEVICES", "TABLES", "Rows", "Table", "left_out"]

Ints = NDArray[Any]
Columns = Mapping[str, Any]

#: Names that the driver reports → names in the catalogue; others stay as they are.
DEVICES = {
    "NVIDIA GB200": "NVIDIA GB200 (one GPU)", "NVIDIA H100 80GB HBM3": "NVIDIA H100 SXM 80GB", "NVIDIA H200": "NVIDIA H200 SXM 141GB",
    "NVIDIA B200": "NVIDIA B200 SXM 180GB", "NVIDIA A100-SXM4-80GB": "NVIDIA A100 SXM 80GB", "NVIDIA A100 80GB PCIe": "NVIDIA A100 PCIe 80GB",
    "NVIDIA A100-SXM4-40GB": "NVIDIA A100 SXM 40GB",
}  # fmt: skip
#: dtype of a product → precision and how it is quantised.
_PRODUCTS = {
    "bfloat16": ("bf16", ""), "float16": ("fp16", ""), "fp8": ("fp8", ""), "fp8_block": ("fp8", "block"), "nvfp4": ("fp4", ""), "int8": ("int8", ""),
    "int4_wo": ("bf16", "weights int4"), "w4a16_mxfp4": ("bf16", "weights fp4"), "w4a8_mxfp4_mxfp8": ("fp8", "weights fp4"),
}  # fmt: skip
_LEFT_OUT = {
    "mla_context_module": "modules of several operators in one row", "mla_generation_module": "modules of several operators in one row",
    "mla_gen_pre": "products that do not state their sizes", "mla_gen_post": "products that do not state their sizes",
    "gdn": "linear attention: no family has its sizes", "compute_scale": "a difference of two kernels, no measurement of one",
}  # fmt: skip


class Rows(NamedTuple):
    """`kind`: the family of all rows; `variant`, `precision`: a text each; `sizes`: dimension → a number each."""

    kind: str
    variant: list[str]
    precision: list[str]
    sizes: dict[str, Ints]


class Table(NamedTuple):
    """`needs`: columns that there must be; `rows`: what they say, from the columns and the operator's name."""

    needs: tuple[str, ...]
    rows: Callable[[Columns, str], Rows]


def left_out(operator: str) -> str:
    """Why the tables of an operator are not read; empty if they are."""
    return next((reason for name, reason in _LEFT_OUT.items() if operator == name or operator.startswith(f"{name}_")), "")


def _formats(names: list[str], word: str = "") -> tuple[list[str], list[str]]:
    """Variants and precisions of dtypes; one that is not known keeps its own name as the precision, so that it is like no other."""
    known = {name: _PRODUCTS.get(name, (name, "")) for name in set(names)}
    return [" ".join(filter(None, (word, known[name][1]))) for name in names], [known[name][0] for name in names]


def _gemm(columns: Columns, operator: str) -> Rows:
    variant, precision = _formats(columns["gemm_dtype"], "linear")
    return Rows("gemm", variant, precision, {name: columns[name] for name in ("m", "n", "k")})


def _attention(columns: Columns, operator: str) -> Rows:
    context = operator.startswith("context")
    one = np.ones_like(columns["batch_size"])
    queries = columns["isl"] if context else one
    sizes = {
        "batch": columns["batch_size"], "heads": columns["num_heads"], "kv_heads": columns["num_key_value_heads"], "head_size": columns["head_dim"],
        "queries": queries, "keys": queries + columns["step"], "window": columns.get("window_size", 0 * one), "causal": one,
    }  # fmt: skip
    precision = [_PRODUCTS.get(name, (name, ""))[0] for name in columns["attn_dtype"]]
    cache = [_PRODUCTS.get(name, (name, ""))[0] for name in columns["kv_cache_dtype"]]
    variant = ["" if one == other else f"cache {other}" for one, other in zip(precision, cache, strict=True)]
    return Rows("attention", variant, precision, sizes)


def _encoder(columns: Columns, operator: str) -> Rows:
    one = np.ones_like(columns["batch_size"])
    sizes = {
        "batch": columns["batch_size"], "heads": columns["num_heads"], "kv_heads": columns["num_heads"], "head_size": columns["head_dim"],
        "queries": columns["isl"], "keys": columns["isl"], "window": 0 * one, "causal": 0 * one,
    }  # fmt: skip
    return Rows("attention", [""] * len(one), _formats(columns["attn_dtype"])[1], sizes)


def _experts(columns: Columns, operator: str) -> Rows:
    """Experts are cut over `moe_tp_size` devices, and shared out over `moe_ep_size` of them; sizes are those of the whole layer but for the cut."""
    quantised, precision = _formats(columns["moe_dtype"])
    variant = [" ".join(filter(None, pair)) for pair in zip(quantised, columns["distribution"], strict=True)]
    sizes = {
        "tokens": columns["num_tokens"], "hidden": columns["hidden_size"], "inner": columns["inter_size"] // np.maximum(columns["moe_tp_size"], 1),
        "experts": columns["num_experts"], "active": columns["topk"], "expert_ranks": columns["moe_ep_size"],
    }  # fmt: skip
    return Rows("moe", variant, precision, sizes)


def _all_reduce(columns: Columns, operator: str) -> Rows:
    variant = [f"all-reduce {name.rpartition('_')[2]}" for name in columns["backend"]]
    return Rows("collective", variant, _formats(columns["allreduce_dtype"])[1], {"elements": columns["message_size"], "ranks": columns["num_gpus"]})


def _quantise(columns: Columns, operator: str) -> Rows:
    variant, precision = ["quantise"] * len(columns["m"]), _formats(columns["quant_dtype"])[1]
    return Rows("elementwise", variant, precision, {"elements": columns["m"] * columns["k"], "inputs": np.ones_like(columns["m"])})


_HEADS = ("batch_size", "isl", "num_heads", "num_key_value_heads", "head_dim", "attn_dtype", "kv_cache_dtype", "step")
#: Operator → how its table is read.
TABLES = {
    "gemm": Table(("gemm_dtype", "m", "n", "k"), _gemm),
    "context_attention": Table(_HEADS, _attention),
    "generation_attention": Table(_HEADS, _attention),
    "encoder_attention": Table(("batch_size", "isl", "num_heads", "head_dim", "attn_dtype"), _encoder),
    "moe": Table(
        ("moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size", "distribution"), _experts
    ),
    "all_reduce": Table(("allreduce_dtype", "num_gpus", "message_size", "backend"), _all_reduce),
    "scale_matrix": Table(("m", "k", "quant_dtype"), _quantise),
}  # fmt: skip
