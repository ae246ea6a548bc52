#!/usr/bin/env python3
"""make_wrappers.py COMPILER OUTPUT INCLUDE_FOLDER...: writes the functions that stand before those of an MPI library.

Reads the declarations of the MPI that is there, so that the wrappers have the very types of that MPI, and those
functions of newer versions of the standard that it has. For each function named in the tables below, MPI_X and PMPI_X
become one function that notes the call, calls the library's PMPI_X, and notes what came of it: the statements in the
tables, which use the parameters by their names.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Wrapper:
    """What is special about a function. `after` runs when MPI succeeded, `always` in any case."""

    what: str  # a trace::CallClass
    parameters: str = ""  # names for the parameters; those of the declaration where it has them
    before: str = ""
    after: str = ""
    always: str = ""
    passed: dict[str, str] = field(default_factory=dict)  # what to pass on instead of a parameter
    numbers: str = "1"


def table() -> dict[str, Wrapper]:
    return {**point_to_point(), **waits(), **probes(), **collectives(), **one_sided(), **set_ups(), **files()}


# --- messages -------------------------------------------------------------------------------------

_MESSAGE = "data count type peer tag comm"
_ENVELOPE = "{count, type, peer, tag, comm}"
_STATUS = {"status": "told.get()"}
_OWN_STATUS = "StatusOrOwn told{status};"


def point_to_point() -> dict[str, Wrapper]:
    found = {}
    for mode in ("S", "Bs", "Rs", "Ss"):
        small = mode.lower()
        found[f"{mode}end"] = Wrapper("message", _MESSAGE, after=f"sent(call, {_ENVELOPE});")
        found[f"I{small}end"] = Wrapper(
            "begins_message", f"{_MESSAGE} request", after=f"send_begun(call, {_ENVELOPE}, *request);"
        )
        found[f"{mode}end_init"] = Wrapper(
            "sets_up", f"{_MESSAGE} request", after=f"send_prepared(call, {_ENVELOPE}, *request);"
        )
    found["Recv"] = Wrapper(
        "message",
        f"{_MESSAGE} status",
        before=_OWN_STATUS,
        passed=_STATUS,
        after=f"received(call, {_ENVELOPE}, *told.get());",
    )
    found["Irecv"] = Wrapper(
        "begins_message", f"{_MESSAGE} request", after=f"receive_begun(call, {_ENVELOPE}, *request);"
    )
    found["Recv_init"] = Wrapper(
        "sets_up", f"{_MESSAGE} request", after=f"receive_prepared(call, {_ENVELOPE}, *request);"
    )
    both = "sent(call, {count, type, to, tag, comm}); received(call, {%s, from, from_tag, comm}, *told.get(), 1);"
    found["Sendrecv"] = Wrapper(
        "message",
        "data count type to tag room from_count from_type from from_tag comm status",
        before=_OWN_STATUS,
        passed=_STATUS,
        after=both % "from_count, from_type",
        numbers="2",
    )
    found["Sendrecv_replace"] = Wrapper(
        "message",
        "data count type to tag from from_tag comm status",
        before=_OWN_STATUS,
        passed=_STATUS,
        after=both % "count, type",
        numbers="2",
    )
    # One request for two messages: noted as a call only.
    found["Isendrecv"] = Wrapper("begins_message")
    found["Isendrecv_replace"] = Wrapper("begins_message")
    found["Start"] = Wrapper("begins_message", "request", before="starting(call, 1, request);")
    found["Startall"] = Wrapper(
        "begins_message",
        "count requests",
        before="starting(call, count, requests);",
        numbers="static_cast<std::uint32_t>(std::max(count, 1))",
    )
    for name in ("Psend_init", "Precv_init"):
        found[name] = Wrapper("sets_up")
    for name in ("Pready", "Pready_range", "Pready_list"):
        found[name] = Wrapper("other")
    found["Parrived"] = Wrapper("completes")
    return found


def waits() -> dict[str, Wrapper]:
    one = "note_requests(call, 1, request); StatusOrOwn told{status};"
    many = "note_requests(call, count, requests);"
    own = "MPI_Status* const told = statuses_or_own(call, %s, statuses);"
    told = {"statuses": "told"}
    finished = "all_completed(call, result, request, told.get());"
    each = "some_completed(call, *done, indices, told);"
    found = {
        "Wait": Wrapper(
            "completes",
            "request status",
            before=one,
            passed=_STATUS,
            always="told.get()->MPI_ERROR = result; " + finished,
        ),
        "Test": Wrapper(
            "completes", "request flag status", before=one, passed=_STATUS, after=f"if (*flag != 0) {{ {finished} }}"
        ),
        "Waitall": Wrapper(
            "completes",
            "count requests statuses",
            before=many + own % "count",
            passed=told,
            always="all_completed(call, result, requests, told);",
        ),
        "Testall": Wrapper(
            "completes",
            "count requests flag statuses",
            before=many + own % "count",
            passed=told,
            after="if (*flag != 0) { all_completed(call, result, requests, told); }",
        ),
        "Waitany": Wrapper(
            "completes",
            "count requests index status",
            before=many + _OWN_STATUS,
            passed=_STATUS,
            after="one_completed(call, *index, *told.get());",
        ),
        "Testany": Wrapper(
            "completes",
            "count requests index flag status",
            before=many + _OWN_STATUS,
            passed=_STATUS,
            after="if (*flag != 0) { one_completed(call, *index, *told.get()); }",
        ),
        "Request_get_status": Wrapper("completes"),
        "Request_free": Wrapper("other", "request", before="freeing(call, *request);"),
        "Cancel": Wrapper("other", "request", before="cancelling(call, *request);"),
    }
    for name in ("Waitsome", "Testsome"):
        found[name] = Wrapper(
            "completes",
            "count requests done indices statuses",
            before=many + own % "count",
            passed=told,
            after=each,
        )
    return found


def probes() -> dict[str, Wrapper]:
    return {
        "Probe": Wrapper(
            "completes",
            "peer tag comm status",
            before=_OWN_STATUS,
            passed=_STATUS,
            after="probed(call, comm, *told.get());",
        ),
        "Iprobe": Wrapper(
            "completes",
            "peer tag comm flag status",
            before=_OWN_STATUS,
            passed=_STATUS,
            after="if (*flag != 0) { probed(call, comm, *told.get()); }",
        ),
        "Mprobe": Wrapper(
            "completes",
            "peer tag comm message status",
            before=_OWN_STATUS,
            passed=_STATUS,
            after="probed_and_matched(call, comm, *message, *told.get());",
        ),
        "Improbe": Wrapper(
            "completes",
            "peer tag comm flag message status",
            before=_OWN_STATUS,
            passed=_STATUS,
            after="if (*flag != 0) { probed_and_matched(call, comm, *message, *told.get()); }",
        ),
        "Mrecv": Wrapper(
            "message",
            "data count type message status",
            before="const ProbedMessage probed = take_probed(call, *message);" + _OWN_STATUS,
            passed=_STATUS,
            after="matched_received(call, probed, *told.get());",
        ),
        "Imrecv": Wrapper(
            "begins_message",
            "data count type message request",
            before="const ProbedMessage probed = take_probed(call, *message);",
            after="matched_receive_begun(call, probed, *request);",
        ),
    }


# --- collectives ----------------------------------------------------------------------------------

_GIVE = "Part{sendbuf, sendcount, sendtype}"
_GET = "Part{recvbuf, recvcount, recvtype}"
_GIVE_EACH = "Parts{sendbuf, sendcounts, sendtype}"
_GET_EACH = "Parts{recvbuf, recvcounts, recvtype}"
_GIVE_TYPED = "TypedParts{sendbuf, sendcounts, sendtypes}"
_GET_TYPED = "TypedParts{recvbuf, recvcounts, recvtypes}"
_BOTH = "sendbuf sendcount sendtype recvbuf recvcount recvtype"
_ROOT = "if (const int peer = root; peer >= 0) { call.event().peer = on.rank_of_run(peer); }"

#: Name: (parameters, what moves). Of MPI_X; MPI_IX and MPI_X_init have a request after these.
_COLLECTIVES = {
    "Barrier": ("comm", "none()"),
    "Bcast": ("data count type root comm", "broadcast({data, count, type}, root)"),
    "Gather": (f"{_BOTH} root comm", f"gather({_GIVE}, {_GET}, root)"),
    "Gatherv": (
        "sendbuf sendcount sendtype recvbuf recvcounts places recvtype root comm",
        f"gather({_GIVE}, {_GET_EACH}, root)",
    ),
    "Scatter": (f"{_BOTH} root comm", f"scatter({_GIVE}, {_GET}, root)"),
    "Scatterv": (
        "sendbuf sendcounts places sendtype recvbuf recvcount recvtype root comm",
        f"scatter({_GIVE_EACH}, {_GET}, root)",
    ),
    "Allgather": (f"{_BOTH} comm", f"all_gather({_GIVE}, {_GET})"),
    "Allgatherv": (
        "sendbuf sendcount sendtype recvbuf recvcounts places recvtype comm",
        f"all_gather({_GIVE}, {_GET_EACH})",
    ),
    "Alltoall": (f"{_BOTH} comm", f"all_to_all({_GIVE}, {_GET})"),
    "Alltoallv": (
        "sendbuf sendcounts places sendtype recvbuf recvcounts get_places recvtype comm",
        f"all_to_all_of_each({_GIVE_EACH}, {_GET_EACH})",
    ),
    "Alltoallw": (
        "sendbuf sendcounts places sendtypes recvbuf recvcounts get_places recvtypes comm",
        f"all_to_all_of_each({_GIVE_TYPED}, {_GET_TYPED})",
    ),
    "Reduce": ("sendbuf recvbuf count type op root comm", "reduce({sendbuf, count, type}, root)"),
    "Allreduce": ("sendbuf recvbuf count type op comm", "reduce_for_all({sendbuf, count, type})"),
    "Scan": ("sendbuf recvbuf count type op comm", "reduce_for_all({sendbuf, count, type})"),
    "Exscan": ("sendbuf recvbuf count type op comm", "reduce_for_all({sendbuf, count, type})"),
    "Reduce_scatter": (
        "sendbuf recvbuf recvcounts type op comm",
        "reduce_scatter(Parts{sendbuf, recvcounts, type})",
    ),
    "Reduce_scatter_block": (
        "sendbuf recvbuf count type op comm",
        "reduce_scatter_block({sendbuf, count, type})",
    ),
}


#: As above, among neighbours: what is given, what got.
_NEIGHBOURS = {
    "Neighbor_allgather": (f"{_BOTH} comm", _GIVE, _GET),
    "Neighbor_allgatherv": (
        "sendbuf sendcount sendtype recvbuf recvcounts places recvtype comm",
        _GIVE,
        _GET_EACH,
    ),
    "Neighbor_alltoall": (f"{_BOTH} comm", _GIVE, _GET),
    "Neighbor_alltoallv": (_COLLECTIVES["Alltoallv"][0], _GIVE_EACH, _GET_EACH),
    "Neighbor_alltoallw": (_COLLECTIVES["Alltoallw"][0], _GIVE_TYPED, _GET_TYPED),
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
    for name in ("complete", "wait", "unlock_all", "flush_all", "flush_local_all", "sync"):
        found[f"Win_{name}"] = Wrapper("one_sided", "win", after="on_window(call, win, -1);")
    for name, parameters in {"fence": "assertion win", "lock_all": "assertion win"}.items():
        found[f"Win_{name}"] = Wrapper("one_sided", parameters, after="on_window(call, win, -1);")
    for name in ("post", "start"):
        found[f"Win_{name}"] = Wrapper("one_sided", "group assertion win", after="on_window(call, win, -1);")
    found["Win_test"] = Wrapper("one_sided", "win flag", after="on_window(call, win, -1);")
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
    # Of processes outside of the run nothing is known: calls only.
    for name in ("Comm_spawn", "Comm_spawn_multiple", "Comm_accept", "Comm_connect", "Comm_join"):
        found[name] = Wrapper("sets_up")
    for name in ("Comm_free", "Comm_disconnect"):
        found[name] = Wrapper("sets_up", "comm", before="call.on(*comm); communicator_freeing(call, *comm);")

    window = "call.on(comm); window_made(call, comm, *win);"
    found["Win_create"] = Wrapper("sets_up", "base size unit info comm win", after=window)
    found["Win_allocate"] = Wrapper("sets_up", "size unit info comm base win", after=window)
    found["Win_allocate_shared"] = Wrapper("sets_up", "size unit info comm base win", after=window)
    found["Win_create_dynamic"] = Wrapper("sets_up", "info comm win", after=window)
    found["Win_free"] = Wrapper("sets_up", "win", before="window_freeing(call, *win);")
    for name in [
        "Type_commit",
        "Type_contiguous",
        "Type_vector",
        "Type_indexed",
        "Type_create_struct",
        "Type_create_hindexed",
        "Type_create_hvector",
        "Type_create_indexed_block",
        "Type_create_hindexed_block",
        "Type_create_subarray",
        "Type_create_darray",
        "Type_create_resized",
        "Type_dup",
        "Type_free",
        "Type_hindexed",
        "Type_hvector",
        "Type_struct",
        "Op_create",
        "Op_free",
        "Win_attach",
        "Win_detach",
        "Buffer_attach",
        "Buffer_detach",
        "Alloc_mem",
        "Free_mem",
    ]:
        found[name] = Wrapper("sets_up")
    for name in ["Pack", "Unpack", "Pack_external", "Unpack_external", "Reduce_local"]:
        found[name] = Wrapper("other")
    return found


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


# --- declarations of this MPI ---------------------------------------------------------------------

_DECLARATION = re.compile(r"\bint\s+PMPI_(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")


def declarations(compiler: str, folders: list[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Of each function its parameters: what stands before the name, the name or nothing, what stands after it."""
    command = [compiler, "-E", "-P", "-x", "c++", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    command += [f"-I{folder}" for folder in folders] + ["-"]
    text = subprocess.run(command, input="#include <mpi.h>\n", text=True, capture_output=True, check=True).stdout
    found = {}
    for name, inside in _DECLARATION.findall(re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)):
        parameters = [" ".join(part.split()) for part in inside.split(",")]
        if parameters == ["void"] or "..." in inside:
            parameters = []
        found[name] = [_parameter(text) for text in parameters]
    return found


