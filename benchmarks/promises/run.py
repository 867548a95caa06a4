"""How often promises hold: `ridgeline diagnose --try` on targets with and without an applicable fix, promised against found.

Each target is diagnosed in a fresh process, and is a line of a journal as soon as it is done; an interrupted run goes on where it stopped. Three
questions are answered from the journal: what part of the promises contains the found gain, whether anything is recommended that a second trial
finds slower, and whether an output differed without being said.

    python benchmarks/promises/run.py [--repetitions N] [--only NAME …] [--journal FILE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from journal import append, read  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MODULES = "benchmarks/operator_sums/modules.py"

#: name → (what is written after `ridgeline diagnose`, what must be there). Those without an applicable fix are marked in `NO_FIX`.
TARGETS: dict[str, tuple[list[str], str]] = {
    "tone_curve": (["examples/tone_curve.py:workload"], ""),
    "frame_history": (["examples/frame_history.py:workload"], "torch"),
    "residual_tail": (["examples/residual_tail.py:workload"], "torch"),
    "decoder_step": (["examples/decoder_step.py:workload"], "torch"),
    "flight_controller": (["examples/flight_controller.py:workload"], "torch"),
    "torch_convolutional": ([f"{MODULES}:convolutional"], "torch"),
    "torch_encoder": ([f"{MODULES}:encoder"], "torch"),
    "magika": (["MAGIKA"], "magika"),
    "windows_onnx": (["examples/build/windows.onnx"], "onnxruntime"),
    "backbone_onnx": (["examples/build/backbone.onnx"], "onnxruntime"),
    "magika_int8": (["--allow-precision", "int8", "MAGIKA"], "magika"),
    "backbone_int8": (["--allow-precision", "int8", "examples/build/backbone.onnx"], "onnxruntime"),
    "gesture_onnx": (["examples/build/gesture.onnx"], "onnxruntime"),
    "tariff_quote": (["--use", "once", "examples/tariff_quote.py:workload"], ""),
    "label_reader": (["--use", "once", "examples/label_reader.py:workload"], "torch"),
    "price_feed": (["examples/price_feed.py:workload"], ""),
    "ledger_report": (["examples/ledger_report.py:workload"], ""),
    "dense_ranker": (["examples/dense_ranker.py:workload"], ""),
}
#: What binds them can only be changed in their code, or nothing binds.
NO_FIX = ("backbone_onnx", "price_feed", "ledger_report", "dense_ranker")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One target that was tried."""

    commit: str
    target: str
    repetition: int
    wall_s: float
    cause: str | None = None
    confirmed: bool = False
    tried: list[dict[str, Any]] = []
    untried: list[dict[str, Any]] = []
    error: str = ""


def words(name: str) -> list[str] | None:
    """The arguments of a target, or `None` where what it needs is not installed."""
    given, needs = TARGETS[name]
    if needs and find_spec(needs) is None:
        return None
    return [magika() if word == "MAGIKA" else word for word in given]


def magika() -> str:
    """The model that the package carries."""
    spec = find_spec("magika")
    places = spec.submodule_search_locations if spec else None
    return str(sorted(Path((places or ["."])[0]).glob("models/*/model.onnx"))[-1])


def commit() -> str:
    """The commit, with `+dirty` where the tree differs; empty outside of git."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def run(name: str, arguments: list[str], repetition: int, seconds: float, try_seconds: float, at: str) -> Line:
    """Diagnose one target with `--try` in a process of its own."""
    command = [
        str(Path(sys.executable).with_name("ridgeline")), "diagnose", "--json", "--quiet", "--no-notebook", "--try", "--time-budget", str(seconds),
        "--try-budget", str(try_seconds), *arguments,
    ]  # fmt: skip
    before = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=seconds + 6 * try_seconds + 300)
    wall_s = time.monotonic() - before
    if done.returncode != 0:
        last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        return Line(commit=at, target=name, repetition=repetition, wall_s=wall_s, error=last)
    document = msgspec.json.decode(done.stdout)
    found = document["bottleneck"] or {}
    return Line(
        commit=at,
        target=name,
        repetition=repetition,
        wall_s=wall_s,
        cause=found.get("cause"),
        confirmed=bool(found.get("confirmed")),
        tried=document["tried"],
        untried=document["untried"],
    )


def report(lines: list[Line]) -> Iterable[str]:
    """The table and the three answers, as Markdown."""
    yield "| target | cause | change | for | promised | found | verdict | promise | output | recommended |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for line in lines:
        cause = line.error or f"{line.cause or 'healthy'}{' (confirmed)' if line.confirmed else ''}"
        for trial in line.tried:
            name = f"| {line.target} | {cause} | {trial['change']} | {'control' if trial['control'] else trial['action']} "
            yield (
                name
                + f"| {_span(trial['promised'])} | {_span(trial['speedup'])} | {trial['verdict']} | {trial['promise'] or '—'} "
                + (f"| {trial['output']} | {'yes' if trial['kept'] else 'no'} |")
            )
        if not line.tried:
            yield f"| {line.target} | {cause} | — | — | — | — | — | — | — | — |"
    yield ""
    yield from _answers(lines)


def _answers(lines: list[Line]) -> Iterable[str]:
    trials = [trial for line in lines for trial in line.tried]
    promised = [trial for trial in trials if trial["promise"]]
    kept = sum(trial["promise"] == "kept" for trial in promised)
    part = f"{kept / len(promised):.0%}" if promised else "—"
    refuted = sum(trial["promise"] == "refuted" for trial in promised)
    yield f"{len({line.target for line in lines})} targets, {sum(line.target in NO_FIX for line in lines)} runs of targets without an applicable fix."
    yield f"Promises that contain the found gain: {kept} of {len(promised)} ({part}); wholly outside: {refuted}."
    slowed = [trial["change"] for trial in trials if trial["kept"] and trial["speedup"][0] <= 1.0]
    yield f"Recommended though not faster: {', '.join(slowed) or 'nothing'}."
    slower = sum(trial["verdict"] == "slower" for trial in trials)
    yield f"Slower: {slower} of {len(trials)} trials, of which recommended: {sum(t['verdict'] == 'slower' and t['kept'] for t in trials)}."
    unequal = [trial for trial in trials if not trial["output_ok"]]
    silent = [trial["change"] for trial in unequal if trial["kept"] or not (trial["reason"] or trial["output"] == "unknown")]
    yield f"Outputs not equal or not comparable: {len(unequal)}; of these recommended or without a reason: {len(silent)}."


def _span(ends: list[float] | None) -> str:
    return f"{ends[0]:.2f}–{ends[1]:.2f}×" if ends else "—"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=float, default=12.0, help="time budget of each diagnosis")
    parser.add_argument("--try-seconds", type=float, default=90.0, help="budget of its trials")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "benchmarks" / "promises.jsonl")
    parser.add_argument("--out", type=Path, help="write the report there as well")
    given = parser.parse_args()
    now = commit()
    done = {(line.target, line.repetition) for line in read(given.journal, Line) if line.commit == now}
    for repetition in range(given.repetitions):
        for name in given.only or TARGETS:
            arguments = words(name)
            if arguments is None:
                print(f"{name}: skipped, {TARGETS[name][1]} is not installed", file=sys.stderr)
            elif (name, repetition) not in done:
                append(given.journal, run(name, arguments, repetition, given.seconds, given.try_seconds, now))
    text = "\n".join(("## Promises", "", *report([line for line in read(given.journal, Line) if line.commit == now]), ""))
    print(text)
    if given.out is not None:
        given.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
