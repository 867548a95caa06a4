"""`Transformer`: a decoder language model as sizes, its parameters, and the operators of one of its steps.

This module decides counts alone: which operators one of several devices runs for so many new tokens behind so many cached ones, and how large weights
and cache are. How long an operator takes is left to a model of kernels, what a conversation takes to `serving`. Grouped queries: `kv_heads` is what
cache and projections have, `heads` what the arithmetic has. Experts: all of them take memory, the active ones time.
Sources: A. Vaswani et al., "Attention is all you need", 2017; J. Ainslie et al., "GQA", arXiv:2305.13245; A. Jiang et al., "Mixtral of experts",
arXiv:2401.04088; M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053 (how layers are cut: heads and inner sizes over ranks, two all-reduces a layer).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ridgeline.core import OutOfRange, Precision, UsageError, Workload

from ..analytic.attention import kv_cache_bytes

__all__ = ["Operator", "Transformer", "cache_bytes", "parameters", "step_operators", "weight_bytes"]

#: Bytes of one stored number, with its scale where the format has one by block.
_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5625, "int4": 0.5}


class Transformer(msgspec.Struct, frozen=True, kw_only=True):
    """A decoder-only language model.

    Args:
        layers, hidden, vocabulary: how many, and sizes.
        heads, kv_heads, head_size: of queries, of keys and values, and elements of one; kv_heads divides heads.
        inner: of the feed-forward part, of one expert where there are experts.
        gated: whether it has three matrices (SwiGLU) or two; experts are gated.
        experts, active: routed ones and how many of them a token uses; 0 where the model is dense. shared: those that every token uses.
        tied: whether the output projection is the embedding.
        window: tokens that a layer looks back at most; 0 for all.
        precision: of products; quantised: `block` where fp8 has a scale by block.
        weight_precision: as weights are stored, the products' if not given. cache_precision: of keys and values; attention_precision: of their
            arithmetic.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    inner: int
    vocabulary: int
    gated: bool = True
    experts: int = 0
    active: int = 0
    shared: int = 0
    tied: bool = False
    window: int = 0
    precision: Precision = "bf16"
    quantised: str = ""
    weight_precision: Precision | None = None
    cache_precision: Precision = "bf16"
    attention_precision: Precision = "bf16"

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "heads", "kv_heads", "head_size", "inner", "vocabulary"):
            if not 0 < getattr(self, name) < 2**40:
                raise UsageError(f"Transformer.{name} to be positive", found=repr(getattr(self, name)), remedy="see the model's configuration")
        if self.heads % self.kv_heads:
            raise UsageError("kv_heads that divide heads", found=f"{self.kv_heads} and {self.heads}", remedy="give the heads of keys and values")
        if not 0 <= self.active <= self.experts or (self.experts > 0) != (self.active > 0) or self.shared < 0 or self.window < 0:
            raise UsageError(
                "active experts from 1 to all where there are experts", found=f"{self.active} of {self.experts}", remedy="give the router's top-k"
            )
        for name in ("weight", "cache", "precision"):
            kept = getattr(self, "precision" if name == "precision" else f"{name}_precision") or self.precision
            if kept not in _BYTES:
                raise UsageError(f"one of {', '.join(_BYTES)}", found=repr(kept), remedy="name the stored format")


class Parameters(NamedTuple):
    """`total`: for memory; `active`: that one token uses, for time. Norms and biases are left out: less than a thousandth."""

    total: int
    active: int


def parameters(model: Transformer) -> Parameters:
    """L (h (H + 2 G) d + H d h + feed-forward) + embeddings; feed-forward is (2 or 3) h f, times experts and shared ones, and h E of the router.

    >>> mixtral = Transformer(layers=32, hidden=4096, heads=32, kv_heads=8, head_size=128, inner=14336, vocabulary=32000, experts=8, active=2)
    >>> [round(each / 1e9, 1) for each in parameters(mixtral)]
    [46.7, 12.9]
    """
    attention = model.hidden * (2 * model.heads + 2 * model.kv_heads) * model.head_size
    matrix = (3 if model.gated or model.experts else 2) * model.hidden * model.inner
    embeddings = model.vocabulary * model.hidden * (1 if model.tied else 2)
    if not model.experts:
        both = model.layers * (attention + matrix) + embeddings
        return Parameters(both, both)
    always = attention + model.shared * matrix + model.hidden * model.experts
    total, active = (model.layers * (always + count * matrix) + embeddings for count in (model.experts, model.active))
    return Parameters(total, active)


def weight_bytes(model: Transformer, ranks: int = 1) -> float:
    """Bytes of the weights on each of `ranks` devices, evenly cut; embeddings stay in 16 bits where products have less."""
    stored = _BYTES[model.weight_precision or model.precision]
    embeddings = model.vocabulary * model.hidden * (1 if model.tied else 2)
    layers = parameters(model).total - embeddings
    return (layers * stored + embeddings * max(2.0, stored)) / _cut(model, ranks)


