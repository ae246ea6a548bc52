# SPDX-License-Identifier: Apache-2.0
"""The functions that an MPI declares in its mpi.h, for the generators of libraries that come before it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    """What is before the name, the name or nothing, what is after it."""

    kind: str
    name: str
    after: str


@dataclass(frozen=True)
class Function:
    """PMPI_X, without its name."""

    result: str
    parameters: tuple[Parameter, ...]

    def argument_names(self) -> list[str]:
        return [f"argument_{i}" for i in range(len(self.parameters))]

    def parameter_text(self, names: Sequence[str]) -> str:
        """The parameters as a definition has them."""
        return ", ".join(f"{one.kind} {name}{one.after}" for one, name in zip(self.parameters, names, strict=True))


_DECLARATION = re.compile(r"\b(int|MPI_\w+)\s+PMPI_(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")


def declarations(compiler: str, flags: Sequence[str]) -> dict[str, Function]:
    """Each function PMPI_X of this MPI that returns an error code or a handle, by X. `flags`: to find its mpi.h."""
    command = [compiler, "-E", "-P", "-x", "c++", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    command += [*flags, "-"]
    text = subprocess.run(command, input="#include <mpi.h>\n", text=True, capture_output=True, check=True).stdout
    found = {}
    for result, name, inside in _DECLARATION.findall(_ATTRIBUTE.sub("", text)):
        parameters = [" ".join(part.split()) for part in inside.split(",")]
        if parameters == ["void"] or "..." in inside:
            parameters = []
        found[name] = Function(result, tuple(_parameter(text) for text in parameters))
    return found


def _parameter(text: str) -> Parameter:
    brackets = re.search(r"(\s*\[[^\]]*\])*$", text)
    after = brackets.group() if brackets else ""
    rest = text[: len(text) - len(after)]
    named = re.fullmatch(r"(.*[\s*])(\w+)", rest)
    # One word, or a type and nothing else: without a name.
    if named is None or named.group(1).strip() in ("const", "") or named.group(2) in ("int", "char", "void"):
        return Parameter(rest, "", after)
    return Parameter(named.group(1), named.group(2), after)
