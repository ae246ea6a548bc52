# SPDX-License-Identifier: Apache-2.0
"""Steps that particles choose, their integrators and limits, beside a direct computation for each
particle: as tests/c_particles/time_steps.c.
"""

from typing import Any, Literal

import numpy as np

import plait
from plait.particles import Store, System

COUNT, BEGIN, END = 300, 1.0, 3.0
SHORT_STEP, LONG_STEP, REACH = 0.03125, 0.25, 0.15
Lengths = Literal["equal", "individual"]
random = np.random.default_rng(3)
PLACES, VELOCITIES = random.uniform(0, 1, (COUNT, 3)), random.uniform(-0.5, 0.5, (COUNT, 3))


def steps_of(ids: Any, lengths: Lengths = "individual") -> Any:
    return np.where((ids % 10 == 0) | (lengths == "equal"), SHORT_STEP, LONG_STEP)


def swarm(rt: plait.Runtime) -> Store:
    """Particle i begins on rank i modulo their number."""
    store = Store(velocity=3, now=3, acceleration=3, drifted=1, kicked=1)
    store.add_field("settles", dtype=np.int32)
    store.add_field("pulls", dtype="int32")
    store.add_field("reach", dtype=np.float32)
    mine = np.arange(rt.rank, COUNT, rt.size)
    assert store.add(len(mine)) == 0 and len(store) == len(mine)
    store["id"], store["kind"], store["reach"] = mine, mine % 2, REACH
    store["position"] = PLACES[mine]
    store["velocity"] = store["now"] = VELOCITIES[mine]
    return store


# --- the parts of steps ---


def pull(store: Store, places: Any) -> None:
    """Towards the origin: then no particle depends on others."""
    store["acceleration"][places] = -store["position"][places]
    store["pulls"][places] += 1


def limit(store: Store, places: Any) -> Any:
    return steps_of(store.id[places])


def drift(store: Store, first: int, last: int, duration: float) -> None:
    store["position"][first:last] += duration * store["velocity"][first:last]
    store["now"][first:last] += duration * store["acceleration"][first:last]
    store["drifted"][first:last] += duration


def kick(store: Store, places: Any, durations: Any) -> None:
    store["velocity"][places] += durations[:, None] * store["acceleration"][places]
    store["kicked"][places] += durations


def settle(store: Store, places: Any, durations: Any) -> None:
    assert len(places) == len(durations)
    store["now"][places] = store["velocity"][places]
    store["settles"][places] += 1


# --- one particle at a time ---


def follow(places: Any, velocities: Any, length: float, time: float) -> tuple[Any, Any]:
    """A leapfrog in steps of one length until `time`; the last step may end later."""
    x, v = places.copy(), velocities.copy()
    for begin in np.arange(BEGIN, time, length):
        v += length / 2 * -x
        if begin + length > time:
            x += (time - begin) * v
            return x, v
        x += length * v
        v += length / 2 * -x
    return x, v


def compare(store: Store, time: float, lengths: Lengths) -> None:
    own = steps_of(store.id, lengths)
    for length in (SHORT_STEP, LONG_STEP):
        which = store.id[own == length]
        x, v = follow(PLACES[which], VELOCITIES[which], length, time)
        assert np.abs(store.position[own == length] - x).max(initial=0) < 1e-13
        if time == END:
            assert np.abs(store["velocity"][own == length] - v).max(initial=0) < 1e-13
            assert np.array_equal(store["now"], store["velocity"])


def check_durations(store: Store, time: float, lengths: Lengths) -> None:
    """The functions of the program's integrator have had all durations, for all particles."""
    own = steps_of(store.id, lengths)
    ended = (time - BEGIN) // own
    assert (store["drifted"] == time - BEGIN).all()
    assert (store["kicked"] == own * (ended if time == END else ended + 0.5)).all()
    assert (store["settles"] == ended).all() and (store["pulls"] == ended).all()


def forget_counts(store: Store) -> None:
    """The first update calls functions as often as it needs them."""
    store["pulls"] = store["settles"] = 0


# --- runs ---


def step_to_end(rt: plait.Runtime, system: System, lengths: Lengths) -> None:
    begin, updated, here = system.time, 0, 0
    while not system.is_over:
        before = system.time
        step = system.step()
        assert step.time == system.time and step.length == step.time - before > 0
        updated += step.updated
        here += step.updated_here
    assert system.time == END
    assert rt.all_gather(np.array([here])).result().sum() == updated
    assert updated == ((END - begin) / steps_of(np.arange(COUNT), lengths)).sum()


