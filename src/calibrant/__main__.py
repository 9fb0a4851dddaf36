"""``python -m calibrant``: the command line."""

from calibrant.cli.main import app

app()
