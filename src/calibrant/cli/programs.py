"""Commands that run another program: its own options stand after ``--``."""

from __future__ import annotations

from typing import Any, cast

import typer
from typer.core import TyperCommand

# What typer raises: of its own, or of the click that an older one stands on.
_USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__mro__[1])
_HINT = " Write `--` before the program: calibrant tune -p lr=1e-4..1 -- python train.py --lr {lr}"


class WithProgram(TyperCommand):
    """A command that says so where the program's options were taken for its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was written, and explain an unknown option where there is no ``--``."""
        marked = "--" in args
        try:
            return super().parse_args(ctx, args)
        except _USAGE_ERROR as error:
            said: Any = error
            if hasattr(said, "possibilities") and not marked:
                said.message, said.possibilities = f"{said.message}.{_HINT}", None
            raise
