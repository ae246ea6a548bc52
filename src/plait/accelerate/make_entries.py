#!/usr/bin/env python3
"""make_entries.py COMPILER ENTRIES LINKED FOREIGN FLAG...: writes what depends on the MPI that was found.

ENTRIES defines MPI_X and PMPI_X for each function of mpi.h, which call what is routed or the MPI library. LINKED
defines MPI_X alone, for programs that are linked with it and have PMPI_X from the library, perhaps a static one.
FOREIGN is the engine's: the functions that begin operations of the MPI library, or wait for other ranks in it, so that
both it and the engine's messages are kept moving.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))

from mpi_declarations import Function, declarations

#: Functions that use requests or messages, and are written by hand in engine/.
_ROUTED = frozenset(
    (
        "Send",
        "Ssend",
        "Bsend",
        "Rsend",
        "Isend",
        "Issend",
        "Ibsend",
        "Irsend",
        "Recv",
        "Irecv",
        "Sendrecv",
        "Sendrecv_replace",
        "Isendrecv",
        "Isendrecv_replace",
        "Send_init",
        "Ssend_init",
        "Bsend_init",
        "Rsend_init",
        "Recv_init",
        "Start",
        "Startall",
        "Wait",
        "Waitall",
        "Waitany",
        "Waitsome",
        "Test",
        "Testall",
        "Testany",
        "Testsome",
        "Request_free",
        "Request_get_status",
        "Request_get_status_all",
        "Request_get_status_any",
        "Request_get_status_some",
        "Cancel",
        "Probe",
        "Iprobe",
        "Mprobe",
        "Improbe",
        "Mrecv",
        "Imrecv",
        "Request_c2f",
        "Request_f2c",
        "Message_c2f",
        "Message_f2c",
        "Request_toint",
        "Request_fromint",
        "Message_toint",
        "Message_fromint",
        "Buffer_iflush",
        "Comm_iflush_buffer",
        "Comm_idup",
        "Comm_idup_with_info",
    )
)
#: Those that engine/ serves or passes on to what is made here.
_ALSO_OURS = frozenset(
    (
        "Iallgather",
        "Iallgatherv",
        "Ialltoall",
        "Ialltoallv",
        "Ialltoallw",
        "Psend_init",
        "Precv_init",
    )
)
#: Those that may wait for other ranks.
_BLOCKING = frozenset(
    (
        "Barrier",
        "Bcast",
        "Gather",
        "Gatherv",
        "Scatter",
        "Scatterv",
        "Allgather",
        "Allgatherv",
        "Alltoall",
        "Alltoallv",
        "Alltoallw",
        "Reduce",
        "Allreduce",
        "Reduce_scatter",
        "Reduce_scatter_block",
        "Scan",
        "Exscan",
        "Neighbor_allgather",
        "Neighbor_allgatherv",
        "Neighbor_alltoall",
        "Neighbor_alltoallv",
        "Neighbor_alltoallw",
    )
)
#: Those after which threads in the background may not poll the library: until MPI_File_close, or for good.
_UNLOCKED = {"File_open", "Psend_init", "Precv_init"}
_OPENS_WINDOW = {"Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic"}
#: What functions return that are routed or passed on.
_RESULTS = {"int", "MPI_Fint", "MPI_Request", "MPI_Message"}
#: mpi4py's wheels take a process that has one of the last three for one that has loaded its MPI library.
_NOT_OURS = {"Pcontrol", "Grequest_complete", "Get_version", "Get_library_version", "Abi_get_version"}

HEAD = "// SPDX-License-Identifier: Apache-2.0\n// Written by make_entries.py for the MPI that was found.\n"


def stem(name: str) -> str:
    """Without the mark of large counts."""
    return name.removesuffix("_c")


def requests_of(declared: Function) -> list[int]:
    """Places of parameters through which requests come out."""
    return [i for i, one in enumerate(declared.parameters) if "MPI_Request" in one.kind and "*" in one.kind]


def unknown(declared: Iterable[str]) -> list[str]:
    """Functions that are routed where there are any, and which this MPI does not have."""
    return sorted({name + width for name in _ROUTED for width in ("", "_c")} - set(declared))


def entry_text(index: int, name: str, declared: Function, *, linked: bool) -> str:
    """Passes on whole registers: handles are of another width where the program has another MPI than this one."""
    names = declared.argument_names()
    parameters = ", ".join(f"Word {one}" for one in names)
    arguments = "".join(f", {one}" for one in names)
    types = ", ".join("Word" for _ in names)
    load = "  plait::accelerate::load_engine();\n" if name in ("Init", "Init_thread") else ""
    alias = (
        f'[[gnu::visibility("default"), gnu::alias("MPI_{name}")]] Word alias_{index}({types}) __asm__("PMPI_{name}");'
    )
    return f"""
