# SPDX-License-Identifier: Apache-2.0
"""The version of the package: that of the project in CMakeLists.txt."""

import pathlib
import re

import setuptools

PROJECT = (pathlib.Path(__file__).resolve().parents[1] / "CMakeLists.txt").read_text()
setuptools.setup(version=re.findall(r"^project\(plait VERSION (\S+)", PROJECT, re.MULTILINE)[0])
