# SPDX-License-Identifier: Apache-2.0
"""Bodies of the first and the last snapshot: from above, and unrolled around the centre."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from plait.plots import style
from plait.readers.snapshots import Snapshot

_DOTS_MAX = 40_000
Positions = npt.NDArray[np.float64]
_MAP = LinearSegmentedColormap.from_list(
    "plait", ["#dbe7f3", "#8fb8dc", "#3f7fb8", "#1f4e86", "#0d2344"]
)


def plot_bodies(snapshots: list[Snapshot]) -> Figure:
    figure = style.new_figure(13, 5.4 * len(snapshots))
    panels = style.add_axes(figure, len(snapshots), 2, width_ratios=[1, 1.25])
    radius_range = _radius_range(snapshots)
    reach = max(float(np.abs(_centred(s)[:, :2]).max()) for s in snapshots) * 1.04 or 1.0
    for row, snapshot in enumerate(snapshots):
        which = ("First", "Last")[row] if len(snapshots) > 1 else "Only"
        time = f", t = {snapshot.time:.6g}" if snapshot.time is not None else ""
        above, unrolled = panels[2 * row : 2 * row + 2]
        positions = _centred(snapshot)
        _draw(above, positions[:, 0], positions[:, 1], ((-reach, reach), (-reach, reach)))
        above.set_aspect("equal")
        above.set_xlabel("x")
        above.set_ylabel("y")
        style.title(above, f"{which} snapshot{time}: {snapshot.count:,} bodies")
        angle = np.degrees(np.arctan2(positions[:, 1], positions[:, 0]))
        radius = np.hypot(positions[:, 0], positions[:, 1])
        _draw(unrolled, angle, radius, ((-180.0, 180.0), radius_range))
        unrolled.set_xticks(range(-180, 181, 60))
        unrolled.set_xlabel("angle around the centre [degrees]")
        unrolled.set_ylabel("distance from the centre")
        style.title(unrolled, "Unrolled: distance against angle")
    return figure


def _centred(snapshot: Snapshot) -> npt.NDArray[np.float64]:
    """Relative to a body that outweighs all others (a planet), else to the centre of mass.

    Without a heavy body a ring around the origin stays around the origin when it is nearly there.
    """
    masses, positions = snapshot.masses, snapshot.positions
    total = float(masses.sum())
    heaviest = int(np.argmax(masses))
    if masses.size > 1 and total > 0 and masses[heaviest] > 0.5 * total:
        others: Positions = np.delete(positions, heaviest, axis=0) - positions[heaviest]
        return others
    centre = np.average(positions, axis=0, weights=masses) if total > 0 else positions.mean(axis=0)
    spread = float(np.abs(positions - centre).max()) or 1.0
    near = bool(np.abs(centre).max() < 0.05 * spread)
    moved: Positions = positions if near else positions - centre
    return moved


def _radius_range(snapshots: list[Snapshot]) -> tuple[float, float]:
    """Where nearly all bodies are: a few that have escaped must not hide the ring."""
    radii = np.concatenate([np.hypot(*_centred(s)[:, :2].T) for s in snapshots])
    low, high = np.quantile(radii, [0.002, 0.998])
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return max(0.0, float(low - room)), float(high + room)


def _draw(
    axes: Axes,
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.float64],
    box: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    if x.size <= _DOTS_MAX:
        size = float(np.clip(12000.0 / max(1, x.size), 0.5, 12.0))
        axes.scatter(x, y, s=size, color="#1f4e86", alpha=0.6, linewidths=0)
    else:
        bins = int(np.clip(np.sqrt(x.size) * 0.9, 80, 420))
        counts, x_edges, y_edges = np.histogram2d(x, y, bins=bins, range=box)
        top = max(2.0, float(np.quantile(counts[counts > 0], 0.995)) if counts.any() else 2.0)
        shown = np.where(counts.T > 0, counts.T, np.nan)
        axes.pcolormesh(x_edges, y_edges, shown, cmap=_MAP, norm=LogNorm(0.7, top), rasterized=True)
    axes.set_xlim(*box[0])
    axes.set_ylim(*box[1])
