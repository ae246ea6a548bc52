# SPDX-License-Identifier: Apache-2.0
"""Particles of snapshots as maps: column density, internal energy, and which rank has which."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from plait.plots import palette, style
from plait.readers.snapshots import Floats, Snapshot

Quantity = Literal["density", "energy", "ranks"]
QUANTITIES: dict[str, str] = {
    "density": "Column density",
    "energy": "Specific internal energy",
    "ranks": "Which rank has which particles",
}
_AXES = "xyz"
_DOTS_MAX = 20_000
_RANKS_NAMED_MAX = 16
_LOGARITHMIC_FROM = 10.0  # times from low to high
#: A particle that reaches over more pixels is drawn on a grid that is coarser by a power of two.
_PIXELS_MAX = 10.0
_COARSEST = 16
_CHUNK = 4_000_000
#: For files without a reach: the particles in a cell of mean density, and the largest reach in pixels.
_NEARBY = 8
_REACH_MAX = 40.0


def plot_maps(
    snapshots: list[Snapshot], quantity: Quantity = "density", axis: int = 2, pixels: int = 512
) -> Figure:
    """A panel for each snapshot, seen along `axis` (0, 1, 2); all have one scale."""
    right, up = _plane(axis)
    size = snapshots[0].high - snapshots[0].low
    aspect = float(np.clip(size[up] / size[right], 0.1, 4.0))
    columns = len(snapshots) if aspect > 0.4 else 1
    rows = -(-len(snapshots) // columns)
    width = 6.6 if columns > 1 or aspect > 0.4 else 11.0
    panel = float(np.clip((width - 1.6) * aspect, 1.2, 11.0))
    figure = style.new_figure(width * columns, (panel + 1.0) * rows)
    panels = style.add_axes(figure, rows, columns)
    if quantity == "ranks":
        for axes, snapshot in zip(panels, snapshots, strict=False):
            _draw_ranks(axes, snapshot, axis)
    else:
        maps = [_map_of(snapshot, quantity, axis, pixels) for snapshot in snapshots]
        norm = _norm(maps)
        for axes, snapshot, values in zip(panels, snapshots, maps, strict=False):
            _draw_map(axes, snapshot, values, norm, axis)
            bar = figure.colorbar(axes.images[0], ax=axes, fraction=0.046 * min(1.0, aspect), pad=0.02)
            bar.outline.set_visible(False)
            if isinstance(norm, LogNorm):
                bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            bar.ax.yaxis.set_minor_formatter(NullFormatter())
            bar.set_label(QUANTITIES[quantity].lower())
    for axes, snapshot in zip(panels, snapshots, strict=False):
        axes.set_xlabel(_AXES[right])
        axes.set_ylabel(_AXES[up])
        when = f"{snapshot.when()}, " if snapshot.when() else ""
        style.title(axes, f"{when}{snapshot.count:,} particles ({snapshot.kind})")
    for axes in panels[len(snapshots) :]:
        axes.set_axis_off()
    return figure


def project(snapshot: Snapshot, weights: Floats, axis: int, pixels: int) -> Floats:
    """Weights an area, (up, right): each particle is a bell as wide as it reaches; the sum is kept, but
    for what lies outside."""
    right, up = _plane(axis)
    size = snapshot.high - snapshot.low
    plane = size[[up, right]]
    # Whole cells of all coarser grids, so that periodic sides meet.
    up_cells, right_cells = np.maximum(1, np.round(plane / plane.max() * pixels / _COARSEST))
    shape = (int(up_cells) * _COARSEST, int(right_cells) * _COARSEST)
    cells = plane / np.asarray(shape)
    pixel = float(np.sqrt(cells.prod()))
    places = (snapshot.positions[:, [up, right]] - snapshot.low[[up, right]]) / cells
    if snapshot.is_periodic:
        places %= np.asarray(shape)
    reach = (
        _reach(snapshot, pixel) if snapshot.reach is None else np.maximum(snapshot.reach / pixel, 1.0)
    )
    levels = np.maximum(0, np.ceil(np.log2(reach / _PIXELS_MAX))).astype(int)
    levels = np.minimum(levels, int(np.log2(_COARSEST)))
    total = np.zeros(shape)
    for level in np.unique(levels):
        chosen = levels == level
        scale = 2 ** int(level)
        coarse = (shape[0] // scale, shape[1] // scale)
        deposited = _deposit(
            places[chosen] / scale, reach[chosen] / scale, weights[chosen], coarse, snapshot.is_periodic
        )
        total += np.repeat(np.repeat(deposited, scale, axis=0), scale, axis=1) / scale**2
    return total / pixel**2


def _deposit(
    places: Floats, reach: Floats, weights: Floats, shape: tuple[int, int], is_periodic: bool
) -> Floats:
    around = int(np.ceil(reach.max()))
    offsets = np.stack(
        np.meshgrid(np.arange(-around, around + 1), np.arange(-around, around + 1), indexing="ij"),
        axis=-1,
    ).reshape(-1, 2)
    total = np.zeros(shape[0] * shape[1])
    each = max(1, _CHUNK // offsets.shape[0])
    for begin in range(0, places.shape[0], each):
        part = slice(begin, begin + each)
        cells = np.floor(places[part]).astype(np.int64)[:, None, :] + offsets[None, :, :]
        distances = cells + 0.5 - places[part][:, None, :]
        bell = np.maximum(0.0, 1 - (distances**2).sum(axis=-1) / reach[part][:, None] ** 2) ** 3
        sums = bell.sum(axis=1)
        bell[sums == 0, offsets.shape[0] // 2] = 1.0
        bell *= (weights[part] / np.where(sums > 0, sums, 1.0))[:, None]
        if is_periodic:
            cells %= np.asarray(shape)
        inside = ((cells >= 0) & (cells < np.asarray(shape))).all(axis=-1)
        flat = cells[..., 0] * shape[1] + cells[..., 1]
        total += np.bincount(flat[inside], weights=bell[inside], minlength=total.size)
    return total.reshape(shape)


def _reach(snapshot: Snapshot, pixel: float) -> Floats:
    """Files without it, in pixels: half as far again as the mean distance nearby, within limits."""
    count = snapshot.positions.shape[0]
    size = snapshot.high - snapshot.low
    side = (size.prod() * _NEARBY / max(1, count)) ** (1 / 3) if (size > 0).all() else float(size.max())
    cells = np.clip(np.ceil(size / side), 1, 512).astype(int)
    places = np.floor((snapshot.positions - snapshot.low) / np.where(size > 0, size, 1.0) * cells)
    places = np.clip(places, 0, cells - 1).astype(np.int64)
    flat = (places[:, 0] * cells[1] + places[:, 1]) * cells[2] + places[:, 2]
    nearby = np.bincount(flat)[flat]
    reach: Floats = np.clip(1.5 * side / nearby ** (1 / 3) / pixel, 1.0, _REACH_MAX)
    return reach


def _plane(axis: int) -> tuple[int, int]:
    """What goes to the right and up in a view along an axis."""
    return ((1, 2), (0, 2), (0, 1))[axis]


def _map_of(snapshot: Snapshot, quantity: str, axis: int, pixels: int) -> Floats:
    density = project(snapshot, snapshot.masses, axis, pixels)
    if quantity == "density" or snapshot.energies is None:
        return density
    energy = project(snapshot, snapshot.masses * snapshot.energies, axis, pixels)
    result: Floats = np.divide(energy, density, out=np.full_like(density, np.nan), where=density > 0)
    return result


def _norm(maps: list[Floats]) -> Normalize:
    seen = np.concatenate([values[np.isfinite(values) & (values > 0)] for values in maps])
    if not seen.size:
        return Normalize(0.0, 1.0)
    low, high = (float(q) for q in np.quantile(seen, [0.01, 0.9995]))
    if high > _LOGARITHMIC_FROM * low:
        return LogNorm(max(low, 1e-5 * high), high)
    return Normalize(min(low, 0.98 * high), high)


def _extent(snapshot: Snapshot, axis: int) -> tuple[float, float, float, float]:
    right, up = _plane(axis)
    low, high = snapshot.low, snapshot.high
    return float(low[right]), float(high[right]), float(low[up]), float(high[up])


def _draw_map(
    axes: Axes, snapshot: Snapshot, values: npt.NDArray[np.float64], norm: Normalize, axis: int
) -> None:
    axes.imshow(
        np.maximum(values, norm.vmin or 0.0),
        origin="lower",
        extent=_extent(snapshot, axis),
        interpolation="bilinear",
        cmap="magma",
        norm=norm,
    )


def _draw_ranks(axes: Axes, snapshot: Snapshot, axis: int) -> None:
    """A layer through the middle, so that domains do not hide each other."""
    right, up = _plane(axis)
    ranks = snapshot.ranks if snapshot.ranks is not None else np.zeros(len(snapshot.masses), np.int64)
    depth = snapshot.positions[:, axis]
    middle = (snapshot.low[axis] + snapshot.high[axis]) / 2
    near = np.argsort(np.abs(depth - middle))[: max(_DOTS_MAX, len(depth) // 10)]
    near = np.sort(near)[:: max(1, -(-len(near) // _DOTS_MAX))]
    size = float(np.clip(9e4 / max(1, len(near)), 0.6, 14.0))
    colours = np.array([palette.rank_colour(int(rank)) for rank in range(int(ranks.max()) + 1)])
    places = snapshot.positions[near]
    axes.scatter(places[:, right], places[:, up], s=size, c=colours[ranks[near]], lw=0, rasterized=True)
    left, far_right, low, high = _extent(snapshot, axis)
    axes.set_xlim(left, far_right)
    axes.set_ylim(low, high)
    axes.set_aspect("equal")
    count = int(ranks.max()) + 1
    if 1 < count <= _RANKS_NAMED_MAX:
        patches = [Patch(color=palette.rank_colour(rank), label=f"rank {rank}") for rank in range(count)]
        axes.legend(
            handles=patches,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.1),
            ncols=8,
            fontsize=8,
            handlelength=1,
        )
