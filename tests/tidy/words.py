# SPDX-License-Identifier: Apache-2.0
"""Words that are out, each with the standard term: checked in comments, sentences in strings, and documents."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Collection, Mapping

import rules


def word(pattern: str, instead: str, where: str = "") -> tuple[re.Pattern[str], str, re.Pattern[str]]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead, re.compile(where)


# (what is out, what to write, the paths where it is out)
OUT = [
    word(r"look(?:s|ed|ing)?(?!-up|\s+(?:up|for|ahead|like|alike)\b)", "poll, check, search"),
    word(r"says?|said", 'report, return, describe, "means"'),
    word(r"tells?|told|telling", "report, notify, return, signal"),
    word(r"stands?(?! for)|stood|stands together", "is, is stored, contiguous"),
    word(r"whoever|nobody|somebody", "the caller, no thread, any thread"),
    word(r"announced? (?:message|by a header)|asked for", "rendezvous (RTS), clear to send (CTS), requested"),
    word(r"pieces? of (?:a|the|long|its) messages?|piece after piece", "segment"),
    word(r"(?:short|long)(?:er)? messages?", "eager message, rendezvous message", r"src/plait/(?:comm|net)/|docs/"),
    word(r"lanes?", "stream, thread stream", r"src/plait/replay/|docs/how-to/(?:replay|predict|exchanges)"),
    word(r"tickets?", "sequence number"),
    word(
        r"a work|each work|every work|these works|works that|works? at (?:it|them)", "task, deferred task, accesses it"
    ),
    word(r"begun collectives?", "non-blocking collective"),
    word(r"wild receives?", "wildcard receive"),
    word(r"who has which|cuts (?:the )?space", "ownership, decomposes the domain"),
    word(r"boxes to each other|root is enough", "bounding boxes, the multipole of the root suffices"),
    word(r"strips?|line of lines", "batch of lines", r"src/plait/fft/|apps/dns/|bench/|docs/how-to/fft"),
    word(r"now and then|once in a while", "periodically, every N"),
    word(r"has left|what may leave|leaves? with its data", "is flushed, may be sent, eager"),
    word(r"largest over the mean", "imbalance (max/mean - 1)"),
    word(r"kept lists?", "reused interaction lists"),
    word(r"sums? of near pairs", "short-range (near-field) interactions"),
    word(r"mak(?:es?|ing) (?:a|its|the) records?", "creates"),
    word(r"(?:is|are) to be had|be at(?! least| most)", "is available, access"),
    word(r"gone is|gone are", "no inversion: subject first"),
]
# They have the words themselves.
HERE = ("tests/tidy/words.py", "tests/tidy/test_document_rules.py")
CODE_OUT = [(re.compile(r"\btogether\s*\(\s*\)"), "contiguous()")]


def comments_and_strings(text: str) -> str:
    """Of C++: comments, and strings that are sentences; the rest blank, line numbers kept."""
    kept, at = [], 0
    for match in rules._COMMENT_OR_STRING.finditer(text):
        kept.append(re.sub(r"[^\n]", " ", text[at : match.start()]))
        literal = match.group()
        is_sentence = literal.startswith("/") or literal.count(" ") >= 2
        kept.append(literal if is_sentence else re.sub(r"[^\n]", " ", literal))
        at = match.end()
    return "".join([*kept, re.sub(r"[^\n]", " ", text[at:])])


def python_prose(text: str) -> str:
    """Of Python: comments, and strings that are sentences; line numbers kept."""
    lines = [""] * (text.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        is_sentence = token.string.startswith('"""') or token.string.count(" ") >= 2
        if kind == "COMMENT" or (kind in ("STRING", "FSTRING_MIDDLE") and is_sentence):
            said = re.sub(r"\{[^{}\n]*\}", " ", token.string) if token.string[0] in "fF" else token.string
            for offset, line in enumerate(said.split("\n")):
                lines[token.start[0] - 1 + offset] += f" {line}"
    return "\n".join(lines)


def script_comments(text: str) -> str:
    return "\n".join(m.group(1) if (m := re.search(r"(?:^|\s)#(.*)", line)) else "" for line in text.split("\n"))


def document_prose(text: str) -> str:
    """Of Markdown: without programs, code, and addresses of links."""
    text = re.sub(r"`[^`\n]*`", " ", rules.strip_fences(text))
    return re.sub(r"\]\([^)\n]*\)", "]", text)


def prose_of(path: str) -> Callable[[str], str] | None:
    if rules.is_cpp(path):
        return comments_and_strings
    if path.endswith(".py"):
        return python_prose
    if path.endswith(".md"):
        return document_prose
    if path.endswith((".cmake", "CMakeLists.txt", ".sh", ".toml")) or re.fullmatch(r"tools/[\w-]+|Makefile", path):
        return script_comments
    return None


def words_that_are_out(path: str, text: str, exceptions: Collection[str] = ()) -> list[str]:
    """`exceptions` has `path:word`, for words that have their standard meaning there."""
    prose_in = prose_of(path)
    if prose_in is None or path in HERE:
        return []
    prose = prose_in(text)
    found = [
        (rules.line_of(prose, m.start()), m.group().lower(), instead)
        for what, instead, where in OUT
        if where.match(path)
        for m in what.finditer(prose)
    ]
    if rules.is_cpp(path):
        code = rules.code_only(text)
        found += [
            (rules.line_of(code, m.start()), m.group(), instead)
            for what, instead in CODE_OUT
            for m in what.finditer(code)
        ]
    return [
        f"{path}:{line}: '{said}' is out: {instead}"
        for line, said, instead in sorted(found)
        if f"{path}:{said}" not in exceptions
    ]


def folder_of(path: str) -> str:
    """The folder by which words are counted: two levels in src/ and python/src, else one or two."""
    parts = path.split("/")
    depth = {"src": 3, "python": 4 if path.startswith("python/src") else 2}.get(parts[0], 2)
    return "/".join(parts[: min(depth, len(parts) - 1)]) or "."


def words_over_limits(complaints: Mapping[str, list[str]], limits: Mapping[str, int]) -> list[str]:
    """Complaints by folder against the folders that are not clean yet, with what each may still have."""
    found = []
    for folder, lines in sorted(complaints.items()):
        limit = limits.get(folder, 0)
        if len(lines) > limit:
            found += lines if limit == 0 else [f"{folder}: {len(lines)} words that are out, limit {limit}:", *lines]
    found += [
        f"tests/tidy/exceptions.toml:1: {folder}/ is clean: delete its line in [words]"
        for folder in limits
        if not complaints.get(folder)
    ]
    return found
