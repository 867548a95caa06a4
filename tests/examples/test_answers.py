"""The answer sheet fits the programs, and the scoring is right about made-up verdicts."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _module(name):
    """A module of the benchmark, which is a folder of scripts and not a package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / "diagnosis" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


answers = _module("answers")
SHEET = answers.load(ROOT / "examples" / "answers.toml")
BROKEN = [example for example in SHEET if not example.healthy]


def _program(example):
    """The file of an example, or None for a made model."""
    words = [word.split(":")[0] for word in example.target if word.startswith("examples/")]
    return None if words[0].startswith("examples/build/") else ROOT / words[0]


def test_there_are_enough_of_both_kinds():
    assert len(BROKEN) >= 16
    assert len(SHEET) - len(BROKEN) >= 4
    planted = {example.causes[0] for example in BROKEN}
    assert {
        "near-peak", "elementwise-chain", "layout-conversion", "weight-traffic", "copy", "streaming", "dispatch", "interpreter", "allocation",
        "input-output", "low-parallelism", "special-functions",
    } <= planted  # fmt: skip


def test_every_program_has_an_answer():
    named = {_program(example).name for example in SHEET if _program(example)}
    programs = {path.name for path in (ROOT / "examples").glob("*.py")} | {path.name for path in (ROOT / "examples").glob("*.sh")}
    assert programs - {"make_models.py"} <= named


@pytest.mark.parametrize("example", SHEET, ids=lambda example: example.name)
def test_the_answer_fits_the_program(example):
    program = _program(example)
    if program is None:
        made = (ROOT / "examples" / "make_models.py").read_text()
        assert f'"{Path(example.target[0]).stem}":' in made
        assert example.prepare
        return
    source = program.read_text()
    for word in example.target:
        if ":" in word:
            assert f"def {word.split(':')[1]}(" in source
    if program.suffix == ".py":
        assert source.startswith('"""')
        for function in example.functions:
            assert function.startswith("<") or f"def {function}(" in source
        for line in example.lines:
            assert line in source
    # The words that give it away must not be where a person would not have written them: in the story and in the names of functions.
    told = " ".join([program.stem, source.split('"""')[1] if program.suffix == ".py" else "", *re.findall(r"def (\w+)", source)])
    assert not re.search(r"bottleneck|healthy|planted|" + "|".join(example.causes or ["planted"]), told, re.IGNORECASE)


def _verdict(**fields):
    return answers.Verdict(**fields)


def _example(name):
    return next(example for example in SHEET if example.name == name)


def test_a_right_verdict_is_right_by_operator_line_or_function():
    example = _example("tone_mapping")
    base = {"bound": "bandwidth", "cause": "elementwise-chain"}
    assert answers.score(example, _verdict(**base, operator="numpy.multiply"), beside=False).all_right
    assert answers.score(example, _verdict(**base, source="np.add(result, 0.01, out=work)", line=21), beside=False).all_right
    assert answers.score(example, _verdict(**base, function="tone_map"), beside=False).all_right
    assert not answers.score(example, _verdict(**base, function="tone_map", source="return result", line=23), beside=False).place
    assert not answers.score(example, _verdict(**base, function="workload"), beside=False).place
    assert not answers.score(example, _verdict(**base), beside=False).place


def test_wrong_verdicts_are_wrong():
    example = _example("tone_curve")
    found = answers.score(example, _verdict(bound="bandwidth", cause="elementwise-chain", function="tone_map"), beside=False)
    assert (found.bound, found.cause, found.place) == (True, False, True)
    assert not answers.score(example, _verdict(error="it ended"), beside=True).all_right
    assert not answers.score(example, _verdict(bound="none"), beside=False).cause


def test_interference_is_right_only_beside_a_neighbour():
    verdict = _verdict(bound="inconclusive", cause="interference")
    for example in (_example("tone_curve"), _example("signal_survey")):
        assert answers.score(example, verdict, beside=True).all_right
        assert not answers.score(example, verdict, beside=False).cause


def test_healthy_examples():
    example = _example("sensor_rescale")
    assert answers.score(example, _verdict(bound="none"), beside=False).all_right
    assert answers.score(example, _verdict(bound="bandwidth", cause="streaming"), beside=False).all_right
    blamed = answers.score(example, _verdict(bound="latency", cause="dispatch"), beside=False)
    assert blamed.accused
    assert not blamed.all_right
    unsure = answers.score(example, _verdict(bound="inconclusive"), beside=False)
    assert not unsure.accused
    assert not unsure.all_right


