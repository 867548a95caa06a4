"""How far off the winner of noisy runs is, and what it took to find: finals against single runs and fixed repetitions of everything.

Replays recordings that hold 32 run times of each configuration (convolution and dedispersion kernels on four GPUs,
AutoTuningAssociation/benchmark_hub): a run is one of the 32, drawn evenly. A search has tried some configurations once each; which of them is taken
as the best is decided by the finals, or
by one rule for all: the lowest single run, the lowest mean, median or minimum of seven runs each. Regret is the winner's median of all 32 over the
lowest of those tried, less one. With `--throttle` the device is slowed by that factor from the middle of the runs after the search (of fixed
repetitions: of all runs) on.

Needs the folder of recordings that RIDGELINE_DATA names.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ridgeline.tuning.finals import Finals

Floats = NDArray[np.float64]
RECORDINGS = {
    f"{kernel} {device}": f"tuning/benchmark_hub/{kernel}_milo/{device}.json.gz"
    for kernel, devices in (("convolution", ("A100", "A4000", "A6000", "W6600")), ("dedispersion", ("A100", "A4000", "W6600")))
    for device in devices
}
REPEATS = 7
QUANTILES = (0.5, 0.9, 0.95, 0.99)


def times_of(path: Path) -> Floats:
    """Seconds of every run of every configuration that ran, (configurations, 32)."""
    cache = json.loads(gzip.decompress(path.read_bytes()))["cache"]
    rows = [entry["times"] for entry in cache.values() if isinstance(entry.get("times"), list) and len(entry["times"]) == 32]
    return 1e-3 * np.array(rows, np.float64)


def everything(truth: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(len(truth))


def at_random(truth: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    return generator.choice(len(truth), 200, replace=False)


def guided(truth: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """What a good search leaves: half at random, half out of the lowest three per cent."""
    low = np.argsort(truth)[: max(120, len(truth) * 3 // 100)]
    return np.unique(np.concatenate([generator.choice(len(truth), 100, replace=False), generator.choice(low, 100, replace=False)]))


TRIED: dict[str, Callable[[Floats, np.random.Generator], NDArray[np.int64]]] = {"200 at random": at_random, "200 guided": guided, "all": everything}


def fixed(times: Floats, rule: str, throttle: float, generator: np.random.Generator) -> tuple[int, int]:
    """The lowest by a rule over equally many runs each, one configuration after the other; and the runs."""
    repeats = 1 if rule == "single run" else REPEATS
    drawn = times[np.arange(len(times))[:, None], generator.integers(0, times.shape[1], (len(times), repeats))]
    drawn[generator.permutation(len(times))[: len(times) // 2]] *= throttle
    of: dict[str, Callable[..., Any]] = {"single run": np.mean, "mean of 7": np.mean, "median of 7": np.median, "minimum of 7": np.min}
    return int(np.argmin(of[rule](drawn, axis=1))), repeats * len(times)


def raced(times: Floats, throttle: float, seed: int, generator: np.random.Generator, options: dict[str, Any]) -> tuple[int, int, str]:
    """The finals' winner, all runs with those of the search, and the verdict."""
    count = times.shape[1]
    searched = times[np.arange(len(times)), generator.integers(0, count, len(times))]
    finals = Finals(searched[:, None].tolist(), seed=seed, **options)
    done, middle = 0, int(generator.integers(1, 200)) if throttle != 1.0 else 0
    while asked := finals.ask():
        values = [float(times[each, generator.integers(count)]) * (throttle if done + place >= middle else 1.0) for place, each in enumerate(asked)]
        done += len(asked)
        finals.tell(asked, values)
    found = finals.standing()
    return found.best, len(times) + found.runs, found.verdict


def measured(times: Floats, tried: str, rule: str, draws: int, throttle: float, options: dict[str, Any]) -> dict[str, Any]:
    """Regrets and shares of runs over many draws."""
    truth = np.median(times, axis=1)
    regrets, shares, verdicts = [], [], []
    for seed in range(draws):
        generator = np.random.default_rng(seed)
        chosen = TRIED[tried](truth, generator)
        own, known = times[chosen], truth[chosen]
        if rule == "finals":
            best, runs, verdict = raced(own, throttle, seed, generator, options)
            verdicts.append(verdict)
        else:
            best, runs = fixed(own, rule, throttle, generator)
        regrets.append(known[best] / known.min() - 1.0)
        shares.append(runs / (REPEATS * len(chosen)))
    return {"regrets": np.array(regrets), "share": float(np.mean(shares)), "most": float(np.max(shares)), "verdicts": verdicts}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100, help="seeds of each line")
    parser.add_argument("--throttle", type=float, default=1.0, help="factor by which the device is slowed half-way")
    parser.add_argument("--confidence", type=float, help="of the finals")
    parser.add_argument("--tried", choices=sorted(TRIED), action="append", help="only these")
    parser.add_argument("--only", action="append", help="recordings whose name holds this")
    parser.add_argument("--finals", action="store_true", help="without the fixed rules")
    parser.add_argument("--out", type=Path, help="write the table there instead of to stdout")
    given = parser.parse_args()
    folder = os.environ.get("RIDGELINE_DATA")
    if not folder:
        print("RIDGELINE_DATA names no folder of recordings", file=sys.stderr)
        return 2
    options = {} if given.confidence is None else {"confidence": given.confidence}
    head = [*(f"p{100 * each:g}" for each in QUANTILES), "worst"]
    lines = [
        "| recording | tried | rule | " + " | ".join(head) + " | runs of 7 each | won / tie / open |",
        "|---|---|---|" + "---|" * (len(head) + 2),
    ]
    for name, path in RECORDINGS.items():
        if given.only and not any(part in name for part in given.only):
            continue
        times = times_of(Path(folder) / path)
        for tried in given.tried or TRIED:
            for rule in ("finals", *(() if given.finals else ("single run", "mean of 7", "median of 7", "minimum of 7"))):
                draws = max(5, given.draws // 5) if tried == "all" and rule == "finals" else given.draws
                found = measured(times, tried, rule, draws, given.throttle, options)
                regrets = [f"{100 * each:.2f} %" for each in (*np.quantile(found["regrets"], QUANTILES), found["regrets"].max())]
                verdicts = " / ".join(str(found["verdicts"].count(each)) for each in ("won", "tie", "open")) if found["verdicts"] else ""
                lines.append(f"| {name} | {tried} | {rule} | {' | '.join(regrets)} | {100 * found['share']:.1f} % | {verdicts} |")
                print(lines[-1], file=sys.stderr, flush=True)
    about = f", slowed by {given.throttle:g} half-way" if given.throttle != 1.0 else ""
    text = (
        f"## The winner of noisy runs{about}\n\nRegret of the winner over {given.draws} draws (a fifth of them of finals of all).\n\n"
        + "\n".join(lines)
        + "\n"
    )
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
