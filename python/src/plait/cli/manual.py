# SPDX-License-Identifier: Apache-2.0
"""Manual pages of all commands, made from their options and help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from textwrap import TextWrapper
from typing import Any

from plait._environment import VARIABLES, Readers, Variable
from plait._errors import SIGNALLED, Status

_PROGRAM = "plait"
#: Of the release that the pages belong to; CHANGELOG.md has the releases.
_DATE = "2026-11-26"
_LINE = 78


def pages(command: Any) -> dict[str, str]:
    """The text of each page by file name, such as plait-run.1. `command`: typer's, of all of plait."""
    found = {f"{name.replace(' ', '-')}.1": _page(name, one) for name, one in _leaves(command, _PROGRAM)}
    return {f"{_PROGRAM}.1": _overview(command), **found}


def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """(name, command) of what does something: not of groups."""
    for inner, below in sorted(command.commands.items()):
        if hasattr(below, "commands"):
            yield from _leaves(below, f"{name} {inner}")
        else:
            yield f"{name} {inner}", below


def _overview(command: Any) -> str:
    leaves = list(_leaves(command, _PROGRAM))
    about, _, use = command.help.partition("\n\nTypical use:")
    parts = [
        _head(_PROGRAM, about),
        ".SH SYNOPSIS",
        f"\\fB{_PROGRAM}\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...",
    ]
    parts += [".SH DESCRIPTION", _text(about), ".SH COMMANDS"]
    for name, one in leaves:
        parts += [".TP", f"\\fB{_page_name(name)}\\fR(1)", _text(_split(one.help)[0])]
    parts += [".SH EXAMPLES", *_examples(use)]
    parts += _ending(tuple(Readers), [_page_name(name) for name, _ in leaves])
    return "\n".join(parts) + "\n"


def _page(name: str, command: Any) -> str:
    brief, description, examples = _split(command.help)
    parts = [_head(_page_name(name), brief), ".SH SYNOPSIS", _synopsis(name, command)]
    parts += [".SH DESCRIPTION", _text(brief), *_paragraphs(description)]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    if arguments:
        parts.append(".SH ARGUMENTS")
        for one in arguments:
            parts += [".TP", f"\\fI{_escape(_name_of(one))}\\fR", _text(one.help or "")]
    parts.append(".SH OPTIONS")
    for one in options:
        parts += _option(one)
    parts += [".TP", "\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Describes the command."]
    # The end of the help of `plait run` lists variables, which have a section.
    notes = "" if "PLAIT_WORKERS" in (command.epilog or "") else command.epilog or ""
    parts += [".SH NOTES", *list(_paragraphs(notes))[1:]] if notes.strip() else []
    parts += [".SH EXAMPLES", *_examples(examples)]
    readers = (Readers.programs, Readers.command) if name == f"{_PROGRAM} run" else (Readers.command,)
    parts += _ending(readers, [_PROGRAM])
    return "\n".join(parts) + "\n"


def _split(help_: str) -> tuple[str, str, str]:
    """The first paragraph, the others, and the examples."""
    text, _, examples = help_.partition("Examples:")
    brief, _, description = text.strip().partition("\n\n")
    return brief, description, examples


def _head(page: str, brief: str) -> str:
    words = " ".join(brief.split()).rstrip(".")
    return (
        '.\\" Made by tools/make_pages.py.\n'
        f'.TH {page.upper()} 1 "{_DATE}" "plait" "plait manual"\n'
        ".nh\n.ad l\n.SH NAME\n"
        f"{_escape(page)} \\- {_escape(words[0].lower() + words[1:])}"
    )


def _synopsis(name: str, command: Any) -> str:
    arguments = []
    for one in command.params:
        if one.param_type_name == "argument":
            text = f"\\fI{_escape(_name_of(one))}\\fR"
            arguments.append(text if one.required else f"[{text}]")
    return " ".join([f"\\fB{_escape(name)}\\fR", "[\\fIOPTION\\fR]...", *arguments])


def _name_of(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    return f"{name}..." if argument.nargs == -1 and not name.endswith("...") else name


def _option(option: Any) -> Iterator[str]:
    yield ".TP"
    words = [*sorted(option.opts, key=lambda word: word.startswith("--")), *option.secondary_opts]
    value = "" if option.is_flag else f" \\fI{_escape(option.metavar or _kind(option))}\\fR"
    yield ", ".join(f"\\fB{_escape(word)}\\fR" for word in words) + value
    default = option.default
    shown = default is not None and not isinstance(default, bool) and not callable(default)
    has_default = shown and "[" not in (option.help or "")
    value_of = getattr(default, "value", default)
    yield _text((option.help or "") + (f" The default is {value_of}." if has_default else ""))


def _kind(option: Any) -> str:
    """What to call the value of an option that does not name it."""
    if isinstance(option.default, Enum):
        return "|".join(str(one.value) for one in type(option.default))
    is_number = isinstance(option.default, int | float) or getattr(option, "min", None) is not None
    return "N" if is_number else "TEXT"


def _examples(text: str) -> Iterator[str]:
    for number, one in enumerate(filter(None, (line.strip() for line in text.splitlines()))):
        command, _, remark = re.sub(r" {2,}", "\0", one).partition("\0")
        yield from (".PP",) if number else ()
        yield f"\\fB{_escape(command)}\\fR"
        if remark:
            yield from (".br", f"{_escape(remark.strip('()'))}")


def _ending(readers: tuple[Readers, ...], also: list[str]) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for status in Status:
        yield from (".TP", f"\\fB{status.value}\\fR", _text(_sentence(status.meaning)))
    yield from (".TP", "\\fB128 + N\\fR", _text(_sentence(SIGNALLED.partition(": ")[2])))
    yield ".SH ENVIRONMENT"
    for one in VARIABLES:
        if one.readers in readers:
            yield from (".TP", f"\\fB{one.name}\\fR", _text(_describe(one)))
    yield ".SH SEE ALSO"
    yield ",\n".join(f"\\fB{_escape(page)}\\fR(1)" for page in also)


def _describe(one: Variable) -> str:
    set_by = f" Set by `{one.set_by}`." if one.set_by else ""
    meaning = one.meaning[0].upper() + one.meaning[1:]
    return f"{meaning}: {one.values}. The default is: {one.default}.{set_by}"


def _sentence(text: str) -> str:
    # A command keeps its name.
    first = text[0] if text.startswith(f"{_PROGRAM} ") else text[0].upper()
    return f"{first}{text[1:]}."


def _paragraphs(text: str) -> Iterator[str]:
    for one in filter(None, (part.strip() for part in text.split("\n\n"))):
        if one.startswith("- "):
            yield from (".IP \\(bu 2", _text(one.removeprefix("- ")))
        else:
            yield from (".PP", _text(one))


def _text(markdown: str) -> str:
    """One paragraph, a line for each sentence."""
    joined = _escape(" ".join(markdown.split()))
    joined = re.sub(r"\*\*(.+?)\*\*|`(.+?)`", lambda m: f"\\fB{m.group(1) or m.group(2)}\\fR", joined)
    sentences = re.sub(r"(?<=[a-z)\]][.:?]) (?=[A-Z])", "\n", joined).split("\n")
    fill = TextWrapper(_LINE, break_long_words=False, break_on_hyphens=False).wrap
    lines = [line for sentence in sentences for line in fill(sentence)]
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


def _escape(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")


def _page_name(command: str) -> str:
    return command.replace(" ", "-")
