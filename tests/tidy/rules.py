# SPDX-License-Identifier: Apache-2.0
"""The rules of the project as pure functions: (path, text) in, a list of complaints out.

A complaint is one line, `path:line: what is wrong: what to do`. test_rules.py tries each rule on
made-up bad input; test_tidy.py runs them all on the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

# Bottom to top; a folder may include itself and those before it.
LAYERS = ["base", "trace", "net", "files", "comm", "task", "data", "runtime"]
# Beside the stack: what each may include apart from itself.
BESIDE = {
    "replay": ["base", "trace", "net"],
    "exports": ["base", "trace", "files"],
    "simulate": ["base", "trace", "net", "replay"],
    "preload": [],
    "record": ["base", "trace", "preload"],
    "accelerate": [*LAYERS, "preload"],
    "fft": ["base", "trace", "net", "comm", "task"],
    "particles": ["base", "trace", "net", "files", "comm", "task"],
    "particle_mesh": ["base", "trace", "net", "files", "comm", "task", "fft", "particles"],
    "testing": LAYERS,
    "c": LAYERS,
    "c_particles": [*LAYERS, "particles", "c"],
    "fortran": [],
    "python": [*LAYERS, "fft", "particles"],
    "fortran_particles": [],
}
# What of these is above the stack, and may include all of it (docs/decisions/0010).
ABOVE = ("src/plait/replay/backend/mpi/", "src/plait/replay/program/")

# The programs in apps/, whose tests are in tests/ under the same name.
APPS = ["ring", "sph", "pic", "dns", "cholesky", "cosmology"]
APPLICATION = re.compile(rf"apps/|examples/|tests/({'|'.join(APPS)})/")

# The public headers of a package each, for programs.
UMBRELLAS = ("plait/plait.hpp", "plait/fft.hpp", "plait/particles.hpp", "plait/particle_mesh.hpp")
C_HEADERS = ("plait/plait.h", "plait/plait_particles.h")
# Public headers of libraries that not every build has, and that these therefore leave out.
OPTIONAL = ("plait/particles/hdf5/", "plait/files/", "plait/testing/", "plait/data/balance/zoltan/entries.hpp")

HEADER_LINES_MAX = 250
SOURCE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
PARAMETERS_MAX = 5
# Whose functions have the parameters of MPI's.
MPI_SIGNATURES = re.compile(
    r"src/plait/(accelerate/engine/(communicators|messages|probes|waits)|c/(collectives|graph|messages))\.cpp"
)
MPI_ALLOWED = re.compile(
    r"src/plait/(accelerate|c|fortran|net/mpi|data/balance/zoltan|data/checkpoints/hdf5/mpi|files/hdf5/mpi|fft/mpi|particles/hdf5/mpi|preload|python|record|replay/backend/mpi"
    r"|replay/calibrate|replay/program|runtime|simulate/preload)/|src/plait/plait\.h$|apps/[^/]+/(program/|main|snapshot|mpi/|output/)"
    r"|examples/|bench/|tests/(accelerate|bench/collectives|c|data/balance/zoltan|files/hdf5/mpi|fft/mpi|net/mpi|net/conformance|record|replay/backend/mpi|runtime|ring|sph|pic|dns|mpi|particles/hdf5/mpi)"
)

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
_COMMENT_OR_STRING = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)

Rule = Callable[[str, str], list[str]]


def is_cpp(path: str) -> bool:
    return path.endswith((".hpp", ".cpp", ".h", ".c"))


def is_header(path: str) -> bool:
    return path.endswith((".hpp", ".h"))


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def code_only(text: str) -> str:
    """The text with comments and literals blanked, line numbers kept."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return _COMMENT_OR_STRING.sub(blank, text)


def includes(text: str) -> list[tuple[int, str, str]]:
    """Of each include: its line, `<` or `"`, and what it names."""
    return [(line_of(text, m.start(2)), m.group(1), m.group(2)) for m in _INCLUDE.finditer(text)]


