"""Thread counts: how many threads the numerical libraries of the target start. Measuring wants a number that is known, and no more than may run.

Libraries count the CPUs of the affinity mask and know nothing of a container's quota: four threads under a quota of two CPUs are stopped by the
quota in every period. Where a number is asked for, or the quota binds, it is given to the processes that are started from here.
"""

from __future__ import annotations

import os

from ..host import read_machine
from .changes import VariableChange
from .reading import Asked, Reading

__all__ = ["VARIABLES", "read_threads"]

#: Variables that runtimes take their number of threads from.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def read_threads(asked: Asked) -> Reading:
    """The setting `threads`."""
    machine = read_machine(asked.root)
    given = {name: os.environ.get(name, "") for name in VARIABLES}
    said = ", ".join(f"{name}={value}" for name, value in given.items() if value)
    found = said or "as each library chooses"
    wanted = _wanted(asked, machine.cpus_usable, len(machine.cpus_allowed))
    if wanted is None or (said and asked.threads is None):  # the user has chosen
        return Reading(name="threads", found=found)
    changes = tuple(VariableChange(key=name, found=value, wanted=str(wanted)) for name, value in given.items() if value != str(wanted))
    return Reading(name="threads", found=found, wanted=str(wanted), changes=changes)


def _wanted(asked: Asked, usable: int, allowed: int) -> int | None:
    if asked.threads is not None:
        return asked.threads
    return usable if usable < allowed else None
