# SPDX-License-Identifier: Apache-2.0
"""Each rule on made-up input: what it must refuse, and what it must let pass."""

from __future__ import annotations

import pytest
import rules

HPP = "src/plait/comm/engine.hpp"
CPP = "src/plait/comm/engine.cpp"


@pytest.mark.parametrize(
    ("rule", "path", "text", "remedy"),
    [
        (
            rules.includes_point_down,
            HPP,
            '#include "plait/task/graph.hpp"\n',
            "comm/ must not include task/",
        ),
        (
            rules.includes_point_down,
            "src/plait/trace/a.cpp",
            '#include "plait/net/driver.hpp"\n',
            "trace/ must not",
        ),
        (
            rules.includes_point_down,
            "src/plait/replay/a.cpp",
            '#include "plait/comm/b.hpp"\n',
            "replay/ must not",
        ),
        (
            rules.includes_point_down,
            "src/plait/record/a.cpp",
            '#include "plait/net/b.hpp"\n',
            "record/ must not",
        ),
        (rules.includes_point_down, "src/plait/misc/a.cpp", "", "not in the list of layers"),
        (
            rules.umbrella_is_for_applications,
            CPP,
            '#include "plait/plait.hpp"\n',
            "nothing in src/",
        ),
        (
            rules.umbrella_is_for_applications,
            "apps/ring/a.cpp",
            '#include "plait/task/graph.hpp"\n',
            "applications include plait/plait.hpp",
        ),
        (
            rules.umbrella_is_for_applications,
            "tests/ring/a_test.cpp",
            '#include "plait/net/a.hpp"\n',
            "applications include plait/plait.hpp",
        ),
        (
            rules.umbrella_is_for_applications,
            "examples/01_a.cpp",
            '#include "plait/net/a.hpp"\n',
            "applications include plait/plait.hpp",
        ),
        (
            rules.includes_name_the_whole_path,
            CPP,
            '#include "../net/driver.hpp"\n',
            "relative include",
        ),
        (rules.includes_name_the_whole_path, CPP, '#include "engine.hpp"\n', "without a folder"),
        (rules.includes_name_the_whole_path, CPP, "#include <plait/net/driver.hpp>\n", "in quotes"),
        (rules.mpi_stays_in_its_corner, CPP, "#include <mpi.h>\n", "use net::Driver"),
        (
            rules.mpi_stays_in_its_corner,
            CPP,
            "int f() { return MPI_Barrier(c); }\n",
            "use net::Driver",
        ),
        (rules.headers_define_no_macros, HPP, "#pragma once\n#  define MAX 3\n", "constexpr"),
        (rules.headers_are_included_once, HPP, "// nothing\n", "#pragma once"),
        (rules.licence_comes_first, HPP, "#pragma once\n", "first line must be"),
        (rules.licence_comes_first, "tools/x", "#!/bin/sh\necho\n", "SPDX"),
        (rules.todos_have_reasons, CPP, "// TODO: faster\n", "TODO needs its reason"),
        (rules.todos_have_reasons, CPP, "// FIXME\n", "TODO needs its reason"),
        (rules.no_code_in_comments, CPP, "// a = f(b);\n// g(a);\n", "commented-out code"),
        (rules.banned_words, CPP, "int a = std::rand();\n", "base/random.hpp"),
        (rules.banned_words, CPP, "std::cout << 1;\n", "programs print"),
        (
            rules.banned_words,
            "tests/comm/a_test.cpp",
            "std::this_thread::sleep_for(1ms);\n",
            "simulated clock",
        ),
        (
            rules.banned_words,
            "tests/comm/a_test.cpp",
            "TEST(A, DISABLED_b) {}\n",
            "mend the test or delete it",
        ),
        (rules.banned_words, CPP, "using namespace std;\n", "write std::"),
        (
            rules.tests_have_their_own_namespaces,
            "tests/comm/a_test.cpp",
            "namespace plait::comm {\nnamespace {\nTEST(A, b) {}\n",
            "plait::FOLDER::a_test",
        ),
        (rules.tests_have_their_own_namespaces, "tests/comm/a.cpp", "TEST_P(A, b) {}\n", "*_test.cpp"),
        (
            rules.no_traces_of_a_machine,
            CPP,
            'auto p = "/' + 'home/somebody/data";\n',
            "relative or configurable",
        ),
    ],
)
def test_refused(rule: rules.Rule, path: str, text: str, remedy: str) -> None:
    complaints = rule(path, text)
    assert len(complaints) == 1
    assert remedy in complaints[0]
    assert complaints[0].startswith(f"{path}:")


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (
            rules.includes_point_down,
            HPP,
            '#include "plait/comm/tag.hpp"\n#include "plait/base/id.hpp"\n#include <vector>\n',
        ),
        (
            rules.includes_point_down,
            "src/plait/plait.hpp",
            '#include "plait/runtime/runtime.hpp"\n',
        ),
        (
            rules.includes_point_down,
            "src/plait/replay/a.cpp",
            '#include "plait/net/sim/driver.hpp"\n',
        ),
        (
            rules.umbrella_is_for_applications,
            "apps/ring/a.cpp",
            '#include "plait/plait.hpp"\n#include "plait/particles/hdf5/a.hpp"\n#include "ring/a.hpp"\n',
        ),
        (
            rules.includes_name_the_whole_path,
            CPP,
            '#include "plait/comm/engine.hpp"\n#include <vector>\n',
        ),
        (rules.includes_name_the_whole_path, "apps/ring/box.cpp", '#include "box.hpp"\n'),
        (
            rules.mpi_stays_in_its_corner,
            "src/plait/net/mpi/driver.cpp",
            "#include <mpi.h>\nMPI_Test(r);\n",
        ),
        (rules.mpi_stays_in_its_corner, "apps/ring/main.cpp", "#include <mpi.h>\n"),
        (
            rules.mpi_stays_in_its_corner,
            CPP,
            '// as MPI_Send does\nauto s = "MPI_Send";\n#if PLAIT_WITH_MPI\n#endif\n',
        ),
        (rules.headers_define_no_macros, CPP, "#define LOCAL 1\n"),
        (rules.headers_are_included_once, HPP, "// SPDX\n#pragma once\n"),
        (rules.licence_comes_first, HPP, "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"),
        (
            rules.todos_have_reasons,
            CPP,
            "// TODO(a second NIC to test on): choose the nearest one\n",
        ),
        (
            rules.no_code_in_comments,
            CPP,
            "// first the halo (it is late);\nint a;\n/// f();\n/// g();\n",
        ),
        (
            rules.banned_words,
            CPP,
            '// std::rand() is not used here\nauto text = "std::cout";\nint operand(int);\n',
        ),
        (rules.banned_words, "apps/ring/main.cpp", "std::cout << 1;\n"),
        (rules.banned_words, "src/plait/task/worker.cpp", "std::this_thread::sleep_for(wait);\n"),
        (
            rules.tests_have_their_own_namespaces,
            "tests/comm/a_test.cpp",
            "namespace plait::comm::a_test {\nnamespace {\nTEST(A, b) {}\n",
        ),
        (rules.no_traces_of_a_machine, "README.md", "see docs/home/page and /tmp/x and ~/work/y\n"),
    ],
)
def test_let_pass(rule: rules.Rule, path: str, text: str) -> None:
    assert rule(path, text) == []


