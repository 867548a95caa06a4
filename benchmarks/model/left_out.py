"""An architecture left out: constants and correction of the others, and then 20 measured rows of each precision; a part of `aiconfigurator`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from kernel_rows import Products, figures, products, short

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.kernels.calibrated import BETWEEN, Fitted, GemmRows, adapt_constants, constant_variance, fit_constants, log_time
from ridgeline.model.kernels.gemm import FEATURES
from ridgeline.model.learned.few_shot import NORMAL_90, NewDevice, adapt
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.trees import Forest

ROWS, POINTS, DESIGNS = 4000, 20, 3
CORRECTION = Growth(rounds=250, leaves=31, depth=-1, least=80, rate=0.06, smoothing=5.0, loss="l1", rows=0.6, columns=0.5, seed=1)
LEFT = Growth(rounds=120, leaves=31, depth=-1, least=80, rate=0.06, smoothing=5.0, loss="l1", rows=0.6, columns=0.5, seed=1)
DIFFICULTY = Growth(rounds=120, leaves=15, depth=-1, least=200, rate=0.06, smoothing=5.0, columns=0.5, seed=1)
#: Of the correction that other devices would add, where nothing of the device was measured.
TRUST = 0.8
NAMES = [
    *FEATURES,
    "compute-share",
    "memory-share",
    "launch-share",
    "host-share",
    "wave-share",
    "row-share",
    "pass-share",
    "aligned",
    "few",
    "one",
    "kind",
]
KINDS = ("bf16 linear", "fp8 linear", "fp8 linear block", "fp4 linear")


class Trained(NamedTuple):
    """What other devices teach: a correction of the form, and how far it is off."""

    correction: Forest
    difficulty: Forest
    scale: float

    def sigma(self, rows: np.ndarray) -> np.ndarray:
        """Log standard deviation of each row."""
        return np.maximum(self.scale * np.exp(self.difficulty.predict(rows)), 0.02)


def kind_of(each: Products) -> str:
    return f"{each.precision} {each.variant}"


def route(each: Products) -> np.ndarray:
    """What kernel libraries branch on: alignment, very few rows."""
    m, n, k = each.shape.T
    return np.column_stack([(n % 64 == 0) & (k % 128 == 0), m < 32, m < 2]).astype(float)


def features(each: Products, log: np.ndarray) -> np.ndarray:
    """Those of the form, and each part's share of the time under the constants."""
    rows, seconds = each.rows, np.exp(log_time(each.rows, log))
    launch, compute, memory, row, passes, host, wave = np.exp(log)
    shares = np.column_stack([
        np.log(compute * rows.cost.compute / seconds), np.log(memory * rows.cost.memory / seconds), launch / seconds, host / seconds,
        wave * rows.cost.waves / seconds, np.log(row * rows.m / rows.units / seconds + 1e-6),
        np.log(passes * rows.m * rows.k / rows.byte_per_s / seconds + 1e-6),
    ])  # fmt: skip
    kind = np.full((len(seconds), 1), float(KINDS.index(kind_of(each))))
    return np.column_stack([each.features, shares, route(each), kind])


def train(known: list[Products], own: dict[tuple[str, str], np.ndarray]) -> Trained:
    rows = [features(each, own[each.file, kind_of(each)]) for each in known]
    rest = [each.log_s - log_time(each.rows, own[each.file, kind_of(each)]) for each in known]
    all_rows, all_rest = np.concatenate(rows), np.concatenate(rest)
    table = np.repeat([each.file for each in known], [len(each.log_s) for each in known])
    left = np.empty(len(all_rest))
    for file in np.unique(table):
        out = table == file
        others = Forest(taken_over(grow(all_rows[~out], all_rest[~out], NAMES, LEFT), NAMES)) if (~out).any() else None
        left[out] = all_rest[out] - (TRUST * others.predict(all_rows[out]) if others else 0.0)
    difficulty = Forest(taken_over(grow(all_rows, np.log(np.abs(left) + 0.01), NAMES, DIFFICULTY), NAMES))
    scale = float(np.quantile(np.abs(left) / np.exp(difficulty.predict(all_rows)), 0.9)) / NORMAL_90
    return Trained(Forest(taken_over(grow(all_rows, all_rest, NAMES, CORRECTION), NAMES)), difficulty, scale)


def prior(known: list[Products], own: dict[tuple[str, str], np.ndarray], each: Products) -> tuple[np.ndarray, np.ndarray, bool]:
    """Constants of all known tables together, their hosts' floors, and whether the precision was seen at all; one that was not is taken for fp8."""
    kind = kind_of(each) if any(kind_of(one) == kind_of(each) for one in known) else "fp8 linear"
    same = [one for one in known if kind_of(one) == kind]
    joined = GemmRows.joined([one.rows for one in same])
    log = fit_constants(joined, np.concatenate([one.log_s for one in same]), quantised=same[0].quantised)
    log[6] = max(log[6], np.log(1e-7))
    if same[0].quantised:
        log[3] = max(log[3], np.log(5e-8))
    return log, np.array([own[one.file, kind][5] for one in same]), kind == kind_of(each)


