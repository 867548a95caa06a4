"""CPU of each proposal of other tuners on a made problem: one request on stdin, a line of JSON with milliseconds of each trial and of memory.

    ENVIRONMENT_WITH_THE_PEERS/bin/python peer_proposals.py < REQUEST

A request: {"method", "sizes", "rows": the valid configurations or null for all combinations, "tables": ln(seconds) of each value of each parameter,
"trials", "seed", "marks": trials after which memory is read}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from peer_search import SCORED, forest

warnings.filterwarnings("ignore")


def memory_now() -> tuple[int, int]:
    """Bytes in use, and the most that ever were."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def optuna(request: dict[str, Any]) -> Callable[[], None]:
    import optuna as peer

    peer.logging.set_verbosity(peer.logging.ERROR)
    study = peer.create_study(sampler=peer.samplers.TPESampler(seed=request["seed"]))
    names = [f"p{place}" for place in range(len(request["sizes"]))]

    def trial() -> None:
        one = study.ask()
        row = [one.suggest_categorical(name, list(range(size))) for name, size in zip(names, request["sizes"], strict=True)]
        study.tell(one, seconds(request, row))

    return trial


def scored(request: dict[str, Any]) -> Callable[[], None]:
    from scipy.special import ndtr

    generator = np.random.default_rng(request["seed"])
    sizes = np.array(request["sizes"])
    listed = None if request["rows"] is None else np.array(request["rows"])
    told: list[Any] = []
    logs: list[float] = []

    def drawn(count: int) -> Any:
        return generator.integers(sizes, size=(count, len(sizes))) if listed is None else listed[generator.integers(len(listed), size=count)]

    def trial() -> None:
        row = drawn(1)[0]
        if len(told) >= 10:
            asked = drawn(SCORED)
            known, target = np.array(told) / sizes, np.array(logs)
            mean, deviation = forest(known, target, asked / sizes, {"seed": request["seed"]})
            deviation = np.maximum(deviation, 1e-6)
            ratio = (target.min() - mean) / deviation
            row = asked[np.argmax(deviation * (ratio * ndtr(ratio) + np.exp(-0.5 * ratio**2) / np.sqrt(2 * np.pi)))]
        told.append(row)
        logs.append(float(np.log(seconds(request, row.tolist()))))

    return trial


def seconds(request: dict[str, Any], row: list[int]) -> float:
    """The made time of a configuration."""
    return float(np.exp(sum(table[value] for table, value in zip(request["tables"], row, strict=True))))


METHODS = {"optuna TPE, parameters": optuna, "scikit-learn forest + EI": scored}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.readline())
    trial = METHODS[request["method"]](request)
    spent, memory = [], []
    for number in range(1, request["trials"] + 1):
        begin = time.thread_time()
        trial()
        spent.append(1e3 * (time.thread_time() - begin))
        if number in request["marks"]:
            memory.append(memory_now())
    print(json.dumps({"ms": spent, "bytes": memory}), file=answers, flush=True)


if __name__ == "__main__":
    main()
