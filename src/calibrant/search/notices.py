"""What the user of a search is told, once each."""

from __future__ import annotations

import logging
from collections.abc import Iterable

_LOG = logging.getLogger("calibrant")


class Notices:
    """Logs each notice of a search once: it stays true for the rest of it."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, notices: Iterable[str]) -> None:
        """Log those that have not been said."""
        for notice in notices:
            if notice not in self._said:
                self._said.add(notice)
                _LOG.warning(notice)
