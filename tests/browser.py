"""A headless Chromium for tests: opens a page, and tells what went wrong on it.

It speaks the DevTools protocol over a pipe, with nothing but the standard library.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


# Pairs of texts that cover each other: in the flow of a page, and on the axes of a drawing.
_COVERED = """
const covered = (elements) => {
  const boxes = elements.map(e => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width);
  return boxes.flatMap(([e, a], i) => boxes.slice(i + 1).filter(([f, b]) =>
    !e.contains(f) && !f.contains(e) &&
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2
  ).map(([f]) => `${e.textContent.slice(0, 40)} | ${f.textContent.slice(0, 40)}`));
};
const all = (selector, where = document) => [...where.querySelectorAll(selector)];
const hidden = ".tall, table, details:not([open]) > :not(summary)";
const flow = all(FLOW);
[...covered(flow.filter(e => e.offsetParent && !e.closest(hidden))),
 ...all("svg").flatMap(svg => covered(all(".axes text", svg)))]
"""
_FLOW = "h1, h2, h3, p, dt, dd, figcaption, pre, button, summary"


def find():
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Visit:
    """What happened on a page."""

    complaints: list = field(default_factory=list)  # console errors, exceptions, refused content
    requests: list = field(default_factory=list)  # addresses that it asked for, but its own


class Browser:
    """A Chromium with one tab; a context manager."""

    def __init__(self, path=None):
        self._path = path or find()
        self._count = 0
        self._events = []

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def wire():  # the browser reads its file 3, and writes to its file 4
            first, second = os.dup(to_read), os.dup(to_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [self._path, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._session = None
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(info["targetId"] for info in pages if info["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(self, *exception):
        with contextlib.suppress(OSError, TimeoutError, KeyError):
            self._session = None
            self._call("Browser.close", timeout=5)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def open(self, page, width=1200, height=900, dark=False):
        """Open a file or an address, and return what happened until it was loaded."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        url = page if "://" in str(page) else Path(page).resolve().as_uri()
        self._call("Page.navigate", url=url)
        self._until(lambda event: event["method"] == "Page.loadEventFired")
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        return self.happened(url)

    def happened(self, url=""):
        """Return what has happened since the page was opened."""
        visit = Visit()
        for event in self._events:
            method, told = event["method"], event["params"]
            if method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning"):
                visit.complaints.append(str(told["args"]))
            elif method == "Runtime.exceptionThrown":
                visit.complaints.append(str(told["exceptionDetails"]))
            elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
                visit.complaints.append(told["entry"]["text"])
            elif method == "Network.requestWillBeSent" and told["request"]["url"] != url:
                visit.requests.append(told["request"]["url"])
        return visit

    def run(self, script):
        """Return the value of a piece of JavaScript; a promise is waited for."""
        told = self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def covered(self, flow=_FLOW):
        """Return pairs of texts that lie on each other, among elements in the flow of the page."""
        return self.run(f"{{{_COVERED.replace('FLOW', json.dumps(flow))}}}")

    def wait(self, script, timeout=30):
        """Run a piece of JavaScript until its value is true; a page may draw itself late."""
        deadline = time.monotonic() + timeout
        while not self.run(script):
            assert time.monotonic() < deadline, f"still not true: {script}"
            time.sleep(0.2)

    def screenshot(self, path, whole=True):
        """Save a picture of the page, or of what is on the screen of it."""
        told = self._call("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        Path(path).write_bytes(base64.b64decode(told["data"]))

    def press(self, key, code):
        """Press a key and release it."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code, **text,
            )  # fmt: skip

    def _call(self, method, timeout=30, **params):
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda event: event.get("id") == number, timeout)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def _until(self, wanted, timeout=30):
        deadline = time.monotonic() + timeout
        while True:
            while b"\0" in self._buffer:
                line, self._buffer = self._buffer.split(b"\0", 1)
                event = json.loads(line)
                if "method" in event:
                    self._events.append(event)
                if wanted({"method": "", **event}):
                    return event
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("The browser did not answer.")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise OSError("The browser has ended.")
            self._buffer += part
