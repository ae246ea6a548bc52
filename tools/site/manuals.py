# SPDX-License-Identifier: Apache-2.0
"""Manual pages, as python/src/plait/cli/manual.py writes them, as Markdown."""

from __future__ import annotations

import re

import markup

_SYMBOLS = {r"\-": "-", r"\(ti": "~", r"\(ha": "^", r"\(bu": "*", r"\e": "\\", r"\&": ""}
_SYMBOL = re.compile(r"\\-|\\\(..|\\e|\\&")


def page(roff: str) -> str:
    """The page's text in Markdown. Links lead to pages beside it, named as the manual pages are."""
    lines = [line for line in roff.split("\n") if not line.startswith('.\\"')]
    out = [f"# {_title(lines).replace('-', ' ', 1)}", "", f"{markup.escaped(_capital(brief_of(roff)))}."]
    section = ""
    while lines:
        line = lines.pop(0)
        macro = line[:3]
        if macro == ".SH":
            section = line[4:].strip()
            out += [] if section == "NAME" else ["", f"## {section.capitalize()}", ""]
        elif macro == ".TP":
            term = lines.pop(0)
            out += [_inline(term), f":   {_inline(_paragraph(lines)) or '&nbsp;'}", ""]
        elif macro == ".IP":
            out.append(f"- {_inline(_paragraph(lines))}")
        elif macro == ".PP":
            out.append("")
        elif line.startswith(".") or section == "NAME":
            continue
        elif section == "EXAMPLES" and line.startswith(r"\fB"):
            out.append(markup.fenced(_plain(line) + _remark(lines), "sh").rstrip())
        else:
            out.append(_inline(line))
    # Commands that follow one another are one block.
    text = re.sub(r"\n```\n\n```sh\n", "\n", "\n".join(out))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _title(lines: list[str]) -> str:
    return next((line.split()[1].lower() for line in lines if line.startswith(".TH")), "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _paragraph(lines: list[str]) -> str:
    """Takes the lines up to the next macro."""
    text = []
    while lines and not lines[0].startswith("."):
        text.append(lines.pop(0))
    return " ".join(text)


def _remark(lines: list[str]) -> str:
    """Takes what the page has below a command, as a comment behind it."""
    if len(lines) < 2 or lines[0] != ".br":
        return ""
    del lines[0]
    return f"  # {_plain(lines.pop(0))}"


def brief_of(roff: str) -> str:
    match = re.search(r"^\.SH NAME\n(.*)$", roff, re.MULTILINE)
    return _plain(match.group(1)).partition(" - ")[2] if match else ""


def _plain(text: str) -> str:
    return _symbols(re.sub(r"\\f[BIR]", "", text))


def _symbols(text: str) -> str:
    return _SYMBOL.sub(lambda m: _SYMBOLS.get(m.group(), m.group()), text)


def _inline(text: str) -> str:
    """Bold is code, or the name of another page; italics are values."""
    parts = []
    for match in re.finditer(r"\\f([BI])(.*?)\\fR(\(1\))?|((?:(?!\\f[BI]).)+)", text, re.DOTALL):
        kind, marked, is_page, plain = match.groups()
        if plain is not None:
            parts.append(markup.escaped(_symbols(plain)))
        elif is_page:
            parts.append(f"[`{_symbols(marked)}`]({_symbols(marked)}.md)")
        elif kind == "B":
            parts.append(f"`{_symbols(marked)}`")
        else:
            parts.append(f"*{markup.escaped(_symbols(marked))}*")
    return "".join(parts)
