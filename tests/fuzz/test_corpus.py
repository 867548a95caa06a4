"""What fuzzing came upon is read or refused in one line, and takes no more memory than is stated."""

from __future__ import annotations

import base64
import json
import signal
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import pytest

from ridgeline.core import Profile, ReadError
from ridgeline.readers import Limits, read_profile

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.jsonl"))
#: A file takes at most this much memory, and so many times its size beside it (docs/readers.md).
_BASE_BYTES, _TIMES = 96 * 2**20, 250
_HANG_S = 60


@contextmanager
def no_longer_than(seconds: int):
    """A hang is a failure and not a machine that stands still."""

    def rung(signum, frame):
        raise TimeoutError(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGALRM, rung)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("path", CORPUS, ids=[path.stem for path in CORPUS])
def test_every_input_is_read_or_refused(path, tmp_path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines
    file = tmp_path / "input"
    for number, line in enumerate(lines, 1):
        data = base64.b64decode(json.loads(line)["data"])
        file.write_bytes(data)
        tracemalloc.start()
        try:
            with no_longer_than(_HANG_S):
                found = read_profile(file, format=path.stem, limits=Limits(unpacked_bytes=2**26, whole_bytes=2**26))
        except ReadError as error:
            found = error
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert isinstance(found, Profile) or "input" in str(found), f"line {number}: the file is not named: {found}"
        assert peak <= _BASE_BYTES + _TIMES * len(data), f"line {number}: {peak} bytes of memory for {len(data)} of input"