def layer_of(path: str) -> str | None:
    match = re.match(r"(?:src/)?plait/([^/]+)/", path)
    return match.group(1) if match else None


def allowed_layers(folder: str) -> list[str]:
    if folder in BESIDE:
        return [folder, *BESIDE[folder]]
    return LAYERS[: LAYERS.index(folder) + 1] if folder in LAYERS else []


# --- one file at a time ---------------------------------------------------------------------------


def includes_point_down(path: str, text: str) -> list[str]:
    folder = layer_of(path)
    if folder is None or not path.startswith("src/"):
        return []
    if folder not in LAYERS and folder not in BESIDE:
        return [f"{path}:1: {folder}/ is not in the list of layers: add it to tests/tidy/rules.py and ARCHITECTURE.md"]
    found = []
    allowed = [folder, *LAYERS] if path.startswith(ABOVE) else allowed_layers(folder)
    for line, _, name in includes(text):
        target = layer_of(name)
        if target is not None and target not in allowed:
            found.append(
                f"{path}:{line}: {folder}/ must not include {target}/: includes point down "
                f"({', '.join(allowed)}); declare an interface here and implement it above"
            )
    return found


def umbrella_is_for_applications(path: str, text: str) -> list[str]:
    names = [(line, name) for line, _, name in includes(text) if name.startswith("plait/")]
    if path.startswith("src/"):
        return [
            f"{path}:{line}: nothing in src/ includes {name}: include the header that declares what you use"
            for line, name in names
            if name in UMBRELLAS
        ]
    if APPLICATION.match(path):
        return [
            f"{path}:{line}: {name} is internal here: applications include {', '.join(UMBRELLAS)} (or plait/base/)"
            for line, name in names
            if name not in (*UMBRELLAS, *C_HEADERS, "plait/version.hpp")
            and not name.startswith(("plait/base/", *OPTIONAL))
        ]
    return []


def includes_name_the_whole_path(path: str, text: str) -> list[str]:
    found = []
    for line, kind, name in includes(text):
        if name.startswith(("./", "../")) or "/../" in name:
            found.append(
                f'{path}:{line}: relative include: write "plait/<folder>/<name>.hpp", or the path from the program'
            )
        elif kind == '"' and "/" not in name and not path.startswith("apps/"):  # a program is one folder
            found.append(f'{path}:{line}: include "{name}" without a folder: write its path from the include root')
        elif kind == "<" and name.startswith("plait/"):
            found.append(f'{path}:{line}: write "{name}" in quotes: angle brackets are for other projects')
    return found


def mpi_stays_in_its_corner(path: str, text: str) -> list[str]:
    if MPI_ALLOWED.match(path):
        return []
    found = [
        f"{path}:{line}: mpi.h outside net/mpi, record and runtime: use net::Driver"
        for line, _, name in includes(text)
        if name == "mpi.h"
    ]
    for match in re.finditer(r"\bMPI_\w+", code_only(text)):
        line = line_of(text, match.start())
        found.append(f"{path}:{line}: {match.group()} outside net/mpi, record and runtime: use net::Driver")
    return found


def headers_define_no_macros(path: str, text: str) -> list[str]:
    if not is_header(path):
        return []
    return [
        f"{path}:{line_of(text, m.start())}: #define in a header: use constexpr, if constexpr or std::source_location"
        for m in re.finditer(r"^[ \t]*#[ \t]*define\b", text, re.MULTILINE)
    ]


def headers_are_included_once(path: str, text: str) -> list[str]:
    if is_header(path) and not re.search(r"^#pragma once$", text, re.MULTILINE):
        return [f"{path}:1: no include guard: write #pragma once after the SPDX line"]
    return []


def licence_comes_first(path: str, text: str) -> list[str]:
    line = "SPDX-License-Identifier: Apache-2.0"
    if is_cpp(path):
        if not text.startswith((f"// {line}\n", f"/* {line} */\n")):
            return [f"{path}:1: the first line must be: // {line}"]
        return []
    # A script may begin with what it does.
    if line not in "\n".join(text.splitlines()[:16]):
        return [f"{path}:1: no licence among the first lines: write # {line}"]
    return []


