# SPDX-License-Identifier: Apache-2.0
"""The one kind of error that the command line shows as a sentence instead of a traceback."""

from __future__ import annotations


class PlaitError(Exception):
    """Describes what is wrong, where, and what to do about it, in one sentence for the user."""

    def __init__(self, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.status = status
