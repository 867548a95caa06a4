"""Tunings for real, on this machine: a product of matrices in C, a filter in OpenCL, models in onnxruntime; what was promised, looked at again.

Each tuning is `ridgeline tune` as a person runs it, with nothing set but its time. A winner of the kernels is confirmed in fresh processes: in each
of several rounds it, up to seven runners-up (those that the report does not tell from it, then the next best that were tried) and the kernel as it is
written down run once each, in random order. Confirmed is a winner whose median is the lowest or within 1 % of it, or where the lowest is one of the
report's ties. A stopwatch in C, linked with the winner's source, times it once more. Of a model the session as it is and the winner's, both set by
hand, run in turns in processes of their own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from fresh import variables

from ridgeline.backends import BuildFailed
from ridgeline.backends.placeholders import macros_of
from ridgeline.core import RidgelineError, Trial, TuneReport
from ridgeline.flows.probe import probe
from ridgeline.flows.tune import tune
from ridgeline.flows.tuning.resolve import job_of, reference_job, work_of
from ridgeline.flows.tuning.sources import read_spec
from ridgeline.flows.tuning.subjects import key_of
from ridgeline.machine import Worker
from ridgeline.stats import paired_ratio, ratio_of_medians
from ridgeline.targets import parse_target

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples" / "tuning"
_NEAR, _BESIDE, _ROUNDS = 1.01, 7, 21
#: (package, file, shapes of free inputs).
MODELS: list[tuple[str, str, dict[str, list[int]]]] = [
    ("magika", "models/standard_v3_3/model.onnx", {"bytes": [1, 2048]}),
    ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", {"x": [1, 3, 48, 320]}),
    ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": [1, 3, 48, 192]}),
    ("silero_vad", "data/silero_vad_16k_op15.onnx", {"input": [1, 576], "state": [2, 1, 128]}),
]


class Tuned(NamedTuple):
    """A tuning that is over: its report, its trials, and wall seconds with everything."""

    report: TuneReport
    trials: tuple[Trial, ...]
    wall_s: float


def tuned(target: Any, time_s: float) -> Tuned:
    runs: list[Any] = []
    started = time.perf_counter()
    report = tune(target, time_s=time_s, run_to=runs.append, report=_said)
    return Tuned(report, runs[0].trials, time.perf_counter() - started)


def _said(label: str, fraction: float | None) -> None:
    if label.startswith("tuning") and sys.stderr.isatty():
        print(f"\r{label:100}", end="", file=sys.stderr, flush=True)


def runners_up(found: Tuned) -> list[dict[str, Any]]:
    """Those not told from the winner, then the next best by the median of their trials."""
    best = found.report.best
    assert best is not None
    values: dict[str, list[float]] = {}
    configs = {}
    for trial in found.trials:
        if trial.objective is not None:
            values.setdefault(key_of(trial.config), []).append(trial.objective.value)
            configs[key_of(trial.config)] = trial.config
    order = [key_of(each.config) for each in best.ties] + sorted(values, key=lambda key: median(values[key]))
    chosen = [key for key in dict.fromkeys(order) if key != key_of(best.config)]
    return [configs[key] for key in chosen[:_BESIDE]]


class Second(NamedTuple):
    """A fresh confirmation: whether it holds, in words, how many times as fast as the plain kernel with its interval, and the winner's seconds."""

    holds: bool
    words: str
    gain: tuple[float, float, float]
    seconds: float