def lines_max(path: str, exceptions: Mapping[str, Mapping[str, object]]) -> int:
    limit = exceptions.get(path, {}).get("lines")
    if isinstance(limit, int):
        return limit
    return HEADER_LINES_MAX if is_header(path) else SOURCE_LINES_MAX


def files_stay_small(path: str, text: str, exceptions: Mapping[str, Mapping[str, object]]) -> list[str]:
    lines, limit = len(text.splitlines()), lines_max(path, exceptions)
    if lines <= limit:
        return []
    return [
        f"{path}:{limit}: {lines} lines, limit {limit}: split it by concept, or, if it is one clear idea, "
        "write so in its first lines and give it a limit in tests/tidy/exceptions.toml"
    ]


def functions_stay_small(
    path: str, functions: Iterable[tuple[str, int, int, int]], exceptions: Mapping[str, str]
) -> list[str]:
    """Of functions as (name, first line, lines, parameters); `exceptions` maps `path:name` to a reason."""
    found = []
    for name, line, lines, parameters in functions:
        if f"{path}:{name}" in exceptions:
            continue
        exception = f'or give "{path}:{name}" a reason in tests/tidy/exceptions.toml'
        if lines > FUNCTION_LINES_MAX:
            found.append(
                f"{path}:{line}: {name} has {lines} lines, limit {FUNCTION_LINES_MAX}: split it by steps, {exception}"
            )
        if parameters > PARAMETERS_MAX and is_cpp(path) and not MPI_SIGNATURES.match(path):
            found.append(
                f"{path}:{line}: {name} has {parameters} parameters, limit {PARAMETERS_MAX}: "
                f"gather them in a struct, {exception}"
            )
    return found


def todos_have_reasons(path: str, text: str) -> list[str]:
    found = []
    for match in re.finditer(r"\b(?:TODO|FIXME|XXX)\b[^\n]*", text):
        if not re.match(r"TODO\([^)]{3,}\): \S.{7,}", match.group()):
            line = line_of(text, match.start())
            found.append(f"{path}:{line}: a TODO needs its reason: TODO(what it waits for): what is missing")
    return found


