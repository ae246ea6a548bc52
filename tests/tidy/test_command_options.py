# SPDX-License-Identifier: Apache-2.0
"""The rules about options, tried on made-up commands and on those of the project."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import command_options as options
import typer
from command_options import Command
from plait.__main__ import app
from test_tidy import complaints_about, cpp_files, project_files, read, require, written_for_users

RUN = Command({"-n": 1, "--quiet": 0}, starts_program=True)


def test_an_option_without_its_letter_is_found() -> None:
    assert options.letters_agree("x", [{"--output"}]) == ["x: --output has no -o: add it, as in the other commands"]
    assert options.letters_agree("x", [{"--output", "-o"}, {"--size"}]) == []


def test_a_letter_with_another_meaning_is_found() -> None:
    assert len(options.letters_agree("x", [{"-n", "--size"}])) == 1


def test_options_are_found_in_sources() -> None:
    source = 'app.add_option("-o,--output", a, "File");\n group.add(\n "--tile", b, "");  add_flag("!--no-check", c);'
    assert options.spellings_in(source) == [{"-o", "--output"}, {"--tile"}, {"--no-check"}]


def test_an_unknown_option_in_a_document_is_found() -> None:
    page = "```sh\nplait run -n 2 -x a.out -y\n```\nand `plait run --quiet a -z`.\n"
    found = options.unknown_command_options("a.md", page, {"plait run": RUN, "plait": Command()})
    assert found == ["a.md:2: plait run has no -x: name an option that exists"]


def test_values_of_options_are_no_options() -> None:
    assert options.unknown_words(RUN, "-n -2 --quiet a --gone") == []
    assert options.unknown_words(Command({"--by": 1}), "a --by=-1 -- --gone") == []


# --- the project --------------------------------------------------------------------------------------


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        for inner, below in command.commands.items():
            yield from leaves(below, f"{name} {inner}")
    else:
        yield name, command


def options_of(command: Any) -> list[Any]:
    return [p for p in command.params if p.param_type_name == "option"]


@functools.cache
def plait_commands() -> dict[str, Any]:
    return dict(leaves(typer.main.get_command(app), "plait"))


def test_letters_agree_in_all_commands() -> None:
    for name, command in plait_commands().items():
        require(options.letters_agree(name, [{*p.opts, *p.secondary_opts} for p in options_of(command)]))


def test_letters_agree_in_all_programs() -> None:
    require(complaints_about(cpp_files(), options.cpp_letters_agree))


def test_every_command_can_be_quiet() -> None:
    commands = plait_commands().items()
    assert [n for n, c in commands if not any("--quiet" in p.opts for p in options_of(c))] == []


def test_results_go_to_a_file_wherever_there_is_json() -> None:
    for name, command in plait_commands().items():
        for option in options_of(command):
            assert "--json" not in option.opts or option.metavar == "FILE", name


def test_every_option_and_command_is_explained() -> None:
    for name, command in plait_commands().items():
        assert command.help, name
        assert all(option.help for option in options_of(command)), name
        assert "Examples:" in command.help, name


def known_commands() -> dict[str, Command]:
    known = {}
    for name, command in plait_commands().items():
        values = {"-h": 0, "--help": 0}
        for option in options_of(command):
            count = 0 if option.is_flag else option.nargs
            values |= dict.fromkeys([*option.opts, *option.secondary_opts], count)
        # What `plait bench` does not know goes to the benchmark.
        if not command.context_settings.get("ignore_unknown_options"):
            known[name] = Command(values, command.context_settings.get("allow_interspersed_args") is False)
    for folder in {p.split("/")[1] for p in project_files() if re.match(r"apps/\w+/program/main.cpp", p)}:
        sources = [read(p) for p in project_files() if re.match(rf"apps/({folder}|support)/.*\.cpp$", p)]
        words = {word for source in sources for option in options.spellings_in(source) for word in option}
        words |= {word for source in sources for word in re.findall(r'"(--[a-z][\w-]*)[",]', source)}
        known[f"plait-{folder}"] = Command(dict.fromkeys([*words, "-h", "--help", "--version"], 0))
    return known


def test_options_in_documents_exist() -> None:
    commands = known_commands()
    require(complaints_about(written_for_users(), lambda p, t: options.unknown_command_options(p, t, commands)))
