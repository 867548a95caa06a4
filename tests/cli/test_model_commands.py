"""`ridgeline model train`, `validate` and `calibrate` from the command line: files in, files and pages out, one line where it cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ridgeline.core import Column, LatencyTable, MeasuredOn, OperatorList, PlannedOperator, Workload
from ridgeline.core.documents import decode, encode
from ridgeline.flows import model_collect, model_train, model_validate
from ridgeline.flows.model_train import state_file
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.training import Settings, Training, train_prepared
from support.operator_rows import DEVICE, OTHER, device, made_rows

Call = Callable[..., tuple[int, str, str]]
PRODUCT = PlannedOperator(name="product", workload=Workload(kind="gemm", variant="matmul", sizes={"m": 300, "n": 300, "k": 300}))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ridges only, in three folds, and no probe of this machine."""

    def settings(**given: object) -> Settings:
        return Settings(methods=("level", "ridge"), folds=3, **given)  # type: ignore[arg-type]

    for module in (model_train, model_validate):
        monkeypatch.setattr(module, "Settings", settings)
    monkeypatch.setenv("RIDGELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RIDGELINE_NOTEBOOK", str(tmp_path / "notebook.sqlite"))


@pytest.fixture
def table(tmp_path: Path) -> str:
    place = tmp_path / "rows.json"
    place.write_bytes(encode(made_rows(60)))
    return str(place)


@pytest.fixture
def model(run: Call, table: str, tmp_path: Path) -> str:
    place = str(tmp_path / "operators.model")
    assert run("model", "train", table, "-o", place, "--quiet")[0] == 0
    return place


def test_train_writes_a_model_and_says_how_it_did(run: Call, table: str, tmp_path: Path) -> None:
    place = tmp_path / "operators.model"
    code, out, err = run("model", "train", table, "-o", str(place), "--quiet")
    assert code == 0, err
    assert "learned from 180 of 180 rows, 3 families" in " ".join(out.split())
    assert "formula alone" in out
    assert f"wrote {place}" in err
    read = decode(place.read_bytes(), OperatorModel)
    assert set(read.correctors) == {"gemm", "elementwise", "softmax"}
    assert not state_file(place).exists()
    code, _, err = run("model", "train", table, "-o", str(place), "--quiet")
    assert code == 2
    assert "--force" in err
    assert err.count("\n") == 1
    code, out, _ = run("model", "train", table, "-o", str(place), "--force", "--quiet", "--json")
    assert code == 0
    assert json.loads(out)["card"]["rows_learned"] == 180


def test_a_prediction_for_other_threads_than_were_measured_is_flagged(run: Call, tmp_path: Path) -> None:
    rows = msgspec.structs.replace(made_rows(60, kinds=("gemm",)), measured_on={DEVICE: MeasuredOn(threads=4)})
    (tmp_path / "rows.json").write_bytes(encode(rows))
    model = str(tmp_path / "four.model")
    code, out, err = run("model", "train", str(tmp_path / "rows.json"), "-o", model, "--quiet")
    assert code == 0, err
    assert "threads" in out
    (tmp_path / "one.json").write_bytes(encode(OperatorList(name="one", operators=(PRODUCT,))))
    for further, flagged in ((), True), (("--threads", "4"), False), (("--threads", "8"), True):
        code, out, err = run("predict", str(tmp_path / "one.json"), "--device", DEVICE, "--model", model, *further, "--quiet", "--json")
        assert code == 0, err
        said = json.loads(out)["predictions"][0]
        assert any("measured with threads: 4" in reason for reason in said["out_of_range"]) is flagged
        assert said["basis"] == ("learned" if flagged else "interpolated")


