#!/usr/bin/env python3
"""make_refusals.py COMPILER REFUSALS FLAG...: writes the functions of MPI that simulated ranks do not have.

They are those of mpi.h that take communicators, groups, requests, windows, files or messages, and are not defined by
hand in mpi*.cpp beside this file. Each ends the program with a sentence. Functions that take none of these are left to
the MPI library, which is initialised alone in the process.
"""
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "preload"))

from mpi_declarations import Function, declarations

_SHARED = re.compile(r"\bMPI_(Comm|Group|Request|Win|File|Message|Session)\b")
#: Persistent collective operations, which Open MPI has under these names beside mpi.h.
_EXTENSIONS = ("Allgather", "Allgatherv", "Allreduce", "Alltoall", "Alltoallv", "Alltoallw", "Barrier", "Bcast")
_DEFINED = re.compile(r"\]\] \w+ MPI_(\w+)\(")


def is_refused(name: str, declared: Function, defined: set[str]) -> bool:
    takes_shared = any(_SHARED.search(one.kind) for one in declared.parameters)
    return declared.result == "int" and takes_shared and name not in defined


def refusal(name: str, declared: Function) -> str:
    parameters = ", ".join(f"{one.kind} /*{one.name}*/{one.after}" for one in declared.parameters)
    return f"""
[[gnu::visibility("default")]] int MPI_{name}({parameters}) {{
  plait::simulate::refuse("MPI_{name}", reason);
}}
"""


def main() -> None:
    compiler, output, *flags = sys.argv[1:]
    defined: set[str] = set()
    for source in Path(__file__).resolve().parent.glob("mpi*.cpp"):
        defined.update(_DEFINED.findall(source.read_text()))
    declared = declarations(compiler, flags)
    text = [
        "// SPDX-License-Identifier: Apache-2.0\n// Written by make_refusals.py for the MPI that was found.\n",
        '#include <mpi.h>\n\n#include "plait/simulate/preload/mpi_call.hpp"\n\nnamespace {\n\n',
        'constexpr const char* reason = "simulated ranks do not have this function";\n\n}  // namespace\n\n',
        'extern "C" {\n',
        *(refusal(name, one) for name, one in declared.items() if is_refused(name, one, defined)),
        *(refusal(f"X_{name}_init", Function("int", ())).replace("MPI_X", "MPIX") for name in _EXTENSIONS),
        "}\n",
    ]
    Path(output).write_text("".join(text))


main()
