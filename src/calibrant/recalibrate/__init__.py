"""Recalibrators: maps R of probability levels, learned from past outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.recalibrate.chain import ChainRecalibrator
from calibrant.recalibrate.gaussian import GaussianRecalibrator
from calibrant.recalibrate.identity import IdentityRecalibrator
from calibrant.recalibrate.isotonic import IsotonicRecalibrator
from calibrant.recalibrate.leader import LeaderRecalibrator
from calibrant.recalibrate.online import OnlineRecalibrator
from calibrant.recalibrate.protocol import Recalibrator
from calibrant.recalibrate.regression import RegressionRecalibrator

__all__ = [
    "ChainRecalibrator",
    "GaussianRecalibrator",
    "IdentityRecalibrator",
    "IsotonicRecalibrator",
    "LeaderRecalibrator",
    "OnlineRecalibrator",
    "Recalibrator",
    "RegressionRecalibrator",
    "recalibrator_from_dict",
]

_KINDS: dict[str, type[Recalibrator]] = {
    "identity": IdentityRecalibrator,
    "online": OnlineRecalibrator,
    "leader": LeaderRecalibrator,
    "isotonic": IsotonicRecalibrator,
    "gaussian": GaussianRecalibrator,
    "regression": RegressionRecalibrator,
    "chain": ChainRecalibrator,
}


def recalibrator_from_dict(state: Mapping[str, Any]) -> Recalibrator:
    """Rebuild a recalibrator from what its ``to_dict`` returned, perhaps out of a JSON file.

    ``learned``, which `calibrant recalibrate --state` adds about the rows it has seen, is left out.
    """
    kind = state.get("kind") if isinstance(state, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"`kind` must be one of {sorted(_KINDS)}, but got kind={kind!r}.")
    fields = {
        name: recalibrator_from_dict(value) if isinstance(value, Mapping) else value
        for name, value in state.items()
        if name not in ("kind", "learned")
    }
    try:
        return _KINDS[kind](**fields)
    except TypeError as error:
        raise ValueError(
            f"This is not the state of a recalibrator of kind {kind!r}: {error}"
        ) from error