def no_code_in_comments(path: str, text: str) -> list[str]:
    """Two successive comment lines that end as statements do; one alone may be an illustration."""
    found, run = [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        run = run + 1 if re.match(r"^\s*//(?!/)\s*(?!.*\b(?:good|bad)\b).*(?:\)|\w\]?|=.*);$", line) else 0
        if run == 2:
            found.append(f"{path}:{number}: commented-out code: delete it, the history keeps it")
    return found


# (what, where it is banned, what to do instead)
BANNED: list[tuple[re.Pattern[str], re.Pattern[str], str]] = [
    (
        re.compile(r"\b(?:std::)?s?rand\s*\("),
        re.compile(r"."),
        "use base/random.hpp with a seed handed in through the constructor",
    ),
    (
        re.compile(r"\bstd::random_device\b"),
        re.compile(r"src/|tests/"),
        "take a seed through the constructor",
    ),
    (
        re.compile(r"\bstd::cout\b"),
        re.compile(r"src/plait/"),
        "return the text, or throw plait::Error; programs print, libraries do not",
    ),
    (
        re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\("),
        re.compile(r"tests/.*\.(?:cpp|hpp)$"),
        "poll until the condition holds, or use the simulated clock",
    ),
    (re.compile(r"\bDISABLED_\w*"), re.compile(r"."), "mend the test or delete it"),
    (re.compile(r"\busing\s+namespace\s+std\b"), re.compile(r"."), "write std:: where it is used"),
    (
        re.compile(r"\breinterpret_cast<\s*(?:std::)?u?intptr_t"),
        re.compile(r"src/"),
        "use std::bit_cast",
    ),
    (
        re.compile(r"\bstd::(?:system|high_resolution)_clock\b"),
        re.compile(r"src/plait/(?:net|comm|task|data)/"),
        "use the clock of base/clock.hpp that the constructor takes",
    ),
]


def banned_words(path: str, text: str) -> list[str]:
    code = code_only(text)
    return [
        f"{path}:{line_of(code, m.start())}: {m.group().strip(' (')} is banned here: {instead}"
        for what, where, instead in BANNED
        if where.match(path)
        for m in what.finditer(code)
    ]


def tests_have_their_own_namespaces(path: str, text: str) -> list[str]:
    """Sanitizer builds compile several test files as one, and a test runs the cases of one `*_test.cpp`."""
    case = re.search(r"^(?:TYPED_)?TEST(?:_[FP])?\(", text, re.MULTILINE)
    if case is None or not path.startswith("tests/") or re.search(r"^int main\(", text, re.MULTILINE):
        return []
    name = path.rpartition("/")[2].removesuffix(".cpp")
    if not name.endswith("_test"):
        return [f"{path}:{line_of(text, case.start())}: no test runs this case: move it into a file *_test.cpp"]
    if not re.search(rf"^namespace (?:\w+::)*{name} \{{$", text, re.MULTILINE):
        return [f"{path}:1: names that other test files may have, too: write namespace plait::FOLDER::{name} {{"]
    return []


def no_traces_of_a_machine(path: str, text: str) -> list[str]:
    """Paths of one machine; `/tmp` is on all."""
    return [
        f"{path}:{line_of(text, m.start())}: a path of one machine ({m.group(1)}): make it relative or configurable"
        for m in re.finditer(r"(?<![\w.}~)*-])(/(?:root|home|work|Users)/\w)", text)
    ]


# --- the tree as a whole --------------------------------------------------------------------------


def untested_headers(paths: Collection[str], covered_by: Mapping[str, str]) -> list[str]:
    """Each src/plait/F/x.hpp has tests/F/x_test.cpp, or a line that names the test that covers it and why."""
    found = []
    for path in sorted(paths):
        match = re.fullmatch(r"src/plait/((?:[^/]+/)+)([^/]+)\.hpp", path)
        if match is None or "detail/" in match.group(1):
            continue
        name = match.group(1) + match.group(2)
        test = f"tests/{name}_test.cpp"
        if test in paths:
            if name in covered_by:
                found.append(f"tests/tidy/exceptions.toml:1: {name} has a test of its own now: delete its line")
        elif name not in covered_by:
            found.append(
                f"{path}:1: no test: write {test}, or name the test that covers it in tests/tidy/exceptions.toml"
            )
        else:
            named = re.match(r"(tests/\S+_test\.(?:cpp|py)|python/tests/\S+\.py)\b", covered_by[name])
            if named is None or named.group(1) not in paths:
                found.append(
                    f"tests/tidy/exceptions.toml:1: {name}: the line must begin with the path of an existing test"
                )
    return found


def tests_without_build(paths: Collection[str], cmake: Mapping[str, str]) -> list[str]:
    """`cmake` maps each CMakeLists.txt to its text. A loop over names in a folder above the test counts."""
    everything = "\n".join(cmake.values())
    found = []
    for path in sorted(paths):
        match = re.fullmatch(r"tests/(.+)/([^/]+)_test\.cpp", path)
        if match is None:
            continue
        folder, name = match.groups()
        parts = [*folder.split("/"), name]
        in_loop = False
        for depth in range(1, len(parts)):
            above, below = "/".join(parts[:depth]), "/".join(parts[depth:])
            own = cmake.get(f"tests/{above}/CMakeLists.txt", "")
            listed = re.search(rf"(?<![\w/]){re.escape(below)}(?![\w/])", own)
            in_loop = in_loop or bool(f"plait_test({above}/${{" in own and listed)
        if not in_loop and not re.search(rf"(?<![\w/]){re.escape(folder)}/{re.escape(name)}(?![\w/])", everything):
            found.append(f"{path}:1: no CMakeLists.txt builds it: add plait_test({folder}/{name} ...)")
    return found


def unmapped_folders(paths: Collection[str], architecture: str) -> list[str]:
    folders = {m.group(1) for p in paths if (m := re.match(r"src/plait/(.+)/[^/]+\.(?:hpp|cpp)$", p))}
    return [
        f"ARCHITECTURE.md:1: does not mention {folder}/: add a section that begins with `{folder}/`"
        for folder in sorted(folders)
        if not folder.endswith("detail") and f"`{folder}/`" not in architecture
    ]


def examples_without_output(paths: Collection[str]) -> list[str]:
    found = []
    for path in sorted(paths):
        match = re.fullmatch(r"(examples/\d\d_\w+)\.(cpp|expected)", path)
        if match is None:
            continue
        other = match.group(1) + (".expected" if match.group(2) == "cpp" else ".cpp")
        if other not in paths:
            found.append(f"{path}:1: there is no {other}: an example is a program and what it prints")
    return found


def headings(markdown: str) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    found = set()
    for match in re.finditer(r"^#+ +(.+?)\s*$", strip_fences(markdown), re.MULTILINE):
        words = re.sub(r"[^\w\s-]", "", match.group(1).lower())
        found.add(re.sub(r"\s", "-", words))
    return found


def strip_fences(markdown: str) -> str:
    """The text with programs and their output blanked, positions kept."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r"^ *(```+)[^\n]*\n.*?^ *\1\s*$", blank, markdown, flags=re.MULTILINE | re.DOTALL)


def broken_links(path: str, markdown: str, exists: Callable[[str], bool], read: Callable[[str], str]) -> list[str]:
    """`exists` and `read` take paths relative to the project."""
    found = []
    folder = path.rpartition("/")[0]
    text = re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), strip_fences(markdown))
    for match in re.finditer(r"\]\(<?([^)\s>]+)>?(?: +\"[^\"]*\")?\)", text):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = f"{path}:{line_of(text, match.start())}"
        full = normal(f"{folder}/{target}") if target else path
        if not exists(full):
            found.append(f"{place}: the link {match.group(1)} leads nowhere: mend the path, it is relative to {path}")
        elif anchor and full.endswith(".md") and anchor not in headings(read(full)):
            found.append(f"{place}: {full} has no heading #{anchor}")
    return found


def normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def programs_in(markdown: str) -> list[tuple[int, str]]:
    """The line and text of each ```cpp block that is not marked as a sketch."""
    blocks = []
    for match in re.finditer(r"^```cpp([^\n]*)\n(.*?)^```\s*$", markdown, re.MULTILINE | re.DOTALL):
        if "sketch" not in match.group(1).split():
            blocks.append((line_of(markdown, match.start()) + 1, match.group(2)))
    return blocks


def snippets_in(markdown: str) -> list[tuple[int, str, str]]:
    """The line, path and text of each block whose first line names the file that it is from: ```c from PATH."""
    blocks = re.finditer(r"^```\w+ from (\S+)\n(.*?)^```\s*$", markdown, re.MULTILINE | re.DOTALL)
    return [(line_of(markdown, match.start()) + 1, match.group(1), match.group(2)) for match in blocks]


# What names a variable of the environment where it is read: a text of its own in C++ and Python, a shell's default.
_VARIABLE = re.compile(r"(?P<quote>[\"'])(PLAIT_[A-Z0-9_]*[A-Z0-9])(?P=quote)|\$\{(PLAIT_[A-Z0-9_]+):?-")
# Variables by which parts of plait pass each other values; the second begins names of one for each host.
_INTERNAL = ("PLAIT_BENCH_READ", "PLAIT_LAB_AT_")


def undescribed_variables(path: str, code: str, known: Collection[str]) -> list[str]:
    if path.startswith("tests/tidy/"):
        return []
    return [
        f"{path}:{line_of(code, m.start())}: {m.group(2) or m.group(3)} is in no list: describe it in "
        "python/src/plait/_environment.py, and run tools/make_pages.py"
        for m in _VARIABLE.finditer(code)
        if (m.group(2) or m.group(3)) not in known and not (m.group(2) or m.group(3)).startswith(_INTERNAL)
    ]
