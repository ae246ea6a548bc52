# SPDX-License-Identifier: Apache-2.0
"""Messages hidden behind computing: a bar for each rank, and the share step by step."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from plait._units import time_unit
from plait.plots import palette, style

_RANKS_MAX = 48
_COLUMNS_MAX = 400


def plot_hidden(times: pl.DataFrame) -> Figure:
    ranks = times.group_by("rank").agg(pl.col("moving_ns", "hidden_ns").sum()).sort("rank")
    shown = ranks.head(_RANKS_MAX)
    figure = style.new_figure(13, max(3.4, 1.6 + 0.3 * shown.height))
    left, right = style.add_axes(figure, 1, 2)
    scale, unit = time_unit(float(shown["moving_ns"].to_numpy().max()))
    places = np.arange(shown.height)
    hidden = shown["hidden_ns"].to_numpy() / scale
    bare = shown["moving_ns"].to_numpy() / scale - hidden
    left.barh(places, hidden, color=palette.OVERLAP[0], height=0.7, label="hidden: workers computed")
    left.barh(places, bare, left=hidden, color=palette.OVERLAP[1], height=0.7, label="workers waited")
    left.set_yticks(places, [f"rank {rank}" for rank in shown["rank"]])
    left.tick_params(axis="y", length=0)
    left.invert_yaxis()
    left.set_xlabel(f"time with messages under way [{unit}]")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    whole = max(1, int(ranks["moving_ns"].sum()))
    reached = 100 * int(ranks["hidden_ns"].sum()) / whole
    style.title(left, f"Messages behind computing: {reached:.0f} % hidden")
    steps = times.group_by("step").agg(pl.col("moving_ns", "hidden_ns").sum()).sort("step")
    steps = steps.filter(pl.col("moving_ns") > 0)
    each = max(1, -(-steps.height // _COLUMNS_MAX))
    share = 100 * steps["hidden_ns"].to_numpy() / steps["moving_ns"].to_numpy()
    columns = [share[i : i + each].mean() for i in range(0, share.size, each)]
    right.bar(np.arange(len(columns)), columns, width=1.0, color=palette.OVERLAP[0])
    right.set_ylim(0, 100)
    right.set_xlim(-0.5, max(len(columns) - 0.5, 0.5))
    right.set_xlabel("graph's runs, in order" + (f" ({each} a column)" if each > 1 else ""))
    right.set_ylabel("hidden [%]")
    style.title(right, "The same, run by run of the graph")
    return figure