def test_line_numbers_are_those_of_the_file() -> None:
    text = '/* a\n b */\n#include <vector>\n#include "plait/task/graph.hpp"\n'
    assert rules.includes_point_down(HPP, text)[0].startswith(f"{HPP}:4: ")


def test_code_only_keeps_lines_and_separated_digits() -> None:
    text = "int a = 1'000'000;  // one\n/* two\n */ char c = '\"'; MPI_Init();\n"
    blanked = rules.code_only(text)
    assert blanked.count("\n") == text.count("\n")
    assert "one" not in blanked and "two" not in blanked and "MPI_Init" in blanked and "1'000'000" in blanked


def test_budget_and_its_exceptions() -> None:
    long = "x\n" * 251
    assert "limit 250" in rules.files_stay_small(HPP, long, {})[0]
    assert rules.files_stay_small(CPP, long, {}) == []
    assert rules.files_stay_small(HPP, long, {HPP: {"lines": 251, "why": "one table"}}) == []


def test_function_limits() -> None:
    long, wide = ("f", 3, 71, 5), ("g", 9, 70, 6)
    assert "split it by steps" in rules.functions_stay_small(CPP, [long], {})[0]
    assert "gather them in a struct" in rules.functions_stay_small(CPP, [wide], {})[0]
    assert rules.functions_stay_small(CPP, [long, wide], {f"{CPP}:f": "a table", f"{CPP}:g": "a kernel"}) == []
    assert rules.functions_stay_small("python/a.py", [wide], {}) == []
    assert rules.functions_stay_small("src/plait/accelerate/engine/waits.cpp", [wide], {}) == []


