"""A wildlife camera's recordings: read a frame, enhance it, pack it for the archive. Each frame by itself."""

import time
import zlib

import numpy as np

import ridgeline

_random = np.random.default_rng(31)
_frames = [zlib.compress(_random.integers(0, 24, 600_000, dtype=np.uint8).tobytes(), 1) for _ in range(8)]


def fetch(index):
    time.sleep(0.004)
    return np.frombuffer(zlib.decompress(_frames[index]), np.uint8)


def enhance(frame):
    return np.sort(frame[: len(frame) // 3].reshape(-1, 50), axis=1)


def pack(frame):
    return len(zlib.compress(frame.tobytes(), 1))


def workload():
    total = 0
    for index in range(len(_frames)):
        with ridgeline.stage("fetch"):
            frame = fetch(index)
        with ridgeline.stage("enhance"):
            better = enhance(frame)
        with ridgeline.stage("pack"):
            total += pack(better)
    return total
