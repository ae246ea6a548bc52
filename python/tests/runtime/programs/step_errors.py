# SPDX-License-Identifier: Apache-2.0
"""Errors of stores and systems, and of functions that fail on one rank: they end the step on all ranks.
As tests/c_particles/step_errors.c.
"""

import gc
from typing import Any

import numpy as np

import plait
from plait.particles import Store, System

COUNT, SHORT_STEP, LONG_STEP = 600, 0.0625, 0.5


def refused(call: Any, sentence: str, kind: type[Exception] = ValueError) -> None:
    try:
        call()
    except kind as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"it was accepted: {sentence}")


def swarm(rt: plait.Runtime) -> Store:
    store = Store(velocity=3, acceleration=3)
    store.add_field("reach", dtype=np.float32)
    mine = np.arange(rt.rank, COUNT, rt.size)
    store.add(len(mine))
    store["id"] = mine
    store["position"] = np.random.default_rng(5).uniform(size=(COUNT, 3))[mine]
    return store


def refuse_changes_of_a_store(rt: plait.Runtime) -> None:
    store = swarm(rt)
    size = len(store)
    refused(lambda: store["mass"], "the store has no field mass", KeyError)
    refused(lambda: store.add_field("reach"), "reach")
    refused(lambda: store.add_field("few", 0), "give 1 or more")
    refused(lambda: store.add_field("few", dtype=np.complex128), "use float64, float32")
    refused(lambda: store.remove([3, 2]), "do not ascend")
    refused(lambda: store.remove([size]), "not in the store")
    view = store["velocity"]
    view[0] = 7
    assert (store["velocity"][0] == 7).all() and view.base is not None
    part = view[1:, :2]  # keeps the memory, too
    del view
    refused(lambda: store.add(1), "1 arrays view fields", BufferError)
    system = System(rt, swarm(rt))
    del part
    store.remove([0, 2])
    assert len(store) == size - 2
    store.add_field("more")
    assert store.fields[-1] == "more" and not store["more"].any()
    system.close()
    refused(system.step, "the system is closed")
    last = Store(x=1)
    last.add(4)
    kept = last["x"]
    del last
    gc.collect()
    kept[:] = 2  # the memory is there as long as the array
    assert kept.sum() == 8


def refuse_arguments(rt: plait.Runtime) -> None:
    store = swarm(rt)
    held = store["velocity"]
    refused(lambda: System(rt, store), "arrays view fields", BufferError)
    del held
    refused(lambda: System(rt, store, cell_reach="velocity"), "cell_reach")
    refused(lambda: System(rt, store, grid=(1, -1, 1)), "none is negative")
    refused(lambda: System(rt, store, grid=(5, 1, 1)), "grid")
    refused(lambda: System(rt, store, limited_kinds=[64]), "from 0 to 63")
    system = System(rt, store)
    some: Any = lambda *_: None  # noqa: E731
    refused(lambda: system.integrate("velocity"), "needs acceleration")
    refused(lambda: system.integrate("velocity", "reach"), "the acceleration, has 1 of float32")
    refused(lambda: system.integrate("velocity", drift=some), "needs drift and kick")
    refused(lambda: system.integrate("speed", "acceleration"), "no field speed", KeyError)
    refused(
        lambda: system.integrate("velocity", drift=some, kick=some, predicted=["heat"]),
        "no field heat",
        KeyError,
    )
    refused(lambda: system.take_steps("short"), "is unknown")  # type: ignore[arg-type]
    refused(lambda: system.add_long_range("reach", "acceleration", "reach"), "the charge")
    refused(lambda: system.add_long_range("a", "b", "c", theta=-1), "none must be negative")
    system.integrate("velocity", "acceleration")
    refused(lambda: system.integrate("velocity", "acceleration"), "one integrator")
    system.close()
    other = System(rt, store)
    other.take_steps("individual")
    refused(other.update, "integrat")
    other.close()


#: Of runs that have failed. They are closed at the end: notices of a failed run may still be on their
#: way, and MPI may give the communicator of a freed runtime to the next one.
runtimes: list[plait.Runtime] = []


def fail_on_one_rank(failing: str, lengths: Any, has_stage: bool = False) -> None:
    """A function fails on the rank 0 from the start."""
    rt = plait.Runtime(workers=2)
    runtimes.append(rt)

    def part(name: str, result: Any = None) -> Any:
        def function(store: Store, *_: object) -> Any:
            if name == failing and rt.rank == 0:
                raise LookupError("the star has no fuel: add hydrogen")
            return result

        return function

    def limit(store: Store, places: Any) -> Any:
        part("criterion")(store)
        return np.where(store.id[places] == 0, SHORT_STEP, LONG_STEP)

    system = System(rt, swarm(rt))
    system.integrate("velocity", drift=part("drift"), kick=part("kick"), settle=part("settle"))
    system.limit_steps_by(limit)
    if has_stage:
        system.add_stage("burn", part("stage"))
    system.take_steps(lengths)
    try:
        system.update()
        while not system.is_over:
            system.step()
            system.synchronise()
        raise AssertionError(f"{failing} has not failed")
    except LookupError as error:
        assert rt.rank == 0 and str(error) == "the star has no fuel: add hydrogen", error
    except plait.EngineError as error:
        assert rt.rank != 0 and error.code == "another rank failed", error
        assert "LookupError: the star has no fuel: add hydrogen" in str(error), error


def need_too_short_a_step(lengths: Any) -> None:
    """The particle 0 needs a shorter step than is allowed."""
    rt = plait.Runtime(workers=2)
    runtimes.append(rt)
    system = System(rt, swarm(rt))
    system.integrate("velocity", "acceleration")
    system.limit_steps_by(lambda store, places: np.where(store.id[places] == 0, SHORT_STEP, LONG_STEP))
    system.take_steps(lengths, step_min=2 * SHORT_STEP)
    try:
        system.run_until(1)
        raise AssertionError("a short step was taken")
    except (ValueError, plait.EngineError) as error:
        assert "needs a time step of 0.0625, which is shorter than 0.125" in str(error), error


def refuse_to_change_within_a_step(rt: plait.Runtime) -> None:
    store = swarm(rt)
    errors = []

    def change(store: Store) -> None:
        for call in (lambda: store.add(1), system.step):
            try:
                call()
            except ValueError as error:
                errors.append(str(error))

    with System(rt, store) as system:
        system.integrate("velocity", "acceleration")
        system.take_steps("fixed", step=1.0)
        system.when_summed(change)
        system.step()
    assert len(errors) == 2 and all("between steps" in error for error in errors), errors


with plait.Runtime(workers=2) as rt:
    refuse_changes_of_a_store(rt)
    refuse_arguments(rt)
    refuse_to_change_within_a_step(rt)
    fail_on_one_rank("criterion", "individual")
    fail_on_one_rank("criterion", "equal")
    fail_on_one_rank("criterion", "equal", has_stage=True)
    fail_on_one_rank("stage", "individual", has_stage=True)
    fail_on_one_rank("kick", "individual")
    fail_on_one_rank("drift", "equal")
    fail_on_one_rank("drift", "individual")
    fail_on_one_rank("settle", "individual")
    need_too_short_a_step("individual")
    need_too_short_a_step("equal")
    for failed in reversed(runtimes):
        failed.close()
print("ok")
