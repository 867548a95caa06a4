"""CPU seconds until the valid configurations of a space can be counted and drawn: Ridgeline, Kernel Tuner and pyATF on published spaces, in one run.

Spaces and their counts are those of `tuning/spaces.toml` in the folder that RIDGELINE_DATA names. The tools take turns, every repetition makes the
space anew. Beside, a made space of more than 10⁸ valid configurations is counted and a thousand of them are drawn, which are held against exact
counts of every value of every parameter (χ²).

The peers run in an environment of their own, `build/peers/tuning/bin/python` or `--peers`; what is not installed there is told and left out:

    python -m venv build/peers/tuning
    build/peers/tuning/bin/pip install kernel_tuner==1.5.0 pyatf==0.0.13

    RIDGELINE_DATA=FOLDER python benchmarks/tuning/construction.py [--repetitions N] [--peers PYTHON] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from recorded import ROOT, folder, machine

from ridgeline.core import Parameter, Space
from ridgeline.tuning.space import Configurations

#: Limits of a peer for one space.
SECONDS, BYTES = 120.0, 6 << 30
TOOLS = ("ridgeline", "kernel_tuner", "pyatf")
DRAWN = 1000
POWERS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
#: Blocks, tiles and what divides them, in shared memory: made, as no published space is so large.
LARGE: dict[str, Any] = {
    "parameters": {
        "block_x": POWERS, "block_y": POWERS, "block_z": [1, 2, 4, 8, 16, 32, 64], "tile_x": list(range(1, 17)), "tile_y": list(range(1, 17)),
        "tile_z": list(range(1, 9)), "unroll_x": list(range(1, 17)), "unroll_y": list(range(1, 17)), "vector": [1, 2, 4, 8], "stages": [1, 2, 3, 4],
        "cached": [0, 1], "padded": [0, 1], "order": [0, 1, 2], "blocks": [1, 2, 3, 4],
    },
    "constraints": [
        "32 <= block_x * block_y * block_z <= 1024", "tile_x % unroll_x == 0", "tile_y % unroll_y == 0", "tile_x % vector == 0",
        "cached == 0 or block_x * tile_x * stages * 4 <= 49152", "padded == 0 or cached == 1",
    ],
}  # fmt: skip


class Made(NamedTuple):
    """Valid configurations and CPU seconds; −1 where it was not made."""

    count: int
    cpu_s: float
    error: str = ""


class Peers:
    """A process of the peers' environment."""

    def __init__(self, python: Path) -> None:
        script = Path(__file__).with_name("peer_construction.py")
        self._process = subprocess.Popen(
            [str(python), "-W", "ignore", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        said = self._answer()
        self.absent: dict[str, str] = said["absent"]
        self.versions: dict[str, str] = said["versions"]

    def made(self, tool: str, space: dict[str, Any]) -> Made:
        """One space by one tool."""
        assert self._process.stdin
        request = {"tool": tool, "parameters": space["parameters"], "constraints": space["constraints"], "seconds": SECONDS, "bytes": BYTES}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Made(**self._answer())

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the peers' process ended with {self._process.wait()}")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def space_of(found: dict[str, Any], more: tuple[str, ...] = ()) -> Space:
    parameters = tuple(Parameter(name=name, values=tuple(values)) for name, values in found["parameters"].items())
    return Space(parameters=parameters, constraints=(*found["constraints"], *more))


def own(found: dict[str, Any]) -> Made:
    gc.collect()
    begin = time.thread_time()
    count = Configurations(space_of(found)).count
    return Made(count, time.thread_time() - begin)


def repeated(found: dict[str, Any], peers: Peers | None, repetitions: int) -> dict[str, list[Made]]:
    """Tool → one of each repetition, by turns."""
    tools = [tool for tool in TOOLS if tool == "ridgeline" or (peers and tool not in peers.absent)]
    made: dict[str, list[Made]] = {tool: [] for tool in tools}
    for _ in range(repetitions):
        for tool in tools:
            if tool == "ridgeline":
                made[tool].append(own(found))
            elif peers and not (made[tool] and made[tool][-1].error):
                made[tool].append(peers.made(tool, found))
    return made


def seconds(made: list[Made]) -> str:
    """Median with the least and the most."""
    if made[-1].error:
        return made[-1].error
    times = sorted(each.cpu_s for each in made)
    return f"{np.median(times):.4f} ({times[0]:.4f}–{times[-1]:.4f})"


def published(spaces: dict[str, Any], peers: Peers | None, repetitions: int) -> Iterator[str]:
    """A line a space."""
    yield "| space | raw | valid | counts | ridgeline, s | kernel_tuner, s | pyatf, s | ridgeline is faster than kernel_tuner by | than pyatf by |"
    yield "|---|--:|--:|---|--:|--:|--:|--:|--:|"
    for name, found in spaces.items():
        made = repeated(found, peers, repetitions)
        counts = {tool: made[tool][0].count for tool in made}
        wrong = ", ".join(f"{tool} {count:,}" for tool, count in counts.items() if count != found["valid"])
        middle = {tool: float(np.median([each.cpu_s for each in made[tool]])) for tool in made}
        cells = [
            name,
            f"{found['raw']:,}",
            f"{found['valid']:,}",
            wrong or "equal",
            *(seconds(made[tool]) if tool in made else "absent" for tool in TOOLS),
        ]
        cells += [f"{middle[tool] / middle['ridgeline']:.2f} ×" if tool in made and not made[tool][-1].error else "" for tool in TOOLS[1:]]
        yield "| " + " | ".join(cells) + " |"


def large(peers: Peers | None, repetitions: int) -> Iterator[str]:
    """The space that nobody lists."""
    times = []
    for seed in range(repetitions):
        begun = time.thread_time()
        configurations = Configurations(space_of(LARGE))
        made = time.thread_time()
        rows = configurations.drawn(DRAWN, np.random.default_rng(seed))
        times.append((made - begun, time.thread_time() - made))
    counted, drawn = (sorted(each) for each in zip(*times, strict=True))
    assert configurations.valid(rows).all()
    yield (
        f"\nA made space without a list: {configurations.raw_count:,} raw, {configurations.count:,} valid. Counted in {np.median(counted):.3f} s "
        f"({counted[0]:.3f}–{counted[-1]:.3f}), {DRAWN} different ones drawn in {np.median(drawn):.3f} s ({drawn[0]:.3f}–{drawn[-1]:.3f}) of CPU. "
        f"Values of {20 * DRAWN:,} draws against exact counts: {evenness(configurations)}.\n"
    )
    for tool in TOOLS[1:] if peers else ():
        if peers and tool not in peers.absent:
            found = peers.made(tool, LARGE)
            equal = "the same count" if found.count == configurations.count else f"{found.count:,} configurations"
            yield f"{tool} on it: {found.error or f'{equal} in {found.cpu_s:.1f} s'}.\n"


def evenness(configurations: Configurations) -> str:
    """χ² of each parameter's values, of draws with the same ones again, against counts of the space with that value alone."""
    from scipy.stats import chisquare

    rows = configurations.drawn(20 * DRAWN, np.random.default_rng(1), different=False)
    least, name = 1.0, ""
    for place, parameter in enumerate(configurations.names):
        exact = np.array([Configurations(space_of(LARGE, (f"{parameter} == {value}",))).count for value in configurations.values[place]], float)
        kept = exact * len(rows) / exact.sum() >= 5
        seen = np.bincount(rows[:, place], minlength=len(exact)).astype(float)
        # Values that are too rare for χ² are counted together.
        rare = [seen[~kept].sum(), exact[~kept].sum()] if (~kept).any() else []
        observed, expected = np.append(seen[kept], rare[:1]), np.append(exact[kept], rare[1:])
        found = float(chisquare(observed, expected * observed.sum() / expected.sum()).pvalue) if len(observed) > 1 else 1.0
        least, name = min((least, name), (found, parameter))
    return f"χ² of each of {len(configurations.names)} parameters, the least p is {least:.3f} (of {name})"


def report(where: Path, peers: Peers | None, repetitions: int) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in peers.versions.items()) if peers else "no peers"
    yield "## Making spaces: counted, CPU seconds\n"
    yield f"{machine()}; peers: {versions}. Median of {repetitions} by turns, with the least and the most.\n"
    yield from published(tomllib.loads((where / "spaces.toml").read_text(encoding="utf-8")), peers, repetitions)
    yield from large(peers, repetitions)
    for tool, why in (peers.absent if peers else {}).items():
        yield f"\nAbsent: {tool}: {why}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found = ROOT / "build" / "peers" / "tuning" / "bin" / "python"
    parser.add_argument("--repetitions", type=int, default=5, help="of each tool on each space")
    parser.add_argument("--peers", type=Path, default=found, help="python of the environment with the peers")
    parser.add_argument("--out", type=Path, help="write the tables here as well")
    given = parser.parse_args()
    where = folder()
    if where is None:
        return 0
    peers = Peers(given.peers) if given.peers.exists() else None
    if peers is None:
        print(f"{given.peers}: no environment with the peers, all of them left out (see --help)", file=sys.stderr)
    lines = []
    try:
        for line in report(where, peers, given.repetitions):
            print(line, flush=True)
            lines.append(line)
    finally:
        if peers:
            peers.close()
    if given.out:
        given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
