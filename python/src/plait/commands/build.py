# SPDX-License-Identifier: Apache-2.0
"""`plait build`: what commands would build at their first use."""

from __future__ import annotations

from collections.abc import Sequence

from plait import _build
from plait._errors import PlaitError, Status
from plait._preload import KINDS

PRODUCTS = {
    product.name: product
    for product in (
        _build.RECORDER,
        _build.ACCELERATOR,
        _build.SIMULATION,
        _build.EXTENSION,
        *_build.PROGRAMS.values(),
    )
}


def build(what: Sequence[str], mpi: str | None) -> None:
    """Prints the path of each."""
    for name in what:
        if name not in PRODUCTS:
            raise PlaitError(
                f"there is nothing named {name}; use {', '.join(PRODUCTS)}", status=Status.usage
            )
    if mpi is not None and mpi not in KINDS:
        raise PlaitError(f"--mpi {mpi} is unknown; use one of {', '.join(KINDS)}", status=Status.usage)
    for name in what:
        print(_build.build_ahead(PRODUCTS[name], mpi))
