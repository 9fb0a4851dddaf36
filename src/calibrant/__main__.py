"""``python -m calibrant``: the command line."""

from calibrant.cli import app

app()
