# SPDX-License-Identifier: Apache-2.0
"""Saves figures as PNG files, of a long run in a process of its own: matplotlib draws on one core, and
meanwhile this process goes on with the measures."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from plait._errors import PlaitError
from plait._files import write_file
from plait.plots import style

#: The other process needs half a second to start: below as many events it saves no time.
_EVENTS_MIN = 500_000


class PictureSaver:
    """Saves pictures in the order in which they come; all are there when the `with` ends, which raises
    PlaitError for the first that cannot be written. Not for several threads at once."""

    def __init__(self, event_count: int) -> None:
        """`event_count`: of the run. Starts the other process where it saves time."""
        is_worth_it = event_count >= _EVENTS_MIN and (os.cpu_count() or 1) > 1
        self._other = _Other.start() if is_worth_it else None

    def __enter__(self) -> PictureSaver:
        return self

    def save(self, path: Path, figure: Figure) -> None:
        """Takes the figure. Raises PlaitError where this process saves it and it cannot be written."""
        packed = None if self._other is None else _packed(path, figure)
        if self._other is None or packed is None:
            _save(path, figure)
        else:
            self._other.give(packed)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._other is None:
            return
        if error is not None:
            self._other.stop()
        else:
            self._other.finish()


class _Other:
    """The other process. It ends when it has saved all that it got."""

    def __init__(self, process: subprocess.Popen[bytes], words: IO[bytes]) -> None:
        self._process = process
        self._words = words  # what it writes to its standard error
        # It takes the next figure when it has saved the one before, and this process must not wait.
        self._giver = ThreadPoolExecutor(max_workers=1)

    @staticmethod
    def start() -> _Other | None:
        """None: it cannot be started, and pictures are saved here."""
        words = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process is there
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "plait.plots.saving"],
                stdin=subprocess.PIPE,
                stderr=words,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        except OSError:
            return None
        return _Other(process, words)

    def give(self, packed: bytes) -> None:
        self._giver.submit(self._write, packed)

    def _write(self, packed: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, and its status is found in the end
            self._process.stdin.write(packed)
            self._process.stdin.flush()

    def stop(self) -> None:
        """It saves the picture at which it is, and ends."""
        self._giver.shutdown(cancel_futures=True)
        self._close()

    def finish(self) -> None:
        """Waits for its end. Raises PlaitError where it has not saved all."""
        self._giver.shutdown()
        status = self._close()
        if status == 0:
            return
        self._words.seek(0)
        lines = self._words.read().decode("utf-8", "replace").splitlines()
        raise PlaitError(
            lines[-1]
            if lines
            else f"the process that saves the pictures ended with status {status}; is memory left?"
        )

    def _close(self) -> int:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        return self._process.wait()


def _packed(path: Path, figure: Figure) -> bytes | None:
    """None: the figure holds what cannot be packed, as functions without a name."""
    try:
        return pickle.dumps((str(path.absolute()), figure), protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def _save(path: Path, figure: Figure) -> None:
    write_file(path, lambda file: style.save(figure, file))


def _save_all(packed: IO[bytes]) -> None:
    """Saves what `PictureSaver` packed until there is no more."""
    while True:
        try:
            path, figure = pickle.load(packed)
        except EOFError:
            return
        FigureCanvasAgg(figure)
        _save(Path(path), figure)


def main() -> int | str:
    """Of the other process."""
    try:
        _save_all(sys.stdin.buffer)
    except PlaitError as error:
        return str(error)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
