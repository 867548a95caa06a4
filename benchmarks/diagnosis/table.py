"""The table of scores, as text for a terminal and as a Markdown fragment."""

from __future__ import annotations

from collections import Counter

from answers import Example, Score, Verdict, score

__all__ = ["markdown", "text"]

Rows = list[tuple[str, str, Verdict]]


def _scores(examples: list[Example], rows: Rows) -> dict[tuple[str, str], list[Score]]:
    by_name = {example.name: example for example in examples}
    found: dict[tuple[str, str], list[Score]] = {}
    for name, condition, verdict in rows:
        if name in by_name:
            found.setdefault((name, condition), []).append(score(by_name[name], verdict, beside=condition != "alone"))
    return found


def _count(scores: list[Score], what: str) -> str:
    return f"{sum(getattr(one, what) for one in scores)}/{len(scores)}" if scores else "–"


def _said(rows: Rows, name: str, condition: str) -> str:
    """What was said instead, by frequency."""
    words = Counter(
        verdict.error[:60] if verdict.error else f"{verdict.bound} {verdict.cause or 'healthy'} {verdict.operator or verdict.function or ''}".strip()
        for found, where, verdict in rows
        if found == name and where == condition
    )
    return "; ".join(f"{count}× {word}" for word, count in words.most_common(3))


def _body(examples: list[Example], rows: Rows) -> list[list[str]]:
    scores = _scores(examples, rows)
    body = []
    for example in examples:
        for condition in ("alone", "beside"):
            mine = scores.get((example.name, condition), [])
            if mine:
                expected = ("healthy" + ("" if not example.causes else ", or ") if example.healthy else "") + " or ".join(example.causes)
                wrong = "" if all(one.all_right for one in mine) else _said(rows, example.name, condition)
                body.append([example.name, condition, expected, *(_count(mine, what) for what in ("bound", "cause", "place", "all_right")), wrong])
    return body


def _summary(examples: list[Example], rows: Rows) -> list[str]:
    scores = _scores(examples, rows)
    healthy = {example.name for example in examples if example.healthy}
    lines = []
    for condition in ("alone", "beside"):
        planted = [one for (name, where), many in scores.items() if where == condition and name not in healthy for one in many]
        sound = [one for (name, where), many in scores.items() if where == condition and name in healthy for one in many]
        if planted or sound:
            parts = [
                f"{what} {_count(planted, key)}" for what, key in (("bound", "bound"), ("cause", "cause"), ("place", "place"), ("all", "all_right"))
            ]
            accused = _count(sound, "accused")
            visitors = sum(one.interference for one in planted + sound)
            lines.append(f"{condition}: {', '.join(parts)}; healthy accused {accused}; said interference {visitors}")
    return lines


_HEAD = ["example", "condition", "expected", "bound", "cause", "place", "all", "where wrong, it said"]


def text(examples: list[Example], rows: Rows) -> str:
    """Columns for a terminal, totals below."""
    body = [_HEAD, *_body(examples, rows)]
    widths = [max(len(row[column]) for row in body) for column in range(len(_HEAD) - 1)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in body]
    return "\n".join([*lines, "", *_summary(examples, rows)])


def markdown(examples: list[Example], rows: Rows, skipped: dict[str, list[str]], commit: str) -> str:
    """A section for RESULTS.md."""
    lines = ["## Diagnosis of the examples", "", f"Commit `{commit}`. Right at first position, by the sheet `examples/answers.toml`.", ""]
    lines += [f"- {line}" for line in _summary(examples, rows)]
    lines += [f"- skipped: {name} (needs {', '.join(lacks)})" for name, lacks in skipped.items()]
    lines += ["", "| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in _body(examples, rows)]
    return "\n".join(lines) + "\n"
