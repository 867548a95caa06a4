"""What other counters said of the cases (kept in `benchmarks/work_counters`), against the suite and the explanations."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from work.suite.suite import CASES

FOLDER = Path(__file__).parents[3] / "benchmarks" / "work_counters"
RESULTS = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))


def _explanations() -> Any:
    spec = importlib.util.spec_from_file_location("explanations", FOLDER / "explanations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["explanations"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


EXPLANATIONS = _explanations()


def explain(counter: str, case: str) -> Any:
    row = RESULTS["cases"][case]
    return EXPLANATIONS.explain(counter, case, row["flop"], row["engine"], row["theirs"][counter], function=row["function"])


def test_the_kept_results_are_of_this_suite() -> None:
    assert {name: (row["flop"], row["engine"]) for name, row in RESULTS["cases"].items()} == {case.name: (case.flop, case.engine) for case in CASES}
    assert set(RESULTS["versions"]) == {"torch", "fvcore", "thop", "calflops", "onnx-tool", "XLA"}


@pytest.mark.parametrize("counter", RESULTS["versions"])
def test_every_disagreement_is_explained(counter: str) -> None:
    found = {case: explain(counter, case) for case, row in RESULTS["cases"].items() if counter in row["theirs"]}
    assert [case for case, explained in found.items() if explained is None] == []
    assert {reason for explained in found.values() for reason in explained.reasons} <= set(EXPLANATIONS.REASONS)
    assert sum(not explained.reasons or explained.reasons == ("mac-as-one",) for explained in found.values()) >= 5, "it agrees somewhere"


def test_an_explanation_that_does_not_give_the_number_is_none() -> None:
    for (counter, case), (_, number) in EXPLANATIONS._EXACT.items():
        row = RESULTS["cases"][case]
        assert row["theirs"][counter] == number, "an explanation of what nobody said"
        assert EXPLANATIONS.explain(counter, case, row["flop"], row["engine"], number + 1, function=False) is None


def test_the_kept_page_shows_the_kept_results(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    subprocess.run([sys.executable, str(FOLDER / "run.py"), "--out", str(page)], check=True, timeout=120)
    assert page.read_text(encoding="utf-8") == (FOLDER / "TABLE.md").read_text(encoding="utf-8")
    assert "?]" not in page.read_text(encoding="utf-8")


def test_every_reason_is_used() -> None:
    used = {reason for name, row in RESULTS["cases"].items() for counter in row["theirs"] for reason in explain(counter, name).reasons}
    assert used == set(EXPLANATIONS.REASONS)


@pytest.mark.parametrize("case", [case for case in CASES if case.torch], ids=lambda case: str(case.name))
def test_the_counter_of_this_torch_says_what_was_kept(case: Any) -> None:
    call, arguments = case.torch()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call(*arguments)
    assert counter.get_total_flops() == RESULTS["cases"][case.name]["theirs"]["torch"]