def design(each: Products, seed: int) -> np.ndarray:
    """Rows to measure, chosen without their times: centres of the shapes and regimes, one of much work, and the farthest from all of those."""
    from scipy.cluster.vq import kmeans2

    log = np.log([3e-6, 0.85, 1.0, 3e-7, 6.0, 3e-5 if each.quantised else 1e-7, 3e-7])
    share = features(each, log)[:, len(FEATURES) : len(FEATURES) + 3]
    place = np.column_stack([each.features[:, :3] / 3.0, np.exp(share[:, 0]), np.exp(share[:, 1]), share[:, 2]])
    place = np.column_stack([place / place.std(axis=0), 1.5 * route(each)])
    far = POINTS * 3 // 10
    centres, _ = kmeans2(place, POINTS - far, minit="++", seed=seed)
    chosen = list(dict.fromkeys(int(((place - centre) ** 2).sum(axis=1).argmin()) for centre in centres))
    chosen.append(int(np.argsort(each.features[:, -1])[int(len(place) * (0.995 - 0.004 * seed))]))
    chosen = list(dict.fromkeys(chosen))
    while len(chosen) < POINTS:
        near = np.min([((place - place[one]) ** 2).sum(axis=1) for one in chosen], axis=0)
        chosen.append(int(np.where(near <= np.quantile(near, 0.995), near, -1.0).argmax()))
    return np.array(chosen)


def devices(table: LatencyTable) -> None:
    print("\ndevices: an architecture left out, 4000 rows a precision and table; aim mean ≤ 25 without data, ≤ 12 with 20 rows a precision")
    tables = products(table, ROWS)
    own = {(each.file, kind_of(each)): fit_constants(each.rows, each.log_s, quantised=each.quantised) for each in tables}
    for blackwell in (True, False):
        known = [each for each in tables if ("gb200" in each.file) != blackwell]
        trained = train(known, own)
        for file in dict.fromkeys(each.file for each in tables if ("gb200" in each.file) == blackwell):
            target = [each for each in tables if each.file == file]
            found: dict[str, list[np.ndarray]] = {}
            for each in target:
                one(each, known, own, trained, found)
            for name, aim in (("no data", 25.0), ("no data, host known", 25.0), (f"{POINTS} rows", 12.0)):
                error = np.concatenate(found[name])
                missed = "!" if np.abs(np.expm1(error)).mean() * 100 > aim else " "
                inside = f"covered {np.concatenate(found[name + ' in']).mean():.3f}" if name + " in" in found else ""
                print(f"{missed} {short(file):32s} {name:22s} {figures(error)}  {inside}", flush=True)


def one(each: Products, known: list[Products], own: dict[tuple[str, str], np.ndarray], trained: Trained, found: dict[str, list[np.ndarray]]) -> None:
    log, _, seen = prior(known, own, each)
    for name, host in (("no data", log[5]), ("no data, host known", own[each.file, kind_of(each)][5])):
        given = log.copy()
        given[5] = host
        rows = features(each, given)
        said = log_time(each.rows, given) + TRUST * trained.correction.predict(rows)
        found.setdefault(name, []).append(said - each.log_s)
        width = BETWEEN.copy() * (1.0 if seen else 1.6)
        width[5] = 0.2
        if name != "no data":
            spread = np.sqrt(constant_variance(each.rows, Fitted(given, np.diag(width**2))) + trained.sigma(rows) ** 2)
            found.setdefault(name + " in", []).append(np.abs(said - each.log_s) < NORMAL_90 * spread)
    blind, floored = (np.abs(np.expm1(found[name][-1])).mean() * 100 for name in ("no data", "no data, host known"))
    text = f"    {kind_of(each):18s} no data {blind:7.1f}, host known {floored:6.1f}"
    for seed in range(DESIGNS):
        at = design(each, seed)
        wide = BETWEEN.copy() * (1.0 if seen else 1.6)
        wide[5] = 2.0 if each.quantised else 1.5
        fitted = adapt_constants(each.rows.rows(at), each.log_s[at], log, quantised=each.quantised, spread=wide)
        rows = features(each, fitted.log)
        sites = np.column_stack([each.features[:, :3] / 6.0, 0.7 * route(each)])
        device = NewDevice(
            sites, log_time(each.rows, fitted.log), trained.correction.predict(rows), trained.sigma(rows), constant_variance(each.rows, fitted)
        )
        made = adapt(device, at, each.log_s[at])
        rest = np.ones(len(each.log_s), bool)
        rest[at] = False
        error = (made.log_time - each.log_s)[rest]
        found.setdefault(f"{POINTS} rows", []).append(error)
        inside = np.abs(error) <= made.half_width[rest]
        found.setdefault(f"{POINTS} rows in", []).append(inside)
        decile = (np.argsort(np.argsort(each.features[:, -1])) * 10 // len(rest))[rest]
        worst = min(inside[decile == ten].mean() for ten in range(10))
        text += f" | {POINTS} rows {np.abs(np.expm1(error)).mean() * 100:5.1f} cover {inside.mean():.2f} worst decile {worst:.2f}"
    print(text, flush=True)
