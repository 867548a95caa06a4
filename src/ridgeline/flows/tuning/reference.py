"""The right result of a kernel, from another kernel or a configuration that is known to be right; called in a worker."""

from __future__ import annotations

import numpy as np

from ridgeline.backends import BuildFailed, CompileCache, Job, RunFailed, ready
from ridgeline.core import TargetFailed

__all__ = ["write_reference"]


def write_reference(job: Job, path: str, cache: str = "") -> list[str]:
    """Run a job once and write its outputs as an `.npz`.

    Returns:
        The names of the outputs.

    Raises:
        TargetFailed: it does not compile, does not run, or has no outputs.
    """
    runner = ready(job.runner)
    try:
        with CompileCache(cache or None).held(runner, job) as built:
            kernel = runner.load(job, built.files)
            try:
                kernel.reset()
                kernel.run()
                found = {name: np.array(array) for name, array in kernel.outputs().items()}
            finally:
                kernel.close()
    except (BuildFailed, RunFailed) as error:
        raise TargetFailed("a reference that runs", found=str(error)[-2000:], remedy="mend [kernel.check], or what compiles and runs it") from error
    if not found:
        raise TargetFailed("a reference with outputs", found="none", remedy="mark arguments with output = true")
    with open(path, "wb") as file:
        np.savez(file, **found)  # type: ignore[arg-type]
    return sorted(found)
