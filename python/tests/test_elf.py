# SPDX-License-Identifier: Apache-2.0
"""Functions of a program's file, with and without its symbols; and of damaged files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from plait._elf import read_code
from plait._sites import resolve_sites

_LIBRARY = """
static int hidden(int x) { return x * 3 + 1; }
int far_away(int x);
int exported(int x) { return x > 0 ? exported(x - 1) + hidden(x) : 1; }
__attribute__((visibility("hidden"), noinline)) int own(int x) { return far_away(x) + exported(x); }
int caller(int x) { return own(x) + own(x + 1); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None or shutil.which("nm") is None or shutil.which("strip") is None:
        pytest.skip("needs cc, nm and strip")
    folder = tmp_path_factory.mktemp("elf")
    (folder / "made.c").write_text(_LIBRARY)
    command = ["cc", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o", "libmade.so", "made.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "libmade.so"


def addresses(library: Path) -> dict[str, int]:
    done = subprocess.run(["nm", library], capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    return {one[2]: int(one[0], 16) for one in words if len(one) == 3}


def test_names_functions_within_their_sizes(library: Path) -> None:
    known, code = addresses(library), read_code(library)
    for name in ("exported", "own", "caller"):
        assert code.function_at(known[name]) == name
        assert code.function_at(known[name] + 3) == name
        assert code.start_of(known[name] + 3) == known[name]
    assert code.function_at(0) is None
    assert code.function_at(1 << 40) is None
    assert len(code.build_id) >= 16


def test_a_stripped_file_has_the_start_of_what_it_cannot_name(library: Path, tmp_path: Path) -> None:
    own = addresses(library)["own"]
    stripped = tmp_path / "libmade.so"
    shutil.copy(library, stripped)
    subprocess.run(["strip", stripped], check=True)
    code = read_code(stripped)
    assert code.function_at(addresses(library)["exported"]) == "exported"
    assert code.function_at(own + 3) is None
    assert code.build_id == read_code(library).build_id
    (tmp_path / "sites-0000.tsv").write_text(f"0\t{stripped}\t{own + 3:#x}\t\n")
    (site,) = resolve_sites(tmp_path).values()
    assert site == {"function": None, "file": None, "line": None, "start": f"libmade.so+{own:#x}"}


def test_a_file_that_is_not_the_one_that_ran_is_not_asked(library: Path, tmp_path: Path) -> None:
    own = addresses(library)["own"]
    (tmp_path / "sites-0000.tsv").write_text(f"0\t{library}\t{own:#x}\t\tlibmade.so+{own:#x}\t\n")
    (tmp_path / "modules-0000.tsv").write_text(f"{library}\t0x0\t{read_code(library).build_id}\n")
    (site,) = resolve_sites(tmp_path).values()
    assert site["function"] == "own"
    (tmp_path / "modules-0000.tsv").write_text(f"{library}\t0x0\tabcdef\n")
    (site,) = resolve_sites(tmp_path).values()
    assert site["function"] is None


@pytest.mark.parametrize("seed", range(30))
def test_damaged_files_are_read_as_far_as_they_go(library: Path, tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    data = np.frombuffer(library.read_bytes(), dtype=np.uint8).copy()
    at = random.integers(6, data.size, 200 if seed % 2 else 4)
    data[at] = random.integers(0, 256, at.size)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(
        data[: int(random.integers(1, data.size))].tobytes() if seed % 3 else data.tobytes()
    )
    code = read_code(damaged)
    code.function_at(0x1100)
    code.start_of(0x1100)


def test_other_files_have_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    assert read_code(text).function_at(0) is None
    assert read_code(tmp_path / "nowhere").build_id == ""
