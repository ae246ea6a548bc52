# SPDX-License-Identifier: Apache-2.0
"""The rules of the project, as tests of its files: run `tools/test tidy`. The rules are in the modules beside it."""

from __future__ import annotations

import atexit
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping

import documents
import lizard
import pytest
import rules
import shapes
import typer.main
import words
from plait.__main__ import app
from plait._environment import VARIABLES
from plait.commands import bench

ROOT = pathlib.Path(__file__).resolve().parents[2]


sys.path.insert(0, str(ROOT / "tools"))
import project_files as listed  # noqa: E402

project_files = functools.cache(listed.project_files)


@functools.cache
def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def exceptions() -> dict[str, dict]:
    return tomllib.loads(read("tests/tidy/exceptions.toml"))


def cpp_files() -> list[str]:
    return [p for p in project_files() if rules.is_cpp(p)]


def headers() -> list[str]:
    return [p for p in cpp_files() if rules.is_header(p)]


def python_files() -> list[str]:
    return [p for p in project_files() if p.endswith(".py")]


def scripts() -> list[str]:
    named = [p for p in project_files() if p.endswith((".py", ".sh", ".cmake", "CMakeLists.txt", ".toml", "Makefile"))]
    return named + [p for p in project_files() if p.startswith("tools/") and "." not in p]


def pages() -> list[str]:
    return [p for p in project_files() if p.endswith(".md")]


def written_for_users() -> list[str]:
    """Documents, but for the change log: its entries were true of their release."""
    return [p for p in pages() if p != "CHANGELOG.md"]


def complaints_about(paths: list[str], rule: rules.Rule) -> list[str]:
    return [line for path in paths for line in rule(path, read(path))]


def require(complaints: list[str]) -> None:
    if complaints:
        pytest.fail("\n" + "\n".join(complaints), pytrace=False)


# --- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        rules.includes_point_down,
        rules.umbrella_is_for_applications,
        rules.includes_name_the_whole_path,
        rules.mpi_stays_in_its_corner,
        rules.headers_define_no_macros,
        rules.headers_are_included_once,
        rules.no_code_in_comments,
        rules.banned_words,
        rules.tests_have_their_own_namespaces,
    ],
    ids=lambda rule: rule.__name__,
)
def test_cpp(rule: rules.Rule) -> None:
    require(complaints_about(cpp_files(), rule))


def test_licence_comes_first() -> None:
    require(complaints_about([*cpp_files(), *scripts()], rules.licence_comes_first))


def test_files_stay_small() -> None:
    budget = exceptions()["budget"]
    require(complaints_about(cpp_files() + python_files(), lambda p, t: rules.files_stay_small(p, t, budget)))


def test_functions_stay_small() -> None:
    found = []
    for path in cpp_files() + python_files():
        if path.startswith(("src/", "apps/", "python/", "tools/")):
            functions = [(f.name, f.start_line, f.length, f.parameter_count) for f in functions_of(path)]
            found += rules.functions_stay_small(path, functions, exceptions()["function"])
    require(found)


def functions_of(path: str) -> list[lizard.FunctionInfo]:
    return lizard.analyze_file.analyze_source_code(path, read(path)).function_list


def test_exceptions_are_needed_and_explained() -> None:
    found = []
    for path, entry in exceptions()["budget"].items():
        place = f"tests/tidy/exceptions.toml:1: {path}"
        lines = len(read(path).splitlines()) if path in project_files() else 0
        if not entry.get("why"):
            found.append(f"{place}: give the reason why the file is one idea")
        if lines <= rules.lines_max(path, {}):
            found.append(f"{place}: within the ordinary budget, or gone: delete its line")
        elif lines < entry["lines"] - 40:
            found.append(f"{place}: has shrunk to {lines} lines: lower its limit")
    for key in exceptions()["function"]:
        path, _, name = key.partition(":")
        if path not in project_files() or name not in {f.name for f in functions_of(path)}:
            found.append(f"tests/tidy/exceptions.toml:1: {key}: there is no such function: delete its line")
    headers_there = {p.removeprefix("src/plait/").removesuffix(".hpp") for p in headers()}
    found += [
        f"tests/tidy/exceptions.toml:1: {name}: there is no such header: delete its line"
        for name in exceptions()["covered_by"]
        if name not in headers_there
    ]
    require(found)


def test_todos_have_reasons() -> None:
    paths = [p for p in cpp_files() + scripts() + pages() if not p.startswith("tests/tidy/")]
    require(complaints_about(paths, rules.todos_have_reasons))


