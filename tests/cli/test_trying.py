"""`diagnose --try` and `log --promises` as a person types them."""

from __future__ import annotations

import json

import pytest

from ridgeline.core import Experiment
from ridgeline.notebook import Notebook, new_run_id


def test_nothing_is_tried_unasked(flow, run):
    assert run("diagnose", "model.onnx")[0] == 0
    assert flow.options["trying"] is None


def test_budget_and_precisions_reach_the_flow(flow, run):
    code, _, err = run("diagnose", "--try", "--try-budget", "30", "--allow-precision", "bf16", "model.onnx")
    assert (code, err) == (0, "")
    assert flow.options["trying"].budget_s == 30.0
    assert flow.options["trying"].precisions == {"bf16"}
    run("diagnose", "--try", "--allow-precision", "none", "model.onnx")
    assert flow.options["trying"].precisions == frozenset()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--try-budget", "30"], "--try-budget with --try"),
        (["--allow-precision", "bf16"], "--allow-precision with --try"),
        (["--try", "--allow-precision", "bf16", "--allow-precision", "none"], "none alone"),
        (["--try", "--try-budget", "nan"], "time for trying"),
        (["--try", "--try-budget", "0"], "try-budget"),
        (["--try", "--allow-precision", "fp8"], "fp8"),
    ],
)
def test_options_that_mean_nothing_are_one_line(flow, run, options, words):
    code, out, err = run("diagnose", *options, "model.onnx")
    assert (code, out, flow.calls) == (2, "", 0)
    assert words in err
    assert err.count("\n") == 1


def test_promises_of_a_notebook(run, tmp_path, full_diagnosis):
    place = str(tmp_path / "notes.sqlite")
    action = full_diagnosis.actions[0]
    with Notebook.open(place) as notebook:
        for promise in ("kept", "kept", "refuted"):
            made = Experiment(
                diagnosis="r", action=action, before="t", after="t with c", found=(1.4, 1.5), verdict="faster", promise=promise, change="c"
            )
            notebook.add_experiment(made, new_run_id())
        notebook.add_experiment(Experiment(diagnosis="r", action=None, before="t", after="t", verdict="same", change="gc-freeze"), new_run_id())
    code, out, _ = run("log", "--promises", "--notebook", place)
    assert code == 0
    assert "quantise-weights" in out
    assert "0.667" in out
    assert "1 same" in out
    document = json.loads(run("log", "--promises", "--json", "--notebook", place)[1])
    assert document["schema"] == "ridgeline.promises/1"
    assert (document["total"]["kept"], document["total"]["refuted"]) == (2, 1)
    assert len(document["experiments"]) == 4


def test_promises_of_no_notebook(run, tmp_path, monkeypatch):
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "none.sqlite"))
    code, out, _ = run("log", "--promises")
    assert code == 0
    assert "--try" in out
    code, _, err = run("log", "--promises", "--notebook", str(tmp_path / "other.sqlite"))
    assert code == 2
    assert err.count("\n") == 1
