# SPDX-License-Identifier: Apache-2.0
"""The rules of the project, as tests of its files: run `tools/test tidy`. The rules stand in rules.py."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable

import lizard
import pytest
import rules

ROOT = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def project_files() -> tuple[str, ...]:
    """What git tracks, or would if it were added."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(sorted(p for p in set(listed.stdout.split("\0")) if p and (ROOT / p).is_file()))


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


def documents() -> list[str]:
    return [p for p in project_files() if p.endswith(".md")]


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
            found.append(f"{place}: say why the file is one idea")
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
    paths = [p for p in cpp_files() + scripts() + documents() if not p.startswith("tests/tidy/")]
    require(complaints_about(paths, rules.todos_have_reasons))


def test_no_traces_of_a_machine() -> None:
    paths = [p for p in cpp_files() + scripts() + documents() if not p.startswith("tests/tidy/")]
    require(complaints_about(paths, rules.no_traces_of_a_machine))


# --- the tree -------------------------------------------------------------------------------------


def test_every_header_has_a_test() -> None:
    require(rules.untested_headers(project_files(), exceptions()["covered_by"]))


def test_every_test_is_built() -> None:
    cmake = {p: read(p) for p in project_files() if p.endswith("CMakeLists.txt")}
    require(rules.tests_without_build(project_files(), cmake))


def test_every_folder_is_on_the_map() -> None:
    require(rules.unmapped_folders(project_files(), read("ARCHITECTURE.md")))


def test_every_example_has_its_output() -> None:
    require(rules.examples_without_output(project_files()))


def test_links_lead_somewhere() -> None:
    def exists(path: str) -> bool:
        return (ROOT / path).exists()

    require([line for path in documents() for line in rules.broken_links(path, read(path), exists, read)])


# --- what tools say -------------------------------------------------------------------------------


def output_of(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        return []
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


@functools.cache
def compiler() -> tuple[str, ...]:
    """The compiler, with the flags that any file of the project may need. Warnings are the build's affair."""
    cxx = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++") or "clang++"
    own = [
        "-DPLAIT_CHECKS=1",
        "-DPLAIT_WITH_MPI=1",
        *(f"-I{ROOT}/{folder}" for folder in ("src", "apps", "tests", "bench")),
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
    """What some source of the project includes before anything else: that the build passes is the proof."""
    found = set()
    for path in project_files():
        if path.endswith(".cpp") and (first := rules.includes(read(path))[:1]):
            name = first[0][2]
            found |= {name, f"{include_root(path).rpartition('/')[0]}/{name}"}
    return frozenset(found)


@pytest.fixture(scope="session")
def header_complaints() -> dict[str, str]:
    def compile_alone(path: str) -> str:
        own_folder = ["-I" + "/".join(path.split("/")[:2])] if path.startswith("apps/") else []
        return compile_text(f'#include "{include_root(path)}"\n#include "{include_root(path)}"\n', *own_folder)

    return in_parallel(compile_alone, [p for p in headers() if include_root(p) not in included_first()])


@pytest.mark.parametrize("path", headers())
def test_header_compiles_alone(path: str, header_complaints: dict[str, str]) -> None:
    if header_complaints.get(path):
        pytest.fail(
            f"{path} does not compile alone: include what it uses\n{header_complaints[path]}",
            pytrace=False,
        )


def test_programs_in_documents_compile() -> None:
    """Each block, after the umbrella header; one that is not whole is marked ```cpp sketch."""
    blocks = {}
    umbrella = '#include "plait/plait.hpp"\n' if (ROOT / "src/plait/plait.hpp").exists() else ""
    for path in documents():
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
