# SPDX-License-Identifier: Apache-2.0
"""Density of particles and strength of fields at the first and the last step that a program wrote."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize, TwoSlopeNorm
from matplotlib.figure import Figure

from plait.plots import style
from plait.readers.openpmd import FieldMaps, Map

_SCALE = LinearSegmentedColormap.from_list(
    "plait", ["#f4f7fa", "#c5d9ec", "#8fb8dc", "#3f7fb8", "#1f4e86", "#0d2344"]
)
_BOTH_SIDES = LinearSegmentedColormap.from_list(
    "plait both sides", ["#0d2344", "#3f7fb8", "#c5d9ec", "#f7f7f5", "#f3cfa8", "#d9822b", "#6b3408"]
)
#: What is drawn beside the density, in this order; other meshes are left out.
_MESHES = {"E": "electric field", "B": "magnetic field", "rho": "charge density"}
_PANELS_MAX = 3


def plot_fields(steps: list[FieldMaps]) -> Figure:
    names = [name for name in _MESHES if any(_is_worth(maps.fields.get(name)) for maps in steps)]
    has_density = any(maps.density is not None for maps in steps)
    names = names[: _PANELS_MAX - has_density]
    columns = max(1, len(names) + has_density)
    left, right, low, high = steps[0].extent
    aspect = (high - low) / (right - left)
    height = float(np.clip(3.2 * aspect, 1.4, 6.0))
    figure = style.new_figure(13, (height + 1.4) * len(steps))
    panels = iter(style.add_axes(figure, len(steps), columns))
    for row, maps in enumerate(steps):
        which = ("First", "Last")[row] if len(steps) > 1 else "Only"
        head = f"{which}: step {maps.step}, t = {maps.time:.4g}"
        if has_density:
            axes = next(panels)
            density = maps.density if maps.density is not None else np.zeros((1, 1))
            _draw(axes, maps, density, _top([m.density for m in steps]), "particles an area")
            style.title(axes, f"{head}\n{maps.particles:,} particles")
            head = ""
        for name in names:
            axes = next(panels)
            same = [other.fields.get(name) for other in steps]
            _draw(axes, maps, maps.fields.get(name, np.zeros((1, 1))), _top(same), name)
            style.title(axes, "\n".join(filter(None, [head, _MESHES[name].capitalize()])))
            head = ""
    return figure


def _is_worth(values: Map | None) -> bool:
    return (
        values is not None and bool(np.isfinite(values).any()) and float(np.nanmax(np.abs(values))) > 0
    )


def _top(all_values: list[Map | None]) -> float:
    """One scale for a row of pictures; single outliers do not set it."""
    tops = [float(np.nanquantile(np.abs(v), 0.998)) for v in all_values if v is not None and v.size]
    highs = [float(np.nanmax(np.abs(v))) for v in all_values if v is not None and v.size]
    top = max(tops, default=0.0)
    return top if top > 0 else max(highs, default=0.0) or 1.0


def _draw(axes: Axes, maps: FieldMaps, values: Map, top: float, label: str) -> None:
    is_signed = bool((values < 0).any())
    norm = TwoSlopeNorm(0.0, -top, top) if is_signed else Normalize(0.0, top)
    image = axes.imshow(
        values,
        origin="lower",
        extent=maps.extent,
        interpolation="nearest",
        cmap=_BOTH_SIDES if is_signed else _SCALE,
        norm=norm,
    )
    left, right, low, high = maps.extent
    thin = 0.046 * (high - low) / (right - left)  # then the bar is as high as the picture
    bar = axes.figure.colorbar(
        image, ax=axes, fraction=thin, pad=0.03, extend="max" if not is_signed else "both"
    )
    bar.outline.set_visible(False)
    bar.set_label(label)
    axes.set_xlabel("x")
    axes.set_ylabel("y")
