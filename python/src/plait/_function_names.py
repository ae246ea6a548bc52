# SPDX-License-Identifier: Apache-2.0
"""Names of functions as the linker has them, demangled, for readers."""

from __future__ import annotations

#: Letters of a function's name; of a longer one, templates and parameters are left out.
NAME_MAX = 70


def brief(function: str) -> str:
    """A long name without what is in its outermost angle brackets and parentheses."""
    if len(function) <= NAME_MAX:
        return function
    kept, depth = [], 0
    for letter in function:
        depth = max(0, depth - (letter in ">)"))
        if depth == 0:
            kept.append(letter)
        depth += letter in "<("
        if depth == 1 and letter in "<(":
            kept.append("…")
    text = "".join(kept)
    return text if len(text) <= NAME_MAX else text[: NAME_MAX - 1] + "…"


def without_parameters(function: str) -> str:
    """Without the types of its parameters, which readers do not need beside a line; a long one is
    `brief`, without its return type."""
    name = function.replace("(anonymous namespace)::", "")
    closing = name.rfind(")")
    depth = 0
    for index in range(closing, -1, -1):
        depth += (name[index] == ")") - (name[index] == "(")
        if depth == 0:
            # "operator()" has parentheses of its own.
            found = name[:index] if index > 0 and not name[:index].endswith("operator") else name
            return found if len(found) <= NAME_MAX else brief(_without_return_type(found))
    return name


def _without_return_type(name: str) -> str:
    """Templates have one in front: the first word, outside of brackets."""
    depth = 0
    for index, letter in enumerate(name):
        depth += (letter in "<(") - (letter in ">)")
        if letter == " " and depth == 0 and not name[:index].endswith("operator"):
            return name[index + 1 :]
    return name
