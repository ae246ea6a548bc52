# SPDX-License-Identifier: Apache-2.0
"""Names of MPI's collectives."""

from __future__ import annotations


def plain_name(function: str) -> str:
    """The name of a collective without what makes it non-blocking, persistent or of large counts:
    "alltoall" of "MPI_Ialltoall", "PMPI_Alltoall_init" and "MPI_Alltoall_c"."""
    name = function.lower().removeprefix("p").removeprefix("mpi_")
    name = name.removesuffix("_init").removesuffix("_c").removesuffix("_init")
    return name.removeprefix("i")


def is_non_blocking(function: str) -> bool:
    """Whether it only begins a collective, or prepares one."""
    name = function.lower().removeprefix("p").removeprefix("mpi_")
    return name.startswith("i") or is_persistent(function)


def is_persistent(function: str) -> bool:
    """Whether it prepares a collective, which is started later."""
    return function.lower().removesuffix("_c").endswith("_init")


def is_among_neighbours(function: str) -> bool:
    return plain_name(function).startswith("neighbor")


def blocking_name(function: str) -> str:
    """The function that does the same and waits: "MPI_Bcast" of "MPI_Ibcast" and "MPI_Bcast_init"."""
    return f"MPI_{plain_name(function).capitalize()}"
