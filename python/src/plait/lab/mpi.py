# SPDX-License-Identifier: Apache-2.0
"""How each MPI is started so that one job spans the hosts of a lab, and talks over their links only."""

from __future__ import annotations

from collections.abc import Sequence

from plait._errors import PlaitError
from plait._launcher import Launcher
from plait.lab.network import AGENT, Network
from plait.lab.settings import Lab

#: Open MPI's variable of the interfaces that it uses.
_LINKS = "OMPI_MCA_btl_tcp_if_include"


def job_command(launcher: Launcher, lab: Lab, program: Sequence[str]) -> list[str]:
    """To be run on the first host."""
    slots = ",".join(f"host{i}:{lab.ranks_of(i)}" for i in range(lab.hosts))
    count = ["-n", str(lab.rank_count)]
    if launcher.family == "Open MPI":
        return [launcher.path, "--host", slots, "--bind-to", "none", *count, *program]
    if launcher.family == "MPICH":
        agent = ["-launcher", "rsh", "-launcher-exec", str(AGENT)]
        return [launcher.path, *agent, "-hosts", slots, "-iface", lab.interfaces[0], *count, *program]
    raise PlaitError(f"the lab knows Open MPI and MPICH; {launcher.path} is neither")


# For UCX and libfabric, which both MPIs may use, Open MPI for one-sided communication: each goes by what
# it finds on the machine, and would take the memory that all hosts of a lab share.
def _over_links(lab: Lab) -> dict[str, str]:
    over = {
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": ",".join(lab.interfaces),
        "FI_PROVIDER": "tcp",
    }
    # libfabric's name of one interface would forbid the others.
    return over if lab.links > 1 else over | {"FI_TCP_IFACE": lab.interfaces[0]}


def job_environment(launcher: Launcher, lab: Lab, network: Network) -> dict[str, str]:
    own = _open_mpi(lab, network) if launcher.family == "Open MPI" else _mpich(lab)
    return {**network.environment, **own}


def _open_mpi(lab: Lab, network: Network) -> dict[str, str]:
    one_each = lab.rank_count == lab.hosts
    parameters = {
        "plm": "rsh",
        "plm_rsh_agent": str(AGENT),
        "pml": "ob1",
        # Ranks of one host may share its memory; host names keep those of different hosts from it.
        "btl": "self,tcp" if one_each else "self,vader,tcp",
        # Open MPI divides long messages among them; the user may name fewer.
        "btl_tcp_if_include": network.environment.get(_LINKS, ",".join(lab.interfaces)),
        "oob_tcp_if_include": lab.interfaces[0],
        # A host's own memory: what a killed job leaves there ends with the lab.
        "orte_tmpdir_base": "/dev/shm",
    }
    cores = {core for host in network.hosts for core in host.cores.split(",")}
    if lab.rank_count > len(cores):
        parameters["mpi_yield_when_idle"] = "1"  # a host cannot know that others use its cores
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return _over_links(lab) | as_root | {f"OMPI_MCA_{name}": value for name, value in parameters.items()}


def _mpich(lab: Lab) -> dict[str, str]:
    environment = _over_links(lab)
    if lab.rank_count == lab.hosts:
        environment["MPIR_CVAR_NOLOCAL"] = "1"
    return environment
