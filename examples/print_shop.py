"""A print shop has its four plates made by a helper program, and waits for each."""

import subprocess

plates = ["cyan", "magenta", "yellow", "black"]


def make(plate):
    return subprocess.run(["sh", "-c", f"sleep 0.02; echo {plate}"], check=True, capture_output=True).stdout


def workload():
    return [make(plate) for plate in plates]
