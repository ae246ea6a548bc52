# SPDX-License-Identifier: Apache-2.0
"""What to try when a collective of an MPI is slow."""

from __future__ import annotations

from plait._collective_names import is_non_blocking, is_persistent, plain_name

#: Collectives whose algorithm Open MPI lets users choose: of its components tuned and libnbc.
_TUNED = frozenset(
    (
        *("barrier", "bcast", "gather", "scatter", "allgather", "allgatherv", "alltoall", "alltoallv"),
        *("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    )
)
_LIBNBC = frozenset(("bcast", "allgather", "allreduce", "reduce", "scan", "exscan"))


def remedy(function: str, mpi: str) -> str:
    """As in "Try ...". `function`: as MPI names it; `mpi`: the version of the MPI."""
    name = plain_name(function)
    if mpi.startswith("Open MPI"):
        return _of_open_mpi(function, name)
    if mpi.startswith("MPICH"):
        begun = "I" if is_non_blocking(function) else ""
        return f"MPIR_CVAR_{begun}{name.upper()}_INTRA_ALGORITHM (mpivars lists its values)"
    return "another algorithm of the MPI"


def _of_open_mpi(function: str, name: str) -> str:
    if is_non_blocking(function):
        if name in _LIBNBC and not is_persistent(function):
            return (
                f"--mca coll_libnbc_i{name}_algorithm N (ompi_info --param coll libnbc --level 9 lists "
                "them), or the blocking collective where nothing is computed meanwhile"
            )
        return "the blocking collective where nothing is computed meanwhile, or messages"
    if name not in _TUNED:
        return "messages (MPI_Isend and MPI_Irecv): Open MPI has one algorithm for it"
    return (
        f"--mca coll ^tuned, or --mca coll_tuned_use_dynamic_rules 1 --mca "
        f"coll_tuned_{name}_algorithm N (ompi_info --param coll tuned --level 9 lists them)"
    )
