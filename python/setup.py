# SPDX-License-Identifier: Apache-2.0
"""The package's version, that of the project in CMakeLists.txt, and the C++ sources in the package."""

import re
import sys
from pathlib import Path

import setuptools
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from bundle import bundle  # noqa: E402

#: An sdist has the project's files below it, a checkout above it.
PROJECT = HERE / "project" if (HERE / "project").is_dir() else HERE.parent
VERSION = re.findall(
    r"^project\(plait VERSION (\S+)", (PROJECT / "CMakeLists.txt").read_text(), re.MULTILINE
)[0]


class BuildWithSources(build_py):
    def run(self) -> None:
        super().run()
        if not getattr(self, "editable_mode", False):
            bundle(PROJECT, Path(self.build_lib) / "plait" / "_project")


class SdistWithSources(sdist):
    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        bundle(PROJECT, Path(base_dir) / "project")


setuptools.setup(version=VERSION, cmdclass={"build_py": BuildWithSources, "sdist": SdistWithSources})