def cache_bytes(model: Transformer, sequences: int, tokens: int, ranks: int = 1) -> float:
    """Bytes of keys and values on each device: 2 L B T G d e, T at most the window; a device holds at least one head of them.

    >>> llama = Transformer(layers=32, hidden=4096, heads=32, kv_heads=8, head_size=128, inner=14336, vocabulary=128256)
    >>> cache_bytes(llama, 1, 8192) / 2**30, cache_bytes(llama, 1, 8192, ranks=16) / 2**30
    (1.0, 0.125)
    """
    held = max(1, model.kv_heads // _cut(model, ranks))
    window = model.window or tokens
    found = kv_cache_bytes(
        layers=model.layers,
        batch=sequences,
        tokens=tokens,
        kv_heads=held,
        key_dim=model.head_size,
        element_bytes=_BYTES[model.cache_precision],
        window=window,
    )
    return float(found)


def _cut(model: Transformer, ranks: int) -> int:
    if ranks < 1 or model.heads % ranks or model.inner % ranks or (ranks > model.kv_heads and ranks % model.kv_heads):
        found = f"{ranks} for {model.heads} heads, {model.kv_heads} of keys, inner {model.inner}"
        raise OutOfRange("devices that heads and inner size can be cut over", found=found, remedy="take a number that divides them")
    return ranks


class Operator(NamedTuple):
    """`part`: what it belongs to (`products`, `attention`, `experts`, `rows`, `communication`); `calls`: how often a step runs it."""

    name: str
    part: str
    workload: Workload
    calls: int


def step_operators(model: Transformer, *, sequences: int, queries: int, past: int = 0, ranks: int = 1) -> tuple[Operator, ...]:
    """What one of `ranks` devices runs in a step of the whole model, with logits of the last token of each sequence.

    Args:
        sequences: B; queries: new tokens of each (the prompt, or 1); past: tokens of each that are cached.

    Raises:
        UsageError: a count under 1. OutOfRange: ranks that the model cannot be cut over.
    """
    if min(sequences, queries) < 1 or past < 0:
        raise UsageError("at least one sequence and one new token", found=f"{sequences}, {queries}, {past}", remedy="give positive counts")
    _cut(model, ranks)
    tokens = sequences * queries
    made = _Maker(model, tokens)
    heads, kv_heads = model.heads // ranks, max(1, model.kv_heads // ranks)
    once = [
        made.rows("embedding", "gather", {"rows": model.vocabulary, "width": model.hidden, "indices": tokens}, 1),
        made.norm("last norm", 1),
        Operator("logits", "products", made.wide(sequences, -(-model.vocabulary // ranks), model.hidden), 1),
    ]
    layer = [
        made.norm("norm before attention", model.layers),
        made.product("queries, keys, values", (heads + 2 * kv_heads) * model.head_size, model.hidden),
        made.rows("rotation", "elementwise", {"elements": tokens * (heads + kv_heads) * model.head_size, "inputs": 1}, model.layers),
        Operator("attention", "attention", made.attention(sequences, queries, past, heads, kv_heads), model.layers),
        made.product("output of attention", model.hidden, heads * model.head_size),
        made.norm("norm before feed-forward", model.layers),
        *_feed_forward(made, ranks),
    ]
    if ranks > 1:
        sums = Workload(kind="collective", sizes={"elements": tokens * model.hidden, "ranks": ranks}, precision="bf16", variant="all-reduce")
        layer.append(Operator("sum over devices", "communication", sums, 2 * model.layers))
    return (*layer, *once)


def _feed_forward(made: _Maker, ranks: int) -> list[Operator]:
    model, tokens, inner = made.model, made.tokens, made.model.inner // ranks
    gates = 2 if model.gated or model.experts else 1
    activation = made.rows("activation", "elementwise", {"elements": tokens * inner, "inputs": gates}, model.layers)
    if not model.experts:
        return [made.product("up", gates * inner, model.hidden), activation, made.product("down", model.hidden, inner)]
    sizes = {"tokens": tokens, "hidden": model.hidden, "inner": inner, "experts": model.experts, "active": model.active}
    routed = Workload(kind="moe", sizes=sizes, precision=model.precision, weight_precision=model.weight_precision, variant=model.quantised)
    found = [
        Operator("router", "products", made.wide(tokens, model.experts, model.hidden), model.layers),
        Operator("experts", "experts", routed, model.layers),
    ]
    if model.shared:
        width = model.shared * inner
        found += [made.product("shared up", 2 * width, model.hidden), activation, made.product("shared down", model.hidden, width)]
    return found


class _Maker:
    """Workloads of a step over `tokens`."""

    def __init__(self, model: Transformer, tokens: int) -> None:
        self.model, self.tokens = model, tokens

    def product(self, name: str, n: int, k: int) -> Operator:
        """One of each layer, in the model's precision."""
        model = self.model
        sizes = {"m": self.tokens, "n": n, "k": k}
        variant = f"linear {model.quantised}".strip()
        work = Workload(kind="gemm", sizes=sizes, precision=model.precision, weight_precision=model.weight_precision, variant=variant)
        return Operator(name, "products", work, model.layers)

    def wide(self, m: int, n: int, k: int) -> Workload:
        """A product that stays in 16 bits: the router and the logits."""
        return Workload(kind="gemm", sizes={"m": m, "n": n, "k": k}, precision="bf16", variant="linear")

    def norm(self, name: str, calls: int) -> Operator:
        return self.rows(name, "normalisation", {"rows": self.tokens, "columns": self.model.hidden}, calls)

    def rows(self, name: str, kind: str, sizes: dict[str, int], calls: int) -> Operator:
        return Operator(name, "rows", Workload(kind=kind, sizes=sizes, precision="bf16"), calls)

    def attention(self, sequences: int, queries: int, past: int, heads: int, kv_heads: int) -> Workload:
        model = self.model
        sizes = {
            "batch": sequences, "heads": heads, "kv_heads": kv_heads, "head_size": model.head_size, "queries": queries,
            "keys": past + queries, "causal": 1,
        }  # fmt: skip
        if model.window:
            sizes["window"] = model.window
        variant = "" if model.cache_precision == model.attention_precision else f"cache {model.cache_precision}"
        return Workload(kind="attention", sizes=sizes, precision=model.attention_precision, variant=variant)
