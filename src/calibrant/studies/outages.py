"""Which errors say that a storage is away for now, and waiting until it is back."""

from __future__ import annotations

import errno
import logging
import random
import time
from collections.abc import Callable
from typing import Any

from optuna.exceptions import StorageInternalError

logger = logging.getLogger(__name__)

_HICCUP = 1.0  # seconds of which nobody needs to be told
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds: a restart takes seconds, and nobody should hammer

# SQLite gives one kind of error for all that may go wrong. These pass; others, such as "no such
# table" or "readonly database", do not.
_SQLITE_PASSES = ("locked", "busy", "is full", "disk I/O error")
_FILES_PASS = {
    errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ESTALE, errno.ETIMEDOUT,
    errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE, errno.EHOSTUNREACH,
    errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN,
}  # fmt: skip
_GRPC_PASSES = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "UNKNOWN", "RESOURCE_EXHAUSTED"}


def passes(error: BaseException) -> bool:
    """Return whether an error of a storage may be gone when the operation is tried again."""
    from sqlalchemy import exc  # Optuna loads it with its first database

    if isinstance(error, StorageInternalError) and error.__cause__ is not None:
        return passes(error.__cause__)
    if isinstance(error, exc.DBAPIError):
        if type(error.orig).__module__.startswith("sqlite3"):
            return any(words in str(error.orig) for words in _SQLITE_PASSES)
        lost = (exc.OperationalError, exc.InterfaceError)
        return error.connection_invalidated or isinstance(error, lost)
    if isinstance(error, (exc.TimeoutError, exc.PendingRollbackError, exc.ResourceClosedError)):
        return True
    if type(error).__module__.startswith("grpc"):
        code = getattr(error, "code", None)
        return callable(code) and getattr(code(), "name", "") in _GRPC_PASSES
    return isinstance(error, OSError) and error.errno in _FILES_PASS


class Patience:
    """Tries operations again while a storage is away, for some time.

    Once that time has run out, operations are tried only once, until one succeeds: whoever then
    saves what was found should not wait as long again.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.outages = 0  # how often the storage did not answer
        self._gone = False

    def run(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return what an operation returns, however often it has to be tried for that."""
        start, wait, said = time.monotonic(), _FIRST_WAIT, False
        while True:
            try:
                result = operation(*args, **kwargs)
                if said:
                    logger.warning("The storage answers again.")
                self._gone = False
                return result
            except Exception as error:
                if not passes(error):
                    raise
                self.outages += 1
                waited = time.monotonic() - start
                if self._gone or waited + wait > self.seconds:
                    self._gone = True
                    raise
                if not said and waited > _HICCUP:
                    reason = str(error.__cause__ or error).strip().splitlines()[0]
                    logger.warning(
                        "The storage does not answer; trying again for %.0f s: %s",
                        self.seconds,
                        reason,
                    )
                    said = True
            # Workers that lost the same database must not all come back at the same moment.
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2.0 * wait, _LONGEST_WAIT)
