"""A specification in TOML: `docs/tuning-spec.md` says its form. What is read here is only how it is written; `checks` holds it to the rules."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from ridgeline.core import Parameter, ReadError, UsageError
from ridgeline.core.units import parse
from ridgeline.tuning.search import DEFAULT
from ridgeline.tuning.space import categorical, integer, permutation, power_of_two, real

from .checks import checked
from .spec import SpecArgument, SpecCheck, SpecKernel, SpecLimits, SpecSearch, SpecWork, TuningSpec, parameter_of

__all__ = ["SCHEMA", "spec_of_toml"]

SCHEMA = "ridgeline.tuning/1"
_HELP = "see docs/tuning-spec.md"
_MINUTES = re.compile(r"(\s*[\d._]+\s*)m\s*")
_WHAT = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table", list: "a list"}


class _Table:
    """One table of the document, and what it is called in messages."""

    def __init__(self, found: Any, place: str, where: str, known: Sequence[str] | None) -> None:
        self.place, self.where = place, where
        if not isinstance(found, dict):
            raise UsageError(f"a table as {place}", found=f"{found!r:.80} in {where}", remedy=_HELP)
        self.found: Mapping[str, Any] = found
        for key in found if known is not None else ():
            if key not in (known or ()):
                near = get_close_matches(key, known or (), 1)
                remedy = f"did you mean {near[0]!r}?" if near else f"write {', '.join(known or ()) or 'none'}"
                raise UsageError(f"keys of {place}", found=f"{key!r} in {where}", remedy=remedy)

    def get(self, key: str, kind: type, default: Any) -> Any:
        """A value of its kind, the default where it is not given."""
        value = self.found.get(key, default)
        fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
        if key in self.found and not fits:
            raise UsageError(f"{_WHAT[kind]} as {key} of {self.place}", found=f"{value!r:.80} in {self.where}", remedy="change it")
        return value

    def needed(self, key: str, kind: type) -> Any:
        """A value that has to be there."""
        if key not in self.found:
            raise UsageError(f"{_WHAT[kind]} {key} of {self.place}", found=f"none in {self.where}", remedy=_HELP)
        return self.get(key, kind, None)

    def table(self, key: str, known: Sequence[str] | None) -> _Table:
        """A table below, an empty one where it is not given."""
        return _Table(self.found.get(key, {}), f"[{key}]" if self.place == "the document" else f"[{self.place[1:-1]}.{key}]", self.where, known)

    def quantity(self, key: str, unit: str, example: str) -> float | None:
        """A number with its unit, in SI; null where it is not given."""
        if key not in self.found:
            return None
        value = self.found[key]
        place = f"{key} of {self.place}"
        if not isinstance(value, str):
            raise UsageError(f'{place} with its unit, such as "{example}"', found=f"{value!r:.80} in {self.where}", remedy="write it as a text")
        text = _MINUTES.sub(r"\1min", value) if unit == "s" and _MINUTES.fullmatch(value) else value
        try:
            return parse(text, unit)
        except UsageError as error:
            raise UsageError(f"{error.expected} as {place}", found=f"{error.found} in {self.where}", remedy=error.remedy) from error


def spec_of_toml(text: str, where: str, folder: str) -> TuningSpec:
    """The specification that a text is.

    Args:
        where: its file, for messages; folder: that its paths start from.

    Raises:
        ReadError: no TOML.
        UsageError: a key that means nothing, a value of another kind, or what `checks` refuses.
        PluginError: the runner does not load.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ReadError("a specification in TOML", found=f"{where}: {error or type(error).__name__}", remedy="mend the file") from error
    if not document:
        raise UsageError("a specification in TOML", found=f"{where}, in which there is nothing", remedy=_HELP)
    top = _Table(document, "the document", where, ("schema", "name", "kernel", "parameters", "space", "limits", "search"))
    if top.needed("schema", str) != SCHEMA:
        raise UsageError(f'schema = "{SCHEMA}"', found=f"{document['schema']!r:.60} in {where}", remedy="this version reads that one")
    space = top.table("space", ("constraints", "default"))
    spec = TuningSpec(
        name=top.needed("name", str), kernel=_kernel(_Table(top.needed("kernel", dict), "[kernel]", where, None)),
        parameters=tuple(_parameter(name, found, where) for name, found in top.needed("parameters", dict).items()),
        constraints=tuple(space.get("constraints", list, [])), default=dict(space.get("default", dict, {})),
        limits=_limits(top.table("limits", ("build", "run", "memory"))),
        search=_search(top.table("search", ("strategy", "trials", "time", "seed", "objective", "options"))), folder=folder,
    )  # fmt: skip
    return checked(spec, where)


# ── [kernel] ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kernel(table: _Table) -> SpecKernel:
    arguments = table.get("arguments", list, [])
    work, check = table.table("work", ("flop", "bytes")), table.table("check", ("reference", "relative", "whole"))
    return SpecKernel(
        runner=table.needed("runner", str),
        options={key: value for key, value in table.found.items() if key not in ("runner", "constants", "arguments", "work", "check")},
        constants=dict(table.get("constants", dict, {})),
        arguments=tuple(_argument(each, place, table) for place, each in enumerate(arguments)),
        work=SpecWork(flop=work.found.get("flop"), bytes=work.found.get("bytes")),
        check=_check(check),
    )


