"""A headless browser, driven through a pipe in its own protocol: it needs nothing else."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def find_browser() -> str | None:
    """The path of a browser, or None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """A page that is open in the browser.

    Attributes:
        errors: what its scripts raised, and what the browser refused or tried to load.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.errors: list[str] = []

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do what the protocol calls `method`."""
        return self._browser.send(method, parameters, self._session, self)

    def js(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def click(self, x: float, y: float, count: int = 1) -> None:
        """Press and release the mouse at a place."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y,
                button="none" if kind == "mouseMoved" else "left", clickCount=count,
            )  # fmt: skip

    def hover(self, x: float, y: float) -> None:
        """Move the mouse to a place."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x: float, y: float, by: float) -> None:
        """Turn the wheel."""
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)

    def tap(self, x: float, y: float) -> None:
        """Touch a place."""
        point = [{"x": x, "y": y}]
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=point)
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def press(self, key: str) -> None:
        """Press a key, by its name in `KeyboardEvent.key`."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def centre(self, expression: str) -> tuple[float, float]:
        """The middle of an element, which an expression of JavaScript gives."""
        x, y = self.js(
            f"(() => {{ const r = ({expression}).getBoundingClientRect();"
            " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        return x, y

    def screenshot(self, path: Path) -> None:
        """What is seen, as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))


class Browser:
    """A browser that runs."""

    def __init__(self, process: subprocess.Popen[bytes], to: RawIOBase, back: RawIOBase) -> None:
        self._process = process
        self._to = to
        self._back = back
        self._pending = b""
        self._count = 0

    def send(
        self, method: str, parameters: dict[str, Any], session: str = "", page: Page | None = None
    ) -> dict[str, Any]:
        """Send a command, and wait for its answer."""
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        self._to.write(json.dumps(command).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])
            if page is not None:
                page.errors += _wrong(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            got = self._back.read(1 << 16)
            assert got, f"the browser has ended: {self._process.poll()}"
            self._pending += got
        message, _, self._pending = self._pending.partition(b"\0")
        return dict(json.loads(message))

    def open(
        self,
        path: Path,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        phone: bool = False,
    ) -> Page:
        """A page of a file, when it has been loaded and its scripts have run."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        page.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        page.send("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        page.send("Page.navigate", url=path.as_uri())
        while page.js("document.readyState") != "complete":
            pass
        return page


def _wrong(event: dict[str, Any]) -> list[str]:
    """What an event says that is wrong: an exception, an entry of the log, a request."""
    given = event.get("params", {})
    if event.get("method") == "Runtime.exceptionThrown":
        details = given["exceptionDetails"]
        return [str(details.get("exception", {}).get("description", details["text"]))]
    if event.get("method") == "Log.entryAdded":
        return [f"{given['entry']['level']}: {given['entry']['text']}"]
    if event.get("method") == "Network.requestWillBeSent":
        url = str(given["request"]["url"])
        return [] if url.startswith("file:") else [f"request of {url}"]
    return []


@contextmanager
def running(browser: str) -> Iterator[Browser]:
    """Start a browser with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory() as profile:
        commands, to = os.pipe()
        back, answers = os.pipe()

        def connect() -> None:
            # the browser reads commands from 3 and writes answers to 4
            high = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (commands, answers)]
            for fd, number in zip(high, (3, 4), strict=True):
                os.dup2(fd, number)

        process = subprocess.Popen(
            [browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=connect,  # noqa: PLW1509 - nothing else runs in the child
            close_fds=False,
        )
        os.close(commands)
        os.close(answers)
        try:
            with (
                os.fdopen(to, "wb", buffering=0) as sink,
                os.fdopen(back, "rb", buffering=0) as got,
            ):
                yield Browser(process, sink, got)
        finally:
            process.terminate()
            process.wait(20)
