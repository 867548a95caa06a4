"""A new device from ten measured networks: HELP's tables, its devices and its split.

Networks 0 to 899 of NAS-Bench-201 may be measured, 900 to 1899 are asked about, of each device without the slowest and fastest tenth, as HELP does.
Nine devices are known by their own measurements; of a test device ten networks are known, chosen without looking at it, or at random. HELP itself
takes ten random ones and ten that are always the same. FBNet: 0 to 3999 and 4000 to 4999.

    RIDGELINE_DATA=FOLDER python benchmarks/model/help.py [--draws 20] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ridgeline.core.latencies import LatencyTable
from ridgeline.model.learned.growing import Growth, grow, taken_over
from ridgeline.model.learned.transfer import NewDevice, Prior, Term, choose_samples, fit_new_device
from ridgeline.model.learned.trees import Forest
from ridgeline.readers.latencies.help import cell_operators, connected, with_disconnected
from ridgeline.stats import spearman

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]
OPERATORS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
FROM, TO = (0, 0, 1, 0, 1, 2), (1, 2, 2, 3, 3, 3)
KNOWN = ("1080ti_1", "1080ti_32", "1080ti_256", "silver_4114", "silver_4210r", "samsung_a50", "pixel3", "essential_ph_1", "samsung_s7")
TEST = {"titan_rtx_256": 0.987, "gold_6226": 0.989, "fpga": 0.985, "pixel2": 0.802, "raspi4": 0.890, "eyeriss": 0.940}
KNOWN_FBNET = ("1080ti_1", "1080ti_32", "1080ti_64", "silver_4114", "silver_4210r", "samsung_a50", "pixel3", "essential_ph_1", "samsung_s7")
TEST_FBNET = {"raspi4": 0.887, "eyeriss": 0.943, "fpga": 0.892}
AIM = 0.94
SAMPLES = 10
BASE = Growth(rounds=350, leaves=15, depth=15, least=10, rate=0.05, smoothing=1.0, rows=0.8, columns=0.6)


class Space(NamedTuple):
    """A search space: latencies by column of its table (n,), what is known of the candidates, which may be measured and which are asked about."""

    seconds: dict[str, Floats]
    prior: Prior
    counts: Floats
    order: Floats
    pool: Indexes
    asked: Indexes


def latencies(table: LatencyTable, file: str) -> tuple[dict[str, Floats], list[str]]:
    """Seconds of every network by column, in the order of the table, and the networks."""
    rows = table.rows(np.array([name.startswith(file) for name in table.files])[table.file.values])
    names = [f"{device}_{batch}" if batch else device for device, batch in zip(rows.texts("device"), rows.dimension("batch").tolist(), strict=True)]
    columns = np.array(names)
    first = columns == names[0]
    order = np.argsort(rows.row.values[first])
    networks = np.array(rows.texts("variant"))[first][order].tolist()
    return {name: rows.latency_s.values[columns == name][np.argsort(rows.row.values[columns == name])] for name in set(names)}, networks


def cell_features(networks: list[str]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Operators by edge, all and those that are reached; counts, depth and sums; and whether there is a path at all."""
    codes = np.array([[OPERATORS.index(name) for name in cell_operators(text)] for text in networks])
    live = np.array([connected(cell_operators(text)) for text in networks])
    count = len(codes)
    everywhere = np.ones_like(live)
    features = [((codes == one) & mask).sum(1) for mask in (everywhere, live) for one in (1, 2, 3, 4)] + [(codes == 0).sum(1), live.sum(1)]
    for cost in ((0, 0.05, 0.4, 1.0, 0.5), (0, 0, 1, 1, 0), (0, 0, 0, 1, 1)):
        longest = np.full((count, 4), -9.0)
        longest[:, 0] = 0
        for edge, (source, target) in enumerate(zip(FROM, TO, strict=True)):
            there = np.where(codes[:, edge] > 0, longest[:, source] + np.array(cost)[codes[:, edge]], -9.0)
            longest[:, target] = np.maximum(longest[:, target], there)
        features.append(np.maximum(longest[:, 3], 0))
    ends = np.array(TO)
    features.append(sum(np.maximum(live[:, ends == node].sum(1) - 1, 0) for node in (1, 2, 3)))
    one_hot = np.eye(5)[codes]
    edges = np.concatenate((one_hot.reshape(count, 30), (one_hot * live[:, :, None]).reshape(count, 30)), axis=1)
    return edges, np.stack(features, axis=1).astype(np.float64), live.any(axis=1)


def standardised(values: Floats, rows: Indexes) -> Floats:
    return (values - values[rows].mean(0)) / (values[rows].std(0) + 1e-9)


def made(seconds: dict[str, Floats], known: Floats, features: Floats, counts: Floats, pool: Indexes, asked: Indexes) -> Space:
    """A space from predictions for known devices (n, devices), standardised over the pool."""
    known = standardised(known, pool)
    mean = known.mean(axis=1)
    prior = Prior((
        Term(mean[:, None], (0.5,), 0.5), Term(known / np.sqrt(known.shape[1]), (0.3, 1.0), 1.0), Term(features, (0.0, 0.1, 0.3, 1.0), 0.3)
    ))  # fmt: skip
    return Space(seconds, prior, counts, mean, pool, asked)