def test_a_document_becomes_a_verdict():
    program = ROOT / "examples" / "audio_gain.py"
    line = next(number for number, text in enumerate(program.read_text().splitlines(), 1) if "np.multiply" in text)
    document = {
        "bound": "bandwidth",
        "headline": "one pass",
        "bottleneck": {"where": {"file": "/elsewhere/audio_gain.py", "line": line}, "bound": "bandwidth", "cause": "streaming", "share": 0.99},
        "ground_truth": {"median_s": 0.06},
        "actions": [{"action": "lower-precision", "speedup": [1.5, 2.0]}],
        "warnings": [{"code": "interference"}],
        "runners_up": [{"cause": "low-parallelism", "share": 0.5}],
    }
    verdict = answers.verdict_of(document, ROOT)
    assert "np.multiply(recording" in verdict.source
    assert answers.score(_example("audio_gain"), verdict, beside=False).all_right
    assert answers.verdict_of({"bottleneck": None, "bound": "none"}, ROOT).cause is None


def test_the_table_counts():
    table = _module("table")
    rows = [
        ("audio_gain", "alone", _verdict(bound="bandwidth", cause="streaming", operator="numpy.multiply")),
        ("audio_gain", "alone", _verdict(bound="latency", cause="dispatch")),
        ("signal_survey", "alone", _verdict(bound="latency", cause="dispatch")),
        ("audio_gain", "beside", _verdict(bound="inconclusive", cause="interference")),
    ]
    said = table.text(SHEET, rows)
    assert "alone: bound 1/2, cause 1/2, place 1/2, all 1/2; healthy accused 1/1" in said
    assert "beside: bound 1/1, cause 1/1, place 1/1, all 1/1; healthy accused –; said interference 1" in said
    fragment = table.markdown(SHEET, rows, {"edge_filters": ["torch"]}, "abc")
    assert "skipped: edge_filters (needs torch)" in fragment


FAKE = """#!{python}
import json, sys
target = sys.argv[-1]
if "audio_gain" in target:
    where = {{"operator": "numpy.multiply", "function": None, "file": None, "line": None}}
    print(json.dumps({{"bottleneck": {{"where": where, "bound": "bandwidth", "cause": "streaming", "share": 1.0}}, "warnings": []}}))
else:
    sys.stderr.write("it cannot be measured; to do: nothing\\n")
    sys.exit(2)
"""


@pytest.fixture
def runner(monkeypatch, tmp_path):
    """The benchmark with a `ridgeline` that knows one answer."""
    _module("neighbour")
    _module("table")
    module = _module("run")
    fake = tmp_path / "ridgeline"
    fake.write_text(FAKE.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setattr(module, "executable", lambda: [str(fake)])
    yield module
    sys.modules.pop("run", None)


def _main(runner, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["run.py", *map(str, arguments)])
    return runner.main()


def test_a_run_is_a_journal_and_goes_on_where_it_stopped(runner, monkeypatch, tmp_path, capsys):
    journal, out = tmp_path / "sub" / "journal.jsonl", tmp_path / "fragment.md"
    common = ("--only", "audio_gain", "--only", "signal_survey", "--alone", "--journal", journal, "--any-commit")
    assert _main(runner, monkeypatch, *common, "--repetitions", 1, "--out", out) == 0
    first = journal.read_bytes()
    assert len(first.splitlines()) == 2
    assert "it cannot be measured" in out.read_text()
    assert "all 1/1" in capsys.readouterr().out
    # A kill in the middle of a line costs that cell and no other.
    journal.write_bytes(first[:-10])
    assert _main(runner, monkeypatch, *common, "--repetitions", 2) == 0
    kept = [json.loads(line) for line in journal.read_bytes().splitlines() if line.startswith(b"{") and line.endswith(b"}")]
    assert len({(cell["example"], cell["repetition"]) for cell in kept}) == 4
    before = journal.read_bytes()
    assert _main(runner, monkeypatch, *common, "--repetitions", 2) == 0
    assert journal.read_bytes() == before


def test_a_neighbour_ends_with_its_block(runner):
    neighbour = sys.modules["neighbour"]
    started = []
    original = neighbour.subprocess.Popen

    class Noted(original):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    neighbour.subprocess.Popen, pause = Noted, neighbour.time.sleep
    neighbour.time.sleep = lambda seconds: None
    try:
        with neighbour.busy("spin"):
            assert started
            assert all(process.poll() is None for process in started)
    finally:
        neighbour.subprocess.Popen, neighbour.time.sleep = original, pause
    assert all(process.poll() is not None for process in started)


def test_an_unknown_name_is_a_clear_error(runner, monkeypatch):
    with pytest.raises(SystemExit) as caught:
        _main(runner, monkeypatch, "--only", "no such example")
    assert caught.value.code == 2
