# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the program itself wrote into the run's folder."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from typing import IO

from matplotlib.figure import Figure

from plait.plots import bodies, fields, style
from plait.readers.openpmd import first_and_last_fields
from plait.readers.snapshots import first_and_last
from plait.report.html import figure


@dataclass(frozen=True)
class OutputPicture:
    name: str  # of the file and of the section
    title: str
    text: str
    png: bytes

    def write_to(self, file: IO[bytes]) -> None:
        file.write(self.png)

    def section(self) -> str:
        picture = base64.b64encode(self.png).decode()
        image = f'<img alt="{escape(self.name)}" src="data:image/png;base64,{picture}">'
        return figure(self.name, self.title, self.text, f'<div class="plot">{image}</div>', plain=True)


def draw_outputs(folder: Path) -> list[OutputPicture]:
    """One for each kind of output that is there."""
    pictures = []
    snapshots = first_and_last(folder)
    if snapshots:
        pictures.append(
            OutputPicture(
                "bodies",
                "The bodies at the first and the last snapshot",
                "Left: all bodies seen from above. Right: the same unrolled, distance from the centre "
                "against the angle around it, so that the structure of a ring is visible.",
                _png(bodies.plot_bodies(snapshots)),
            )
        )
    maps = first_and_last_fields(folder)
    if maps:
        pictures.append(
            OutputPicture(
                "fields",
                "Particles and fields at the first and the last output",
                "From the openPMD files in the run's folder, in the program's units: density of all "
                "particles, and the strength of fields. Of a box with three axes, all particles and the "
                "fields in its middle plane, seen along z. Pictures above each other have one scale.",
                _png(fields.plot_fields(maps)),
            )
        )
    return pictures


def _png(drawn: Figure) -> bytes:
    buffer = BytesIO()
    with style.context():
        style.save(drawn, buffer)
    return buffer.getvalue()