[[gnu::visibility("default")]] Word entry_{index}({types}) __asm__("MPI_{name}");
Word entry_{index}({parameters}) {{
{load}  return plait::accelerate::enter<Word({types})>(all[{index}]{arguments});
}}
{"" if linked else alias}
"""


def entries_text(declared: dict[str, Function], *, linked: bool) -> str:
    table = "\n".join(f'    {{"PMPI_{name}"}},' for name in declared)
    names = ", ".join(f'"PMPI_{name}"' for name in unknown(declared))
    count = len(unknown(declared))
    text = [
        HEAD,
        '#include <array>\n#include <cstdint>\n\n#include "plait/accelerate/enter.hpp"\n\nnamespace {\n\n'
        "/// A register. Each parameter takes one, or as much of the stack.\nusing Word = std::uint64_t;\n\n"
        f"constinit plait::accelerate::Entry all[] = {{\n{table}\n}};\n"
        f"constexpr std::array<const char*, {count}> unknown = {{{names}}};\n\n}}  // namespace\n\n"
        "std::span<plait::accelerate::Entry> plait::accelerate::entries() noexcept {\n  return all;\n}\n"
        "std::span<const char* const> plait::accelerate::unknown_functions() noexcept {\n  return unknown;\n}\n\n"
        'extern "C" {\n',
        *(entry_text(i, name, function, linked=linked) for i, (name, function) in enumerate(declared.items())),
        "}\n",
    ]
    return "".join([*text, *(linked_text(declared) if linked else [])])


def linked_text(declared: Iterable[str]) -> list[str]:
    """The MPI library's own functions, which the linker finds."""
    names = list(declared)
    array = f"constexpr std::array<void (*)(), {len(names)}> reals = {{"
    return [
        '\nextern "C" {\n',
        *(f'void real_{i}() __asm__("PMPI_{name}");\n' for i, name in enumerate(names)),
        "}\n\nnamespace {\n\n",
        f"{array}{', '.join(f'real_{i}' for i in range(len(names)))}}};\n\n}}  // namespace\n\n",
        "std::span<void (*const)()> plait::accelerate::linked_functions() noexcept {\n  return reals;\n}\n",
    ]


def foreign_text(name: str, declared: Function) -> str | None:
    """A function of the MPI library as programs get it; nothing where it needs no care."""
    names = declared.argument_names()
    arguments = ", ".join(names)
    lines = []
    if stem(name) in _BLOCKING:
        begun = f"PMPI_I{name[0].lower()}{name[1:]}({arguments}, &request)"
        lines.append(
            "if (use_session().has_to_poll()) {\n    MPI_Request request = MPI_REQUEST_NULL;\n"
            f"    const int begun = {begun};\n"
            "    return begun != MPI_SUCCESS ? begun : use_session().wait_theirs(request);\n  }"
        )
    if stem(name) in _UNLOCKED:
        lines.append("use_session().foreign().suspend();")
    lines.append(f"const int result = PMPI_{name}({arguments});")
    if name == "File_open":
        lines.append("if (result != MPI_SUCCESS) {\n    use_session().foreign().resume();\n  }")
    elif name == "File_close":
        lines.append("if (result == MPI_SUCCESS) {\n    use_session().foreign().resume();\n  }")
    if stem(name) in _OPENS_WINDOW:
        lines.append("use_session().foreign().opened(result);")
    elif name == "Win_free":
        lines.append("use_session().foreign().closed(result);")
    elif len(made := requests_of(declared)) == 1:
        what = "prepared" if stem(name).endswith("_init") else "begun"
        lines.append(f"use_session().foreign().{what}(result, {names[made[0]]});")
    elif stem(name) not in _BLOCKING and name not in ("File_open", "File_close"):
        return None
    body = "\n  ".join(lines)
    return f"\nint foreign_{name}({declared.parameter_text(names)}) {{\n  {body}\n  return result;\n}}\n"


def main() -> None:
    compiler, entries, linked, foreign, *flags = sys.argv[1:]
    declared = {
        name: function
        for name, function in declarations(compiler, flags).items()
        if not name.startswith("T_")
        and name not in _NOT_OURS
        and "f08" not in name  # conversions of statuses, in Fortran's part of the library
        and function.result in _RESULTS
    }
    if len(declared) < 100:
        raise SystemExit("make_entries.py: found next to no functions in mpi.h; is it the C header of an MPI?")
    Path(entries).write_text(entries_text(declared, linked=False))
    Path(linked).write_text(entries_text(declared, linked=True))

    care = {
        name: made
        for name, function in declared.items()
        if stem(name) not in _ROUTED and function.result == "int" and (made := foreign_text(name, function)) is not None
    }
    inner = {name: made for name, made in care.items() if stem(name) not in _ALSO_OURS}
    outer = {name: made for name, made in care.items() if stem(name) in _ALSO_OURS}
    rows = "\n".join(f'      route<decltype(::PMPI_{name})>("PMPI_{name}", foreign_{name}),' for name in inner)
    text = [
        HEAD,
        '#include <mpi.h>\n\n#include "plait/accelerate/engine/routes.hpp"\n'
        '#include "plait/accelerate/engine/session.hpp"\n\nnamespace plait::accelerate {\nnamespace {\n',
        *inner.values(),
        "\n}  // namespace\n",
        *(f"\ndecltype(::PMPI_{name}) foreign_{name};{made}" for name, made in outer.items()),
        f"\nstd::vector<FunctionRoute> foreign_routes() {{\n  return {{\n{rows}\n  }};\n}}\n\n"
        "}  // namespace plait::accelerate\n",
    ]
    Path(foreign).write_text("".join(text))


if __name__ == "__main__":
    main()
