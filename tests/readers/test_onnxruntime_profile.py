"""onnxruntime's profiles as profiles: what each event is, nested bodies counted once, rounding, the cap, and damage."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ridgeline.core import EVENT_KINDS, Profile, ReadError, Timeline
from ridgeline.readers import Limits, Source, read_profile
from ridgeline.readers.onnxruntime import OnnxRuntime, decoding
from ridgeline.readers.testing import ProfileReaderConformance


def event(cat: str, name: str, start: int, duration: int, tid: int = 7, **arguments: Any) -> dict[str, Any]:
    return {"cat": cat, "pid": 1, "tid": tid, "dur": duration, "ts": start, "ph": "X", "name": name, "args": arguments}


def node(name: str, kind: str, start: int, duration: int, provider: str = "CPUExecutionProvider", tid: int = 7, **more: Any) -> dict[str, Any]:
    return event("Node", f"{name}_kernel_time", start, duration, tid, op_name=kind, provider=provider, node_index="3", output_size="64", **more)


def run(start: int, duration: int = 100) -> dict[str, Any]:
    return event("Session", "model_run", start, duration)


#: Bodies are written before the node that holds them: an If from 20 to 60 holds 25 to 35 and 40 to 50.
ONE = [
    node("conv", "Conv", 2, 15, input_type_shape=[{"float": [1, 3]}]), node("then/a", "Add", 25, 10), node("then/b", "Mul", 40, 10),
    event("Session", "SequentialExecutor::Execute", 22, 33), node("if", "If", 20, 40), node("r", "ReorderOutput", 61, 4),
    event("Session", "SequentialExecutor::Execute", 1, 98), run(0),
]  # fmt: skip
SESSION = [event("Session", "model_loading_uri", -900, 300), event("Session", "session_initialization", -500, 400)]


def later(events: list[dict[str, Any]], by: int) -> list[dict[str, Any]]:
    return [{**one, "ts": one["ts"] + by} for one in events]


EVENTS = [*SESSION, *ONE, *later(ONE, 1000)]


def written(events: list[dict[str, Any]]) -> bytes:
    return ("[\n" + ",\n".join(json.dumps(one, separators=(",", " :")) for one in events) + "\n]\n").encode()


def read(data: bytes, tmp_path: Path, **limits: int) -> Profile:
    path = tmp_path / "profile"
    path.write_bytes(data)
    return OnnxRuntime().read(Source(path, Limits(**limits)))


def timeline(found: Profile) -> Timeline:
    assert found.timeline is not None
    return found.timeline


def kinds(found: Profile) -> dict[str, str]:
    made = timeline(found)
    assert made.kind is not None
    return {made.strings[name]: EVENT_KINDS[kind] for name, kind in zip(made.name.values.tolist(), made.kind.values.tolist(), strict=True)}


class TestConformance(ProfileReaderConformance):
    def reader(self) -> OnnxRuntime:
        return OnnxRuntime()

    def examples(self) -> Mapping[str, bytes]:
        return {"cpu": written(EVENTS), "compact": json.dumps(EVENTS).encode()}


def test_what_each_event_is(tmp_path: Path) -> None:
    more = [
        event("Node", "conv_fence_before", 1, 1), event("Kernel", "gemm", 5, 9, stream="7"), event("Kernel", "MemcpyHtoD", 20, 2, stream="8"),
        event("Kernel", "memset", 30, 2, stream="8"), event("Api", "cudaLaunchKernel", 3, 1),
    ]  # fmt: skip
    found = read(written([*EVENTS, *more]), tmp_path)
    assert kinds(found) == {
        "model_loading_uri": "annotation", "session_initialization": "annotation", "conv": "operator", "then/a": "operator", "then/b": "operator",
        "SequentialExecutor::Execute": "annotation", "if": "operator", "r": "operator", "model_run": "iteration", "conv_fence_before": "other",
        "gemm": "compute", "MemcpyHtoD": "copy", "memset": "fill", "cudaLaunchKernel": "runtime",
    }  # fmt: skip
    assert [(track.device, track.role, track.thread) for track in timeline(found).tracks] == [
        ("", "thread", "7"),
        ("GPU 0", "queue", "7"),
        ("GPU 0", "queue", "8"),
    ]
    assert timeline(found).tick_s == found.resolution_s == 1e-6


def test_times_sums_and_texts_are_those_of_the_file(tmp_path: Path) -> None:
    made = timeline(read(written(EVENTS), tmp_path))
    assert made.start_tick.values.tolist() == [one["ts"] for one in EVENTS]
    assert int(made.duration_tick.values.sum()) == sum(one["dur"] for one in EVENTS)
    texts = {name: [made.strings[at] if at >= 0 else "" for at in column.values.tolist()] for name, column in made.texts.items()}
    assert texts["operator"][2:6] == ["Conv", "Add", "Mul", ""]
    assert texts["provider"][2] == "CPUExecutionProvider"
    assert texts["purpose"][7] == "layout"
    assert json.loads(texts["shapes"][2]) == [{"float": [1, 3]}]
    assert made.numbers["output_bytes"].values[2] == 64
    assert "bytes" not in made.numbers


def test_a_body_counts_once(tmp_path: Path) -> None:
    """An If of 40 µs holds two nodes of 10: its own time is 20, and all nodes take 15 + 40 + 4."""
    table = read(written(EVENTS), tmp_path).tables[0]
    own = {row.name: row.own_s for row in table.rows}
    assert own == pytest.approx({"conv": 15e-6, "if": 20e-6, "then/a": 10e-6, "then/b": 10e-6, "r": 4e-6})
    assert sum(value or 0.0 for value in own.values()) == pytest.approx(59e-6)
    assert (table.nested, table.per_call, table.iterations) == (True, True, 2)
    assert (table.wall_s, table.first_wall_s, table.setup_s, table.wall_deviation_s) == pytest.approx((100e-6, 100e-6, 700e-6, 0.0))
    assert {row.name: row.texts for row in table.rows if row.texts} == {"r": {"purpose": "layout"}}


def test_ends_that_are_a_tick_apart_by_cutting_are_nested(tmp_path: Path) -> None:
    """Body 0.9–10.4 in a node 0.5–10.4: written as 0 + 9 and 0 + 9; and one that seems to end a tick later."""
    table = read(written([node("body", "Add", 1, 10), node("if", "If", 0, 10), run(0)]), tmp_path).tables[0]
    assert {row.name: row.own_s for row in table.rows} == pytest.approx({"if": 0.0, "body": 10e-6})


def test_other_threads_hold_nothing(tmp_path: Path) -> None:
    table = read(written([node("a", "Add", 1, 10, tid=8), node("b", "If", 0, 20), run(0)]), tmp_path).tables[0]
    assert not table.nested
    assert {row.name: row.own_s for row in table.rows} == pytest.approx({"a": 10e-6, "b": 20e-6})


@given(st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=12), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_own_times_sum_to_the_outermost_whatever_is_nested(tree: Any, width: int) -> None:
    """A tree of bodies: each holds its children after one another, a tick apart; own times sum to the root's duration."""
    import tempfile

    rows: list[dict[str, Any]] = []

    def place(children: Any, start: int) -> int:
        at = start + 1
        for child in children:
            at = place(child, at) + 1
        end = max(at, start + width)
        rows.append(node(f"n{len(rows)}", "Loop", start, end - start))
        return end

    end = place(tree, 0)
    with tempfile.TemporaryDirectory() as directory:
        table = read(written([*rows, run(0, end)]), Path(directory)).tables[0]
    assert sum(row.own_s or 0.0 for row in table.rows) == pytest.approx(end * 1e-6)
    assert len(table.rows) == len(rows)