def confirmed(spec: Any, found: Tuned, seed: int) -> Second:
    best, plain = found.report.best, reference_job(spec)
    assert best is not None
    assert plain is not None
    others = runners_up(found)
    jobs = [*(job_of(spec, config) for config in (best.config, *others)), plain]
    with Worker(environment={"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}) as worker:
        taken = worker.call("fresh:beside_each_other", {"jobs": jobs, "rounds": _ROUNDS, "seed": seed}, list[list[float]])
    middles = [median(each) for each in taken[:-1]]
    lowest = int(np.argmin(middles))
    ties = {key_of(each.config) for each in best.ties} if best.verdict == "tie" else set()
    by = f"{100 * (middles[0] / middles[lowest] - 1):.1f} %"
    near, tied = middles[0] <= _NEAR * middles[lowest], lowest > 0 and key_of(others[lowest - 1]) in ties
    words = "winner" if lowest == 0 else f"winner, within {by}" if near else f"a declared tie, {by} slower" if tied else f"beaten by {by}"
    gain = paired_ratio(taken[0], taken[-1]) or (middles[0] and median(taken[-1]) / middles[0],) * 3
    return Second(near or tied, words, gain, middles[0])


def stopwatch(spec: Any, config: dict[str, Any]) -> float:
    """Median seconds by a C program of its own."""
    job = job_of(spec, config)
    with tempfile.TemporaryDirectory() as folder:
        program, sources = str(Path(folder) / "stopwatch"), [str(job.options["source"]), str(HERE / "stopwatch.c")]
        subprocess.run(["gcc", *macros_of(job.values), *sources, "-o", program, *job.options["flags"]], check=True)
        return float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


def kernel_lines(name: str, time_s: float, times: int) -> Iterable[str]:
    spec = read_spec(EXAMPLES / f"{name}.toml")
    found = tuned(spec, time_s)
    report, best = found.report, found.report.best
    if best is None:
        yield f"Nothing ran: {dict(report.failures)}"
        return
    yield (
        f"{report.unique_evaluations} of {report.space.size} configurations in {report.search_s:.0f} s ({found.wall_s:.0f} s with everything;"
        f" {60 * report.trials / report.search_s:.0f} trials a minute, {100 * report.overhead_s / report.search_s:.1f} % of the time not in trials);"
        f" failures: {dict(report.failures) or 'none'}."
    )
    yield f"Best: `{json.dumps(best.config)}`, {1e3 * best.objective:.3f} ms, verdict {best.verdict}, {len(best.ties)} not told from it.\n"
    yield "| confirmation | | of the best, ms | × the plain kernel's speed |"
    yield "|---|---|---|---|"
    again = [confirmed(spec, found, seed) for seed in range(times)]
    for number, each in enumerate(again):
        yield f"| {number + 1} | {each.words} | {1e3 * each.seconds:.3f} | {each.gain[0]:.1f} [{each.gain[1]:.1f}, {each.gain[2]:.1f}] |"
    yield f"\nConfirmed: {sum(each.holds for each in again)} of {times}."
    yield from _rates(spec, best.config, [best.objective, *(each.seconds for each in again)])


def _rates(spec: Any, config: dict[str, Any], seconds: Sequence[float]) -> Iterable[str]:
    flop = work_of(spec, config).flop or 0.0
    if spec.kernel.runner != "c":
        yield f"{1e-9 * flop / median(seconds[1:]):.0f} GFLOP/s."
        return
    rates = {
        each.threads: each.rate.value for each in probe().ceilings if each.engine == "fma" and each.precision == "fp32" and each.rate.unit == "FLOP/s"
    }
    reached = flop / median(seconds[1:])
    parts = [f"{100 * reached / rate:.0f} % of the probed {1e-9 * rate:.0f} with {threads} threads" for threads, rate in sorted(rates.items())]
    yield f"{1e-9 * reached:.0f} GFLOP/s in the fresh processes: {', '.join(parts)}."
    own = stopwatch(spec, config)
    yield f"The report says {1e3 * seconds[0]:.3f} ms, a stopwatch in C {1e3 * own:.3f} ms ({100 * (own / seconds[0] - 1):+.1f} %)."


def model_lines(time_s: float, times: int) -> Iterable[str]:
    yield "| model | default, ms | best, ms | the report: × the default's speed | by hand, in turns | what is set |"
    yield "|---|---|---|---|---|---|"
    for package, file, shapes in MODELS:
        spec = importlib.util.find_spec(package)
        path = Path(spec.origin).parent / file if spec is not None and spec.origin else Path(file)
        if not path.is_file():
            yield f"| {package} | — | — | not installed here | | |"
            continue
        given = [f"{name}={'x'.join(map(str, shape))}" for name, shape in shapes.items()]
        report = tuned(parse_target(str(path), (), shapes=given), time_s).report
        yield _model_line(path, shapes, report, times)


def _model_line(path: Path, shapes: dict[str, list[int]], report: TuneReport, times: int) -> str:
    best, default = report.best, report.default
    if best is None or default is None:
        return f"| {path.stem} | — | — | nothing ran: {dict(report.failures)} | | |"
    pairs = [[_by_hand(path, shapes, config) for config in ({}, best.config)] for _ in range(times)]
    hand = ratio_of_medians([pair[1] for pair in pairs], [pair[0] for pair in pairs], paired=True)
    low, high = min(pair[0] / pair[1] for pair in pairs), max(pair[0] / pair[1] for pair in pairs)
    said = "no better setting than the default was found"
    if default.speedup is not None:
        said = f"{default.speedup[0]:.2f}–{default.speedup[1]:.2f}" + ("" if default.better else f": {said}")
    moved = {name: value for name, value in best.config.items() if value != default.config.get(name)}
    return (
        f"| {path.stem} ({report.unique_evaluations} tried) | {1e3 * default.objective:.3f} | {1e3 * best.objective:.3f} | {said} |"
        f" {hand[0]:.2f} [{low:.2f}, {high:.2f}] | `{json.dumps(moved)}` |"
    )


def _by_hand(path: Path, shapes: dict[str, list[int]], config: dict[str, Any]) -> float:
    with Worker(environment=variables(config)) as worker:
        return worker.call("fresh:by_hand", {"path": str(path), "shapes": shapes, "config": config}, float)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=["gemm", "convolution", "models"], help="only these")
    parser.add_argument("--gemm", type=float, default=570.0, help="seconds for the product of matrices")
    parser.add_argument("--convolution", type=float, default=240.0, help="seconds for the filter")
    parser.add_argument("--models", type=float, default=120.0, help="seconds for each model")
    parser.add_argument("--confirmations", type=int, default=5, help="fresh processes for each winner")
    parser.add_argument("--out", type=Path, help="write there instead of to stdout")
    given = parser.parse_args()
    parts = {
        "gemm": ("A product of matrices in C, 1024 × 1024, fp32", lambda: kernel_lines("gemm", given.gemm, given.confirmations)),
        "convolution": ("A filter of 7 × 7 in OpenCL, 2048 × 2048", lambda: kernel_lines("convolution", given.convolution, given.confirmations)),
        "models": ("Models in onnxruntime, without a specification", lambda: model_lines(given.models, given.confirmations)),
    }
    text = "## Tuned for real on this machine\n"
    for name, (title, lines) in parts.items():
        if given.only and name not in given.only:
            continue
        text += f"\n### {title}\n\n"
        try:
            for line in lines():
                print(line, file=sys.stderr, flush=True)
                text += line + "\n"
        except (RidgelineError, BuildFailed) as error:
            text += f"Not run: {' '.join(str(error).split())}\n"
            print(text.splitlines()[-1], file=sys.stderr)
        if given.out:
            given.out.write_text(text, encoding="utf-8")
    if not given.out:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
