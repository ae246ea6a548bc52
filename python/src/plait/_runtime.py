# SPDX-License-Identifier: Apache-2.0
"""`plait.Runtime`: asynchronous messages between the ranks of an mpi4py program."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
from collections.abc import Generator, Iterable
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from plait import _extension, _region
from plait._awaited import Awaited
from plait._errors import EngineError

if TYPE_CHECKING:
    from mpi4py import MPI

    from plait import _plait_runtime

#: Of the result of a future.
Result = TypeVar("Result", covariant=True)
#: An object with the buffer protocol, such as a NumPy array or a bytearray.
Memory = TypeVar("Memory")
NewArray = npt.NDArray[Any]

_WAIT_MAX_S = 1e9
#: Open until they are closed, by the program or at its end: ranks must close them together, not when
#: Python collects garbage.
_open: set[Runtime] = set()
#: Of runtimes that outlived MPI, which can be neither closed nor freed.
_lost: list[_plait_runtime.Engine] = []


class Status(NamedTuple):
    """Of a message that has been received. Sends have their own rank as `source`, collective operations
    None; the types let programs that receive use both without a check for None.
    """

    source: int | Any
    tag: int | Any
    bytes: int


class Future(Generic[Result]):
    """A message or a collective operation under way. Functions of `Runtime` return it.

    The operation continues, and keeps its arrays, without it. `await future` is its result. Threads:
    any.
    """

    __slots__ = ("_operation", "_result", "_runtime", "_whole_bytes")

    def __init__(
        self,
        runtime: Runtime,
        operation: _plait_runtime.Operation,
        result: Result,
        whole_bytes: int | None = None,
    ) -> None:
        self._runtime = runtime
        self._operation = operation
        self._result = result
        self._whole_bytes = whole_bytes

    def done(self) -> bool:
        """Whether arrays may be used again. Makes progress once. Raises EngineError when the run has
        failed.
        """
        return self._runtime._engine.test(self._operation)

    def wait(self, timeout: float | None = None) -> None:
        """Waits, with the GIL free, for at most `timeout` seconds.

        Raises TimeoutError, after which the operation continues; EngineError as `result`.
        """
        seconds = None if timeout is None or timeout > _WAIT_MAX_S else max(0.0, timeout)
        if not self._runtime._engine.wait(self._operation, seconds):
            raise TimeoutError(f"the operation is not complete after {timeout:g} s, and continues")
        _ = self.status  # raises the operation's own error

    def result(self, timeout: float | None = None) -> Result:
        """Waits, and returns the array that was received; None for a send.

        Raises EngineError when the message did not fit, is shorter than the array, or the run has
        failed.
        """
        self.wait(timeout)
        status = self.status
        if self._whole_bytes is not None and status is not None and status.bytes != self._whole_bytes:
            raise EngineError(
                f"the message from rank {status.source} with tag {status.tag} has {status.bytes} "
                f"bytes, the "
                f"array {self._whole_bytes}: receive into an array of its size, or call wait() and read "
                "status.bytes",
                "truncated message",
                status.source,
            )
        return self._result

    @property
    def status(self) -> Status | Any:
        """Source, tag and length when complete, else None. Raises EngineError when it has failed.

        Its type lets programs that have waited use it without a check for None.
        """
        found = self._operation.status
        return None if found is None else Status(*found)

    def __await__(self) -> Generator[Any, None, Result]:
        return self._runtime._result_of(self).__await__()

    def __repr__(self) -> str:
        try:
            state = "pending" if self._operation.status is None else "complete"
        except EngineError as error:
            state = f"failed: {error}"
        return f"<plait.Future {state}>"


class Runtime:
    """One rank of plait's runtime, over the ranks of an mpi4py communicator.

        with plait.Runtime() as rt:
            future = rt.receive(1000, source=1)
            ...                       # NumPy computes, the message arrives
            data = future.result()

    All ranks of `comm` create it, and leave the `with` block, together. A rank that leaves it by an
    exception notifies the others: their calls raise EngineError with its sentence. MPI may be used
    beside it; the messages of both are separate. A process may have several.

    comm: an mpi4py intracommunicator; by default MPI.COMM_WORLD. Only its ranks are used.
    workers: threads that compute transforms and particles, the calling one included. Default:
        PLAIT_WORKERS, else 1.
    progress: whether threads in the background move messages while Python computes. True is what suits
        this machine; "timer", "idle" and "dedicated" name one (docs/explanation/progression.md); with
        False only calls do. MPI must be initialised with MPI_THREAD_SERIALIZED or more, which mpi4py
        does by default.
    """

    def __init__(
        self, comm: MPI.Comm | None = None, *, workers: int | None = None, progress: bool | str = True
    ) -> None:
        extension = _extension.load()
        mpi = import_module("mpi4py.MPI")
        comm = mpi.COMM_WORLD if comm is None else comm
        if not isinstance(comm, mpi.Comm) or comm == mpi.COMM_NULL or comm.Is_inter():
            raise ValueError(
                f"comm must be an mpi4py intracommunicator, such as MPI.COMM_WORLD, not {comm!r}"
            )
        if workers is not None and workers < 1:
            raise ValueError(f"workers={workers}: there must be one at least, the calling thread")
        mode = {True: None, False: "none"}.get(progress) if isinstance(progress, bool) else progress
        self._comm = comm  # borrowed by the engine
        self._mpi = mpi
        command = [sys.executable, *sys.argv]
        self._engine: _plait_runtime.Engine = extension.Engine(comm.py2f(), workers, mode, command)
        self._awaited: dict[asyncio.AbstractEventLoop, Awaited] = {}
        self._polls = mode == "none" or os.environ.get("PLAIT_PROGRESS") == "none"
        _open.add(self)
        if self._engine.trace_time() is not None:
            _region.recorders.append(self._engine)

    # --- life ---

    def close(self) -> None:
        """Waits until all sends are complete and all ranks have called it. Does nothing when closed."""
        self._close(None)

    def _close(self, failure: str | None) -> None:
        if not self._engine.is_open:
            return
        if self._mpi.Is_finalized():
            _lost.append(self._engine)
            _open.discard(self)
            print(
                "plait: MPI was finalised before plait.Runtime was closed: call close() first",
                file=sys.stderr,
            )
            return
        self._engine.close(failure)
        _open.discard(self)
        if self._engine in _region.recorders:
            _region.recorders.remove(self._engine)
        for awaited in list(self._awaited.values()):
            awaited.end()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close(None if kind is None else self._sentence(kind, error))

    def _sentence(self, kind: type[BaseException], error: BaseException | None) -> str:
        return f"rank {self.rank} has ended with {kind.__name__}: {error}"

    @property
    def is_open(self) -> bool:
        return self._engine.is_open

    @property
    def rank(self) -> int:
        return self._engine.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._engine.size

    @property
    def workers(self) -> int:
        return self._engine.workers

    @property
    def network(self) -> str:
        """The driver that moves messages: "shm", "mpi" and so on."""
        return self._engine.network

    # --- messages ---

    def send(self, array: Any, to: int, tag: int = 0, *, priority: int = 0) -> Future[None]:
        """Sends the elements of `array`, in C order, to rank `to`.

        `array` is anything with the buffer protocol and elements that are no Python objects: a NumPy
        array of any shape, strides and number type, or bytes. It is not copied unless small, and must
        not change until the future is done. Contiguous parts are sent fastest. Larger priorities are
        sent first.

        Raises ValueError for a rank or tag that does not exist, TypeError for other objects.
        """
        return Future(self, self._engine.send(array, to, tag, priority), None)

    @overload
    def receive(
        self,
        array: int | tuple[int, ...],
        source: int | None = None,
        tag: int | None = None,
        *,
        dtype: npt.DTypeLike = float,
    ) -> Future[NewArray]: ...
    @overload
    def receive(
        self, array: Memory, source: int | None = None, tag: int | None = None
    ) -> Future[Memory]: ...
    def receive(
        self,
        array: Any,
        source: int | None = None,
        tag: int | None = None,
        *,
        dtype: npt.DTypeLike = float,
    ) -> Future[Any]:
        """Receives a message into `array`, or into a new array of a shape.

        array: a writable array, of any strides; or a shape (a number or a tuple), for a new one of
            `dtype`.
        source, tag: of the message; None, and mpi4py's MPI.ANY_SOURCE and MPI.ANY_TAG, accept any.

        Messages of one source arrive in the order of their sends. The result is the array. A longer
        message is an error, and so is a shorter one when `result` is called.
        """
        if isinstance(array, (int, np.integer, tuple)):
            array = np.empty(array, dtype)
        source = -1 if source is None or source == self._mpi.ANY_SOURCE else source
        tag = -1 if tag is None or tag == self._mpi.ANY_TAG else tag
        operation = self._engine.receive(array, source, tag)
        return Future(self, operation, array, memoryview(array).nbytes)

    # --- collective operations: all ranks call the same ones, in the same order ---

    @overload
    def all_to_all(self, send: Any, receive: None = None) -> Future[NewArray]: ...
    @overload
    def all_to_all(self, send: Any, receive: Memory) -> Future[Memory]: ...
    def all_to_all(self, send: Any, receive: Any = None) -> Future[Any]:
        """Sends a block to each rank, and receives one from each.

        send, receive: arrays, contiguous in C order, that are divided into as many equal blocks as
        there are ranks; or lists with an array for each rank, of any sizes. `receive` must not overlap
        `send`; without one, an array like `send` is created. The result is `receive`.
        """
        if isinstance(send, (list, tuple)):
            if not isinstance(receive, (list, tuple)):
                raise TypeError("all_to_all sends a list of arrays: pass a list to receive into, too")
            return Future(self, self._engine.all_to_all_blocks(list(send), list(receive)), receive)
        if receive is None:
            receive = np.empty_like(send, order="C", subok=False)
        return Future(self, self._engine.all_to_all(send, receive), receive)

    def broadcast(self, array: Memory, root: int = 0) -> Future[Memory]:
        """Copies `array` of rank `root` into `array` of all others: contiguous, of one size. The result
        is it.
        """
        return Future(self, self._engine.broadcast(array, root), array)

    @overload
    def all_gather(self, array: Any, out: None = None) -> Future[NewArray]: ...
    @overload
    def all_gather(self, array: Any, out: Memory) -> Future[Memory]: ...
    def all_gather(self, array: Any, out: Any = None) -> Future[Any]:
        """Gathers the `array` of each rank on all ranks, in order of ranks.

        `array` has one size on all ranks; `out` room for all of them, both contiguous. Without `out`,
        an array with a new first axis, over ranks, is created. The result is `out`.
        """
        array = np.asarray(array)
        if out is None:
            out = np.empty((self.size, *array.shape), array.dtype)
        return Future(self, self._engine.all_gather(array, out), out)

    # --- asyncio ---

    async def _result_of(self, future: Future[Result]) -> Result:
        if self._polls:
            while not future.done():
                await asyncio.sleep(0)
        elif not future.done():
            loop = asyncio.get_running_loop()
            if loop not in self._awaited:
                self._awaited[loop] = Awaited(self, loop)
            await self._awaited[loop].add(future)
        return future.result()


def wait_all(futures: Iterable[Future[Result]]) -> list[Result]:
    """Waits for all, and returns their results in order."""
    return [future.result() for future in futures]


def _close_all() -> None:
    """At the end of Python, before mpi4py finalises MPI."""
    error = getattr(sys, "last_value", None)
    for runtime in list(_open):
        try:
            runtime._close(None if error is None else runtime._sentence(type(error), error))
        except Exception as trouble:
            print(f"plait: the runtime did not close: {trouble}", file=sys.stderr)


atexit.register(_close_all)
