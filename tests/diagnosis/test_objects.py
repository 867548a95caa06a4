"""Long calls into a library: those that go through Python objects, those of a loop, and native code on one buffer, which is neither."""

from __future__ import annotations

import msgspec
import pytest

from ridgeline.core import Diagnosis, Facts, HotSpot, HotSpots, OperatorRow, Sentinels, Site
from ridgeline.diagnosis import next as next_step
from ridgeline.laws import speedup
from support.facts_by_hand import MB, buffer, facts, row, split

_NOT_HERE = dict.fromkeys(("dispatch", "waits", "hot-spots"), "not needed here")


def found(given: Facts) -> Diagnosis:
    step = next_step(given)
    assert isinstance(step, Diagnosis), step
    return step


def call(kind: str, seconds: float = 0.0095, **fields) -> OperatorRow:
    given = {"group": "python", "threads": 1, "site": Site(file="net.py", line=11, function="load"), "reads": None, "writes": None, **fields}
    return row(f"{kind}@net.py:11", seconds, kind=kind, **given)


@pytest.mark.parametrize(
    ("kind", "actions", "says"),
    [
        ("json.loads", ["compile"], "one call of `json.loads`"),
        ("builtins.sorted", ["vectorise"], "one call of `sorted`"),
        ("numpy.array", ["vectorise"], "one call of `numpy.array`"),
        ("copy.deepcopy", ["vectorise"], "one call of `copy.deepcopy`"),
    ],
)
def test_a_call_that_goes_through_objects_is_the_interpreter_without_a_loop(kind, actions, says):
    page = found(facts([call(kind)], wall_split=split(interpreter=0.9), cannot=_NOT_HERE))
    assert (page.bottleneck.cause, page.bottleneck.bound, page.bottleneck.where.line) == ("interpreter", "latency", 11)
    assert [action.action for action in page.actions] == actions
    assert says in page.bottleneck.summary
    assert "no loop of the program's" in page.bottleneck.summary
    assert not any("replaces the loop" in action.because for action in page.actions)


def test_it_is_never_healthy_though_the_wall_split_calls_it_native():
    """A call that keeps the interpreter's lock looks like native code to the sampler."""
    made = call("numpy.array", flop=0.0, reads=(), writes=(buffer(1, MB, fresh=True),), reason="made from Python objects, one at a time")
    page = found(facts([made], wall_split=split(interpreter=0.08), cannot=_NOT_HERE))
    assert page.bottleneck is not None
    assert (page.bottleneck.cause, page.bound) == ("interpreter", "latency")
    assert page.actions[0].speedup == pytest.approx((speedup(share=0.95, local_speedup=2), 1 / 0.05))


def test_a_builtin_over_an_array_is_offered_the_arrays_own_operation():
    over = call("builtins.sum", reads=(buffer(1, MB),), writes=(), reason="the interpreter goes through the array one element at a time")
    page = found(facts([over], wall_split=split(interpreter=0.9), cannot=_NOT_HERE))
    assert page.actions[0].action == "vectorise"
    assert "numpy.sum" in page.actions[0].because
    assert "through an array one at a time" in page.bottleneck.summary


@pytest.mark.parametrize(
    "loop",
    [
        call("math.sqrt", calls=20_000.0),
        call("builtins.sorted", calls=200.0),
        call("builtins.sorted", reason="it calls back into Python code"),
        call("numpy.vectorize.__call__", reads=(buffer(1, MB),), writes=(buffer(2, MB),)),
    ],
    ids=["short calls", "many calls", "a callback", "a loop in disguise"],
)
def test_calls_of_a_loop_are_the_loops(loop):
    page = found(facts([loop], wall_split=split(interpreter=0.9), hot_spots=spots((11, 400, "")), cannot=_NOT_HERE))
    assert page.bottleneck.cause == "interpreter"
    assert "replaces the loop" in page.actions[0].because


def spots(*lines: tuple[int, int, str]) -> HotSpots:
    seen = tuple(
        HotSpot(site=Site(file="net.py", line=line, function="f"), samples=n, state="interpreter", call=name, again="no" if name else "loop")
        for line, n, name in lines
    )
    return HotSpots(spots=seen, samples=sum(n for _, n, _ in lines), interval_s=0.002, instrument="by hand")


def test_without_operators_the_call_in_progress_at_the_sampled_line_says_it():
    given = facts([], wall_split=split(interpreter=0.9), hot_spots=spots((5, 300, "json.loads"), (6, 100, "")), cannot=_NOT_HERE, operators=None)
    given = msgspec.structs.replace(given, cannot={**_NOT_HERE, "operators": "not here"})
    page = found(given)
    assert (page.bottleneck.where.line, page.bottleneck.share) == (5, pytest.approx(0.9 * 0.75))
    assert "one call of `json.loads`" in page.bottleneck.summary
    # What is left of the interpreter has a place of its own.
    assert [(other.cause, other.where.line) for other in page.runners_up] == [("interpreter", 6)]


def test_a_call_that_holds_little_of_the_samples_is_not_the_cause():
    given = facts([], wall_split=split(interpreter=0.9), hot_spots=spots((5, 100, "json.loads"), (6, 300, "")), cannot=_NOT_HERE)
    assert found(given).bottleneck.where.line == 6


def test_samples_that_an_operator_accounts_for_are_not_the_calls():
    """A sampler that waits for the interpreter's lock gets it where a library lets go of it: at the operator behind the call."""
    behind = row("sum", 0.003, kind="aten::sum", group="reduction", site=Site(file="net.py", line=6, function="f"))
    given = facts([behind], wall_split=split(interpreter=0.6), hot_spots=spots((5, 240, "torch.tensor"), (6, 260, "x.sum")), cannot=_NOT_HERE)
    page = found(given)
    assert page.bottleneck.where.line == 5
    assert "one call of `torch.tensor`" in page.bottleneck.summary
    assert [action.action for action in page.actions][:1] == ["vectorise"]


