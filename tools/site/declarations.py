# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, as Doxygen reads them."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
_LINE_MAX = 88
# In the place of line ends and spaces of comments, which Doxygen would join.
_LINE_END, _SPACE = "\ue000", "\ue001"


@dataclass
class Declaration:
    """A type, function, constant or alias. `signature` is without a semicolon; `name` without its namespace."""

    kind: str
    name: str
    qualified: str
    file: str
    line: int
    signature: str
    text: str
    members: list[Declaration] = field(default_factory=list)

    @property
    def is_type(self) -> bool:
        return self.kind in ("class", "struct", "union", "concept")

    @property
    def short(self) -> str:
        """The name within the namespace of its folder: Endpoint::send."""
        return re.sub(r"^plait::(?:[a-z]\w*::)*", "", self.qualified)


def read(project: Path, headers: Sequence[str], work: Path) -> list[Declaration]:
    """Declarations of all headers, in the order of the files. Throws: RuntimeError with what Doxygen reports."""
    for name in headers:
        copy = work / "headers" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(_without_markup((project / name).read_text(encoding="utf-8")), encoding="utf-8")
    settings = (HERE / "Doxyfile").read_text(encoding="utf-8")
    settings += f"\nOUTPUT_DIRECTORY = ..\nINPUT = {' '.join(headers)}\n"
    (work / "headers/Doxyfile").write_text(settings, encoding="utf-8")
    done = subprocess.run(["doxygen", "Doxyfile"], cwd=work / "headers", capture_output=True, text=True, check=False)
    warnings = [
        line.replace(f"{(work / 'headers').resolve()}/", "")
        for line in done.stderr.splitlines()
        # It does not know the namespace of what a header specialises.
        if line.strip() and "scope for class std::" not in line
    ]
    if done.returncode != 0 or warnings:
        raise RuntimeError("\n".join(dict.fromkeys(warnings)) or "doxygen failed")
    return parse(work / "xml")


def _without_markup(text: str) -> str:
    """Doxygen passes comments through: they are Markdown, without its commands."""

    def escape(match: re.Match[str]) -> str:
        line = match.group(2).removeprefix(" ")
        text = line.lstrip(" ")
        spaces = _SPACE * (len(line) - len(text))
        text = re.sub(r" {2,}", lambda m: _SPACE * len(m.group()), text)
        text = re.sub(r"([\\@<>&#%]|::)", r"\\\1", text)
        return f"{match.group(1)} {_LINE_END}{spaces}{text}" if text else match.group(1)

    return re.sub(r"(///<?)([^\n]*)", escape, text)


def parse(xml: Path) -> list[Declaration]:
    """Declarations in Doxygen's XML; members of a type are in it."""
    types: dict[str, Declaration] = {}
    others: dict[str, Declaration] = {}
    inner: list[tuple[str, str]] = []
    for compound in _compounds(xml):
        kind = compound.get("kind", "")
        if kind in ("namespace", "file"):
            for member in _members(compound):
                others.setdefault(f"{member.qualified}{member.signature}", member)
        elif kind in ("class", "struct", "union", "concept") and (one := _compound(compound, kind)) is not None:
            types[one.qualified] = one
            inner += [(one.qualified, text) for text in _texts(compound.findall("innerclass[@prot='public']"))]
    nested = [(outer, name) for outer, name in inner if name in types and outer in types]
    for outer, name in nested:
        types[outer].members.append(types[name])
    for one in types.values():
        one.members.sort(key=lambda member: member.line)
    tops = [one for name, one in types.items() if name not in {name for _, name in nested}]
    return sorted(filter(_is_public, [*tops, *others.values()]), key=lambda one: (one.file, one.line))


def _compounds(xml: Path) -> Iterator[ET.Element]:
    for path in sorted(xml.glob("*.xml")):
        if path.name not in ("index.xml", "Doxyfile.xml"):
            yield from ET.parse(path).getroot().iter("compounddef")


def _is_public(one: Declaration) -> bool:
    return "detail::" not in one.qualified and (one.qualified.startswith("plait::") or "::" not in one.qualified)


def _texts(elements: Sequence[ET.Element]) -> Iterator[str]:
    for element in elements:
        yield "".join(element.itertext())


def _compound(compound: ET.Element, kind: str) -> Declaration | None:
    name = compound.findtext("compoundname", "")
    location = compound.find("location")
    if location is None or compound.get("prot") == "private" or "<" in name or not location.get("file"):
        return None
    short = name.rpartition("::")[2]
    parts = [_template(compound), f"{kind} {name}"]
    if kind == "concept":
        parts = [_tidied(compound.findtext("initializer", ""))]
    bases = [f"{base.get('prot')} {''.join(base.itertext())}" for base in compound.findall("basecompoundref")]
    signature = "\n".join(filter(None, parts)) + (f" : {', '.join(bases)}" if bases else "")
    members = list(_members(compound))
    file, line = location.get("file", ""), int(location.get("line", "0"))
    return Declaration(kind, short, name, file, line, signature, _description(compound), members)


