"""The page and the HTML of a tuning, and what is exported: what may be relied on is said, names are only texts, numbers only finite ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ridgeline.core import (
    Caution,
    CurvePoint,
    FrontPoint,
    Importance,
    ImportanceTable,
    ModelFit,
    Parameter,
    Quantity,
    RooflineLeft,
    Trial,
    TunedBest,
    TunedDefault,
    TunedFront,
    TunedSpace,
    TunedTie,
    TuneReport,
    UsageError,
)  # fmt: skip
from ridgeline.readers.tuning import read_recorded_space
from ridgeline.reporting import markdown, terminal, tuned_page, tuned_report_html
from ridgeline.reporting.export.tuned import c_header, python_module, recorded, selected
from ridgeline.reporting.export.tuning import write_cache, write_results

CONFIG = {"tile": 16, "pack": True, "order": "ij", "scale": 0.5, "offset": -1}
PARAMETERS = (
    Parameter(name="tile", values=(8, 16)), Parameter(name="pack", values=(False, True)), Parameter(name="order", values=("ij", "ji")),
    Parameter(name="scale", values=(0.5,)), Parameter(name="offset", values=(-1, 1)),
)  # fmt: skip
SHARE = Importance(parameters=("tile", "pack"), share=0.6, low=0.5, high=0.7)
BEST = TunedBest(
    config=CONFIG, objective=1e-3, objective_ci=(0.9e-3, 1.1e-3), probability_best=0.9, probability_better=0.01, verdict="tie",
    ties=(TunedTie(config={**CONFIG, "tile": 8}, objective=1.001e-3, probability_best=0.1),), runs=9,
)  # fmt: skip


def report(**changed: Any) -> TuneReport:
    given = {
        "target": "gemm", "space": TunedSpace(parameters=PARAMETERS, constraints=(), size=16), "best": BEST, "trials": 40, "failures": {"crash": 2},
        "unique_evaluations": 12, "search_s": 3.0, "overhead_s": 0.2, "resumed_from": None, "strategy": "guided", "machine": "EPYC, 2 CPUs usable",
        "curve": (CurvePoint(evaluations=1, objective=4e-3), CurvePoint(evaluations=9, objective=1e-3)), "fingerprint": "f0", "shape": {"n": 512},
        "importance": ImportanceTable(shares=(SHARE,), explained=0.8, trials=12, method="m"),
    }  # fmt: skip
    return TuneReport(**{**given, **changed})


def trial(number: int, seconds: float | None = None, **config: Any) -> Trial:
    objective = None if seconds is None else Quantity(value=seconds, low=seconds, high=seconds, confidence=1.0, unit="s", source="measured")
    return Trial(config={**CONFIG, **config}, number=number, objective=objective, failure=None if objective else "crash")


TRIALS = (trial(0, 4e-3, tile=8, order="ji"), trial(1), trial(2, 1e-3), trial(3, 2e-3, pack=False), trial(4, 1.05e-3))


def page_of(found: TuneReport) -> str:
    return terminal(tuned_page(found), 140, False)


def test_the_page_says_what_was_found_and_how_sure() -> None:
    said = page_of(report())
    for part in (
        "gemm: 1.00 ms, in a tie with others",
        "1.00 ms [900 µs, 1.10 ms]",
        "tile = 8",
        "tile × pack",
        "its process ended",
        "of 16 valid ones",
    ):
        assert part in said, part


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"best": None}, "gemm: nothing ran of 12 configurations that were tried"),
        ({"best": msgspec.structs.replace(BEST, verdict="won", ties=())}, "with 99"),
        ({"best": msgspec.structs.replace(BEST, verdict="open")}, "not told from others"),
        ({"default": TunedDefault(config={}, objective=2e-3, speedup=(1.8, 2.1), better=True)}, "1.80–2.10×"),
        ({"default": TunedDefault(config={}, objective=1e-3, speedup=(0.96, 1.04))}, "no better setting than the default was found (12 were tried)"),
        (
            {"default": TunedDefault(config={}, objective=1e-3, speedup=(0.6, 2.1))},
            "none is shown to be better than the default: 0.60–2.10×",
        ),
        ({"default": TunedDefault(config={"tile": 64}, objective=2e-3)}, "whether that is better than the default is not known"),
        ({"default": TunedDefault(config=BEST.config, objective=1e-3)}, "no better setting than the default was found (12 were tried)"),
        ({"how": {"tile": "options.tile"}}, "tile = 16  options.tile"),
        ({"best": msgspec.structs.replace(BEST, runs=1)}, "median of 1 run in the finals"),
        ({"roofline": RooflineLeft(floor_s=7e-4, bound="compute", share=0.7, ceiling="FMA, fp32")}, "of the compute ceiling"),
        ({"importance": ImportanceTable(note="too few: 3 configurations ran, 16 are needed")}, "too few: 3 configurations ran"),
        ({"warnings": (Caution(code="throttled", message="the device changed its speed", effect="x"),)}, "the device changed its speed"),
        ({"stopped": "interrupted", "failures": {}}, "interrupted"),
        ({"model": ModelFit(median_error=0.1, rank_correlation=0.83, trials=40)}, "of 40 configurations, believed before each was tried, rank corr"),
        ({"model": ModelFit(median_error=0.1, rank_correlation=None, trials=3)}, "10.5% in the middle"),
    ],
)
def test_the_headline_says_what_may_be_relied_on(changed: dict[str, Any], said: str) -> None:
    assert said in page_of(report(**changed))
    assert markdown(tuned_page(report(**changed)))


def test_the_html_draws_the_curve_the_configurations_and_the_importance() -> None:
    html = tuned_report_html(report(), TRIALS)
    assert html.count("<svg") == 3
    assert html.count('class="trial best"') == 1
    assert "://" not in html
    assert "Content-Security-Policy" in html


@pytest.mark.parametrize("trials", [(), TRIALS[:1], TRIALS[1:2]])
@pytest.mark.parametrize("best", [None, BEST])
def test_the_html_of_few_trials(trials: tuple[Trial, ...], best: TunedBest | None) -> None:
    html = tuned_report_html(report(best=best, curve=() if best is None else report().curve), trials)
    assert html.endswith("</html>\n")
    assert "nan" not in html.lower().replace("nano", "")


def test_names_are_only_texts() -> None:
    evil = '<script>alert("x")</script>'
    parameters = (Parameter(name="tile", values=(evil, "b")),)
    found = report(
        target=evil, space=TunedSpace(parameters=parameters, constraints=(), size=2), best=msgspec.structs.replace(BEST, config={"tile": evil})
    )
    html = tuned_report_html(
        found, (Trial(config={"tile": evil}, objective=TRIALS[0].objective), Trial(config={"tile": "b"}, objective=TRIALS[2].objective))
    )
    assert "<script>alert" not in html


def test_the_header_compiles_and_says_the_values(tmp_path: Path) -> None:
    text = c_header(report(target="k */", best=msgspec.structs.replace(BEST, config={**CONFIG, "order": 'i"\\j?é'})))
    (tmp_path / "best.h").write_text(text, encoding="utf-8")
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "best.h"\n#include "best.h"\n'
        'int main(void) { printf("%d %d %s %g %d\\n", K_TILE, K_PACK, K_ORDER, K_SCALE, 3 + K_OFFSET); }\n',
        encoding="utf-8",
    )
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", str(tmp_path / "main"), str(tmp_path / "main.c")], check=True)
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, check=True)
    assert done.stdout.decode() == '16 1 i"\\j?é 0.5 2\n'


def test_the_module_is_python(tmp_path: Path) -> None:
    (tmp_path / "best.py").write_text(python_module(report(target="3 gemm")), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", "import best; print(best._3_GEMM)"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr(CONFIG)


def test_the_entry_of_a_selection() -> None:
    found = selected(report(), "2026-01-01")
    assert (found.target, found.config, found.shape, found.fingerprint, found.verdict, found.at) == (
        "gemm",
        CONFIG,
        {"n": 512},
        "f0",
        "tie",
        "2026-01-01",
    )


@pytest.mark.parametrize("export", [c_header, python_module, selected])
def test_nothing_is_not_exported(export: Any) -> None:
    with pytest.raises(UsageError, match="a configuration that ran"):
        export(report(best=None))


def test_names_that_would_be_one() -> None:
    with pytest.raises(UsageError, match="upper case"):
        c_header(report(best=msgspec.structs.replace(BEST, config={"tile": 1, "TILE": 2})))


RUNS = tuple(
    msgspec.structs.replace(each, runs=(each.objective.value, 1.5 * each.objective.value) if each.objective else (), build_s=0.25, spent_s=0.5)
    for each in TRIALS
)


@pytest.mark.parametrize("write", [write_cache, write_results])
def test_trials_are_read_again_by_our_own_readers(write: Any, tmp_path: Path) -> None:
    """Of a cache each configuration is one entry, with the runs of all its trials."""
    write(recorded(report(), RUNS), tmp_path / "out.json")
    found = read_recorded_space(tmp_path / "out.json")
    of_each: dict[str, list[float]] = {}
    for each in RUNS:
        of_each.setdefault(repr(each.config), []).extend(each.runs)
    again: dict[str, list[float]] = {}
    for each in found.trials:
        again.setdefault(repr(each.config), []).extend(each.runs)
    failed = repr(RUNS[1].config)
    assert found.device == report().machine
    assert {each.failure for each in found.trials if repr(each.config) == failed} >= {"run"}
    for key, runs in of_each.items():
        assert key == failed or again[key] == pytest.approx(runs), key


def test_kernel_tuner_reads_what_is_written_for_it(tmp_path: Path) -> None:
    util = pytest.importorskip("kernel_tuner.util")
    write_cache(recorded(report(), RUNS), tmp_path / "cache.json")
    found = util.read_cache(str(tmp_path / "cache.json"), open_cache=False)
    assert found["tune_params_keys"] == [each.name for each in PARAMETERS]
    key = ",".join(str(value) for value in RUNS[3].config.values())
    assert found["cache"][key]["times"] == [2.0, 3.0]
    failed = ",".join(str(value) for value in RUNS[1].config.values())
    assert isinstance(found["cache"][failed]["__error__"], util.ErrorConfig)


def test_trials_that_have_no_place_in_other_formats() -> None:
    with pytest.raises(UsageError, match="one in J"):
        recorded(report(unit="J"), RUNS)
    with pytest.raises(UsageError, match="trials to export"):
        recorded(report(), ())


def point(tile: int, seconds: float, size: float, untold: tuple[int, ...] = ()) -> FrontPoint:
    intervals = ((0.99 * seconds, 1.01 * seconds), (size, size))
    return FrontPoint(config={**CONFIG, "tile": tile}, values=(seconds, size), intervals=intervals, runs=3, untold=untold)


FRONT = TunedFront(
    objectives=("time", "memory"), units=("s", "B"), points=(point(16, 1e-3, 4e6), point(8, 2e-3, 1e6, (0,))), ideal=(1e-3, 1e6),
    reference=(8e-3, 9e6), hypervolume=0.75, measured=12,
)  # fmt: skip


def test_a_front_is_a_table_and_a_chart() -> None:
    found = report(objectives=("time", "memory"), front=FRONT)
    page = terminal(tuned_page(found), width=120)
    assert tuned_page(found).headline.endswith("; 2 to choose from between time and memory")
    for part in ("FRONT", "the best", "tile = 8", "1.00 ms", "may be beaten by", "75.0%"):
        assert part in page, (part, page)
    trials = [msgspec.structs.replace(each, metrics={"peak_memory_bytes": 5e6}) for each in TRIALS]
    html = tuned_report_html(found, trials)
    assert "memory over time: 4 trials, 2 configurations on the front." in html
    assert 'class="steps"' in html


def test_three_objectives_have_a_chart_of_the_first_two_and_without_several_there_is_none() -> None:
    three = msgspec.structs.replace(
        FRONT, objectives=("time", "memory", "energy"), units=("s", "B", "J"),
        points=tuple(
            msgspec.structs.replace(each, values=(*each.values, 2.0), intervals=(*each.intervals, (2.0, 2.0))) for each in FRONT.points
        ),
    )  # fmt: skip
    html = tuned_report_html(report(front=three))
    assert "2 configurations on the front" in html
    assert "on the front" not in tuned_report_html(report())
    assert "FRONT" not in terminal(tuned_page(report()))


def test_less_of_something_else_than_time_is_no_speed() -> None:
    default = TunedDefault(config=CONFIG, objective=4e6, speedup=(1.9, 2.1), better=True)
    found = tuned_page(report(objective="memory", unit="B", default=default))
    assert "speed" not in found.headline
