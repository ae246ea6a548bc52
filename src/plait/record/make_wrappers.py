#!/usr/bin/env python3
"""make_wrappers.py COMPILER OUTPUT FLAG...: writes the functions that are before those of an MPI library.

Reads the declarations of the MPI that is there, so that the wrappers have the very types of that MPI, and those
functions of newer versions of the standard that it has. For each function named in the tables below, MPI_X and PMPI_X
become one function that notes the call, calls the library's PMPI_X, and notes what came of it: the statements in the
tables, which use the parameters by their names.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))

from mpi_declarations import Function, declarations


@dataclass
class Wrapper:
    """What is special about a function.

    `after` runs when MPI succeeded and, where there is a `flag`, has set it; `always` runs in any case. Statements that
    use `known` get the status, or the statuses, that MPI has set: the caller's, or our own where it wants none.
    """

    what: str  # a trace::CallClass
    parameters: str = ""  # names for the parameters; those of the declaration where it has them
    before: str = ""
    after: str = ""
    always: str = ""
    numbers: str = "1"


def table() -> dict[str, Wrapper]:
    return {**point_to_point(), **waits(), **probes(), **collectives(), **one_sided(), **set_ups(), **files()}


# --- messages -------------------------------------------------------------------------------------

_MESSAGE = "data count type peer tag comm"
_ENVELOPE = "{count, type, peer, tag, comm}"


def point_to_point() -> dict[str, Wrapper]:
    found = {}

    def begins(begun: str, prepared: str, kind: str) -> None:
        found[begun] = Wrapper(
            "begins_message",
            f"{_MESSAGE} request",
            after=f"message_begun(call, OperationKind::{kind}, {_ENVELOPE}, *request);",
        )
        found[prepared] = Wrapper(
            "sets_up",
            f"{_MESSAGE} request",
            after=f"message_prepared(call, OperationKind::{kind}, {_ENVELOPE}, *request);",
        )

    for mode in ("S", "Bs", "Rs", "Ss"):
        found[f"{mode}end"] = Wrapper("message", _MESSAGE, after=f"sent(call, {_ENVELOPE});")
        begins(f"I{mode.lower()}end", f"{mode}end_init", "send")
    found["Recv"] = Wrapper("message", f"{_MESSAGE} status", after=f"received(call, {_ENVELOPE}, *known.get());")
    begins("Irecv", "Recv_init", "receive")
    both = "sent(call, {count, type, to, tag, comm}); received(call, {%s, from, from_tag, comm}, *known.get(), 1);"
    found["Sendrecv"] = Wrapper(
        "message",
        "data count type to tag room from_count from_type from from_tag comm status",
        after=both % "from_count, from_type",
        numbers="2",
    )
    found["Sendrecv_replace"] = Wrapper(
        "message", "data count type to tag from from_tag comm status", after=both % "count, type", numbers="2"
    )
    found["Start"] = Wrapper("begins_message", "request", "starting(call, 1, request);")
    found["Startall"] = Wrapper(
        "begins_message",
        "count requests",
        "starting(call, count, requests);",
        numbers="static_cast<std::uint32_t>(std::max(count, 1))",
    )
    # One request for two messages: noted as a call only.
    return found | calls_only(
        begins_message="Isendrecv Isendrecv_replace",
        sets_up="Psend_init Precv_init",
        other="Pready Pready_range Pready_list",
        completes="Parrived",
    )


def calls_only(**names: str) -> dict[str, Wrapper]:
    return {name: Wrapper(what) for what, some in names.items() for name in some.split()}


def waits() -> dict[str, Wrapper]:
    one = "note_requests(call, 1, request);"
    many = "note_requests(call, count, requests);"
    finished = "all_completed(call, result, request, known.get());"
    all_finished = "all_completed(call, result, requests, known);"
    any_finished = "one_completed(call, *index, *known.get());"
    some = Wrapper(
        "completes", "count requests done indices statuses", many, "some_completed(call, *done, indices, known);"
    )
    return {
        "Wait": Wrapper("completes", "request status", one, always="known.get()->MPI_ERROR = result; " + finished),
        "Test": Wrapper("completes", "request flag status", one, finished),
        "Waitall": Wrapper("completes", "count requests statuses", many, always=all_finished),
        "Testall": Wrapper("completes", "count requests flag statuses", many, all_finished),
        "Waitany": Wrapper("completes", "count requests index status", many, any_finished),
        "Testany": Wrapper("completes", "count requests index flag status", many, any_finished),
        "Waitsome": some,
        "Testsome": some,
        "Request_get_status": Wrapper("completes"),
        "Request_free": Wrapper("other", "request", "freeing(call, *request);"),
        "Cancel": Wrapper("other", "request", "cancelling(call, *request);"),
    }


def probes() -> dict[str, Wrapper]:
    probed = "probed(call, comm, *known.get());"
    matched = "probed_and_matched(call, comm, *message, *known.get());"
    taken = "const ProbedMessage probed = take_probed(call, *message);"
    return {
        "Probe": Wrapper("completes", "peer tag comm status", after=probed),
        "Iprobe": Wrapper("completes", "peer tag comm flag status", after=probed),
        "Mprobe": Wrapper("completes", "peer tag comm message status", after=matched),
        "Improbe": Wrapper("completes", "peer tag comm flag message status", after=matched),
        "Mrecv": Wrapper(
            "message", "data count type message status", taken, "matched_received(call, probed, *known.get());"
        ),
        "Imrecv": Wrapper(
            "begins_message",
            "data count type message request",
            taken,
            "matched_receive_begun(call, probed, *request);",
        ),
    }


# --- collectives ----------------------------------------------------------------------------------

_GIVE = "TypedBuffer{sendbuf, sendcount, sendtype}"
_GET = "TypedBuffer{recvbuf, recvcount, recvtype}"
_GIVE_EACH = "TypedBuffers{sendbuf, sendcounts, sendtype}"
_GET_EACH = "TypedBuffers{recvbuf, recvcounts, recvtype}"
_GIVE_TYPED = "BuffersOfTypes{sendbuf, sendcounts, sendtypes}"
_GET_TYPED = "BuffersOfTypes{recvbuf, recvcounts, recvtypes}"
_SEND = "sendbuf sendcount sendtype"
_RECV = "recvbuf recvcount recvtype"
_SEND_EACH = "sendbuf sendcounts places sendtype"
_RECV_EACH = "recvbuf recvcounts get_places recvtype"
_TYPED = "sendbuf sendcounts places sendtypes recvbuf recvcounts get_places recvtypes"
_REDUCED = "sendbuf recvbuf count type op"
_ROOT = "if (const int peer = root; peer >= 0) { call.event().peer = on.rank_of_run(peer); }"

#: Name: (parameters, what moves). Of MPI_X; MPI_IX and MPI_X_init have a request after these.
_COLLECTIVES = {
    "Barrier": ("comm", "none()"),
    "Bcast": ("data count type root comm", "broadcast({data, count, type}, root)"),
    "Gather": (f"{_SEND} {_RECV} root comm", f"gather({_GIVE}, {_GET}, root)"),
    "Gatherv": (f"{_SEND} {_RECV_EACH} root comm", f"gather({_GIVE}, {_GET_EACH}, root)"),
    "Scatter": (f"{_SEND} {_RECV} root comm", f"scatter({_GIVE}, {_GET}, root)"),
    "Scatterv": (f"{_SEND_EACH} {_RECV} root comm", f"scatter({_GIVE_EACH}, {_GET}, root)"),
    "Allgather": (f"{_SEND} {_RECV} comm", f"all_gather({_GIVE}, {_GET})"),
    "Allgatherv": (f"{_SEND} {_RECV_EACH} comm", f"all_gather({_GIVE}, {_GET_EACH})"),
    "Alltoall": (f"{_SEND} {_RECV} comm", f"all_to_all({_GIVE}, {_GET})"),
    "Alltoallv": (f"{_SEND_EACH} {_RECV_EACH} comm", f"all_to_all({_GIVE_EACH}, {_GET_EACH})"),
    "Alltoallw": (f"{_TYPED} comm", f"all_to_all({_GIVE_TYPED}, {_GET_TYPED})"),
    "Reduce": (f"{_REDUCED} root comm", "reduce({sendbuf, count, type}, root)"),
    "Allreduce": (f"{_REDUCED} comm", "reduce_for_all({sendbuf, count, type})"),
    "Scan": (f"{_REDUCED} comm", "reduce_for_all({sendbuf, count, type})"),
    "Exscan": (f"{_REDUCED} comm", "reduce_for_all({sendbuf, count, type})"),
    "Reduce_scatter": (
        "sendbuf recvbuf recvcounts type op comm",
        "reduce_scatter(TypedBuffers{sendbuf, recvcounts, type})",
    ),
    "Reduce_scatter_block": (f"{_REDUCED} comm", "reduce_scatter_block({sendbuf, count, type})"),
}


#: As above, among neighbours: what is given, what got.
_NEIGHBOURS = {
    "Neighbor_allgather": (f"{_SEND} {_RECV} comm", _GIVE, _GET),
    "Neighbor_allgatherv": (f"{_SEND} {_RECV_EACH} comm", _GIVE, _GET_EACH),
    "Neighbor_alltoall": (f"{_SEND} {_RECV} comm", _GIVE, _GET),
    "Neighbor_alltoallv": (f"{_SEND_EACH} {_RECV_EACH} comm", _GIVE_EACH, _GET_EACH),
    "Neighbor_alltoallw": (f"{_TYPED} comm", _GIVE_TYPED, _GET_TYPED),
}


def collectives() -> dict[str, Wrapper]:
    found = {}
    among_neighbours = {
        name: (parameters, f"with_neighbours(neighbours_of(call, comm), {give}, {get})")
        for name, (parameters, give, get) in _NEIGHBOURS.items()
    }
    for name, (parameters, traffic) in {**_COLLECTIVES, **among_neighbours}.items():
        root = _ROOT if " root " in parameters else ""
        on = f"const Communicator& on = call.collective_on(comm); {root}"
        what = f"Traffics{{call.mpi(), on}}.{traffic}"
        found[name] = Wrapper("collective", parameters, after=f"{on} moved(call, {what});")
        found[f"I{name.lower()}"] = Wrapper(
            "begins_collective", f"{parameters} request", after=f"{on} begun(call, {what}, *request);"
        )
        prepared = f"const Communicator& on = call.on(comm); {root} prepared(call, comm, {what}, *request);"
        found[f"{name}_init"] = Wrapper("sets_up", f"{parameters} info request", after=prepared)
    return found


# --- the rest -------------------------------------------------------------------------------------

_ORIGIN = "origin origin_count origin_type target place target_count target_type"
_GIVES = "call.gives(call.mpi().bytes(origin_count, origin_type));"
_GETS = "call.gets(call.mpi().bytes(origin_count, origin_type));"
_BEGINS_OTHER = "call.begins(*request, call.operation(OperationKind::other));"


def one_sided() -> dict[str, Wrapper]:
    to_target = "on_window(call, win, target);"
    got = "call.gets(call.mpi().bytes(result_count, result_type));"
    moves = {
        "Put": (f"{_ORIGIN} win", _GIVES),
        "Get": (f"{_ORIGIN} win", _GETS),
        "Accumulate": (f"{_ORIGIN} op win", _GIVES),
        "Get_accumulate": (
            "origin origin_count origin_type room result_count result_type "
            "target place target_count target_type op win",
            got + _GIVES,
        ),
    }
    one = "call.gives(call.mpi().bytes(1, type)); call.gets(call.mpi().bytes(1, type));"
    found = {
        "Fetch_and_op": Wrapper("one_sided", "origin room type target place op win", after=to_target + one),
        "Compare_and_swap": Wrapper("one_sided", "origin compare room type target place win", after=to_target + one),
    }
    for name, (parameters, traffic) in moves.items():
        found[name] = Wrapper("one_sided", parameters, after=to_target + traffic)
        found[f"R{name.lower()}"] = Wrapper(
            "one_sided", f"{parameters} request", after=to_target + traffic + _BEGINS_OTHER
        )
    synchronisation = {
        "win": "complete wait unlock_all flush_all flush_local_all sync",
        "assertion win": "fence lock_all",
        "group assertion win": "post start",
        "win done": "test",
    }
    for parameters, names in synchronisation.items():
        for name in names.split():
            found[f"Win_{name}"] = Wrapper("one_sided", parameters, after="on_window(call, win, -1);")
    found["Win_lock"] = Wrapper("one_sided", "kind target assertion win", after=to_target)
    for name in ("unlock", "flush", "flush_local"):
        found[f"Win_{name}"] = Wrapper("one_sided", "target win", after=to_target)
    return found


def set_ups() -> dict[str, Wrapper]:
    made = "communicator_made(call, *made);"
    found = {}
    makers = {
        "Comm_dup": "comm made",
        "Comm_dup_with_info": "comm info made",
        "Comm_split": "comm color key made",
        "Comm_split_type": "comm kind key info made",
        "Comm_create": "comm group made",
        "Comm_create_group": "comm group tag made",
        "Intercomm_create": "comm leader peer remote_leader tag made",
        "Intercomm_merge": "comm high made",
        "Cart_create": "comm dimensions sizes periods reorder made",
        "Cart_sub": "comm remaining made",
        "Graph_create": "comm nodes index edges reorder made",
        "Dist_graph_create": "comm nodes sources degrees destinations weights info reorder made",
        "Dist_graph_create_adjacent": (
            "comm indegree sources in_weights outdegree destinations out_weights info reorder made"
        ),
    }
    for name, parameters in makers.items():
        found[name] = Wrapper("sets_up", parameters, after="call.on(comm);" + made)
    begun = "call.on(comm); communicator_begun(call, comm, *made, *request);"
    found["Comm_idup"] = Wrapper("sets_up", "comm made request", after=begun)
    found["Comm_idup_with_info"] = Wrapper("sets_up", "comm info made request", after=begun)
    for name in ("Comm_free", "Comm_disconnect"):
        found[name] = Wrapper("sets_up", "comm", before="call.on(*comm); communicator_freeing(call, *comm);")

    window = "call.on(comm); window_made(call, comm, *win);"
    found["Win_create"] = Wrapper("sets_up", "base size unit info comm win", after=window)
    found["Win_allocate"] = Wrapper("sets_up", "size unit info comm base win", after=window)
    found["Win_allocate_shared"] = Wrapper("sets_up", "size unit info comm base win", after=window)
    found["Win_create_dynamic"] = Wrapper("sets_up", "info comm win", after=window)
    found["Win_free"] = Wrapper("sets_up", "win", before="window_freeing(call, *win);")
    return found | calls_only(
        # Of processes outside of the run nothing is known.
        sets_up="Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_join Type_commit Type_contiguous "
        "Type_vector Type_indexed Type_create_struct Type_create_hindexed Type_create_hvector "
        "Type_create_indexed_block Type_create_hindexed_block Type_create_subarray Type_create_darray "
        "Type_create_resized Type_dup Type_free Type_hindexed Type_hvector Type_struct Op_create Op_free Win_attach "
        "Win_detach Buffer_attach Buffer_detach Alloc_mem Free_mem",
        other="Pack Unpack Pack_external Unpack_external Reduce_local",
    )


def files() -> dict[str, Wrapper]:
    found = {
        "File_open": Wrapper(
            "file", "comm path mode info file", after="call.on(comm); file_opened(call, comm, *file);"
        ),
        "File_close": Wrapper("file", "file", before="file_closing(call, *file);"),
        "File_delete": Wrapper("file"),
        "File_set_view": Wrapper("file", "file place elementary type how info", after="on_file(call, file);"),
    }
    for name, parameters in {
        "set_size": "file size",
        "preallocate": "file size",
        "get_size": "file size",
        "seek": "file place how",
        "seek_shared": "file place how",
        "sync": "file",
    }.items():
        found[f"File_{name}"] = Wrapper("file", parameters, after="on_file(call, file);")
    for direction, moves in {"read": "gets", "write": "gives"}.items():
        bytes_of = f"on_file(call, file); call.{moves}(call.mpi().bytes(count, type));"
        for way in ("", "_all", "_at", "_at_all", "_shared", "_ordered"):
            where = "file place" if way.startswith("_at") else "file"
            name = f"File_{direction}{way}"
            found[name] = Wrapper("file", f"{where} data count type status", after=bytes_of)
            found[f"{name}_begin"] = Wrapper("file", f"{where} data count type", after=bytes_of)
            found[f"{name}_end"] = Wrapper("file", "file data status", after="on_file(call, file);")
            found[f"File_i{direction}{way}"] = Wrapper(
                "file", f"{where} data count type request", after=bytes_of + _BEGINS_OTHER
            )
    return found


# --- the text ----------------------------------------------------------------------------------------


def function_text(name: str, declared: Function, wrapper: Wrapper) -> str:
    names = wrapper.parameters.split() or declared.argument_names()
    if len(names) != len(declared.parameters):
        raise SystemExit(
            f"make_wrappers.py: PMPI_{name} has {len(declared.parameters)} parameters, not {wrapper.parameters}"
        )
    parameters = declared.parameter_text(names)
    arguments = ", ".join(names)
    before, after, passed = wrapper.before, wrapper.after, arguments
    if "known" in wrapper.after + wrapper.always:
        if "statuses" in names:
            before += " MPI_Status* const known = statuses_or_own(call, count, statuses);"
            passed = passed.replace("statuses", "known")
        else:
            before += " StatusOrOwn known{status};"
            passed = passed.replace("status", "known.get()")
    if after:
        condition = "result == MPI_SUCCESS && *flag != 0" if "flag" in names else "result == MPI_SUCCESS"
        after = f"\n  if ({condition}) {{\n    {after}\n  }}"
    always = f"\n  {wrapper.always}" if wrapper.always else ""
    return f"""
