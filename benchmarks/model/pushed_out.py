"""The frontier: wider products than any that were measured; a part of `aiconfigurator`.

What lies beyond is learned from frontiers within: rows of n₁ are told from rows of n ≤ N₀ < n₁ alone, for each N₀ and n₁ that were measured, and the
answer for n = 65536 is told from n ≤ 8192 in the same way. What is told: the residual of the form at the edge and a little within, and that of
products of as much work.
"""

from __future__ import annotations

import msgspec
import numpy as np
from kernel_rows import Products, figures, products, short
from local_model import form_log

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.trees import Forest

EDGE, ASKED = 8192, 65536
GROWTH = Growth(rounds=250, leaves=31, depth=-1, least=60, rate=0.05, smoothing=5.0, loss="l1", rows=0.7, columns=0.5, seed=1)
TOLD = 11


def grid(each: Products, values: np.ndarray, axes: list[np.ndarray]) -> np.ndarray:
    """Values over (m, n, k); NaN where there is none."""
    found = np.full([len(axis) for axis in axes], np.nan)
    found[tuple(np.searchsorted(axis, column) for axis, column in zip(axes, each.shape.T, strict=True))] = values
    return found


def told(rest: np.ndarray, axes: list[np.ndarray], rows: np.ndarray, edge: int) -> np.ndarray:
    """What rows (m, n, k) beyond an edge (a place among the n) are told from rows up to it, (rows, TOLD); all but the first are differences to it."""
    m, k = np.searchsorted(axes[0], rows[:, 0]), np.searchsorted(axes[2], rows[:, 2])
    ratio = rows[:, 1] / axes[1][edge]
    at = [rest[m, edge - back, k] for back in range(4)]
    scaled = []
    for power in (1.0, 0.5):
        place = np.abs(np.log(axes[0][None, :] / (rows[:, 0] * ratio**power)[:, None])).argmin(axis=1)
        far = np.abs(np.log(axes[0][place] / (rows[:, 0] * ratio**power))) > 0.2
        scaled.append(np.where(far, np.nan, rest[place, edge, k]))
    large = rest[-6:, edge, :]
    of_k = np.nanmedian(large, axis=0)[k]
    known = rest[:, : edge + 1, :]
    of_m = np.nanmedian(known.reshape(len(axes[0]), -1), axis=1)[m]
    wide = np.nanmedian(rest[:, max(0, edge - 2) : edge + 1, :], axis=(1, 2))[m]
    trend = np.nanmean([at[0] - at[1], at[1] - at[2]], axis=0)
    base = np.nanmean([at[0], at[1], at[2]], axis=0)
    columns = [at[0], at[1], at[2], at[3], *scaled, of_k, of_m, wide]
    differences = [np.where(np.isnan(column), 0.0, column - base) for column in columns]
    return np.column_stack([base, *differences, np.where(np.isnan(trend), 0.0, trend)])


def slope(seconds: np.ndarray, axes: list[np.ndarray], rows: np.ndarray, edge: int, base: np.ndarray) -> np.ndarray:
    """Residuals if time went on beyond the edge as a straight line in n: from the last doubling, and from all of the last three, (rows, 2)."""
    m, k, n = np.searchsorted(axes[0], rows[:, 0]), np.searchsorted(axes[2], rows[:, 2]), axes[1]
    half = int(np.abs(n - n[edge] / 2).argmin())
    last, before = seconds[m, edge, k], seconds[m, half, k]
    rise = np.maximum(last - before, 0.02 * last) / (n[edge] - n[half])
    on = np.flatnonzero((n >= n[edge] / 8) & (n <= n[edge]))
    seen = seconds[m[:, None], on[None, :], k[:, None]]
    weight = np.where(np.isnan(seen), 0.0, n[on] / n[edge] / np.maximum(np.nan_to_num(seen), 1e-9)) ** 2
    seen = np.nan_to_num(seen)
    total = np.maximum(weight.sum(axis=1), 1e-300)
    middle, level = (weight * n[on]).sum(axis=1) / total, (weight * seen).sum(axis=1) / total
    away = n[on][None, :] - middle[:, None]
    steep = (weight * away * (seen - level[:, None])).sum(axis=1) / np.maximum((weight * away**2).sum(axis=1), 1e-300)
    steep = np.maximum(steep, 0.1 * last / n[edge])
    lines = (last + rise * (rows[:, 1] - n[edge]), np.maximum(level + steep * (rows[:, 1] - middle), last))
    found = np.column_stack([np.log(np.maximum(line, 1e-9)) - base for line in lines])
    return np.where(np.isfinite(found), found, 0.0)


