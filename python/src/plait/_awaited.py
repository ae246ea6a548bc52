# SPDX-License-Identifier: Apache-2.0
"""How asyncio waits for what a runtime has under way."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from plait._errors import EngineError

if TYPE_CHECKING:
    from plait._runtime import Future, Runtime

#: Between two checks of operations that asyncio waits for, which a failed run does not complete.
_RECHECK_S = 0.1
#: From the completion of an operation until its memory is no longer used, at most as a rule.
_RELEASE_S = 0.001


class Awaited:
    """The futures that one event loop waits for; the runtime's event wakes it. Threads: the loop's."""

    def __init__(self, runtime: Runtime, loop: asyncio.AbstractEventLoop) -> None:
        self._runtime = runtime
        self._loop = loop
        self._waiting: dict[asyncio.Future[None], Future[Any]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._event = runtime._engine.event
        loop.add_reader(self._event, self._woken)

    def add(self, future: Future[Any]) -> asyncio.Future[None]:
        waiter = self._loop.create_future()
        if self._runtime._engine.notify(future._operation):
            self._waiting[waiter] = future
            if self._timer is None:
                self._timer = self._loop.call_later(_RECHECK_S, self._recheck)
        else:
            self._loop.call_soon(self._finish, waiter, future)
        return waiter

    def _woken(self) -> None:
        try:
            os.eventfd_read(self._event)
        except BlockingIOError:
            return
        for other in list(self._runtime._awaited.values()):  # the event is that of all loops
            if other is self:
                self._check()
            elif not other._loop.is_closed():
                other._loop.call_soon_threadsafe(other._check)
        if self._waiting:  # what is complete, but not released yet
            self._loop.call_later(_RELEASE_S, self._check)

    def _check(self) -> None:
        for waiter, future in list(self._waiting.items()):
            if waiter.cancelled() or self._is_over(future):
                del self._waiting[waiter]
                if not waiter.done():
                    waiter.set_result(None)

    def _finish(self, waiter: asyncio.Future[None], future: Future[Any]) -> None:
        if waiter.done():
            return
        if self._is_over(future):
            waiter.set_result(None)
        else:  # complete, but still being forwarded to other ranks
            self._loop.call_later(_RELEASE_S, self._finish, waiter, future)

    @staticmethod
    def _is_over(future: Future[Any]) -> bool:
        try:
            return future.done()
        except (EngineError, ValueError):
            return True  # its result raises it again

    def _recheck(self) -> None:
        self._timer = None
        self._check()
        if self._waiting:
            self._timer = self._loop.call_later(_RECHECK_S, self._recheck)

    def end(self) -> None:
        self._runtime._awaited.pop(self._loop, None)
        if not self._loop.is_closed():
            self._loop.remove_reader(self._event)
            self._check()
