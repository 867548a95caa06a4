"""What other counters say of the cases of the suite, beside what was worked out by hand.

Asks every counter that is installed and writes `results.json` here, which a test compares with the suite and with `explanations`. The counters are no
dependency of this project; some want older packages than it does, so install them into an environment of their own that also has torch, onnx and
this project: fvcore, thop, onnx-tool, calflops (with transformers) and jax.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import logging
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]

from counters import COUNTERS, NotExpressed, version  # noqa: E402
from explanations import REASONS, explain  # noqa: E402

from work.suite.case import Case  # noqa: E402
from work.suite.suite import CASES  # noqa: E402

RESULTS = HERE / "results.json"


def ask(case: Case, counters: list[str]) -> dict[str, float | str]:
    """Each counter's number, or why it gave none; counters without a form of the case are left out."""
    found: dict[str, float | str] = {}
    for name in counters:
        try:
            found[name] = COUNTERS[name][1](case)
        except NotExpressed:
            continue
        except Exception as error:  # whatever a stranger's counter raises is its answer
            found[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}".rstrip(": ")
    return found


def is_function(case: Case) -> bool:
    """Whether torch's form of the case is a plain function and no module."""
    import torch

    return case.torch is not None and not isinstance(case.torch()[0], torch.nn.Module)


def collect() -> dict[str, Any]:
    """All answers, with the versions that gave them."""
    counters = [name for name, (package, _) in COUNTERS.items() if version(package)]
    missing = sorted(set(COUNTERS) - set(counters))
    if missing:
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "versions": {name: importlib.metadata.version(COUNTERS[name][0]) for name in counters},
        "cases": {
            case.name: {"flop": case.flop, "engine": case.engine, "function": is_function(case), "theirs": ask(case, counters)} for case in CASES
        },
    }


def table(results: dict[str, Any]) -> str:
    """A Markdown table: ours by hand, theirs with the reasons by number, the reasons below."""
    names = list(results["versions"])
    numbers = {reason: index for index, reason in enumerate(REASONS, start=1)}
    lines = [
        "## What counters of work say",
        "",
        f"{results['date']}: {', '.join(f'{name} {version}' for name, version in results['versions'].items())}.",
        "Ours is worked out by hand in `tests/work/suite`; a number in brackets is the reason why theirs differs, `?` one that nobody knows, `~` one",
        "whose arithmetic was not traced, — no such form.",
        "",
        f"| case | engine | ours | {' | '.join(names)} |",
        f"|---|---|---:|{'---:|' * len(names)}",
    ]
    used: dict[str, int] = {}
    for case, row in results["cases"].items():
        cells = [cell(case, name, row, numbers, used) for name in names]
        lines.append(f"| {case} | {row['engine'] or '—'} | {row['flop']:,.0f} | {' | '.join(cells)} |")
    lines += ["", *(f"{numbers[reason]}. {text} ({used.get(reason, 0)} times)" for reason, text in REASONS.items()), ""]
    return "\n".join(lines)


def cell(case: str, counter: str, row: dict[str, Any], numbers: dict[str, int], used: dict[str, int]) -> str:
    """One answer with its reasons."""
    theirs = row["theirs"].get(counter)
    if theirs is None:
        return "—"
    found = explain(counter, case, row["flop"], row["engine"], theirs, function=row["function"])
    for reason in found.reasons if found else ():
        used[reason] = used.get(reason, 0) + 1
    marks = "?" if found is None else ",".join(str(numbers[reason]) for reason in found.reasons) + ("" if found.checked else "~")
    shown = "fails" if isinstance(theirs, str) else f"{theirs:,.0f}"
    return f"{shown} [{marks}]" if marks else shown


def main() -> int:
    """Collect, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where the Markdown goes; stdout without it")
    parser.add_argument("--show", action="store_true", help="only show what is kept, ask nobody")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if not arguments.show:
        RESULTS.write_text(json.dumps(collect(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = table(json.loads(RESULTS.read_text(encoding="utf-8")))
    if arguments.out is None:
        print(text)
    else:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
