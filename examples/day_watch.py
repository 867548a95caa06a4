"""A wildlife camera's recordings by day: one thread reads frames, one enhances them, one packs them for the archive."""

import queue
import threading
import zlib

import numpy as np

import ridgeline

_random = np.random.default_rng(32)
_frames = [zlib.compress(_random.integers(0, 24, 600_000, dtype=np.uint8).tobytes(), 1) for _ in range(12)]


def fetch(index):
    return np.frombuffer(zlib.decompress(_frames[index]), np.uint8)


def enhance(frame):
    return np.sort(frame[: len(frame) // 3].reshape(-1, 50), axis=1)


def pack(frame):
    return len(zlib.compress(frame.tobytes(), 1))


def read_all(out):
    for index in range(len(_frames)):
        with ridgeline.stage("fetch"):
            frame = fetch(index)
        out.put(frame)
    out.put(None)


def enhance_all(frames, out):
    while (frame := frames.get()) is not None:
        with ridgeline.stage("enhance"):
            better = enhance(frame)
        out.put(better)
    out.put(None)


def workload():
    raw, better = queue.Queue(2), queue.Queue(2)
    workers = [threading.Thread(target=read_all, args=(raw,)), threading.Thread(target=enhance_all, args=(raw, better))]
    for worker in workers:
        worker.start()
    total = 0
    while (frame := better.get()) is not None:
        with ridgeline.stage("pack"):
            total += pack(frame)
    for worker in workers:
        worker.join()
    return total
