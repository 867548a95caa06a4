"""`installed`: the hooks of a recorder as builtins, for as long as its profile lasts."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .hooks import hooks
from .recorder import Recorder
from .transform import hook_name

__all__ = ["installed"]


@contextmanager
def installed(recorder: Recorder) -> Iterator[Recorder]:
    """Hooks are builtins while this lasts, so that neither `globals()` nor `dir()` of the user's module shows them."""
    names = {hook_name(name): hook for name, hook in hooks(recorder).items()}
    # One profile at a time: nested use gets its own hooks back afterwards.
    before = {name: vars(builtins).get(name) for name in names}
    limit = sys.getrecursionlimit()
    # A call of the user's through a hook is two frames.
    sys.setrecursionlimit(2 * limit)
    vars(builtins).update(names)
    try:
        yield recorder
    finally:
        recorder.retire()
        sys.setrecursionlimit(limit)
        for name, old in before.items():
            if old is None:
                vars(builtins).pop(name, None)
            else:
                setattr(builtins, name, old)
