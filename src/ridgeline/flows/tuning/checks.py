"""What may be wrong with a specification, each in one clear line: names, expressions, options of the runner, arguments, numbers.

Everything that can be said without a configuration is said here, before anything is built. Whether an expression has a value at a point is said when
it is worked out there.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from ridgeline.backends import find
from ridgeline.core import Space, UsageError, plugins
from ridgeline.core.space import Value
from ridgeline.tuning.search import strategies
from ridgeline.tuning.space import names_in
from ridgeline.tuning.space.expressions import Expressions
from ridgeline.tuning.space.parameters import domains_of, read_constraints

from .kinds import of_their_kinds, plain
from .limits import DEVICE_LIMITS
from .objectives import objectives_of
from .resolve import absolute, with_values
from .spec import SpecArgument, SpecCheck, SpecKernel, TuningSpec, size_options

__all__ = ["FILLS", "checked", "nearest"]

FILLS = ("uniform", "normal", "index", "zeros")
#: Of one specification: each takes a tenth of a millisecond to read.
_MOST_CONSTRAINTS = 5_000
#: What a search is given otherwise.
_NO_OPTIONS = frozenset({"name", "space", "seed", "guess"})
#: Numbers, and truth values: what a kernel takes.
_KINDS = "biufc"


def checked(spec: TuningSpec, where: str) -> TuningSpec:
    """The specification itself.

    Args:
        where: what it is in, for messages.

    Raises:
        UsageError: the first thing that is wrong.
        PluginError: the runner does not load.
    """
    of_their_kinds(spec, where)
    if not spec.name.strip():
        raise UsageError("a name", found=f"{spec.name!r:.60} in {where}", remedy='write name = "gemm"')
    _names(spec, where)
    _options(spec.kernel.runner, spec.kernel.options, f"[kernel] of {where}")
    _space(spec, where)
    _kernel(spec, where)
    _default(spec, where)
    _limits(spec, where)
    _search(spec, where)
    return spec


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """What to do about a name that is not known."""
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else otherwise


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _names(spec: TuningSpec, where: str) -> None:
    parameters = [each.name for each in spec.parameters]
    for name in (*parameters, *spec.kernel.constants):
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError("names of letters, digits and _, and none of Python's words", found=f"{name!r:.60} in {where}", remedy="rename it")
    both = sorted(set(parameters) & set(spec.kernel.constants))
    if both:
        raise UsageError("a name for one thing", found=f"{both[0]!r} as a parameter and a constant in {where}", remedy="rename one")


# ── expressions ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _expression(text: Any, spec: TuningSpec, place: str, beside: Mapping[str, Any] | None = None) -> None:
    """One over constants and parameters, and what stands beside them."""
    if isinstance(text, bool) or not isinstance(text, int | float | str) or (isinstance(text, float) and not math.isfinite(text)):
        raise UsageError("a number, or a text that is an expression", found=f"{text!r:.80} as {place}", remedy="write it as in Python")
    if not isinstance(text, str):
        return
    known = [*(each.name for each in spec.parameters), *spec.kernel.constants, *(beside or {})]
    _worded(lambda: _known_names(text, known, f"constants and parameters as {place}"), place)
    _worded(lambda: Expressions(known).add(text), place)


def _known_names(text: str, known: list[str], over: str) -> None:
    for name in names_in(text):
        if name not in known:
            remedy = nearest(name, known, f"use {', '.join(known)[:200]}" if known else "there is no name to use")
            raise UsageError(f"an expression over {over}", found=f"the name {name!r} in {text[:120]!r}", remedy=remedy)


def _worded(check: Callable[[], Any], place: str) -> None:
    """Say where it stands."""
    try:
        check()
    except UsageError as error:
        if place in error.expected or place in error.found:
            raise
        # What an expression is asked for is said by where it stands; anything else keeps its own words.
        of_expression = error.expected.startswith("a constraint")
        expected, found = (f"an expression as {place}", error.found) if of_expression else (error.expected, f"{error.found} in {place}")
        raise UsageError(expected, found=found, remedy=error.remedy) from error


# ── the kernel ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kernel(spec: TuningSpec, where: str) -> None:
    kernel = spec.kernel
    for option, sizes in size_options(kernel.options):
        _sizes(sizes, spec, f"{option} of [kernel] of {where}")
    _files(spec, where)
    seen: set[str] = set()
    for place, argument in enumerate(kernel.arguments):
        _argument(argument, spec, f"argument {place + 1} of {where}")
        if argument.name in seen:
            raise UsageError("arguments of different names", found=f"{argument.name!r} twice in {where}", remedy="rename one")
        seen.add(argument.name)
    for name in ("flop", "bytes"):
        amount = getattr(kernel.work, name)
        if amount is not None:
            _expression(amount, spec, f"{name} of [kernel.work] of {where}")
    _check(kernel.check, kernel, spec, where)


def _options(runner: Any, options: Mapping[str, Any], where: str) -> None:
    known = plugins.names("runners")
    if runner not in known:
        raise UsageError(
            f"a runner of {', '.join(known)}", found=f"{runner!r:.60} in {where}", remedy=nearest(str(runner), known, "name one of them")
        )
    allowed = find(runner).options
    for name, value in options.items():
        if name not in allowed:
            remedy = nearest(name, (*allowed, "runner", "constants", "arguments", "work", "check"), f"it takes {', '.join(allowed) or 'none'}")
            raise UsageError(f"options of the runner {runner}", found=f"{name!r} in {where}", remedy=remedy)
        plain(value, f"{name} of {where}")


def _files(spec: TuningSpec, where: str) -> None:
    """Those that have to be there; one with a placeholder is looked for when its name is known."""
    given = {name: spec.kernel.options.get(name, ()) for name in ("source", "directory") if name in find(spec.kernel.runner).paths}
    given["reference"] = spec.kernel.check.reference or ()
    for name, paths in given.items():
        listed = [paths] if isinstance(paths, str) else paths
        if not isinstance(listed, list | tuple) or not all(isinstance(path, str) and "\0" not in path for path in listed):
            raise UsageError(f"paths as {name} of {where}", found=f"{paths!r:.80}", remedy="write a text, or a list of texts")
        for path in listed:
            there = Path(absolute(path, spec))
            if "{" not in str(path) and not (there.is_dir() if name == "directory" else there.is_file()):
                what = "a directory" if name == "directory" else "a file"
                raise UsageError(f"{what} as {name} of {where}", found=f"none at {there}", remedy="paths start from the folder of the specification")


def _sizes(sizes: Any, spec: TuningSpec, place: str) -> None:
    listed = sizes if isinstance(sizes, list | tuple) else [sizes]
    if not 1 <= len(listed) <= 3:
        raise UsageError("one to three sizes", found=f"{len(listed)} as {place}", remedy="write one for each dimension")
    for each in listed:
        _expression(each, spec, place)


def _argument(argument: SpecArgument, spec: TuningSpec, where: str) -> None:
    if not isinstance(argument.name, str) or not argument.name.strip():
        raise UsageError("a name", found=f"{argument.name!r:.60} of {where}", remedy="name it")
    where = f"{argument.name} ({where})"
    _dtype(argument.dtype, where)
    if not isinstance(argument.seed, int) or argument.seed < 0:
        raise UsageError("a seed of 0 or more", found=f"{argument.seed!r:.60} of {where}", remedy="change it")
    if argument.shape is None:
        if argument.fill in FILLS:
            raise UsageError("a fill of a scalar: a number or an expression", found=f"{argument.fill!r} of {where}", remedy='write fill = "n"')
        _expression(argument.fill, spec, f"fill of {where}")
        return
    for size in argument.shape:
        _expression(size, spec, f"shape of {where}")
    number = isinstance(argument.fill, int | float) and not isinstance(argument.fill, bool) and math.isfinite(argument.fill)
    if not number and argument.fill not in FILLS:
        remedy = nearest(str(argument.fill), FILLS, "write one of them")
        raise UsageError(f"a fill of {', '.join(FILLS)}, or a number", found=f"{argument.fill!r:.60} of {where}", remedy=remedy)


def _dtype(dtype: Any, where: str) -> None:
    try:
        kind = np.dtype(dtype).kind if isinstance(dtype, str) else ""
    except (TypeError, ValueError, SyntaxError):
        kind = ""
    if not kind or kind not in _KINDS:
        raise UsageError("a dtype of numpy's numbers, such as float32", found=f"{dtype!r:.60} of {where}", remedy="change it")


def _check(check: SpecCheck, kernel: SpecKernel, spec: TuningSpec, where: str) -> None:
    place = f"[kernel.check] of {where}"
    for name, tolerance in (("relative", check.relative), ("whole", check.whole)):
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < math.inf:
            found = f"{tolerance!r:.60} as {name} in {place}"
            raise UsageError("a relative tolerance of 0 or more", found=found, remedy="write it as 1e-4")
    if sum(map(bool, (check.reference, check.config, check.kernel))) > 1:
        raise UsageError("one reference", found=f"several in {place}", remedy="give a file, a configuration, or a kernel")
    if (check.reference or check.config or check.kernel) and not any(argument.output for argument in kernel.arguments):
        raise UsageError("an argument that is an output, to be checked", found=f"none in {where}", remedy="write output = true at it")
    if check.config:
        _config(check.config, spec, f"reference in {place}")
    if check.kernel:
        options = {name: value for name, value in check.kernel.items() if name != "runner"}
        _options(check.kernel.get("runner", kernel.runner), options, f"reference in {place}")
        # It has no configuration: its sizes are over constants alone.
        alone = TuningSpec(name=spec.name, kernel=kernel, parameters=())
        for option, sizes in size_options(options):
            _sizes(sizes, alone, f"{option} of reference in {place}")
        for argument in kernel.arguments:
            for expression in (argument.fill,) if argument.shape is None else argument.shape:
                _expression(expression, alone, f"{argument.name}, for a reference kernel, in {place}")


# ── the rest ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _space(spec: TuningSpec, where: str) -> None:
    try:
        domains = domains_of(Space(parameters=spec.parameters))
    except UsageError as error:
        raise UsageError(error.expected, found=f"{error.found} in {where}", remedy=error.remedy) from error
    if len(spec.constraints) > _MOST_CONSTRAINTS:
        found = f"{len(spec.constraints)} in {where}"
        raise UsageError(f"at most {_MOST_CONSTRAINTS:,} constraints", found=found, remedy="say it with fewer, or leave values out")
    known = [*(each.name for each in spec.parameters), *spec.kernel.constants, *DEVICE_LIMITS]
    for place, text in enumerate(spec.constraints):
        _constraint(text, known, f"constraint {place + 1} of {where}")
    for each in spec.parameters:
        if each.when:
            _constraint(each.when, known, f"when of {each.name} of {where}")
    # Whatever a device says is a number.
    stand_in: dict[str, Value] = {**dict.fromkeys(DEVICE_LIMITS, 1), **spec.kernel.constants}
    names = {each.name for each in spec.parameters}
    space = with_values(spec, {name: value for name, value in stand_in.items() if name not in names})
    _worded(lambda: read_constraints(space, domains), f"constraints of {where}")


def _constraint(text: Any, known: list[str], place: str) -> None:
    if not text.strip():
        raise UsageError("a constraint as a text", found=f"{text!r:.80} as {place}", remedy="write it as in Python, such as x * y <= 1024")
    _worded(lambda: _known_names(text, known, f"parameters, constants and limits of the device as {place}"), place)


def _default(spec: TuningSpec, where: str) -> None:
    if spec.default:
        _config(spec.default, spec, f"default of {where}")


def _config(config: Mapping[str, Any], spec: TuningSpec, place: str) -> None:
    parameters = {each.name: each for each in spec.parameters}
    for name, value in config.items():
        if name not in parameters:
            remedy = nearest(name, parameters, f"name {', '.join(parameters)[:200]}")
            raise UsageError("a configuration over the parameters", found=f"{name!r} in {place}", remedy=remedy)
        values = parameters[name].values
        if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in values):
            listed = ", ".join(repr(each) for each in values[:20])
            raise UsageError(f"a value of {name}: {listed}", found=f"{value!r:.60} in {place}", remedy="give one of them")
    missing = [each.name for each in spec.parameters if each.name not in config and not each.when]
    if missing:
        raise UsageError("a value of every parameter", found=f"none of {', '.join(missing)[:200]} in {place}", remedy="give them")


def _limits(spec: TuningSpec, where: str) -> None:
    for name in ("build_s", "run_s", "memory_bytes"):
        _above_zero(getattr(spec.limits, name), f"{name.partition('_')[0]} of [limits] of {where}")


def _search(spec: TuningSpec, where: str) -> None:
    search, known = spec.search, strategies()
    if search.strategy not in known:
        remedy = nearest(str(search.strategy), known, "name one of them")
        raise UsageError(f"a strategy of {', '.join(known)}", found=f"{search.strategy!r:.60} in {where}", remedy=remedy)
    _above_zero(search.trials, f"trials of [search] of {where}")
    _above_zero(search.time_s, f"time of [search] of {where}")
    if not isinstance(search.seed, int) or search.seed < 0:
        raise UsageError("a seed of 0 or more", found=f"{search.seed!r:.60} of [search] of {where}", remedy="change it")
    objectives_of(search.objective)
    plain(search.options, f"options of [search] of {where}")
    for name in _NO_OPTIONS.intersection(search.options):
        found = f"{name!r} in options of [search] of {where}"
        raise UsageError("options of the search alone", found=found, remedy="write seed beside strategy" if name == "seed" else "leave it out")


def _above_zero(value: Any, place: str) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf):
        raise UsageError("a finite number above 0", found=f"{value!r:.60} as {place}", remedy="change it")
