"""The documentation site: it builds without a warning, and opens without a complaint."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.browser import Browser, find

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="needs MkDocs: pip install 'calibrant[docs]'")
    pytest.importorskip("mkdocstrings", reason="needs MkDocs: pip install 'calibrant[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_command_and_public_name_has_its_place(site):
    import calibrant
    from calibrant.cli.main import app

    commands = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"calibrant {command.callback.__name__}" in commands
    pages = "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    missing = [name for name in calibrant.__all__ if name not in pages]
    assert missing == []


@pytest.fixture(scope="module")
def home(site):
    """The address at which the site is served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(
        ("localhost", 0), functools.partial(Quiet, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.skipif(find() is None, reason="needs Chromium or Chrome on the PATH")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_pages_open_in_a_browser(site, home, width, dark):
    texts = ", ".join(
        f".md-content {kind}" for kind in ("h1", "h2", "h3", "p", "pre", "table", "img")
    )
    with Browser() as browser:
        for page in sorted(site.rglob("*.html")):
            visit = browser.open(home + str(page.relative_to(site)), width, dark=dark)
            assert visit.complaints == [], page
            assert all(url.startswith((home, "blob:", "data:")) for url in visit.requests), page
            assert browser.run("document.documentElement.scrollWidth") <= width, page
            assert browser.covered(texts) == [], page
            drawn = "[...document.images].every(i => i.complete && i.naturalWidth)"
            assert browser.run(drawn), page
            background = "getComputedStyle(document.body).backgroundColor"
            assert (browser.run(background) == "rgb(255, 255, 255)") != dark, page
