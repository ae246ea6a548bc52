# SPDX-License-Identifier: Apache-2.0
"""Particles that are distributed over the ranks of a `plait.Runtime`.

`gravity`, `neighbours` and the measures take arrays: each rank passes any part of the particles, in any
order, and gets its results in that order. Inside, particles are sent to ranks by where they are, and
back. A `Store` with a `System` advances particles for many steps; they stay on the ranks that own their
space. docs/how-to/python.md has examples.
"""

from plait.particles.measures import (
    DensityProfile,
    Groups,
    Moments,
    density_profile,
    find_groups,
    measure_moments,
)
from plait.particles.store import Store
from plait.particles.sums import Forces, Neighbours, gravity, neighbours
from plait.particles.system import StepResult, System

__all__ = [
    "DensityProfile",
    "Forces",
    "Groups",
    "Moments",
    "Neighbours",
    "StepResult",
    "Store",
    "System",
    "density_profile",
    "find_groups",
    "gravity",
    "measure_moments",
    "neighbours",
]
