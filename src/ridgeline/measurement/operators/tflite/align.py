"""Which operators of the delegate stand for which nodes of the model.

XNNPACK keeps the order of the nodes it was given, but folds some (an activation into a convolution, a square into a mean), splits some (a
concatenation into copies) and adds some (paddings, conversions). So the two lists are aligned like two sequences: a node is matched with the first
operator of its kind, others beside it are taken for its helpers, and the alignment with the best sum of scores wins. Names are those of XNNPACK's
profile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

__all__ = ["align", "fits"]

#: Operator of XNNPACK → kinds of node that it may be the main operator of, where the names do not say it.
_MAIN = {
    "convolution": "CONV_2D DEPTHWISE_CONV_2D",
    "fullyconnected": "FULLY_CONNECTED CONV_2D BATCH_MATMUL",
    "dynamicfullyconnected": "FULLY_CONNECTED BATCH_MATMUL",
    "deconvolution": "TRANSPOSE_CONV",
    "batchmatrixmultiply": "BATCH_MATMUL FULLY_CONNECTED",
    "maxpooling": "MAX_POOL_2D",
    "averagepooling": "AVERAGE_POOL_2D MEAN",
    "argmaxpooling": "custom:MaxPoolingWithArgmax2D",
    "globalaveragepooling": "AVERAGE_POOL_2D MEAN",
    "subtract": "SUB",
    "multiply": "MUL SQUARE",
    "divide": "DIV",
    "squareddifference": "SQUARED_DIFFERENCE",
    "clamp": "RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 MAXIMUM MINIMUM",
    "sigmoid": "LOGISTIC",
    "negate": "NEG",
    "squareroot": "SQRT",
    "reciprocalsquareroot": "RSQRT",
    "bankersrounding": "ROUND",
    "ceiling": "CEIL",
    "sine": "SIN",
    "cosine": "COS",
    "exponential": "EXP",
    "mean": "MEAN",
    "meansquared": "MEAN",
    "sumsquared": "SUM",
    "max": "REDUCE_MAX",
    "min": "REDUCE_MIN",
    "copy": "RESHAPE SQUEEZE EXPAND_DIMS CONCATENATION READ_VARIABLE ASSIGN_VARIABLE PACK SPLIT BROADCAST_TO",
    "staticreshape": "RESHAPE SQUEEZE EXPAND_DIMS",
    "slice": "SLICE STRIDED_SLICE SPLIT SPLIT_V",
    "constantpad": "PAD PADV2",
    "convert": "QUANTIZE DEQUANTIZE CAST",
    "transpose": "TRANSPOSE",
    "resizebilinear": "RESIZE_BILINEAR",
    "softmax": "SOFTMAX",
    "tiledcopy": "TILE",
}
#: What XNNPACK puts beside the operator that does the work.
_HELPERS = frozenset({"copy", "staticreshape", "constantpad", "convert", "transpose", "clamp", "slice", "padding", "fillvalue"})
_SCORE_MAIN, _SCORE_MORE, _SCORE_HELPER, _SCORE_STRANGER = 4.0, 1.0, 0.5, -3.0
_SKIPPED, _SKIPPED_VIEW = -1.0, -0.2
_VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "VAR_HANDLE", "READ_VARIABLE", "DEQUANTIZE"})
#: How far the two lists may be out of step.
_BAND = 96
_LOWEST = float("-inf")


@cache
def _base(operator: str) -> str:
    return re.sub(r"[^a-z]", "", operator.split(" (")[0].lower())


@cache
def fits(kind: str, operator: str) -> bool:
    """Whether an operator of XNNPACK may be the main one of a node of that kind.

    >>> fits("CONV_2D", "Convolution (NHWC, F32) IGEMM"), fits("LEAKY_RELU", "LeakyReLU (NC)"), fits("ADD", "Softmax (NC, F32)")
    (True, True, False)
    """
    base = _base(operator)
    return kind in _MAIN.get(base, "").split() or base == re.sub(r"[^a-z]", "", kind.lower())


def align(kinds: Sequence[str], operators: Sequence[str]) -> list[tuple[int, ...]]:
    """For each node of a partition, the positions of the delegate's operators that stand for it; each operator goes to exactly one node.

    Args:
        kinds: of the nodes, in order; at least one.
        operators: names of the delegate's operators, in order.
    """
    nodes, count = len(kinds), len(operators)
    # state: (node, operators consumed, whether the node has its main operator) → best score, and the step that led there
    best: list[dict[tuple[int, bool], float]] = [{} for _ in range(nodes)]
    step: dict[tuple[int, int, bool], tuple[int, int, bool]] = {}
    best[0][(0, False)] = 0.0
    for node in range(nodes):
        _consume(node, kinds[node], operators, best[node], step, _window(node, nodes, count))
        if node + 1 < nodes:
            _advance(node, kinds[node], best, step, _window(node + 1, nodes, count)[0])
    ends = [(score + (0.0 if main else _skip(kinds[-1])), main) for (used, main), score in best[-1].items() if used == count]
    if not ends:
        return [tuple(range(count)) if node == 0 else () for node in range(nodes)]
    return _walk(nodes, count, max(ends)[1], step)


def _window(node: int, nodes: int, count: int) -> tuple[int, int]:
    centre = (node + 1) * count // nodes
    reach = _BAND + abs(nodes - count)
    return max(0, centre - reach), min(count, centre + reach)


def _skip(kind: str) -> float:
    return _SKIPPED_VIEW if kind in _VIEWS else _SKIPPED


def _consume(
    node: int,
    kind: str,
    operators: Sequence[str],
    scores: dict[tuple[int, bool], float],
    step: dict[tuple[int, int, bool], tuple[int, int, bool]],
    window: tuple[int, int],
) -> None:
    """The node takes the next operator, again and again."""
    for used in range(*window):
        operator = operators[used]
        main, helper = fits(kind, operator), _base(operator) in _HELPERS
        for had in (False, True):
            score = scores.get((used, had), _LOWEST)
            if score == _LOWEST:
                continue
            gain = (_SCORE_MORE if had else _SCORE_MAIN) if main else _SCORE_HELPER if helper else _SCORE_STRANGER
            now = had or main
            if score + gain > scores.get((used + 1, now), _LOWEST):
                scores[(used + 1, now)] = score + gain
                step[(node, used + 1, now)] = (node, used, had)


def _advance(
    node: int, kind: str, best: list[dict[tuple[int, bool], float]], step: dict[tuple[int, int, bool], tuple[int, int, bool]], least: int
) -> None:
    """On to the next node, from where it is not too far out of step."""
    for (used, had), score in best[node].items():
        if used < least:
            continue
        reached = score + (0.0 if had else _skip(kind))
        if reached > best[node + 1].get((used, False), _LOWEST):
            best[node + 1][(used, False)] = reached
            step[(node + 1, used, False)] = (node, used, had)


def _walk(nodes: int, count: int, main: bool, step: dict[tuple[int, int, bool], tuple[int, int, bool]]) -> list[tuple[int, ...]]:
    taken: list[list[int]] = [[] for _ in range(nodes)]
    state = (nodes - 1, count, main)
    while state in step:
        before = step[state]
        if before[0] == state[0]:
            taken[state[0]].append(before[1])
        state = before
    return [tuple(reversed(found)) for found in taken]
