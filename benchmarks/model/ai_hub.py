"""Models on Qualcomm's chips: a model left out (whole models in five parts) with one measurement on one other chip, and a chip left out with ten
rows.

Without any measurement of a model the table says nothing of its work, and without any of a chip nothing of the chip, so that is what each part may
use. The chip whose times are a copy of another's is not in the table. Errors are |predicted − measured| ÷ measured.

    RIDGELINE_DATA=FOLDER python benchmarks/model/ai_hub.py [--draws 5] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.learned.completion import Completion, Side, fit_factors
from ridgeline.model.learned.group_scale import fit_group_scale
from ridgeline.model.learned.ratio import RatioPairs, fit_ratio
from ridgeline.model.learned.transfer import Prior, Term, fit_transfer
from ridgeline.readers.latencies import Folder
from ridgeline.readers.latencies.ai_hub import ON, AiHub

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]
MODEL_AIM, CHIP_AIM = 15.0, 20.0
FOLDS, SAMPLES = 5, 10
LEAST_BYTES = 8e6


class Rows(NamedTuple):
    """The table as codes: chip, runtime, precision, model, configuration (model, component, precision, runtime), and logs."""

    table: LatencyTable
    chips: tuple[str, ...]
    runtimes: tuple[str, ...]
    chip: Indexes
    runtime: Indexes
    model: Indexes
    configuration: Indexes
    floating: Indexes
    layers: Floats
    off: Floats
    log_time: Floats


def recorded(folder: Path) -> Rows:
    table = AiHub().read(Folder(folder))
    parts = [text.rpartition(ON) for text in table.variants]
    runtimes = tuple(sorted({runtime for _, _, runtime in parts}))
    models = sorted({name.split("/")[0] for name, _, _ in parts})
    variant = table.variant.values
    precisions = np.array([float(name == "float" or "fp16" in name or name.startswith("w16")) for name in table.precisions])
    total = table.dimension("layers_total").astype(np.float64)
    elsewhere = (table.dimension("layers_cpu") + table.dimension("layers_gpu")) / np.maximum(total, 1)
    return Rows(
        table, table.devices, runtimes, table.device.values.astype(np.int64), np.array([runtimes.index(r) for _, _, r in parts])[variant],
        np.array([models.index(name.split("/")[0]) for name, _, _ in parts])[variant], table.codes("variant", "precision"),
        precisions[table.precision.values].astype(np.int64), total, elsewhere, np.log(table.latency_s.values),
    )  # fmt: skip


def pairs_of(r: Rows, allowed: NDArray[np.bool_]) -> tuple[Indexes, Indexes]:
    """All ordered pairs of rows of one configuration."""
    by: dict[int, list[int]] = defaultdict(list)
    for index in np.flatnonzero(allowed).tolist():
        by[int(r.configuration[index])].append(index)
    found = [(one, other) for rows in by.values() for one in rows for other in rows if one != other]
    left, right = zip(*found, strict=True)
    return np.array(left), np.array(right)


def columns_of(r: Rows, left: Indexes, right: Indexes, first: Floats) -> tuple[Floats, list[str]]:
    """What the trees see of a pair: its first measurement, layers, where they ran, and one column of 0 and 1 a chip, runtime and precision."""
    named: dict[str, Floats] = {"first": first[left], "first_a_layer": first[left] - np.log1p(r.layers[left])}
    for side, rows in (("reference", left), ("target", right)):
        named |= {f"{side}_layers": np.log1p(r.layers[rows]), f"{side}_off": r.off[rows], f"{side}_floating": r.floating[rows].astype(float)}
        for what, codes, names in (
            ("chip", r.chip, r.chips),
            ("runtime", r.runtime, r.runtimes),
            ("precision", r.table.precision.values, r.table.precisions),
        ):
            if side == "target" or what == "chip":
                named |= {f"{side}_{what}_{name}": (codes[rows] == code).astype(float) for code, name in enumerate(names)}
    return np.column_stack(list(named.values())), list(named)


def cells_of(r: Rows) -> tuple[Indexes, list[str]]:
    """(chip, float or integer, runtime)."""
    names = [f"{chip} {'float' if floating else 'integer'} {runtime}" for chip in r.chips for floating in (0, 1) for runtime in r.runtimes]
    return (r.chip * 2 + r.floating) * len(r.runtimes) + r.runtime, names


def models_left_out(r: Rows, values: Floats, allowed: NDArray[np.bool_]) -> tuple[Indexes, Indexes, Floats, Floats]:
    """Pairs with residuals ln (measured ÷ predicted), of the whole and of the main effects alone."""
    order = np.random.default_rng(0).permutation(int(r.model.max()) + 1)
    fold = (np.argsort(order) % FOLDS)[r.model]
    left, right = pairs_of(r, allowed)
    cell, names = cells_of(r)
    columns, words = columns_of(r, left, right, values)
    ratio = values[right] - values[left]
    whole, main = np.zeros(len(left)), np.zeros(len(left))
    for part in range(FOLDS):
        test = fold[left] == part

        def made(rows: NDArray[np.bool_]) -> RatioPairs:
            return RatioPairs(cell[left[rows]], cell[right[rows]], columns[rows])

        model = fit_ratio(made(~test), ratio[~test], names, words)
        whole[test] = ratio[test] - model.log_ratio(made(test))
        main[test] = ratio[test] - model.main_effects(made(test))
    return left, right, whole, main


def percent(rest: Floats) -> Floats:
    return np.abs(np.expm1(-rest)) * 100


def of_models(r: Rows) -> list[str]:
    left, right, rest, main = models_left_out(r, r.log_time, np.ones(len(r.chip), bool))
    errors = percent(rest)
    verdict = "met" if np.median(errors) <= MODEL_AIM else "MISSED"
    lines = ["| model left out, one chip measured | pairs | median error % | mean | p90 |", "|---|---|---|---|---|"]
    lines.append(
        f"| all | {len(errors)} | {np.median(errors):.1f} (aim {MODEL_AIM:g}: {verdict}) | {errors.mean():.1f} | {np.quantile(errors, 0.9):.1f} |"
    )
    lines.append(f"| main effects alone | {len(errors)} | {np.median(percent(main)):.1f} | {percent(main).mean():.1f} | |")
    for what, codes, names in (
        ("reference", r.chip[left], r.chips), ("target", r.chip[right], r.chips), ("runtime", r.runtime[right], r.runtimes),
        ("precision", r.table.precision.values[right], r.table.precisions),
    ):  # fmt: skip
        for code, name in enumerate(names):
            own = errors[codes == code]
            if len(own):
                lines.append(f"| {what} {name} | {len(own)} | {np.median(own):.1f} | {own.mean():.1f} | {np.quantile(own, 0.9):.1f} |")
    by = sorted(((float(np.median(errors[r.model[left] == m])), m) for m in np.unique(r.model[left])), reverse=True)
    names = sorted({text.split("/")[0] for text in r.table.variants})
    over = sum(error > MODEL_AIM for error, _ in by) / len(by) * 100
    lines += ["", f"{over:.0f} % of models over {MODEL_AIM:g}; worst models: {', '.join(f'{names[m]} {error:.0f}' for error, m in by[:5])}"]
    return [*lines, intervals(r, left, right, rest)]


def intervals(r: Rows, left: Indexes, right: Indexes, rest: Floats) -> str:
    """Coverage of 90 % intervals: residuals of four parts calibrate the fifth."""
    order = np.random.default_rng(0).permutation(int(r.model.max()) + 1)
    fold = (np.argsort(order) % FOLDS)[r.model[left]]
    decile = np.searchsorted(np.quantile(r.log_time, np.arange(0.1, 1, 0.1)), r.log_time[left])
    same = r.chip[left] * len(r.chips) + r.chip[right]
    groups = np.column_stack((r.chip[left], r.chip[right], r.runtime[right], r.table.precision.values[right], decile, same)).astype(np.int64)
    inside = np.zeros(len(rest), bool)
    for part in range(FOLDS):
        test = fold == part
        mixed = np.random.default_rng(part).permutation(np.flatnonzero(~test))
        inside[test] = np.abs(rest[test]) <= fit_group_scale(rest[mixed], groups[mixed]).half_width(groups[test])
    worst = sorted(
        (float(inside[groups[:, g] == v].mean()), g, int(v)) for g in range(5) for v in np.unique(groups[:, g]) if (groups[:, g] == v).sum() >= 100
    )
    homes = (r.chips, r.chips, r.runtimes, r.table.precisions, tuple(f"decile {d}" for d in range(10)))
    return f"90 % intervals cover {inside.mean() * 100:.1f} %; worst groups: " + ", ".join(
        f"{homes[g][v]} {share * 100:.1f}" for share, g, v in worst[:4]
    )


class Keys(NamedTuple):
    """Configurations, apart where layers fell back to the CPU: features of each, its stratum, and the key of each row."""

    features: Floats
    stratum: Indexes
    key: Indexes


def keys_of(r: Rows) -> Keys:
    on_cpu = (r.off > 0.5).astype(np.int64)
    _, first, key = np.unique(r.configuration * 2 + on_cpu, return_index=True, return_inverse=True)
    count = len(first)
    layers = np.array([np.median(r.layers[key == one]) for one in range(count)])
    floating, runtime, cpu = r.floating[first], r.runtime[first], on_cpu[first]
    features = np.column_stack((
        floating, np.eye(len(r.runtimes))[runtime], np.eye(len(r.table.precisions))[r.table.precision.values[first]],
        (np.log1p(layers) - 5) / 1.5, 2 * cpu,
    ))  # fmt: skip
    return Keys(features, (cpu * 2 + floating) * len(r.runtimes) + runtime, key)


def stratified(draw: np.random.Generator, strata: Indexes, count: int) -> Indexes:
    """One row of each stratum in turn, those of the largest first."""
    order = draw.permutation(len(strata))
    seen: dict[int, int] = defaultdict(int)
    turn = np.empty(len(order), np.int64)
    for place, stratum in enumerate(strata[order].tolist()):
        turn[place] = seen[stratum]
        seen[stratum] += 1
    size = np.array([seen[stratum] for stratum in strata[order].tolist()])
    return order[np.lexsort((-size, turn))][:count]


def of_chips(r: Rows, draws: int, rank: int, ridge: float) -> list[str]:
    keys = keys_of(r)
    side = Side(
        np.column_stack((np.ones(len(keys.features)), keys.features, np.eye(int(keys.stratum.max()) + 1)[keys.stratum])), np.ones((len(r.chips), 1))
    )
    medians, pooled, lines = [], [], ["", f"| chip left out, {SAMPLES} rows measured | rows | median error % | mean | p90 |", "|---|---|---|---|---|"]
    for chip, name in enumerate(r.chips):
        train = r.chip != chip
        known = np.unique(keys.key[train])
        test = np.flatnonzero(~train & np.isin(keys.key, known))
        factors = fit_factors(keys.key[train], r.chip[train], r.log_time[train], side, Completion(rank=rank, ridge=ridge))
        others = np.delete(np.arange(len(r.chips)), chip)
        logs = np.stack([factors.predict(np.arange(len(keys.features)), np.full(len(keys.features), other)) for other in others], axis=1)
        mean = logs.mean(axis=1)
        spread = np.column_stack((keys.features, (mean - mean.mean()) / mean.std())) * np.sqrt(0.3)
        prior = Prior(
            (Term(logs - mean[:, None], (0.03, 0.1, 0.3, 1.0)), Term(spread, (0.03, 0.1, 0.3))), (0.003, 0.01, 0.03, 0.1), mean, standardised=False
        )
        errors = []
        for seed in range(draws):
            chosen = stratified(np.random.default_rng(seed), keys.stratum[keys.key[test]], SAMPLES)
            asked = np.setdiff1d(np.arange(len(test)), chosen)
            model = fit_transfer(prior, keys.key[test[chosen]], r.log_time[test[chosen]], robust=True)
            errors.append(percent(r.log_time[test[asked]] - model.predict(prior, keys.key[test[asked]])))
        own = np.concatenate(errors)
        medians.append(float(np.median(own)))
        pooled.append(own)
        lines.append(f"| {name} | {len(test)} | {np.median(own):.1f} | {own.mean():.1f} | {np.quantile(own, 0.9):.1f} |")
    every = np.concatenate(pooled)
    verdict = "met" if np.mean(medians) <= CHIP_AIM else "MISSED"
    lines.append(f"| mean of the medians | | {np.mean(medians):.1f} (aim {CHIP_AIM:g}: {verdict}), worst {max(medians):.1f} | | |")
    lines.append(f"| all rows | {len(every)} | {np.median(every):.1f} | {every.mean():.1f} | {np.quantile(every, 0.9):.1f} |")
    return lines


def of_memory(r: Rows) -> str:
    values = r.table.optional("memory_bytes")
    allowed = values >= LEAST_BYTES
    _, _, rest, _ = models_left_out(r, np.log(np.maximum(values, 1.0)), allowed)
    errors = percent(rest)
    middle, high = np.quantile(errors, (0.5, 0.9))
    return f"\npeak memory, model left out, one chip measured: {len(errors)} pairs, median error {middle:.1f} %, p90 {high:.1f} %"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--ridge", type=float, default=0.7)
    parser.add_argument("--chips", action="store_true", help="chips left out alone")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ.get("RIDGELINE_DATA", "")) / "ai-hub-models"
    if not os.environ.get("RIDGELINE_DATA") or not folder.is_dir():
        print("skipped: RIDGELINE_DATA names no folder with ai-hub-models", file=sys.stderr)
        return 0
    r = recorded(folder)
    started = time.perf_counter()
    lines = [] if given.chips else [*of_models(r), of_memory(r)]
    lines += of_chips(r, given.draws, given.rank, given.ridge)
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    text = "\n".join(lines) + "\n"
    (given.out.write_text if given.out else print)(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
