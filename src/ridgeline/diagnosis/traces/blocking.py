"""Names of calls that block: that sleep, or wait for a disk, the network or another process, as the tools of Python and of native code write them.

A plain name counts only where it is no function of a Python file: a program may call its own functions `read`. Locks are not among them: what holds
one is a thread of the same program.
"""

from __future__ import annotations

import re

__all__ = ["blocks", "sleeps"]

_SLEEPS = r"(?:clock_|hrtimer_|do_|u)?(?:nano)?sleep"
_CALLS = (
    rf"{_SLEEPS}|recv(?:_into|from|from_into|msg|mmsg)?|recv_bytes|p?readv?(?:64)?|readinto1?|readline|readlines|send(?:all|to|msg|file)?|connect|accept4?"
    r"|p?select6?|p?poll|epoll_p?wait|kevent|waitpid|wait[34]|fsync|fdatasync|do_handshake|getaddrinfo|input"
)
#: `<built-in method time.sleep>`, `<built-in function sleep>`, `<method 'recv' of '_socket.socket' objects>`, `<built-in method poll of …>`.
_BUILT_IN = re.compile(rf"^<(?:built-in )?(?:method|function) '?(?:[\w.]+\.)?(?:{_CALLS})'?[ >]")
#: `sleep`, `time.sleep`, `socket.recv`, `__libc_recv`, `__GI___clock_nanosleep`, `do_sys_poll`, `epoll_wait@@GLIBC_2.3.2`.
_PLAIN = re.compile(
    rf"^(?:(?:time|_?socket|select|posix|os|_?ssl|_io)\.)?(?:__x64_|do_)?(?:sys_)?_*(?:GI_|libc_)?_*(?:{_CALLS})(?:_nocancel)?(?:@.*)?$"
)
_SLEEPING = re.compile(rf"(?:^|[\s'._]){_SLEEPS}(?:$|[\s'>@_])")
#: Files of the standard library whose functions do nothing but wait, where a sampler shows no built-in ones.
_WAITING_FILES = re.compile(r"(?:^|/)(?:selectors|socket|ssl|subprocess|multiprocessing/connection)\.py$")
_WAITING = re.compile(rf"^_?(?:\w+\.)*_?(?:{_CALLS}|wait|_try_wait|create_connection)$")


def blocks(name: str, file: str | None = None) -> bool:
    """Whether a function or event of this name waits for something outside the program.

    Args:
        name: as the tool writes it; file: where it is written, if known.
    """
    if file is not None and file.endswith(".py"):
        return bool(_WAITING_FILES.search(file) and _WAITING.search(name))
    return bool(_BUILT_IN.search(name) or _PLAIN.search(name))


def sleeps(name: str) -> bool:
    """Whether a call that blocks waits for nothing but time."""
    return bool(_SLEEPING.search(name))
