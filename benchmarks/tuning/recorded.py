"""What the benchmarks of tuning share: recorded spaces with the configurations that they list as the valid ones, and a line about the machine."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ridgeline.readers.tuning import read_recorded_space
from ridgeline.tuning.space import Configurations

__all__ = ["ROOT", "Recording", "folder", "machine", "recording", "recordings", "state_of_searches"]

ROOT = Path(__file__).resolve().parents[2]


class Recording(NamedTuple):
    """`times`: seconds of each configuration by its number, NaN of one that failed."""

    name: str
    space: Configurations
    times: NDArray[np.float64]

    @property
    def optimum(self) -> float:
        """Seconds of the best."""
        return float(np.nanmin(self.times))

    def as_json(self) -> dict[str, Any]:
        """For a peer in another environment; see `peer_search.py`."""
        return {
            "sizes": self.space.sizes.tolist(),
            "ordered": list(self.space.ordered),
            "values": [list(each) for each in self.space.values],
            "rows": self.space.at(np.arange(self.space.count)).tolist(),
            "times": [None if np.isnan(each) else each for each in self.times.tolist()],
        }


def folder() -> Path | None:
    """The folder of recorded spaces; none, with a word, where there is none."""
    found = os.environ.get("RIDGELINE_DATA")
    if not found or not (Path(found) / "tuning").is_dir():
        print("RIDGELINE_DATA names no folder with tuning/: skipped", file=sys.stderr)
        return None
    return Path(found) / "tuning"


def recordings(where: Path, only: list[str] | None = None) -> list[Recording]:
    """Every recorded space of a folder whose name holds one of the words."""
    paths = sorted(where.rglob("*.json.gz"))
    named = [(path.relative_to(where).as_posix().removesuffix(".json.gz"), path) for path in paths]
    return [recording(name, path) for name, path in named if not only or any(word in name for word in only)]


def recording(name: str, path: Path) -> Recording:
    trials = read_recorded_space(path)
    space = Configurations(trials.space, listed=[trial.config for trial in trials.trials])
    times = np.full(space.count, np.nan)
    numbers = space.numbers(np.array([space.row(trial.config) for trial in trials.trials]))
    for number, trial in zip(numbers.tolist(), trials.trials, strict=True):
        times[number] = np.nan if trial.objective is None else trial.objective.value
    return Recording(name, space, times)


def state_of_searches() -> str:
    """Of the sources that a search is made of, short: results of another state are not mixed."""
    made = hashlib.sha256()
    for path in sorted((ROOT / "src" / "ridgeline" / "tuning").rglob("*.py")):
        made.update(path.read_bytes())
    return made.hexdigest()[:12]


def machine() -> str:
    """Processor, cores, date, and versions of what runs here."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0] if names else cpu
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return f"{cpu}, {os.cpu_count()} cores, {today}; Python {platform.python_version()}, numpy {np.__version__}"
