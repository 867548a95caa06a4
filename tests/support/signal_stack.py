"""The stack on which this thread takes its signals (sigaltstack(2)), and how it is set back."""

from __future__ import annotations

import ctypes

__all__ = ["set_signal_stack", "signal_stack"]


class _Stack(ctypes.Structure):
    _fields_ = (("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


_LIBC = ctypes.CDLL(None, use_errno=True)


def signal_stack() -> tuple[int | None, int, int]:
    """(address, flags, bytes)."""
    found = _Stack()
    assert _LIBC.sigaltstack(None, ctypes.byref(found)) == 0
    return found.sp, found.flags, found.size


def set_signal_stack(stack: tuple[int | None, int, int]) -> None:
    """As `signal_stack` gave it."""
    assert _LIBC.sigaltstack(ctypes.byref(_Stack(*stack)), None) == 0
