# SPDX-License-Identifier: Apache-2.0
"""What the wheel and the sdist bring along: plait's C++ sources, and the headers that these include.

The headers are those of the machine that builds the package, with their licences. PLAIT_HEADERS names
another folder than /usr/include.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

#: Of the project: all that its CMakeLists.txt needs for the instruments.
SOURCES = ("CMakeLists.txt", "LICENSE", "cmake", "src/plait")
#: Folders of headers, and the Debian packages whose licences apply to them.
HEADERS = {
    "fmt": "libfmt-dev",
    "nlohmann": "nlohmann-json3-dev",
    "cereal": "libcereal-dev",
    "CLI": "libcli11-dev",
}
_BOOST = ("boost/unordered/unordered_flat_map.hpp", "boost/align/aligned_allocator.hpp")
#: Included by macros, for each compiler another one.
_BOOST_WHOLE = "boost/config"
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](boost/[\w./]+)[>"]', re.MULTILINE)


def bundle(project: Path, target: Path) -> None:
    """Copies both into the folder `target`, which is replaced."""
    shutil.rmtree(target, ignore_errors=True)
    for name in SOURCES:
        source, copy = project / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, copy)
    if (project / "headers").is_dir():  # of an sdist
        shutil.copytree(project / "headers", target / "headers")
    else:
        _copy_headers(Path(os.environ.get("PLAIT_HEADERS", "/usr/include")), target / "headers")


def _copy_headers(place: Path, target: Path) -> None:
    for name, package in HEADERS.items():
        if not (place / name).is_dir():
            raise SystemExit(
                f"there is no {place / name}: apt-get install {package}, or set PLAIT_HEADERS"
            )
        shutil.copytree(place / name, target / name)
        _copy_licence(package, target)
    for name in boost_headers(place):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place / name, target / name)
    _copy_licence("libboost*-dev", target)


def boost_headers(place: Path) -> list[str]:
    """Those of Boost that plait includes, with what they include, as paths below `place`."""
    whole = {str(path.relative_to(place)) for path in (place / _BOOST_WHOLE).rglob("*.hpp")}
    waiting, found = [*_BOOST, *sorted(whole)], set(_BOOST) | whole
    while waiting:
        name = waiting.pop()
        text = (place / name).read_text(encoding="utf-8", errors="replace")
        for other in _INCLUDE.findall(text):
            if other not in found and (place / other).is_file():
                found.add(other)
                waiting.append(other)
    return sorted(found)


def _copy_licence(package: str, target: Path) -> None:
    documents = Path("/usr/share/doc")
    texts = sorted(documents.glob(f"{package}/copyright"))
    if not texts:
        raise SystemExit(
            f"there is no {documents / package}/copyright: the package must bring this licence"
        )
    folder = target / "licences"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(texts[0], folder / package.replace("*", ""))
