# SPDX-License-Identifier: Apache-2.0
"""consumer_test.py SOURCE BUILD COMPILER: four examples, built outside the checkout in each way to use plait.

BUILD, a build of SOURCE, is installed for what uses static libraries. Shared ones are built once more, without
optimisation, by the program that contains plait. All is in a folder of BUILD, so that ccache, where there is one,
finds what an earlier test compiled.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

SOURCE, BUILD = (pathlib.Path(argument) for argument in sys.argv[1:3])
COMPILER = sys.argv[3]
EXAMPLES = {
    "01_hello": "plait-core",
    "10_poisson": "plait-fft",
    "11_particles": "plait-particles",
    "12_simulated_ranks": "plait-core",
}
CCACHE = shutil.which("ccache")
#: Also for what plait's own CMakeLists.txt does not compile; with its settings, so that paths do not matter.
COMPILING = {
    "CMAKE_CXX_COMPILER_LAUNCHER": CCACHE or "",
    "CCACHE_BASEDIR": str(SOURCE),
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_SLOPPINESS": "pch_defines,time_macros",
}
PACKAGES = ("core", "fft", "particles", "c", "c-particles")


def run(*command: object, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        env={**os.environ, **COMPILING, **environment},
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


def install(build: pathlib.Path, prefix: pathlib.Path) -> None:
    for package in PACKAGES:
        run("cmake", "--install", build, "--prefix", prefix, "--component", package)


class Consumer(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = BUILD / "package/consumer"
        shutil.rmtree(cls.folder, ignore_errors=True)
        cls.folder.mkdir(parents=True)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.static = cls.folder / "static"
        install(BUILD, cls.static)

    def build(self, way: str, folder: pathlib.Path, *options: str) -> None:
        options = (f"-DWAY={way}", f"-DSOURCE={SOURCE}", f"-DCMAKE_CXX_COMPILER={COMPILER}", *options)
        run("cmake", "-S", SOURCE / "tests/package/consumer", "-B", folder, "-G", "Ninja", *options)
        run("cmake", "--build", folder, "-j", os.cpu_count() or 2)

    def check_output(self, folder: pathlib.Path) -> None:
        for example in EXAMPLES:
            ranks = re.search(r"^// ranks: (\d+)$", (SOURCE / f"examples/{example}.cpp").read_text(), re.MULTILINE)
            printed = run(SOURCE / "tools/mpiexec", ranks[1] if ranks else 1, folder / example)
            self.assertEqual(printed, (SOURCE / f"examples/{example}.expected").read_text())

    def test_a_missing_component_is_named(self) -> None:
        (self.folder / "missing").mkdir()
        script = self.folder / "missing/CMakeLists.txt"
        script.write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(missing LANGUAGES CXX)\n"
            "find_package(plait CONFIG REQUIRED COMPONENTS core warp)\n"
        )
        with self.assertRaisesRegex(AssertionError, "installed without the component\\s+warp"):
            run("cmake", "-S", script.parent, "-B", script.parent / "build", f"-DCMAKE_PREFIX_PATH={self.static}")

    def test_pkg_config_has_the_flags(self) -> None:
        folder = self.folder / "plain"
        folder.mkdir()
        modules = str(next(self.static.glob("lib*/pkgconfig")))

        def make(example: str, module: str) -> None:
            to_compile, to_link = (
                run("pkg-config", flags, module, PKG_CONFIG_PATH=modules).split() for flags in ("--cflags", "--libs")
            )
            compiler = [*([CCACHE] if CCACHE else []), COMPILER]
            source, compiled = SOURCE / f"examples/{example}.cpp", folder / f"{example}.o"
            run(*compiler, "-std=c++20", "-O0", "-c", source, "-o", compiled, *to_compile)
            run(COMPILER, compiled, "-o", folder / example, *to_link)

        with ThreadPoolExecutor(os.cpu_count() or 2) as makers:
            list(makers.map(make, EXAMPLES.keys(), EXAMPLES.values()))
        self.check_output(folder)

    def test_a_c_program_is_linked_with_the_engine_before_mpi(self) -> None:
        run("cmake", "--install", BUILD, "--prefix", self.static, "--component", "instruments")
        self.assertTrue((self.static / "share/man/man1/plait-run.1").is_file())
        modules = str(next(self.static.glob("lib*/pkgconfig")))
        source, program = SOURCE / "tests/accelerate/programs/random_messages.c", self.folder / "linked"
        for module in ("plait-mpi", "plait-mpi-static"):
            with self.subTest(module):
                flags = run("pkg-config", "--libs", module, PKG_CONFIG_PATH=modules).split()
                run("mpicc", source, "-o", program, *flags)
                printed = run("sh", "-c", f"{SOURCE}/tools/mpiexec 2 {program} 1 5 2>&1")
                self.assertIn("5 seeds", printed)
                self.assertIn("messages with", printed)
                self.assertEqual("libplait" in run("ldd", program), module == "plait-mpi")

    def test_programs_in_c_and_fortran_are_built(self) -> None:
        """By CMake in a project without C++, and by MPI's compilers with what pkg-config has."""
        programs = {"c": ("C", "c/cholesky.c"), "c-particles": ("C", "c/nbody.c")}
        if (BUILD / "package/plait-fortran.pc").is_file():
            for package in ("fortran", "fortran-particles"):
                run("cmake", "--install", BUILD, "--prefix", self.static, "--component", package)
            programs["fortran"] = ("Fortran", "fortran/cholesky.f90")
            programs["fortran-particles"] = ("Fortran", "fortran/nbody.f90")
        compilers = {"C": ("mpicc", "-I"), "Fortran": ("mpifort", "-frecursive", "-J")}
        modules = str(next(self.static.glob("lib*/pkgconfig")))
        for name, (language, path) in programs.items():
            folder, source = self.folder / f"in_{name}", SOURCE / "examples" / path
            expected = next((SOURCE / "examples").glob(f"*_{source.stem}.expected")).read_text()
            with self.subTest("CMake", package=name):
                options_of_cmake = (f"-DLANGUAGE={language}", f"-DPACKAGE={name}", f"-DPROGRAM={source}")
                run(
                    "cmake",
                    "-S",
                    SOURCE / "tests/package/other_languages",
                    "-B",
                    folder,
                    "-G",
                    "Ninja",
                    f"-DCMAKE_PREFIX_PATH={self.static}",
                    *options_of_cmake,
                )
                run("cmake", "--build", folder)
                self.assertEqual(run(SOURCE / "tools/mpiexec", 4, folder / "program"), expected)
            with self.subTest("pkg-config", package=name):
                flags = run("pkg-config", "--cflags", "--libs", f"plait-{name}", PKG_CONFIG_PATH=modules).split()
                run(*compilers[language], folder, source, "-o", folder / "plain", *flags, "-lm")
                self.assertEqual(run(SOURCE / "tools/mpiexec", 4, folder / "plain"), expected)

    def test_only_public_headers_and_what_they_include_are_installed(self) -> None:
        include = self.static / "include"
        headers = {str(path.relative_to(include)) for path in include.glob("plait/**/*.h*")}
        included = {
            name
            for header in headers
            for name in re.findall(r'^#include "(plait/[^"]+)"', (include / header).read_text(), re.MULTILINE)
        }
        optional = {name for name in included if "/hdf5/" in name}
        self.assertEqual(included - headers - optional, set())
        self.assertEqual({name for name in headers if "/detail/" in name} - included, set())
        self.assertLessEqual({"plait/plait.hpp", "plait/fft.hpp", "plait/particles.hpp", "plait/version.hpp"}, headers)

    def test_core_needs_no_library_of_the_other_packages(self) -> None:
        modules = str(next(self.static.glob("lib*/pkgconfig")))
        flags = run("pkg-config", "--cflags", "--libs", "plait-core", PKG_CONFIG_PATH=modules)
        for library in ("hdf5", "fftw", "hwy", "boost", "zoltan", "json"):
            self.assertNotIn(library, flags.lower())

    def test_cmake_finds_contains_and_fetches_plait(self) -> None:
        folder = self.folder / "contained"
        options = ["-DBUILD_SHARED_LIBS=ON", "-DPLAIT_INSTALL=ON", "-DCMAKE_UNITY_BUILD=ON"]
        # What is not tried here. As it is to be installed, all of plait is built.
        options += [f"-DPLAIT_WITH_{part}=OFF" for part in ("FORTRAN", "HDF5", "INSTRUMENTS", "PYTHON", "ZOLTAN")]
        with self.subTest("add_subdirectory"):
            self.build("contained", folder, *options)
            self.check_output(folder)
        with self.subTest("FetchContent"):
            self.build("fetched", folder, f"-DFETCHCONTENT_SOURCE_DIR_PLAIT={SOURCE}")
            self.check_output(folder)
        with self.subTest("find_package, static and then shared"):
            self.check_find_package(folder)

    def check_find_package(self, shared: pathlib.Path) -> None:
        """Shared libraries in the place of static ones: programs are linked anew, and not compiled."""
        prefix, folder = self.folder / "installed", self.folder / "package"
        for build in (BUILD, shared):
            shutil.rmtree(prefix, ignore_errors=True)
            install(build, prefix)
            self.build("package", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
            self.check_output(folder)
            needed = run("ldd", folder / "01_hello")
            self.assertEqual(f"{prefix}/" in needed and "libplait-core" in needed, build == shared)
        exported = run("nm", "-DC", "--defined-only", next(prefix.glob("lib*/libplait-core.so")))
        others = [line for line in exported.splitlines() if "plait::" not in line]
        self.assertEqual(others, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
