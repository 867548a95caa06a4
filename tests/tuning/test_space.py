"""Spaces: counted, numbered, drawn and checked as a listing of all combinations would; constraints as Python would have them, and no Python run."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import OutOfRange, Parameter, Space, UsageError
from ridgeline.tuning.space import INACTIVE, Configurations, categorical, integer, permutation, power_of_two, real, worked_out

FUNCTIONS = {"min": min, "max": max, "abs": abs, "int": int, "float": float, "round": round, "ceil": math.ceil, "floor": math.floor,
             "log2": math.log2, "sqrt": math.sqrt, "gcd": math.gcd}  # fmt: skip


def listed(space: Space) -> list[tuple[Any, ...]]:
    """All valid configurations by running each constraint on each combination, in Python."""
    names = [each.name for each in space.parameters]
    found = []
    for values in itertools.product(*(each.values for each in space.parameters)):
        scope = dict(zip(names, values, strict=True))
        try:
            if all(eval(text, {"__builtins__": {}}, {**FUNCTIONS, **scope}) for text in space.constraints):
                found.append(values)
        except (TypeError, ValueError, ArithmeticError):
            continue
    return found


def space(constraints: list[str], **parameters: list[Any]) -> Space:
    return Space(parameters=tuple(Parameter(name=name, values=tuple(values)) for name, values in parameters.items()), constraints=tuple(constraints))


def agrees(of: Space) -> Configurations:
    """What is counted is what is listed, every number leads to another configuration and back."""
    made, truth = Configurations(of), {repr(values) for values in listed(of)}
    rows = made.at(np.arange(made.count))
    found = {repr(tuple(made.values[place][value] for place, value in enumerate(row))) for row in rows.tolist()}
    assert made.count == len(truth)
    assert found == truth
    assert made.numbers(rows).tolist() == list(range(made.count))
    raw = np.array(list(itertools.product(*(range(size) for size in made.sizes.tolist()))), np.int64)
    assert int(made.valid(raw).sum()) == made.count
    return made


SPACES = [
    space(["32 <= x * y * z <= 256"], x=[1, 2, 4, 8, 16], y=[1, 2, 3, 4], z=[1, 8, 64]),
    space(["x % y == 0", "y <= z or x > 4", "not (x == z)"], x=[1, 2, 3, 4, 6, 8], y=[1, 2, 3], z=[2, 4, 6]),
    space(["unroll == 0 or tile % unroll == 0"], tile=[1, 2, 3, 4, 8], unroll=[0, 1, 2, 3, 4]),
    space(["tile % unroll == 0"], tile=[1, 2, 3, 4, 8], unroll=[0, 1, 2, 3, 4]),
    space(["x / y < 1.5", "x // y >= 0", "-x % 3 == 1"], x=[1, 2, 3, 4, 5], y=[0, 1, 2, 4]),
    space(["order == 'ij' or tile > 1", "order != 'kj'"], order=["ij", "ji", "kj"], tile=[1, 2, 4]),
    space(["order in ('ij', 'ji') and tile not in [2]", "pack or tile < 4"], order=["ij", "ji", "kj"], tile=[1, 2, 4], pack=[True, False]),
    space(["x < name"], x=[1, 2], name=["a", "b"]),
    space(["(x if pack else y) > 2", "min(x, y, 3) >= 1", "max(x, y) < 9", "abs(x - y) <= 4"], x=[1, 2, 5, 9], y=[0, 1, 3, 8], pack=[True, False]),
    space(["x ** y < 1000", "x << y < 500", "(x & 3) != 1", "x | 8 < 100", "~x < 0"], x=[1, 2, 3, 7, 10], y=[0, 1, 2, 5]),
    space(["log2(x) == int(log2(x))", "sqrt(x) <= 8", "gcd(x, y) == 1", "ceil(x / y) < 20", "floor(x / 3) >= 0", "round(x / y, ) >= 0"],
          x=[1, 2, 3, 4, 12, 64, 65], y=[1, 3, 4, 9]),
    space(["a * a + b * b == c * c"], a=list(range(1, 14)), b=list(range(1, 14)), c=list(range(1, 20))),
    space(["a != b", "b != c", "c != a"], a=[1, 2, 3], b=[1, 2, 3], c=[1, 2, 3]),
    space(["big * x > 10 ** 30", "x > 0"], big=[10**20, 10**30, 2**62], x=[1, 2, 10**5]),
    space(["f * 2 == 1.0 or f > g"], f=[0.25, 0.5, 0.75], g=[0.1, 0.5]),
    space([], only=[7]),
    space(["True"], x=[1, 2]),
    space(["1 == 2"], x=[1, 2]),
    space(["x > 5"], x=[1, 2]),
    space(["x"], x=[0, 1, 2]),
    space(["x and y", "x or y"], x=[False, True], y=[0, 3]),
]  # fmt: skip


@pytest.mark.parametrize("of", SPACES, ids=[" ".join(each.constraints)[:40] or "none" for each in SPACES])
def test_as_a_listing_has_it(of: Space) -> None:
    agrees(of)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    names = ["a", "b", "c", "d", "e"][: draw(st.integers(1, 5))]
    values = {name: draw(st.lists(st.integers(-3, 12), min_size=1, max_size=5, unique=True)) for name in names}
    terms = st.sampled_from([*names, "2", "3", "0"])
    sums = st.builds(lambda x, o, y: f"({x} {o} {y})", terms, st.sampled_from(["+", "-", "*", "//", "%", "/"]), terms)
    sides = st.one_of(terms, sums, st.builds(lambda x, o, y: f"({x} {o} {y})", sums, st.sampled_from(["+", "*", "%"]), terms))
    tests = st.builds(lambda x, o, y: f"{x} {o} {y}", sides, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), sides)
    whole = st.one_of(
        tests, st.builds(lambda x, o, y: f"({x}) {o} ({y})", tests, st.sampled_from(["and", "or"]), tests), st.builds("not ({})".format, tests)
    )
    return space(draw(st.lists(whole, max_size=4)), **values)


@settings(max_examples=300, deadline=None)
@given(spaces())
def test_any_space_is_as_a_listing_has_it(of: Space) -> None:
    agrees(of)


# ── conditions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_parameter_is_there_where_its_condition_holds() -> None:
    """Three depths with prefetching, one without; a constraint over the depth says nothing where there is none."""
    made = Configurations(
        Space(parameters=(categorical("prefetch", [True, False]), integer("depth", 1, 4, when="prefetch"), integer("tile", 1, 3)),
              constraints=("depth <= 3", "depth + tile < 6"))
    )  # fmt: skip
    found = [made.config(row) for row in made.at(np.arange(made.count))]
    without = [each for each in found if not each["prefetch"]]
    assert sorted(each["tile"] for each in without) == [1, 2, 3]
    assert all("depth" not in each for each in without)
    assert {(each["depth"], each["tile"]) for each in found if each["prefetch"]} == {
        (depth, tile) for depth in (1, 2, 3) for tile in (1, 2, 3) if depth + tile < 6
    }
    assert all((made.row(each) == row).all() for each, row in zip(found, made.at(np.arange(made.count)), strict=True))


def test_conditions_may_stand_on_each_other() -> None:
    made = Configurations(Space(parameters=(
        categorical("a", [0, 1]), categorical("b", [0, 1], when="a == 1"), categorical("c", [5, 6, 7], when="b == 1"),
    )))  # fmt: skip
    assert made.count == 1 + 1 + 3
    assert INACTIVE in made.values[2]


# ── drawing, neighbours, sizes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

TRIANGLE = space(["x + y + z == 12"], x=list(range(13)), y=list(range(13)), z=list(range(13)))


def test_every_configuration_is_drawn_as_often() -> None:
    """91 points, 18,200 draws with repetition: χ² of 90 degrees of freedom stays under its 99.9 % quantile, 137.2."""
    made = Configurations(TRIANGLE)
    drawn = made.numbers(made.drawn(18_200, np.random.default_rng(5), different=False))
    counts = np.bincount(drawn.astype(int), minlength=made.count)
    assert made.count == 91
    assert ((counts - 200.0) ** 2 / 200.0).sum() < 137.2


def test_none_is_drawn_twice() -> None:
    made, generator = Configurations(TRIANGLE), np.random.default_rng(0)
    for count in (1, 10, 60, 91, 200):
        numbers = made.numbers(made.drawn(count, generator)).tolist()
        assert len(set(numbers)) == len(numbers) == min(count, 91)
    assert made.valid(made.drawn(50, generator)).all()


def test_neighbours_are_valid_and_differ_in_one_value() -> None:
    made = Configurations(space(["x % y == 0"], x=[1, 2, 4, 6, 8], y=[1, 2, 3, 4], name=["a", "b", "c"]))
    for row in made.at(np.arange(made.count)):
        every, near = made.neighbours(row), made.neighbours(row, "adjacent")
        expected = [other for other in made.at(np.arange(made.count)).tolist() if sum(a != b for a, b in zip(other, row.tolist(), strict=True)) == 1]
        assert sorted(every.tolist()) == sorted(expected)
        assert {tuple(each) for each in near.tolist()} <= {tuple(each) for each in every.tolist()}
        assert (np.abs(near[:, :2] - row[:2]).sum(axis=1) <= 1).all()
        assert [each for each in near.tolist() if each[2] != row[2]] == [each for each in every.tolist() if each[2] != row[2]], "a name has no order"


def packing() -> Configurations:
    """A switch that brings two parameters, one of which brings a third; together they have to be small."""
    parameters = (
        integer("depth", 1, 4, when="pack"), integer("width", 2, 8, when="pack"), categorical("pack", (False, True)), power_of_two("tile", 4, 16),
        integer("ahead", 1, 2, when="depth > 2"),
    )  # fmt: skip
    return Configurations(Space(parameters=parameters, constraints=("depth * width <= 12", "width * tile >= 24")))


def test_a_switch_is_one_step_with_what_it_brings_and_takes() -> None:
    space = packing()
    off = space.row({"pack": False, "tile": 8})
    found = [space.config(each) for each in space.neighbours(off)]
    assert len([each for each in found if each["pack"] and each["tile"] == 8 and {"depth", "width"} <= set(each)]) == 1
    assert len(found) == len({repr(each) for each in found})
    assert {"pack": False, "tile": 8} not in found
    assert {"pack": False, "tile": 4} in found
    on = space.row({"pack": True, "tile": 8, "depth": 3, "width": 4, "ahead": 2})
    assert {"pack": False, "tile": 8} in [space.config(each) for each in space.neighbours(on)]
    assert {"pack": True, "tile": 8, "depth": 2, "width": 4} in [space.config(each) for each in space.neighbours(on)]
    low = space.row({"pack": True, "tile": 16, "depth": 2, "width": 4})
    near = [space.config(each) for each in space.neighbours(low, "adjacent")]
    assert {"pack": True, "tile": 16, "depth": 3, "width": 4, "ahead": 1} in near


def test_every_configuration_of_a_space_with_switches_is_reached_by_steps() -> None:
    space = packing()
    reached, waiting = {0}, [0]
    while waiting:
        beside = space.neighbours(space.at([waiting.pop()])[0])
        assert space.valid(beside).all()
        waiting += [number for number in space.numbers(beside).tolist() if number not in reached]
        reached.update(waiting)
    assert len(reached) == space.count


def test_a_configuration_with_values_for_what_is_not_there() -> None:
    """Of a tuner that knows no conditions."""
    space = packing()
    row = space.row({"pack": False, "tile": 8, "depth": 3, "width": 4, "ahead": 2})
    settled = space.settled(row)
    assert settled is not None
    assert space.config(settled) == {"pack": False, "tile": 8}
    wrong = space.settled(space.row({"pack": True, "tile": 4, "depth": 4, "width": 8, "ahead": 1}))
    assert wrong is None, "values of what is there are kept"


def test_an_expression_at_many_configurations() -> None:
    """As at one, also where a parameter is not there, a division has no value, or numbers are large."""
    space = packing()
    rows = space.at(np.arange(space.count))
    for text in ("tile * 2 ** 70 / 3", "width + depth", "1 / (tile - 8)", "tile if pack else width", "7", "pack", "tile // 3 > 1"):
        found = space.worked_out(text, rows)
        for row, value in zip(rows, found.tolist(), strict=True):
            config = space.config(row)
            wanted = worked_out(text, config, [name for name in space.names if name not in config])
            assert (math.isnan(value), value == value and value) == (wanted is None, wanted is not None and float(wanted)), (text, config)
    with pytest.raises(UsageError, match="tilt"):
        space.worked_out("tilt", rows)


def test_a_space_of_many_millions_is_not_listed() -> None:
    """Nine numbers up to 100 with a sum of at most 300, by the inclusion and exclusion that a textbook has."""
    made = Configurations(space(["a + b + c + d + e + f + g + h + i <= 300"], **{name: list(range(101)) for name in "abcdefghi"}))
    truth = sum((-1) ** k * math.comb(9, k) * math.comb(300 - 101 * k + 9, 9) for k in range(3) if 300 - 101 * k >= 0)
    assert made.count == truth > 10**15
    drawn = made.drawn(200, np.random.default_rng(0))
    assert (drawn.sum(axis=1) <= 300).all()
    assert (made.at(made.numbers(drawn)) == drawn).all()


def test_more_configurations_than_64_bits_count() -> None:
    made = Configurations(space(["a != b"], **{name: list(range(1000)) for name in "abcdefghij"}))
    assert made.count == 999 * 1000**9
    drawn = made.drawn(50, np.random.default_rng(0))
    assert (made.at(made.numbers(drawn)) == drawn).all()
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_one_point_and_none() -> None:
    one, none = Configurations(space([], a=["only"])), Configurations(space(["a > 3"], a=[1, 2], b=[1, 2]))
    assert (one.count, one.config(one.at([0])[0])) == (1, {"a": "only"})
    assert one.neighbours(one.at([0])[0]).shape == (0, 1)
    assert (none.count, none.drawn(5, np.random.default_rng(0)).shape) == (0, (0, 2))
    assert not none.valid(np.array([[0, 0], [1, 1]])).any()


def test_cases_without_a_value_are_counted() -> None:
    """Two of the divisors are 0 for each of three x: such cases do not satisfy the constraint, and are said."""
    made = Configurations(space(["x % y == 0", "x > 0"], x=[1, 2, 3], y=[0, 1]))
    assert made.count == 3
    assert made.without_value == (3, 0)


def test_true_is_not_one() -> None:
    made = Configurations(space([], flag=[True, False], number=[1, 0]))
    row = made.row({"flag": True, "number": 1})
    assert made.config(row) == {"flag": True, "number": 1}
    with pytest.raises(UsageError, match="a value of flag"):
        made.row({"flag": 1, "number": 1})


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("constraint", "word"),
    [
        ("blok_size > 3", "did you mean 'block_size'"), ("block_size >", "write it as in Python"), ("__import__('os').system('true')", "use"),
        ("(lambda: 1)()", "use"), ("block_size.real > 1", "use"), ("[x for x in (1, 2)]", "use"), ("open('/etc/passwd')", "one of"),
        ("block_size ** 10 ** 10 > 1 or unknown", "unknown"), ("", "write it as in Python"), ("min(block_size)", "one of"), ("x := 3", "write"),
        ("(" * 500 + "1" + ")" * 500, ""), ("block_size" + " + 1" * 6000, ""), ("block_size > 1\n", ""), ("block_size in name", "unknown"),
        ("f'{block_size}'", "use"), ("block_size > 1 # \x00", ""),
    ],
)  # fmt: skip
def test_what_is_no_constraint_is_refused_in_one_line(constraint: str, word: str) -> None:
    of = Space(parameters=(integer("block_size", 1, 4),), constraints=(constraint.replace("unknown", "other"),))
    if constraint == "block_size > 1\n":
        assert Configurations(of).count == 3
        return
    with pytest.raises(UsageError) as caught:
        Configurations(of)
    assert "\n" not in str(caught.value)
    assert word in str(caught.value) or word == "unknown"


@pytest.mark.parametrize("constraint", ["x ** 10 ** 9 > 1", "1 << (x * 10 ** 9) > 1", "'a' * 10 ** 9 == name", "name * 10 ** 9 == 'b'"])
def test_what_would_take_forever_has_no_value(constraint: str) -> None:
    made = Configurations(space([constraint], x=[2, 3], name=["a", "b"]))
    assert made.count == 0
    assert sum(made.without_value) > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Configurations(Space(parameters=())),
        lambda: Configurations(space([], a=[])),
        lambda: Configurations(space([], a=[1, 2, 1])),
        lambda: Configurations(space([], a=[1.0, float("nan")])),
        lambda: Configurations(Space(parameters=(integer("a", 1, 2), integer("a", 1, 2)))),
        lambda: Configurations(Space(parameters=(Parameter(name="not a name", values=(1,)),))),
        lambda: Configurations(Space(parameters=(integer("a", 1, 2, when="a > 1"),))),
        lambda: integer("a", 3, 1),
        lambda: integer("a", 0, 10**9),
        lambda: power_of_two("a", 0, 8),
        lambda: real("a", 1.0, 1.0),
        lambda: real("a", -1.0, 1.0, logarithmic=True),
        lambda: permutation("a", ["x", "x"]),
        lambda: permutation("a", list(range(9))),
        lambda: Configurations(TRIANGLE).at([91]),
        lambda: Configurations(TRIANGLE).at([-1]),
        lambda: Configurations(TRIANGLE).row({"x": 1, "y": 1}),
        lambda: Configurations(TRIANGLE).row({"x": 1, "y": 1, "z": 1, "w": 1}),
        lambda: Configurations(TRIANGLE).row({"x": 1, "y": 1, "z": 99}),
    ],
)
def test_what_is_no_space_is_refused(make: Any) -> None:
    with pytest.raises(UsageError) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_kinds_of_parameters() -> None:
    assert power_of_two("a", 3, 40).values == (4, 8, 16, 32)
    assert integer("a", 2, 9, 3).values == (2, 5, 8)
    assert real("a", 1.0, 100.0, 3, logarithmic=True).values == pytest.approx((1.0, 10.0, 100.0))
    assert permutation("a", ["i", "j"]).values == ("i,j", "j,i")
    made = Configurations(Space(parameters=(categorical("c", [3, 1, 2]), Parameter(name="o", values=(3, 1, 2)))))
    assert made.values == ((3, 1, 2), (1, 2, 3)), "numbers stand in order, categories as they were given"


def test_what_would_take_gigabytes_to_tell_apart_is_refused() -> None:
    """Two hundred sums that all stay open until the last of six parameters."""
    parameters = tuple(Parameter(name=f"x{place}", values=tuple(range(16))) for place in range(6))
    tangled = [f"(3 * x0 + {k} * x1 + {k % 7 + 1} * x2 * x1 + {k % 5 + 1} * x3 + {k % 3 + 2} * x4 + x5) % {k + 101} != {k}" for k in range(200)]
    with pytest.raises(OutOfRange, match="404 values each to tell apart"):
        Configurations(Space(parameters=parameters, constraints=tuple(tangled)))
