"""What a test does with a job inside a worker."""

from __future__ import annotations

from ridgeline.backends import Job, find


def run(job: Job) -> int:
    """Load, run and close; the number of outputs."""
    kernel = find(job.runner).load(job, {})
    kernel.run()
    found = len(kernel.outputs())
    kernel.close()
    return found