def oscillate(rt: plait.Runtime, lengths: Lengths, has_own_functions: bool) -> None:
    first = BEGIN + SHORT_STEP
    store = swarm(rt)
    with System(rt, store) as system:
        system.add_stage("pull", pull, writes=["acceleration", "pulls"])
        if has_own_functions:
            predicted = ["now", "drifted"]
            system.integrate(
                "velocity",
                drift=drift,
                kick=kick,
                settle=settle,
                predicted=predicted,
                forces=["acceleration"],
            )
        else:
            system.integrate("velocity", "acceleration", velocity_now="now")
        system.limit_steps_by(limit)
        system.take_steps(lengths, begin=BEGIN, end=END)
        assert system.time == BEGIN and not system.is_over
        system.update()
        forget_counts(store)
        system.run_until(first)
        assert system.time == first
        system.synchronise()
        compare(store, first, lengths)
        if has_own_functions:
            check_durations(store, first, lengths)
        system.run_until(2)
        assert system.time == 2 and not system.is_over
        step_to_end(rt, system, lengths)
        compare(store, END, lengths)
        if has_own_functions:
            check_durations(store, END, lengths)
        system.run_until(END + 1)  # no step is left
        assert system.time == END


def limit_by_neighbours(rt: plait.Runtime, kinds: tuple[int, ...] | None) -> None:
    """Particles of some kinds take shorter steps near those with short ones."""

    def count(store: Store, places: Any) -> None:
        store["pulls"][places] += 1

    store = swarm(rt)
    with System(rt, store, cell_reach="reach", limited_kinds=kinds) as system:
        system.add_stage("count", count, writes=["pulls"])
        system.integrate("velocity", "acceleration")
        system.limit_steps_by(limit)
        system.take_steps(begin=BEGIN, end=END)
        system.update()
        forget_counts(store)
        system.run_until(END)
    more = store["pulls"] - (END - BEGIN) / steps_of(store.id)
    limited = np.isin(store["kind"], (0, 1) if kinds is None else kinds)
    assert (more[limited] >= 0).all() and (more[~limited] == 0).all()
    total = rt.all_gather(np.array([more.sum()])).result().sum()
    assert total == 0 if kinds == () else total > 0


def fixed_steps(rt: plait.Runtime) -> None:
    """Of one length, with gravity, and functions before and after the sums."""
    store = Store(mass=1, velocity=3, acceleration=3, potential=1, calls=2)
    if rt.rank == rt.size - 1:
        store.add(2)
        store["id"], store["mass"] = [0, 1], 0.5
        store.position[:, 0], store["velocity"][:, 1] = [-0.5, 0.5], [-0.5, 0.5]
    summed = []

    def count(column: int) -> Any:
        def add(store: Store, first: int, last: int) -> None:
            store["calls"][first:last, column] += 1

        return add

    box = [(-2, -2, -2), (2, 2, 2)]
    with System(rt, store, box=box, periodic=False, steps_between_decompositions=1) as system:
        system.add_long_range("mass", "acceleration", "potential", theta=0)
        system.before("before", count(0))
        system.after("after", count(1))
        system.when_summed(lambda store: summed.append(len(store)))
        system.integrate("velocity", "acceleration")
        system.take_steps("fixed", step=2 * np.pi / 1000)
        system.update()
        for _ in range(1000):
            system.step()
        low, high = system.domain
        assert all(a < b for a, b in zip(low, high, strict=True))
    assert len(summed) == 1001
    assert (store["calls"] == 1000).all()
    # A circle of the period 2 pi: the phase error of a leapfrog is (2 pi / 1000)^2 / 24 of it.
    ends = np.stack([store.id - 0.5, np.zeros(len(store)), np.zeros(len(store))], 1)
    assert np.abs(store.position - ends).max(initial=0) < 1e-4


with plait.Runtime(workers=2) as rt:
    for lengths in ("individual", "equal"):
        oscillate(rt, lengths, False)
        oscillate(rt, lengths, True)
    for kinds in ((), (0,), (1,), None):
        limit_by_neighbours(rt, kinds)
    fixed_steps(rt)
print("ok")
