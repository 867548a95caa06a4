"""What a log of `benchmark_model` says beside its tables: walls of a run, set-up, memory, and the options it ran with.

This module decides which line of several counts. The second line of statistics is that of the runs, the first that of the warm-up; where both that
and a rounded summary are there, the line of statistics is taken.
"""

from __future__ import annotations

import re

import msgspec

from .sections import Timings, timings_of

__all__ = ["Walls", "facts_of", "walls_of"]

_INFERENCE = re.compile(r"[Ii]nference timings in us: (.*)")
_FIELD = re.compile(r"([A-Za-z][A-Za-z ()]{0,40}): ([0-9.eE+]{1,30})")
_SESSION = re.compile(r"Initialized session in ([0-9.eE+]{1,30}) ?ms")
_BLOCK = re.compile(r"(Model initialization|Warmup \(first\)|Inference \(avg\)|Inference \(std\)): +([0-9.]{1,30})")
_OPTION = re.compile(r"(?:^|: )([A-Za-z#][^:\[\]]{0,80}?) ?: \[([^\]]{0,400})\]\s*$")
_MEMORY = re.compile(r"(Memory footprint delta[^:]{0,60}|Peak memory footprint) ?\(MB\): init=([0-9.eE+-]{1,30}) overall=([0-9.eE+-]{1,30})")
_SINGLE = re.compile(r"(The input model file size \(MB\)|Throughput|Init footprint|Overall footprint): +([0-9.]{1,30}(?: [A-Za-z/]{1,10})?)")
_MOST_FACTS = 200


class Walls(msgspec.Struct, frozen=True, kw_only=True):
    """Of one run by the timer around it, in seconds, and how many runs those were; null where the log does not tell."""

    runs: int | None = None
    mean_s: float | None = None
    deviation_s: float | None = None
    first_s: float | None = None
    setup_s: float | None = None


def walls_of(lines: list[str]) -> Walls:
    """The walls that the lines of a log give."""
    statistics = [found for line in lines if "count=" in line and _is_bare(line) and (found := timings_of(line))]
    summary = _summary(lines)
    block = _block(lines)
    session = next((float(text) / 1e3 for line in lines for text in _SESSION.findall(line) if _sound(text)), None)
    rounds = sum("Running benchmark for at least" in line for line in lines)
    warm = statistics[0] if len(statistics) > 1 or (rounds > 1 and statistics) else None
    runs = statistics[-1] if len(statistics) > 1 or (rounds < 2 and statistics) else None
    return Walls(
        runs=runs.count if runs is not None else None,
        mean_s=_first(_seconds(runs), summary.get("Inference (avg)", summary.get("Inference")), block.get("Inference (avg)")),
        deviation_s=runs.deviation_us / 1e6 if runs is not None and runs.deviation_us is not None else None,
        first_s=_first(summary.get("First inference"), _us(warm.first_us) if warm else None, block.get("Warmup (first)")),
        setup_s=_first(session, summary.get("Init"), block.get("Model initialization")),
    )


def facts_of(lines: list[str]) -> dict[str, str]:
    """Options and sizes by the name that the log gives them."""
    facts: dict[str, str] = {}
    for line in lines:
        option = _OPTION.search(line) if line.rstrip().endswith("]") and len(line) < 600 else None
        if option and not option[1].isupper():
            facts.setdefault(option[1].strip(), option[2])
        for name, init, overall in _MEMORY.findall(line):
            facts.setdefault(f"{name.strip()} (MB)", f"init {init}, overall {overall}")
        single = _SINGLE.search(line)
        if single:
            facts.setdefault(single[1], single[2])
        if len(facts) >= _MOST_FACTS:
            break
    return facts


def _is_bare(line: str) -> bool:
    """Whether the statistics are those of runs and not of a table."""
    return "Timings" not in line and "Memory (bytes)" not in line


def _summary(lines: list[str]) -> dict[str, float]:
    """Fields of the line `Inference timings in us: …` (old: `Average inference timings in us: …`), in seconds."""
    found = next((match for line in reversed(lines) if (match := _INFERENCE.search(line[:2000]))), None)
    fields = _FIELD.findall(found[1]) if found else []
    return {name.strip(): float(text) / 1e6 for name, text in fields if _sound(text)}


def _block(lines: list[str]) -> dict[str, float]:
    """Fields of LiteRT's block of results, rounded to hundredths of a millisecond, in seconds."""
    fields = [match for line in lines if (match := _BLOCK.search(line[:2000]))]
    return {match[1]: float(match[2]) / 1e3 for match in fields if _sound(match[2])}


def _sound(text: str) -> bool:
    try:
        return 0 <= float(text) < 1e15
    except ValueError:
        return False


def _seconds(timings: Timings | None) -> float | None:
    return timings.mean_us / 1e6 if timings is not None else None


def _us(value: float | None) -> float | None:
    return value / 1e6 if value is not None else None


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
