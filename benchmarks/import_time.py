"""What `import ridgeline` costs beside `import numpy, msgspec`, each in fresh processes, interleaved.

Prints seconds and ratios as median and spread over the repetitions; with `--out FILE` also as a Markdown fragment.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

CASES = {
    "nothing": "pass",
    "numpy, msgspec": "import numpy, msgspec",
    "ridgeline": "import ridgeline",
    "ridgeline and a noun": "import ridgeline; ridgeline.Quantity",
}


def seconds(code: str) -> float:
    """Wall time of one fresh interpreter that runs `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(repetitions: int) -> dict[str, list[float]]:
    """Seconds per case; the cases take turns, so that a disturbance meets all of them."""
    for code in CASES.values():
        seconds(code)  # fills the page cache and the byte code
    taken: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(repetitions):
        for name, code in CASES.items():
            taken[name].append(seconds(code))
    return taken


def table(taken: dict[str, list[float]]) -> str:
    """Markdown: per case median and quartiles, and the ratio of imports without the bare interpreter, repetition by repetition."""
    lines = ["| case | median | quartiles | import ÷ import of numpy, msgspec |", "|---|---|---|---|"]
    for name, values in taken.items():
        low, median, high = statistics.quantiles(values, n=4)
        ratios = [(one - bare) / (reference - bare) for one, bare, reference in zip(values, taken["nothing"], taken["numpy, msgspec"], strict=True)]
        q1, middle, q3 = statistics.quantiles(ratios, n=4)
        ratio = "" if name == "nothing" else f"{middle:.2f} ({q1:.2f}–{q3:.2f})"
        lines.append(f"| {name} | {median * 1e3:.0f} ms | {low * 1e3:.0f}–{high * 1e3:.0f} ms | {ratio} |")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    text = f"## Import time\n\n{arguments.repetitions} repetitions, interleaved, fresh processes.\n\n{table(measure(arguments.repetitions))}\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
