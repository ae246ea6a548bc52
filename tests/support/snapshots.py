# SPDX-License-Identifier: Apache-2.0
"""Snapshots compared, and the packages that open them, for the tests of particle programs."""

from __future__ import annotations

import importlib
import pathlib
import unittest
from collections.abc import Iterator
from typing import Any

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


def installed_readers(*names: str) -> Iterator[tuple[str, Any]]:
    """Each of these packages that open snapshots, with its name, if it is installed; prints the others' names."""
    for name in names:
        try:
            reader = importlib.import_module(name)
        except ImportError:
            print(f"{name} is not installed: not tried")
            continue
        if name == "yt":
            reader.set_log_level("error")
        yield name, reader
