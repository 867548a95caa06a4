"""A busy neighbour: one process a CPU that computes (`spin`) or moves memory (`stream`) until its parent is gone or ends it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Literal

__all__ = ["Kind", "busy"]

Kind = Literal["spin", "stream"]

_SPIN = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    total = 0
    for number in range(200_000):
        total += number * number
"""
_STREAM = """
import os, sys
import numpy
parent = int(sys.argv[1])
source = numpy.ones(32_000_000)
copy = numpy.empty_like(source)
while os.getppid() == parent:
    numpy.copyto(copy, source)
"""


@contextlib.contextmanager
def busy(kind: Kind | None) -> Iterator[None]:
    """Keep every usable CPU busy while the block runs; `None` does nothing."""
    if kind is None:
        yield
        return
    code = _SPIN if kind == "spin" else _STREAM
    command = [sys.executable, "-c", code, str(os.getpid())]
    neighbours = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in os.sched_getaffinity(0)]
    try:
        # Until they have left their own start behind.
        time.sleep(1.0)
        yield
    finally:
        for neighbour in neighbours:
            neighbour.kill()
        for neighbour in neighbours:
            neighbour.wait()