def _parameter(text: str) -> tuple[str, str, str]:
    brackets = re.search(r"(\s*\[[^\]]*\])*$", text)
    after = brackets.group() if brackets else ""
    rest = text[: len(text) - len(after)]
    named = re.fullmatch(r"(.*[\s*])(\w+)", rest)
    # One word, or a type and nothing else: without a name.
    if named is None or named.group(1).strip() in ("const", "") or named.group(2) in ("int", "char", "void"):
        return rest, "", after
    return named.group(1), named.group(2), after


def function_text(name: str, declared: list[tuple[str, str, str]], wrapper: Wrapper) -> str:
    names = wrapper.parameters.split() or [f"argument_{i}" for i in range(len(declared))]
    if len(names) != len(declared):
        raise SystemExit(f"make_wrappers.py: PMPI_{name} has {len(declared)} parameters, not {wrapper.parameters}")
    parameters = ", ".join(f"{kind} {own}{after}" for (kind, _, after), own in zip(declared, names, strict=True))
    arguments = ", ".join(names)
    passed = ", ".join(wrapper.passed.get(own, own) for own in names)
    after = f"\n  if (result == MPI_SUCCESS) {{\n    {wrapper.after}\n  }}" if wrapper.after else ""
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
  {wrapper.before}
  const int result = call.run([&] {{ return real({passed}); }});{after}{always}
  return result;
}}
[[gnu::visibility("default"), gnu::alias("MPI_{name}")]] int PMPI_{name}({parameters});
"""


def main() -> None:
    compiler, output, *folders = sys.argv[1:]
    declared = declarations(compiler, folders)
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
