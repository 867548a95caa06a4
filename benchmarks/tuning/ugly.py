"""Devices that behave badly on purpose: whether a tuning ends by itself, says what happened to each configuration, and finds the right winner.

Each run is `ridgeline tune` of a space of 720 configurations on the simulated device, in a process of its own that is killed after two minutes.
Times follow from the configuration, so that the best is known; what fails, fails for real: processes crash and loop, compilers hang. A winner is
right where its time without noise is within 1 % of the lowest of all configurations that were tried and behave well. What the record says of each
trial is held against what was planted in its configuration. Several runs go on at once: the simulated device has a clock of its own.

    python benchmarks/tuning/ugly.py [--seeds N] [--trials N] [--only NAME …] [--at-once N] [--journal FILE] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from recorded import ROOT, machine

from journal import append, read
from ridgeline.backends.simulated import behaviour, true_seconds
from ridgeline.flows.tuning.record import read_record
from ridgeline.flows.tuning.resolve import job_of
from ridgeline.flows.tuning.spec import SpecArgument, SpecCheck, SpecLimits, TuningSpec, kernel, tuning_spec

#: Behaviour that was planted → failure that the record names; whatever else is none.
SAID = {
    "invalid": "invalid", "no-compile": "compile", "hangs-building": "timeout", "fails": "run", "crashes": "crash", "aborts": "crash",
    "exits": "crash", "loops": "timeout", "memory": "memory", "wrong": "wrong-output", "nan": "wrong-output", "once": "wrong-output",
}  # fmt: skip
NOISE = {"noise": 0.03, "tail": 0.1}
#: Name → options of the device.
DEVICES: dict[str, dict[str, Any]] = {
    "quiet": {},
    "noise with heavy tails": NOISE,
    "30 % fail": {
        **NOISE,
        "share": {"invalid": 0.06, "no-compile": 0.06, "fails": 0.06, "exits": 0.03, "aborts": 0.03, "memory": 0.03, "nan": 0.03},
    },
    "compilers hang": {**NOISE, "share": {"hangs-building": 0.05}},
    "throttled half-way": {**NOISE, "throttled_from": 300, "throttled": 1.6},
    "wrong answers are fast": {**NOISE, "share": {"wrong": 0.1, "once": 0.1}},
    "crashes": {**NOISE, "share": {"crashes": 0.2}},
    "loops for ever": {**NOISE, "share": {"loops": 0.05}},
    "all of it": {
        "noise": 0.05,
        "tail": 0.1,
        "throttled_from": 300,
        "throttled": 1.6,
        "share": {"invalid": 0.05, "hangs-building": 0.02, "crashes": 0.05, "loops": 0.02, "wrong": 0.1, "memory": 0.02, "fails": 0.04},
    },
}
PARAMETERS: dict[str, list[Any]] = {
    "tile": [8, 16, 32, 64, 128], "unroll": [1, 2, 4, 8], "pack": [True, False], "order": ["ij", "ji", "z"], "vector": [1, 2, 4, 8, 16, 32],
}  # fmt: skip
#: Seconds after which a run has not ended by itself.
_MOST_S = 120.0
_RIGHT = 1.01


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Args:
        ended: whether it did, with a result; right: whether the winner is; ratio: its time over the lowest of what was tried, without noise.
        told: trials of which the record says what was planted; trials: all; verdict: of the finals; error: the last line of what went wrong.
    """

    device: str
    seed: int
    wanted: int
    ended: bool
    right: bool = False
    ratio: float | None = None
    told: int = 0
    trials: int = 0
    verdict: str = ""
    error: str = ""


def spec_of(device: str, seed: int, trials: int, folder: str) -> TuningSpec:
    options = {**DEVICES[device], "seed": seed, "seconds": 1e-3, "state": str(Path(folder) / "state")}
    return tuning_spec(
        "sum",
        kernel=kernel(
            "simulated",
            arguments=[SpecArgument(name="x", shape=[64]), SpecArgument(name="y", shape=[64], output=True)],
            check=SpecCheck(kernel={"runner": "simulated"}),
            **options,
        ),
        parameters=PARAMETERS,
        limits=SpecLimits(build_s=1.0, run_s=1.0, memory_bytes=2**30),
        folder=folder,
    )  # fmt: skip


