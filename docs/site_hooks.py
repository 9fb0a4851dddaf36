"""What the site needs beyond its pages: links into the repository, and the command line's help."""

import re

_OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+((?:benchmarks|examples|ARCHITECTURE|README)[^)]*)\)"
)
_COMMANDS = "<!-- commands -->"


def on_page_markdown(markdown, page, config, files):
    """Name files of the repository that are no pages, and fill in the commands' help."""
    markdown = _OUTSIDE.sub(lambda link: f"{link[1]} (`{link[2].partition('#')[0]}`)", markdown)
    if _COMMANDS in markdown:
        markdown = markdown.replace(_COMMANDS, _help())
    return markdown


def _help():
    """Return what each command says about itself."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from calibrant.cli.main import app

    runner = CliRunner(env={"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"})
    parts = []
    for name in get_command(app).commands:
        shown = runner.invoke(app, [name, "--help"]).output
        lines = "\n".join(line.rstrip() for line in shown.strip().splitlines())
        parts.append(f"## calibrant {name}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)