def test_nodes_after_the_last_run_that_ended_are_in_no_mean(tmp_path: Path) -> None:
    found = read(written([*EVENTS, *later(ONE, 2000)[:2]]), tmp_path)
    assert sum(row.own_s or 0.0 for row in found.tables[0].rows) == pytest.approx(59e-6)
    assert [(entry.events, entry.total_s) for entry in found.excluded] == [(2, pytest.approx(25e-6))]


def test_rounding_is_said_where_nodes_are_short(tmp_path: Path) -> None:
    """Ten nodes of 59·2 µs: up to 10 µs of 128 are cut away. Of long ones nothing is said."""
    found = read(written(EVENTS), tmp_path)
    assert [warning.code for warning in found.warnings] == ["rounded-times"]
    assert "up to 10 µs (8% of their sum)" in found.warnings[0].message
    long = [{**one, "ts": one["ts"] * 1000, "dur": one["dur"] * 1000} for one in EVENTS]
    assert read(written(long), tmp_path).warnings == ()


def test_the_cap_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ridgeline.readers.onnxruntime import reader

    assert decoding.CAP == 1_000_000
    monkeypatch.setattr(reader, "CAP", len(EVENTS))
    assert read(written(EVENTS), tmp_path).warnings[0].code == "event-cap"
    monkeypatch.setattr(reader, "CAP", len(EVENTS) + 1)
    assert read(written(EVENTS), tmp_path).warnings[0].code == "rounded-times"


