"""`put_back_settings`: what every start of ridgeline does first. Costs a look into one folder where nothing was left.

What is put back, and what is not, is decided by `machine.control`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ridgeline.core import RidgelineError
from ridgeline.core.home import state_directory

__all__ = ["put_back_settings"]


def put_back_settings(report: Callable[[str, float | None], None]) -> None:
    """Put back the settings of the machine that a killed run has left set.

    Never raises: settings that cannot be put back are told, and tried again by the next start.

    Args:
        report: told in one line what was put back, or why not.
    """
    # Without a home there is no journal either.
    with contextlib.suppress(RidgelineError, OSError):
        if not any(state_directory("control").glob("*.journal")):
            return
        from ridgeline.machine.control import restore_left_over  # late: nearly no start needs it

        for entry in restore_left_over():
            report(f"note: {entry}", None)
