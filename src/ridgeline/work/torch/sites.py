"""The user's source line behind a dispatch: the innermost frame that is neither the framework's nor ours."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType, FrameType

from ridgeline.core import Site

__all__ = ["SiteFinder"]

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class SiteFinder:
    """Finds sites by walking frames; what a code object is gets decided once."""

    def __init__(self, framework: str) -> None:
        self._framework = os.path.join(framework, "")
        self._packages = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("purelib", "platlib")})
        self._standard = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
        self._rank: dict[CodeType, int] = {}

    def find(self) -> Site | None:
        """Innermost frame of the user's own code, else of an installed package that is not the framework, else `None`."""
        frame: FrameType | None = sys._getframe(1)
        package: FrameType | None = None
        while frame is not None:
            rank = self._rank_of(frame.f_code)
            if rank == 0:
                return _site(frame)
            if rank == 3:  # where our own code called the workload: beyond are our callers, not the user's
                break
            if rank == 1 and package is None:
                package = frame
            frame = frame.f_back
        return _site(package) if package is not None else None

    def _rank_of(self, code: CodeType) -> int:
        """0 user, 1 installed package, 2 framework, standard library or generated code, 3 the recorder's entry."""
        rank = self._rank.get(code)
        if rank is None:
            rank = self._rank[code] = self._classify(code)
        return rank

    def _classify(self, code: CodeType) -> int:
        name = code.co_filename
        if name.startswith(_OURS + os.sep):
            return 3 if code.co_name == "_observed" else 2
        if name.startswith(("<", self._framework)):
            return 2
        if name.startswith(self._packages):  # before the standard library, which holds it on many installations
            return 1
        return 2 if name.startswith(self._standard) else 0


def _site(frame: FrameType) -> Site:
    return Site(file=frame.f_code.co_filename, line=frame.f_lineno, function=frame.f_code.co_qualname)
