"""The documentation check: it passes on the project, and finds each planted fault."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ridgeline_docs_check", ROOT / "docs" / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check = load_check()
_HELD = object()


@click.group()
def group() -> None:
    """The program."""


@group.command()
@click.option("--size", help="How large.")
def measure(size: str) -> None:
    """Measure it."""


def test_the_documentation_of_the_project_holds() -> None:
    assert check.problems() == []


def test_a_missing_docstring_and_missing_units_are_found() -> None:
    def bare(x: int) -> int:
        return x

    def numeric(x: float) -> float:
        """Halve it."""
        return x / 2

    def good(wall_s: float) -> float:
        """Halve the seconds."""
        return wall_s / 2

    class Undocumented:
        pass

    assert check.name_problems("a.bare", bare) == ["a.bare: no docstring"]
    assert check.name_problems("a.numeric", numeric) == ["a.numeric: numbers without units in the docstring"]
    assert check.name_problems("a.good", good) == []
    assert check.name_problems("a.Undocumented", Undocumented) == ["a.Undocumented: no docstring"]
    assert check.name_problems("a.CONSTANT", 7) == []


def test_an_old_or_missing_page_of_commands_is_found() -> None:
    page = check.render_cli(group)
    assert "ridgeline measure" in page
    assert "--size" in page
    assert check.cli_problems(group, page) == []
    assert "make docs" in check.cli_problems(group, page.replace("How large", "How big"))[0]
    assert "make docs" in check.cli_problems(group, None)[0]


def test_a_command_or_option_without_help_is_found() -> None:
    @click.group()
    def other() -> None:
        """The program."""

    @other.command()
    @click.option("--bare")
    def silent(bare: str) -> None:
        pass

    found = check.cli_problems(other, check.render_cli(other))
    assert found == ["ridgeline silent: no help text", "ridgeline silent --bare: no help text"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](other.md)", None),
        ("[a](other.md#the-heading)", None),
        ("[a](#own-heading)\n# Own heading", None),
        ("[a](https://example.org)", None),
        ("```\n[a](none.md)\n```", None),
        ("[a](none.md)", "no such file"),
        ("[a](other.md#none)", "no such heading"),
        ("[a](#none)", "no such heading"),
        ("[a](http://example.org)", "not https"),
    ],
)
def test_links(tmp_path: Path, text: str, problem: str | None) -> None:
    (tmp_path / "other.md").write_text("# The `heading`!\n")
    page = tmp_path / "page.md"
    page.write_text(text)
    found = check.link_problems(page, tmp_path)
    assert [problem in line for line in found] == ([] if problem is None else [True])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("```sh\nmake demo\nridgeline measure --size 3\n```", 0),
        ("`ridgeline measure` and `make demo`", 0),
        ("```sh\nridgeline measure -- ls --all\n```", 0),
        ("```sh\nridgeline measure file.py --own\n```", 0),
        ("```text\nridgeline nonsense\n```", 0),
        ("```sh\nmake nonsense\n```", 1),
        ("```sh\nridgeline nonsense\n```", 1),
        ("`ridgeline measure --weight 3`", 1),
    ],
)
def test_commands_of_the_readme(text: str, count: int) -> None:
    assert len(check.command_problems(text, group, "demo: x\n\ttrue\n")) == count


def test_the_reference_shows_signature_and_docstring_and_no_address() -> None:
    def measure(size_bytes: int, *, report: object = print, many: int = 3) -> float:
        """Seconds for so many bytes."""
        return 0.0

    page = check.render_api([("room.measure", measure), ("room.LIMIT", 7), ("room.Broken", ImportError("x"))])
    assert "## room" in page
    assert "measure(size_bytes: 'int', *, report: 'object' = …, many: 'int' = 3) -> 'float'" in page
    assert "    Seconds for so many bytes." in page
    assert "LIMIT = 7" in page

    def held(default: object = _HELD, environment: object = os.environ, sizes: object = (1, "a", None)) -> None:
        """Nothing."""

    assert "held(default: 'object' = …, environment: 'object' = …, sizes: 'object' = (1, 'a', None))" in check.render_api([("room.held", held)])


def test_a_long_signature_has_one_line_a_parameter() -> None:
    def wide(first: int, /, second_of_many_parameters: int, third_of_many_parameters: int, *, fourth_of_many_parameters: int, last: int = 0) -> None:
        """Nothing."""

    lines = check.render_api([("room.wide", wide)]).splitlines()
    assert [line.strip() for line in lines[lines.index("wide(") : lines.index(") -> 'None'")]] == [
        "wide(", "first: 'int',", "/,", "second_of_many_parameters: 'int',", "third_of_many_parameters: 'int',", "*,",
        "fourth_of_many_parameters: 'int',", "last: 'int' = 0,",
    ]  # fmt: skip


class _Rule:
    causes = ("haste",)
    action = "slow-down"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("| `haste` | too fast | latency | `slow-down` | `hurry` |", []),
        ("", ["no row for haste"]),
        ("| `haste` | too fast | latency | `slow-down` | none yet |", ["rule hurry is missing"]),
        ("| `haste` | too fast | latency | `rest` | `hurry` |", ["has no action rest"]),
        ("| `haste` | too fast | latency | `slow-down` | `hurry`, `other` |", ["other does not name it"]),
        ("| `haste` | a | b | `slow-down` | `hurry` |\n| `sloth` | a | b | `run` | none yet: needs legs |", []),
        ("| `haste` | a | b | `slow-down` | `hurry` |\n| `sloth` | a | b | `run` | |", ["sloth: names neither"]),
    ],
)
def test_causes_and_rules_agree(row: str, said: list[str]) -> None:
    found = check.cause_problems(f"| cause | tell | bound | actions | rule |\n|---|---|---|---|---|\n{row}\n", [("hurry", _Rule)])
    assert [words in line for words, line in zip(said, found, strict=True)] == [True] * len(said), found