def nas_bench(table: LatencyTable) -> Space:
    seconds, networks = latencies(table, "nasbench")
    networks = networks[:1900]
    seconds = {name: values[:1900] for name, values in seconds.items()}
    edges, features, path = cell_features(networks)
    pool = np.flatnonzero(path[:900])
    rows = np.concatenate((edges, features), axis=1)
    names = tuple(f"x{number}" for number in range(rows.shape[1]))
    known = []
    for device in KNOWN:
        log = np.log(seconds[device])
        grown = [grow(rows[pool], log[pool], names, msgspec.structs.replace(BASE, seed=seed)) for seed in range(3)]
        known.append(np.mean([Forest(taken_over(text, names)).predict(rows) for text in grown], axis=0))
    scaled = standardised(features, np.arange(900)) / np.sqrt(features.shape[1])
    return made(seconds, np.stack(known, axis=1), scaled, features[:, :4], pool, np.arange(900, 1900))


def fbnet(table: LatencyTable) -> Space:
    seconds, networks = latencies(table, "fbnet")
    codes = np.array([[int(word) for word in text.split()] for text in networks])
    rows = np.eye(9)[codes].reshape(len(codes), -1)
    pool = np.arange(4000)
    centred = rows - rows[pool].mean(0)
    inverse = np.linalg.solve(centred[pool].T @ centred[pool] + 5 * np.eye(rows.shape[1]), centred[pool].T)
    logs = np.log(np.stack([seconds[device] for device in KNOWN_FBNET], axis=1))
    known = logs[pool].mean(0) + centred @ (inverse @ (logs[pool] - logs[pool].mean(0)))
    counts = np.stack([(codes == one).sum(1) for one in range(8)], axis=1).astype(np.float64)
    return made(seconds, known, (rows - rows.mean(0)) / np.sqrt(22), counts, pool, np.arange(4000, 5000))


def trimmed(seconds: Floats, rows: Indexes) -> Indexes:
    order = rows[np.argsort(seconds[rows], kind="stable")]
    return order[int(len(order) * 0.1) : int(len(order) * 0.9)]


class Found(NamedTuple):
    """Of one device and its samples: rank correlation, mean error in %, ln (predicted ÷ measured) and the model."""

    rank: float
    error: float
    rest: Floats
    model: NewDevice


def one(space: Space, device: str, chosen: Indexes) -> Found:
    seconds = space.seconds[device]
    model = fit_new_device(space.prior, space.counts, chosen, np.log(seconds[chosen]))
    rows = trimmed(seconds, space.asked)
    predicted = model.predict(space.prior, space.counts, rows)
    rest = predicted - np.log(seconds[rows])
    rank = spearman(predicted, seconds[rows])
    return Found(rank or 0.0, float(np.abs(np.expm1(rest)).mean() * 100), rest, model)


def picked(space: Space, device: str, how: str, draw: int, part: int) -> Indexes:
    """Samples: chosen from the whole pool, chosen from a random part of it, or at random among those that are asked about alike."""
    if how == "random":
        return np.random.default_rng(draw).permutation(trimmed(space.seconds[device], space.pool))[:SAMPLES]
    pool = space.pool if how == "chosen" else np.sort(np.random.default_rng(draw).permutation(space.pool)[:part])
    return choose_samples(space.prior, pool, space.order, SAMPLES)


def table_of(space: Space, published: dict[str, float], draws: int, part: int, label: str, aim: float | None) -> list[str]:
    lines = [f"| {label}: ten samples | {' | '.join(published)} | mean |", "|---" * (len(published) + 2) + "|"]
    for how, count in (("chosen", 1), (f"chosen from random {part}", draws), ("random", draws)):
        started = time.perf_counter()
        found = {device: [one(space, device, picked(space, device, how, draw, part)) for draw in range(count)] for device in published}
        ranks = {device: [each.rank for each in results] for device, results in found.items()}
        mean = float(np.mean([np.mean(each) for each in ranks.values()]))
        verdict = "" if aim is None else f" ({'met' if mean >= aim else 'MISSED'})"
        cells = [f"{np.mean(each):.3f}" + (f" (worst {min(each):.3f})" if count > 1 else "") for each in ranks.values()]
        lines.append(f"| {how} | {' | '.join(cells)} | **{mean:.3f}**{verdict} |")
        errors = [f"{np.mean([each.error for each in results]):.1f} %" for results in found.values()]
        lines.append(f"| {how}: mean error | {' | '.join(errors)} | |")
        print(*lines[-2:], f"{time.perf_counter() - started:.0f} s", sep="\n", file=sys.stderr, flush=True)
    lines.append(f"| HELP, as published | {' | '.join(f'{value:.3f}' for value in published.values())} | {np.mean(list(published.values())):.3f} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ.get("RIDGELINE_DATA", "")) / "HELP"
    if not os.environ.get("RIDGELINE_DATA") or not folder.is_dir():
        print("skipped: RIDGELINE_DATA names no folder with HELP", file=sys.stderr)
        return 0
    table = with_disconnected(folder)
    lines = table_of(nas_bench(table), TEST, given.draws, 300, "NAS-Bench-201", AIM)
    lines += ["", *table_of(fbnet(table), TEST_FBNET, min(given.draws, 6), 400, "FBNet", None)]
    text = "\n".join(lines) + "\n"
    (given.out.write_text if given.out else print)(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
