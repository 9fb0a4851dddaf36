"""What the site needs beyond its pages: links into the repository, and the command line's help."""

import re

_UPWARDS = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)]*)\)")
_COMMANDS = "<!-- commands -->"


def on_page_markdown(markdown, page, config, files):
    """Name files of the repository that are no pages, and fill in the commands' help."""
    depth = page.file.src_uri.count("/")  # a link that goes up further leaves the site

    def named(link):
        inside = len(link[2]) // len("../") <= depth
        return link[0] if inside else f"{link[1]} (`{link[3].partition('#')[0]}`)"

    markdown = _UPWARDS.sub(named, markdown)
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
        shown = shown.replace("Usage: root ", "Usage: calibrant ", 1)  # the runner names it so
        lines = "\n".join(line.rstrip() for line in shown.strip().splitlines())
        parts.append(f"## calibrant {name}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)
