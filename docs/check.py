"""Check that the documentation is complete and true; with `--write`, write `docs/cli.md` and `docs/api.md` again from commands and docstrings.

Decides five things: every public name has a docstring and numeric functions say their units; `docs/cli.md` and `docs/api.md` are what commands
and docstrings say today; `docs/causes.md` knows every cause that a rule can name, with its rule and actions that the rule has; links between
Markdown files lead somewhere; every command, option and make target that the README shows exists. Whether a text is *right* is left to its
reader; whether an example still computes is left to the doctests.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
CLI_PAGE = ROOT / "docs" / "cli.md"
API_PAGE = ROOT / "docs" / "api.md"
CAUSES_PAGE = ROOT / "docs" / "causes.md"
_UNIT_WORDS = re.compile(
    r"\b(seconds?|s|bytes?|B|B/s|FLOPs?|FLOP/s|op/s|Hz|hertz|W|watts?|J|joules?|USD|cycles?|ticks?|units?|SI|shares?|ratios?|factors?|fractions?|"
    r"counts?|calls|samples|probability|confidence|dimensionless|speedup|index|percent)\b|%|×|÷"
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"```.*?```", re.DOTALL)


# ---- public names ------------------------------------------------------------------------------------------------------------------


def public_names() -> Iterator[tuple[str, object]]:
    """Every name in the `__all__` of every package of ridgeline, as (dotted name, object)."""
    import ridgeline

    packages = [
        "ridgeline",
        *(found.name for found in pkgutil.walk_packages(ridgeline.__path__, "ridgeline.", onerror=lambda _: None) if found.ispkg),
    ]
    for package in packages:
        try:
            module = importlib.import_module(package)
        except Exception as error:  # one broken room must not hide what is wrong with the others
            yield package, error
            continue
        for name in getattr(module, "__all__", ()):
            try:
                yield f"{package}.{name}", getattr(module, name)
            except (ImportError, AttributeError) as error:
                yield f"{package}.{name}", error


def name_problems(dotted: str, thing: object) -> list[str]:
    """What is wrong with the documentation of one public name."""
    if isinstance(thing, Exception):
        return [f"{dotted}: does not import, {type(thing).__name__}: {thing}"]
    if isinstance(thing, ModuleType) or not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return []
    own = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
    text = str(own or "").strip()
    if not text:
        return [f"{dotted}: no docstring"]
    if inspect.isroutine(thing) and _is_numeric(thing) and not _UNIT_WORDS.search(text):
        return [f"{dotted}: numbers without units in the docstring"]
    return []


def _is_numeric(function: object) -> bool:
    """Whether a float goes in or comes out under a name that does not say its unit."""
    annotations = dict(getattr(function, "__annotations__", {}))
    floats = [name for name, kind in annotations.items() if re.search(r"\bfloat\b", re.sub(r"Callable\[.*\]", "", str(kind)))]
    named = [str(getattr(function, "__name__", "")) if name == "return" else name for name in floats]
    return any(not re.search(r"_(s|bytes|hz|w|j|bits|per_\w+)$", name) for name in named)


# ---- the command line --------------------------------------------------------------------------------------------------------------


def find_group() -> click.Group | None:
    """The click group of the command line."""
    module = importlib.import_module("ridgeline.cli")
    groups = [value for value in vars(module).values() if isinstance(value, click.Group)]
    for found in pkgutil.iter_modules(module.__path__, "ridgeline.cli."):
        groups += [value for value in vars(importlib.import_module(found.name)).values() if isinstance(value, click.Group)]
    return max(groups, key=lambda group: len(group.commands), default=None)


def render_cli(group: click.Group) -> str:
    """`docs/cli.md` as the commands describe themselves."""
    parts = [
        "# Commands\n\nWritten by `make docs` from the commands themselves; do not edit.\n",
        "Exit codes: 0 fine, 1 regression or finding asked to fail on, 2 usage or bad input, 3 inconclusive under `--strict`, "
        "4 a needed backend is missing, 70 a fault of ridgeline, 130 interrupted, 143 ended by SIGTERM. Data goes to stdout, all else to stderr.\n",
    ]
    for title, context in _commands(group, "ridgeline", None):
        parts.append(f"## `{title}`\n\n```text\n{context.command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def _commands(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, click.Context]]:
    """The command and all below it, each with the words that call it."""
    # A fixed width: help must not depend on the terminal of whoever writes the page.
    context = click.Context(command, info_name=name, parent=parent, **{**command.context_settings, "terminal_width": 100})
    yield context.command_path, context
    if isinstance(command, click.Group):
        for below in sorted(command.commands):
            yield from _commands(command.commands[below], below, context)


def cli_problems(group: click.Group | None, page: str | None) -> list[str]:
    """Whether the page is there, says what the commands say, and every command explains itself."""
    if group is None:
        return ["ridgeline.cli: no click group found"]
    problems = []
    for path, context in _commands(group, "ridgeline", None):
        if not (context.command.help or "").strip():
            problems.append(f"{path}: no help text")
        options = [option for option in context.command.params if isinstance(option, click.Option) and not option.hidden]
        problems += [f"{path} {option.opts[0]}: no help text" for option in options if not option.help]
    if page != render_cli(group):
        problems.append("docs/cli.md: not what the commands say today; to do: make docs")
    return problems


# ---- the Python interface and the causes ---------------------------------------------------------------------------------------------


def render_api(names: list[tuple[str, object]]) -> str:
    """`docs/api.md` as the docstrings say it."""
    spec = importlib.util.spec_from_file_location("ridgeline_docs_reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.render_api(names))


def cause_problems(page: str, rules: list[tuple[str, Any]]) -> list[str]:
    """Whether the table of causes and the rules agree.

    Args:
        page: rows `| cause | tell | bound | actions | rule |`, actions and rules in code marks; a cause without a rule says `none yet`.
        rules: (entry point, class).
    """
    table = (line.strip()[1:-1].split("|") for line in page.splitlines() if line.startswith("| `"))
    rows = {cells[0].strip(" `"): cells for cells in table if len(cells) == 5}
    by_name = dict(rules)
    declared = {(cause, name) for name, rule in rules for cause in rule.causes if cause != "unknown"}
    problems = [f"docs/causes.md: no row for {cause}, which rule {name} names" for cause, name in sorted(declared) if cause not in rows]
    for cause, cells in rows.items():
        named = re.findall(r"`([^`]+)`", cells[4])
        problems += [f"docs/causes.md: {cause}: rule {name} is missing" for found, name in sorted(declared) if found == cause and name not in named]
        problems += [f"docs/causes.md: {cause}: {name} does not name it" for name in named if (cause, name) not in declared]
        sources = "".join(inspect.getsource(inspect.getmodule(by_name[name]) or by_name[name]) for name in named if name in by_name)
        actions = re.findall(r"`([^`]+)`", cells[3])
        problems += [f"docs/causes.md: {cause}: its rule has no action {action}" for action in actions if named and f'"{action}"' not in sources]
        if not named and "none yet" not in cells[4]:
            problems.append(f"docs/causes.md: {cause}: names neither a rule nor `none yet`")
    return problems


# ---- Markdown ----------------------------------------------------------------------------------------------------------------------


def markdown_files(root: Path = ROOT) -> list[Path]:
    """Markdown files of the project, without environments, builds and hidden folders."""
    skip = {"build", "dist", "wheelhouse", "demo-output"}
    found = root.rglob("*.md")
    return sorted(path for path in found if not any(part.startswith((".", "venv")) or part in skip for part in path.relative_to(root).parts[:-1]))


def link_problems(path: Path, root: Path = ROOT) -> list[str]:
    """Links of one Markdown file that lead nowhere: a missing file, a missing heading, or plain http."""
    problems = []
    for target in _LINK.findall(_FENCE.sub("", path.read_text(encoding="utf-8"))):
        where = f"{path.relative_to(root)}: link {target}"
        if target.startswith(("https://", "mailto:")):
            continue
        if "://" in target:
            problems.append(f"{where}: not https")
            continue
        file_part, _, anchor = target.partition("#")
        file = path.parent / file_part if file_part else path
        if not file.exists():
            problems.append(f"{where}: no such file")
        elif anchor and file.suffix == ".md" and anchor not in headings(file.read_text(encoding="utf-8")):
            problems.append(f"{where}: no such heading")
    return problems


def headings(text: str) -> set[str]:
    """Anchors of the headings as GitHub forms them."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def command_problems(text: str, group: click.Group | None, makefile: str) -> list[str]:
    """Commands, options and make targets shown in a README that do not exist."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    problems = [f"README: make {name} does not exist" for name in re.findall(r"\bmake ([a-z][a-z-]*)\b", _code(text)) if name not in targets]
    if group is None:
        return [*problems, "README: no commands to compare with"]
    for line in re.findall(r"\bridgeline ([a-z][^\n`|]*)", _code(text)):
        words = line.split()
        command = group.commands.get(words[0])
        if command is None:
            problems.append(f"README: ridgeline {words[0]} does not exist")
            continue
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help", "--"}
        # What stands behind `--` or a script belongs to the target.
        ends = [index for index, word in enumerate(words) if word == "--" or word.endswith(".py")]
        ours = words[: ends[0]] if ends else words
        problems += [
            f"README: ridgeline {words[0]} has no {word.split('=')[0]}"
            for word in ours[1:]
            if word.startswith("--") and word.split("=")[0] not in known
        ]
    return problems


def _code(text: str) -> str:
    """Only what stands in code: sh blocks and inline code. Text blocks hold output, not commands."""
    blocks = re.findall(r"```(?:sh|console|bash)\n(.*?)```", text, re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", _FENCE.sub("", text))])


# ---- all of it ---------------------------------------------------------------------------------------------------------------------


def problems() -> list[str]:
    """Everything that is wrong, one line each."""
    group = find_group()
    page = CLI_PAGE.read_text(encoding="utf-8") if CLI_PAGE.exists() else None
    from ridgeline.core import plugins

    names = list(public_names())
    found = [problem for dotted, thing in names for problem in name_problems(dotted, thing)]
    if not API_PAGE.exists() or API_PAGE.read_text(encoding="utf-8") != render_api(names):
        found.append("docs/api.md: not what the docstrings say today; to do: make docs")
    found += cause_problems(CAUSES_PAGE.read_text(encoding="utf-8"), list(plugins.plugins("rules")))
    found += cli_problems(group, page)
    found += [problem for path in markdown_files() for problem in link_problems(path)]
    found += command_problems((ROOT / "README.md").read_text(encoding="utf-8"), group, (ROOT / "Makefile").read_text(encoding="utf-8"))
    return found


def main(arguments: list[str]) -> int:
    """Check, or write the generated pages first with `--write`."""
    if arguments == ["--write"]:
        group = find_group()
        if group is None:
            print("ridgeline.cli: no click group found", file=sys.stderr)
            return 1
        CLI_PAGE.write_text(render_cli(group), encoding="utf-8")
        API_PAGE.write_text(render_api(list(public_names())), encoding="utf-8")
    found = problems()
    print("\n".join(found) if found else "documentation: every public name, command and link holds", file=sys.stderr if found else sys.stdout)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