def one(device: str, seed: int, trials: int) -> Line:
    """A tuning in a process of its own, and what is to be said of it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--one", device, "--seed", str(seed), "--trials", str(trials), "--folder", folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_MOST_S, check=False)
        except subprocess.TimeoutExpired:
            return Line(device=device, seed=seed, wanted=trials, ended=False, error=f"it went on after {_MOST_S:.0f} s")
        if done.returncode != 0:
            return Line(device=device, seed=seed, wanted=trials, ended=False, error=(done.stderr.strip().splitlines() or ["no word"])[-1])
        return judged(spec_of(device, seed, trials, folder), json.loads(done.stdout), str(Path(folder) / "record"), device, seed, trials)


def judged(spec: TuningSpec, found: Mapping[str, Any], record: str, device: str, seed: int, trials: int) -> Line:
    """The result and the record against what was planted."""
    told = 0
    good: list[float] = []
    ran = read_record(record).trials
    for trial in ran:
        job = job_of(spec, trial.config)
        planted = SAID.get(behaviour(job))
        told += trial.failure == planted
        if planted is None:
            good.append(true_seconds(job))
    best = found["best"]
    if not best or not good:
        return Line(device=device, seed=seed, wanted=trials, ended=True, told=told, trials=len(ran), error="no winner")
    job = job_of(spec, best["config"])
    ratio = true_seconds(job) / min(good)
    right = SAID.get(behaviour(job)) is None and ratio <= _RIGHT
    return Line(
        device=device, seed=seed, wanted=trials, ended=True, right=right, ratio=ratio, told=told, trials=len(ran), verdict=best["verdict"]
    )  # fmt: skip


def tuned(device: str, seed: int, trials: int, folder: str) -> int:
    """In the process of its own."""
    import ridgeline
    from ridgeline.core.documents import encode

    report = ridgeline.tune(
        spec_of(device, seed, trials, folder), record=str(Path(folder) / "record"), trials=trials, seed=seed, cache=str(Path(folder) / "cache")
    )
    sys.stdout.write(encode(report).decode())
    return 0


def table(lines: Sequence[Line], trials: int) -> str:
    rows = [
        "| device | runs | ended by themselves | trials of which the record says what happened | winner right | worst winner | won / tie / open |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for device in DEVICES:
        of_device = [line for line in lines if line.device == device]
        if not of_device:
            continue
        ended = [line for line in of_device if line.ended]
        verdicts = " / ".join(str(sum(line.verdict == each for line in ended)) for each in ("won", "tie", "open"))
        worst = max((line.ratio for line in ended if line.ratio is not None), default=float("nan"))
        told, ran = sum(line.told for line in ended), sum(line.trials for line in ended)
        right = sum(line.right for line in of_device)
        rows.append(
            f"| {device} | {len(of_device)} | {len(ended)} | {told:,} of {ran:,} | {right} ({100 * right / len(of_device):.0f} %) "
            f"| {worst:.3f} | {verdicts} |"
        )
    return (
        f"## Devices that behave badly\n\n{machine()}. {trials} configurations of 720 and the finals; the winner is right where it is within 1 % of "
        "the best that was tried and behaves well, by times without noise.\n\n" + "\n".join(rows) + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40, help="runs of each device")
    parser.add_argument("--trials", type=int, default=60, help="configurations of each run")
    parser.add_argument("--only", action="append", help="devices whose name holds this")
    parser.add_argument("--at-once", type=int, default=2, help="runs that go on at once")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "benchmarks" / "tuning-ugly.jsonl")
    parser.add_argument("--out", type=Path, help="write the table there instead of to stdout")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return tuned(given.one, given.seed, given.trials, given.folder)
    devices = [name for name in DEVICES if not given.only or any(part in name for part in given.only)]
    wanted = {(device, seed) for device in devices for seed in range(given.seeds)}
    kept = [line for line in read(given.journal, Line) if line.wanted == given.trials and (line.device, line.seed) in wanted]
    left = sorted(wanted - {(line.device, line.seed) for line in kept}, key=lambda cell: (cell[1], devices.index(cell[0])))
    with ThreadPoolExecutor(given.at_once) as pool:
        for number, done in enumerate(as_completed([pool.submit(one, device, seed, given.trials) for device, seed in left])):
            kept.append(done.result())
            append(given.journal, kept[-1])
            print(f"{number + 1} of {len(left)}: {kept[-1]}", file=sys.stderr, flush=True)
    text = table(kept, given.trials)
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0 if all(line.ended for line in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