def _members(compound: ET.Element) -> Iterator[Declaration]:
    for member in compound.iter("memberdef"):
        kind, name = member.get("kind", ""), member.findtext("name", "")
        location = member.find("location")
        if member.get("prot") != "public" or kind == "friend" or location is None:
            continue
        arguments = member.findtext("argsstring", "")
        is_unwanted = re.search(r"=\s*(?:delete|default)$", arguments) or name.startswith(("~", "@"))
        if is_unwanted and not _description(member):
            continue
        # What the library itself calls has no comment, and types that programs do not see.
        if "detail::" in f"{member.findtext('definition', '')}{arguments}" and not _description(member):
            continue
        qualified = member.findtext("qualifiedname", "") or name
        file, line = location.get("file", ""), int(location.get("line", "0"))
        inner = []
        if kind == "enum":
            inner = [
                Declaration(
                    "value", v.findtext("name", ""), "", file, line, v.findtext("initializer", ""), _description(v)
                )
                for v in member.findall("enumvalue")
            ]
        yield Declaration(
            kind, name, qualified, file, line, _signature(member, kind, name, inner), _description(member), inner
        )


def _signature(member: ET.Element, kind: str, name: str, values: Sequence[Declaration]) -> str:
    type_ = _tidied("".join(member.find("type").itertext())) if member.find("type") is not None else ""
    start = member.findtext("initializer", "")
    if kind == "define":
        parameters = ", ".join(p.findtext("defname", "") for p in member.findall("param"))
        return f"#define {name}{f'({parameters})' if parameters else ''} {start}".strip()
    if kind == "enum":
        inner = ", ".join(f"{v.name}{f' {v.signature}' if v.signature else ''}" for v in values)
        scope = "enum class" if member.get("strong") == "yes" else "enum"
        head = f"{scope} {name}{f' : {type_}' if type_ else ''}".replace("@", "")
        one_line = f"{head} {{ {inner} }}"
        return one_line if len(one_line) <= _LINE_MAX else f"{head} {{\n  " + inner.replace(", ", ",\n  ") + "\n}"
    if kind == "typedef":
        definition = _tidied(member.findtext("definition", ""))
        if not definition.startswith("using"):
            return definition
        value = definition.partition("=")[2].strip() or type_
        return "\n".join(filter(None, [_template(member), f"using {name} = {value}"]))
    words = [word for word in ("static", "explicit") if member.get(word) == "yes"]
    words += ["virtual"] if member.get("virt") in ("virtual", "pure-virtual") else []
    head = " ".join([*words, *([type_] if type_ else []), name])
    if kind == "variable":
        return _tidied(f"{head}{member.findtext('argsstring', '')}{f' {start}' if start else ''}")
    return "\n".join(filter(None, [_template(member), _with_arguments(head, member)]))


def _with_arguments(head: str, member: ET.Element) -> str:
    arguments = member.findtext("argsstring", "")
    depth, end = 0, len(arguments)
    for place, letter in enumerate(arguments):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            end = place
            break
    after = _tidied(re.sub(r"\)\s*=\s*0$", ") = 0", arguments[end:])[1:])
    parameters = []
    for one in member.findall("param"):
        type_ = _tidied("".join(one.find("type").itertext())) if one.find("type") is not None else ""
        text = f"{type_} {one.findtext('declname', '')}{one.findtext('array', '')}".strip()
        value = one.find("defval")
        parameters.append(text + (f" = {_tidied(''.join(value.itertext()))}" if value is not None else ""))
    tail = f" {after}" if after else ""
    constraint = " ".join("".join(c.itertext()).split()) if (c := member.find("requiresclause")) is not None else ""
    tail += f"\n  requires {constraint}" if constraint else ""
    one_line = f"{head}({', '.join(parameters)}){tail}"
    if len(one_line) <= _LINE_MAX:
        return one_line
    return f"{head}(\n    " + ",\n    ".join(parameters) + f"){tail}"


def _template(element: ET.Element) -> str:
    parameters = element.find("templateparamlist")
    if parameters is None:
        return ""
    shown = []
    for one in parameters.findall("param"):
        text = f"{''.join(one.find('type').itertext())} {one.findtext('declname', '')}".strip()
        value = one.find("defval")
        shown.append(text + (f" = {''.join(value.itertext())}" if value is not None else ""))
    return _tidied(f"template <{', '.join(shown)}>")


def _tidied(text: str) -> str:
    """Spaces as the project's formatter has them."""
    text = " ".join(text.split())
    text = re.sub(r"(?<=[\w>])< ", "<", text)
    text = re.sub(r" >(?=[\s>,&*(:){}]|$)", ">", text)
    text = re.sub(r" >(?=[\s>,&*(:){}]|$)", ">", text)
    return re.sub(r" ([&*]+)(?=[\s\w,>).]|$) ?(?=(\w?))", lambda m: m[1] + (" " if m[2] else ""), text).strip()


def _description(element: ET.Element) -> str:
    """Brief and detailed description as the Markdown that the comment is."""
    parts = []
    for name in ("briefdescription", "detaileddescription"):
        for child in element.find(name) or ():
            text = _text(child).replace(_LINE_END, "\n").replace(_SPACE, " ")
            parts.append("\n".join(line.rstrip() for line in text.split("\n")).strip("\n"))
    # A brief description ends with its first sentence, which may be in the middle of a line.
    details = element.find("detaileddescription")
    first = next(iter(details), None) if details is not None else None
    is_continued = first is not None and not _text(first).startswith(_LINE_END)
    brief_count = len(element.find("briefdescription") or ())
    text = ""
    for number, part in enumerate(parts):
        text += (" " if is_continued and number == brief_count and text else "\n\n" if text else "") + part
    return text.strip("\n")


def _text(node: ET.Element) -> str:
    parts = [node.text or ""]
    for child in node:
        parts.append({"ndash": "--", "mdash": "---"}.get(child.tag) or _text(child))
        parts.append(child.tail or "")
    return "".join(parts)
