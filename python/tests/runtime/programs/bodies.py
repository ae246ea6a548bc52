# SPDX-License-Identifier: Apache-2.0
"""Gravity and neighbours as by direct sums, in the order of the input, however it is distributed."""

from typing import Any

import numpy as np

import plait


def parts(rt: plait.Runtime, count: int) -> list[slice]:
    """Ways of giving this rank a part: equal ones, all on the last rank."""
    cuts = np.linspace(0, count, rt.size + 1).astype(int)
    last = slice(0, count if rt.rank == rt.size - 1 else 0)
    return [slice(cuts[rt.rank], cuts[rt.rank + 1]), last]


def direct(places: Any, masses: Any, softening: float) -> tuple[Any, Any]:
    d = places[None] - places[:, None]
    squares = (d**2).sum(2) + softening**2
    np.fill_diagonal(squares, np.inf)
    sums = (masses[None, :, None] * d / squares[..., None] ** 1.5).sum(1)
    return sums, -(masses[None] / np.sqrt(squares)).sum(1)


def gravity(rt: plait.Runtime) -> None:
    random = np.random.default_rng(1)
    places, masses = random.normal(size=(1200, 3)), random.uniform(size=1200)
    accelerations, potentials = direct(places, masses, 0.02)
    for mine in parts(rt, len(places)):
        for theta, bound in ((0.0, 1e-9), (0.5, 1e-2)):
            found = plait.particles.gravity(rt, places[mine], masses[mine], 0.02, theta)
            assert found.accelerations.shape == places[mine].shape
            errors = np.linalg.norm(found.accelerations - accelerations[mine], axis=1)
            assert (errors <= bound * np.linalg.norm(accelerations[mine], axis=1)).all(), (
                theta,
                errors.max(),
            )
            assert np.allclose(found.potentials, potentials[mine], rtol=bound)
    doubled = plait.particles.gravity(rt, places[mine], 1.0, 0.02, 0.0, constant=2.0, precision="mixed")
    expected = direct(places, np.full(len(places), 2.0), 0.02)[0][mine]
    assert np.allclose(doubled.accelerations, expected, rtol=1e-3, atol=1e-3)
    few = plait.particles.gravity(rt, np.zeros((int(rt.rank == 0), 3)), 1.0)
    assert few.potentials.shape == (int(rt.rank == 0),) and not few.accelerations.any()


def neighbours(rt: plait.Runtime) -> None:
    random = np.random.default_rng(4)
    lattice = np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    cloud = random.uniform(-1, 1, (700, 3))
    cloud[10] = cloud[20]  # at one place
    edges = np.array([2.0, 2.0, 3.0])
    for places, radius, box, period in (
        (cloud, 0.3, None, np.full(3, np.inf)),
        (cloud, 0.3, [[-1, -1, -1.5], [1, 1, 1.5]], edges),
        (cloud, random.uniform(0, 0.4, 700), edges, edges),
        (lattice, 1.0, None, np.full(3, np.inf)),  # at exactly this distance
        (lattice, 2.0, (6.0, 6.0, 6.0), np.full(3, 6.0)),
    ):
        d = places[None] - places[:, None]
        d -= np.where(np.isinf(period), 0, np.where(np.isinf(period), 1, period)) * np.round(d / period)
        gathered = (d**2).sum(2) <= np.broadcast_to(radius, len(places))[:, None] ** 2
        np.fill_diagonal(gathered, False)
        all_near: dict[Any, Any] = {
            "gather": gathered,
            "scatter": gathered.T,
            "symmetric": gathered | gathered.T,
        }
        for search, near in all_near.items():
            for mine in parts(rt, len(places)):
                reach = radius[mine] if isinstance(radius, np.ndarray) else radius
                found = plait.particles.neighbours(rt, places[mine], reach, box=box, search=search)
                assert np.array_equal(np.diff(found.offsets), near[mine].sum(1))
                assert np.array_equal(found.indices, np.nonzero(near[mine])[1])


def shearing(rt: plait.Runtime) -> None:
    """Images slide along y: neighbours, and gravity by one image of each body."""
    random = np.random.default_rng(6)
    edges = np.array([1.0, 1.5, 0.5])
    places, masses = random.uniform(0, 1, (400, 3)) * edges, random.uniform(size=400)
    for displacement in (0.0, 0.4, -7.3):
        d = places[None] - places[:, None]
        rows = np.round(d[..., 0] / edges[0])
        d[..., 0] -= rows * edges[0]
        d[..., 1] += rows * displacement
        d[..., 1:] -= edges[1:] * np.round(d[..., 1:] / edges[1:])
        squares = (d**2).sum(2)
        np.fill_diagonal(squares, np.inf)
        forces = (masses[None, :, None] * d / squares[..., None] ** 1.5).sum(1)
        near = squares <= 0.2**2
        for mine in parts(rt, len(places)):
            space = {"box": edges, "displacement": displacement}
            found = plait.particles.neighbours(rt, places[mine], 0.2, **space)
            assert np.array_equal(np.diff(found.offsets), near[mine].sum(1))
            assert np.array_equal(found.indices, np.nonzero(near[mine])[1])
            sums = plait.particles.gravity(rt, places[mine], masses[mine], theta=0.0, **space)
            assert np.allclose(sums.accelerations, forces[mine], rtol=1e-9)


def refused(call: Any, sentence: str) -> None:
    try:
        call()
    except ValueError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"it was accepted: {sentence}")


def refusals(rt: plait.Runtime) -> None:
    """Of all ranks at once, before any of them sends."""
    good, particles = np.zeros((3, 3)), plait.particles
    refused(lambda: particles.gravity(rt, np.zeros((3, 2)), 1.0), "must have (n, 3)")
    refused(lambda: particles.gravity(rt, good, [1.0, 2.0]), "masses has the shape (2,)")
    refused(lambda: particles.gravity(rt, good, -1.0), "masses must be finite and not negative")
    refused(lambda: particles.gravity(rt, good * np.nan, 1.0), "is not finite")
    refused(lambda: particles.gravity(rt, good, 1.0, theta=-1), "must not be negative")
    refused(lambda: particles.gravity(rt, good, 1.0, order="octupole"), "is unknown")  # type: ignore[arg-type]
    refused(lambda: particles.neighbours(rt, good, -1.0), "not negative")
    refused(
        lambda: particles.neighbours(rt, good, 0.6, box=(1, 1, 1)),
        "less than half of each periodic edge",
    )
    refused(lambda: particles.neighbours(rt, good, 0.1, box=(1, 1)), "pass three edges")
    box = (1, 1, 1)
    refused(
        lambda: particles.neighbours(rt, good, 0.1, box=box, displacement=np.nan), "pass a finite length"
    )
    refused(
        lambda: particles.gravity(rt, good, 1.0, box=box, displacement=np.inf), "pass a finite length"
    )
    refused(lambda: particles.gravity(rt, good, 1.0, displacement=0.5), "without a box")
    refused(lambda: particles.gravity(rt, good, 1.0, box=(1, 0, 1), displacement=0.5), "along y")
    refused(lambda: particles.gravity(rt, good, 1.0, box=(0, 1, 1), displacement=0.5), "along x")
    refused(
        lambda: particles.gravity(
            rt, good, 1.0, box=(1, 1, 1), periodic=(True, False, True), displacement=0.5
        ),
        "make both axes periodic",
    )
    refused(lambda: particles.neighbours(rt, good, 0.1, search="spread"), "is unknown")  # type: ignore[arg-type]


with plait.Runtime(workers=2) as rt:
    gravity(rt)
    neighbours(rt)
    shearing(rt)
    refusals(rt)
print("ok")
