# SPDX-License-Identifier: Apache-2.0
"""Comparisons of snapshots, for the tests of particle programs."""

from __future__ import annotations

import pathlib
import unittest

import h5py
import numpy as np


def assert_equal_particles(case: unittest.TestCase, one: pathlib.Path, other: pathlib.Path, kind: str) -> None:
    """Compares all data sets of `kind` bit by bit, in the order of ids."""
    with h5py.File(one) as a, h5py.File(other) as b:
        case.assertEqual(set(a[kind]), set(b[kind]))
        order = [np.argsort(file[f"{kind}/ParticleIDs"][:]) for file in (a, b)]
        for name in a[kind]:
            rows = [file[f"{kind}/{name}"][:][places] for file, places in zip((a, b), order, strict=True)]
            case.assertEqual(rows[0].shape, rows[1].shape, name)
            differ = np.count_nonzero(rows[0].view(np.uint8) != rows[1].view(np.uint8))
            case.assertEqual(differ, 0, f"{kind}/{name} differs in {differ} bytes")
