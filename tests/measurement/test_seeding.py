"""Two processes make the same random numbers, whenever the libraries that make them are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

_CODE = """
import random, sys
{before}
from ridgeline.measurement.seeding import seed_everything
seed_everything(7)
assert {loaded} == ("numpy" in sys.modules)
import numpy as np
print(random.random(), np.random.rand())
"""


@pytest.mark.parametrize(("before", "loaded"), [("", False), ("import numpy", True)])
def test_numpy_is_seeded_before_and_after_its_import(before: str, loaded: bool) -> None:
    import random

    import numpy as np

    random.seed(7)
    state = np.random.RandomState(7)
    command = [sys.executable, "-c", _CODE.format(before=before, loaded=loaded)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert said.split() == [repr(random.random()), repr(float(state.rand()))]
