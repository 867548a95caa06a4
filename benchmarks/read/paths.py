"""Whether the critical path tiles the window and the replay gives it back, on every recording of a folder that has a timeline.

Of each: events, nodes and edges of its graph, how many edges were assumed, what the path explains, and how long graph, path, replay and slack took
(thread time of one run; the figures of record are those of a quiet machine). It fails if a path leaves a hole, a replay gives another time for any
node, or an event on the path has slack.

    RIDGELINE_DATA=FOLDER python benchmarks/read/paths.py [--least BYTES] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ridgeline.core import RidgelineError, Timeline
from ridgeline.readers import read_profile
from ridgeline.timeline.critical_path import critical_path, path_of
from ridgeline.timeline.dependencies import graph_of
from ridgeline.timeline.replay import replayed, slack

Found = TypeVar("Found")
HEAD = "| recording | events | nodes | edges | assumed | tiles | replay | slack 0 on the path | explained | graph s | path s | replay s | slack s |"


def timed(call: Callable[[], Found]) -> tuple[Found, float]:
    start = time.thread_time()
    found = call()
    return found, time.thread_time() - start


def row(name: str, t: Timeline) -> tuple[str, bool]:
    """A line of the table, and whether all held."""
    deps, graph_s = timed(lambda: graph_of(t))
    path, walk_s = timed(lambda: path_of(deps))
    summary, path_s = timed(lambda: critical_path(t, deps=deps, path=path, most=1))
    ticks, replay_s = timed(lambda: replayed(deps))
    room, slack_s = timed(lambda: slack(t, deps=deps))
    start, end = deps.window
    tiles = end == start if not len(path.start) else bool(path.start[0] == start and path.end[-1] == end and (path.start[1:] == path.end[:-1]).all())
    same = bool((ticks == deps.tick).all())
    tight = bool((room[path.event[path.own]] == 0).all())
    cells = [name, len(t), len(deps), len(deps.source), int(deps.assumed.sum()), tiles, same, tight, f"{summary.covered_share:.2%}"]
    cells += [f"{seconds:.3f}" for seconds in (graph_s, walk_s + path_s, replay_s, slack_s)]
    return "| " + " | ".join("yes" if cell is True else "NO" if cell is False else str(cell) for cell in cells) + " |", tiles and same and tight


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=0, help="only files of so many bytes")
    parser.add_argument("--out", type=Path, help="write the table here as well")
    arguments = parser.parse_args()
    folder = os.environ.get("RIDGELINE_DATA")
    if not folder:
        print("RIDGELINE_DATA names no folder of recordings: skipped", file=sys.stderr)
        return 0
    lines, failed, refused = [HEAD, "|" + "---|" * HEAD.count("|", 1)], 0, 0
    for file in sorted(Path(folder).rglob("*")):
        if not file.is_file() or file.stat().st_size < arguments.least:
            continue
        try:
            profile = read_profile(str(file))
        except RidgelineError:
            refused += 1
            continue
        if profile.timeline is not None:
            line, held = row(str(file.relative_to(folder)), profile.timeline)
            failed += not held
            lines.append(line)
    text = "\n".join(lines) + f"\n\n{len(lines) - 2} recordings with a timeline, {failed} failed; {refused} files are no profile that is read.\n"
    print(text)
    if arguments.out:
        arguments.out.write_text("## Critical paths and replays of recordings\n\n" + text)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
