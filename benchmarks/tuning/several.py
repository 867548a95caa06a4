"""How much of the front of several objectives a search finds: our searches, and Optuna's NSGA-II and TPE, on made spaces whose fronts are known.

What is missing is one less the volume that the configurations tried dominate over that of the whole front, both in logarithms up to the worst
configuration of the space; the mean over seeds. The spaces are formulas: time and memory of a tiled kernel (17,024 configurations), time and energy
of a kernel over clocks (3,960), and time, memory and energy of the first. A combination that the constraint forbids costs a peer nothing.

Peers run in an environment of their own, `build/peers/tuning/bin/python` or `--peers`, where Optuna is; without it they are left out.

    python benchmarks/tuning/several.py [--seeds N] [--peer-seeds N] [--peers PYTHON] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.core import Parameter, Space
from ridgeline.tuning.front import covered, non_dominated
from ridgeline.tuning.search import strategy
from ridgeline.tuning.search.several import Several
from ridgeline.tuning.space import Configurations

Floats = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[2]
EVALUATIONS = (20, 50, 100, 200)
OURS = ("guided", "evolutionary", "random")


class Made(NamedTuple):
    """A space, and the objectives of each configuration, (configurations, objectives)."""

    space: Configurations
    values: Floats


def tiles() -> Space:
    values = {
        "tile": (4, 8, 16, 32, 64, 128, 256), "unroll": (1, 2, 4, 8, 16), "threads": (1, 2, 4, 8), "pack": (False, True), "copies": (1, 2, 3, 4),
        "order": ("ijk", "ikj", "jik", "kij"), "vector": (1, 2, 4, 8),
    }  # fmt: skip
    return Space(parameters=tuple(Parameter(name=name, values=each) for name, each in values.items()), constraints=("unroll * vector <= 64",))


def of_tiles(config: Mapping[str, Any]) -> tuple[float, float, float]:
    """(Seconds, bytes, joules): larger buffers are faster and take more."""
    seconds = 1e-3 / (1 + 0.35 * math.log2(config["tile"])) * (1 + 0.08 * abs(math.log2(config["unroll"]) - 2)) / config["threads"] ** 0.8
    seconds *= (0.8 if config["pack"] else 1.0) * (1 - 0.06 * config["copies"]) * (1 + 0.15 * abs(math.log2(config["vector"]) - 2))
    seconds *= {"ijk": 1.3, "ikj": 1.0, "jik": 1.5, "kij": 1.1}[config["order"]] * (1.2 if config["tile"] > 64 and config["threads"] > 4 else 1.0)
    size = 1e6 + 8.0 * config["tile"] ** 2 * config["threads"] * (2 if config["pack"] else 1) * config["copies"]
    return seconds, size, seconds * (20 + 15 * config["threads"] ** 0.7 + (10 if config["vector"] > 4 else 0))


def clocks() -> Space:
    values = {
        "block": (32, 64, 96, 128, 192, 256, 384, 512), "items": (1, 2, 3, 4, 6, 8), "clock": tuple(range(600, 2001, 100)), "cache": (False, True),
        "layout": ("aos", "soa", "aosoa"),
    }  # fmt: skip
    return Space(parameters=tuple(Parameter(name=name, values=each) for name, each in values.items()), constraints=("block * items <= 2048",))


def of_clocks(config: Mapping[str, Any]) -> tuple[float, float]:
    """(Seconds, joules): a part of the time goes with the clock, and the power of that part with its cube."""
    factor = (1 + 0.4 * abs(math.log2(config["block"] / 192))) * (1 + 0.25 * abs(math.log2(config["items"] / 3)))
    factor *= (0.85 if config["cache"] == (config["items"] > 2) else 1.0) * {"aos": 1.6, "soa": 1.0, "aosoa": 1.1}[config["layout"]]
    clock = config["clock"] / 1000
    busy = 0.6 / clock
    power = 40 + 60 * clock**3 * busy / (busy + 0.4) + (5 if config["cache"] else 0)
    return 1e-3 * factor * (busy + 0.4), 1e-3 * factor * (busy + 0.4) * power


def made(space: Space, of: Callable[[Mapping[str, Any]], tuple[float, ...]], objectives: int) -> Made:
    configurations = Configurations(space)
    rows = configurations.at(np.arange(configurations.count))
    return Made(configurations, np.array([of(configurations.config(row))[:objectives] for row in rows]))


def spaces() -> dict[str, Made]:
    return {
        "time, memory": made(tiles(), of_tiles, 2), "time, energy": made(clocks(), of_clocks, 2), "time, memory, energy": made(tiles(), of_tiles, 3),
    }  # fmt: skip


def missing(found: Made, numbers: list[int]) -> list[float]:
    """Part of the front that is missing after each number of evaluations."""
    best, worst = found.values.min(axis=0), found.values.max(axis=0)
    whole = covered(found.values[non_dominated(found.values)], best, worst)
    shares = []
    for count in EVALUATIONS:
        tried = found.values[numbers[:count]]
        shares.append(1.0 - covered(tried[non_dominated(tried)], best, worst) / whole)
    return shares


def searched(found: Made, name: str, seed: int) -> tuple[list[int], float]:
    """Numbers of the configurations in the order in which they were tried, and CPU ms of each."""
    search, numbers = Several(strategy(name, found.space, seed), found.values.shape[1], seed), list[int]()
    before = time.process_time()
    while len(numbers) < EVALUATIONS[-1]:
        row = search.ask(1)
        numbers.append(int(found.space.numbers(row)[0]))
        search.tell(row, found.values[numbers[-1:]])
    return numbers, 1e3 * (time.process_time() - before) / len(numbers)


def of_peers(python: Path, found: Made, seeds: int) -> dict[str, list[tuple[list[int], float]]]:
    """Method → runs of Optuna."""
    space = found.space
    document = {
        "sizes": space.sizes.tolist(), "rows": space.at(np.arange(space.count)).tolist(), "values": found.values.tolist(),
        "seeds": seeds, "evaluations": EVALUATIONS[-1],
    }  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        script = Path(__file__).with_name("peer_several.py")
        done = subprocess.run([str(python), str(script), file.name], capture_output=True, text=True)
    if done.returncode:
        print(f"peers left out: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    runs: dict[str, list[tuple[list[int], float]]] = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        runs.setdefault(one["method"], []).append((one["numbers"], one["cpu_ms"]))
    return runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="of our searches")
    parser.add_argument("--peer-seeds", type=int, default=3, help="of the peers")
    parser.add_argument("--peers", type=Path, default=ROOT / "build/peers/tuning/bin/python", help="Python of an environment with Optuna")
    parser.add_argument("--out", type=Path, help="write the table there instead of to stdout")
    given = parser.parse_args()
    head = "".join(f" @{count} |" for count in EVALUATIONS)
    lines = [f"| objectives | search |{head} CPU ms an evaluation |", "|---|---|" + "---|" * (len(EVALUATIONS) + 1)]
    for name, found in spaces().items():
        runs = {method: [searched(found, method, seed) for seed in range(given.seeds)] for method in OURS}
        if given.peers.exists():
            runs |= of_peers(given.peers, found, given.peer_seeds)
        for method, each in runs.items():
            shares = np.mean([missing(found, numbers) for numbers, _ in each], axis=0)
            cells = "".join(f" {100 * share:.2f} % |" for share in shares)
            lines.append(f"| {name} | {method} |{cells} {np.mean([ms for _, ms in each]):.1f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    peers = f"Seeds of the peers: {given.peer_seeds}." if given.peers.exists() else "No peers are installed."
    text = (
        "## The front of several objectives\n\nPart of the front's volume that is missing after so many evaluations, mean over "
        f"{given.seeds} seeds. {peers}\n\n" + "\n".join(lines) + "\n"
    )
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
