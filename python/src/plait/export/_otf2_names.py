# SPDX-License-Identifier: Apache-2.0
"""What the events of an OTF2 archive refer to: locations, regions, communicators, metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from otf2 import enums

from plait import _events as events
from plait._events import Run
from plait.export._samples import CallPaths, call_paths, counted, sampled_threads, thread_label
from plait.export._tracks import Track

#: Of a location: rank, what its track is, number of the thread.
Key = tuple[int, str, int]

_ROLES = {
    events.CALL_BEGINS: enums.RegionRole.POINT2POINT,
    events.CALL_COMPLETES: enums.RegionRole.POINT2POINT,
    events.CALL_MESSAGE: enums.RegionRole.POINT2POINT,
    events.CALL_COLLECTIVE: enums.RegionRole.COLL_OTHER,
    events.CALL_BEGINS_COLLECTIVE: enums.RegionRole.COLL_OTHER,
    events.CALL_ONE_SIDED: enums.RegionRole.RMA,
    events.CALL_FILE: enums.RegionRole.FILE_IO,
}
_COLLECTIVES = (
    *("BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV"),
    *("ALLTOALL", "ALLTOALLV", "ALLTOALLW", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN"),
    "REDUCE_SCATTER_BLOCK",
)


class Definitions:
    """Makes all definitions of an archive; every name is used once, as some readers want it."""

    def __init__(self, run: Run, registry: Any, tracks: Sequence[Track]) -> None:
        self._run = run
        self._registry = registry
        self._with_tasks = {track.rank for track in tracks if track.table == "tasks"}
        self._main: dict[int, Key] = {}
        self._operations: dict[int, Any] = {}
        self.locations: dict[Key, Any] = {}
        self.comms: dict[int, Any] = {}
        self._members: dict[int, dict[int, int]] = {}
        self._define_locations(tracks)
        self.regions = self._define_regions()
        self._define_communicators()
        mode = enums.MetricMode
        self.metrics = {
            kind: self._define_metric(run.counter_kinds[kind], mode.ABSOLUTE_POINT)
            for kind in run.counters["kind"].unique().sort().to_list()
        }
        names = counted(run)["name"].unique(maintain_order=True).to_list()
        self.counts = {name: self._define_metric(name, mode.RELATIVE_LAST) for name in names}
        self._paths = call_paths(run)
        self._contexts = self._define_contexts(self._paths)
        self.interrupts = self._define_interrupts()
        self._sources: dict[int, dict[Any, Any]] = {}

    @staticmethod
    def key(track: Track) -> Key:
        # Calls and tasks of one thread are kept apart: they need not nest.
        return track.rank, track.what if track.table != "calls" else "calls", track.number

    def thread_key(self, rank: int, thread: int) -> Key:
        """Of the thread's calls, else of its tasks, else of the rank's first thread."""
        for what in ("calls", "thread"):
            if (rank, what, thread) in self.locations:
                return rank, what, thread
        return self._main[rank]

    def context(self, site: int) -> Any:
        """The calling context of a sample."""
        return self._contexts[self._paths.of_site[site]]

    def call_site(self, site: int) -> dict[Any, Any]:
        """The attributes of a call at this place: its line in the source, or its place as the file."""
        if site not in self._sources:
            place = self._run.sites[site]
            known = place.file is not None
            where = self._registry.source_code_location(
                place.file if known else place.place, (place.line or 0) if known else 0
            )
            attribute = self._registry.attribute(
                "call site",
                "where in the program the function was called",
                type=enums.Type.SOURCE_CODE_LOCATION,
            )
            self._sources[site] = {attribute: where}
        return self._sources[site]

    def comm(self, number: int) -> Any:
        """That of all ranks where nothing is known of this one."""
        return self.comms.get(number, self.comms[0])

    def index(self, communicator: int, rank: int) -> int:
        """Of a rank of the run, in the communicator; itself where it is not known there."""
        return self._members.get(communicator, {}).get(rank, rank)

    def operation(self, function: int) -> Any | None:
        """What collective a function is; None where OTF2 has no name for it."""
        if function not in self._operations:
            name = self._run.functions[function].upper().removeprefix("MPI_").removesuffix("_INIT")
            if name not in _COLLECTIVES:
                name = re.sub("^I", "", name)
            found = getattr(enums.CollectiveOp, name) if name in _COLLECTIVES else None
            self._operations[function] = found
        return self._operations[function]

    def _define_locations(self, tracks: Sequence[Track]) -> None:
        define = self._registry
        root = define.system_tree_node("machine", class_name="machine", parent=None)
        hosts = self._run.meta.get("hosts")
        hosts = hosts if isinstance(hosts, list) else []
        nodes: dict[str, Any] = {}
        for rank in range(self._run.ranks):
            host = str(hosts[rank]) if rank < len(hosts) else "unknown host"
            if host not in nodes:
                nodes[host] = define.system_tree_node(f"node {host}", class_name="node", parent=root)
            group = define.location_group(
                f"rank {rank}",
                location_group_type=enums.LocationGroupType.PROCESS,
                system_tree_parent=nodes[host],
            )
            own = [track for track in tracks if track.rank == rank]
            threads = [self.key(track) for track in own if track.what == "thread"]
            # MPI events need a location even of ranks that left no file.
            self._main[rank] = threads[0] if threads else (rank, "thread", 0)
            wanted = {self._main[rank]: f"rank {rank} worker 0"}
            wanted |= {self.key(track): f"rank {rank} {self._label(track)}" for track in own}
            wanted |= {
                (rank, "samples", thread): f"rank {rank} samples of {thread_label(worker, thread)}"
                for of_rank, worker, thread, _ in sampled_threads(self._run)
                if of_rank == rank
            }
            for key, name in wanted.items():
                self.locations[key] = define.location(
                    name, type=enums.LocationType.CPU_THREAD, group=group
                )

    def _label(self, track: Track) -> str:
        both = track.table == "calls" and track.rank in self._with_tasks
        return f"{track.label} calls" if both else track.label

    def _define_regions(self) -> list[Any]:
        run = self._run
        of_function = dict(run.calls.select("function", "class").unique("function").iter_rows())
        first = len(run.kinds)
        regions = []
        for number, name in enumerate((*run.kinds, *run.functions, *run.span_kinds)):
            role, paradigm = enums.RegionRole.CODE, enums.Paradigm.USER
            if number < first:
                role = enums.RegionRole.TASK
            elif number < first + len(run.functions):
                role = _ROLES.get(of_function.get(number - first, 0), enums.RegionRole.FUNCTION)
                paradigm = enums.Paradigm.MPI
            regions.append(self._registry.region(name, region_role=role, paradigm=paradigm))
        return regions

    def _define_communicators(self) -> None:
        define, mpi = self._registry, enums.Paradigm.MPI
        mains = [self.locations[self._main[rank]] for rank in range(self._run.ranks)]
        define.group("MPI ranks", group_type=enums.GroupType.COMM_LOCATIONS, paradigm=mpi, members=mains)
        members: dict[int, list[int]] = {0: list(range(self._run.ranks))}
        table = self._run.communicators.sort("communicator", "index")
        for (number,), part in table.partition_by("communicator", as_dict=True).items():
            members[int(number)] = [rank for rank in part["rank"].to_list() if rank < self._run.ranks]
        for number, ranks in sorted(members.items()):
            name = "MPI_COMM_WORLD" if number == 0 else f"communicator {number}"
            group = define.group(
                f"ranks of {name}",
                group_type=enums.GroupType.COMM_GROUP,
                paradigm=mpi,
                members=[mains[rank] for rank in ranks],
            )
            self.comms[number] = define.comm(name, group=group)
            self._members[number] = {rank: index for index, rank in enumerate(ranks)}

    def _define_metric(self, name: str, mode: Any) -> Any:
        member = self._registry.metric_member(
            name, metric_mode=mode, value_type=enums.Type.DOUBLE, unit="#"
        )
        return self._registry.metric_class((member,))

    def _define_contexts(self, paths: CallPaths) -> list[Any]:
        regions: dict[str, Any] = {}
        contexts: list[Any] = []
        for name, caller in paths.nodes:
            if name not in regions:
                regions[name] = self._registry.region(
                    name, region_role=enums.RegionRole.FUNCTION, paradigm=enums.Paradigm.SAMPLING
                )
            parent = contexts[caller] if caller >= 0 else None
            contexts.append(self._registry.calling_context(regions[name], parent=parent))
        return contexts

    def _define_interrupts(self) -> Any | None:
        """What samples are taken by: processor time in equal parts, in nanoseconds."""
        interval = self._run.samples["interval_ns"].min()
        if interval is None:
            return None
        return self._registry.interrupt_generator("processor time", exponent=-9, period=interval)