def test_pieces_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(written(EVENTS), tmp_path)
    from ridgeline.readers import source

    original = source.Source.pieces
    for size in (1, 7, 64, 333):
        monkeypatch.setattr(source.Source, "pieces", lambda self, _=0, size=size: original(self, size))
        assert read(written(EVENTS), tmp_path) == whole
    monkeypatch.undo()


def test_names_that_make_no_json_are_taken_apart(tmp_path: Path) -> None:
    """As older versions wrote them: a quote, a backslash and a line end as they are."""
    rows = written(EVENTS).decode().replace('"name" :"conv_kernel_time"', '"name" :"co"n\\v\n_kernel_time"')
    found = read(rows.encode(), tmp_path)
    assert 'co"n\\v\n' in timeline(found).strings
    assert sum(row.own_s or 0.0 for row in found.tables[0].rows) == pytest.approx(59e-6)
    assert [warning.code for warning in found.warnings] == ["raw-names", "rounded-times"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dur": -5}, "a negative duration"), ({"dur": 10**17}, "an impossible time"), ({"dur": None}, "without a start or a duration"),
        ({"ph": "i"}, "not an event with a duration"),
    ],
)  # fmt: skip
def test_impossible_times_are_left_out_and_never_subtracted(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    found = read(written([{**node("odd", "Add", 3, 2), **change}, *EVENTS]), tmp_path)
    assert [(entry.reason, entry.events) for entry in found.excluded] == [(reason, 1)]
    assert sum(row.own_s or 0.0 for row in found.tables[0].rows) == pytest.approx(59e-6)


def test_a_file_that_is_cut_short_says_so(tmp_path: Path) -> None:
    found = read(written(EVENTS)[:-60], tmp_path)
    assert "cut-short" in [warning.code for warning in found.warnings]
    assert [entry.reason for entry in found.excluded if entry.first.startswith("byte")] == ["damaged or cut short"]


def test_a_damaged_event_costs_only_itself(tmp_path: Path) -> None:
    found = read(written(EVENTS).replace(b'"dur" :15', b'"dur" :1x5', 1), tmp_path)
    assert len(timeline(found)) == len(EVENTS) - 1
    assert [(entry.reason, entry.events) for entry in found.excluded] == [("damaged or cut short", 1)]


def test_limits(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="at most 3 events"):
        read(written(EVENTS), tmp_path, events=3)
    with pytest.raises(ReadError, match="names of at most"):
        read(written([node("n" * 1_000_000, "Add", 0, 3), run(0)]), tmp_path)


def test_a_profile_of_a_session_that_really_ran(tmp_path: Path) -> None:
    """Two independent ways: nodes of the profile are those of the optimised model, and lie within the wall of their runs."""
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [helper.make_node("Mul", ["x", "x"], ["y"], name="square")], "body", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [256, 256])]
    )
    other = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["z"], name="double")], "other", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, [256, 256])]
    )
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["w"], name="choice", then_branch=body, else_branch=other),
            helper.make_node("MatMul", ["w", "x"], ["v"], name="product"),
        ],
        "g",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("x", TensorProto.FLOAT, [256, 256])],
        [helper.make_tensor_value_info("v", TensorProto.FLOAT, [256, 256])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "run")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for _ in range(3):
        session.run(None, {"c": np.array(True), "x": np.ones((256, 256), np.float32)})
    found = read_profile(session.end_profiling())
    assert (found.format, found.excluded) == ("onnxruntime", ())
    table = found.tables[0]
    assert {row.name: row.calls for row in table.rows} == {"choice": 3, "square": 3, "product": 3}
    assert (table.iterations, table.nested) == (3, True)
    assert 0 < sum(row.own_s or 0.0 for row in table.rows) <= (table.wall_s or 0.0)
