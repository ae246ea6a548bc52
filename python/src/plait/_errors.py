# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, and the one kind of error that is shown as a sentence instead of a traceback."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How a command ends. `plait run` and its like pass on the status of the program that they start."""

    done = 0
    failed = 1
    usage = 2
    unavailable = 77
    not_executable = 126
    not_found = 127
    interrupted = 130

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Status.done: "the command did what it was asked to do",
    Status.failed: "it failed, or what it checked is not good; standard error has the reason",
    Status.usage: "its options or arguments are wrong",
    Status.unavailable: "plait lab: this machine allows no lab",
    Status.not_executable: "the program to start is not executable",
    Status.not_found: "there is no such program to start",
    Status.interrupted: "it was interrupted, as by Ctrl-C",
}
#: Of every number above 128 in general.
SIGNALLED = "128 + N: the program to start was killed by signal N"


def status_of_program(status: int) -> int:
    """The status for the shell of one of plait's own programs in C++, from the program's."""
    return status if 0 <= status < 256 else int(Status.failed)


class PlaitError(Exception):
    """Describes what is wrong, where, and what to do about it, in one sentence for the user."""

    def __init__(self, message: str, *, status: int = Status.failed) -> None:
        super().__init__(message)
        self.status = int(status)


class EngineError(PlaitError):
    """The runtime's: the network or another rank has failed, or a message did not fit.

    `code` is "truncated message", "network", "another rank failed", "task failed", "timeout",
    "input/output" or "out of memory"; `rank` the rank concerned, if there is one.
    """

    def __init__(self, message: str, code: str = "network", rank: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.rank = rank