[[gnu::visibility("default")]] int MPI_{name}({parameters}) {{
  static constinit Function function{{"PMPI_{name}"}};
  auto* const real = function.real<decltype(::PMPI_{name})>();
  Session* const session = recording();
  if (session == nullptr) {{
    return real({arguments});
  }}
  Call call{{*session, function, plait::trace::CallClass::{wrapper.what}, return_slot(), {wrapper.numbers}}};
  {before}
  const int result = call.run([&] {{ return real({passed}); }});{after}{always}
  return result;
}}
[[gnu::visibility("default"), gnu::alias("MPI_{name}")]] int PMPI_{name}({parameters});
"""


def main() -> None:
    compiler, output, *flags = sys.argv[1:]
    declared = declarations(compiler, flags)
    parts = [
        "// SPDX-License-Identifier: Apache-2.0\n// Written by make_wrappers.py for the MPI that was found.\n",
        '#include <algorithm>\n#include <cstdint>\n\n#include <mpi.h>\n\n#include "plait/record/collectives.hpp"\n'
        '#include "plait/record/messages.hpp"\n#include "plait/record/set_up.hpp"\n\n',
        'using namespace plait::record;\n\nextern "C" {\n',
    ]
    for name, wrapper in table().items():
        for variant in (name, f"{name}_c"):
            if variant in declared:
                parts.append(function_text(variant, declared[variant], wrapper))
    parts.append("}\n")
    if sum(part.startswith("\n[[") for part in parts) < 100:
        raise SystemExit("make_wrappers.py: found next to no functions in mpi.h; is it the C header of an MPI?")
    Path(output).write_text("".join(parts))


if __name__ == "__main__":
    main()
