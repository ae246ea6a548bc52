# SPDX-License-Identifier: Apache-2.0
"""Distributed transforms have the results of numpy.fft."""

from typing import Any

import numpy as np

import plait


def compare(rt: plait.Runtime, shape: tuple[int, int, int], dtype: Any, grid: Any, variant: str) -> None:
    random = np.random.default_rng(5)
    fields = [random.normal(size=shape).astype(dtype) for _ in range(3)]
    if dtype is np.complex128:
        fields = [field + 1j * random.normal(size=shape) for field in fields]
    transform: Any = np.fft.fftn if dtype is np.complex128 else np.fft.rfftn
    plan = plait.fft.Plan(rt, shape, dtype=dtype, grid=grid, effort="estimate", variant=variant)
    here, there = plan.local_slice(), plan.local_slice("spectral")
    assert plan.variant == variant and plan.grid[0] * plan.grid[1] == rt.size
    mine = np.stack([field[here] for field in fields])
    kept = mine.copy()
    modes = plan.forward(mine)
    assert modes.shape == (3, *plan.local_shape("spectral"))
    for field, found in zip(fields, modes, strict=True):
        assert np.allclose(found, transform(field)[there], atol=1e-11)
    assert np.array_equal(mine, kept)
    assert np.allclose(plan.backward(modes), mine, atol=1e-12)
    unitary = plan.forward(mine[0], norm="ortho")
    assert np.allclose(unitary, transform(fields[0], norm="ortho")[there], atol=1e-12)
    assert np.allclose(plan.backward(unitary, norm="ortho"), mine[0], atol=1e-12)
    (one,) = plan.forward([mine[1]], norm="forward")
    assert np.allclose(one, transform(fields[1], norm="forward")[there], atol=1e-12)
    plan.close()


def reuse(rt: plait.Runtime) -> None:
    """The same arrays again, other arrays on one rank only, more sets of arrays than are kept."""
    plan = plait.fft.Plan(rt, (8, 6, 10), effort="estimate")
    whole = np.random.default_rng(2).normal(size=(8, 6, 10))
    expected = np.fft.rfftn(whole)[plan.local_slice("spectral")]
    arrays = [plan.empty("spectral") for _ in range(6)]
    mine = np.ascontiguousarray(whole[plan.local_slice()])
    for i in range(30):
        place = (i // 2 + (i % 5 == 0) * rt.rank) % len(arrays)
        arrays[place][...] = 0
        plan.forward(mine, arrays[place])
        assert np.allclose(arrays[place], expected)


def derivative(rt: plait.Runtime) -> None:
    plan = plait.fft.Plan(rt, (4, 6, 16))
    x = 2 * np.pi * np.arange(16) / 16
    u = plan.empty()
    u[...] = np.sin(3 * x)[plan.local_slice()[2]]
    waves = plan.wave_numbers()
    assert [w.size for w in waves] == list(plan.local_shape("spectral"))
    slope = plan.backward(1j * waves[2] * plan.forward(u))
    assert np.allclose(slope, 3 * np.cos(3 * x)[plan.local_slice()[2]])


def refused(call: Any, kind: type[Exception], sentence: str) -> None:
    try:
        call()
    except kind as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(f"it was accepted: {sentence}")


def refusals(rt: plait.Runtime) -> None:
    plan = plait.fft.Plan(rt, (8, 6, 10), effort="estimate")
    good = np.zeros_like(plan.empty())
    refused(
        lambda: plan.forward(good.astype("f4")),
        TypeError,
        "has the type float32: pass source.astype(float64)",
    )
    refused(
        lambda: plan.forward(np.zeros((1, 2, 3))), ValueError, "this rank's part in physical space has"
    )
    refused(lambda: plan.forward(good, norm="no"), ValueError, "backward, ortho, forward")
    refused(lambda: plan.local_slice("other"), ValueError, "is no space")  # type: ignore[arg-type]
    refused(lambda: plan.forward([]), ValueError, "no arrays")
    refused(lambda: plait.fft.Plan(rt, (8, 6)), ValueError, "must have three")
    refused(lambda: plait.fft.Plan(rt, (8, 6, 4), dtype="f4"), TypeError, "float64 or complex128")
    refused(lambda: plait.fft.Plan(rt, (8, 6, 4), grid=(5, 7)), ValueError, "")
    refused(lambda: plait.fft.Plan(rt, (8, 6, 4), effort="no"), ValueError, "is unknown")  # type: ignore[arg-type]
    assert "real array of 8 x 6 x 10" in plan.describe()


with plait.Runtime(workers=2) as rt:
    for dtype in (np.float64, np.complex128):
        for grid in (None, (rt.size, 1), (1, rt.size)):
            compare(rt, (6, 5, 9), dtype, grid, "PLT")
        for variant in ("PLB", "PLN", "MPI"):
            compare(rt, (7, 8, 4), dtype, None, variant)
    compare(rt, (1, 2, 3), np.float64, None, "PLT")  # fewer planes than ranks
    reuse(rt)
    derivative(rt)
    refusals(rt)
print("ok")
