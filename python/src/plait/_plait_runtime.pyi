# SPDX-License-Identifier: Apache-2.0
# Made from the extension by tools/make_stubs.py: edit src/plait/python/module.cpp.
"""
The runtime of plait, for the MPI that it was built with. The package plait wraps it.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray

version: str = ...

def mpi_library() -> str:
    """What MPI_Get_library_version returns."""

class Operation:
    """A message or collective operation; plait.Future wraps it."""

    @property
    def status(self) -> tuple[int | None, int | None, int] | None:
        """(source, tag, bytes) when complete, else None. Raises its error."""

class Engine:
    """A rank's runtime; plait.Runtime wraps it."""

    def __init__(
        self, communicator: int, workers: int | None, progress: str | None, command: Sequence[str]
    ) -> None: ...
    def close(self, failure: str | None) -> None:
        """Ends the runtime; collective, unless it has failed."""

    def send(self, array: object, to: int, tag: int, priority: int) -> Operation: ...
    def receive(self, array: object, source: int, tag: int) -> Operation:
        """A source or a tag of -1 accepts any."""

    def all_to_all(self, send: object, receive: object) -> Operation:
        """Equal blocks of two arrays."""

    def all_to_all_blocks(self, send: Sequence[object], receive: Sequence[object]) -> Operation:
        """An array for each rank."""

    def broadcast(self, array: object, root: int) -> Operation: ...
    def all_gather(self, mine: object, all: object) -> Operation: ...
    def test(self, operation: Operation) -> bool:
        """Makes progress once; whether the operation is complete."""

    def wait(self, operation: Operation, seconds: float | None) -> bool:
        """Without the GIL; whether it is complete."""

    def notify(self, operation: Operation) -> bool:
        """Whether `event` will become readable; not if it is complete."""

    def trace_time(self) -> int | None:
        """Nanoseconds on the trace's clock; None without a trace."""

    def record_region(self, name: str, start: int) -> None:
        """A region from `start` until now."""

    @property
    def event(self) -> int:
        """A file descriptor (eventfd)."""

    @property
    def is_open(self) -> bool: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def workers(self) -> int: ...
    @property
    def network(self) -> str: ...

class Transforms:
    """A plan of distributed transforms; plait.fft.Plan wraps it."""

    def __init__(
        self,
        engine: Engine,
        lengths: Sequence[int],
        is_real: bool,
        grid: tuple[int, int],
        effort: str,
        variant: str,
        pieces: int,
    ) -> None: ...
    def box(self, is_spectral: bool) -> tuple[list[int], list[int]]:
        """Low and high indices of this rank's part."""

    def run(
        self, is_forward: bool, sources: Sequence[object], targets: Sequence[object], scale: float
    ) -> None:
        """Transforms each source into its target, all at once; collective."""

    def describe(self) -> str:
        """The distribution and the exchange, in several lines."""

    def close(self) -> None:
        """Frees the plan; collective."""

    @property
    def grid(self) -> tuple[int, int]: ...
    @property
    def variant(self) -> str: ...

def gravity(
    engine: Engine,
    positions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ],
    masses: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    options: tuple[float, float, float, bool, bool],
    box: tuple[Sequence[float], Sequence[float], Sequence[bool], float],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None, None))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]:
    """
    Accelerations (n, 3) and potentials (n,); collective.

    options: softening, theta, G, whether quadrupoles act, whether precision is mixed. box: as of
    neighbours.
    """

def neighbours(
    engine: Engine,
    positions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ],
    radii: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    box: tuple[Sequence[float], Sequence[float], Sequence[bool], float],
    search: int,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]:
    """
    Offsets (n + 1,) and indices; collective.

    box: low and high corner, which axes are periodic, and the displacement of images along y. search: 0
    gathers, 1 scatters, 2 does both.
    """