def test_an_interrupted_training_is_resumed(run: Call, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, whole = tmp_path / "a.model", tmp_path / "b.model"
    real = train_prepared

    def stops(*given: object, keep: Callable[[Training], None], **named: object) -> OperatorModel:
        def once(state: Training) -> None:
            keep(state)
            raise KeyboardInterrupt

        return real(*given, keep=once, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(model_train, "train_prepared", stops)
    code, _, err = run("model", "train", table, "-o", str(place), "--quiet")
    assert code == 130
    assert "--resume goes on" in err
    assert not place.exists()
    assert set(decode(state_file(place).read_bytes(), Training).finished) == {"elementwise"}
    monkeypatch.setattr(model_train, "train_prepared", real)
    assert run("model", "train", table, "-o", str(place), "--resume", "--quiet")[0] == 0
    assert run("model", "train", table, "-o", str(whole), "--quiet")[0] == 0
    assert place.read_bytes() == whole.read_bytes()
    state_file(place).write_bytes(b"{")
    code, _, err = run("model", "train", table, "-o", str(place), "--resume", "--force", "--quiet")
    assert (code, err.count("\n")) == (2, 1)


def test_train_refuses_what_it_cannot_learn_from_in_one_line(run: Call, table: str, tmp_path: Path) -> None:
    strange, empty, folder = tmp_path / "strange.json", tmp_path / "empty.json", tmp_path / "folder"
    folder.mkdir()
    (folder / "thing.csv").write_text("a,b\n1,2\n")
    strange.write_bytes(encode(LatencyTable.of(latency_s=[1e-3] * 30, kind="gemm", device="a thing", sizes={"m": range(1, 31)})))
    empty.write_bytes(b"")
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(Path(table).read_bytes()[:-100])
    (tmp_path / "other.json").write_bytes(encode(device()))
    for given, said in (
        ([str(tmp_path / "none.json")], "nothing is"),
        ([str(strange)], "a thing"),
        ([str(empty)], "expected"),
        ([str(damaged)], "damaged.json"),
        ([str(folder)], "recorded latencies of one of"),
        ([str(tmp_path / "other.json")], "ridgeline.device/1"),
        ([table, "--device-file", table], "rows.json"),
        ([table, "--level", "150%"], "level"),
        ([table, "-o", str(tmp_path / "no" / "where")], "file that can be written"),
    ):
        code, out, err = run("model", "train", "-o", str(tmp_path / "x.model"), *given, "--quiet")
        assert (code, out, err.count("\n")) == (2, "", 1), (given, err)
        assert said in err, (given, err)


def test_a_device_file_stands_before_the_catalogue(run: Call, tmp_path: Path) -> None:
    mine = msgspec.structs.replace(device(), name="my machine")
    (tmp_path / "device.json").write_bytes(encode(mine))
    rows = made_rows(60, kinds=("gemm",))
    (tmp_path / "rows.json").write_bytes(encode(msgspec.structs.replace(rows, devices=("my machine",))))
    given = ("model", "train", str(tmp_path / "rows.json"), "-o", str(tmp_path / "m.model"), "--quiet")
    assert run(*given)[0] == 2
    code, out, err = run(*given, "--device-file", str(tmp_path / "device.json"))
    assert code == 0, err
    assert "my machine" in out


def test_the_probe_of_the_machine_that_was_measured_is_taken_and_no_other(run: Call, tmp_path: Path) -> None:
    """Two machines share a name: rows say which of them they are of, and a file or a probe of the other one is none of theirs."""
    probes = tmp_path / "cache" / "probe"
    probes.mkdir(parents=True)
    for fingerprint in ("f1", "f2"):
        (probes / f"{fingerprint}.json").write_bytes(encode(msgspec.structs.replace(device(), name="twin", fingerprint=fingerprint)))
    rows = msgspec.structs.replace(made_rows(60, kinds=("gemm",)), devices=("twin",), measured_on={"twin": MeasuredOn(fingerprint="f1")})
    model = tmp_path / "m.model"
    (tmp_path / "rows.json").write_bytes(encode(rows))
    given = ("model", "train", str(tmp_path / "rows.json"), "-o", str(model), "--force", "--quiet")
    assert run(*given)[0] == 0
    assert decode(model.read_bytes(), OperatorModel).devices["twin"].fingerprint == "f1"
    code, _, err = run(*given, "--device-file", str(probes / "f2.json"))
    assert (code, err.count("\n")) == (2, 1)
    assert "the machine that rows of twin are of" in err
    assert "f2; the rows are of f1" in err
    (probes / "f1.json").unlink()
    code, _, err = run(*given)
    assert (code, err.count("\n")) == (2, 1)
    assert "a device of which nothing is known" in err
    (tmp_path / "one.json").write_bytes(encode(OperatorList(name="one", operators=(PRODUCT,))))
    code, out, err = run("predict", str(tmp_path / "one.json"), "--device", str(probes / "f2.json"), "--model", str(model), "--quiet", "--json")
    assert code == 0, err
    said = json.loads(out)["predictions"][0]
    assert said["basis"] == "learned"
    assert any("measured on another machine of the name twin" in reason for reason in said["out_of_range"])


def test_validate_by_shape_row_family_and_device(run: Call, table: str, tmp_path: Path) -> None:
    html = tmp_path / "v.html"
    code, out, err = run("model", "validate", table, "--folds", "3", "--html", str(html), "--json", "--quiet")
    assert code == 0, err
    found = json.loads(out)
    assert (found["schema"], found["held_out"], found["test_rows"], found["folds"]) == ("ridgeline.validation/1", "shape", 180, 3)
    assert found["overall"]["mape"] < 0.05
    assert "<svg" in html.read_text()
    code, out, _ = run("model", "validate", table, "--by", "row", "--folds", "3", "--quiet")
    assert "held out by row" in " ".join(out.split())
    code, out, err = run("model", "validate", table, "--by", "family", "--json", "--quiet")
    assert code == 0, err
    found = json.loads(out)
    assert found["warnings"][-1]["code"] == "out-of-range"
    assert "180 of 180 rows" in found["warnings"][-1]["message"]
    code, _, err = run("model", "validate", table, "--by", "device", "--quiet")
    assert (code, err.count("\n")) == (2, 1)
    two = tmp_path / "two.json"
    two.write_bytes(encode(LatencyTable.joined([made_rows(60, kinds=("gemm",)), made_rows(60, kinds=("gemm",), name=OTHER, seed=1)])))
    code, out, err = run("model", "validate", str(two), "--by", "device", "--json", "--quiet")
    assert code == 0, err
    assert {group["name"] for group in json.loads(out)["groups"] if group["by"] == "device"} == {DEVICE, OTHER}


def test_a_leak_is_refused_before_anything_is_trained(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made_rows(30, kinds=("gemm",))
    twice = tmp_path / "twice.json"
    twice.write_bytes(encode(LatencyTable.joined([rows, msgspec.structs.replace(rows, files=("copied.csv",))])))
    monkeypatch.setattr(model_validate, "train_prepared", None)
    code, _, err = run("model", "validate", str(twice), "--by", "row", "--quiet")
    assert (code, err.count("\n")) == (2, 1)
    assert "the same measurement stands on both sides" in err


def test_a_model_file_is_asked_only_about_what_it_has_not_seen(run: Call, table: str, model: str, tmp_path: Path) -> None:
    code, _, err = run("model", "validate", table, "--model", model, "--quiet")
    assert (code, err.count("\n")) == (2, 1)
    assert "180 of 180 rows whose shape it has learned from" in err
    fresh = tmp_path / "fresh.json"
    fresh.write_bytes(encode(made_rows(40, seed=9, kinds=("gemm",))))
    code, out, err = run("model", "validate", str(fresh), "--model", model, "--json", "--quiet")
    assert code == 0, err
    found = json.loads(out)
    assert (found["test_rows"], found["train_rows"]) == (40, 180)
    assert found["overall"]["mape"] < 0.05
    code, _, err = run("model", "validate", str(fresh), "--model", model, "--by", "shape", "--quiet")
    assert code == 2


def test_rows_that_say_what_ran_around_them_are_known_again(run: Call, tmp_path: Path) -> None:
    plain = made_rows(60)
    around = Column(np.full(len(plain), 1e6), "B")
    place, out = tmp_path / "around.json", str(tmp_path / "around.model")
    place.write_bytes(encode(msgspec.structs.replace(plain, reuse_bytes=around, age_bytes=around)))
    assert run("model", "train", str(place), "-o", out, "--quiet")[0] == 0
    code, _, err = run("model", "validate", str(place), "--model", out, "--quiet")
    assert code == 2
    assert "rows whose shape it has learned from" in err


def pairs_file(place: Path, count: int, *, factor: float = 1.05, slower_from: int = 10**9) -> None:
    draw = np.random.default_rng(0)
    with place.open("w") as file:
        for at in range(count):
            actual = factor * (1.12 if at >= slower_from else 1.0) * float(np.exp(0.03 * draw.standard_normal()))
            driver = "560" if at >= slower_from else "550"
            file.write(json.dumps({"predicted_s": 1e-3, "actual_s": 1e-3 * actual, "group": "gemm @ d", "context": {"driver": driver}}) + "\n")


def test_calibrate_finds_a_shift_proposes_its_cause_and_keeps_old_versions(run: Call, model: str, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs_file(pairs, 200)
    code, out, err = run("model", "calibrate", model, "--pairs", str(pairs), "--json", "--quiet")
    assert code == 0, err
    first = json.loads(out)
    assert (first["taken"], first["pairs"], first["found"]) == (200, 200, [])
    assert first["newest"] >= 1
    assert first["corrections"]["gemm @ d"]["factor"]["value"] == pytest.approx(1.05, abs=0.015)
    # The same file once more, and then longer: only what is new counts.
    assert json.loads(run("model", "calibrate", model, "--pairs", str(pairs), "--json", "--quiet")[1])["taken"] == 0
    pairs_file(pairs, 400, slower_from=200)
    code, out, err = run("model", "calibrate", model, "--pairs", str(pairs), "--json", "--quiet")
    second = json.loads(out)
    assert (second["taken"], second["pairs"]) == (200, 400)
    (change,) = second["found"]
    assert (change["cause"], change["kind"]) == ("driver", "shift")
    assert second["newest"] > first["newest"]
    code, out, _ = run("model", "calibrate", model, "--version", str(first["version"]), "--json", "--quiet")
    old = json.loads(out)
    assert (old["corrections"], old["digest"]) == (first["corrections"], first["digest"])
    page = " ".join(run("model", "calibrate", model, "--quiet")[1].split())
    assert "no level moved" in page, "nothing new moved"
    assert "driver 550 before, 560" in page
    code, _, err = run("model", "calibrate", model, "--version", "99", "--quiet")
    assert (code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2"),
        ('{"predicted_s": 1}', "actual_s"),
        ('{"predicted_s": 0, "actual_s": 1}', "predicted_s"),
        ("[1]" * 9, "line 2"),
        ('"\\ud800"', "line 2"),
    ],
)
def test_a_line_that_is_no_pair_is_named(run: Call, model: str, tmp_path: Path, line: str, said: str) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"predicted_s": 1, "actual_s": 1}\n' + line + "\n")
    code, out, err = run("model", "calibrate", model, "--pairs", str(pairs), "--quiet")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert not Path(f"{model}.calibration").exists(), "nothing of a bad file is taken in"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.jsonl", b"", "empty.jsonl, which is empty"), ("blank.jsonl", b"\n \n", "blank.jsonl, in which all lines are blank"),
        ("folder", None, "folder, which is a directory"), ("nowhere.jsonl", None, "nowhere.jsonl: No such file or directory"),
    ],
)  # fmt: skip
def test_pairs_that_are_none_are_one_line(run: Call, model: str, tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    place = tmp_path / name
    if content is not None:
        place.write_bytes(content)
    elif name == "folder":
        place.mkdir()
    code, out, err = run("model", "calibrate", model, "--pairs", str(place), "--quiet")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "expected a file with a pair of predicted_s and actual_s on each line" in err
    assert said in err
    assert "to do: " in err
    assert not Path(f"{model}.calibration").exists()


def test_a_calibration_of_another_model_or_a_changed_one_is_refused(run: Call, model: str, tmp_path: Path) -> None:
    pairs, state = tmp_path / "pairs.jsonl", tmp_path / "state"
    pairs_file(pairs, 60)
    assert run("model", "calibrate", model, "--pairs", str(pairs), "-o", str(state), "--quiet")[0] == 0
    kept = json.loads(state.read_text())
    kept["calibration"]["versions"][-1]["whole"] = 0.7
    state.write_text(json.dumps(kept))
    code, _, err = run("model", "calibrate", model, "-o", str(state), "--quiet")
    assert (code, err.count("\n")) == (2, 1)
    assert "versions as they were given out" in err
    kept["calibration"]["model"] = "another"
    state.write_text(json.dumps(kept))
    code, _, err = run("model", "calibrate", model, "-o", str(state), "--quiet")
    assert code == 2
    assert "one of another" in err


def test_a_model_file_that_is_none_is_refused_in_one_line(run: Call, table: str, model: str, tmp_path: Path) -> None:
    newer, cut, nested = tmp_path / "newer", tmp_path / "cut", tmp_path / "nested"
    newer.write_bytes(Path(model).read_bytes().replace(b"operator-model/1", b"operator-model/7"))
    cut.write_bytes(Path(model).read_bytes()[:-50])
    nested.write_bytes(b'{"schema":' * 100_000)
    for place, said in (
        (newer, "update ridgeline"), (cut, "cut"), (nested, "nested"), (table, "ridgeline.latencies/1"), (tmp_path, "a folder"),
        (tmp_path / "none", "where nothing is"),
    ):  # fmt: skip
        for command in (("calibrate", str(place)), ("validate", table, "--model", str(place))):
            code, out, err = run("model", *command, "--quiet")
            assert (code, out, err.count("\n")) == (2, "", 1), (place, err)
            assert said in err, (place, err)


def test_calibrate_without_a_notebook_has_nothing_to_take(run: Call, model: str) -> None:
    code, out, err = run("model", "calibrate", model, "--from-notebook", "--quiet")
    assert code == 0, err
    assert "0 new pairs" in out
    assert run("model", "calibrate", model, "--notebook", "x", "--quiet")[0] == 2


def test_collect_measures_for_real_and_says_what_it_holds(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two seconds of this machine: a table that a model can be trained on, its summary in JSON, and no second beginning over it."""
    pytest.importorskip("onnx", reason="onnx, which makes the operators, is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime, which runs them, is not installed")
    # A probe takes a minute, and what a busy machine is told by is tested apart.
    monkeypatch.setattr("ridgeline.flows.model_collect._peak", lambda say: 0.0)
    place = tmp_path / "rows.json"
    code, out, err = run("model", "collect", "-o", str(place), "--time", "2s", "--quiet", "--json")
    assert code == 0, err
    said, kept = json.loads(out), decode(place.read_bytes(), LatencyTable)
    assert said["schema"] == "ridgeline.collected/1"
    assert sum(said["rows"].values()) == len(kept)
    assert len(kept) + sum(each["events"] for each in said["excluded"]) > 3
    assert run("model", "collect", "-o", str(place), "--time", "1s", "--quiet")[0] == 2
    code, out, err = run("model", "collect", "-o", str(place), "--time", "3s", "--quiet", "--resume")
    assert code == 0, err
    assert "operators measured on" in out


def test_an_interrupted_collection_says_that_its_rows_are_kept(run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(out: str, **given: object) -> LatencyTable:
        Path(f"{out}.rows").write_bytes(b"")
        raise KeyboardInterrupt

    monkeypatch.setattr(model_collect, "collect", stops)
    code, _, err = run("model", "collect", "-o", str(tmp_path / "rows.json"), "--quiet")
    assert (code, err.count("\n")) == (130, 1)
    assert "--resume goes on" in err


@pytest.mark.parametrize(("given", "told"), [
    (("--time", "fast"), "fast"), (("--time", "-3s"), "seconds"), (("--time", "0s"), "seconds"), (("--time", "3GB"), "s"), (("-o", ""), "file"),
    (("--seed", "-1"), "seed"),
])  # fmt: skip
def test_collect_refuses_in_one_line(run: Call, tmp_path: Path, given: tuple[str, ...], told: str) -> None:
    code, out, err = run("model", "collect", "-o", str(tmp_path / "rows.json"), *given, "--quiet")
    assert code == 2
    assert out == ""
    assert told in err
    assert not list(tmp_path.glob("rows.json*"))
