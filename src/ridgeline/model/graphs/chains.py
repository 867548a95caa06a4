"""Pointwise operators that become one kernel with each other, or with the operator in front of them.

This module decides for compilers that generate kernels and for accelerators that finish a result before it leaves; what libraries do is in `rules`.
Source: torch/_inductor/scheduler.py, release 2.13 (a pointwise consumer is generated with its producer unless that is a library's); for
accelerators the usual output stage: scale, sum, activation.
"""

from __future__ import annotations

from .rewriting import Net, Part

__all__ = ["joined", "pointwise_chains"]

_GENERATED = frozenset(("elementwise", "normalisation", "reduction"))
_FINISHED = frozenset(("convolution", "matmul"))


def _group(part: Part) -> str:
    return part.work[0] if part.work is not None else part.attributes.get("group", "")


def _pointwise(part: Part) -> bool:
    return _group(part) == "elementwise" or part.kind in ("Cast", "CAST")


def pointwise_chains(net: Net) -> None:
    """Join a pointwise operator, or a reduction of one, to the generated kernel that alone makes an operand of it for it alone."""
    for part in net.parts:
        if not (_pointwise(part) or _group(part) in _GENERATED):
            continue
        for name in list(dict.fromkeys(part.inputs)):
            maker = net.maker(name)
            if maker is None or net.only_reader(maker) is not part or len(maker.outputs) != 1:
                continue
            if _pointwise(maker) or (_group(maker) in _GENERATED and _pointwise(part) and net.shape(maker.result) == net.shape(part.result)):
                _into(net, part, maker)


def joined(net: Net) -> None:
    """Join what is pointwise behind a convolution or a product to it, sums with another tensor of the same shape among them."""
    for part in net.parts:
        if not _pointwise(part):
            continue
        makers = [maker for name in dict.fromkeys(part.inputs) if (maker := net.maker(name)) is not None]
        found = [maker for maker in makers if _group(maker) in _FINISHED and net.only_reader(maker) is part and len(maker.outputs) == 1]
        found = [maker for maker in found if net.shape(maker.result) == net.shape(part.result)]
        if found:
            _behind(net, max(found, key=lambda each: each.place), part)


def _behind(net: Net, part: Part, follower: Part) -> None:
    """The leader stays the leader."""
    part.kind = f"{part.kind}+{follower.kind}"
    extra = [name for name in follower.inputs if name and name != part.result and name not in part.inputs]
    net.absorb(part, [follower], [*part.inputs, *extra], follower.outputs)


def _into(net: Net, part: Part, maker: Part) -> None:
    """The kernel is named after both; the one that does more work than a pass over its operands leads it."""
    inputs = [*maker.inputs, *(name for name in part.inputs if name != maker.result and name not in maker.inputs)]
    kind = f"{maker.kind}+{part.kind}"
    lead, other = (maker, part) if _pointwise(part) and not _pointwise(maker) else (part, maker)
    lead.kind = kind
    net.absorb(lead, [other], inputs, part.outputs)