def frontier(table: LatencyTable) -> None:
    print("\nfrontier: known n ≤ 8192, asked for n = 65536; aim median ≤ 6, p90 ≤ 20")
    by_file: dict[str, list[Products]] = {}
    for each in products(table):
        by_file.setdefault(each.file, []).append(each)
    for file, several in by_file.items():
        train_rows, train_goal, ask_rows, ask_start, ask_truth, kinds = [], [], [], [], [], []
        for number, each in enumerate(several):
            known = each.shape[:, 1] <= EDGE
            base = form_log(each, known)
            axes = [np.unique(column) for column in each.shape.T]
            rest = grid(each, np.where(known, each.log_s - base, np.nan), axes)
            seconds = grid(each, np.where(known, np.exp(each.log_s), np.nan), axes)
            index = np.nan_to_num(grid(each, np.arange(len(each.log_s), dtype=float), axes), nan=0).astype(int)
            ratio = np.searchsorted(axes[1], EDGE)
            for edge in range(int(np.searchsorted(axes[1], 768)), ratio + 1):
                for beyond in [*range(edge + 1, ratio + 1), len(axes[1]) - 1]:
                    width = axes[1][beyond]
                    asks = beyond > ratio
                    if (asks and edge != ratio) or not (asks or 4 <= width / axes[1][edge] <= 12):
                        continue
                    place = np.flatnonzero(each.shape[:, 1] == width)
                    facts = told(rest, axes, each.shape[place], edge)
                    sound = np.isfinite(facts[:, 0])
                    place, facts = place[sound], facts[sound]
                    at_edge = tuple(np.searchsorted(axis, column) for axis, column in zip(axes, each.shape[place].T, strict=True))
                    within = index[at_edge[0], edge, at_edge[2]]
                    # Nothing of what is asked for that grows with n itself: trees would have to answer beyond all that they saw.
                    change, there = each.features[place] - each.features[within], each.features[within][:, 3:]
                    marginal = slope(seconds, axes, each.shape[place], edge, base[place])
                    steps = np.full(len(place), np.log2(width / axes[1][edge]))
                    kept = each.features[place][:, [0, 2, 7]]
                    rows = np.column_stack([facts, marginal - facts[:, :1], change, there, kept, steps, np.full(len(place), number)])
                    if asks:
                        ask_rows.append(rows)
                        ask_start.append(base[place] + facts[:, 0])
                        ask_truth.append(each.log_s[place])
                        kinds += [f"{each.precision} {each.variant}"] * len(place)
                    else:
                        train_rows.append(rows)
                        train_goal.append((each.log_s - base)[place] - facts[:, 0])
        rows, goal = np.concatenate(train_rows), np.concatenate(train_goal)
        if len(goal) > 120_000:
            drawn = np.random.default_rng(0).choice(len(goal), 120_000, replace=False)
            rows, goal = rows[drawn], goal[drawn]
        names = [f"f{number}" for number in range(rows.shape[1])]
        grown = [Forest(taken_over(grow(rows, goal, names, msgspec.structs.replace(GROWTH, seed=seed)), names)) for seed in (1, 2)]
        asked, start, truth = np.concatenate(ask_rows), np.concatenate(ask_start), np.concatenate(ask_truth)
        error = start + np.mean([trees.predict(asked) for trees in grown], axis=0) - truth
        absolute = np.abs(np.expm1(error)) * 100
        missed = "!" if np.median(absolute) > 6 or np.quantile(absolute, 0.9) > 20 else " "
        print(f"{missed} {short(file):44s} {len(error):7d} rows  {figures(error)}", flush=True)
        for kind in dict.fromkeys(kinds):
            on = np.array([one == kind for one in kinds])
            print(f"      {kind:42s} {on.sum():7d} rows  {figures(error[on])}", flush=True)