def test_a_call_all_of_whose_samples_are_an_operators_is_none():
    """A program of one line that is all a framework's: nothing of the samples is left to divide by."""
    whole = row("embed", 0.01, kind="aten::addmm", group="matmul", site=Site(file="net.py", line=5, function="f"))
    given = facts([whole], wall_split=split(interpreter=0.5), hot_spots=spots((5, 200, "model.encode")), cannot=_NOT_HERE)
    assert "model.encode" not in found(given).headline


def test_a_loop_beside_a_smaller_call_keeps_its_place():
    """A loop over pixels whose result is then turned into an array: the loop is most of it, whatever the sampler takes the call for."""
    made = call("numpy.asarray", 0.0022, site=Site(file="net.py", line=22, function="load"))
    seen = spots((22, 80, "np.asarray"), (12, 300, ""), (13, 120, ""))
    page = found(facts([made], wall_split=split(interpreter=0.7), hot_spots=seen, cannot=_NOT_HERE))
    assert (page.bottleneck.cause, page.bottleneck.where.line) == ("interpreter", 12)
    assert "replaces the loop" in page.actions[0].because
    assert "one call of `numpy.asarray`" in page.runners_up[0].summary
    busy = split(interpreter=0.3, waiting=0.6)
    # It waits for its own threads, in the samples as well.
    own = Sentinels(run_queue_share=0.6, other_load=0.0)
    assert found(facts([made], wall_split=busy, hot_spots=seen, sentinels=own, cannot=_NOT_HERE)).bottleneck.where.line == 12


@pytest.mark.parametrize(
    "native",
    [
        call("hashlib.openssl_sha256"),
        call("zlib.compress", objects=0.0),
        call("hashlib.HASH.update", calls=8.0, objects=0.0),
        call("re.sub", objects=0.0),
        call("builtins.bytes.join", objects=8.0),
        call("zlib.compress", calls=40.0, objects=0.0),
    ],
    ids=["not counted", "no objects", "eight calls", "Python around it", "few large objects", "many long calls"],
)
def test_native_code_on_one_buffer_is_neither_the_interpreter_nor_to_be_kept(native):
    page = found(facts([native], wall_split=split(interpreter=0.01), cannot=_NOT_HERE))
    assert (page.bottleneck.cause, page.bound, page.actions) == ("unknown", "inconclusive", ())
    assert page.bottleneck.share == pytest.approx(0.95)
    assert "native code whose work has no formula" in page.bottleneck.summary
    assert "objects one at a time" not in page.headline
    assert native.kind.removeprefix("builtins.") in page.missing[0]


def test_many_objects_given_or_returned_are_what_a_call_goes_through():
    """Their count and the time say it, whatever the call is named."""
    many = call("re.Pattern.findall", objects=50_000.0)
    page = found(facts([many], wall_split=split(interpreter=0.02), cannot=_NOT_HERE))
    assert "goes through Python objects" in page.bottleneck.summary
    # Pieces of text need not fit into an array: nothing is promised.
    assert (page.bottleneck.cause, page.actions) == ("unknown", ())
    # Where an object takes longer than any handling of one, something else is done as well.
    few = call("re.Pattern.findall", objects=1500.0)
    assert "native code" in found(facts([few], wall_split=split(interpreter=0.02), cannot=_NOT_HERE)).bottleneck.summary


def test_no_loop_is_denied_where_a_call_is_made_several_times():
    several = found(facts([call("json.loads", calls=8.0)], wall_split=split(interpreter=0.9), cannot=_NOT_HERE)).bottleneck.summary
    assert "8 calls of `json.loads`" in several
    assert "no loop" not in several


def test_a_librarys_own_python_is_not_called_a_loop_nor_native():
    made = call("lib.process", objects=0.0)
    page = found(facts([made], wall_split=split(interpreter=0.9), hot_spots=spots((11, 400, "lib.process")), cannot=_NOT_HERE))
    assert (page.bottleneck.cause, page.actions) == ("unknown", ())
    assert "code of a library" in page.bottleneck.summary


def test_calls_that_repeat_are_left_to_the_rule_that_knows_it():
    repeated = call("hashlib.openssl_sha256", calls=6.0, distinct=1.0)
    page = found(facts([repeated], wall_split=split(interpreter=0.01), cannot=_NOT_HERE))
    assert page.bottleneck.cause == "redundant-work"
    assert [other.cause for other in page.runners_up] == []


def test_a_loop_beside_native_code_keeps_all_of_its_share():
    native = call("zlib.compress", 0.006, objects=0.0)
    seen = spots((11, 300, "zlib.compress"), (20, 150, ""))
    page = found(facts([native], wall_split=split(interpreter=0.35), hot_spots=seen, cannot=_NOT_HERE))
    assert (page.bottleneck.cause, page.bottleneck.where.line, page.bottleneck.share) == ("interpreter", 20, pytest.approx(0.35))


def test_a_compiled_function_that_was_recorded_as_such_is_named_as_what_it_is():
    native = call("zlib.compress", group="other", objects=0.0, reason="native code on no array: no formula for zlib.compress")
    page = found(facts([native], wall_split=split(interpreter=0.01), cannot=_NOT_HERE))
    assert (page.bottleneck.cause, page.bound, page.actions) == ("unknown", "inconclusive", ())
    assert "native code whose work has no formula" in page.headline
    assert page.missing[0] == "work: native code on no array: no formula for zlib.compress"
