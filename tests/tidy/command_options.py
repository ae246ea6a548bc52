# SPDX-License-Identifier: Apache-2.0
"""Rules about options: one spelling for one meaning in all programs, and documents name those that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import documents
import rules

# The letter of each option that has one; no program gives the letter to another.
LETTERS = {"--output": "-o", "--ranks": "-n", "--workers": "-w", "--quiet": "-q", "--verbose": "-v", "--help": "-h"}


@dataclass(frozen=True)
class Command:
    """What may follow a command: its options with the number of their values."""

    values_of: Mapping[str, int] = field(default_factory=dict)
    starts_program: bool = False  # what follows the first argument is another program's


def letters_agree(name: str, spellings: Collection[Collection[str]]) -> list[str]:
    """`spellings`: of each option of a command, such as {"-o", "--output"}."""
    found = []
    for words in spellings:
        for long, letter in LETTERS.items():
            if long in words and letter not in words:
                found.append(f"{name}: {long} has no {letter}: add it, as in the other commands")
            if letter in words and long not in words:
                found.append(
                    f"{name}: {letter} is {', '.join(sorted(words))}, but {long} elsewhere: use another letter"
                )
    return found


def spellings_in(source: str) -> list[frozenset[str]]:
    """The options that a C++ program declares with CLI11."""
    literal = r'\b(?:add|add_option|add_flag|add_with_default)\(\s*"(!?-[^"\s]*)"'
    return [frozenset(w.lstrip("!") for w in m.group(1).split(",")) for m in re.finditer(literal, source)]


def cpp_letters_agree(path: str, source: str) -> list[str]:
    return letters_agree(path, spellings_in(source)) if re.match(r"(src|apps|bench)/.*\.cpp$", path) else []


def unknown_command_options(path: str, markdown: str, commands: Mapping[str, Command]) -> list[str]:
    """Options that documents give to commands. `commands`: by name, such as "plait run" and "plait-ring"."""
    found = []
    names = "|".join(sorted(map(re.escape, commands), key=len, reverse=True))
    for start, code in documents.code_in(markdown):
        joined = code.replace("\\\n", "  ")
        for match in re.finditer(rf"(?<![\w.-])({names})(?![\w.-])(?=([^\n|;&>#)]*))", joined):
            line = rules.line_of(markdown, start + match.start())
            for word in unknown_words(commands[match.group(1)], match.group(2)):
                found.append(f"{path}:{line}: {match.group(1)} has no {word}: name an option that exists")
    return found


def unknown_words(command: Command, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    found, skipped = [], 0
    for word in words:
        if skipped > 0:
            skipped -= 1
        elif word == "--" or (command.starts_program and not word.startswith("-")):
            break
        elif re.match(r"--?[A-Za-z]", word):
            name = word.partition("=")[0]
            if name not in command.values_of:
                found.append(name)
            elif "=" not in word:
                skipped = command.values_of[name]
    return found
