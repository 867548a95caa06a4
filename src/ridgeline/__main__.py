"""Where the program begins: an interrupt while it is still loading ends it as one later does, with one line and 130.

Everything after loading is the business of `cli`. Nothing of ridgeline or of its libraries is imported before the handler stands.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

__all__ = ["main"]


def main() -> int:
    """Load the command line and run it; returns the exit code."""
    before = signal.getsignal(signal.SIGINT)
    # A shell starts background jobs with interrupts ignored, and that stays so.
    if before is signal.default_int_handler:
        # Not an exception: libraries that are being loaded turn one into errors of their own.
        signal.signal(signal.SIGINT, _interrupted_early)
    from ridgeline.cli import main as run

    signal.signal(signal.SIGINT, before)
    return run()


def _interrupted_early(number: int, frame: FrameType | None) -> None:
    os.write(2, b"ridgeline: interrupted; nothing was kept\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
