"""Kernels of language models on aiconfigurator's tables: held-out shapes, the frontier, attention, power, architectures left out, intervals.

    RIDGELINE_DATA=FOLDER python benchmarks/model/aiconfigurator.py [PART…]

PART is one of `products`, `frontier`, `power`, `attention`, `rows`, `devices`; all if none is named. One thread. Aims are printed beside what was
found, with `!` where one is missed. Errors are |predicted ÷ measured − 1|.

- `products`: five folds, a pair (n, k) held out for every m and precision of its table; intervals at 90 % by precision and decile of work, their
quantiles
  from the other folds. Aim: median ≤ 2.5, p90 ≤ 9; coverage 88 to 92 %, no group under 80.
- `frontier`: trained on n ≤ 8192, asked for n = 65536. Aim: median ≤ 6, p90 ≤ 20.
- `power`: as `products`, two folds. Aim: mean ≤ 8.
- `attention`: cells (batch, length) of prefill within the grid, held out for all heads, two of five folds; `rows`: whole lengths. Aims: median ≤ 1.8,
2.5. - `devices`: Hopper or Blackwell left out; without any data of the target (host's floor given and not) and with 20 rows a precision. Aims: mean ≤
25 and 12 %.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import msgspec
import numpy as np
from kernel_rows import Attentions, Products, attentions, figures, menu, products, read, recordings, short
from left_out import devices
from local_model import GROWTH, asked, folds, form_log
from pushed_out import frontier

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.kernels.attention import AttentionCost, attention_seconds, fit_attention
from ridgeline.model.learned.conformal import fit_conformal
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.local import COLUMNS, local_values
from ridgeline.model.learned.trees import Forest

ATTENTION = Growth(rounds=250, leaves=63, depth=-1, least=20, rate=0.06, smoothing=1.0, loss="l1", rows=0.7, columns=0.6, seed=1)
DIFFICULTY = Growth(rounds=150, leaves=31, depth=-1, least=150, rate=0.06, smoothing=5.0, rows=0.7, columns=0.5, seed=1)


def judged(name: str, error: np.ndarray, median: float, ninety: float) -> None:
    found = np.abs(np.expm1(error)) * 100
    missed = "!" if np.median(found) > median or np.quantile(found, 0.9) > ninety else " "
    print(f"{missed} {name:44s} {len(found):7d} rows  {figures(error)}", flush=True)


def by_file(table: LatencyTable) -> dict[str, list[Products]]:
    found: dict[str, list[Products]] = {}
    for each in products(table):
        found.setdefault(each.file, []).append(each)
    return found


def pieces(several: list[Products], values: np.ndarray) -> list[np.ndarray]:
    return np.split(values, np.cumsum([len(each.log_s) for each in several])[:-1])


def held_out_products(table: LatencyTable) -> None:
    print(f"\nproducts: five folds by (n, k); form with {menu()}; aim median ≤ 2.5, p90 ≤ 9")
    for file, several in by_file(table).items():
        fold = folds(np.concatenate([each.shape for each in several]))
        truth = np.concatenate([each.log_s for each in several])
        said, features = np.empty(len(truth)), None
        for number in range(5):
            known = pieces(several, fold != number)
            base = [form_log(each, seen) for each, seen in zip(several, known, strict=True)]
            answer = asked(several, [each.log_s for each in several], base, known, GROWTH)
            out = fold == number
            said[out] = answer.log[out]
            features = np.zeros((len(truth), answer.features.shape[1] + 1)) if features is None else features
            features[out] = np.column_stack([answer.features, answer.log - answer.interpolated])[out]
        error = said - truth
        judged(short(file), error, 2.5, 9.0)
        for each, part in zip(several, pieces(several, error), strict=True):
            judged(f"    {each.precision} {each.variant}", part, 2.5, 9.0)
        intervals(several, error, features, fold)


def intervals(several: list[Products], error: np.ndarray, features: np.ndarray, fold: np.ndarray) -> None:
    """Conformal intervals of each fold from the others, the difficulty of a row always from folds that it is not in."""
    work = np.concatenate([each.shape.prod(axis=1) for each in several])
    decile = np.argsort(np.argsort(work)) * 10 // len(work)
    kind = np.repeat([f"{each.precision} {each.variant}" for each in several], [len(each.log_s) for each in several])
    groups = [(str(one), f"decile {ten}") for one, ten in zip(kind, decile, strict=True)]
    names = [f"f{number}" for number in range(features.shape[1])]
    goal, inside, width = np.log(np.abs(error) + 0.003), np.zeros(len(error), bool), np.empty(len(error))
    for number in range(5):
        others = [each for each in range(5) if each != number]
        halves = [np.isin(fold, others[:2]), np.isin(fold, others[2:])]
        grown = [Forest(taken_over(grow(features[half], goal[half], names, DIFFICULTY), names)) for half in halves]
        first, second = (np.exp(each.predict(features)) for each in grown)
        sigma = np.where(halves[0], second, np.where(halves[1], first, np.sqrt(first * second)))
        seen, out = fold != number, np.flatnonzero(fold == number)
        made = fit_conformal(error[seen], sigma[seen], [groups[row] for row in np.flatnonzero(seen)])
        width[out] = made.half_width(sigma[out], [groups[row] for row in out])
        inside[out] = np.abs(error[out]) <= width[out]
    code = np.unique([" ".join(group) for group in groups], return_inverse=True)[1]
    worst = min(inside[code == each].mean() for each in np.unique(code) if (code == each).sum() >= 100)
    share = inside.mean()
    missed = "!" if not 0.88 <= share <= 0.92 or worst < 0.8 else " "
    print(
        f"{missed}     intervals at 90 %: cover {share:.3f}, worst group {worst:.3f}, median half-width {np.median(width):.3f} in the log", flush=True
    )


def power(table: LatencyTable) -> None:
    print("\npower: two folds by (n, k); aim mean ≤ 8")
    for file, several in by_file(table).items():
        if not any(each.power_w.any() for each in several):
            continue
        fold = folds(np.concatenate([each.shape for each in several]))
        truth = [np.log(each.power_w) for each in several]
        errors, places = [], []
        for number in range(2):
            known = pieces(several, fold != number)
            base = [np.full(len(each), each[seen].mean()) for each, seen in zip(truth, known, strict=True)]
            answer = asked(several, truth, base, known, msgspec.structs.replace(GROWTH, rounds=250, rate=0.08, leaves=63))
            out = np.flatnonzero(fold == number)
            errors.append((answer.log - np.concatenate(truth))[out])
            places.append(out)
        error, place = np.concatenate(errors), np.concatenate(places)
        kind = np.repeat(np.arange(len(several)), [len(each.log_s) for each in several])[place]
        print(f"{'!' if np.abs(np.expm1(error)).mean() > 0.08 else ' '} {short(file):44s} {len(error):7d} rows  {figures(error)}")
        for number, each in enumerate(several):
            print(f"      {each.precision} {each.variant:36s} {(kind == number).sum():7d} rows  {figures(error[kind == number])}", flush=True)


def attention_cells(table: LatencyTable) -> None:
    print("\nattention: prefill, cells of the grid held out (two of five folds, interior); aim median ≤ 1.8")
    for each in attentions(table):
        if each.sizes["queries"].max() > 1:
            cell = np.unique(np.column_stack([each.sizes["batch"], each.sizes["queries"]]), axis=0, return_inverse=True)[1].ravel()
            fold = (np.random.default_rng(0).permutation(cell.max() + 1) % 5)[cell]
            error = [_attention(each, fold != number, None)[(fold == number) & _interior(each)] for number in range(2)]
            judged(short(each.file), np.concatenate(error), 1.8, np.inf)


def attention_rows(table: LatencyTable) -> None:
    print("\nattention: prefill, a whole length held out; aim median ≤ 2.5")
    for each in attentions(table):
        if each.sizes["queries"].max() == 1 or "h200_sxm/attention/vllm/0.24" not in each.file:
            continue
        errors = []
        for length in np.unique(each.sizes["queries"])[1:-1]:
            out = each.sizes["queries"] == length
            group = np.unique(each.sizes["queries"], return_inverse=True)[1].ravel()
            errors.append(_attention(each, ~out, group)[out & _interior(each)])
            judged(f"{short(each.file)} {length:.0f}", errors[-1], 2.5, np.inf)
        judged(f"{short(each.file)} all", np.concatenate(errors), 2.5, np.inf)


def _configuration(each: Attentions) -> np.ndarray:
    names = [np.unique(column, return_inverse=True)[1].ravel() for column in (each.precision, each.cache)]
    columns = [*names, *(each.sizes[name] for name in ("head_size", "window", "heads", "kv_heads"))]
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()


def _interior(each: Attentions) -> np.ndarray:
    """Neither the least nor, of its configuration, the greatest batch or length."""
    batch, length, group = each.sizes["batch"], each.sizes["queries"], _configuration(each)
    most = np.zeros(group.max() + 1)
    np.maximum.at(most, group, batch)
    pair = np.unique(np.column_stack([group, batch]), axis=0, return_inverse=True)[1].ravel()
    longest = np.zeros(pair.max() + 1)
    np.maximum.at(longest, pair, length)
    return (batch > batch.min()) & (batch < most[group]) & (length > length.min()) & (length < longest[pair])


def _attention(each: Attentions, known: np.ndarray, apart: np.ndarray | None) -> np.ndarray:
    """Log error of every row from the known ones."""
    cost, sizes = each.cost, each.sizes
    rest = each.log_s - np.log(cost.smooth)
    group = _configuration(each)
    sites = np.log2(np.column_stack([sizes["batch"], sizes["queries"]]))
    local = local_values(rest, known, group, sites, scale=3.0, noise=0.01, out=apart)
    blocked = np.empty(len(rest))
    family = np.unique(
        np.column_stack([sizes["head_size"], sizes["window"] > 0, np.unique(each.cache, return_inverse=True)[1]]), axis=0, return_inverse=True
    )[1]
    for number in np.unique(family):
        at = np.flatnonzero(family.ravel() == number)
        seen = at[known[at]]
        drawn = np.random.default_rng(0).choice(seen, min(3000, len(seen)), replace=False)
        fitted = fit_attention(AttentionCost(*(column[drawn] for column in cost)), np.exp(each.log_s[drawn]), phase="prefill", source="")
        blocked[at] = attention_seconds(AttentionCost(*(column[at] for column in cost)), fitted)
    logs = np.log2(np.column_stack([sizes[name] for name in ("batch", "queries", "heads", "kv_heads")]))
    ratios = np.log(1e-9 + np.column_stack([cost.compute, cost.memory, cost.longest, cost.blocks, 1e-6 * cost.waves]) / blocked[:, None])
    features = np.column_stack([
        logs, logs[:, 2] - logs[:, 3], sizes["head_size"], np.log2(sizes["window"] + 1), each.precision == "fp8", each.cache == "cache fp8", ratios,
        np.log(blocked / cost.smooth), np.log(cost.waves), logs[:, 0] + logs[:, 2], logs[:, 0] + logs[:, 3], np.log(cost.flop), local.columns,
    ])  # fmt: skip
    names = [f"f{number}" for number in range(features.shape[1] - len(COLUMNS))] + list(COLUMNS)
    trees = Forest(taken_over(grow(features[known], (rest - local.value)[known], names, ATTENTION), names))
    return local.value + trees.predict(features) - rest


PARTS: dict[str, Callable[[LatencyTable], None]] = {
    "products": held_out_products, "frontier": frontier, "power": power, "attention": attention_cells, "rows": attention_rows, "devices": devices,
}  # fmt: skip


def main() -> None:
    wanted = sys.argv[1:] or list(PARTS)
    table = read(recordings("aiconfigurator", "systems", "data"))
    for name in wanted:
        began = time.perf_counter()
        PARTS[name](table)
        print(f"  ({name}: {time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()
