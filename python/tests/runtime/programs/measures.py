# SPDX-License-Identifier: Apache-2.0
"""Moments, groups and profiles as NumPy computes them, however particles are distributed."""

from typing import Any

import numpy as np

import plait
from plait.particles import density_profile, find_groups, measure_moments

random = np.random.default_rng(2)
PLACES = random.uniform(0, 1, (900, 3))
MASSES = random.uniform(0.5, 1.5, 900)
VELOCITIES = random.normal(size=(900, 3))


def parts(rt: plait.Runtime, count: int) -> list[slice]:
    """Ways of giving this rank a part: equal ones, all on the last rank."""
    cuts = np.linspace(0, count, rt.size + 1).astype(int)
    last = slice(0, count if rt.rank == rt.size - 1 else 0)
    return [slice(cuts[rt.rank], cuts[rt.rank + 1]), last]


def compare(found: Any, which: Any) -> None:
    x, m, v = PLACES[which], MASSES[which], VELOCITIES[which]
    mean = lambda values: np.average(values, axis=0, weights=m)  # noqa: E731
    d, w = x - mean(x), v - mean(v)
    assert found.members == len(x)
    assert np.isclose(found.mass, m.sum(), rtol=1e-13)
    assert np.allclose(found.centre, mean(x), rtol=1e-12)
    assert np.allclose(found.velocity, mean(v), rtol=1e-11)
    assert np.allclose(found.angular_momentum, (m[:, None] * np.cross(d, w)).sum(0), atol=1e-11)
    assert np.allclose(found.extent, mean(d[:, :, None] * d[:, None, :]), atol=1e-13)
    assert np.allclose(found.dispersion, mean(w[:, :, None] * w[:, None, :]), atol=1e-12)
    assert np.isclose(found.radius, np.sqrt(mean((d**2).sum(1))))
    assert np.isclose(found.speed, np.sqrt(mean((w**2).sum(1))))
    lengths, axes = found.axes
    assert (np.diff(lengths) <= 0).all()
    assert np.allclose((axes.T * lengths**2) @ axes, found.extent, atol=1e-13)


def moments(rt: plait.Runtime) -> None:
    light = MASSES < 0.8
    for mine in parts(rt, len(PLACES)):
        bodies = PLACES[mine], MASSES[mine], VELOCITIES[mine]
        compare(measure_moments(rt, *bodies), slice(None))
        compare(measure_moments(rt, *bodies, where=light[mine]), light)
    still = measure_moments(rt, PLACES[mine], MASSES[mine])
    assert still.speed == 0 and not still.angular_momentum.any()
    empty = measure_moments(rt, np.zeros((0, 3)), 1.0)
    assert empty.members == 0 and empty.mass == 0


def groups_of(places: Any, length: float) -> Any:
    """The smallest number of each particle's group, in a periodic box of edges of 1."""
    d = places[None] - places[:, None]
    d -= np.round(d)
    near = (d**2).sum(2) <= length**2
    number = np.arange(len(places))
    while True:
        smaller = np.where(near, number[None], len(places)).min(1)
        if np.array_equal(smaller, number):
            return number
        number = smaller


def groups(rt: plait.Runtime) -> None:
    expected = groups_of(PLACES, 0.06)
    sizes = np.bincount(expected, minlength=len(PLACES))
    expected = np.where(sizes[expected] >= 5, expected, -1)
    assert (expected >= 0).sum() > 50
    for mine in parts(rt, len(PLACES)):
        found = find_groups(
            *(rt, PLACES[mine], MASSES[mine], VELOCITIES[mine]),
            linking_length=0.06,
            members_min=5,
            box=(1, 1, 1),
        )
        assert np.array_equal(found.of_particle, expected[mine])
        here = np.zeros(len(PLACES), int)
        for number, moments in found.moments.items():
            which = expected == number
            here[number] = 1
            assert moments.members == which.sum()
            assert np.isclose(moments.mass, MASSES[which].sum())
            assert np.allclose(
                moments.velocity, np.average(VELOCITIES[which], axis=0, weights=MASSES[which])
            )
        owners = rt.all_gather(here).result().sum(0)  # each group is on one rank
        assert np.array_equal(np.nonzero(owners)[0], np.unique(expected[expected >= 0]))
        assert owners.max() == 1


def profiles(rt: plait.Runtime) -> None:
    radii = [0.05, 0.1, 0.2, 0.4]
    d = PLACES - [0.1, 0.5, 0.9]
    distances = np.linalg.norm(d - np.round(d), axis=1)
    particles = np.histogram(distances, radii)[0]
    mass = np.histogram(distances, radii, weights=MASSES)[0]
    for mine in parts(rt, len(PLACES)):
        found = density_profile(
            rt, PLACES[mine], MASSES[mine], [0.1, 0.5, 0.9], radii, box=(1, 1, 1), periodic=True
        )
        assert np.array_equal(found.particles, particles) and np.array_equal(found.radii, radii)
        assert np.allclose(found.mass, mass, rtol=1e-13)
        assert np.allclose(found.density, mass / (4 / 3 * np.pi * np.diff(np.array(radii) ** 3)))


def refused(call: Any, sentence: str) -> None:
    try:
        call()
    except ValueError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"it was accepted: {sentence}")


def refusals(rt: plait.Runtime) -> None:
    """Of all ranks at once, before any of them sends."""
    three = np.zeros((3, 3))
    refused(lambda: measure_moments(rt, three, 1.0, np.zeros((2, 3))), "velocities has 2 rows")
    refused(lambda: measure_moments(rt, three, 1.0, np.zeros(3)), "velocities has the shape")
    refused(lambda: measure_moments(rt, three, 1.0, where=[True]), "where has the shape")
    refused(lambda: measure_moments(rt, three * np.nan, 1.0), "is not finite")
    refused(lambda: find_groups(rt, three, 1.0, linking_length=0), "linking length")
    refused(lambda: find_groups(rt, three, 1.0, linking_length=1, members_min=0), "1 member")
    refused(lambda: density_profile(rt, three, 1.0, three, [0, 1]), "centre has the shape (3, 3)")
    refused(lambda: density_profile(rt, three, 1.0, three[0], [1, 0]), "radii")


with plait.Runtime(workers=2) as rt:
    moments(rt)
    groups(rt)
    profiles(rt)
    refusals(rt)
print("ok")
