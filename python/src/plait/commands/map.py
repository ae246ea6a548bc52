# SPDX-License-Identifier: Apache-2.0
"""`plait map`: draws snapshots."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from plait._errors import PlaitError
from plait.plots import style
from plait.plots.density_map import Quantity, plot_maps
from plait.plots.profile import plot_profile
from plait.readers.profiles import read_profile
from plait.readers.snapshots import Snapshot, read_snapshot


def draw_map(paths: list[Path], output: Path, quantity: Quantity, axis: int, pixels: int) -> None:
    """Raises PlaitError when a file is no snapshot, or does not have what is to be drawn."""
    if output.suffix != ".png":
        raise PlaitError(f"{output}: pictures are PNG files; give --output NAME.png")
    with style.context():
        if paths[0].suffix == ".csv":
            figure = _draw_profile(paths)
        else:
            figure = _draw_snapshots(paths, quantity, axis, pixels)
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("wb") as file:
            style.save(figure, file)
    what = paths[0] if len(paths) == 1 else f"{len(paths)} snapshots"
    Console(highlight=False, soft_wrap=True).print(f"{output}: {what}")


def _draw_snapshots(paths: list[Path], quantity: Quantity, axis: int, pixels: int) -> Figure:
    snapshots = [read_snapshot(path) for path in paths]
    for snapshot in snapshots:
        _check(snapshot, quantity)
    return plot_maps(snapshots, quantity, axis, pixels)


def _draw_profile(paths: list[Path]) -> Figure:
    profile = read_profile(paths[0]) if len(paths) == 1 else None
    if profile is None:
        raise PlaitError(f"{paths[0]}: give snapshots, or one profile.csv that plait-sph has written")
    return plot_profile(profile)


def _check(snapshot: Snapshot, quantity: Quantity) -> None:
    if quantity == "energy" and snapshot.energies is None:
        raise PlaitError(
            f"{snapshot.path} has no InternalEnergies of its {snapshot.kind}: draw --quantity density"
        )
    if quantity == "ranks" and snapshot.ranks is None:
        raise PlaitError(
            f"{snapshot.path} does not contain which rank wrote which particles; files of plait's own "
            "programs do"
        )
