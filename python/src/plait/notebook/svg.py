# SPDX-License-Identifier: Apache-2.0
"""A drawing that notebooks show."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from plait._files import write_text


@dataclass(frozen=True)
class Svg:
    text: str = field(repr=False)

    def save(self, path: Path | str) -> None:
        """Raises PlaitError when the file cannot be written."""
        write_text(Path(path), self.text)

    def _repr_svg_(self) -> str:
        return self.text
