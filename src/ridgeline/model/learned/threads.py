"""Products of matrices on one thread while a model is trained.

This module decides that training does not spread: its matrices are of a few hundred rows, and threads of OpenBLAS wait for each other in a loop: on
two processors a Gaussian process took thirty times as long as on one thread, and without end beside a neighbour that keeps one of them busy. One
thread also adds up in one order, whatever the number of processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

__all__ = ["can_limit", "one_blas_thread"]


def can_limit() -> bool:
    """Whether threads can be limited here: it takes threadpoolctl."""
    return find_spec("threadpoolctl") is not None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Libraries of linear algebra work on one thread of this process until the end, and as before after it; nothing changes without threadpoolctl."""
    if not can_limit():
        yield
        return
    # SciPy has a library of its own, and only those that are loaded by now are limited.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
