"""A diagnosis is of one input, and says so where there are several."""

from __future__ import annotations

from pathlib import Path

import pytest

from ridgeline.measurement.agent import prepare
from ridgeline.targets import parse_target


@pytest.mark.parametrize(("count", "expected"), [(1, []), (3, ["one-of-many-inputs"])])
def test_the_first_of_many_inputs_is_diagnosed_and_that_is_said(tmp_path: Path, count: int, expected: list[str]) -> None:
    path = tmp_path / f"many_inputs_{count}.py"
    path.write_text(f"def work(x): return x\ndef inputs(): return {{f'case {{n}}': n for n in range({count})}}\n")
    report = prepare(parse_target(f"{path}:work", input=f"{path}:inputs"))
    assert [caution.code for caution in report.warnings] == expected
    if expected:
        assert "case 0" in report.warnings[0].message
