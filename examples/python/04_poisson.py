# SPDX-License-Identifier: Apache-2.0
# ranks: 2
"""Poisson's equation in a periodic box, by a transform, a division and a transform back."""

import numpy as np

import plait

N = 32
with plait.Runtime(workers=1) as rt:
    plan = plait.fft.Plan(rt, (N, N, N))
    x, y, z = np.ix_(*[2 * np.pi * np.arange(N)[part] / N for part in plan.local_slice()])
    density = plan.empty()
    density[...] = np.sin(x) * np.cos(2 * y) * np.sin(3 * z)

    modes = plan.forward(density)
    kx, ky, kz = plan.wave_numbers()
    square = kx**2 + ky**2 + kz**2
    modes /= -np.where(square == 0, 1, square)
    potential = plan.backward(modes)

    error = np.abs(potential + density / 14).max(initial=0)
    worst = rt.all_gather(error).result().max()
    if rt.rank == 0:
        print("this rank has", plan.local_shape(), "points and", plan.local_shape("spectral"), "modes")
        print("error below 1e-14:", worst < 1e-14)
