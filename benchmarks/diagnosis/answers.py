"""The answer sheet and the scoring of a diagnosis against it; knows nothing of how the diagnosis was run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Example", "Score", "Verdict", "load", "score", "verdict_of"]


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of `examples/answers.toml`; the fields are explained there."""

    name: str
    target: list[str]
    causes: list[str]
    bounds: list[str]
    why: str
    options: list[str] = []
    prepare: list[str] = []
    needs: list[str] = []
    functions: list[str] = []
    lines: list[str] = []
    operators: list[str] = []
    healthy: bool = False
    beyond: bool = False
    place_free: bool = False
    alike: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one diagnosis: enough to score it again after the sheet was corrected."""

    bound: str = ""
    cause: str | None = None
    share: float | None = None
    operator: str | None = None
    function: str | None = None
    file: str | None = None
    line: int | None = None
    source: str = ""
    headline: str = ""
    median_s: float | None = None
    warnings: list[str] = []
    runners_up: list[str] = []
    top_action: str = ""
    error: str = ""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Whether bound, cause and place are right; `accused` only for a healthy example that was blamed for something."""

    bound: bool
    cause: bool
    place: bool
    accused: bool = False
    interference: bool = False

    @property
    def all_right(self) -> bool:
        """Bound, cause and place together."""
        return self.bound and self.cause and self.place


def load(sheet: Path) -> list[Example]:
    """Read the sheet; a name that comes twice or a pair with an unknown partner is an error."""
    examples = msgspec.toml.decode(sheet.read_bytes(), type=dict[str, list[Example]])["example"]
    names = [example.name for example in examples]
    twice = {name for name in names if names.count(name) > 1}
    lost = {example.alike for example in examples if example.alike and example.alike not in names}
    if twice or lost:
        raise ValueError(f"{sheet}: names given twice: {sorted(twice)}; partners that are not there: {sorted(lost)}")
    return examples


def verdict_of(document: dict[str, Any], root: Path) -> Verdict:
    """The parts of a `ridgeline.diagnosis/1` document that are scored, with the text of the source line that it names."""
    found = document.get("bottleneck") or {}
    where = found.get("where") or {}
    truth = document.get("ground_truth") or {}
    actions = document.get("actions") or []
    return Verdict(
        bound=found.get("bound") or document.get("bound") or "",
        cause=found.get("cause"),
        share=found.get("share"),
        operator=where.get("operator"),
        function=where.get("function"),
        file=where.get("file"),
        line=where.get("line"),
        source=_source_line(where.get("file"), where.get("line"), root),
        headline=document.get("headline") or "",
        median_s=truth.get("median_s"),
        warnings=[warning["code"] for warning in document.get("warnings") or []],
        runners_up=[f"{runner['cause']} {runner['share']:.2f}" for runner in document.get("runners_up") or []],
        top_action=f"{actions[0]['action']} {actions[0]['speedup']}" if actions else "",
    )


def _source_line(file: str | None, line: int | None, root: Path) -> str:
    if not file or not line:
        return ""
    path = root / "examples" / Path(file).name
    if not path.is_file():
        return ""
    lines = path.read_text().splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def score(example: Example, verdict: Verdict, *, beside: bool) -> Score:
    """Compare one verdict with the sheet; beside a busy neighbour `interference` is right in every respect."""
    if verdict.error:
        return Score(bound=False, cause=False, place=False)
    if beside and verdict.cause == "interference":
        return Score(bound=True, cause=True, place=True, interference=True)
    if example.healthy:
        return _score_healthy(example, verdict)
    honest = example.beyond and verdict.bound == "inconclusive"
    cause = honest or verdict.cause in example.causes
    return Score(bound=honest or verdict.bound in example.bounds, cause=cause, place=honest or _place_is_right(example, verdict))


def _score_healthy(example: Example, verdict: Verdict) -> Score:
    if verdict.cause is None:
        right = verdict.bound != "inconclusive" or "inconclusive" in example.bounds
        return Score(bound=right, cause=right, place=True)
    accepted = verdict.cause in example.causes
    # `unknown` names no cause and `interference` blames the machine: neither is right here, and neither accuses the program.
    accused = not accepted and verdict.cause not in ("unknown", "interference")
    return Score(bound=verdict.bound in example.bounds, cause=accepted, place=True, accused=accused)


def _place_is_right(example: Example, verdict: Verdict) -> bool:
    if example.place_free:
        return True
    if verdict.operator and any(re.search(pattern, verdict.operator, re.IGNORECASE) for pattern in example.operators):
        return True
    # A line is the sharper statement: where one is named in the example's own file, the function alone does not save it.
    if verdict.source and example.lines:
        return any(part in verdict.source for part in example.lines)
    return verdict.function is not None and verdict.function.rsplit(".", 1)[-1] in example.functions
