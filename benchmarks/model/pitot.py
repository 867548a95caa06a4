"""Programs alone and beside one neighbour: pitot's recordings, divided as its authors divide them.

Rows are permuted at random, a fraction f of them known: of these four in five to train and one in five to validate, which also calibrates the
intervals; the rest is the test. Errors are |predicted − measured| ÷ measured. Their generator of random numbers is JAX's, so rows are not the same
ones; the rule is.

    RIDGELINE_DATA=FOLDER python benchmarks/model/pitot.py [--seeds 1] [--fractions 0.9 0.5] [--devices] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.model.contention import Pairs, fit_contention
from ridgeline.model.learned.completion import Completion, Side, fit_factors
from ridgeline.model.learned.group_scale import fit_group_scale
from ridgeline.readers.latencies import Folder
from ridgeline.readers.latencies.pitot import BESIDE, Described, Pitot, described

Floats = NDArray[np.float64]
Indexes = NDArray[np.int64]
ALONE, BESIDE_ONE, IGNORED = 5.2, 8.0, 22.5
RANKS = {0.9: 40, 0.5: 24}


class Recorded(NamedTuple):
    """Rows alone and beside one, with what is known of platforms and programs."""

    known: Described
    side: Side
    platform: Indexes
    program: Indexes
    neighbour: Indexes
    log_time: Floats


def one_hot(words: list[str]) -> Floats:
    known = sorted(set(words))
    return np.array([[float(word == other) for other in known] for word in words])


def codes(words: list[str]) -> Indexes:
    known = {word: code for code, word in enumerate(sorted(set(words)))}
    return np.array([known[word] for word in words])


def side_of(known: Described) -> Side:
    """Runtime, device and features of a platform; suite, program without its size, and main directions of the instruction mix."""
    devices, runtimes = zip(*(name.split("/", 1) for name in known.platforms), strict=True)
    features = known.platform_features
    features = (features - features.mean(0)) / (features.std(0) + 1e-9)
    mix = known.program_features - known.program_features.mean(0)
    left, weights, _ = np.linalg.svd(mix, full_matrices=False)
    mix = left[:, :25] * weights[:25]
    stems = [name.split("/")[-1] if name.startswith("polybench") else re.sub(r"_(l|m|s)$", "", name) for name in known.programs]
    suites = [suite(name) for name in known.programs]
    ones = np.ones((len(devices), 1))
    return Side(
        np.hstack((ones, one_hot(list(runtimes)), one_hot(list(devices)), 0.3 * features)),
        np.hstack((np.ones((len(stems), 1)), one_hot(suites), one_hot(stems), 0.5 * mix / mix.std())),
    )


def suite(program: str) -> str:
    return program.split("/")[0].split(":")[0]


def recorded(folder: Path) -> Recorded:
    table, known = Pitot().read(Folder(folder)), described(folder)
    platforms, programs = ({name: code for code, name in enumerate(names)} for names in (known.platforms, known.programs))
    parts = [text.partition(BESIDE) for text in table.variants]
    program = np.array([programs[first] for first, _, _ in parts])[table.variant.values]
    neighbour = np.array([programs[other] if other else -1 for _, _, other in parts])[table.variant.values]
    platform = np.array([platforms[name] for name in table.devices])[table.device.values]
    return Recorded(known, side_of(known), platform, program, neighbour, np.log(table.latency_s.values))


def divided(count: int, fraction: float, draw: np.random.Generator) -> tuple[Indexes, Indexes, Indexes]:
    order, train, known = draw.permutation(count), int(count * fraction * 0.8), int(count * fraction)
    return order[:train], order[train:known], order[known:]


def percent(rest: Floats) -> Floats:
    return np.abs(np.expm1(rest)) * 100


def groups(r: Recorded, rows: Indexes, predicted: Floats, edges: Floats) -> Indexes:
    devices, runtimes = zip(*(name.split("/", 1) for name in r.known.platforms), strict=True)
    suites = codes([suite(name) for name in r.known.programs])
    platform, program = r.platform[rows], r.program[rows]
    return np.column_stack((
        platform, program, np.searchsorted(edges, predicted), codes(list(devices))[platform], codes(list(runtimes))[platform], suites[program]
    ))  # fmt: skip


def coverage(r: Recorded, predicted: Floats, rows: Indexes, calibration: Indexes, test: Indexes, cross: tuple[Indexes, Floats] | None) -> str:
    """Share of test rows inside the 90 % interval, and the worst group of at least 100 rows.

    `cross` are training rows with residuals of models that were fitted without them.
    """
    edges = np.quantile(predicted[calibration], np.arange(0.1, 1, 0.1))
    grouped = groups(r, rows, predicted, edges)
    rest = r.log_time[rows] - predicted
    further = None if cross is None else (cross[1], grouped[cross[0]])
    scale = fit_group_scale(rest[calibration], grouped[calibration], scale_rows=further)
    width = scale.half_width(grouped[test])
    inside = np.abs(rest[test]) <= width
    worst = [
        (float(inside[grouped[test][:, g] == v].mean()), g)
        for g in range(6)
        for v in np.unique(grouped[test][:, g])
        if (grouped[test][:, g] == v).sum() >= 100
    ]
    low, group = min(worst)
    name = ("platform", "program", "size decile", "device", "runtime", "suite")[group]
    return f"{inside.mean() * 100:.1f} | {low * 100:.1f} ({name}) | ±{np.median(np.expm1(width)) * 100:.1f}"


def one(r: Recorded, fraction: float, seed: int) -> list[str]:
    """Lines of one division."""
    draw = np.random.default_rng(seed)
    alone, beside = np.flatnonzero(r.neighbour < 0), np.flatnonzero(r.neighbour >= 0)
    started = time.perf_counter()
    of_alone, of_beside = divided(len(alone), fraction, draw), divided(len(beside), fraction, draw)
    train = alone[of_alone[0]]
    factors = fit_factors(r.platform[train], r.program[train], r.log_time[train], r.side, Completion(rank=RANKS.get(fraction, 24)))
    train = beside[of_beside[0]]
    pairs = Pairs(r.platform[train], r.program[train], r.neighbour[train], r.log_time[train])
    plain = fit_contention(r.known.platforms, r.known.programs, r.side, factors, pairs, trees=None)
    model = fit_contention(r.known.platforms, r.known.programs, r.side, factors, pairs)
    fitted = time.perf_counter() - started
    solo = model.log_alone(r.platform[alone], r.program[alone])
    base = model.log_alone(r.platform[beside], r.program[beside])
    at = r.platform[beside], r.program[beside], r.neighbour[beside]
    started = time.perf_counter()
    stretched = base + model.log_stretch(*at)
    speed = len(beside) / (time.perf_counter() - started)
    found = []
    for label, predicted, rows, parts, aim in (("alone", solo, alone, of_alone, ALONE), ("one neighbour", stretched, beside, of_beside, BESIDE_ONE)):
        errors = percent(predicted - r.log_time[rows])[parts[2]]
        verdict = "met" if errors.mean() <= aim else "MISSED"
        cross = crossed(r, alone, of_alone[0], RANKS.get(fraction, 24)) if label == "alone" else None
        interval = coverage(r, predicted, rows, parts[1], parts[2], cross)
        found.append(
            f"| {fraction} | {seed} | {label} | {errors.mean():.2f} (aim {aim:g}: {verdict}) | {np.median(errors):.2f} "
            f"| {np.quantile(errors, 0.9):.1f} "
            f"| {errors.max():.0f} | {worst_devices(r, rows[parts[2]], errors)} | {interval} |"
        )
    factors_only = percent(base + plain.log_stretch(*at) - r.log_time[beside])[of_beside[2]].mean()
    ignored = percent(base - r.log_time[beside])[of_beside[2]].mean()
    print(
        f"  fraction {fraction} seed {seed}: factors only {factors_only:.2f}, contention ignored {ignored:.1f}, fit {fitted:.0f} s, "
        f"{speed:.3g} stretches/s",
        flush=True,
    )
    return found


def crossed(r: Recorded, alone: Indexes, train: Indexes, rank: int) -> tuple[Indexes, Floats]:
    """Training rows with residuals ln (measured ÷ predicted) of factors that were fitted without them, in four parts."""
    part = np.random.default_rng(9).integers(4, size=len(train))
    rest = np.zeros(len(train))
    for one in range(4):
        known, asked = alone[train[part != one]], alone[train[part == one]]
        factors = fit_factors(r.platform[known], r.program[known], r.log_time[known], r.side, Completion(rank=rank))
        rest[part == one] = r.log_time[asked] - factors.predict(r.platform[asked], r.program[asked])
    return train, rest


def worst_devices(r: Recorded, rows: Indexes, errors: Floats) -> str:
    devices = np.array([name.split("/")[0] for name in r.known.platforms])[r.platform[rows]]
    by = sorted(((float(errors[devices == name].mean()), name) for name in np.unique(devices)), reverse=True)
    return ", ".join(f"{name} {error:.1f}" for error, name in by[:2])


def devices_left_out(r: Recorded) -> str:
    """Mean error of programs alone on devices of which nothing was measured: what the side information carries."""
    alone = np.flatnonzero(r.neighbour < 0)
    devices = np.array([name.split("/")[0] for name in r.known.platforms])
    found = []
    for device in np.unique(devices):
        there = devices[r.platform[alone]] == device
        train, test = alone[~there], alone[there]
        factors = fit_factors(r.platform[train], r.program[train], r.log_time[train], r.side, Completion(rank=16))
        found.append(float(percent(factors.predict(r.platform[test], r.program[test]) - r.log_time[test]).mean()))
    return f"devices never measured, alone: mean error {np.mean(found):.0f} % ({min(found):.0f} to {max(found):.0f}): to be refused"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--fractions", type=float, nargs="+", default=[0.9, 0.5])
    parser.add_argument("--devices", action="store_true", help="leave devices out, too")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = Path(os.environ.get("RIDGELINE_DATA", "")) / "pitot"
    if not os.environ.get("RIDGELINE_DATA") or not folder.is_dir():
        print("skipped: RIDGELINE_DATA names no folder with pitot", file=sys.stderr)
        return 0
    r = recorded(folder)
    lines = [
        "| fraction | seed | rows | mean error % | median | p90 | worst | worst devices | in 90 % interval % | worst group | median half width % |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for fraction in given.fractions:
        for seed in range(given.seeds):
            lines += one(r, fraction, seed)
            print(*lines[-2:], sep="\n", flush=True)
    if given.devices:
        lines += ["", devices_left_out(r)]
    text = "\n".join(lines) + "\n"
    (given.out.write_text if given.out else print)(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
