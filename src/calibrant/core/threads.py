"""Linear algebra on one thread, where matrices are small.

A search factors matrices of a few dozen rows, hundreds of times per suggestion. On several threads
these wait for each other longer than they work (an ask takes up to fourteen times as long on a busy
machine), and rounding depends on how many there are: the same seed would give another search on
another machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import current_thread, main_thread

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread for BLAS inside, and as many as before afterwards; also a decorator.

    The number of threads belongs to the whole process, and two Python threads that set and restore
    it would undo each other. So this is for the main one; in others it changes nothing.
    """
    global _inside
    if _inside or current_thread() is not main_thread():
        yield
        return
    _inside = True
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _inside = False


_inside = False  # another one of the main thread, which takes as long as a likelihood to enter


@cache
def _blas() -> ThreadpoolController:
    """Return the libraries to limit; looked for once, when NumPy and SciPy have loaded theirs."""
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")
