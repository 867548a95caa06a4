"""What the statistics promise, counted: coverage and false alarms of tails, change points, steady state, the comparison on made noise, speed.

A few minutes; `--full` takes more draws and records more noise. Prints the tables; `--out FILE` writes them as a Markdown fragment. `--only PART`
runs one part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import changes
import equal
import noise
import steady
import tails

PARTS: dict[str, Callable[[bool], str]] = {"tails": tails.report, "changes": changes.report, "equal": equal.report, "steady": steady.report}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", action="append", choices=sorted(PARTS))
    parser.add_argument("--record", type=int, metavar="N", help="processes of noise to record first (120, with --full 400; 0 for none)")
    parser.add_argument("--noise", type=Path, metavar="FILE", help="a journal of benchmarks/comparison/run.py to take the noise from, instead")
    parser.add_argument("--otava", metavar="PYTHON", help="an interpreter that has apache-otava, whose rule then sees the same series")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    chosen = arguments.only or list(PARTS)
    PARTS["changes"] = partial(changes.report, noise=arguments.noise, otava=arguments.otava)
    if "changes" in chosen and arguments.noise is None:
        noise.record(arguments.record if arguments.record is not None else 400 if arguments.full else 120)
    parts = []
    for name in chosen:
        parts.append(PARTS[name](arguments.full))
        print(parts[-1], flush=True)
    if arguments.out:
        arguments.out.write_text("## Statistics\n\n" + "\n".join(parts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
