# SPDX-License-Identifier: Apache-2.0
"""How a kind of task, span or function is drawn: a colour and, where colours are used up, a pattern.

No two kinds of a run have the same mark, but for those of least time beyond all marks, which are OTHER.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Patterns over a colour, as the page and matplotlib draw them: none, diagonal, across, upright.
HATCHES = ("", "///", "---", "|||")
_PERIOD, _WIDTH = 6, 2  # pixels, of lines on the page


@dataclass(frozen=True)
class Mark:
    colour: str  # "#RRGGBB"
    pattern: int = 0  # index into HATCHES

    @property
    def line(self) -> str:
        """The colour of the pattern's lines."""
        red, green, blue = (int(self.colour[at : at + 2], 16) for at in (1, 3, 5))
        is_dark = 0.299 * red + 0.587 * green + 0.114 * blue < 120
        return mix(self.colour, 0.6 if is_dark else -0.5)

    @property
    def css(self) -> str:
        """As the value of `background`."""
        if self.pattern == 0:
            return self.colour
        angle = ("", "135deg", "0deg", "90deg")[self.pattern]
        lines = f"{self.line} 0 {_WIDTH}px,transparent {_WIDTH}px {_PERIOD}px"
        return f"repeating-linear-gradient({angle},{lines}),{self.colour}"


#: Kinds of so little time that all marks are used up.
OTHER = Mark("#8A8F96")


def mark_of(colours: Sequence[str], number: int) -> Mark:
    """The mark of the `number`-th kind, from 0: all colours plain, then with a pattern, and so on."""
    if number >= len(colours) * len(HATCHES):
        return OTHER
    return Mark(colours[number % len(colours)], number // len(colours))


def is_line(pattern: int, x: int, y: int) -> bool:
    """Whether a pixel belongs to the pattern's lines; the page's scripts have the same rule."""
    return pattern != 0 and (x + y, y, x)[pattern - 1] % _PERIOD < _WIDTH


def mix(colour: str, shade: float) -> str:
    """With white (`shade` above 0), or black."""
    other = 255 if shade > 0 else 0
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(p + abs(shade) * (other - p)):02X}" for p in parts)
