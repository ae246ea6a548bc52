# SPDX-License-Identifier: Apache-2.0
# Made from the extension by tools/make_stubs.py: edit src/plait/python/.
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

class ParticleStore:
    """Particles of one rank; plait.particles.Store wraps it."""

    def __init__(self) -> None: ...
    def add_field(self, name: str, type: str, components: int) -> None: ...
    def add(self, count: int) -> int:
        """Appends particles; the place of the first."""

    def remove(self, places: Sequence[int]) -> None:
        """Particles from the end fill the gaps."""

    def view(self, name: str) -> object:
        """An array that shares memory."""

    @property
    def names(self) -> list[str]: ...
    @property
    def size(self) -> int: ...

class ParticleSystem:
    """Steps of particles; plait.particles.System wraps it."""

    def __init__(
        self,
        engine: Engine,
        store: ParticleStore,
        box: tuple[Sequence[float], Sequence[float], Sequence[bool], float],
        schedule: Sequence[int],
        cells: tuple[str | None, int],
    ) -> None:
        """
        schedule: ranks along each axis, steps between decompositions and between trees. cells: the field
        of reaches, and a bit for each kind whose steps neighbours limit.
        """

    def integrate(self, velocity: str, acceleration: str, velocity_now: str | None) -> None: ...
    def integrate_by(
        self,
        velocity: str,
        drift: object,
        kick: object,
        settle: object | None,
        fields: tuple[Sequence[str], Sequence[str]],
    ) -> None:
        """fields: those that `drift` predicts, and the forces that `kick` reads."""

    def take_steps(self, lengths: int, numbers: Sequence[float]) -> None:
        """
        lengths: 0 fixed, 1 equal, 2 individual. numbers: the fixed one, begin, end, longest, shortest.
        """

    def limit_steps_by(self, criterion: object) -> None: ...
    def add_stage(self, name: str, kinds: int, writes: Sequence[str], function: object) -> None: ...
    def before(self, name: str, function: object) -> None: ...
    def after(self, name: str, function: object) -> None: ...
    def when_summed(self, function: object) -> None: ...
    def add_long_range(
        self,
        fields: Sequence[str],
        velocity: str | None,
        numbers: Sequence[float],
        choices: Sequence[bool],
        kinds: tuple[int, int],
    ) -> None:
        """
        fields: charge, acceleration, potential. numbers: theta, softening, coupling, cut-off. choices:
        whether quadrupoles act, precision is mixed, charges have both signs. kinds: bits of sources and
        of targets.
        """

    def update(self) -> None: ...
    def step(self) -> tuple[float, float, int, int]:
        """
        The time, the length, the particles updated on all ranks and on this one.
        """

    def run_until(self, time: float) -> None: ...
    def synchronise(self) -> None: ...
    def distribute(self) -> None: ...
    def domain(self) -> tuple[list[float], list[float]]:
        """The low and the high corner of this rank's domain."""

    def close(self) -> None:
        """Frees the system; collective."""

    @property
    def time(self) -> float: ...
    @property
    def is_over(self) -> bool: ...

def moments(
    engine: Engine,
    positions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ],
    masses: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    velocities: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ]
    | None,
    box: tuple[Sequence[float], Sequence[float], Sequence[bool], float],
) -> tuple[int, float, list[float], list[float], list[float], list[float], list[float]]:
    """
    Members, mass, centre, velocity, angular momentum, extent, dispersion; collective.
    """

def groups(
    engine: Engine,
    positions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ],
    masses: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    velocities: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ]
    | None,
    options: tuple[float, int],
    box: tuple[Sequence[float], Sequence[float], Sequence[bool], float],
) -> tuple[
    list[tuple[int, tuple[int, float, list[float], list[float], list[float], list[float], list[float]]]],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]:
    """
    Ids and moments of this rank's groups, and the group of each particle; collective.

    options: the linking length and the fewest members.
    """

def density_profile(
    engine: Engine,
    positions: Annotated[
        NDArray[numpy.float64], dict(shape=(None, 3), order="C", device="cpu", writable=False)
    ],
    masses: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    centre: Sequence[float],
    radii: Sequence[float],
    box: tuple[Sequence[float], Sequence[float], Sequence[bool], float],
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.uint64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]:
    """Mass, particles and density of each shell; collective."""