def _argument(found: Any, place: int, kernel: _Table) -> SpecArgument:
    where = f"[[kernel.arguments]] {place + 1}"
    table = _Table(found, where, kernel.where, ("name", "dtype", "shape", "fill", "seed", "output"))
    shape = table.found.get("shape")
    if shape is not None and not isinstance(shape, list):
        shape = [shape]
    return SpecArgument(
        name=table.needed("name", str), dtype=table.get("dtype", str, "float32"), shape=None if shape is None else tuple(shape),
        fill=table.found.get("fill", "uniform"), seed=table.get("seed", int, 0), output=table.get("output", bool, False),
    )  # fmt: skip


def _check(table: _Table) -> SpecCheck:
    reference = table.found.get("reference", "")
    check = SpecCheck(relative=table.get("relative", float, 1e-4), whole=table.get("whole", float, 0.0))
    if isinstance(reference, dict):
        # A kernel has a source, or whatever else its runner is made of; a configuration has values of parameters.
        kernel = bool({"source", "command", "runner", "function"}.intersection(reference))
        return msgspec.structs.replace(check, **{"kernel" if kernel else "config": reference})
    if not isinstance(reference, str):
        remedy = 'write reference = "right.npz", {source = "plain.c", function = "f"}, or values of the parameters'
        raise UsageError(
            f"a file, a kernel or a configuration as reference of {table.place}", found=f"{reference!r:.80} in {table.where}", remedy=remedy
        )
    return msgspec.structs.replace(check, reference=reference)


# ── [parameters] ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parameter(name: str, found: Any, where: str) -> Parameter:
    if not isinstance(found, dict):
        try:
            return parameter_of(name, found)
        except UsageError as error:
            raise UsageError(error.expected, found=f"{error.found} in {where}", remedy=error.remedy) from error
    kinds = ", ".join(filter(None, _KINDS))
    kind = found.get("kind", "")
    if kind not in _KINDS:
        near = get_close_matches(str(kind), _KINDS, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"write one of {kinds}, or a list of values"
        raise UsageError(f"a kind of {name}: {kinds}", found=f"{kind!r:.60} in {where}", remedy=remedy)
    keys, make = _KINDS[kind]
    table = _Table(found, f"[parameters.{name}]", where, ("kind", "when", *keys))
    try:
        return make(name, table, table.get("when", str, ""))
    except UsageError as error:
        if where in error.found:
            raise
        raise UsageError(error.expected, found=f"{error.found} in {where}", remedy=error.remedy) from error


def _finite(table: _Table, key: str) -> float:
    value = float(table.needed(key, float))
    if not math.isfinite(value):
        raise UsageError(f"a finite number as {key} of {table.place}", found=f"{value!r} in {table.where}", remedy="change it")
    return value


_Make = Callable[[str, _Table, str], Parameter]
#: Kind → its keys, and what makes it.
_KINDS: Mapping[str, tuple[tuple[str, ...], _Make]] = {
    "integer": (
        ("low", "high", "step"),
        lambda name, t, when: integer(name, t.needed("low", int), t.needed("high", int), t.get("step", int, 1), when=when),
    ),
    "power-of-two": (("low", "high"), lambda name, t, when: power_of_two(name, t.needed("low", int), t.needed("high", int), when=when)),
    "real": (
        ("low", "high", "steps", "logarithmic"),
        lambda name, t, when: real(
            name, _finite(t, "low"), _finite(t, "high"), t.get("steps", int, 33), logarithmic=t.get("logarithmic", bool, False), when=when
        ),
    ),
    "categorical": (("values",), lambda name, t, when: categorical(name, t.needed("values", list), when=when)),
    "permutation": (("items",), lambda name, t, when: permutation(name, _items(name, t), when=when)),
    "": (("values",), lambda name, t, when: Parameter(name=name, values=tuple(t.needed("values", list)), when=when)),
}


def _items(name: str, table: _Table) -> Sequence[str | int]:
    found = table.needed("items", list)
    if not all(isinstance(each, str | int) and not isinstance(each, bool) and "," not in str(each) for each in found):
        raise UsageError(f"items of {name} that are texts without a comma, or whole numbers", found=f"{found!r:.80}", remedy="change them")
    return list(found)


# ── [limits] and [search] ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _limits(table: _Table) -> SpecLimits:
    build_s, run_s, memory = table.quantity("build", "s", "60s"), table.quantity("run", "s", "10s"), table.quantity("memory", "B", "4 GiB")
    default = SpecLimits()
    return SpecLimits(
        build_s=default.build_s if build_s is None else build_s, run_s=default.run_s if run_s is None else run_s,
        memory_bytes=None if memory is None else int(memory),
    )  # fmt: skip


def _search(table: _Table) -> SpecSearch:
    return SpecSearch(
        strategy=table.get("strategy", str, DEFAULT), trials=table.get("trials", int, None), time_s=table.quantity("time", "s", "10min"),
        seed=table.get("seed", int, 0), objective=table.get("objective", str, "time"), options=dict(table.get("options", dict, {})),
    )  # fmt: skip