def test_header_without_test() -> None:
    assert "no test" in rules.untested_headers(["src/plait/data/block.hpp"], {})[0]
    assert rules.untested_headers(["src/plait/data/block.hpp", "tests/data/block_test.cpp"], {}) == []
    assert rules.untested_headers(["src/plait/data/detail/block.hpp", "src/plait/plait.hpp"], {}) == []


def test_header_covered_by_another_test() -> None:
    paths = ["src/plait/net/mpi/ring.hpp", "tests/net/conformance_test.cpp"]
    assert rules.untested_headers(paths, {"net/mpi/ring": "tests/net/conformance_test.cpp: every driver runs it"}) == []
    assert "existing test" in rules.untested_headers(paths, {"net/mpi/ring": "tests/net/gone_test.cpp: no"})[0]
    both = [*paths, "tests/net/mpi/ring_test.cpp"]
    assert "delete its line" in rules.untested_headers(both, {"net/mpi/ring": "tests/net/conformance_test.cpp: x"})[0]


def test_test_that_nobody_builds() -> None:
    paths = ["tests/comm/engine_test.cpp"]
    assert (
        "no CMakeLists.txt"
        in rules.tests_without_build(paths, {"tests/comm/CMakeLists.txt": "plait_test(comm/eng)"})[0]
    )
    assert rules.tests_without_build(paths, {"tests/comm/CMakeLists.txt": "plait_test(comm/engine NP 2)"}) == []
    loop = "foreach(name IN ITEMS engine)\nplait_test(comm/${name} LIBRARIES a)\nendforeach()"
    assert rules.tests_without_build(paths, {"tests/comm/CMakeLists.txt": loop}) == []
    assert rules.tests_without_build(["tests/comm/other_test.cpp"], {"tests/comm/CMakeLists.txt": loop}) != []


def test_folder_off_the_map() -> None:
    paths = [
        "src/plait/net/mpi/driver.cpp",
        "src/plait/net/driver.hpp",
        "src/plait/net/detail/x.hpp",
    ]
    assert rules.unmapped_folders(paths, "### `net/` and `net/mpi/`") == []
    assert "mention net/mpi/" in rules.unmapped_folders(paths, "### `net/`")[0]


def test_example_without_output() -> None:
    assert "no examples/01_a.expected" in rules.examples_without_output(["examples/01_a.cpp"])[0]
    assert "no examples/01_a.cpp" in rules.examples_without_output(["examples/01_a.expected"])[0]
    assert rules.examples_without_output(["examples/01_a.cpp", "examples/01_a.expected"]) == []


def links(markdown: str) -> list[str]:
    files = {"docs/a.md": "# A title: with `code`\n", "README.md": markdown}
    return rules.broken_links("docs/b.md", markdown, lambda p: p in files or p == "docs", lambda p: files[p])


def test_links() -> None:
    assert links("[a](a.md) [r](../README.md) [h](a.md#a-title-with-code) [w](https://example.org/x)\n") == []
    assert "leads nowhere" in links("\n[a](gone.md)\n")[0]
    assert links("\n[a](gone.md)\n")[0].startswith("docs/b.md:2: ")
    assert "no heading #gone" in links("[a](a.md#gone)\n")[0]
    assert links("```text\n[a](gone.md)\n```\n`[a](gone.md)`\n") == []


def test_programs_are_found_and_sketches_are_not() -> None:
    text = "a\n```cpp\nint a;\n```\n```cpp sketch\nint b\n```\n```text\nint c\n```\n"
    assert rules.programs_in(text) == [(3, "int a;\n")]


def test_snippets_name_their_file() -> None:
    assert rules.snippets_in("a\n```c from b/c.c\nint a;\n```\n```c\nint b;\n```\n") == [(3, "b/c.c", "int a;\n")]


def test_variables_must_be_described() -> None:
    known = {"PLAIT_TRACE"}
    assert rules.undescribed_variables("src/a.cpp", 'getenv("PLAIT_TRACE")', known) == []
    assert len(rules.undescribed_variables("src/a.cpp", 'getenv("PLAIT_GONE")', known)) == 1
    assert len(rules.undescribed_variables("a.py", "os.environ['PLAIT_GONE']", known)) == 1
    assert len(rules.undescribed_variables("tools/a", "x=${PLAIT_GONE:-1} ${PLAIT_TRACE:-}", known)) == 1
    assert rules.undescribed_variables("a.py", '"PLAIT_BENCH_READ"', known) == []
