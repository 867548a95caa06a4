"""Reads number plates from a lorry park's night pictures: load each picture, look for the plate, note it down."""

import zlib

import numpy as np

import ridgeline

_random = np.random.default_rng(33)
_pictures = [zlib.compress(_random.integers(0, 40, (240, 240), dtype=np.uint8).tobytes(), 1) for _ in range(40)]


@ridgeline.stage("load")
def load(picture):
    return np.frombuffer(zlib.decompress(picture), np.uint8).reshape(240, 240)


@ridgeline.stage("search")
def search(picture):
    best, place = -1, (0, 0)
    for row in range(0, 200, 20):
        line = picture[row].tolist()
        for column in range(200):
            contrast = sum(abs(line[column + step] - line[column + step + 1]) for step in range(8))
            if contrast > best:
                best, place = contrast, (row, column)
    return place


@ridgeline.stage("note")
def note(picture, place):
    row, column = place
    return zlib.crc32(picture[row : row + 8, column : column + 32].tobytes())


def workload():
    for data in _pictures:
        picture = load(data)
        note(picture, search(picture))
