"""A kept calibration in predictions: applied to the model and device that its pairs were of, said, left out when asked, refused when damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest

from ridgeline.cli import main
from ridgeline.core.documents import decode, encode
from ridgeline.flows.predict import predict
from ridgeline.model.calibration import Pair, start, updated
from ridgeline.model.calibration.report import Ledger
from ridgeline.model.operators.model import OperatorModel
from ridgeline.model.operators.training import Settings, train_operator_model
from support.onnx_models import two_products
from support.operator_rows import DEVICE, OTHER, device, made_rows

FACTOR = 1.5
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["predict", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def trained(tmp_path: Path) -> str:
    onnx.save(two_products(96), str(tmp_path / "net.onnx"))
    settings = Settings(methods=("level", "ridge"), folds=3)
    (tmp_path / "own.model").write_bytes(encode(train_operator_model(made_rows(60), {DEVICE: device()}, settings)))
    return "own.model"


def keep(place: Path, *, group: str = f"net.onnx @ {DEVICE}", of: str = "", count: int = 500) -> None:
    data = of or decode((place / "own.model").read_bytes(), OperatorModel).data_version
    pairs = [Pair(predicted_s=1e-3, actual_s=FACTOR * 1e-3, group=group)] * count
    (place / "own.model.calibration").write_bytes(encode(Ledger(calibration=updated(start(data), pairs))))


def asked(run: Call, *further: str, on: str = DEVICE) -> dict[str, Any]:
    code, out, err = run("net.onnx", "--device", on, "--model", "own.model", "--json", "--quiet", *further)
    assert code == 0, err
    return json.loads(out)


def test_a_kept_calibration_is_applied_and_said(run: Call, trained: str, tmp_path: Path) -> None:
    (before,) = asked(run)["predictions"]
    keep(tmp_path)
    (after,) = asked(run)["predictions"]
    assert after["latency_s"]["value"] == pytest.approx(FACTOR * before["latency_s"]["value"], rel=0.02)
    assert after["throughput_per_s"]["value"] == pytest.approx(before["throughput_per_s"]["value"] / FACTOR, rel=0.02)
    assert "calibration version" in after["data_version"]
    assert "× 1." in after["data_version"]
    assert "calibration of" in after["latency_s"]["origin"]
    (without,) = asked(run, "--no-calibration")["predictions"]
    assert without == before


def test_what_was_measured_here_says_nothing_of_another_machine(run: Call, trained: str, tmp_path: Path) -> None:
    (before,) = asked(run, on=OTHER)["predictions"]
    keep(tmp_path)
    assert asked(run, on=OTHER)["predictions"] == [before]


def test_of_another_model_on_the_same_device_a_part_of_it_counts(run: Call, trained: str, tmp_path: Path) -> None:
    (before,) = asked(run)["predictions"]
    keep(tmp_path, group=f"other.onnx @ {DEVICE}")
    (after,) = asked(run)["predictions"]
    assert 1.0 < after["latency_s"]["value"] / before["latency_s"]["value"] < FACTOR**0.5


def test_few_pairs_correct_nothing(run: Call, trained: str, tmp_path: Path) -> None:
    (before,) = asked(run)["predictions"]
    keep(tmp_path, count=5)
    assert asked(run)["predictions"] == [before]


def test_what_no_measured_run_had_is_doubted(run: Call, trained: str, tmp_path: Path) -> None:
    keep(tmp_path)
    (found,) = asked(run, "--memory-contention", "20%")["predictions"]
    assert any("whether it holds with a state of the machine" in reason for reason in found["out_of_range"])
    (found,) = asked(run, "--threads", "2")["predictions"]
    assert not any("whether it holds" in reason for reason in found["out_of_range"])


def test_a_calibration_of_another_training_is_left_out_and_said(run: Call, trained: str, tmp_path: Path) -> None:
    (before,) = asked(run)["predictions"]
    keep(tmp_path, of="another")
    found = asked(run)
    assert found["predictions"] == [before]
    assert [each["code"] for each in found["warnings"]].count("other-calibration") == 1


def test_a_damaged_one_is_refused_in_one_line(run: Call, trained: str, tmp_path: Path) -> None:
    keep(tmp_path)
    place = tmp_path / "own.model.calibration"
    changed = json.loads(place.read_bytes())
    changed["calibration"]["versions"][-1]["whole"] = 0.7
    for text in (json.dumps(changed), "{", ""):
        place.write_text(text)
        code, out, err = run("net.onnx", "--device", DEVICE, "--model", "own.model", "--quiet")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "own.model.calibration" in err
        assert "--no-calibration" in err
        assert run("net.onnx", "--device", DEVICE, "--model", "own.model", "--quiet", "--no-calibration")[0] == 0


def test_pairs_are_of_what_the_model_alone_says(trained: str, tmp_path: Path) -> None:
    """A prediction that was corrected already would be corrected twice."""
    keep(tmp_path)
    options: dict[str, Any] = {"trained": [str(tmp_path / trained)]}
    raw, used = (
        predict(str(tmp_path / "net.onnx"), [DEVICE], calibrated=calibrated, **options).predictions[0].latency_s for calibrated in (False, True)
    )
    assert used.value == pytest.approx(FACTOR * raw.value, rel=0.02)
