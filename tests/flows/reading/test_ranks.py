"""Two processes that communicate over Gloo, one of which sleeps: the report names it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from ridgeline.flows.read import read

_NO_GLOO = 77
_PROGRAM = """
import os, sys, time
from pathlib import Path
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

if not dist.is_available() or not dist.is_gloo_available():
    sys.exit(77)
rank, folder = int(sys.argv[1]), Path(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=(folder / "store").as_uri(), rank=rank, world_size=2)
x = torch.ones(100)
dist.all_reduce(x)
with profile(activities=[ProfilerActivity.CPU], with_stack=True) as recorded:
    for _ in range(6):
        if rank == 1:
            time.sleep(0.1)
        dist.all_reduce(x)
recorded.export_chrome_trace(str(folder / f"rank{rank}.json"))
dist.destroy_process_group()
# Threads of Gloo that are still there at an ordinary end make it an abort now and then.
os._exit(0)
"""


def test_the_rank_that_sleeps_is_the_one_that_is_late(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    processes = [subprocess.Popen([sys.executable, str(program), str(rank), str(tmp_path)]) for rank in range(2)]
    try:
        codes = [process.wait(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    if codes == [_NO_GLOO] * 2:
        pytest.skip("this PyTorch was built without Gloo")
    assert codes == [0, 0]
    sleeps = "<built-in function sleep>"
    report = read([tmp_path / "rank0.json", tmp_path / "rank1.json"], what_if={sleeps: None})
    first, second = report.ranks
    assert (first.rank, second.rank) == (0, 1)
    assert second.last > first.last
    assert 0 < second.awaited_s <= first.waited_s <= first.window_s
    # What makes it late is an event of the graph, and the other waits for it there as well.
    (found,) = report.what_if
    assert found.after_s < found.before_s
    assert any("collectives of the host" in warning.message for warning in report.warnings)
