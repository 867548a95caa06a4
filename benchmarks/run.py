"""Run the benchmarks one after the other: minutes each by default (the diagnoses an hour), hours with `--full`.

Each is a script of its own that writes a Markdown fragment with `--out`. What was finished at this commit is not run again, so that an
interrupted run goes on where it stopped; `--again` runs everything. `--write` joins the fragments into `benchmarks/RESULTS.md`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: name → (script, arguments of the short run, arguments of the full run). A script keeps a journal of its own where a part of it is long.
BENCHMARKS: dict[str, tuple[str, list[str], list[str]]] = {
    "import-time": ("import_time.py", ["--repetitions", "11"], ["--repetitions", "41"]),
    "stage-cost": ("stage_cost/run.py", ["--repetitions", "101"], ["--repetitions", "501"]),
    "harness": ("harness/run.py", ["--repetitions", "51", "--processes", "20"], ["--repetitions", "301", "--processes", "200"]),
    "cold-caches": ("control/cold.py", ["--repetitions", "15"], ["--repetitions", "101"]),
    "notebook": ("notebook/run.py", ["--moved", "300", "--repetitions", "7"], ["--moved", "2000", "--repetitions", "31"]),
    "result-files": ("result_files/run.py", [], []),
    # Seconds; needs the folder of recordings that RIDGELINE_DATA names.
    "read-figures": ("read/figures.py", [], []),
    "read-speed": ("read/speed.py", ["--repetitions", "1", "--large", "0"], ["--repetitions", "5"]),
    "read-paths": ("read/paths.py", [], []),
    # A minute; needs the folder of recordings that RIDGELINE_DATA names.
    "model-gpus": ("model/neusight.py", [], []),
    # Five minutes for an architecture left out and the frontier, half an hour for all; need the recordings, and pyarrow.
    "model-serving-kernels": ("model/aiconfigurator.py", ["devices", "frontier"], []),
    "model-predict-speed": ("model/predict_speed.py", ["--repetitions", "3"], ["--repetitions", "15"]),
    # Six minutes, or an hour with the rows that there are.
    # A quarter of an hour, or half an hour, with nothing else running.
    "model-own-machine": ("model/own_machine.py", ["--seconds", "600"], []),
    "model-operators": ("model/operators.py", ["--rows", "700"], ["--rows", "3000"]),
    "model-serving-layers": ("model/vidur.py", [], []),
    "probe-vs-c": ("probe_vs_c/run.py", [], []),
    "operator-sums": ("operator_sums/run.py", ["--repetitions", "3"], ["--repetitions", "15"]),
    "work-counters": ("work_counters/run.py", [], []),
    "optimised-graphs": ("optimised_graphs/run.py", [], []),
    # Made noise, and noise recorded for two minutes; hours of draws in the full run.
    "statistics": ("statistics/run.py", [], ["--full"]),
    # A minute, or an hour: twenty microseconds a pair.
    "model-calibration": ("model/calibration.py", [], ["--pairs", "2000000", "--repeats", "200"]),
    # Minutes; needs the folder of recordings that RIDGELINE_DATA names.
    "tuning-finals": ("tuning/finals.py", ["--draws", "60"], ["--draws", "200"]),
    # A quarter of an hour, or half of one, with nothing else running; what has no compiler, OpenCL or package here says so.
    "tuning-real": (
        "tuning/real.py",
        ["--gemm", "280", "--convolution", "80", "--models", "40"],
        ["--gemm", "570", "--convolution", "240", "--models", "180"],
    ),
    # Minutes; Optuna takes part where it is in build/peers/tuning.
    "tuning-several": ("tuning/several.py", ["--seeds", "6", "--peer-seeds", "2"], ["--seeds", "40", "--peer-seeds", "10"]),
    # Minutes, or hours with the seeds that the peers need; a journal keeps every run. They need the recordings, and the peers in build/peers/tuning.
    "tuning-search": ("tuning/search.py", ["--seeds", "3", "--slow-seeds", "1"], ["--seeds", "40", "--slow-seeds", "10"]),
    "tuning-transfer": ("tuning/transfer.py", ["--seeds", "5"], ["--seeds", "40"]),
    # A quarter of an hour with 40 seeds; a journal keeps every run.
    "tuning-ugly": ("tuning/ugly.py", ["--seeds", "8"], ["--seeds", "40"]),
    "tuning-kills": ("tuning/kills.py", ["--kills", "20"], ["--kills", "100"]),
    "tuning-proposals": ("tuning/proposals.py", ["--repetitions", "1"], ["--repetitions", "5"]),
    "tuning-construction": ("tuning/construction.py", ["--repetitions", "5"], ["--repetitions", "21"]),
    # A minute each; they need recordings in the folder that RIDGELINE_DATA names.
    "model-clocks": ("model/dvfs.py", [], ["--every"]),
    "model-contention": ("model/pitot.py", ["--fractions", "0.9"], ["--seeds", "3", "--devices"]),
    "model-new-device": ("model/help.py", ["--draws", "5"], ["--draws", "20"]),
    "model-chips": ("model/ai_hub.py", ["--draws", "2"], ["--draws", "5"]),
    # A quarter of an hour a repetition: each target is diagnosed and then tried for a minute and a half.
    "promises": ("promises/run.py", ["--repetitions", "1"], ["--repetitions", "5"]),
    # Twenty seconds a pair at the most: minutes, or hours; the journal keeps every finished pair. The second runs beside a busy neighbour.
    "comparison": ("comparison/run.py", ["--pairs", "20", "--power", "12"], ["--pairs", "200", "--power", "120"]),
    "comparison-busy": (
        "comparison/run.py",
        ["--pairs", "20", "--power", "0", "--neighbours", "1"],
        ["--pairs", "200", "--power", "0", "--neighbours", "1"],
    ),
    # About three minutes a gate on a quiet machine; the journal keeps every finished one.
    "gate": ("gate/run.py", ["--gates", "3", "--seeded", "2"], ["--gates", "40", "--seeded", "20"]),
    # Five repetitions alone and five beside a neighbour are about an hour even on short budgets; the journal keeps every finished cell.
    "diagnosis": ("diagnosis/run.py", ["--repetitions", "5", "--option=--time-budget=3"], ["--repetitions", "10"]),
}


def commit() -> str:
    """The commit, with `+dirty` where the tree differs; empty outside of git."""
    done = subprocess.run(["git", "describe", "--always", "--abbrev=40", "--dirty=+dirty", "--exclude=*"], cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip()


def run_one(name: str, full: bool, results: Path) -> bool:
    """Run one benchmark; True if it ended well."""
    script, short_arguments, full_arguments = BENCHMARKS[name]
    arguments = full_arguments if full else short_arguments
    command = [sys.executable, str(HERE / script), *arguments, "--out", str(results / f"{name}.md")]
    print(f"── {name}", file=sys.stderr, flush=True)
    start = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL)
    print(f"── {name}: {'done' if done.returncode == 0 else 'FAILED'} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
    return done.returncode == 0


def main() -> int:
    """Run what is not finished yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the long version of each, hours together")
    parser.add_argument("--only", action="append", choices=sorted(BENCHMARKS), help="only this one; may be given several times")
    parser.add_argument("--again", action="store_true", help="also what was finished at this commit")
    parser.add_argument("--write", action="store_true", help="join the fragments into benchmarks/RESULTS.md")
    arguments = parser.parse_args()
    results = HERE / "results" / ("full" if arguments.full else "short")
    results.mkdir(parents=True, exist_ok=True)
    journal = results / "finished.json"
    finished: dict[str, str] = json.loads(journal.read_text()) if journal.exists() else {}
    now = commit()
    failed = []
    for name in arguments.only or BENCHMARKS:
        if finished.get(name) == now and not arguments.again and not now.endswith("+dirty") and now:
            print(f"── {name}: finished at this commit; --again runs it once more", file=sys.stderr)
            continue
        if run_one(name, arguments.full, results):
            finished[name] = now
            journal.write_text(json.dumps(finished, indent=1))
        else:
            failed.append(name)
    if arguments.write:
        parts = [(results / f"{name}.md").read_text(encoding="utf-8") for name in BENCHMARKS if (results / f"{name}.md").exists()]
        (HERE / "RESULTS.md").write_text(
            f"# Results\n\nAt commit {now or 'unknown'}, written by `make bench`.\n\n" + "\n".join(parts), encoding="utf-8"
        )
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted; what was finished is kept, run again to go on", file=sys.stderr)
        sys.exit(130)
