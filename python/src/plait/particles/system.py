# SPDX-License-Identifier: Apache-2.0
"""Steps of particles: their forces, how they move, and the lengths of their steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from plait import _extension
from plait._runtime import Runtime
from plait.particles.arguments import Floats, Triple, kind_bits, space_of, three
from plait.particles.store import Store

if TYPE_CHECKING:
    from plait import _plait_runtime

Places = npt.NDArray[np.int64]
#: Of a store, the first place and the one behind the last.
RangeFunction = Callable[[Store, int, int], object]
#: Of a store and of places.
StageFunction = Callable[[Store, Places], object]
#: Of a store and of places; it returns the longest step of each, or one for all.
Criterion = Callable[[Store, Places], npt.ArrayLike]
#: Of a store, the first place, the one behind the last, and a duration.
Drift = Callable[[Store, int, int, float], object]
#: Of a store, places, and a duration for each.
Kick = Callable[[Store, Places, Floats], object]

_LENGTHS = ("fixed", "equal", "individual")


class StepResult(NamedTuple):
    time: float  # of its end
    length: float  # since the step before
    #: Particles of all ranks whose own step ended; 0 without individual steps and stages.
    updated: int
    updated_here: int  # those of this rank


class System:
    """The particles of all ranks, their interactions and their motion.

    box, periodic: as of `plait.particles.gravity`. grid: ranks along each axis; zeros: as near a cube as
        possible.
    steps_between_decompositions: 0 decomposes the domain once, at the start.
    steps_between_trees: above 1, particles stay on their ranks between two builds.
    cell_reach: how far stages read neighbours: a field of float32. Default: they do not.
    limited_kinds: the kinds whose steps are limited by those of neighbours. Default: all.

    Functions of the program get the store, and places in it: any worker calls them with the GIL, for
    different particles. An exception of one ends the step on all ranks: the step raises it on the rank
    of the function, and EngineError with its sentence on the others. Arrays of fields that a function
    views must not outlive its call.

    Collective: all ranks create equal systems and call the same functions in the same order. Threads:
    one at a time. It exists until `close`, the end of `with`, or the end of its runtime. Steps are in
    the runtime's trace.
    """

    def __init__(
        self,
        runtime: Runtime,
        store: Store,
        *,
        box: Any = None,
        periodic: bool | Sequence[bool] = True,
        grid: tuple[int, int, int] = (0, 0, 0),
        steps_between_decompositions: int = 4,
        steps_between_trees: int = 1,
        cell_reach: str | None = None,
        limited_kinds: Iterable[int] | None = None,
    ) -> None:
        schedule = (*grid, steps_between_decompositions, steps_between_trees)
        if len(grid) != 3 or min(schedule) < 0:
            raise ValueError(
                f"grid={grid}, steps_between_decompositions={steps_between_decompositions}, "
                f"steps_between_trees={steps_between_trees}: grid has three numbers, none is negative"
            )
        self.store = store
        self._system: _plait_runtime.ParticleSystem = _extension.part("ParticleSystem")(
            runtime._engine,
            store._store,
            space_of(box, periodic, 0.0),
            schedule,
            (cell_reach, kind_bits(limited_kinds, "limited_kinds")),
        )

    # --- the parts of steps, before the first ---

    def add_long_range(
        self,
        charge: str,
        acceleration: str,
        potential: str,
        *,
        velocity: str | None = None,
        theta: float = 0.5,
        softening: float = 0.0,
        coupling: float = 1.0,
        cutoff: float = 0.0,
        order: Literal["monopole", "quadrupole"] = "quadrupole",
        precision: Literal["full", "mixed"] = "full",
        signs: Literal["one", "both"] = "one",
        source_kinds: Iterable[int] | None = None,
        target_kinds: Iterable[int] | None = None,
    ) -> None:
        """Adds forces that fall off as 1 / r^2, such as gravity. The first three are fields.

        velocity: the field by which trees of other ranks drift between individual steps.
        theta, softening, order, precision: as of `plait.particles.gravity`.
        coupling: G. Negative with `signs="both"`, by which like charges repel each other.
        cutoff: beyond this distance nothing acts; 0: there is none.
        """
        if min(theta, softening, cutoff) < 0:
            raise ValueError(
                f"theta={theta}, softening={softening}, cutoff={cutoff}: none must be negative"
            )
        choices = (
            _one_of(order, ("monopole", "quadrupole")) == 1,
            _one_of(precision, ("full", "mixed")) == 1,
            _one_of(signs, ("one", "both")) == 1,
        )
        kinds = (kind_bits(source_kinds, "source_kinds"), kind_bits(target_kinds, "target_kinds"))
        self._system.add_long_range(
            (charge, acceleration, potential),
            velocity,
            (theta, softening, coupling, cutoff),
            choices,
            kinds,
        )

    def integrate(
        self,
        velocity: str,
        acceleration: str | None = None,
        *,
        velocity_now: str | None = None,
        drift: Drift | None = None,
        kick: Kick | None = None,
        settle: Kick | None = None,
        predicted: Sequence[str] = (),
        forces: Sequence[str] = (),
    ) -> None:
        """Sets how particles move: half a kick and the drift before all sums, half a kick after them.

        By default the library's leapfrog moves them, by the fields `velocity` and `acceleration`;
        `velocity_now` is its velocity at the time of positions, equal to `velocity` at the start.

        drift: moves particles over a duration, and predicts the fields `predicted`. kick: changes
        velocities by the results `forces` of interactions. settle: replaces predictions when kicks have
        ended steps.
        """
        if drift is None and kick is None:
            if acceleration is None or settle is not None:
                raise ValueError(
                    "the leapfrog needs acceleration, and no settle: or give drift and kick"
                )
            self._system.integrate(velocity, acceleration, velocity_now)
            return
        if drift is None or kick is None or acceleration is not None or velocity_now is not None:
            raise ValueError(
                "an integrator of the program needs drift and kick, and no acceleration or velocity_now"
            )
        store = self.store
        self._system.integrate_by(
            velocity,
            lambda first, last, duration: drift(store, first, last, duration),
            lambda places, durations: kick(store, places, durations),
            None if settle is None else lambda places, durations: settle(store, places, durations),
            (list(predicted), list(forces)),
        )

    def take_steps(
        self,
        lengths: Literal["fixed", "equal", "individual"] = "individual",
        *,
        step: float = 0.0,
        begin: float = 0.0,
        end: float = 1.0,
        step_max: float = math.inf,
        step_min: float = 0.0,
    ) -> None:
        """Sets the lengths of steps, and adds fields to the store unless they are fixed.

        lengths: "fixed": of `step`. "equal": the shortest that any particle needs. "individual": each
            particle has its own. Criteria choose both: the span from `begin` to `end` over powers of
            two.
        begin: the time of the particles. end: of the last step; fixed steps have none.
        step_min: a particle that needs a shorter step ends the run.
        """
        self._system.take_steps(_one_of(lengths, _LENGTHS), (step, begin, end, step_max, step_min))

    def limit_steps_by(self, criterion: Criterion) -> None:
        """Adds a criterion: the shortest step of all counts."""
        store = self.store

        def lengths(places: Places) -> Floats:
            found = np.asarray(criterion(store, places), np.float64)
            return np.ascontiguousarray(np.broadcast_to(found, places.shape))

        self._system.limit_steps_by(lengths)

    def add_stage(
        self,
        name: str,
        function: StageFunction,
        *,
        writes: Sequence[str] = (),
        kinds: Iterable[int] | None = None,
    ) -> None:
        """Adds a part of a step, for active particles at the time of the step, in the order of adding.

        name: of its tasks in traces. writes: the fields that `function` changes, of the particles at its
        places only. Steps are then equal or individual.
        """
        store = self.store
        self._system.add_stage(
            name, kind_bits(kinds, "kinds"), list(writes), lambda places: function(store, places)
        )

    def before(self, name: str, function: RangeFunction) -> None:
        """Adds a function to call before the sums of each step, in the order of adding."""
        store = self.store
        self._system.before(name, lambda first, last: function(store, first, last))

    def after(self, name: str, function: RangeFunction) -> None:
        """Adds a function to call after the sums."""
        store = self.store
        self._system.after(name, lambda first, last: function(store, first, last))

    def when_summed(self, function: Callable[[Store], object]) -> None:
        """Adds a function that one worker calls when all sums are complete, in steps and updates."""
        store = self.store
        self._system.when_summed(lambda: function(store))

    # --- steps ---

    def update(self) -> None:
        """Sums all interactions at the present positions, after the first distribution of particles."""
        self._system.update()

    def step(self) -> StepResult:
        """Advances to the next time at which a particle's step ends."""
        return StepResult(*self._system.step())

    def run_until(self, time: float) -> None:
        """Steps until `time` or the end of the steps is reached."""
        self._system.run_until(time)

    def synchronise(self) -> None:
        """Drifts all particles to the present, with predictions, and sums long-range potentials.

        Between individual steps, velocities are those of each particle's last kick.
        """
        self._system.synchronise()

    def distribute(self) -> None:
        """Decomposes the domain and sends all particles to their owners, from anywhere."""
        self._system.distribute()

    @property
    def time(self) -> float:
        return self._system.time

    @property
    def is_over(self) -> bool:
        """Whether the end of the steps is reached."""
        return self._system.is_over

    @property
    def domain(self) -> tuple[Triple, Triple]:
        """The low and the high corner of this rank's domain."""
        low, high = self._system.domain()
        return three(low), three(high)

    # --- life ---

    def close(self) -> None:
        """Frees the system; the store remains. Collective."""
        self._system.close()

    def __enter__(self) -> System:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()


def _one_of(value: str, known: tuple[str, ...]) -> int:
    if value not in known:
        raise ValueError(f'"{value}" is unknown: use {", ".join(known[:-1])} or {known[-1]}')
    return known.index(value)
