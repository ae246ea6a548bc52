# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from plait._function_names import brief, without_parameters

INNER = "grid::Tile<2, double> const, solver::Poisson<2>::dot(grid::Tile<2, double> const&)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("solve", "solve"),
        ("app::Sum<int>::add(int, int)", "app::Sum<int>::add(int, int)"),
        (f"void grid::for_each<{INNER}>(int)", "void grid::for_each<…>(…)"),
        (f"grid::Walk<{INNER}>::operator()(int) const", "grid::Walk<…>::operator(…)(…) const"),
        ("a" * 100, "a" * 69 + "…"),
        (f"operator->({INNER})", "operator->(…)"),
    ],
)
def test_long_names_are_shown_without_templates_and_parameters(name: str, shown: str) -> None:
    assert brief(name) == shown


def test_a_long_function_of_a_template_has_neither_types_nor_a_return_type() -> None:
    name = f"auto pic::exchange(std::span<{INNER}>)::{{lambda(auto:1)#1}}::operator()<int (*)(void*)>"
    assert without_parameters(f"{name}(int (*)(void*)) const") == (
        "pic::exchange(…)::{lambda(…)#1}::operator(…)<…>"
    )
