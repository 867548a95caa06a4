"""What other counters say of the cases of the suite, beside what was worked out by hand.

Shows the answers that are kept in `results.json` (as a page, `TABLE.md`), which a test compares with the suite and with `explanations`; `--ask` asks
every counter again. The counters are no dependency of this project, and some want older packages than it does: install fvcore, thop, onnx-tool,
calflops (with transformers) and jax into an environment of their own that also has torch and onnx.
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

RESULTS, TABLE = HERE / "results.json", HERE / "TABLE.md"


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
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "versions": {name: importlib.metadata.version(package) for name, (package, _) in COUNTERS.items()},
        "cases": {
            case.name: {"flop": case.flop, "engine": case.engine, "function": is_function(case), "theirs": ask(case, list(COUNTERS))}
            for case in CASES
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
    """Ask if told to, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where the Markdown goes; stdout without it")
    parser.add_argument("--ask", action="store_true", help="ask every counter again and keep the answers")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    missing = sorted(name for name, (package, _) in COUNTERS.items() if version(package) is None)
    if arguments.ask and missing:
        print(f"expected every counter; not installed: {', '.join(missing)}; see the head of this file", file=sys.stderr)
        return 2
    if arguments.ask:
        RESULTS.write_text(json.dumps(collect(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = table(json.loads(RESULTS.read_text(encoding="utf-8")))
    if arguments.ask:
        TABLE.write_text(text, encoding="utf-8")
    if arguments.out is None:
        print(text)
    else:
        arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
