"""An exchange writes each order to its journal and makes sure that it is on the disk before it answers."""

import os
import tempfile

journal = tempfile.TemporaryFile()  # noqa: SIM115 - it stays open as long as the process
order = b"buy 100 shares at 17.03\n" * 8


def record():
    journal.seek(0)
    for _ in range(20):
        journal.write(order)
        journal.flush()
        os.fsync(journal.fileno())


def workload():
    digest = sum(order)
    record()
    return digest