def test_no_traces_of_a_machine() -> None:
    paths = [p for p in cpp_files() + scripts() + pages() if not p.startswith("tests/tidy/")]
    require(complaints_about(paths, rules.no_traces_of_a_machine))


# --- the tree -------------------------------------------------------------------------------------


def test_every_header_has_a_test() -> None:
    require(rules.untested_headers(project_files(), exceptions()["covered_by"]))


def test_every_test_is_built() -> None:
    cmake = {p: read(p) for p in project_files() if p.endswith("CMakeLists.txt")}
    require(rules.tests_without_build(project_files(), cmake))


def test_what_is_made_from_the_trace_schema_is_up_to_date() -> None:
    installed("clang-format")
    command = [sys.executable, "tools/make_trace_code.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    require((done.stdout + done.stderr).splitlines())


def test_what_is_made_from_the_command_is_up_to_date() -> None:
    command = [sys.executable, "tools/make_pages.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    require((done.stdout + done.stderr).splitlines())


def test_the_citation_has_the_version() -> None:
    version = re.search(r"^project\(plait VERSION (\S+)", read("CMakeLists.txt"), re.MULTILINE)
    assert version is not None
    assert f"version: {version[1]}\n" in read("CITATION.cff")


def test_environment_variables_are_described() -> None:
    known = {variable.name for variable in VARIABLES}
    sources = [*cpp_files(), *python_files(), *(p for p in project_files() if p.startswith(("tools/", "bench/lab/")))]
    require(complaints_about(sources, lambda p, t: rules.undescribed_variables(p, t, known)))


def test_described_variables_are_read() -> None:
    listed = "python/src/plait/_environment.py"
    code = "\n".join(
        read(p)
        for p in project_files()
        if p != listed and re.match(r"(src|apps|bench|python|tools)/", p) and words.prose_of(p) is not None
    ) + "\n".join(read(p) for p in cpp_files())
    unread = [v.name for v in VARIABLES if v.name.startswith("PLAIT_") and not re.search(rf"\b{v.name}\b", code)]
    require([f"{listed}:1: nothing reads {name}: remove it" for name in unread])


def test_every_folder_is_on_the_map() -> None:
    require(rules.unmapped_folders(project_files(), read("ARCHITECTURE.md")))


def test_every_example_has_its_output() -> None:
    require(rules.examples_without_output(project_files()))


def test_links_lead_somewhere() -> None:
    def exists(path: str) -> bool:
        return (ROOT / path).exists()

    require([line for path in pages() for line in rules.broken_links(path, read(path), exists, read)])


def test_types_are_few_and_small() -> None:
    limits = exceptions()["class"]
    require(complaints_about(headers(), lambda p, t: shapes.classes_stay_small(p, t, limits)))


def test_exceptions_for_classes_are_needed() -> None:
    found = []
    for key, limits in exceptions()["class"].items():
        path, _, name = key.partition(":")
        types = shapes.types_in(read(path)) if path in project_files() else []
        place = f"tests/tidy/exceptions.toml:1: {key}"
        sizes = [t for t in types if t.name.rpartition("::")[2] == name]
        if not limits.get("why"):
            found.append(f"{place}: give the reason why it is one idea")
        for what, limit in (("methods", shapes.METHODS_MAX), ("fields", shapes.FIELDS_MAX)):
            count = max((getattr(t, what) for t in sizes), default=0)
            if what in limits and count <= limit:
                found.append(f"{place}: {what} are within the ordinary limit, or gone: delete them from its line")
            elif what in limits and count < limits[what] - 8:
                found.append(f"{place}: has {count} {what} now: lower the limit")
    require(found)


def test_public_headers_include_no_detail() -> None:
    allowed = exceptions()["includes_detail"]
    offending = {p: c for p in headers() if (c := shapes.public_headers_include_no_detail(p, read(p)))}
    found = [line for path, lines in offending.items() if path not in allowed for line in lines]
    found += [
        f"tests/tidy/exceptions.toml:1: {path} includes no detail/ any more: delete its line"
        for path in allowed
        if path not in offending
    ]
    require(found)


def test_public_types_have_names_of_their_own() -> None:
    require(shapes.repeated_type_names({p: read(p) for p in headers()}, exceptions()["shared_name"]))


def require_but_for(allowed: Mapping[str, str], offending: Mapping[str, list[str]], why_stale: str) -> None:
    """Files in `allowed` may offend, and must: an exception that is no longer needed is an offence itself."""
    found = [line for path, lines in offending.items() if path not in allowed for line in lines]
    found += [
        f"tests/tidy/exceptions.toml:1: {path} {why_stale}: delete its line"
        for path in allowed
        if path not in offending
    ]
    require(found)


def test_communicators_are_claimed() -> None:
    allowed = exceptions()["communicator"]
    offending = {p: c for p in cpp_files() if (c := shapes.communicators_are_claimed(p, read(p)))}
    require_but_for(allowed, offending, "has no literal communicator any more")


# --- words and documents --------------------------------------------------------------------------


def test_words_that_are_out() -> None:
    allowed = exceptions()["word"]
    found: dict[str, list[str]] = {}
    for path in project_files():
        if words.prose_of(path) is not None and path != "CHANGELOG.md":
            found.setdefault(words.folder_of(path), []).extend(words.words_that_are_out(path, read(path), allowed))
    require(words.words_over_limits(found, exceptions()["words"]))


def test_exceptions_for_words_are_needed() -> None:
    paths = {key.partition(":")[0] for key in exceptions()["word"]}
    needed = {
        f"{p}:{line.split(chr(39))[1]}"
        for p in paths & set(project_files())
        for line in words.words_that_are_out(p, read(p))
    }
    require(
        [
            f"tests/tidy/exceptions.toml:1: {key} does not occur: delete its line"
            for key in exceptions()["word"]
            if key not in needed
        ]
    )


def test_lines_of_documents_fit() -> None:
    allowed = exceptions()["long_lines"]
    offending = {p: c for p in written_for_users() if (c := documents.lines_fit(p, read(p)))}
    require_but_for(allowed, offending, "has lines that fit now")


def test_the_map_names_what_exists() -> None:
    text = read("ARCHITECTURE.md")
    require(documents.map_names_exist(text, lambda p: (ROOT / p).exists()))
    require(documents.layers_agree(text, rules.LAYERS, rules.BESIDE))


def test_decisions_are_complete() -> None:
    require(complaints_about(pages(), documents.decisions_are_complete))


def test_documents_are_in_the_index() -> None:
    require(documents.documents_are_in_the_index(project_files(), read))


@functools.cache
def commands() -> dict[str, frozenset[str]]:
    """What may follow each of these in a document."""
    benches = {pathlib.Path(p).stem for p in project_files() if re.fullmatch(r"bench/\w+\.cpp", p)}
    return {
        "plait": frozenset(typer.main.get_command(app).commands),
        "plait bench": frozenset(benches | set(bench.MODULES) | set(bench._IN_PYTHON)),
        "make": frozenset(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE)),
        "tools/": frozenset(pathlib.Path(p).stem for p in project_files() if p.startswith("tools/")),
    }


def test_commands_in_documents_exist() -> None:
    require(complaints_about(written_for_users(), lambda p, t: documents.unknown_commands(p, t, commands())))


def test_options_in_documents_exist() -> None:
    code = "\n".join(read(p) for p in project_files() if words.prose_of(p) is not None and not p.endswith(".md"))
    require(complaints_about(written_for_users(), lambda p, t: documents.unknown_options(p, t, code)))


# --- what tools report -------------------------------------------------------------------------------


def output_of(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        return []
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


@functools.cache
def made_headers() -> str:
    """The folder of plait/version.hpp, which CMake makes."""
    place = tempfile.TemporaryDirectory()
    atexit.register(place.cleanup)
    (pathlib.Path(place.name) / "plait").mkdir()
    text = re.sub(r"@PROJECT_VERSION_\w+@", "0", read("src/plait/version.hpp.in"))
    (pathlib.Path(place.name) / "plait/version.hpp").write_text(text)
    return place.name


@functools.cache
def compiler() -> tuple[str, ...]:
    """The compiler, with the flags that any file of the project may need. Warnings are the build's affair."""
    cxx = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++") or "clang++"
    own = [
        "-DPLAIT_CHECKS=1",
        "-DPLAIT_WITH_MPI=1",
        *(f"-I{folder}" for folder in (*(ROOT / name for name in ("src", "apps", "tests", "bench")), made_headers())),
    ]
    mpi = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    mpi += [f for f in output_of("mpicxx", "-show")[1:] if f.startswith(("-I", "-D"))]
    hdf5 = [f for name in ("hdf5-openmpi", "hdf5-mpich") for f in output_of("pkg-config", "--cflags", name)]
    return (cxx, "-std=c++20", "-fsyntax-only", "-O0", *own, *mpi, *hdf5, "-x", "c++", "-")


def compile_text(text: str, *flags: str) -> str:
    """The compiler's complaint about a program; empty when there is none."""
    done = subprocess.run([*compiler(), *flags], input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    return "" if done.returncode == 0 else done.stderr


def in_parallel(work: Callable[[str], str], items: list[str]) -> dict[str, str]:
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        return dict(zip(items, pool.map(work, items), strict=True))


def include_root(path: str) -> str:
    """How the header is named in an include."""
    return path.partition("/")[2] if path.startswith(("src/", "apps/", "tests/", "bench/")) else path


@functools.cache
def included_first() -> frozenset[str]:
    """What some source of the project includes before anything else, and what that includes first, and so on: that the
    build passes is the proof."""
    found: set[str] = set()

    def follow(path: str) -> None:
        first = rules.includes(read(path))[:1]
        name = first[0][2] if first else ""
        for named in (name, f"{include_root(path).rpartition('/')[0]}/{name}"):
            if named in paths and named not in found:
                found.add(named)
                follow(paths[named])

    paths = {include_root(path): path for path in headers()}
    for path in cpp_files():
        if path.endswith(".cpp"):
            follow(path)
    return frozenset(found)


@pytest.mark.parametrize("path", headers())
def test_header_compiles_alone(path: str) -> None:
    if include_root(path) in included_first():
        return
    own_folder = ["-I" + "/".join(path.split("/")[:2])] if path.startswith("apps/") else []
    complaint = compile_text(f'#include "{include_root(path)}"\n#include "{include_root(path)}"\n', *own_folder)
    absent = re.search(r"fatal error: (\S+): No such file", complaint)
    if absent and f"#include <{absent.group(1)}>" in read(path):  # of a peer of benchmarks
        pytest.skip(f"there is no {absent.group(1)}: run tools/setup bench")
    if complaint:
        pytest.fail(f"{path} does not compile alone: include what it uses\n{complaint}", pytrace=False)


def test_programs_in_documents_compile() -> None:
    """Each block, after the umbrella header; one that is not whole is marked ```cpp sketch."""
    blocks = {}
    umbrella = "".join(f'#include "{header}"\n' for header in rules.UMBRELLAS)
    for path in pages():
        for line, text in rules.programs_in(read(path)):
            blocks[f"{path}:{line}"] = f'{umbrella}#line {line} "{path}"\n{text}'
    results = in_parallel(compile_text, list(blocks.values()))
    found = [
        f"{place}: does not compile; a fragment is marked ```cpp sketch\n{results[text]}"
        for place, text in blocks.items()
        if results[text]
    ]
    require(found)


def test_the_readme_shows_examples() -> None:
    """What a newcomer copies is what is built and run."""
    examples = [read(path) for path in project_files() if path.startswith("examples/") and path.endswith(".cpp")]
    require(
        [
            f"README.md:{line}: not the text of any examples/NN_name.cpp: copy it from there"
            for line, text in rules.programs_in(read("README.md"))
            if not any(text in example for example in examples)
        ]
    )


def test_snippets_are_of_the_files_that_they_name() -> None:
    """A block ```c from PATH``` is a part of PATH, which is built and run."""
    require(
        [
            f"{page}:{line}: not the text of {path}: copy it from there"
            for page in pages()
            for line, path, text in rules.snippets_in(read(page))
            if not (ROOT / path).is_file() or text not in read(path)
        ]
    )


def installed(tool: str) -> str:
    """The tool of the project's environment, else the machine's; without either the test is named as not run."""
    beside = ROOT / ".venv/bin" / tool
    found = str(beside) if beside.exists() else shutil.which(tool)
    if found is None:
        pytest.skip(f"there is no {tool}: run tools/setup")
    return found


def test_cpp_is_formatted() -> None:
    clang_format = installed("clang-format")

    def complaints(paths: list[str]) -> list[str]:
        done = subprocess.run(
            [clang_format, "--dry-run", "-Werror", *paths], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return re.findall(r"^(.+?):\d+:\d+: error: code should be clang-formatted", done.stderr, re.MULTILINE)

    files, cores = cpp_files(), os.cpu_count() or 2
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        results = pool.map(complaints, [files[core::cores] for core in range(cores)])
    found = sorted({path for paths in results for path in paths})
    require([f"{path}:1: not formatted: run tools/format {path}" for path in found])


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["check", "format"])
def test_python_is_clean(command: list[str]) -> None:
    ruff = installed("ruff")
    done = subprocess.run(
        [ruff, *command, "--output-format=concise", "."], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"\n{done.stdout}{done.stderr}\nmost of it mends itself: run tools/format", pytrace=False)
