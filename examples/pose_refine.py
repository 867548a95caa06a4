"""Refines the pose of a rig from a calibrated camera. Every round asks the calibration for its correction again; the calibration does not change."""

import numpy as np

_random = np.random.default_rng(51)
calibration = _random.standard_normal((700, 700)) + 40 * np.eye(700)
points = _random.standard_normal((700, 24))


def correction():
    return np.linalg.inv(calibration)


def refine(rounds=8):
    pose = points
    for _ in range(rounds):
        pose = 0.5 * pose + 0.5 * (correction() @ pose)
    return pose


def workload():
    return refine()
